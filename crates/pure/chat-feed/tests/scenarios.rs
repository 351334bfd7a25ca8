//! The named scenarios of the event stream: what may go wrong on the way, and what is shown then.
//!
//! Each test bears the id of its scenario in the table beside the project; the workspace's `tests/recorded/corpora.rs` sees to it
//! that each scenario has its test, here or where the socket and the page are tested.

use crate::support::{text_of, view, waits};
use chat_event::{ChatEvent, Payload};
use chat_feed::inbox::Inbox;
use chat_feed::projections::to_session_summary;
use chat_feed::{BlockBody, ChatRenderer, Feed, ToolCallBlock, ToolStatus, TurnState};
use serde_json::{Value, json};

/// A log of `(type, payload)`, numbered from 1, all in turn t1 and response r1 unless the payload names another in `_turn`.
fn log(lines: &[(&str, Value)]) -> Vec<ChatEvent> {
    let event = |(nth, (kind, payload)): (usize, &(&str, Value))| {
        let mut payload = payload.clone();
        let mut taken = |name: &str| {
            let members = payload.as_object_mut()?;
            members
                .remove(name)
                .and_then(|value| value.as_str().map(str::to_owned))
        };
        let turn = taken("_turn").unwrap_or_else(|| "t1".to_owned());
        let response = taken("_response").unwrap_or_else(|| format!("r-{turn}"));
        ChatEvent::from_json(
            &json!({"seq": nth + 1, "id": format!("e{nth}"), "timestamp": 1000 + nth, "sessionId": "s", "type": kind,
                    "turnId": turn, "responseId": response, "payload": payload})
            .to_string(),
        )
        .unwrap()
    };
    lines.iter().enumerate().map(event).collect()
}

fn replay(events: &[ChatEvent]) -> ChatRenderer {
    let mut renderer = ChatRenderer::new();
    renderer.replay_events(events);
    assert_eq!(renderer.check(), Ok(()));
    renderer
}

fn calls(feed: &Feed) -> Vec<&ToolCallBlock> {
    let calls = feed.rows().filter_map(|block| match &block.body {
        BlockBody::ToolCall(call) => Some(&**call),
        _ => None,
    });
    calls.collect()
}

/// A turn with text, a call and its result.
fn whole_turn() -> Vec<ChatEvent> {
    log(&[
        ("turn_start", json!({"trigger": "user"})),
        ("user_message", json!({"text": "go"})),
        ("assistant_chunk", json!({"text": "I "})),
        ("assistant_chunk", json!({"text": "look."})),
        (
            "tool_call",
            json!({"toolCallId": "c1", "toolName": "Read", "args": {"path": "a"}}),
        ),
        ("tool_result", json!({"toolCallId": "c1", "result": "text"})),
        ("assistant_done", json!({"text": "I look."})),
        ("turn_end", json!({"outcome": "completed"})),
    ])
}

/// What an inbox hands on of events as they come.
fn received(events: impl IntoIterator<Item = ChatEvent>) -> (ChatRenderer, Inbox) {
    let (mut inbox, mut renderer, mut ready) = (Inbox::default(), ChatRenderer::new(), Vec::new());
    for event in events {
        inbox.push(event, &mut ready);
        for event in ready.drain(..) {
            renderer.handle_new_event(&event);
        }
    }
    (renderer, inbox)
}

#[test]
fn dup_every_event() {
    let events = whole_turn();
    let twice = events
        .iter()
        .flat_map(|event| [event.clone(), event.clone()]);
    let (renderer, _) = received(twice.clone());
    assert_eq!(view(renderer.feed()), view(replay(&events).feed()));
    let (mut inbox, mut ready) = (Inbox::default(), Vec::new());
    for event in twice.clone() {
        inbox.push(event, &mut ready);
    }
    assert!(ready == events, "what came twice is handed on once");
    // Without numbers, ids tell.
    let unnumbered: Vec<_> = twice
        .map(|event| ChatEvent { seq: None, ..event })
        .collect();
    assert_eq!(
        text_of(replay(&unnumbered).feed()),
        text_of(replay(&events).feed())
    );
}

#[test]
fn reverse_batch() {
    let events = whole_turn();
    let backwards = events
        .chunks(3)
        .flat_map(|batch| batch.iter().rev().cloned());
    let (renderer, _) = received(backwards);
    assert_eq!(view(renderer.feed()), view(replay(&events).feed()));
}

#[test]
fn random_permutation_in_window_64() {
    let lines: Vec<_> = (0..256)
        .map(|nth| ("assistant_chunk", json!({"text": format!("{nth} ")})))
        .collect();
    let events = log(&lines);
    let mut shuffled = events.clone();
    let mut state = 7u64;
    for window in shuffled.chunks_mut(64) {
        for at in (1..window.len()).rev() {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            window.swap(at, (state >> 33) as usize % (at + 1));
        }
    }
    let (renderer, inbox) = received(shuffled);
    assert_eq!(view(renderer.feed()), view(replay(&events).feed()));
    assert!(!inbox.overfull() && inbox.missing().is_none());
}

#[test]
fn gap_then_fill() {
    let events = whole_turn();
    let hole = events[3].clone();
    let rest = events.iter().filter(|event| event.seq != hole.seq).cloned();
    let (mut renderer, mut inbox) = received(rest);
    assert_eq!(
        inbox.missing(),
        Some(4..=4),
        "one request for what is missing"
    );
    assert_eq!(
        renderer.event_count(),
        3,
        "nothing behind the hole is applied"
    );
    let mut ready = Vec::new();
    inbox.push(hole, &mut ready);
    for event in ready {
        renderer.handle_new_event(&event);
    }
    assert_eq!(view(renderer.feed()), view(replay(&events).feed()));
}

#[test]
fn gap_never_filled() {
    let mut events = whole_turn();
    events.retain(|event| !matches!(event.seq, Some(3 | 4)));
    let (mut renderer, mut inbox) = received(events);
    let gap = json!({"id": "g", "sessionId": "s", "type": "log_gap", "payload": {"from": 3, "to": 4, "why": "disk"}});
    renderer.handle_new_event(&ChatEvent::from_json(&gap.to_string()).unwrap());
    let mut ready = Vec::new();
    inbox.skip_to(5, &mut ready);
    assert_eq!(ready.len(), 4, "what waited goes on");
    for event in ready {
        renderer.handle_new_event(&event);
    }
    let gaps = renderer
        .feed()
        .rows()
        .filter_map(|block| match &block.body {
            BlockBody::Gap(gap) => Some((gap.from, gap.to)),
            _ => None,
        });
    assert_eq!(gaps.collect::<Vec<_>>(), [(3, 4)]);
    assert_eq!(calls(renderer.feed())[0].status, ToolStatus::Succeeded);
}

#[test]
fn tool_result_before_call() {
    let mut events = whole_turn();
    let (call, result) = (events[4].payload.clone(), events[5].payload.clone());
    (events[4].payload, events[5].payload) = (result, call);
    let renderer = replay(&events);
    let calls = calls(renderer.feed());
    assert_eq!(calls.len(), 1);
    assert!(!calls[0].orphan && calls[0].status == ToolStatus::Succeeded);
    assert_eq!(&*calls[0].tool_name, "Read");
}

#[test]
fn tool_result_no_call() {
    let mut events = whole_turn();
    events.remove(4);
    let renderer = replay(&events);
    assert!(calls(renderer.feed())[0].orphan);
}

#[test]
fn tool_call_no_result_turn_end() {
    let mut events = whole_turn();
    events.remove(5);
    let renderer = replay(&events);
    assert_eq!(calls(renderer.feed())[0].status, ToolStatus::NoResult);
}

#[test]
fn two_results_same_id() {
    let events = log(&[
        (
            "tool_call",
            json!({"toolCallId": "c1", "toolName": "Read", "args": {}}),
        ),
        (
            "tool_result",
            json!({"toolCallId": "c1", "result": "first"}),
        ),
        (
            "tool_result",
            json!({"toolCallId": "c1", "result": "second"}),
        ),
    ]);
    let renderer = replay(&events);
    let calls = calls(renderer.feed());
    assert_eq!(calls[0].conflicts, 1);
    assert_eq!(calls[0].result.as_ref().unwrap().as_text(), "\"first\"");
}

#[test]
fn a_result_that_comes_late_stands_in_the_place_of_none() {
    let events = log(&[
        ("turn_start", json!({"_turn": "t", "trigger": "user"})),
        (
            "tool_call",
            json!({"_turn": "t", "toolCallId": "c1", "toolName": "Read", "args": {}}),
        ),
        (
            "tool_result",
            json!({"_turn": "t", "toolCallId": "c1", "result": "", "error": {"code": "no_result", "message": "none"}}),
        ),
        ("turn_end", json!({"_turn": "t"})),
        (
            "tool_result",
            json!({"_turn": "t", "toolCallId": "c1", "result": "late", "summary": "1 line"}),
        ),
        (
            "tool_result",
            json!({"_turn": "t", "toolCallId": "c1", "result": "", "error": {"code": "no_result", "message": "none"}}),
        ),
    ]);
    let before = replay(&events[..4]);
    assert_eq!(calls(before.feed())[0].status, ToolStatus::NoResult);
    let renderer = replay(&events);
    let call = calls(renderer.feed())[0].clone();
    assert_eq!(call.status, ToolStatus::Succeeded);
    assert_eq!(call.result.as_ref().unwrap().as_text(), "\"late\"");
    assert_eq!(
        (call.error, call.conflicts),
        (None, 1),
        "none comes too late"
    );
    let summary = to_session_summary(&events);
    assert_eq!(summary.tool_calls.without_result, 0);
}

#[test]
fn chunk_before_turn() {
    let renderer = replay(&log(&[(
        "assistant_chunk",
        json!({"_turn": "t9", "text": "early"}),
    )]));
    assert_eq!(text_of(renderer.feed()), ["early"]);
    assert_eq!(renderer.feed().turns()[0].id.as_deref(), Some("t9"));
}

#[test]
fn done_without_chunks() {
    let renderer = replay(&log(&[("assistant_done", json!({"text": "all of it"}))]));
    assert_eq!(text_of(renderer.feed()), ["all of it"]);
}

#[test]
fn done_disagrees_with_chunks() {
    let renderer = replay(&log(&[
        ("assistant_chunk", json!({"text": "some"})),
        ("assistant_done", json!({"text": "other"})),
    ]));
    assert_eq!(text_of(renderer.feed()), ["other"]);
}

#[test]
fn chunk_after_done() {
    let with_parts = replay(&log(&[
        ("assistant_done", json!({"text": "whole", "part": 0})),
        ("assistant_chunk", json!({"text": " late", "part": 0})),
    ]));
    assert_eq!(text_of(with_parts.feed()), ["whole"]);
    assert_eq!(with_parts.feed().session().late_chunks, 1);
    let without = replay(&log(&[
        ("assistant_done", json!({"text": "whole"})),
        ("assistant_chunk", json!({"text": "next"})),
    ]));
    assert_eq!(text_of(without.feed()), ["whole", "next"]);
}

fn input_of(lines: &[(&str, Value)]) -> String {
    let renderer = replay(&log(lines));
    let input = calls(renderer.feed())[0].input.unwrap();
    renderer.feed().stream(input).to_string()
}

#[test]
fn tool_input_chunk_overlapping_offset() {
    let input = input_of(&[
        (
            "tool_input_chunk",
            json!({"toolCallId": "c", "chunk": "{\"é\"", "offset": 0}),
        ),
        (
            "tool_input_chunk",
            json!({"toolCallId": "c", "chunk": "\":1}", "offset": 3}),
        ),
    ]);
    assert_eq!(input, "{\"é\":1}");
}

#[test]
fn tool_input_chunk_gap_offset() {
    let input = input_of(&[
        (
            "tool_input_chunk",
            json!({"toolCallId": "c", "chunk": "{\"", "offset": 0}),
        ),
        (
            "tool_input_chunk",
            json!({"toolCallId": "c", "chunk": "1}", "offset": 9}),
        ),
    ]);
    assert_eq!(input, "{\"…1}");
}

#[test]
fn split_grapheme() {
    let family = "👩‍👩‍👧";
    let (left, right) = family.split_at(7);
    let renderer = replay(&log(&[
        ("assistant_chunk", json!({"text": left})),
        ("assistant_chunk", json!({"text": right})),
    ]));
    assert_eq!(text_of(renderer.feed()), [family]);
}

#[test]
fn split_markdown_fence() {
    let text = "before\n\n```rs\nlet x;\n```\n\nafter";
    let whole = replay(&log(&[("assistant_done", json!({"text": text}))]));
    for at in 0..=text.len() {
        let (left, right) = text.split_at(at);
        let cut = replay(&log(&[
            ("assistant_chunk", json!({"text": left})),
            ("assistant_chunk", json!({"text": right})),
            ("assistant_done", json!({"text": text})),
        ]));
        assert_eq!(text_of(cut.feed()), text_of(whole.feed()), "cut at {at}");
    }
}

#[test]
fn interrupt_mid_tool() {
    let renderer = replay(&log(&[
        (
            "tool_call",
            json!({"toolCallId": "c1", "toolName": "Bash", "args": {}}),
        ),
        (
            "tool_call",
            json!({"toolCallId": "c2", "toolName": "Bash", "args": {}}),
        ),
        ("interrupt", json!({"reason": "user_cancel"})),
    ]));
    for call in calls(renderer.feed()) {
        assert_eq!(call.status, ToolStatus::Interrupted);
    }
}

/// A source that ends guesses how its turn went; the same one, grown longer, or another knows.
#[test]
fn turn_end_known_after_a_guess() {
    let events = log(&[
        ("turn_start", json!({"trigger": "user"})),
        ("user_message", json!({"text": "go"})),
        (
            "turn_end",
            json!({"outcome": "interrupted", "guessed": true}),
        ),
        ("turn_end", json!({"outcome": "completed", "durationMs": 7})),
        ("turn_end", json!({"outcome": "failed", "guessed": true})),
        ("turn_end", json!({"outcome": "failed"})),
    ]);
    let renderer = replay(&events);
    let feed = renderer.feed();
    let ends: Vec<_> = feed
        .rows()
        .filter_map(|block| match &block.body {
            BlockBody::TurnEnd(end) => Some((end.outcome.as_deref(), end.duration_ms)),
            _ => None,
        })
        .collect();
    assert_eq!(ends, [(Some("completed"), Some(7))]);
}

#[test]
fn turn_end_missing() {
    let renderer = replay(&log(&[
        ("turn_start", json!({"trigger": "user"})),
        (
            "tool_call",
            json!({"toolCallId": "c1", "toolName": "Bash", "args": {}}),
        ),
        ("turn_start", json!({"_turn": "t2", "trigger": "user"})),
        ("user_message", json!({"_turn": "t2", "text": "next"})),
    ]));
    // The second prompt may wait while the first is worked on …
    assert!(renderer.feed().rows().any(waits));
    let renderer = replay(&log(&[
        ("turn_start", json!({"trigger": "user"})),
        (
            "tool_call",
            json!({"toolCallId": "c1", "toolName": "Bash", "args": {}}),
        ),
        ("turn_start", json!({"_turn": "t2", "trigger": "user"})),
        ("assistant_done", json!({"_turn": "t2", "text": "done"})),
    ]));
    // … but where the agent answers it, the first is over.
    assert!(!renderer.feed().rows().any(waits));
    assert_eq!(renderer.feed().turns()[0].state, TurnState::Interrupted);
}

#[test]
fn duplicate_turn_start() {
    let renderer = replay(&log(&[
        ("turn_start", json!({"trigger": "user"})),
        ("turn_start", json!({"trigger": "user"})),
    ]));
    assert_eq!(renderer.feed().turns().len(), 1);
}

#[test]
fn agent_callback_before_message() {
    let renderer = replay(&log(&[
        (
            "agent_callback",
            json!({"messageId": "m", "fromAgentId": "b", "fromSessionId": "s2", "result": "did"}),
        ),
        (
            "agent_message",
            json!({"messageId": "m", "targetAgentId": "b", "targetSessionId": "s2", "message": "do", "wait": true}),
        ),
    ]));
    let messages: Vec<_> = renderer
        .feed()
        .rows()
        .filter_map(|block| match &block.body {
            BlockBody::AgentMessage(message) => Some(message),
            _ => None,
        })
        .collect();
    assert_eq!(messages.len(), 1);
    assert!(messages[0].message.is_some() && messages[0].result.is_some());
}

#[test]
fn payloads_of_the_wrong_shape_are_shown_where_they_came() {
    let renderer = replay(&log(&[("tool_call", json!({"toolCallId": 7}))]));
    let first = renderer.feed().rows().next().unwrap();
    assert!(matches!(first.body, BlockBody::Raw { .. }));
    let event = &log(&[("tool_call", json!({"toolCallId": 7}))])[0];
    assert!(matches!(event.payload, Payload::Malformed { .. }));
}
