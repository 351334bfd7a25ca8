//! What is at the server's address and is not ours, or not for us: nothing is lost to it, and nothing else waits for it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::pipe::{PATIENT, SMALL, run, spooled, spooled_for_others, start};
use crate::support::{self, Server, command, make_token, soon};
use serde_json::json;

/// Something that answers each request so, by its first line and its body: its address, and how many came.
pub(super) fn answering(
    answer: impl Fn(&str) -> (u16, String) + Send + 'static,
) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let n_asked = Arc::new(AtomicUsize::new(0));
    let counted = n_asked.clone();
    // Ends with the test's process.
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let Some(asked) = request_of(&stream) else {
                continue;
            };
            counted.fetch_add(1, Ordering::SeqCst);
            let (status, body) = answer(&asked);
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status} So\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
            );
            let _ = stream.write_all((head + &body).as_bytes());
        }
    });
    (url, n_asked)
}

/// Reads a request to its end; its first line, and its body.
fn request_of(stream: &TcpStream) -> Option<String> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut n_bytes = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(length) = line.strip_prefix("content-length:") {
            n_bytes = length.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; n_bytes];
    reader.read_exact(&mut body).ok()?;
    Some(first + &String::from_utf8_lossy(&body))
}

#[test]
fn what_somebody_else_answers_is_no_word_that_events_are_stored() {
    for (status, body) in [
        (200, "{}"),
        (200, "<html>Hello</html>"),
        (201, ""),
        (404, "<html>No</html>"),
        (405, ""),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let (url, _) = answering(move |_| (status, body.to_owned()));
        let more = ["--wait", "1", "--endpoint", &url, "--token", "t"];
        let output = run(dir.path(), &more, SMALL.as_bytes());
        let said = command::text(&output.stderr);
        let told = "what answers there is no Turnreel server";
        assert!(said.contains(told) && said.contains(&url), "{said}");
        assert!(said.contains("they wait in"), "{said}");
        assert_eq!(spooled_for_others(dir.path()), 1, "{status} {body}");
    }
}

/// The server ended while it was asked, and another program has its port.
#[test]
fn an_answer_of_somebody_else_is_not_waited_for_without_end() {
    let dir = tempfile::tempdir().unwrap();
    let (url, n_asked) = answering(|asked| {
        let taken = json!({"epoch": "e", "first": 1, "last": 1, "dups": 0, "durable": "written",
            "results": [{"status": "stored", "seq": 1}]});
        let unknown =
            json!({"error": {"code": "not_found", "message": "there is no such session"}});
        match asked {
            asked if asked.starts_with("POST") => (200, taken.to_string()),
            asked if asked.contains("/events") => (404, unknown.to_string()),
            _ => (200, "{}".to_owned()),
        }
    });
    let more = ["--endpoint", &url, "--token", "t"];
    let input = json!({"session_id": "s1", "hook_event_name": "PermissionRequest", "tool_name": "Bash",
        "tool_input": {"command": "touch b.txt"}});
    let child = command::start_at(dir.path(), "hook", &more);
    let mut child = command::given(child, input.to_string().as_bytes());
    support::wait_for(&mut child, support::PATIENCE);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    let said = command::text(&output.stderr);
    let told = "waits no longer for an answer from the page: ";
    assert!(
        said.contains(told) && said.contains("no Turnreel server"),
        "{said}"
    );
    let n_asked = n_asked.load(Ordering::SeqCst);
    assert!(n_asked < 30, "it was asked {n_asked} times");
}

#[test]
fn what_is_no_sessions_id_is_refused_and_the_others_arrive() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let of = |session: &str| SMALL.replace("s1", session);
    let bad = ["task/42", "my session", "-rf", "??"];
    let bad: String = bad.map(of).concat();
    let input = bad.clone() + SMALL;
    let output = run(dir.path(), &PATIENT, input.as_bytes());
    let said = command::text(&output.stderr);
    for told in [
        "and this one is not: task/42",
        "12 events are not in the session",
    ] {
        assert!(said.contains(told), "{said}");
    }
    assert_eq!(server.all("s1", 10).len(), 3);
    assert_eq!(spooled(dir.path()), 0);
    let refused = std::fs::read_dir(dir.path().join("spool/refused")).unwrap();
    let mut kept: Vec<String> = refused
        .flat_map(|it| {
            let text = std::fs::read_to_string(it.unwrap().path()).unwrap();
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    let mut expected: Vec<String> = bad.lines().map(str::to_owned).collect();
    kept.sort();
    expected.sort();
    assert_eq!(kept, expected);
}

/// What is refused of a file that waits is refused again with it, and stands once beside it.
#[test]
fn a_session_that_a_token_may_not_send_to_is_left_and_holds_up_no_other() {
    let (away, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Server::start(dir.path());
    let there =
        json!([{"id": "a", "timestamp": 1, "type": "user_message", "payload": {"text": "Hi"}}]);
    assert_eq!(server.post("s1", &there).0, 200);
    let token = make_token(&server, &["--scope", "ingest", "--session", "s1"]);
    let to = ["--endpoint", &server.url, "--token", &token, "--wait", "60"];
    let input = SMALL.replace("s1", "s2") + SMALL;
    let output = run(away.path(), &to, input.as_bytes());
    let said = command::text(&output.stderr);
    assert!(
        said.contains("404") && said.contains(": s2; it waits"),
        "{said}"
    );
    assert!(said.contains("they wait in"), "{said}");
    assert_eq!(
        server.all("s1", 10).len(),
        3,
        "the first of them has an id that is there"
    );
    let pass = |token: &str, done: &dyn Fn() -> bool| {
        let mut child = start(away.path(), &["--endpoint", &server.url, "--token", token]);
        soon("what was left is looked at", done);
        drop(child.stdin.take());
        command::text(&child.wait_with_output().unwrap().stderr)
    };
    // It sends what it can, and leaves the file.
    let said = pass(&token, &|| {
        std::thread::sleep(Duration::from_secs(1));
        true
    });
    assert!(
        said.contains("left for a token that may send to it"),
        "{said}"
    );
    assert_eq!(spooled_for_others(away.path()), 1);
    pass(&server.token, &|| spooled_for_others(away.path()) == 0);
    assert_eq!(server.all("s2", 10).len(), 3);
    let folder = std::fs::read_dir(away.path().join("spool/to")).unwrap();
    let folder = folder.flatten().next().unwrap().path();
    let kept = std::fs::read_to_string(folder.join("refused/s1.jsonl")).unwrap();
    assert_eq!(kept.lines().count(), 1, "{kept}");
}
