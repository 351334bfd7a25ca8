//! `DELETE` of a session: who may, what is said of it, and what those hear who read it.

use std::time::Duration;

use crate::support::removing::{bodies_are_of, ended, files_of, kept_words, listed, long, working};
use crate::support::{Server, make_token, soon};
use serde_json::json;

const ONE: &str = "/api/v1/sessions/one";

#[test]
fn a_session_is_removed_by_who_may_and_not_while_it_works() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let delete = |path: &str| server.ask("DELETE", path, &server.token, "");
    assert_eq!(delete(ONE).0, 404);
    assert_eq!(delete("/api/v1/sessions/a.b").0, 400);
    assert_eq!(server.post("one", &working()).0, 200);
    let (status, answer) = delete(ONE);
    assert_eq!(
        (status, &answer["error"]["code"]),
        (409, &json!("working")),
        "{answer}"
    );
    assert_eq!(delete(&format!("{ONE}?copies=all")).0, 400);
    for scope in ["read", "ingest", "answer"] {
        let token = make_token(&server, &["--scope", scope]);
        assert_eq!(server.ask("DELETE", ONE, &token, "").0, 403, "{scope}");
    }
    let other = make_token(&server, &["--scope", "admin", "--session", "two"]);
    assert_eq!(server.ask("DELETE", ONE, &other, "").0, 404);
    assert_eq!(server.ask("DELETE", "/api/v1/blobs", &other, "").0, 404);
    assert!(!files_of(dir.path(), "one").is_empty());

    let (status, answer) = delete(&format!("{ONE}?force=1"));
    assert_eq!(status, 200, "{answer}");
    assert_eq!(
        (&answer["session"], &answer["left"]),
        (&json!("one"), &json!([]))
    );
    assert!(answer["files"].as_u64() > Some(0) && answer["bytes"].as_u64() > Some(0));
    let description = server.get("/api/v1/openapi.json").1;
    let required = &description["components"]["schemas"]["Removed"]["required"];
    let mut required = required.as_array().unwrap().iter();
    assert!(
        required.all(|name| !answer[name.as_str().unwrap()].is_null()),
        "{answer}"
    );
    assert!(files_of(dir.path(), "one").is_empty());
    assert_eq!(delete(ONE).0, 404);
    let own = make_token(&server, &["--scope", "admin", "--session", "two"]);
    ended(&server, "two", &[]);
    assert_eq!(
        server.ask("DELETE", "/api/v1/sessions/two", &own, "").0,
        200
    );
}

#[test]
fn the_list_says_whether_its_reader_may_remove() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let told = |token: &str| {
        let (status, list) = server.ask("GET", "/api/v1/sessions?limit=1", token, "");
        assert_eq!(status, 200, "{list}");
        list["may"].clone()
    };
    for (nth, (scopes, may)) in [
        ("read", json!(null)),
        ("read,ingest", json!(null)),
        ("read,admin", json!(["admin"])),
        ("read,answer,admin", json!(["answer", "admin"])),
    ]
    .into_iter()
    .enumerate()
    {
        let token = make_token(&server, &["--scope", scopes]);
        assert_eq!(told(&token), may, "{scopes}");
        let session = format!("s{nth}");
        ended(&server, &session, &[]);
        let says_so = may
            .as_array()
            .is_some_and(|may| may.contains(&json!("admin")));
        let path = format!("/api/v1/sessions/{session}");
        let (status, answer) = server.ask("DELETE", &path, &token, "");
        assert_eq!(status == 200, says_so, "{scopes}: {answer}");
    }
}

#[test]
fn who_reads_a_session_hears_that_it_is_gone_and_its_links_open_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    for session in ["one", "two"] {
        ended(&server, session, &[]);
    }
    let share = |session: &str| {
        let path = format!("/api/v1/sessions/{session}/shares");
        let (status, link) = server.post_text(&path, "{}");
        assert_eq!(status, 201, "{link}");
        link["token"].as_str().unwrap().to_owned()
    };
    let links = ["one", "two"].map(share);
    let mut list = server.socket();
    list.open(1, "*", None);
    let mut sockets = [0, 1].map(|_| server.socket());
    for socket in &mut sockets {
        socket.open(1, "one", None);
    }
    let (status, answer) = server.ask("DELETE", ONE, &server.token, "");
    assert_eq!((status, &answer["links"]), (200, &json!(1)), "{answer}");
    for socket in &mut sockets {
        assert_eq!(socket.next()["code"], "no_session");
    }
    soon("the list says so", || list.next()["gone"] == json!(["one"]));
    assert_eq!(listed(&server), ["two"]);
    for path in ["events", "summary", "health", "sse"] {
        let path = format!("{ONE}/{path}");
        assert_eq!(server.get(&path).0, 404, "{path}");
    }
    // It would show what comes to the session later.
    ended(&server, "one", &[]);
    let opens = |session: &str, token: &str| {
        server
            .ask(
                "GET",
                &format!("/api/v1/sessions/{session}/summary"),
                token,
                "",
            )
            .0
    };
    assert_eq!(
        (opens("one", &links[0]), opens("two", &links[1])),
        (401, 200)
    );
}

#[test]
fn a_body_that_an_event_on_its_way_names_stays() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    ended(&server, "one", &["both", "own"]);
    bodies_are_of(dir.path(), Duration::from_hours(2));
    // Somebody is told that it need not be sent.
    let sha256 = chat_store::sha256_hex(long("both").as_bytes());
    let path = format!("/api/v1/blobs/{sha256}");
    let asked = server.exchange("HEAD", &path, Some(&server.token), "", "");
    assert_eq!(asked.0, 200, "{asked:?}");
    assert_eq!(server.ask("DELETE", ONE, &server.token, "").0, 200);
    let sweep = || server.ask("DELETE", "/api/v1/blobs", &server.token, "");
    // The server may have looked for itself by then.
    let (status, freed) = sweep();
    assert_eq!((status, &freed["later"]), (200, &json!(1)), "{freed}");
    assert_eq!(kept_words(dir.path()), ["both"]);
    // What else belongs to its batch may take long to be sent.
    bodies_are_of(dir.path(), Duration::from_mins(50));
    assert_eq!(sweep().1["later"], json!(1));
    assert_eq!(kept_words(dir.path()), ["both"]);
    let event = json!([{"id": "e", "timestamp": 1, "type": "user_message", "payload": {"text":
        {"$body": {"sha256": sha256, "bytes": long("both").len(), "preview": "both", "truncated": true}}}}]);
    assert_eq!(server.post("two", &event).0, 200);
    bodies_are_of(dir.path(), Duration::from_hours(2));
    assert_eq!(sweep().1, json!({"bodies": 0, "bytes": 0, "later": 0}));
    assert_eq!(kept_words(dir.path()), ["both"]);
    let (_, read) = server.get(&format!("{path}?"));
    assert_eq!(read, json!(long("both")));
}
