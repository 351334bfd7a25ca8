//! Handing the page's address to the browser without the token standing in a command line, which every user of the
//! machine can read.
//!
//! What is opened is an address of our own on 127.0.0.1, which leads on to the page once. A file that leads there would be
//! simpler, but browsers in a sandbox (snap, flatpak) cannot read one outside of the home folder. Somebody else may see our
//! address and ask first: where the system says whose a connection is, only our own user is answered; elsewhere who asks
//! first is, and the browser that comes second shows nothing, so that it does not go unnoticed.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::socket_owner;

/// A browser that is not running yet takes a while.
const MOST_WAIT: Duration = Duration::from_secs(120);
/// What connects and says nothing holds up the browser no longer.
const MOST_READ: Duration = Duration::from_secs(2);
/// The first line of a request to us is shorter.
const MOST_BYTES: usize = 4096;

/// An address that leads on to another one, once.
#[derive(Debug)]
pub(super) struct Handover {
    listener: TcpListener,
    path: String,
}

impl Handover {
    /// # Errors
    /// When there is no port to be had.
    pub(super) fn new() -> io::Result<Handover> {
        // Each state has random keys from the system, and nobody learns anything of them.
        let random = || RandomState::new().hash_one(0);
        Ok(Handover {
            listener: TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?,
            path: format!("/{:016x}{:016x}", random(), random()),
        })
    }

    /// What the browser is to open.
    ///
    /// # Errors
    /// When the system does not say which port it is.
    pub(super) fn address(&self) -> io::Result<String> {
        Ok(format!(
            "http://{}{}",
            self.listener.local_addr()?,
            self.path
        ))
    }

    /// Waits for the browser and sends it on to `address`, as long as one may come.
    ///
    /// # Errors
    /// When it does not come, or the system refuses.
    pub(super) fn lead_to(
        &self,
        address: &str,
        may_come: &mut dyn FnMut() -> bool,
    ) -> io::Result<()> {
        let deadline = Instant::now() + MOST_WAIT;
        self.listener.set_nonblocking(true)?;
        while Instant::now() < deadline {
            let (stream, from) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {
                    if !may_come() {
                        return Err(io::Error::other("there is none"));
                    }
                    std::thread::sleep(Duration::from_millis(20));
                    continue;
                }
                Err(why) => return Err(why),
            };
            // Who goes away, or asks for something else, is none of ours.
            if self.answer(&stream, from, address).unwrap_or(false) {
                return Ok(());
            }
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    /// Answers one request, and says whether it was the one that is waited for.
    fn answer(&self, mut stream: &TcpStream, from: SocketAddr, address: &str) -> io::Result<bool> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(MOST_READ))?;
        stream.set_write_timeout(Some(MOST_READ))?;
        let line = first_line(stream)?;
        let is_it = line
            .strip_prefix("GET ")
            .and_then(|rest| rest.split(' ').next())
            == Some(&self.path)
            && socket_owner::is_ours(from);
        let head = if is_it {
            format!("303 See Other\r\nLocation: {address}\r\nReferrer-Policy: no-referrer")
        } else {
            "404 Not Found".to_owned()
        };
        let rest = "Cache-Control: no-store\r\nContent-Length: 0\r\nConnection: close";
        stream.write_all(format!("HTTP/1.1 {head}\r\n{rest}\r\n\r\n").as_bytes())?;
        Ok(is_it)
    }
}

fn first_line(mut stream: &TcpStream) -> io::Result<String> {
    let mut request = Vec::new();
    let mut block = [0; MOST_BYTES];
    let deadline = Instant::now() + MOST_READ;
    // All of the head: closed before it is read, the answer would be lost.
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let n = stream.read(&mut block)?;
        request.extend_from_slice(block.get(..n).unwrap_or_default());
        if n == 0 || request.len() > 4 * MOST_BYTES || Instant::now() > deadline {
            break;
        }
    }
    let line = request.split(|byte| *byte == b'\r').next();
    Ok(String::from_utf8_lossy(line.unwrap_or_default()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(address: &str, path: Option<&str>) -> String {
        let (host, own_path) = address
            .strip_prefix("http://")
            .and_then(|rest| rest.split_once('/'))
            .expect("an address");
        let path = path.unwrap_or(own_path);
        let mut stream = TcpStream::connect(host).expect("it listens");
        let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it takes it");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }

    #[test]
    fn the_address_leads_on_once_and_no_other_does() {
        let handover = Handover::new().expect("a port");
        let address = handover.address().expect("a port");
        assert!(!address.contains("secret"));
        let waiting = std::thread::spawn(move || {
            handover.lead_to("http://127.0.0.1:1/#token=secret", &mut || true)
        });
        for other in ["", "favicon.ico", "0123456789abcdef0123456789abcdef"] {
            let answer = ask(&address, Some(other));
            assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
            assert!(!answer.contains("secret"));
        }
        let answer = ask(&address, None);
        assert!(answer.starts_with("HTTP/1.1 303 "), "{answer}");
        assert!(answer.contains("\r\nLocation: http://127.0.0.1:1/#token=secret\r\n"));
        assert!(waiting.join().expect("it ends").is_ok());
        let host = address
            .strip_prefix("http://")
            .and_then(|rest| rest.split('/').next());
        assert!(
            TcpStream::connect(host.expect("a host")).is_err(),
            "it is over"
        );
    }

    #[test]
    fn where_no_browser_comes_nobody_waits_for_it() {
        let handover = Handover::new().expect("a port");
        let led = handover.lead_to("http://127.0.0.1:1/", &mut || false);
        assert!(led.is_err_and(|why| why.kind() == io::ErrorKind::Other));
    }
}
