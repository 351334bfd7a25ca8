//! What a log may hold very many of costs no more than their number: of these sizes each test would take minutes if
//! what is done for one grew with all.

use chat_event::payload::{AssistantChunk, Retract, ThinkingChunk};
use chat_event::{ChatEvent, Payload};
use chat_feed::projections::to_openai_messages;
use chat_feed::{BlockBody, ChatRenderer};

fn log(payloads: impl Iterator<Item = Payload>) -> Vec<ChatEvent> {
    let event = |(nth, payload)| {
        let mut event = ChatEvent::new(format!("e{nth}"), 0, "s", payload);
        event.turn_id = Some("t".to_owned());
        event.response_id = Some("r".to_owned());
        event
    };
    payloads.enumerate().map(event).collect()
}

fn replayed(events: &[ChatEvent]) -> ChatRenderer {
    let mut renderer = ChatRenderer::with_history();
    renderer.replay_events(events);
    renderer
}

#[test]
fn very_many_parts_of_one_response_are_taken_back() {
    const N: u32 = 300_000;
    let said = (0..N).map(|part| {
        let part = Some(part);
        let text = "x".to_owned();
        match part < Some(N / 2) {
            true => Payload::from(AssistantChunk {
                text,
                part,
                ..AssistantChunk::default()
            }),
            false => Payload::from(ThinkingChunk {
                text,
                part,
                ..ThinkingChunk::default()
            }),
        }
    });
    let taken_back = (0..N - 1).map(|nth| {
        Payload::from(Retract {
            event_ids: vec![format!("e{nth}")],
            ..Retract::default()
        })
    });
    let events = log(said.chain(taken_back));
    let renderer = replayed(&events);
    assert_eq!(renderer.check(), Ok(()));
    let rows = renderer.feed().rows();
    let thoughts = rows.filter(|row| matches!(row.body, BlockBody::Thinking(_)));
    assert_eq!(thoughts.count(), 1);
    assert!(to_openai_messages(&events).len() <= 1);
}

/// Each chunk of an odd number comes before the one it stands behind.
#[test]
fn very_many_chunks_come_a_little_late() {
    const N: u64 = 100_000;
    let chunk = |index: u64| AssistantChunk {
        text: format!("{index}\n\n"),
        part: Some(0),
        index: Some(index),
        ..AssistantChunk::default()
    };
    let events = log((0..N).map(|nth| chunk(nth ^ 1).into()));
    let renderer = replayed(&events);
    assert_eq!(renderer.check(), Ok(()));
    let feed = renderer.feed();
    let rows: Vec<_> = feed
        .rows()
        .filter(|row| matches!(row.body, BlockBody::Text(_)))
        .collect();
    assert_eq!(rows.len() as u64, N);
    for (nth, row) in rows.iter().enumerate() {
        assert_eq!(&*feed.text(row.id), nth.to_string());
    }
}
