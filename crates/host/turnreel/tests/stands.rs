//! How a session stands: the list, the feed's head, the panel, the connection, the summary and the trace say the same of each
//! moment.

mod background;
mod everywhere;
mod left;
mod waits;
mod whatever;

use std::path::{Path, PathBuf};

use crate::support;
use chat_event::payload::Notice;
use chat_event::{ChatEvent, Payload, SetBack};
use chat_feed::{ChatRenderer, TurnState};
use chat_normalize::{Context, SessionReader};

use everywhere::Everywhere;

/// The recordings, where they are, and the stories.
fn recordings() -> Vec<PathBuf> {
    let entries = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path())
    };
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let stories = here.join("../../../tests/sessions");
    let folders = support::shared("recordings").into_iter().chain([stories]);
    let files = folders
        .flat_map(entries)
        .flat_map(entries)
        .chain(entries(here.join("tests/recordings")));
    let files: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .collect();
    assert!(files.len() > 20, "{files:?}");
    files
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

/// Each session of these events, event by event.
fn hold(events: &[ChatEvent], what: &dyn std::fmt::Display) {
    let Some(first) = events.first() else {
        return;
    };
    let mut everywhere = Everywhere::of(&first.session_id);
    let own = events.iter();
    for event in own.filter(|event| event.session_id == first.session_id && !event.is_control()) {
        everywhere.take(event, what);
    }
}

/// The notice that says it.
fn set_back(told: SetBack) -> Payload {
    let mut notice = Notice::default();
    told.write(&mut notice.extra);
    notice.into()
}

#[test]
fn all_say_the_same_of_each_moment() {
    for path in recordings() {
        let events = events_of(&std::fs::read(&path).unwrap());
        hold(&events, &path.display());
        // Without what says so outright, the turns decide.
        let mut turns = events;
        turns.retain(|event| {
            !matches!(
                event.payload,
                Payload::TurnStart(_) | Payload::SessionStatus(_) | Payload::SessionEnd(_)
            )
        });
        hold(&turns, &path.display());
    }
}

/// What was told by one source is told again behind its end by another, as where a transcript is read that a pipe told before.
#[test]
fn all_say_the_same_where_it_is_told_again() {
    for path in recordings() {
        let mut events = events_of(&std::fs::read(&path).unwrap());
        let mut again = events.clone();
        for event in &mut again {
            event.id.push_str(":again");
        }
        events.append(&mut again);
        let mut now_ms = 1;
        for event in &mut events {
            now_ms = now_ms.max(event.timestamp.unwrap_or_default());
            event.recv = Some(now_ms);
        }
        hold(&events, &path.display());
    }
}

/// One file whose program's clock was an hour ahead, and was put right between two turns.
#[test]
fn of_one_source_the_newest_turn_is_the_one_that_came_last() {
    let line = |hour: u64, second: u64, nth: u64, kind: &str, content: &str| {
        format!(
            r#"{{"type":"{kind}","uuid":"u{nth}","sessionId":"s1","timestamp":"2026-01-01T0{hour}:00:0{second}.000Z","message":{{"role":"{kind}","content":{content}}}}}"#
        )
    };
    let answer = r#"[{"type":"text","text":"Done"}]"#;
    let mut lines = vec![
        line(2, 1, 1, "user", r#""First""#),
        line(2, 2, 2, "assistant", answer),
        line(1, 3, 3, "user", r#""Second""#),
    ];
    let mut stands = Vec::new();
    for more in [None, Some(line(1, 4, 4, "assistant", answer))] {
        lines.extend(more);
        let mut reader = SessionReader::new(Context::default());
        let mut events = Vec::new();
        let bytes = lines.join("\n") + "\n";
        reader.push(bytes.as_bytes(), 1, &mut events).unwrap();
        hold(&events, &"live");
        let mut renderer = ChatRenderer::new();
        renderer.replay_events(&events);
        let newest = renderer.newest_turn().unwrap();
        stands.push((
            newest.number,
            newest.state,
            renderer.feed().session().works(),
        ));
        reader.finish(1, &mut events).unwrap();
        hold(&events, &"at its end");
        renderer.replay_events(&events);
        assert!(renderer.feed().session().ended.is_some(), "{events:#?}");
    }
    assert_eq!(stands, [(2, TurnState::Running, true); 2]);
}
