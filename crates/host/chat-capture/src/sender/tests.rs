use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::*;
use crate::client::Endpoint;

#[test]
fn waits_grow_to_a_bound_and_are_at_least_what_was_asked_within_reason() {
    for tries in 1..40 {
        assert!(backoff(tries, None) <= LONGEST_WAIT);
        assert!(backoff(tries, Some(Duration::from_secs(9))) >= Duration::from_secs(9));
        assert!(backoff(tries, Some(Duration::MAX)) <= LONGEST_ASKED + LONGEST_WAIT);
    }
}

/// Tells one event of a session of which another source told something, to a server that answers the first tries with these
/// statuses and then takes it: how often it was sent, and how often the log was read.
fn told_beside_another(refusals: &'static [u16]) -> std::io::Result<(usize, usize)> {
    let dir = tempfile::tempdir()?;
    let sources = dir.path().join("sources");
    std::fs::create_dir(&sources)?;
    let other = json!({"claude-transcript": {"told": 1, "spool": "gone.jsonl"}});
    std::fs::write(sources.join("s1.json"), other.to_string())?;
    let spool = dir.path().join("s1-1.claude-stream.jsonl");
    let line = r#"{"id":"e1","timestamp":1,"sessionId":"s1","type":"user_message","payload":{"text":"Hi"}}"#;
    std::fs::write(&spool, format!("{line}\n"))?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}", listener.local_addr()?);
    let n_sent = Arc::new(AtomicUsize::new(0));
    let n_read = Arc::new(AtomicUsize::new(0));
    let (sent, read) = (n_sent.clone(), n_read.clone());
    // Ends with the test's process.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = answer(&stream, |is_read| {
                let counted = if is_read { &read } else { &sent };
                let nth = counted.fetch_add(1, Ordering::SeqCst);
                match refusals.get(nth).filter(|_| !is_read) {
                    Some(status) => (*status, json!({"error": {"code": "later", "message": ""}})),
                    None if is_read => (
                        200,
                        json!({"epoch": "e", "next": 0, "head": 0, "events": []}),
                    ),
                    None => (
                        200,
                        json!({"epoch": "e", "first": 1, "last": 1, "dups": 0,
                            "durable": "written", "results": [{"status": "stored", "seq": 1}]}),
                    ),
                }
            });
        }
    });
    let find: FindEndpoint = Box::new(move || {
        Ok(Endpoint {
            url: url.clone(),
            token: "t".to_owned(),
        })
    });
    let mut sender = Sender::new(&find, dir.path(), None);
    sender.sources = Some(Sources::new(&spool));
    let batch = Batch {
        session_id: "s1".to_owned(),
        lines: vec![line.to_owned()],
        end: std::fs::metadata(&spool)?.len(),
    };
    let told = sender.send(&batch, true, &mut |_| true);
    assert!(told.is_ok(), "{:?}", sender.take_notes());
    Ok((n_sent.load(Ordering::SeqCst), n_read.load(Ordering::SeqCst)))
}

/// Answers one request: whether it reads is known by its first line.
fn answer(
    mut stream: &TcpStream,
    answer: impl FnOnce(bool) -> (u16, serde_json::Value),
) -> std::io::Result<()> {
    let mut asked = BufReader::new(stream);
    let mut first = String::new();
    asked.read_line(&mut first)?;
    let mut n_bytes = 0;
    loop {
        let mut line = String::new();
        asked.read_line(&mut line)?;
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(length) = line.strip_prefix("content-length:") {
            n_bytes = length.trim().parse().unwrap_or(0);
        }
    }
    asked.read_exact(&mut vec![0; n_bytes])?;
    let (status, body) = answer(first.starts_with("GET"));
    let body = body.to_string();
    write!(
        stream,
        "HTTP/1.1 {status} So\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn a_server_that_takes_nothing_for_now_is_not_asked_for_the_whole_log_with_each_try()
-> std::io::Result<()> {
    assert_eq!(told_beside_another(&[423, 429, 503, 507])?, (5, 1));
    // It is not known whether it took it: the log tells.
    assert_eq!(told_beside_another(&[500, 504])?, (3, 3));
    Ok(())
}
