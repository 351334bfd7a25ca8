//! Bodies: found one by one wherever they stand, and put back into pages for those who want them.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use chat_event::ChatEvent;
use chat_store::{
    BodyFile, ItemResult, Options, PageRequest, Session, SessionId, Store, StoredBody, sha256_hex,
};

fn open(dir: &Path) -> (Store, Arc<Session>) {
    let store = Store::open(dir, Options::default()).unwrap();
    let session = store.session_or_new(&SessionId::parse("s1").unwrap());
    (store, session.unwrap())
}

fn result(id: &str, stdout: &serde_json::Value) -> ChatEvent {
    let line = serde_json::json!({"id": id, "timestamp": 1, "sessionId": "s1", "type": "tool_result",
        "payload": {"toolCallId": "t", "result": {"n": 1, "stdout": stdout}}});
    ChatEvent::from_json(&line.to_string()).unwrap()
}

fn text_of(body: Option<StoredBody>) -> Option<String> {
    match body? {
        StoredBody::Text(text) => Some(text),
        StoredBody::File(BodyFile {
            mut file, bytes, ..
        }) => {
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            assert_eq!(text.len() as u64, bytes);
            Some(text)
        }
    }
}

#[test]
fn one_body_is_found_by_its_hash_in_the_log_and_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let (_store, session) = open(dir.path());
    let (short, long) = ("é\n".repeat(20_000), "b\"\n".repeat(100_000));
    let events = vec![
        result("here", &short.as_str().into()),
        result("beside", &long.as_str().into()),
    ];
    session.append(events, false, 1).unwrap();
    let find =
        |id: &str, text: &str| text_of(session.body(id, &sha256_hex(text.as_bytes())).unwrap());
    assert_eq!(find("here", &short), Some(short.clone()));
    assert_eq!(find("beside", &long), Some(long.clone()));
    // Each event gives its own bodies only.
    assert_eq!(find("here", &long), None);
    assert_eq!(find("beside", &short), None);
    assert_eq!(find("nowhere", &short), None);
}

#[test]
fn an_event_sent_again_is_the_same_though_an_older_server_told_less_of_its_body() {
    let dir = tempfile::tempdir().unwrap();
    let (store, session) = open(dir.path());
    let text = "x".repeat(200_000);
    let sha256 = store.blobs().put(text.as_bytes()).unwrap();
    let old = serde_json::json!({"$body": {"sha256": sha256, "bytes": 200_000, "preview": "x".repeat(4096), "truncated": true}});
    session.append(vec![result("r", &old)], false, 1).unwrap();
    let again = session.append(vec![result("r", &text.as_str().into())], false, 2);
    assert_eq!(again.unwrap().results[0], ItemResult::Duplicate { seq: 1 });
    let other = session.append(vec![result("r", &"y".repeat(200_000).into())], false, 3);
    assert!(matches!(
        other.unwrap().results[0],
        ItemResult::Conflict { .. }
    ));
}

#[test]
fn pages_with_whole_bodies_end_before_they_grow_too_large_and_miss_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (_store, session) = open(dir.path());
    let body = |n: usize| char::from(b'a' + n as u8).to_string().repeat(4_500_000);
    for n in 0..4 {
        let event = result(&format!("e{n}"), &body(n).into());
        session.append(vec![event], false, 1).unwrap();
    }
    let (mut after, mut n_pages, mut told) = (0, 0, Vec::new());
    while after < 4 {
        let request = PageRequest {
            after,
            limit: 100,
            max_bytes: 1 << 20,
        };
        let page = session.page_whole(request).unwrap();
        assert!(page.gaps.is_empty());
        let bytes: usize = page.lines.iter().map(String::len).sum();
        assert!(bytes < 17 << 20, "{bytes} bytes");
        for line in &page.lines {
            assert!(!line.contains("$body"));
            let event = ChatEvent::from_json(line).unwrap();
            let n = told.len();
            assert_eq!(event.seq, Some(n as u64 + 1));
            let mut expected = result(&format!("e{n}"), &body(n).into());
            (expected.seq, expected.recv) = (event.seq, event.recv);
            assert!(event == expected, "event {n} says something else");
            told.push(event);
        }
        after = page.next;
        n_pages += 1;
    }
    assert_eq!((told.len(), n_pages), (4, 2));
}

#[test]
fn one_event_holds_no_more_bodies_than_there_is_room_for_whatever_it_claims_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let (store, session) = open(dir.path());
    let fitting = "f".repeat(6 << 20);
    let too_long = "l".repeat((16 << 20) + 1);
    let claimed = |text: &str, bytes: u64| {
        let sha256 = store.blobs().put(text.as_bytes()).unwrap();
        serde_json::json!({"$body": {"sha256": sha256, "bytes": bytes, "preview": "p", "truncated": true}})
    };
    // Each claims to be one byte long, and the first is there three times.
    let (fits, is_long) = (claimed(&fitting, 1), claimed(&too_long, 1));
    let lies = serde_json::json!([is_long, fits, fits, fits, "all"]);
    // What says that it is too long is believed.
    let boasts = claimed("short", 17 << 20);
    let events = vec![result("lies", &lies), result("boasts", &boasts)];
    session.append(events, false, 1).unwrap();
    let expected = serde_json::json!([is_long, fitting, fitting, fits, "all"]);
    let is_as_expected = |found: &ChatEvent| {
        let mut whole = result("lies", &expected);
        (whole.seq, whole.recv) = (found.seq, found.recv);
        *found == whole
    };
    assert!(is_as_expected(
        &session.event_whole("lies").unwrap().unwrap()
    ));
    let boasting = session.event_whole("boasts").unwrap().unwrap().to_line();
    assert!(boasting.contains("$body") && !boasting.contains("short"));
    let request = PageRequest {
        after: 0,
        limit: 100,
        max_bytes: 1 << 20,
    };
    let page = session.page_whole(request).unwrap();
    assert!(is_as_expected(
        &ChatEvent::from_json(&page.lines[0]).unwrap()
    ));
    // By itself it can be had, as long as it is.
    let sha256 = is_long["$body"]["sha256"].as_str().unwrap();
    let by_itself = session.body("lies", sha256).unwrap();
    assert!(text_of(by_itself) == Some(too_long));
}

#[test]
fn a_page_is_ended_by_what_bodies_have_and_not_by_what_is_claimed_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let (store, session) = open(dir.path());
    let body = "b".repeat(9 << 20);
    let sha256 = store.blobs().put(body.as_bytes()).unwrap();
    let claimed = serde_json::json!({"$body": {"sha256": sha256, "bytes": 1, "preview": "", "truncated": true}});
    let events = (0..3).map(|n| result(&format!("e{n}"), &claimed)).collect();
    session.append(events, false, 1).unwrap();
    for after in 0..3 {
        let request = PageRequest {
            after,
            limit: 100,
            max_bytes: 1 << 20,
        };
        let page = session.page_whole(request).unwrap();
        assert_eq!((page.lines.len(), page.next), (1, after + 1));
        assert!(!page.lines[0].contains("$body"));
    }
}

#[test]
fn what_a_killed_server_had_begun_of_a_body_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let hash = {
        let (store, _) = open(dir.path());
        store.blobs().put(b"a body").unwrap()
    };
    let begun = dir.path().join("blobs/.new-1-7");
    std::fs::write(&begun, "half").unwrap();
    let (store, _) = open(dir.path());
    assert!(!begun.exists());
    assert!(store.blobs().open_body(&hash).unwrap().is_some());
}
