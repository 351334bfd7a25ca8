//! Frames as bytes: what RFC 6455 asks of a server, by the cases of the corpus.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::support::{self, Server, chunks};
use serde_json::Value;

/// Cases that are not bytes to send, or hold otherwise, and why.
const OTHERWISE: &[(&str, &str)] = &[
    ("ping-flood-10000", "a procedure"),
    ("resume-flood", "a procedure"),
    ("half-open", "a procedure"),
    ("byte-at-a-time", "a procedure, held below"),
    (
        "len-64bit-msb",
        "closed with 1009: the length is over the limit before it is wrong",
    ),
    (
        "resume-future",
        "its op is `resume`, which is unknown here: held by the test of resumes",
    ),
    (
        "resume-negative",
        "its op is `resume`, which is unknown here",
    ),
    ("resume-float", "its op is `resume`, which is unknown here"),
];

/// What the server does with the bytes.
#[derive(Debug, Default, PartialEq)]
struct Reaction {
    close: Option<u16>,
    n_closes: usize,
    pongs: Vec<Vec<u8>>,
    texts: Vec<Value>,
    /// Whether the connection ended.
    ended: bool,
}

fn connect(server: &Server) -> TcpStream {
    let stream = support::upgraded(server);
    stream.set_nodelay(true).unwrap();
    stream
}

/// A text in a frame of a client's. Masked with zeros: it stays as it is.
fn masked(text: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x81, 0x80 | text.len() as u8, 0, 0, 0, 0];
    frame.extend_from_slice(text);
    frame
}

/// The number of the question that is asked last.
const LAST: u64 = 4711;

/// Whether nothing comes for so long.
fn is_quiet(stream: &TcpStream, for_ms: u64) -> bool {
    let time = Some(Duration::from_millis(for_ms));
    stream.set_read_timeout(time).unwrap();
    let came = stream.peek(&mut [0]);
    let time = Some(Duration::from_secs(60));
    stream.set_read_timeout(time).unwrap();
    came.is_err_and(|why| support::is_timeout(&why))
}

/// Reads frames until a close, the end, or quiet: then something is asked, and whatever comes before its answer counts,
/// however slow the machine is.
fn reaction(stream: &mut TcpStream) -> Reaction {
    let mut reaction = Reaction::default();
    let mut is_asked = false;
    loop {
        if reaction.n_closes > 0 {
            if is_quiet(stream, 1500) {
                return reaction;
            }
        } else if !is_asked && is_quiet(stream, 500) {
            let ping = format!(r#"{{"op":"ping","n":{LAST}}}"#);
            let _ = stream.write_all(&masked(ping.as_bytes()));
            is_asked = true;
        }
        let mut head = [0; 2];
        if stream.read_exact(&mut head).is_err() {
            reaction.ended = true;
            return reaction;
        }
        assert_eq!(head[0] & 0x80, 0x80, "a server's frame is whole");
        assert_eq!(head[1] & 0x80, 0, "a server's frame is not masked");
        let len = match head[1] & 0x7f {
            126 => {
                let mut len = [0; 2];
                stream.read_exact(&mut len).unwrap();
                usize::from(u16::from_be_bytes(len))
            }
            127 => {
                let mut len = [0; 8];
                stream.read_exact(&mut len).unwrap();
                usize::try_from(u64::from_be_bytes(len)).unwrap()
            }
            len => usize::from(len),
        };
        let mut payload = vec![0; len];
        stream.read_exact(&mut payload).unwrap();
        match head[0] & 0x0f {
            1 => {
                let text: Value = serde_json::from_slice(&payload).unwrap();
                if text["op"] == "pong" && text["n"] == LAST {
                    return reaction;
                }
                reaction.texts.push(text);
            }
            8 => {
                reaction.n_closes += 1;
                let code = payload
                    .first_chunk::<2>()
                    .map(|code| u16::from_be_bytes(*code));
                reaction.close = reaction.close.or(Some(code.unwrap_or(1005)));
            }
            10 => reaction.pongs.push(payload),
            9 => {}
            other => panic!("frame {other}"),
        }
    }
}

fn bytes_of(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2)
        .map(|at| u8::from_str_radix(&hex[at * 2..at * 2 + 2], 16).unwrap())
        .collect()
}

fn holds(expect: &str, sent: &[u8], reaction: &Reaction) -> bool {
    let bad_frame = reaction
        .texts
        .iter()
        .any(|frame| frame["code"] == "bad_frame");
    let quiet = reaction.close.is_none() && !reaction.ended;
    match expect {
        "pong same payload" => reaction.pongs == [sent[6..].to_vec()] && quiet,
        "pong, then message accepted" => reaction.pongs.len() == 1 && bad_frame,
        "ignored" => quiet && reaction.texts.is_empty(),
        "close 1000/1005 echoed" | "close 1000 echoed" | "one close echoed" => {
            reaction.n_closes == 1 && matches!(reaction.close, Some(1000 | 1005))
        }
        "echoed" => reaction.close == Some(4000),
        "no reaction after close" => reaction.n_closes == 1 && reaction.texts.is_empty(),
        "message accepted (then error frame: not an object)" => bad_frame && quiet,
        "ignored (forward compatible) or error frame" => quiet,
        "accepted or close 1008; no quadratic time" => quiet || reaction.close == Some(1008),
        _ if expect.starts_with("error frame bad_frame") => bad_frame && quiet,
        _ if expect.ends_with(" or accepted") && quiet => true,
        _ => {
            let code = expect.strip_prefix("close ").and_then(|rest| rest.get(..4));
            code.and_then(|code| code.parse().ok()) == reaction.close
        }
    }
}

#[test]
fn the_cases_of_frames_are_answered_as_they_say() {
    let Some(path) = support::shared("corpora/own/ws-frames.jsonl") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let cases = std::fs::read_to_string(path).unwrap();
    let run = &|line: &str| -> Option<String> {
        let case: Value = serde_json::from_str(line).unwrap();
        let id = case["id"].as_str().unwrap();
        if let Some((_, why)) = OTHERWISE.iter().find(|(other, _)| *other == id) {
            eprintln!("skipped: {id}: {why}");
            return None;
        }
        let sent = bytes_of(case["hex"].as_str().unwrap());
        let mut stream = connect(&server);
        // The server may close before it has read everything.
        let _ = stream.write_all(&sent);
        let reaction = reaction(&mut stream);
        let expect = case["expect"].as_str().unwrap();
        (!holds(expect, &sent, &reaction)).then(|| format!("{id}: expected {expect}: {reaction:?}"))
    };
    // At once, for most of the time is waiting for quiet.
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let running: Vec<_> = cases
            .lines()
            .map(|line| scope.spawn(move || run(line)))
            .collect();
        running
            .into_iter()
            .filter_map(|case| case.join().unwrap())
            .collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_frame_that_comes_byte_by_byte_is_a_frame() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &chunks(1, 1));
    let mut stream = connect(&server);
    for byte in masked(br#"{"op":"open","sub":1,"session":"s1"}"#) {
        stream.write_all(&[byte]).unwrap();
        std::thread::sleep(Duration::from_millis(3));
    }
    let reaction = reaction(&mut stream);
    assert_eq!(reaction.texts[0]["op"], "hello", "{reaction:?}");
    assert_eq!(reaction.texts[0]["head"], 1);
}
