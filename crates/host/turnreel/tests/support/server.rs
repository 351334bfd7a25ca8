//! A real server: a process of its own on a free port, in a folder of its own, and what is asked of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use serde_json::{Value, json};

use super::asking::{agent, read};
use super::socket::{Socket, connect, upgrade};
use super::{PATIENCE, PROGRAM, ports, seq_and_id, signal, wait_for};

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

impl Server {
    /// Kills what runs under it where it is `strace`: the tracer's own end would leave that running.
    pub(crate) fn kill_traced(&self) {
        let children = format!("/proc/{0}/task/{0}/children", self.child.id());
        let children = std::fs::read_to_string(children).unwrap_or_default();
        for pid in children.split_whitespace() {
            let _ = Command::new("kill").args(["-KILL", pid]).output();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill_traced();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
