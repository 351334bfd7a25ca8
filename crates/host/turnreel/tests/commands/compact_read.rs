//! What readers and senders find of a log that was compacted.

use chat_event::ChatEvent;
use chat_event::compaction::Folded;
use chat_store::{Options, PageRequest, Store};
use serde_json::{Value, json};

use super::compact::{compact, events, id, parts, read, stored};
use crate::support::Server;

#[test]
fn who_follows_a_compacted_log_is_told_each_line_once_and_nothing_is_missing_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let events = events(60);
    stored(dir.path(), &events, u64::MAX);
    assert!(compact(dir.path()).status.success());
    let (n_lines, _) = read(dir.path());
    let head = events.len() as u64;
    let server = Server::start(dir.path());
    let mut stream = server.stream("/api/v1/sessions/s1/sse", None);
    assert_eq!(stream.next().unwrap().name, "hello");
    let seqs = stream.seqs_to(head);
    assert!(
        n_lines > 300,
        "{n_lines} lines are more than are read at once"
    );
    assert_eq!(seqs.len(), n_lines);
    assert!(seqs.is_sorted_by(|before, after| before < after));
    let (_, health) = server.get("/api/v1/sessions/s1/health");
    assert_eq!(health["gaps"], json!([]), "{health}");
}

/// It has the beginning of a run of pieces, which is one line meanwhile.
#[test]
fn who_goes_on_within_what_was_folded_is_told_only_what_is_new() {
    let dir = tempfile::tempdir().unwrap();
    let events = events(4);
    stored(dir.path(), &events, u64::MAX);
    assert!(compact(dir.path()).status.success());
    let head = events.len() as u64;
    let mut server = Server::start(dir.path());
    // Within the thinking, the answer and the output of the second turn; before the last of a run, and behind it.
    let turn = head / 4;
    let told_of = |value: &Value| parts(&ChatEvent::from_json(&value.to_string()).unwrap());
    for after in [
        1,
        turn + 30,
        turn + 61,
        turn + 62,
        turn + 63,
        turn + 90,
        turn + 140,
        head - 1,
    ] {
        let ahead: Vec<Value> = events[after as usize..].iter().map(plain).collect();
        let mut told = Vec::new();
        let mut next = after;
        while next < head {
            let (_, page) = server.get(&format!("/api/v1/sessions/s1/events?after={next}&limit=7"));
            let lines = page["events"].as_array().unwrap();
            assert!(
                (1..=7).contains(&lines.len()) && page["gaps"] == json!([]),
                "{page}"
            );
            told.extend(lines.iter().flat_map(told_of));
            next = page["next"].as_u64().unwrap();
        }
        let told: Vec<Value> = told.iter().map(plain).collect();
        assert_eq!(told, ahead, "behind {after}");
        let mut stream = server.stream("/api/v1/sessions/s1/sse", Some(&format!("{after}")));
        assert_eq!(stream.next().unwrap().data["resume"], "ok");
        let mut told: Vec<Value> = Vec::new();
        while told.len() < ahead.len() {
            let news = stream.next_news().unwrap();
            told.extend(told_of(&news.data).iter().map(plain));
        }
        assert_eq!(told, ahead, "behind {after}");
    }
    // In others' words as well, which are told what was before.
    let path = "/api/v1/sessions/s1/sse?format=agent";
    let after = turn + 90;
    let mut stream = server.stream(path, Some(&format!("{after}")));
    assert_eq!(stream.next().unwrap().data["resume"], "ok");
    let told = stream.next_news().unwrap().data.to_string();
    let piece = |seq: u64| events[seq as usize - 1].payload.clone();
    let chat_event::Payload::AssistantChunk(first) = piece(after + 1) else {
        panic!("{:?}", piece(after + 1));
    };
    assert!(told.contains(&format!("\"{}\"", first.text)), "{told}");
    server.stop();
}

/// What an event says, without what a log adds.
fn plain(event: &ChatEvent) -> Value {
    let mut value: Value = serde_json::from_str(&event.to_line()).unwrap();
    for added in ["seq", "recv", "c"] {
        value.as_object_mut().unwrap().remove(added);
    }
    value
}

#[test]
fn links_and_senders_find_what_was_folded() {
    let dir = tempfile::tempdir().unwrap();
    let events = events(3);
    stored(dir.path(), &events, u64::MAX);
    assert!(compact(dir.path()).status.success());
    let store = Store::open(dir.path(), Options::default()).unwrap();
    let session = store.session(&id()).unwrap();
    for event in &events {
        let mut found = session.event_whole(&event.id).unwrap().unwrap();
        (found.seq, found.recv) = (None, None);
        assert_eq!(&found, event);
    }
    assert_eq!(session.event_whole("e:999999").unwrap(), None);
    // The same transcript once more: all of it is known.
    let again = session.append(events.clone(), false, 1).unwrap();
    assert_eq!(again.stored.len(), 0);
    // A page from within what was folded begins with all of it.
    let page = session
        .page(PageRequest {
            after: 20,
            limit: 1,
            max_bytes: 1 << 20,
        })
        .unwrap();
    let event = ChatEvent::from_json(&page.lines[0]).unwrap();
    let (from, to) = Folded::of(&event).unwrap().span().unwrap();
    assert!(from <= 21 && 21 <= to, "{from} to {to}");
    assert_eq!((page.gaps.len(), page.next), (0, to));
}
