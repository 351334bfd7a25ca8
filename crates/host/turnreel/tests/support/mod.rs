//! Real servers and pipes for tests: processes of their own on free ports, in folders of their own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

pub(crate) mod cold;
pub(crate) mod command;
pub(crate) mod dice;
pub(crate) mod events;
pub(crate) mod faults;
pub(crate) mod fleet;
pub(crate) mod home;
pub(crate) mod inside;
pub(crate) mod page;
pub(crate) mod ports;
pub(crate) mod postgres;
pub(crate) mod redis;
pub(crate) mod removing;
pub(crate) mod rows;
pub(crate) mod s3;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_turnreel");

/// How long is waited for what comes at once on a machine with nothing else to do.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Whether nothing came in time, and no more.
pub(crate) fn is_timeout(why: &std::io::Error) -> bool {
    use std::io::ErrorKind::{TimedOut, WouldBlock};
    matches!(why.kind(), WouldBlock | TimedOut)
}

/// Waits for more answers to who sends, which it counts. It is the log that answers: a store that hangs would take five
/// seconds for each of them.
pub(crate) fn goes_on(n_sent: &AtomicU64) {
    let enough = n_sent.load(Ordering::Relaxed) + 30;
    soon("the server goes on", || {
        n_sent.load(Ordering::Relaxed) >= enough
    });
}

pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) url: String,
    pub(crate) token: String,
    pub(crate) data: PathBuf,
}

/// Where readings of the system's stand: memory, and time of the processor.
#[cfg(target_os = "linux")]
impl Server {
    /// What `name` says of the server's memory, in KiB: `VmRSS` now, `VmHWM` at most.
    pub(crate) fn memory_kib(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// What it took of the processors so far. The kernel counts in hundredths of a second.
    pub(crate) fn cpu_ms(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields = stat.rsplit(')').next().unwrap().split_whitespace();
        let times: Vec<u64> = fields
            .skip(11)
            .take(2)
            .map(|it| it.parse().unwrap())
            .collect();
        (times[0] + times[1]) * 10
    }
}

impl Server {
    /// A server on a free port, without examples.
    pub(crate) fn start(data: &Path) -> Server {
        Server::start_on(data, &ports::free_address(), &["--no-examples"])
    }

    pub(crate) fn start_on(data: &Path, listen: &str, more: &[&str]) -> Server {
        let server = Server::start_by(Command::new(PROGRAM), data, listen, more);
        server.expect("the server says that it is ready")
    }

    /// As [`Server::start_on`], by another program that runs it: the command's last word is `turnreel` itself. `None` where
    /// it ends before it is ready.
    pub(crate) fn start_by(
        mut command: Command,
        data: &Path,
        listen: &str,
        more: &[&str],
    ) -> Option<Server> {
        let mut child = command
            .args(["serve", "--listen", listen, "--ready-json", "--log", "warn"])
            // What a sender may send is for `tests/rates.rs`: a later `--rate` counts.
            .args(if more.contains(&"--rate") {
                &[][..]
            } else {
                &["--rate", "0"]
            })
            .arg("--data")
            .arg(data)
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let Ok(ready) = serde_json::from_str::<Value>(&line) else {
            child.wait().unwrap();
            return None;
        };
        Some(Server {
            child,
            url: ready["url"].as_str().unwrap().to_owned(),
            token: ready["token"].as_str().unwrap().to_owned(),
            data: data.to_owned(),
        })
    }

    pub(crate) fn address(&self) -> String {
        self.url.strip_prefix("http://").unwrap().to_owned()
    }

    pub(crate) fn port(&self) -> u16 {
        self.address().rsplit_once(':').unwrap().1.parse().unwrap()
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM, and the exit.
    pub(crate) fn stop(&mut self) -> ExitStatus {
        signal(&self.child, "TERM");
        wait_for(&mut self.child, PATIENCE)
    }

    /// Killed, and started again on the same port.
    pub(crate) fn kill_and_restart(&mut self) {
        let address = self.address();
        let data = self.data.clone();
        self.kill();
        *self = Server::start_on(&data, &address, &["--no-examples"]);
    }

    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        read(
            agent()
                .get(format!("{}{path}", self.url))
                .header("Authorization", format!("Bearer {}", self.token))
                .call(),
        )
    }

    pub(crate) fn post(&self, session: &str, events: &Value) -> (u16, Value) {
        self.post_text(
            &format!("/api/v1/sessions/{session}/events"),
            &events.to_string(),
        )
    }

    pub(crate) fn post_text(&self, path: &str, body: &str) -> (u16, Value) {
        read(
            agent()
                .post(format!("{}{path}", self.url))
                .header("Authorization", format!("Bearer {}", self.token))
                .header("Content-Type", "application/json")
                .send(body),
        )
    }

    pub(crate) fn put_blob(&self, sha256: &str, body: &[u8]) -> u16 {
        read(
            agent()
                .put(format!("{}/api/v1/blobs/{sha256}", self.url))
                .header("Authorization", format!("Bearer {}", self.token))
                .send(body),
        )
        .0
    }

    /// The `seq`s and ids of all events of a session, read in pages of `limit`.
    pub(crate) fn all(&self, session: &str, limit: usize) -> Vec<(u64, String)> {
        let mut after = 0;
        let mut all = Vec::new();
        loop {
            let path = format!("/api/v1/sessions/{session}/events?after={after}&limit={limit}");
            let (status, page) = self.get(&path);
            assert_eq!(status, 200, "{page}");
            assert_eq!(page["gaps"], json!([]), "{page}");
            let events = page["events"].as_array().unwrap();
            all.extend(events.iter().map(seq_and_id));
            after = page["next"].as_u64().unwrap();
            if after >= page["head"].as_u64().unwrap() {
                return all;
            }
            assert!(!events.is_empty(), "{page}");
        }
    }

    pub(crate) fn socket(&self) -> Socket {
        self.socket_with(&self.token)
    }

    pub(crate) fn socket_with(&self, token: &str) -> Socket {
        let request = upgrade(&self.address(), token);
        let socket = connect(request, &self.address(), PATIENCE).unwrap();
        Socket { socket }
    }

    /// A socket over another address, such as a proxy's; `None` where that does not come about.
    pub(crate) fn socket_over(&self, address: &str) -> Option<Socket> {
        let request = upgrade(&self.address(), &self.token);
        let socket = connect(request, address, PATIENCE)?;
        Some(Socket { socket })
    }

    /// One request word for word, and what comes back.
    pub(crate) fn raw(&self, request: &str) -> (u16, String) {
        self.raw_bytes(request.as_bytes())
    }

    pub(crate) fn raw_bytes(&self, request: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request).unwrap();
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
            head.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .unwrap_or(0);
        (status, head)
    }
}

impl Server {
    /// All that comes back to a request that ends its connection.
    pub(crate) fn raw_answer(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// One request with its token, and the status, the head and the body that come back.
    pub(crate) fn exchange(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
        more: &str,
        body: &str,
    ) -> (u16, String, String) {
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.address());
        if let Some(token) = token {
            request.push_str(&format!("Authorization: Bearer {token}\r\n"));
        }
        request.push_str(more);
        request.push_str(&format!("Connection: close\r\n\r\n{body}"));
        let answer = self.raw_answer(&request);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
        (status.unwrap_or(0), head.to_owned(), body.to_owned())
    }

    /// One JSON request with a token of the caller's, and its answer.
    pub(crate) fn ask(&self, method: &str, path: &str, token: &str, body: &str) -> (u16, Value) {
        let more = format!(
            "Content-Type: application/json\r\nContent-Length: {}\r\n",
            body.len()
        );
        let (status, _, body) = self.exchange(method, path, Some(token), &more, body);
        let value = serde_json::from_str(&body).unwrap_or(Value::String(body));
        (status, value)
    }
}

/// Where a server is, for those who stay while it goes and comes back. What does not come about is `None`.
#[derive(Clone)]
pub(crate) struct Remote {
    pub(crate) url: String,
    pub(crate) token: String,
    agent: ureq::Agent,
}

impl Remote {
    pub(crate) fn of(server: &Server) -> Remote {
        Remote {
            url: server.url.clone(),
            token: server.token.clone(),
            agent: agent(),
        }
    }

    pub(crate) fn get(&self, path: &str) -> Option<(u16, Value)> {
        let request = self.agent.get(format!("{}{path}", self.url));
        let request = request.header("Authorization", format!("Bearer {}", self.token));
        try_read(request.call())
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Option<(u16, Value)> {
        let request = self.agent.post(format!("{}{path}", self.url));
        let request = request.header("Authorization", format!("Bearer {}", self.token));
        try_read(
            request
                .header("Content-Type", "application/json")
                .send(body),
        )
    }

    pub(crate) fn socket(&self) -> Option<Socket> {
        let address = self.url.strip_prefix("http://").unwrap();
        let socket = connect(upgrade(address, &self.token), address, PATIENCE)?;
        Some(Socket { socket })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What asks the server at `host` for a socket.
fn upgrade(host: &str, token: &str) -> tungstenite::handshake::client::Request {
    let mut request = format!("ws://{host}/api/v1/ws")
        .into_client_request()
        .unwrap();
    let protocols = format!("turnreel.v1, tr.tok.{token}");
    request
        .headers_mut()
        .insert("Sec-WebSocket-Protocol", protocols.parse().unwrap());
    request
}

fn connect(
    request: tungstenite::handshake::client::Request,
    address: &str,
    patience: Duration,
) -> Option<WebSocket<TcpStream>> {
    let stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(patience)).unwrap();
    let (socket, response) = tungstenite::client(request, stream).ok()?;
    assert_eq!(response.headers()["sec-websocket-protocol"], "turnreel.v1");
    Some(socket)
}

pub(crate) struct Socket {
    pub(crate) socket: WebSocket<TcpStream>,
}

impl Socket {
    pub(crate) fn send(&mut self, frame: &Value) {
        self.socket.send(Message::text(frame.to_string())).unwrap();
    }

    /// As [`Socket::send`]; `None` where the socket has ended.
    pub(crate) fn try_send(&mut self, frame: &Value) -> Option<()> {
        self.socket.send(Message::text(frame.to_string())).ok()
    }

    pub(crate) fn open(&mut self, sub: u64, session: &str, resume: Option<(&str, u64)>) -> Value {
        let mut frame = json!({"op": "open", "sub": sub, "session": session});
        if let Some((epoch, after)) = resume {
            frame["epoch"] = epoch.into();
            frame["after"] = after.into();
        }
        self.send(&frame);
        let hello = self.next();
        assert_eq!(hello["op"], "hello", "{hello}");
        assert_eq!(hello["sub"], sub);
        hello
    }

    /// The next frame that is no heartbeat.
    pub(crate) fn next(&mut self) -> Value {
        loop {
            match self.socket.read().unwrap() {
                Message::Text(text) => {
                    let frame: Value = serde_json::from_str(&text).unwrap();
                    if frame["op"] != "hb" {
                        return frame;
                    }
                }
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// As [`Socket::next`]; `None` where the socket has ended.
    pub(crate) fn try_next(&mut self) -> Option<Value> {
        loop {
            if let Message::Text(text) = self.socket.read().ok()? {
                let frame: Value = serde_json::from_str(&text).unwrap();
                if frame["op"] != "hb" {
                    return Some(frame);
                }
            }
        }
    }

    /// Events until `to`, which must follow `from` without a hole.
    pub(crate) fn events(&mut self, from: u64, to: u64) -> Vec<(u64, String)> {
        let mut next = from;
        let mut events = Vec::new();
        while next <= to {
            let frame = self.next();
            assert_eq!(frame["op"], "ev", "{frame}");
            assert_eq!(frame["from"], next, "{frame}");
            for event in frame["e"].as_array().unwrap() {
                let (seq, id) = seq_and_id(event);
                assert_eq!(seq, next);
                next += 1;
                events.push((seq, id));
            }
            assert_eq!(frame["to"], next - 1);
        }
        events
    }

    /// The code of the close that comes, whatever comes before it.
    pub(crate) fn close_code(&mut self) -> Option<u16> {
        loop {
            match self.socket.read() {
                Ok(Message::Close(close)) => return close.map(|close| close.code.into()),
                Ok(_) => {}
                Err(_) => return None,
            }
        }
    }
}

/// A token that `turnreel token create` makes for the server.
pub(crate) fn make_token(server: &Server, what: &[&str]) -> String {
    let output = token_command(&server.data, "create", what);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.trim().to_owned()
}

pub(crate) fn token_command(data: &Path, command: &str, what: &[&str]) -> std::process::Output {
    Command::new(PROGRAM)
        .args(["token", command])
        .args(what)
        .arg("--data")
        .arg(data)
        .output()
        .unwrap()
}

pub(crate) fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .proxy(None)
        .timeout_global(Some(PATIENCE))
        .build()
        .new_agent()
}

/// One figure of `/metrics`.
pub(crate) fn figure(server: &Server, name: &str) -> f64 {
    let (_, text) = server.get("/metrics");
    let line = text.as_str().unwrap().lines();
    let mut values = line.filter_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    values.next().unwrap_or_else(|| panic!("no figure {name}"))
}

fn read(answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> (u16, Value) {
    read_body(answer.unwrap()).unwrap()
}

fn try_read(answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Option<(u16, Value)> {
    read_body(answer.ok()?).ok()
}

fn read_body(mut answer: ureq::http::Response<ureq::Body>) -> Result<(u16, Value), ureq::Error> {
    let text = answer
        .body_mut()
        .with_config()
        .limit(64 * 1024 * 1024)
        .read_to_string()?;
    let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Ok((answer.status().as_u16(), value))
}

pub(crate) fn seq_and_id(event: &Value) -> (u64, String) {
    (
        event["seq"].as_u64().unwrap(),
        event["id"].as_str().unwrap().to_owned(),
    )
}

/// Chunks with the ids `e<from>` to `e<to>`.
pub(crate) fn chunks(from: u64, to: u64) -> Value {
    let chunk = |n: u64| json!({"id": format!("e{n}"), "timestamp": n, "type": "assistant_chunk", "responseId": "r1", "payload": {"text": format!("word {n} ")}});
    (from..=to).map(chunk).collect()
}

/// Writes over words of these events of the only log there, as a bad disk would: the file stays as long as it was.
pub(crate) fn damage(dir: &Path, seqs: &[u64]) {
    let log = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().ends_with(".events.jsonl"))
        .unwrap();
    let text = std::fs::read_to_string(&log).unwrap();
    let damaged = |line: &str| {
        let seq = serde_json::from_str::<Value>(line).unwrap()["seq"].as_u64();
        if seq.is_some_and(|seq| seqs.contains(&seq)) {
            line.replace("word", "werd") + "\n"
        } else {
            line.to_owned() + "\n"
        }
    };
    let damaged: String = text.lines().map(damaged).collect();
    assert_ne!(damaged, text);
    // In place: a file that is another would be seen as one.
    let mut file = std::fs::OpenOptions::new().write(true).open(&log).unwrap();
    file.write_all(damaged.as_bytes()).unwrap();
}

pub(crate) fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args([&format!("-{name}"), &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
}

pub(crate) fn wait_for(child: &mut Child, at_most: Duration) -> ExitStatus {
    let deadline = Instant::now() + at_most;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(Instant::now() < deadline, "the process does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until `done`, which it should soon be.
pub(crate) fn soon(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(90);
    while !done() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A file of the shared test material; `None`, and a word about it, where that is not there.
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    let root = std::env::var_os("TURNREEL_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared"),
        PathBuf::from,
    );
    let path = root.join(path);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} is not here", path.display());
    None
}

/// A socket that the server has upgraded, and nothing was said on: for tests that write and read frames themselves.
pub(crate) fn upgraded(server: &Server) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let head = format!(
        "GET /api/v1/ws HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Sec-WebSocket-Protocol: turnreel.v1, tr.tok.{}\r\n\r\n",
        server.address(),
        server.token
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        answer.push(byte[0]);
    }
    assert!(answer.starts_with(b"HTTP/1.1 101 "));
    stream
}
