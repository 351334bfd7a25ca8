//! How a session stands: the list and the feed say the same of each moment.

use std::path::PathBuf;
use std::sync::Arc;

use crate::support;
use chat_event::{ChatEvent, Payload};
use chat_feed::connection::Over;
use chat_feed::{ChatRenderer, TurnState};
use chat_normalize::{Context, SessionReader};
use chat_store::{Options, Session, SessionId, Store, SyncPolicy};

/// The recordings, where they are.
fn recordings() -> Vec<PathBuf> {
    let Some(folder) = support::shared("recordings") else {
        return Vec::new();
    };
    let entries = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path())
    };
    let files = entries(folder).flat_map(entries);
    files
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .collect()
}

fn events_of(bytes: &[u8]) -> Vec<ChatEvent> {
    let mut reader = SessionReader::new(Context::default());
    let mut events = Vec::new();
    let read = reader
        .push(bytes, 1, &mut events)
        .and_then(|()| reader.finish(1, &mut events));
    match read {
        Ok(()) => events,
        Err(_) => Vec::new(),
    }
}

/// Hands on each event of the session that the first is of, with the session's log in a store of its own.
fn each(events: Vec<ChatEvent>, mut take: impl FnMut(ChatEvent, &Arc<Session>)) {
    let Some(first) = events.first() else {
        return;
    };
    let id = SessionId::parse(&first.session_id).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        sync: SyncPolicy::Never,
        ..Options::default()
    };
    let store = Store::open(dir.path(), options).unwrap();
    let session = store.session_or_new(&id).unwrap();
    for event in events {
        if event.session_id == id.as_str() {
            take(event, &session);
        }
    }
}

#[test]
fn the_list_and_the_feed_agree_on_what_works() {
    for path in recordings() {
        let mut events = events_of(&std::fs::read(&path).unwrap());
        // Without what says so outright, the turns decide.
        events.retain(|event| {
            !matches!(
                event.payload,
                Payload::TurnStart(_) | Payload::SessionStatus(_) | Payload::SessionEnd(_)
            )
        });
        let mut renderer = ChatRenderer::new();
        each(events, |event, session| {
            let kind = event.payload.event_type().to_owned();
            renderer.render_event(&event);
            session.append(vec![event], false, 1).unwrap();
            let turns = renderer.feed().turns();
            let feed = turns
                .last()
                .is_some_and(|turn| turn.state == TurnState::Running && turn.number > 0);
            let list = session.summary().status == "busy";
            assert_eq!(list, feed, "{}: after a {kind}", path.display());
        });
    }
}

/// What was told by one source is told again behind its end by another, as where a transcript is read that a pipe told before.
#[test]
fn the_list_and_the_page_agree_on_what_is_over() {
    for path in recordings() {
        let mut events = events_of(&std::fs::read(&path).unwrap());
        let mut again = events.clone();
        for event in &mut again {
            event.id.push_str(":again");
        }
        events.append(&mut again);
        let mut over = Over::default();
        let mut now_ms = 1;
        each(events, |mut event, session| {
            now_ms = now_ms.max(event.timestamp.unwrap_or_default());
            event.recv = Some(now_ms);
            let kind = event.payload.event_type().to_owned();
            over.take(&event);
            session.append(vec![event], false, now_ms).unwrap();
            let list = session.summary().status == "ended";
            assert_eq!(list, over.is_over(), "{}: after a {kind}", path.display());
        });
    }
}
