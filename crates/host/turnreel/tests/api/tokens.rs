//! Tokens with scopes, a session and an end; links; what each opens and when it no longer does.

use serde_json::{Value, json};

use crate::support::{self, Server, chunks, make_token, soon, token_command};

pub(super) fn text(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_token_is_made_listed_used_and_taken_back() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &chunks(1, 1));
    let token = make_token(
        &server,
        &["--scope", "read", "--label", "the\twall\nscreen"],
    );
    let list = text(&token_command(dir.path(), "list", &[]));
    let columns: Vec<_> = list.trim_end().split('\t').collect();
    assert_eq!(
        columns[1..],
        ["read", "*", "0 min ago", "-", "the wall screen"]
    );
    let json = text(&token_command(dir.path(), "list", &["--json"]));
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["id"], columns[0]);
    assert_eq!(json[0]["scopes"], json!(["read"]));
    assert!(json[0]["createdMs"].as_i64().unwrap() > 0 && json[0]["expiresMs"].is_null());
    assert!(!json.to_string().contains("sha256"));
    assert!(!list.contains(&token), "{list}");
    let (status, page) = server.ask("GET", "/api/v1/sessions/s1/events", &token, "");
    assert_eq!(status, 200, "{page}");
    let events = "/api/v1/sessions/s1/events";
    assert_eq!(server.ask("POST", events, &token, "[]").0, 403);
    let revoked = token_command(dir.path(), "revoke", &[columns[0]]);
    assert!(revoked.status.success());
    assert_eq!(server.ask("GET", events, &token, "").0, 401, "at once");
    let again = token_command(dir.path(), "revoke", &[columns[0]]);
    assert_eq!(again.status.code(), Some(1));
    assert!(
        !token_command(dir.path(), "create", &["--scope", "root"])
            .status
            .success()
    );
    assert!(!token_command(dir.path(), "create", &[]).status.success());
}

#[test]
fn a_folder_without_tokens_is_named_and_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let list = token_command(dir.path(), "list", &[]);
    assert!(list.status.success());
    assert_eq!(text(&list), "");
    let said = String::from_utf8_lossy(&list.stderr).into_owned();
    assert!(said.contains(&*dir.path().to_string_lossy()), "{said}");
    let revoked = token_command(dir.path(), "revoke", &["t1"]);
    assert_eq!(revoked.status.code(), Some(1));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

/// A link to itself leads nowhere, and is not said to be missing; as what lies in a folder of another user.
#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_looked_into_is_not_told_as_one_without_tokens() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["token", "tokens.json", "turnreel.toml"] {
        std::os::unix::fs::symlink(name, dir.path().join(name)).unwrap();
    }
    let said = |args: &[&str]| {
        let mut program = std::process::Command::new(support::PROGRAM);
        let output = program.args(args).arg("--data").arg(dir.path()).output();
        let output = output.unwrap();
        assert!(!output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    for args in [&["token", "list"][..], &["token", "revoke", "t1"]] {
        assert!(said(args).contains("could not read: "), "{}", said(args));
    }
    let said = said(&["config"]);
    assert!(said.contains("could not read "), "{said}");
    // The server's own is made anew in its place.
    let made = support::token_command(dir.path(), "rotate", &[]);
    assert!(made.status.success(), "{made:?}");
}

#[cfg(unix)]
#[test]
fn tokens_lie_as_hashes_in_a_file_of_their_owner() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    // A folder that is named and not there is misspelt, and no server would know the token.
    for command in ["create", "list", "rotate"] {
        let more: &[&str] = match command {
            "create" => &["--scope", "read"],
            _ => &[],
        };
        let refused = token_command(&data, command, more);
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        assert!(!data.exists() && refused.stdout.is_empty());
    }
    drop(Server::start(&data));
    let output = token_command(&data, "create", &["--scope", "ingest,read"]);
    let token = text(&output).trim().to_owned();
    assert_eq!(token.len(), 43);
    let path = data.join("tokens.json");
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&data)), (0o600, 0o700));
    let kept = std::fs::read_to_string(path).unwrap();
    assert!(!kept.contains(&token));
    assert!(kept.contains(&chat_store::sha256_hex(token.as_bytes())));
}

#[test]
fn a_token_of_one_session_sees_no_other_anywhere() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    for session in ["s1", "s2", "s3"] {
        let edit = json!([{"id": "f1", "timestamp": 1, "type": "file_edit", "payload": {
            "toolCallId": "c1", "filePath": session, "changeType": "modified", "linesAdded": 1, "linesRemoved": 0,
            "diffPreview": "x", "fullDiffAvailable": true, "fullDiffSize": 1, "fullDiff": "x"}}]);
        assert_eq!(server.post(session, &edit).0, 200);
    }
    let token = make_token(&server, &["--scope", "read,ingest", "--session", "s2"]);
    let (_, list) = server.ask("GET", "/api/v1/sessions", &token, "");
    let ids: Vec<_> = list["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["id"])
        .collect();
    assert_eq!(ids, ["s2"]);
    let ask = |path: &str| server.ask("GET", path, &token, "");
    assert_eq!(ask("/api/v1/sessions/s2/file-diffs/f1").0, 200);
    assert_eq!(ask("/api/v1/sandbox/s2/file-diffs/f1").0, 200);
    // What is another's, and what never was, are told apart by nothing.
    let never = ask("/api/v1/sessions/never/events");
    assert_eq!(never.0, 404);
    for path in [
        "/api/v1/sessions/s1/events",
        "/api/v1/sessions/%732/events",
        "/api/v1/sessions/s1/events/f1/full",
        "/api/v1/sandbox/s1/file-diffs/f1",
        "/api/v1/sandboxes/s3/file-diffs/f1",
        "/api/v1/ws?session=s1",
    ] {
        let got = ask(path);
        if path.starts_with("/api/v1/ws") {
            assert_eq!(got.0, 400, "no upgrade was asked for: {got:?}");
        } else {
            assert_eq!(got, never, "{path}");
        }
    }
    let (status, _) = server.ask("POST", "/api/v1/sessions/s1/events", &token, "[]");
    assert_eq!(status, 404);
    let (status, _) = server.ask("POST", "/api/v1/sessions/new/events", &token, "[]");
    assert_eq!(status, 404, "a token of one session makes no other");
    let mut socket = server.socket_with(&token);
    let hello = socket.open(1, "s2", None);
    assert_eq!(hello["head"], 1);
    for session in ["s1", "never"] {
        socket.send(&json!({"op": "open", "sub": 2, "session": session}));
        let refusal = socket.next();
        assert_eq!(refusal["code"], "no_session", "{refusal}");
        assert_eq!(refusal["msg"], "there is no such session");
    }
    socket.open(3, "*", None);
    let rows = socket.next();
    assert_eq!(rows["changed"].as_array().unwrap().len(), 1, "{rows}");
    server.post("s1", &chunks(1, 1));
    server.post("s2", &chunks(1, 1));
    loop {
        let frame = socket.next();
        if frame["op"] == "sessions" {
            let changed = frame["changed"].as_array().unwrap();
            assert!(changed.iter().all(|row| row["id"] == "s2"), "{frame}");
            if !changed.is_empty() {
                break;
            }
        }
    }
}

#[test]
fn a_link_opens_one_session_until_it_is_taken_back() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &chunks(1, 2));
    server.post("s2", &chunks(1, 1));
    let shares = "/api/v1/sessions/s1/shares";
    let body = r#"{"expiresInSeconds": 3600, "label": "for the review"}"#;
    let (status, share) = server.ask("POST", shares, &server.token, body);
    assert_eq!(status, 201, "{share}");
    let token = share["token"].as_str().unwrap();
    let url = share["url"].as_str().unwrap();
    assert_eq!(url, format!("{}/#token={token}&session=s1", server.url));
    let events = "/api/v1/sessions/s1/events";
    assert_eq!(server.ask("GET", events, token, "").0, 200);
    assert_eq!(server.ask("POST", events, token, "[]").0, 403);
    assert_eq!(server.ask("POST", shares, token, "{}").0, 403);
    assert_eq!(
        server.ask("GET", "/api/v1/sessions/s2/events", token, "").0,
        404
    );
    let mut socket = server.socket_with(token);
    socket.open(1, "s1", None);
    // Another one, which stays.
    let (_, other) = server.ask("POST", shares, &server.token, "{}");
    let one = format!("{shares}?id={}", share["id"].as_str().unwrap());
    let of_other_session = one.replace("/s1/", "/s2/");
    assert_eq!(
        server.ask("DELETE", &of_other_session, &server.token, "").0,
        404
    );
    // As the README has it: by what the answer had. Whatever else a body says takes no link back.
    for (body, status) in [
        (r#"{"id": "another"}"#, 404),
        (r#"{"link": "another"}"#, 400),
        (r#"{"id": null}"#, 400),
        ("another", 400),
    ] {
        let refused = server.ask("DELETE", shares, &server.token, body);
        assert_eq!(refused.0, status, "{body}");
    }
    let body = json!({"id": share["id"]}).to_string();
    let (status, answer) = server.ask("DELETE", shares, &server.token, &body);
    assert_eq!((status, &answer["revoked"]), (200, &json!(1)));
    assert_eq!(server.ask("GET", events, token, "").0, 401);
    let (_, third) = server.ask("POST", shares, &server.token, "{}");
    let one = format!("{shares}?id={}", third["id"].as_str().unwrap());
    assert_eq!(server.ask("DELETE", &one, &server.token, "").0, 200);
    let other = other["token"].as_str().unwrap();
    assert_eq!(server.ask("GET", events, other, "").0, 200);
    let (_, answer) = server.ask("DELETE", shares, &server.token, "");
    assert_eq!(answer["revoked"], 1);
    assert_eq!(server.ask("GET", events, other, "").0, 401);
    for (body, status) in [
        (r#"{"expiresInSeconds": 0}"#, 400),
        (r#"{"expiresInSeconds": -1}"#, 400),
        (r#"{"expiresInSeconds": "1h"}"#, 400),
        (r#"{"expiresInSeconds": 99999999999}"#, 400),
        (r#"{"expires": 5}"#, 400),
        ("[]", 400),
    ] {
        assert_eq!(
            server.ask("POST", shares, &server.token, body).0,
            status,
            "{body}"
        );
    }
    let nowhere = "/api/v1/sessions/never/shares";
    assert_eq!(server.ask("POST", nowhere, &server.token, "{}").0, 404);
}

#[test]
fn beyond_this_machine_only_with_tokens_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    // The first is refused: `tests/access.rs` has the words.
    token_command(dir.path(), "create", &["--scope", "read"]);
    let more = [
        "--no-examples",
        "--host",
        "feed.example.org",
        "--host",
        "192.0.2.7:7473",
    ];
    let server = Server::start_on(dir.path(), "0.0.0.0:0", &more);
    let asked = |host: &str| {
        let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let address = format!("127.0.0.1:{}", server.port());
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
        let mut answer = String::new();
        std::io::Read::read_to_string(&mut stream, &mut answer).unwrap();
        answer[9..12].to_owned()
    };
    assert_eq!(asked("feed.example.org"), "200");
    assert_eq!(asked("192.0.2.7:7473"), "200");
    assert_eq!(asked(&format!("127.0.0.1:{}", server.port())), "200");
    assert_eq!(asked(&format!("0.0.0.0:{}", server.port())), "421");
    assert_eq!(asked("evil.example"), "421");
}

#[test]
fn no_token_is_ever_written_to_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let data = dir.path().join("data");
    let mut child = std::process::Command::new(support::PROGRAM)
        .args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--ready-json",
            "--no-examples",
            "--log",
            "trace",
            "--data",
        ])
        .arg(&data)
        .stdout(std::process::Stdio::piped())
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
    let ready: serde_json::Value = serde_json::from_str(&line).unwrap();
    let text = |name: &str| ready[name].as_str().unwrap().to_owned();
    let mut server = Server {
        child,
        url: text("url"),
        token: text("token"),
        data,
    };
    server.post("s1", &chunks(1, 1));
    let made = make_token(&server, &["--scope", "read"]);
    let (_, share) = server.ask("POST", "/api/v1/sessions/s1/shares", &server.token, "{}");
    let share = share["token"].as_str().unwrap().to_owned();
    let wrong = "wrong-wrong-wrong-wrong-wrong-wrong-wrong-1".to_owned();
    for token in [&made, &share, &wrong] {
        server.ask("GET", "/api/v1/sessions/s1/events", token, "");
        server.ask("POST", "/api/v1/sessions/s1/events", token, "[nope");
    }
    server.socket_with(&made).open(1, "s1", None);
    let token = server.token.clone();
    server.stop();
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("stopping"), "{log}");
    for token in [made, share, wrong, token] {
        assert!(!log.contains(&token));
        assert!(
            !log.contains("word 1"),
            "payloads have no place there either"
        );
    }
}

#[test]
fn who_makes_a_token_for_no_session_sees_so() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("build-10", &chunks(1, 1));
    let told = |id: &str| {
        let made = token_command(
            dir.path(),
            "create",
            &["--scope", "ingest", "--session", id],
        );
        assert!(made.status.success(), "{made:?}");
        (
            text(&made).trim().to_owned(),
            String::from_utf8_lossy(&made.stderr).into_owned(),
        )
    };
    assert!(!told("build-10").1.contains("no session"));
    assert!(told("later").1.contains("no session later yet"));
    // It is still to come, and no other is meant.
    let (token, said) = told("build-1");
    assert!(
        said.contains("no session build-1 yet; build-10 begins so"),
        "{said}"
    );
    let event = r#"[{"id":"a","timestamp":1,"type":"user_message","payload":{"text":"Hi"}}]"#;
    let post = |id: &str| {
        server
            .ask(
                "POST",
                &format!("/api/v1/sessions/{id}/events"),
                &token,
                event,
            )
            .0
    };
    assert_eq!(post("build-1"), 200);
    assert_ne!(post("build-10"), 200);
}

#[test]
fn a_damaged_file_of_tokens_is_told_and_those_who_come_with_one_wait() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    server.post("s1", &chunks(1, 1));
    let token = make_token(&server, &["--scope", "read"]);
    server.stop();
    let path = dir.path().join("tokens.json");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let server = Server::start(dir.path());
    let events = "/api/v1/sessions/s1/events";
    let ready = server.get("/readyz");
    assert_eq!(
        (ready.0, &ready.1["degraded"][0]["what"]),
        (503, &json!("tokens"))
    );
    let (status, head, body) = server.exchange("GET", events, Some(&token), "", "");
    assert_eq!(status, 503);
    assert!(
        head.contains("retry-after: 5") && body.contains("tokens_unreadable"),
        "{head}{body}"
    );
    // Who offers none is none of them, and the server's own opens as ever.
    assert_eq!(server.exchange("GET", events, None, "", "").0, 401);
    assert_eq!(server.get(events).0, 200);
    std::fs::write(&path, &whole).unwrap();
    soon("the tokens are good again", || {
        server.ask("GET", events, &token, "").0 == 200
    });
    assert_eq!(server.get("/readyz").0, 200);
    assert_eq!(server.ask("GET", events, "another", "").0, 401);
}

#[test]
fn a_link_for_which_there_is_no_room_is_refused_by_what_is_full() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &chunks(1, 1));
    let full: Vec<Value> = (0..10_000)
        .map(|n| {
            json!({"id": format!("t{n}"), "sha256": "0".repeat(64), "scopes": ["read"], "createdMs": 1})
        })
        .collect();
    std::fs::write(dir.path().join("tokens.json"), json!(full).to_string()).unwrap();
    let (status, answer) = server.ask("POST", "/api/v1/sessions/s1/shares", &server.token, "{}");
    assert_eq!(
        (status, &answer["error"]["code"]),
        (409, &json!("too_many_tokens"))
    );
}
