//! What pipes left behind: who sends it, and to whom.

use std::io::Write;
use std::path::Path;

use super::pipe::{PATIENT, SMALL, run, spooled, spooled_for_others, start};
use crate::support::{Server, command, soon};

#[test]
fn what_was_left_is_taken_in_when_a_server_starts() {
    let dir = tempfile::tempdir().unwrap();
    let output = run(dir.path(), &["--wait", "0"], SMALL.as_bytes());
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stdout), SMALL);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("they wait in"), "{said}");
    assert_eq!(spooled(dir.path()), 1);
    let server = Server::start(dir.path());
    soon("the events are taken in", || spooled(dir.path()) == 0);
    assert_eq!(server.all("s1", 10).len(), 3);
}

#[test]
fn what_was_left_and_cannot_be_read_holds_up_nothing_and_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let spool = dir.path().join("spool");
    // A name that is no file, bytes that are no text, and a session that cannot be one, each before what is good.
    std::fs::create_dir_all(spool.join("a.jsonl")).unwrap();
    let noise = [b"\xff\xfe\0\n{\"sessionId\":7}\n", SMALL.as_bytes()].concat();
    std::fs::write(spool.join("b.jsonl"), &noise).unwrap();
    let other = SMALL.replace("s1", "s2");
    let bad = SMALL
        .replace("s1", "no/such")
        .lines()
        .next()
        .unwrap()
        .to_owned()
        + "\n";
    std::fs::write(spool.join("c.jsonl"), bad.clone() + &other).unwrap();
    let server = Server::start(dir.path());
    soon("all that can be is taken in", || spooled(dir.path()) == 1);
    assert!(spool.join("a.jsonl").is_dir());
    for session in ["s1", "s2"] {
        assert_eq!(server.all(session, 10).len(), 3, "{session}");
    }
    let refused = std::fs::read_dir(spool.join("refused")).unwrap();
    let mut kept: Vec<Vec<u8>> = refused
        .map(|it| std::fs::read(it.unwrap().path()).unwrap())
        .collect();
    kept.sort();
    assert_eq!(kept, [bad.as_bytes(), &noise[..noise.len() - SMALL.len()]]);
}

#[test]
fn a_line_that_is_no_event_is_kept_and_named_by_the_next_pipe() {
    let dir = tempfile::tempdir().unwrap();
    let spool = dir.path().join("spool");
    std::fs::create_dir_all(&spool).unwrap();
    // A process that is killed leaves half a line.
    let half = r#"{"id":"d","timestamp":4,"sessi"#;
    std::fs::write(spool.join("a-1.jsonl"), format!("{SMALL}\n{half}")).unwrap();
    let server = Server::start_on(dir.path(), "127.0.0.1:0", &["--no-examples"]);
    soon("it is taken in", || spooled(dir.path()) == 0);
    let kept = spool.join("refused/a-1.jsonl");
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), format!("{half}\n"));
    std::fs::write(spool.join("b-1.jsonl"), format!("{half}\n{SMALL}")).unwrap();
    let mut child = start(dir.path(), &[]);
    soon("it is sent", || spooled(dir.path()) == 0);
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("line 1 of "), "{said}");
    assert!(said.contains("b-1.jsonl is no event; kept in"), "{said}");
    assert_eq!(server.all("s1", 10).len(), 3);
}

#[test]
fn what_was_left_is_let_go_of_by_a_pipe_that_cannot_send_it_or_says_nothing() {
    for more in [&[][..], &["--token", "wrong"]] {
        let dir = tempfile::tempdir().unwrap();
        let server = Server::start_on(dir.path(), "127.0.0.1:0", &["--no-examples"]);
        let status = || {
            let row = server.get("/api/v1/sessions").1["sessions"][0].clone();
            row["status"].as_str().unwrap_or_default().to_owned()
        };
        let mut child = start(dir.path(), &["--from", "claude-transcript"]);
        let line = r#"{"type":"user","uuid":"1","sessionId":"s1","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"Hello"}}"#;
        writeln!(child.stdin.as_mut().unwrap(), "{line}").unwrap();
        soon("it runs", || status() == "busy");
        child.kill().unwrap();
        child.wait().unwrap();
        // It is there before the server looks, nearly always.
        let mut next = start(dir.path(), more);
        soon("it has ended", || status() == "ended");
        soon("what was left is taken", || spooled(dir.path()) == 0);
        drop(next.stdin.take());
        next.wait().unwrap();
    }
}

#[test]
fn whoever_holds_the_notes_of_one_session_holds_up_nothing_else_that_was_left() {
    let (away, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Server::start(dir.path());
    for session in ["s1", "s2"] {
        let line = format!(
            r#"{{"type":"user","uuid":"u1","sessionId":"{session}","timestamp":"2026-01-01T00:00:00.000Z","message":{{"role":"user","content":"Hi"}}}}"#
        );
        let refused = ["--endpoint", &server.url, "--token", "wrong"];
        let from = ["--wait", "0", "--from", "claude-transcript"];
        run(away.path(), &[refused, from].concat(), line.as_bytes());
    }
    assert_eq!(spooled_for_others(away.path()), 2);
    let folder = std::fs::read_dir(away.path().join("spool/to")).unwrap();
    let folder = folder.flatten().next().unwrap().path();
    let notes = folder.join("sources/s1.json");
    std::fs::create_dir_all(notes.parent().unwrap()).unwrap();
    let holder = std::fs::File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&notes)
        .unwrap();
    holder.lock().unwrap();
    let to = ["--endpoint", &server.url, "--token", &server.token];
    let mut child = start(away.path(), &to);
    let stdin = child.stdin.take().unwrap();
    soon("the other one is sent", || {
        spooled_for_others(away.path()) == 1
    });
    assert_eq!(server.get("/api/v1/sessions").1["sessions"][0]["id"], "s2");
    drop(stdin);
    let said = child.wait_with_output().unwrap().stderr;
    let said = String::from_utf8_lossy(&said);
    holder.unlock().unwrap();
    let mut child = start(away.path(), &to);
    soon("it is sent", || spooled_for_others(away.path()) == 0);
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(said.is_empty() || said.contains("s1.json"), "{said}");
}

#[test]
fn what_was_left_is_sent_by_the_next_pipe() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let refused = ["--token", "wrong", "--wait", "0"];
    run(dir.path(), &refused, SMALL.as_bytes());
    let mut child = start(dir.path(), &PATIENT);
    soon("it is sent", || spooled(dir.path()) == 0);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(SMALL.as_bytes()).unwrap();
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert_eq!(server.all("s1", 10).len(), 3);
}

/// What a run with a wrong token left of a session goes before what the next one tells of it.
#[test]
fn what_an_earlier_run_left_of_a_session_comes_before_ours() {
    let line = |n: u32| {
        format!(
            r#"{{"type":"user","uuid":"u{n}","sessionId":"s1","timestamp":"2026-01-01T00:00:0{n}.000Z","message":{{"role":"user","content":"{n}"}}}}"#
        ) + "\n"
    };
    // A server's own spool, and what waits for another's.
    for is_own in [true, false] {
        let (away, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let server = Server::start(dir.path());
        let wrong = away.path().join("wrong");
        std::fs::write(&wrong, "wrong").unwrap();
        let right = dir.path().join("token");
        let pipe = |token: &Path, more: &[&str], n: u32| {
            let to = ["--endpoint", &server.url, "--from", "claude-transcript"];
            let token = ["--token-file", token.to_str().unwrap()];
            let data = if is_own { dir.path() } else { away.path() };
            let output = run(data, &[&to[..], &token, more].concat(), line(n).as_bytes());
            command::text(&output.stderr)
        };
        for n in 1..4 {
            let said = pipe(&wrong, &["--wait", "0"], n);
            assert!(said.contains("they wait in"), "{said}");
        }
        assert_eq!(pipe(&right, &PATIENT, 4), "");
        assert_eq!(spooled_for_others(away.path()), 0);
        soon("none waits", || spooled(dir.path()) == 0);
        let events = server.get("/api/v1/sessions/s1/events?limit=1000").1["events"].clone();
        let said = events.as_array().unwrap().iter();
        let said = said.filter(|event| event["type"] == "user_message");
        let said: Vec<_> = said.map(|it| it["payload"]["text"].clone()).collect();
        // The server of the folder may take them first.
        match is_own {
            true => assert_eq!(said.len(), 4),
            false => assert_eq!(said, ["1", "2", "3", "4"]),
        }
    }
}

#[test]
fn what_waits_for_one_server_goes_to_no_other() {
    let (dir, team) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut theirs = Server::start(team.path());
    let (address, url) = (theirs.address(), theirs.url.clone());
    let to = ["--endpoint", &url, "--token", &theirs.token.clone()];
    let at_once = [&to[..], &["--wait", "0"]].concat();
    theirs.kill();
    let of = |session: &str| SMALL.replace("s1", session).into_bytes();
    run(dir.path(), &["--wait", "0"], &of("private"));
    let output = run(dir.path(), &at_once, &of("shared"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains(&format!("--endpoint {url}")), "{said}");
    assert_eq!(
        (spooled(dir.path()), spooled_for_others(dir.path())),
        (1, 1)
    );
    let theirs = Server::start_on(team.path(), &address, &["--no-examples"]);
    let mut child = start(dir.path(), &to);
    soon("it is sent", || spooled_for_others(dir.path()) == 0);
    drop(child.stdin.take());
    child.wait().unwrap();
    assert_eq!(spooled(dir.path()), 1, "the private one stays");
    run(
        dir.path(),
        &[&to[..2], &["--token", "wrong", "--wait", "0"]].concat(),
        &of("later"),
    );
    let ours = Server::start_on(dir.path(), "127.0.0.1:0", &["--no-examples"]);
    soon("the private one is taken in", || spooled(dir.path()) == 0);
    // What goes to this one now takes nothing of the other's along.
    run(dir.path(), &PATIENT, &of("mine"));
    assert_eq!(spooled_for_others(dir.path()), 1, "the team's stays");
    let ids = |server: &Server| {
        let rows = server.get("/api/v1/sessions").1["sessions"].clone();
        let rows = rows.as_array().unwrap().iter();
        let mut ids: Vec<String> = rows
            .map(|row| row["id"].as_str().unwrap().to_owned())
            .collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&theirs), ["shared"]);
    assert_eq!(ids(&ours), ["mine", "private"]);
}

/// While a server is away nobody knows that an address is its own. The next pipe that names it does.
#[test]
fn what_waits_for_the_address_of_a_server_is_sent_by_the_next_pipe_that_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let address = crate::support::ports::free_address();
    let url = format!("http://{address}");
    let at_once = ["--endpoint", &url, "--wait", "0"];
    run(dir.path(), &at_once, SMALL.as_bytes());
    assert_eq!(spooled_for_others(dir.path()), 1);
    let server = Server::start_on(dir.path(), &address, &["--no-examples"]);
    let other = SMALL.replace("s1", "s2");
    let mut child = start(dir.path(), &[&PATIENT[..], &["--endpoint", &url]].concat());
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(other.as_bytes()).unwrap();
    soon("it is sent", || spooled_for_others(dir.path()) == 0);
    drop(stdin);
    child.wait().unwrap();
    for session in ["s1", "s2"] {
        assert_eq!(server.all(session, 10).len(), 3, "{session}");
    }
}
