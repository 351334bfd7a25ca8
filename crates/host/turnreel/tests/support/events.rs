//! A reader of Server-Sent Events, by the rules of the HTML standard as far as they are used.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use serde_json::Value;

use super::{PATIENCE, Server};

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told {
    /// The last id so far.
    pub(crate) id: String,
    /// `message` where it has no name.
    pub(crate) name: String,
    pub(crate) data: Value,
}

pub(crate) struct Stream {
    reader: BufReader<TcpStream>,
    pub(crate) status: u16,
    last_id: String,
    /// Bytes of the chunk that is read now.
    left: usize,
    line: Vec<u8>,
}

impl Server {
    /// Asks for a stream of events at the path, behind `last_id` where there is one.
    pub(crate) fn stream(&self, path: &str, last_id: Option<&str>) -> Stream {
        Stream::open(&self.address(), &self.token, path, last_id)
    }
}

impl Stream {
    pub(crate) fn open(address: &str, token: &str, path: &str, last_id: Option<&str>) -> Stream {
        let mut request = format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nAccept: text/event-stream\r\n"
        );
        if let Some(id) = last_id {
            request.push_str(&format!("Last-Event-ID: {id}\r\n"));
        }
        request.push_str("\r\n");
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut status = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if status == 0 {
                status = line.split(' ').nth(1).unwrap().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
        }
        Stream {
            reader,
            status,
            last_id: last_id.unwrap_or_default().to_owned(),
            left: 0,
            line: Vec::new(),
        }
    }

    /// The next message; `None` at the end, or where nothing comes for long.
    pub(crate) fn next(&mut self) -> Option<Told> {
        let (mut name, mut data) = ("message".to_owned(), String::new());
        loop {
            let line = self.next_line()?;
            let (field, value) = line.split_once(": ").unwrap_or((&line, ""));
            match field {
                "" if !data.is_empty() => break,
                "id" => self.last_id = value.to_owned(),
                "event" => name = value.to_owned(),
                "data" => data.push_str(value),
                _ => {}
            }
        }
        Some(Told {
            id: self.last_id.clone(),
            name,
            data: serde_json::from_str(&data).unwrap(),
        })
    }

    /// The next message that is no sign of life.
    pub(crate) fn next_news(&mut self) -> Option<Told> {
        loop {
            let told = self.next()?;
            if told.name != "hb" && told.data["type"] != "server.heartbeat" {
                return Some(told);
            }
        }
    }

    /// The numbers of events until `to`, which must be told one by one.
    pub(crate) fn seqs_to(&mut self, to: u64) -> Vec<u64> {
        let mut seqs = Vec::new();
        while seqs.last() != Some(&to) {
            let told = self.next_news().expect("more events");
            assert_eq!(told.name, "ev", "{told:?}");
            let seq = told.data["seq"].as_u64().unwrap();
            assert!(told.id.ends_with(&format!(".{seq}")), "{told:?}");
            seqs.push(seq);
        }
        seqs
    }

    fn next_line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.line.iter().position(|byte| *byte == b'\n') {
                let rest = self.line.split_off(end + 1);
                let line = std::mem::replace(&mut self.line, rest);
                return Some(String::from_utf8(line[..end].to_vec()).unwrap());
            }
            if self.left == 0 {
                let mut size = String::new();
                self.reader.read_line(&mut size).ok()?;
                self.left = usize::from_str_radix(size.trim(), 16).ok()?;
                if self.left == 0 {
                    return None;
                }
            }
            let piece = self.reader.fill_buf().ok()?;
            let n = piece.len().min(self.left);
            if n == 0 {
                return None;
            }
            self.line.extend_from_slice(&piece[..n]);
            self.reader.consume(n);
            self.left -= n;
            if self.left == 0 {
                let mut end = String::new();
                self.reader.read_line(&mut end).ok()?;
            }
        }
    }
}
