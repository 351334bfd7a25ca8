//! The real server and the real pipe as processes of a test: free port, folder of its own, stopped by id.
#![allow(
    clippy::expect_used,
    reason = "a server that cannot be started fails the test"
)]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdin, Command};

use crate::ports::free_port;

/// How long a server may take until it listens; debug builds on a busy machine are slow.
const START_LIMIT: Duration = Duration::from_secs(90);

/// The program under test; `None`, said on stdout, where it has not been built.
pub(crate) fn turnreel() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("TURNREEL_BIN") {
        let named = PathBuf::from(named);
        assert!(
            named.is_file(),
            "there is no program at {}",
            named.display()
        );
        return Some(named);
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("target"),
        PathBuf::from,
    );
    let name = format!("turnreel{}", std::env::consts::EXE_SUFFIX);
    let found = ["release", "debug"]
        .map(|profile| target.join(profile).join(&name))
        .into_iter()
        .find(|path| path.is_file());
    if found.is_none() {
        println!(
            "skipped: there is no turnreel in {} (cargo xtask dist builds it, or set TURNREEL_BIN)",
            target.display()
        );
    }
    found
}

/// A running server with a data folder of its own.
pub(crate) struct Server {
    program: PathBuf,
    child: Child,
    data: tempfile::TempDir,
    arguments: Vec<String>,
    /// `http://127.0.0.1:PORT`
    pub(crate) url: String,
    pub(crate) token: String,
    pub(crate) port: u16,
}

impl Server {
    /// Starts on a free port, without the example sessions.
    pub(crate) async fn start(program: &Path) -> Server {
        Server::start_with(program, &["--no-examples"]).await
    }

    /// Starts on a free port with these arguments beside the usual ones; as `turnreel watch` where the first of them says so.
    pub(crate) async fn start_with(program: &Path, arguments: &[&str]) -> Server {
        let data = tempfile::Builder::new()
            .prefix("turnreel-data-")
            .tempdir()
            .expect("a data folder");
        let arguments: Vec<String> = arguments
            .iter()
            .map(|argument| (*argument).to_owned())
            .collect();
        let port = free_port();
        let (child, url, token) = launch(program, data.path(), port, &arguments).await;
        Server {
            program: program.to_owned(),
            child,
            data,
            arguments,
            url,
            token,
            port,
        }
    }

    /// The folder in which everything is kept.
    pub(crate) fn data(&self) -> &Path {
        self.data.path()
    }

    /// Kills the process as a crash would; nothing is flushed, nobody is told.
    pub(crate) async fn kill(&mut self) {
        self.child.kill().await.expect("the server can be killed");
    }

    /// Starts again on the same port and folder, after [`Server::kill`].
    pub(crate) async fn restart(&mut self) {
        let (child, url, token) =
            launch(&self.program, self.data.path(), self.port, &self.arguments).await;
        assert_eq!(
            (&url, &token),
            (&self.url, &self.token),
            "address and token stay over a restart"
        );
        self.child = child;
    }

    /// A token of its own, for these scopes.
    pub(crate) async fn make_token(&self, scope: &str) -> String {
        let made = Command::new(&self.program)
            .args(["token", "create", "--scope", scope, "--data"])
            .arg(self.data())
            .output()
            .await
            .expect("a token is made");
        let text = String::from_utf8_lossy(&made.stdout).into_owned();
        assert!(made.status.success(), "{text}");
        let token = text.split_whitespace().find(|word| word.len() == 43);
        token.expect("the token is printed").to_owned()
    }

    /// Address of the page, with the token, at a session.
    pub(crate) fn page_of(&self, session: &str) -> String {
        page_of(&self.url, &self.token, session)
    }

    /// An answer: status line and headers in lower case, and the body.
    pub(crate) async fn get(&self, path: &str) -> (String, Vec<u8>) {
        self.ask("GET", path, &self.token, "").await
    }

    /// Sends events of a session, at once.
    pub(crate) async fn send(&self, session: &str, events: &Value) {
        let path = format!("/api/v1/sessions/{session}/events");
        let (head, body) = self
            .ask("POST", &path, &self.token, &events.to_string())
            .await;
        let body = String::from_utf8_lossy(&body);
        assert!(head.starts_with("http/1.1 200"), "{head}\n{body}");
    }

    /// The same of a log, an event a line.
    pub(crate) async fn send_log(&self, session: &str, log: &str) {
        let events = log.lines().map(serde_json::from_str::<Value>);
        let events: Vec<Value> = events.map(|event| event.expect("a line is JSON")).collect();
        self.send(session, &Value::from(events)).await;
    }

    /// An answer to a request with this token and body: status line and headers in lower case, and the body.
    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        token: &str,
        body: &str,
    ) -> (String, Vec<u8>) {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.port,
            body.len()
        );
        exchange(self.port, &request).await
    }
}

/// An answer to a request that closes its connection: status line and headers in lower case, and the body.
pub(crate) async fn exchange(port: u16, request: &str) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(("127.0.0.1", port))
        .await
        .expect("the server listens");
    stream
        .write_all(request.as_bytes())
        .await
        .expect("a request is sent");
    let mut answer = Vec::new();
    stream
        .read_to_end(&mut answer)
        .await
        .expect("an answer comes");
    let split = answer
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .expect("the answer has a head");
    let head = String::from_utf8_lossy(&answer[..split]).to_lowercase();
    (head, answer[split + 4..].to_vec())
}

/// How many events of a session the logs in a data folder hold.
pub(crate) fn n_logged(data: &Path, session: &str) -> usize {
    let quoted = format!("\"sessionId\":\"{session}\"");
    let texts = logs_below(data)
        .into_iter()
        .filter_map(|path| std::fs::read_to_string(path).ok());
    // What a log says about itself is no event of the session.
    texts
        .map(|text| {
            text.lines()
                .filter(|line| line.contains(&quoted) && !line.contains("\"type\":\"log_"))
                .count()
        })
        .sum()
}

/// Address of the page at a server, with the token, at a session.
pub(crate) fn page_of(url: &str, token: &str, session: &str) -> String {
    format!("{url}/#token={token}&session={session}")
}

async fn launch(
    program: &Path,
    data: &Path,
    port: u16,
    arguments: &[String],
) -> (Child, String, String) {
    let (command, arguments) = match arguments.split_first() {
        Some((first, rest)) if first == "watch" => ("watch", rest),
        _ => ("serve", arguments),
    };
    let mut child = Command::new(program)
        // Sessions of agents on this machine are none of the tests'.
        .env("HOME", data)
        .args([
            command,
            "--ready-json",
            "--log",
            "warn",
            // Sessions are sent whole; what a sender may send is for the server's own tests.
            "--rate",
            "0",
            "--listen",
            &format!("127.0.0.1:{port}"),
            "--data",
        ])
        .arg(data)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .spawn()
        .expect("the server starts");
    let mut stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
    let mut line = String::new();
    tokio::time::timeout(START_LIMIT, stdout.read_line(&mut line))
        .await
        .unwrap_or_else(|_| panic!("the server printed no address in {START_LIMIT:?}"))
        .expect("stdout can be read");
    // Kept open: a server whose stdout is gone may not be disturbed by that, but it is not what is tested.
    tokio::spawn(async move {
        let mut rest = Vec::new();
        let _ = stdout.read_to_end(&mut rest).await;
    });
    let ready: Value = serde_json::from_str(&line)
        .unwrap_or_else(|why| panic!("the server printed {line:?}: {why}"));
    let text = |name: &str| {
        ready[name]
            .as_str()
            .unwrap_or_else(|| panic!("{name} is missing in {line}"))
            .to_owned()
    };
    (child, text("url"), text("token"))
}

fn logs_below(folder: &Path) -> Vec<PathBuf> {
    let mut logs = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            logs.extend(logs_below(&path));
        } else if path.to_string_lossy().ends_with(".events.jsonl") {
            logs.push(path);
        }
    }
    logs
}

/// A running `turnreel pipe`.
pub(crate) struct Pipe {
    child: Child,
    stdin: Option<ChildStdin>,
    passed_through: tokio::task::JoinHandle<Vec<u8>>,
    said: tokio::task::JoinHandle<Vec<u8>>,
}

/// How a pipe ended.
#[derive(Debug)]
pub(crate) struct PipeEnd {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Pipe {
    pub(crate) fn start(server: &Server, arguments: &[&str]) -> Pipe {
        let mut child = Command::new(&server.program)
            .args(["pipe", "--wait", "30", "--data"])
            .arg(server.data())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the pipe starts");
        let mut stdout = child.stdout.take().expect("stdout is piped");
        let mut stderr = child.stderr.take().expect("stderr is piped");
        let read_all = async move {
            let mut bytes = Vec::new();
            let _ = stdout.read_to_end(&mut bytes).await;
            bytes
        };
        let read_said = async move {
            let mut bytes = Vec::new();
            let _ = stderr.read_to_end(&mut bytes).await;
            bytes
        };
        Pipe {
            stdin: child.stdin.take(),
            child,
            passed_through: tokio::spawn(read_all),
            said: tokio::spawn(read_said),
        }
    }

    /// Gives bytes to the pipe, as an agent writes them.
    pub(crate) async fn feed(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        let began = Instant::now();
        stdin.write_all(bytes).await.expect("the pipe reads");
        stdin.flush().await.expect("the pipe reads");
        // An agent must never wait for us; what a busy machine takes by itself is far below this.
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "the pipe held its agent up for {:?}",
            began.elapsed()
        );
    }

    /// Ends the input and waits for the pipe.
    pub(crate) async fn finish(mut self) -> PipeEnd {
        drop(self.stdin.take());
        let limit = Duration::from_secs(40);
        let status = tokio::time::timeout(limit, self.child.wait())
            .await
            .unwrap_or_else(|_| panic!("the pipe did not end in {limit:?} after its input"))
            .expect("the pipe can be waited for");
        PipeEnd {
            code: status.code(),
            stdout: self.passed_through.await.expect("stdout is read"),
            stderr: String::from_utf8_lossy(&self.said.await.expect("stderr is read")).into_owned(),
        }
    }
}
