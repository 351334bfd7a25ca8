//! A small web server of a test's own: files from memory, and a note of what was asked for.
#![allow(
    clippy::expect_used,
    reason = "a server that cannot be started fails the test"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// As much goes out at once.
const PIECE_BYTES: usize = 64 * 1024;
/// And where the address ends in [`SLOWLY`], with a pause behind it.
const SLOW_PIECE_BYTES: usize = 8 * 1024;
const PAUSE: Duration = Duration::from_millis(60);
/// What stands at the end of an address that is answered as over a slow link.
pub(crate) const SLOWLY: &str = "?slowly";

#[derive(Default)]
struct Shelf {
    /// Content type and content by path.
    files: BTreeMap<String, (&'static str, Vec<u8>)>,
    /// The Content-Security-Policy of pages.
    policy: String,
    /// What is answered where there is no file: status, content type and content.
    otherwise: Option<(&'static str, &'static str, Vec<u8>)>,
    asked: Vec<String>,
    /// Paths that were answered, and how many bytes went out.
    given: Vec<(String, usize)>,
}

/// A running server.
pub(crate) struct Site {
    /// `http://127.0.0.1:PORT`
    pub(crate) url: String,
    shelf: Arc<Mutex<Shelf>>,
    accepting: JoinHandle<()>,
}

impl Site {
    /// Listens on a free port. Its pages may load `<agent-feed>` from `script_origin` and nothing else from elsewhere.
    pub(crate) async fn start(script_origin: &str) -> Site {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let policy = format!(
            "default-src 'none'; script-src {script_origin} 'wasm-unsafe-eval'; connect-src 'self' {script_origin}; \
             style-src 'self'; img-src data:; require-trusted-types-for 'script'; trusted-types agent-feed"
        );
        let shelf = Arc::new(Mutex::new(Shelf {
            policy,
            ..Shelf::default()
        }));
        let served = shelf.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, served.clone()));
            }
        });
        let site = Site {
            url,
            shelf,
            accepting,
        };
        site.put(
            "/page.css",
            "text/css",
            "html, body { margin: 0; } agent-feed { height: 600px; }",
        );
        site
    }

    /// Puts a file at a path.
    pub(crate) fn put(&self, path: &str, content_type: &'static str, content: impl Into<Vec<u8>>) {
        self.shelf()
            .files
            .insert(path.to_owned(), (content_type, content.into()));
    }

    /// What is answered from now on where there is no file.
    pub(crate) fn answer_otherwise(
        &self,
        status: &'static str,
        content_type: &'static str,
        content: impl Into<Vec<u8>>,
    ) {
        self.shelf().otherwise = Some((status, content_type, content.into()));
    }

    /// Puts everything below a folder, at the same paths.
    pub(crate) fn put_folder(&self, folder: &Path, path: &str) {
        let entries = std::fs::read_dir(folder).expect("a folder can be read");
        for entry in entries.flatten() {
            let path = format!("{path}/{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                self.put_folder(&entry.path(), &path);
                continue;
            }
            let content_type = match path.rsplit('.').next() {
                Some("js") => "text/javascript",
                Some("wasm") => "application/wasm",
                Some("css") => "text/css",
                _ => "application/octet-stream",
            };
            let content = std::fs::read(entry.path()).expect("a file can be read");
            self.put(&path, content_type, content);
        }
    }

    /// Puts a page at a path: the one script, and this body.
    pub(crate) fn put_page(&self, path: &str, script_origin: &str, body: &str) {
        let page = format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>A page of somebody else</title>\
             <link rel=\"icon\" href=\"data:,\"><link rel=\"stylesheet\" href=\"/page.css\">\
             <script type=\"module\" src=\"{script_origin}/agent-feed.js\"></script></head><body>{body}</body></html>"
        );
        self.put(path, "text/html; charset=utf-8", page);
    }

    /// Serves pages without any policy from now on, as most pages are.
    pub(crate) fn drop_policy(&self) {
        self.shelf().policy.clear();
    }

    /// Methods and paths that were asked for, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.shelf().asked.clone()
    }

    /// How many bytes of a file went out each time it was asked for, in the order in which the answers ended.
    pub(crate) fn given(&self, path: &str) -> Vec<usize> {
        let shelf = self.shelf();
        let of_path = shelf.given.iter().filter(|(given, _)| given == path);
        of_path.map(|(_, n_bytes)| *n_bytes).collect()
    }

    fn shelf(&self) -> std::sync::MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(mut stream: TcpStream, shelf: Arc<Mutex<Shelf>>) {
    let mut head = Vec::new();
    let mut piece = [0; 4096];
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return,
            Ok(n_read) => head.extend_from_slice(&piece[..n_read]),
        }
    }
    let text = String::from_utf8_lossy(&head).into_owned();
    let mut words = text.split_whitespace();
    let (method, target) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let path = target.split('?').next().unwrap_or_default();
    let (head, body) = {
        let mut shelf = shelf.lock().unwrap_or_else(PoisonError::into_inner);
        shelf.asked.push(format!("{method} {target}"));
        let file = shelf.files.get(path);
        let file = file.map(|(content_type, content)| ("200 OK", *content_type, content));
        let otherwise = shelf.otherwise.as_ref();
        let otherwise = otherwise.map(|(status, kind, content)| (*status, *kind, content));
        match file.or(otherwise) {
            Some((status, content_type, content)) => {
                let policy = if content_type.starts_with("text/html") && !shelf.policy.is_empty() {
                    format!("content-security-policy: {}\r\n", shelf.policy)
                } else {
                    String::new()
                };
                let head = format!(
                    "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n{policy}connection: close\r\n\r\n",
                    content.len()
                );
                (head, content.clone())
            }
            None => (
                "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                    .to_owned(),
                Vec::new(),
            ),
        }
    };
    if stream.write_all(head.as_bytes()).await.is_err() {
        return;
    }
    let slowly = target.ends_with(SLOWLY);
    let piece_bytes = if slowly {
        SLOW_PIECE_BYTES
    } else {
        PIECE_BYTES
    };
    let mut n_given = 0;
    for piece in body.chunks(piece_bytes) {
        if stream.write_all(piece).await.is_err() {
            break;
        }
        n_given += piece.len();
        if slowly {
            tokio::time::sleep(PAUSE).await;
        }
    }
    {
        let mut shelf = shelf.lock().unwrap_or_else(PoisonError::into_inner);
        shelf.given.push((path.to_owned(), n_given));
    }
    let _ = stream.shutdown().await;
}
