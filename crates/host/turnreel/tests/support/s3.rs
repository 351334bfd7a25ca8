//! A real object store that speaks S3, on a free port: moto's server, and a way to it on which requests go wrong as asked.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use super::ports::free_port;

/// What the environment of a server holds, and nothing else may.
pub(crate) const SECRET: &str = "canary-of-the-secret-key";

/// As signed requests have it.
const SIGNED: &str = "Authorization: AWS4-HMAC-SHA256 Credential=an-access-key/20261127/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=none";

/// Stops what it runs when its standard input ends: also where the test that started it panics, or is killed.
const GUARD: &str = r#""$0" "$@" </dev/null >/dev/null 2>&1 & read -r _; kill -9 $!"#;

/// One for all tests of a file: it takes seconds to start.
pub(crate) struct Moto {
    address: String,
    n_buckets: AtomicUsize,
    /// Dropped with the process.
    _guard: Mutex<Child>,
}

/// `None`, and said, where it is not installed.
pub(crate) fn moto() -> Option<&'static Moto> {
    static MOTO: OnceLock<Option<Moto>> = OnceLock::new();
    MOTO.get_or_init(start).as_ref()
}

fn start() -> Option<Moto> {
    let program = std::env::var("TURNREEL_MOTO").unwrap_or_else(|_| "moto_server".to_owned());
    let is_there = Command::new(&program)
        .arg("--help")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !is_there.is_ok_and(|status| status.success()) {
        eprintln!("skipped: there is no {program} on this machine");
        return None;
    }
    let port = free_port();
    let guard = Command::new("sh")
        .args(["-c", GUARD, &program, "-H", "127.0.0.1", "-p"])
        .arg(port.to_string())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let moto = Moto {
        address: format!("127.0.0.1:{port}"),
        n_buckets: AtomicUsize::new(0),
        _guard: Mutex::new(guard),
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    while TcpStream::connect(&moto.address).is_err() {
        assert!(Instant::now() < deadline, "{program} does not answer");
        std::thread::sleep(Duration::from_millis(50));
    }
    Some(moto)
}

/// A bucket of its own.
pub(crate) struct Bucket {
    name: String,
    address: String,
}

impl Moto {
    pub(crate) fn bucket(&self) -> Bucket {
        let n = self.n_buckets.fetch_add(1, Ordering::Relaxed);
        let bucket = Bucket {
            name: format!("feed-{n}"),
            address: self.address.clone(),
        };
        assert_eq!(bucket.ask("PUT", "", b"").0, 200);
        bucket
    }
}

impl Bucket {
    /// What `--s3` is given, straight to the store.
    pub(crate) fn url(&self) -> String {
        self.url_over(&self.address)
    }

    /// The same over a proxy.
    pub(crate) fn url_over(&self, address: &str) -> String {
        format!(
            "s3://{}/archive?region=us-east-1&endpoint=http://{address}",
            self.name
        )
    }

    /// The keys there are, in order.
    pub(crate) fn keys(&self) -> Vec<String> {
        let (status, text) = self.ask("GET", "?list-type=2", b"");
        assert_eq!(status, 200);
        let text = String::from_utf8(text).unwrap();
        let keys = text.split("<Key>").skip(1);
        keys.map(|rest| rest.split("</Key>").next().unwrap().to_owned())
            .collect()
    }

    pub(crate) fn keys_with(&self, part: &str) -> Vec<String> {
        let mut keys = self.keys();
        keys.retain(|key| key.contains(part));
        keys
    }

    pub(crate) fn get(&self, key: &str) -> Vec<u8> {
        self.try_get(key).expect("there is such an object")
    }

    /// `None` where there is no such object.
    pub(crate) fn try_get(&self, key: &str) -> Option<Vec<u8>> {
        let (status, body) = self.ask("GET", &format!("/{key}"), b"");
        assert!([200, 404].contains(&status), "{key}: {status}");
        (status == 200).then_some(body)
    }

    /// The same, unpacked.
    pub(crate) fn unpacked(&self, key: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        let packed = self.get(key);
        flate2::read::GzDecoder::new(&packed[..])
            .read_to_end(&mut bytes)
            .unwrap();
        bytes
    }

    /// What somebody else puts there.
    pub(crate) fn put(&self, key: &str, bytes: &[u8]) {
        assert_eq!(self.ask("PUT", &format!("/{key}"), bytes).0, 200, "{key}");
    }

    pub(crate) fn delete(&self, key: &str) {
        assert_eq!(self.ask("DELETE", &format!("/{key}"), b"").0, 204, "{key}");
    }

    fn ask(&self, method: &str, path: &str, body: &[u8]) -> (u16, Vec<u8>) {
        // Who asks counts, and the signature does not.
        let head = format!(
            "{method} /{}{path} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\nConnection: close\r\n{SIGNED}\r\n\r\n",
            self.name,
            self.address,
            body.len()
        );
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let answer = Message::read(&mut stream, method == "HEAD").unwrap();
        (answer.status(), answer.body)
    }
}

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// It is answered with this status, and not passed on.
    Status(u16),
    /// Half of its body is passed on as if it were all.
    HalfPut,
    /// Half of the answer's body comes, and the connection ends.
    CutGet,
    /// Half of the answer's body comes as if it were all.
    HalfGet,
    /// One byte in the middle of the answer's body is another.
    OtherByte,
    /// It is never answered.
    Stall,
    /// The answer comes with 64 KiB a second.
    Slow,
}

/// Which requests that is, and how often.
struct Rule {
    method: &'static str,
    part: &'static str,
    wrong: Wrong,
    left: usize,
}

/// A way to the store on which things go wrong.
pub(crate) struct Way {
    pub(crate) address: String,
    shared: Arc<Shared>,
}

struct Shared {
    to: String,
    rules: Mutex<Vec<Rule>>,
    /// Requests that came: their method and target.
    asked: Mutex<Vec<String>>,
    over: AtomicBool,
}

impl Way {
    pub(crate) fn to(bucket: &Bucket) -> Way {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let way = Way {
            address: listener.local_addr().unwrap().to_string(),
            shared: Arc::new(Shared {
                to: bucket.address.clone(),
                rules: Mutex::default(),
                asked: Mutex::default(),
                over: AtomicBool::new(false),
            }),
        };
        let shared = way.shared.clone();
        std::thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                if shared.over.load(Ordering::Relaxed) {
                    return;
                }
                let shared = shared.clone();
                std::thread::spawn(move || carry(client, &shared));
            }
        });
        way
    }

    /// The next `n` requests of that method whose target has `part` go wrong.
    pub(crate) fn spoil(&self, method: &'static str, part: &'static str, wrong: Wrong, n: usize) {
        self.shared.rules.lock().unwrap().push(Rule {
            method,
            part,
            wrong,
            left: n,
        });
    }

    /// Nothing goes wrong any more.
    pub(crate) fn mend(&self) {
        self.shared.rules.lock().unwrap().clear();
    }

    /// How many of those that were to go wrong have not come yet.
    pub(crate) fn n_left(&self) -> usize {
        let rules = self.shared.rules.lock().unwrap();
        rules.iter().map(|rule| rule.left).sum()
    }

    /// How many requests came whose method and target have all of these.
    pub(crate) fn n_asked(&self, parts: &[&str]) -> usize {
        let asked = self.shared.asked.lock().unwrap();
        let has = |asked: &&String| parts.iter().all(|part| asked.contains(part));
        asked.iter().filter(has).count()
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        // Wakes the one who accepts.
        let _ = TcpStream::connect(&self.address);
    }
}

impl Shared {
    fn wrong(&self, method: &str, target: &str) -> Option<Wrong> {
        let mut rules = self.rules.lock().unwrap();
        let rule = rules
            .iter_mut()
            .find(|rule| rule.left > 0 && rule.method == method && target.contains(rule.part))?;
        rule.left -= 1;
        Some(rule.wrong)
    }
}

/// One request for each connection.
fn carry(mut client: TcpStream, shared: &Shared) {
    let Some(mut request) = Message::read(&mut client, false) else {
        return;
    };
    let mut words = request.head.split(' ').map(str::to_owned);
    let (method, target) = (words.next().unwrap(), words.next().unwrap());
    shared
        .asked
        .lock()
        .unwrap()
        .push(format!("{method} {target}"));
    let wrong = shared.wrong(&method, &target);
    match wrong {
        Some(Wrong::Status(status)) => {
            let answer = format!(
                "HTTP/1.1 {status} Spoilt\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
            let _ = client.write_all(answer.as_bytes());
            return;
        }
        Some(Wrong::Stall) => {
            while !shared.over.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(50));
            }
            return;
        }
        Some(Wrong::HalfPut) => request.body.truncate(request.body.len() / 2),
        _ => {}
    }
    let Ok(mut store) = TcpStream::connect(&shared.to) else {
        return;
    };
    if store.write_all(&request.text(request.body.len())).is_err() {
        return;
    }
    let Some(mut answer) = Message::read(&mut store, method == "HEAD") else {
        return;
    };
    let length = answer.body.len();
    match wrong {
        Some(Wrong::CutGet) => answer.body.truncate(length / 2),
        Some(Wrong::HalfGet) => {
            answer.body.truncate(length / 2);
            let _ = client.write_all(&answer.text(length / 2));
            return;
        }
        Some(Wrong::OtherByte) => answer.body[length / 2] ^= 0x10,
        _ => {}
    }
    let text = if method == "HEAD" {
        answer.as_it_came()
    } else {
        answer.text(length)
    };
    if wrong != Some(Wrong::Slow) {
        let _ = client.write_all(&text);
        return;
    }
    for piece in text.chunks(6554) {
        std::thread::sleep(Duration::from_millis(100));
        if client.write_all(piece).is_err() {
            return;
        }
    }
}

/// A request or an answer.
struct Message {
    /// All lines of the head, without the empty one.
    head: String,
    body: Vec<u8>,
}

impl Message {
    fn read(stream: &mut TcpStream, is_head_only: bool) -> Option<Message> {
        let mut bytes = Vec::new();
        let mut piece = [0; 16 * 1024];
        let end = loop {
            if let Some(at) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
                break at;
            }
            match stream.read(&mut piece) {
                Ok(0) | Err(_) => return None,
                Ok(n) => bytes.extend_from_slice(&piece[..n]),
            }
        };
        let mut body = bytes.split_off(end + 4);
        bytes.truncate(end);
        let head = String::from_utf8(bytes).unwrap();
        let mut message = Message {
            head,
            body: Vec::new(),
        };
        if message.header("expect").is_some() {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?;
        }
        let length = message.header("content-length");
        let length: usize = length.map_or(0, |length| length.parse().unwrap());
        while !is_head_only && body.len() < length {
            match stream.read(&mut piece) {
                Ok(0) | Err(_) => return None,
                Ok(n) => body.extend_from_slice(&piece[..n]),
            }
        }
        message.body = body;
        Some(message)
    }

    fn status(&self) -> u16 {
        self.head.split(' ').nth(1).unwrap().parse().unwrap()
    }

    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1);
        let mut fields = lines.filter_map(|line| line.split_once(": "));
        fields
            .find(|(field, _)| field.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// The message, with another length said of its body, for a connection that ends with it.
    fn text(&self, length: usize) -> Vec<u8> {
        let mut lines: Vec<&str> = self.head.lines().collect();
        lines.retain(|line| {
            let line = line.to_ascii_lowercase();
            !line.starts_with("content-length:") && !line.starts_with("connection:")
        });
        let mut text = lines.join("\r\n").into_bytes();
        let more = format!("\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
        text.extend_from_slice(more.as_bytes());
        text.extend_from_slice(&self.body);
        text
    }

    fn as_it_came(&self) -> Vec<u8> {
        let lines: Vec<&str> = self.head.lines().collect();
        let head = lines.join("\r\n") + "\r\nConnection: close\r\n\r\n";
        head.into_bytes()
    }
}
