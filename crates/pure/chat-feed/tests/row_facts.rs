//! What rows are told of others: when the prompt before came, and whose hue is whose.

use chat_event::ChatEvent;
use chat_feed::{BlockBody, ChatRenderer, Feed, FeedPatch};
use serde_json::{Value, json};

/// A log of `(turn, type, payload)`, a millisecond apart.
fn log(lines: &[(&str, &str, Value)]) -> Vec<ChatEvent> {
    let event = |(nth, (turn, kind, payload)): (usize, &(&str, &str, Value))| {
        let text = json!({"id": format!("e{nth}"), "timestamp": 1000 + nth, "sessionId": "s", "type": kind,
            "turnId": turn, "payload": payload});
        ChatEvent::from_json(&text.to_string()).unwrap()
    };
    lines.iter().enumerate().map(event).collect()
}

fn replay(events: &[ChatEvent]) -> ChatRenderer {
    let mut renderer = ChatRenderer::new();
    renderer.replay_events(events);
    assert_eq!(renderer.check(), Ok(()));
    renderer
}

/// The time told of the prompt before each, in the order of rows.
fn times_before(feed: &Feed) -> Vec<Option<i64>> {
    let prompts = feed.rows().filter_map(|block| match &block.body {
        BlockBody::Prompt(prompt) => Some(prompt.before_ms),
        _ => None,
    });
    prompts.collect()
}

#[test]
fn a_prompt_knows_when_the_turn_of_the_one_before_began() {
    let start = |turn: &'static str| (turn, "turn_start", json!({"trigger": "system"}));
    let says = |turn: &'static str| (turn, "user_message", json!({"text": turn}));
    // Turns t2 and t4 have none, and that of t3 comes after that of t5, which comes in two pieces.
    let events = log(&[
        start("t1"),
        says("t1"),
        start("t2"),
        start("t3"),
        start("t4"),
        start("t5"),
        says("t5"),
        says("t5"),
        says("t3"),
    ]);
    let early = replay(&events[..8]);
    assert_eq!(
        times_before(early.feed()),
        [None, Some(1000), Some(1005)],
        "before t3 has one"
    );
    let renderer = replay(&events);
    assert_eq!(
        times_before(renderer.feed()),
        [None, Some(1000), Some(1003), Some(1005)]
    );
    // The row that was told anew is said to have changed, and the link to the event leads to its own.
    let (mut live, mut patches) = (replay(&events[..8]), Vec::new());
    live.apply(&events[8], &mut patches);
    let told = live.feed().rows().nth(2).unwrap().id;
    assert!(patches.contains(&FeedPatch::Update { block: told }));
    assert_eq!(
        live.block_of_id("e8"),
        live.feed().rows().nth(1).map(|it| it.id)
    );
}

#[test]
fn agents_that_write_to_each_other_differ_in_hue() {
    let message = |nth: usize, to: &str| {
        (
            "t1",
            "agent_message",
            json!({"messageId": format!("m{nth}"), "targetAgentId": to, "message": "x"}),
        )
    };
    let hues = |lines: &[(&str, &str, Value)]| -> Vec<(u8, u8)> {
        let renderer = replay(&log(lines));
        let rows = renderer
            .feed()
            .rows()
            .filter_map(|block| match &block.body {
                BlockBody::AgentMessage(it) => Some((it.sender_hue, it.target_hue)),
                _ => None,
            });
        rows.collect()
    };
    // Alone, each of these would have the same.
    assert_eq!(
        hues(&[message(1, "a")])[0],
        hues(&[message(1, "c")])[0],
        "the names collide"
    );
    let both = hues(&[message(1, "a"), message(2, "c"), message(3, "a")]);
    assert_eq!(both[0], both[2]);
    assert_ne!(both[0].1, both[1].1);
    assert!(
        both.iter()
            .all(|&(main, other)| main == 1 && (2..=3).contains(&other))
    );
    // An answer that comes alone tells of an agent as well.
    let answer = json!({"messageId": "m1", "fromAgentId": "a", "result": "x"});
    let answered = hues(&[("t1", "agent_callback", answer), message(2, "c")]);
    assert_eq!((answered[0].1, answered[1].1), (both[0].1, both[1].1));
}

#[test]
fn lines_that_cannot_be_read_and_the_gap_behind_them_are_one_place() {
    let broken = |line: u64| {
        let told =
            json!({"level": "warning", "text": "unreadable", "line": line, "source": "reader"});
        ("t1", "notice", told)
    };
    let gap = |from: u64, to: u64| {
        (
            "t1",
            "log_gap",
            json!({"from": from, "to": to, "why": "lost"}),
        )
    };
    let said = |text: &str| ("t1", "assistant_done", json!({"text": text}));
    let mut lines = vec![said("One"), broken(2), broken(3), gap(2, 3)];
    assert_eq!(replay(&log(&lines)).feed().session().damaged_places, 1);
    lines.extend([said("Two"), gap(5, 6), said("Three"), broken(7)]);
    let renderer = replay(&log(&lines));
    let session = renderer.feed().session();
    assert_eq!((session.damaged_places, session.lost_events), (3, 4));
}

#[test]
fn what_a_program_attaches_is_said_by_nobody_else() {
    let mut events = log(&[
        ("t1", "turn_start", json!({"trigger": "user"})),
        ("t1", "user_message", json!({"text": "Read it"})),
        (
            "t1",
            "user_message",
            json!({"text": "", "attachments": [{"name": "a.pdf", "mediaType": "application/pdf", "data": "AA=="}]}),
        ),
    ]);
    let from = json!("program");
    events[2].extra.insert("from", (&from).into());
    let renderer = replay(&events);
    let prompts = renderer.feed().rows();
    let triggers: Vec<&str> = prompts
        .filter_map(|block| match &block.body {
            BlockBody::Prompt(prompt) => Some(&*prompt.trigger),
            _ => None,
        })
        .collect();
    assert_eq!(triggers, ["user", "system"]);
}
