//! Secrets that are masked before they are stored: none is anywhere in the data folder, whatever way it came, and all else
//! goes on as it does without.

use std::fmt::Write as _;
use std::path::Path;

use crate::support::{self, Server, command, figure, make_token};
use chat_store::sha256_hex;
use serde_json::{Value, json};

const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
const PASSWORD: &str = "Tr0ub4dor-and-3";
const ANSWER: &str = "correct horse";

fn masking(dir: &Path) -> Server {
    Server::start_on(
        dir,
        &support::ports::free_address(),
        &["--no-examples", "--mask"],
    )
}

fn output(id: &str, text: &str) -> Value {
    json!([{"id": id, "timestamp": 1, "type": "tool_output_chunk", "turnId": "t1",
        "payload": {"toolCallId": "c1", "chunk": text}}])
}

/// What the session's pieces of output say, put together.
fn printed(server: &Server, session: &str) -> String {
    let (_, page) = server.get(&format!("/api/v1/sessions/{session}/events"));
    let events = page["events"].as_array().into_iter().flatten();
    let chunks = events.filter_map(|event| event["payload"]["chunk"].as_str());
    chunks.collect()
}

/// The files below a folder that hold one of these.
fn files_with(dir: &Path, secrets: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(&path, secrets));
        } else if let Ok(bytes) = std::fs::read(&path) {
            let text = String::from_utf8_lossy(&bytes);
            let hold = secrets.iter().filter(|secret| text.contains(**secret));
            found.extend(hold.map(|secret| format!("{secret} in {}", path.display())));
        }
    }
    found
}

#[test]
fn no_secret_is_anywhere_in_the_folder() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = masking(dir.path());
    // Far into a body, and over the border of what is read at once.
    let mut body = String::new();
    while body.len() < 65_500 {
        writeln!(body, "line {} of a file", body.len()).unwrap();
    }
    let body = format!("{body}token {TOKEN} here\n{body}");
    let sha256 = sha256_hex(body.as_bytes());
    assert_eq!(server.put_blob(&sha256, body.as_bytes()), 204);
    let head = format!(
        "HEAD /api/v1/blobs/{sha256} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
        server.address(),
        server.token
    );
    assert_eq!(
        server.raw(&head).0,
        200,
        "it is known by the hash that it was sent with"
    );
    let long = format!(
        "{}{PASSWORD}\n{}",
        "x y\n".repeat(20_000),
        "z z\n".repeat(20_000)
    );
    let events = json!([
        {"id": "u1", "timestamp": 1, "type": "user_message", "turnId": "t1", "payload": {"text": format!("the password is `{PASSWORD}`")}},
        {"id": "c1", "timestamp": 2, "type": "tool_call", "turnId": "t1", "later": {TOKEN: 1},
            "payload": {"toolCallId": "c1", "toolName": "Bash", "args": {"command": format!("curl -H 'Authorization: token {TOKEN}' x.test")}}},
        {"id": "b1", "timestamp": 3, "type": "tool_result", "turnId": "t1", "payload": {"toolCallId": "c0", "result":
            {"$body": {"sha256": sha256, "bytes": body.len(), "preview": &body[..4096], "truncated": true, "tail": &body[body.len() - 2048..]}}}},
        {"id": "l1", "timestamp": 4, "type": "tool_result", "turnId": "t1", "payload": {"toolCallId": "c2", "result": long}},
        {"id": TOKEN, "timestamp": 5, "type": "notice", "payload": {"text": "its id is a token"}},
        {"id": "q1", "timestamp": 6, "type": "question_request", "turnId": "t1",
            "payload": {"requestId": "r1", "questions": [{"id": "a", "text": "Which?", "options": [], "secret": true}]}},
    ]);
    let (status, answer) = server.post("s1", &events);
    assert_eq!((status, &answer["last"]), (200, &json!(6)), "{answer}");
    // In two requests, and in two halves.
    let (first, rest) = TOKEN.split_at(11);
    assert_eq!(
        server
            .post("s1", &output("o1", &format!("it says {first}")))
            .0,
        200
    );
    assert_eq!(
        server.post("s1", &output("o2", &format!("{rest} and\n"))).0,
        200
    );
    // What comes again is known, and is not printed twice.
    let (_, again) = server.post("s1", &output("o2", &format!("{rest} and\n")));
    assert_eq!(again["dups"], 1, "{again}");
    let (_, again) = server.post("s1", &events);
    assert_eq!(again["dups"], 6, "{again}");
    assert_eq!(
        printed(&server, "s1"),
        "it says [masked: github token] and\n"
    );
    // The answer is for who asked.
    let question = "/api/v1/sessions/s1/questions/r1";
    let reply = json!({"answers": [[ANSWER]]}).to_string();
    assert_eq!(server.ask("POST", question, &server.token, &reply).0, 200);
    let (_, asked) = server.get(question);
    assert_eq!(asked["outcome"]["answers"], json!([[ANSWER]]), "{asked}");
    let reader = make_token(&server, &["--scope", "read"]);
    let (_, read) = server.ask("GET", question, &reader, "");
    assert_eq!(
        read["outcome"]["answers"],
        json!([["[masked: secret answer]"]]),
        "{read}"
    );
    // The body is there under the hash that it has now.
    let (_, page) = server.get("/api/v1/sessions/s1/events?after=2&limit=1");
    let kept = &page["events"][0]["payload"]["result"]["$body"];
    let kept_sha256 = kept["sha256"].as_str().unwrap();
    assert_ne!(kept_sha256, sha256);
    let path = format!("/api/v1/sessions/s1/events/b1/full?body={kept_sha256}");
    let (status, text) = server.get(&path);
    let expected = body.replace(TOKEN, "[masked: github token]");
    assert_eq!((status, text.as_str()), (200, Some(expected.as_str())));
    assert_eq!(kept["bytes"], expected.len());
    assert!(figure(&server, "turnreel_masked_total{kind=\"github token\"}") >= 4.0);
    // A crash while half of a secret was held back: the other half is not told by itself.
    server.post("s1", &output("o3", &format!("then {first}")));
    server.kill();
    let server = masking(dir.path());
    server.post("s1", &output("o4", &format!("{rest} so\n")));
    let told = printed(&server, "s1");
    assert!(
        told.ends_with("and\nthen [masked: cut word] so\n"),
        "{told:?}"
    );
    let found = files_with(dir.path(), &[TOKEN, PASSWORD, ANSWER, first, rest]);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn what_is_held_back_is_told_after_a_while_and_when_the_server_stops() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = masking(dir.path());
    let mut socket = server.socket();
    server.post("s1", &output("o1", "Continue? [y/N]"));
    socket.open(1, "s1", None);
    assert_eq!(printed(&server, "s1"), "Continue? ");
    support::soon("it is told", || printed(&server, "s1") == "Continue? [y/N]");
    // Who follows is told.
    assert_eq!(socket.events(2, 2).len(), 1);
    server.post("s1", &output("o2", " yes\nWell"));
    assert!(server.stop().success());
    let server = masking(dir.path());
    assert_eq!(printed(&server, "s1"), "Continue? [y/N] yes\nWell");
}

#[test]
fn a_body_that_came_before_secrets_were_masked_is_masked_when_it_is_spoken_of() {
    let dir = tempfile::tempdir().unwrap();
    let body = format!("key {TOKEN}\n{}", "more\n".repeat(2000));
    let sha256 = sha256_hex(body.as_bytes());
    let mut server = Server::start(dir.path());
    assert_eq!(server.put_blob(&sha256, body.as_bytes()), 204);
    server.stop();
    let server = masking(dir.path());
    let of = |sha256: &str| {
        json!([{"timestamp": 3, "type": "tool_result", "turnId": "t1", "payload": {"toolCallId": sha256, "result":
            {"$body": {"sha256": sha256, "bytes": body.len(), "preview": &body[..4096], "truncated": true}}}}])
    };
    assert_eq!(server.post("s1", &of(&sha256)).0, 200);
    // What is said of one that is not here may end in half a secret.
    assert_eq!(server.post("s1", &of(&"0".repeat(64))).0, 200);
    let (_, page) = server.get("/api/v1/sessions/s1/events");
    let [here, away] = [0, 1].map(|at| &page["events"][at]["payload"]["result"]["$body"]);
    assert_ne!(here["sha256"], json!(sha256));
    assert!(
        here["preview"]
            .as_str()
            .unwrap()
            .starts_with("key [masked: github token]\nmore")
    );
    assert_eq!(away["preview"], "");
}

#[test]
fn without_it_nothing_is_changed_and_a_file_may_ask_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    server.post("s1", &output("o1", TOKEN));
    assert_eq!(printed(&server, "s1"), TOKEN);
    server.stop();
    std::fs::write(dir.path().join("turnreel.toml"), "mask = true\n").unwrap();
    let server = Server::start(dir.path());
    server.post("s2", &output("o1", &format!("{TOKEN} \n")));
    support::soon("it is masked", || {
        printed(&server, "s2") == "[masked: github token] \n"
    });
}

/// A link to itself leads nowhere, and is not said to be missing; as a file in a folder that may not be looked into.
#[cfg(unix)]
#[test]
fn what_waits_is_masked_where_nobody_knows_whether_its_folder_asks_for_it() {
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("turnreel.toml", dir.path().join("turnreel.toml")).unwrap();
    let said = json!({"id": "a", "timestamp": 1, "sessionId": "s1", "type": "assistant_done", "turnId": "t1",
        "payload": {"text": format!("It is {TOKEN}.")}});
    let started = command::start_at(dir.path(), "pipe", &["--wait", "0"]);
    command::finish(started, format!("{said}\n").as_bytes());
    assert_eq!(files_with(dir.path(), &["[masked: github token]"]).len(), 1);
    assert!(files_with(dir.path(), &[TOKEN]).is_empty());
}

#[test]
fn what_waits_for_a_server_is_masked_where_its_folder_asks_for_it() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("turnreel.toml"), "mask = true\n").unwrap();
    let said = json!({"id": "a", "timestamp": 1, "sessionId": "s1", "type": "assistant_chunk", "turnId": "t1",
        "payload": {"text": format!("It is {TOKEN}")}});
    let input = format!("{said}\n");
    let pipe = |more: &[&str]| {
        let started = command::start_at(dir.path(), "pipe", more);
        command::finish(started, input.as_bytes())
    };
    let output = pipe(&["--wait", "0"]);
    assert_eq!(output.stdout, input.as_bytes(), "what is passed on stays");
    assert!(files_with(dir.path(), &["It is [masked: github token]"]).is_empty());
    assert_eq!(
        files_with(dir.path(), &["It is ", "[masked: github token]", TOKEN]).len(),
        2
    );
    let server = Server::start(dir.path());
    support::soon("it is taken in", || {
        server.get("/api/v1/sessions/s1/events").0 == 200
    });
    // The same again, by its id.
    assert_eq!(pipe(&["--wait", "60"]).status.code(), Some(0));
    let (_, page) = server.get("/api/v1/sessions/s1/events");
    let events = page["events"].as_array().unwrap().iter();
    let texts: String = events
        .filter_map(|event| event["payload"]["text"].as_str())
        .collect();
    assert_eq!(texts, "It is [masked: github token]");
}

#[test]
fn what_is_refused_takes_nothing_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let server = masking(dir.path());
    let notice = |text: &str| json!({"id": "n1", "timestamp": 1, "type": "notice", "payload": {"text": text}});
    server.post("s1", &json!([notice("one")]));
    server.post("s1", &output("o1", "all is Wel"));
    let ends = json!({"id": "r1", "timestamp": 2, "type": "tool_result", "turnId": "t1",
        "payload": {"toolCallId": "c1", "result": ""}});
    let batch = json!([ends, notice("another")]).to_string();
    let (status, answer) = server.post_text("/api/v1/sessions/s1/events?atomic=1", &batch);
    assert!(status >= 400, "{answer}");
    assert_eq!(printed(&server, "s1"), "all is ");
    assert_eq!(server.post("s1", &json!([ends])).0, 200);
    assert_eq!(printed(&server, "s1"), "all is Wel");
}

#[test]
fn a_body_that_comes_after_its_event_is_found_by_what_the_event_calls_it() {
    let dir = tempfile::tempdir().unwrap();
    let server = masking(dir.path());
    let body = format!("key {TOKEN}\n{}", "more\n".repeat(2000));
    let sha256 = sha256_hex(body.as_bytes());
    let event = json!([{"id": "b1", "timestamp": 3, "type": "tool_result", "turnId": "t1", "payload": {"toolCallId": "c", "result":
        {"$body": {"sha256": sha256, "bytes": body.len(), "preview": &body[..4096], "truncated": true}}}}]);
    assert_eq!(server.post("s1", &event).0, 200);
    assert_eq!(server.put_blob(&sha256, body.as_bytes()), 204);
    let path = format!("/api/v1/sessions/s1/events/b1/full?body={sha256}");
    let (status, text) = server.get(&path);
    assert_eq!(status, 200);
    assert!(
        text.as_str()
            .unwrap()
            .starts_with("key [masked: github token]\nmore\n")
    );
    assert!(files_with(dir.path(), &[TOKEN]).is_empty());
}
