//! A socket of a client, frame by frame.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

use super::seq_and_id;
use super::server::Server;

/// What asks the server at `host` for a socket.
pub(super) fn upgrade(host: &str, token: &str) -> tungstenite::handshake::client::Request {
    let mut request = format!("ws://{host}/api/v1/ws")
        .into_client_request()
        .unwrap();
    let protocols = format!("turnreel.v1, tr.tok.{token}");
    request
        .headers_mut()
        .insert("Sec-WebSocket-Protocol", protocols.parse().unwrap());
    request
}

pub(super) fn connect(
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
