//! A turn whose provider was asked again says so when it is over: in the feed, in its transcript, in its trace.

use chat_event::ChatEvent;
use chat_feed::arrangement::{Arrangement, Mode, Row};
use chat_feed::projections::trace::Verbosity;
use chat_feed::projections::{to_markdown, to_tool_trace};
use chat_feed::{BlockBody, ChatRenderer, feed_lines};
use serde_json::{Value, json};

fn log(lines: &[(i64, &str, Value)]) -> Vec<ChatEvent> {
    let event = |(nth, (at_ms, kind, payload)): (usize, &(i64, &str, Value))| {
        let line = json!({"id": format!("e{nth}"), "timestamp": at_ms, "sessionId": "s", "turnId": "t", "type": kind, "payload": payload});
        ChatEvent::from_json(&line.to_string()).unwrap()
    };
    lines.iter().enumerate().map(event).collect()
}

fn retried() -> Vec<ChatEvent> {
    let retry = |n: u32| json!({"status": "retrying", "message": format!("attempt {n} of 10: overloaded 529")});
    log(&[
        (0, "turn_start", json!({"trigger": "user"})),
        (0, "user_message", json!({"text": "go"})),
        (1_000, "session_status", retry(1)),
        (3_000, "session_status", retry(2)),
        (9_000, "session_status", json!({"status": "busy"})),
        (
            9_000,
            "tool_call",
            json!({"toolCallId": "a", "toolName": "Read", "args": {}}),
        ),
        (
            9_100,
            "tool_result",
            json!({"toolCallId": "a", "result": "x"}),
        ),
        (
            9_200,
            "tool_call",
            json!({"toolCallId": "b", "toolName": "Bash", "args": {}}),
        ),
        (
            9_300,
            "tool_result",
            json!({"toolCallId": "b", "result": "x"}),
        ),
        (10_000, "session_status", retry(1)),
        (12_500, "assistant_done", json!({"text": "Done."})),
        (12_600, "turn_end", json!({"outcome": "completed"})),
    ])
}

const WORDS: [&str; 2] = [
    "Retried 2 times over 8.0 s: overloaded 529",
    "Retried once over 2.5 s: overloaded 529",
];

#[test]
fn the_feed_has_a_quiet_row_for_each_time_that_is_not_folded() {
    let mut renderer = ChatRenderer::new();
    let patches = renderer.replay_events(&retried());
    renderer.check().unwrap();
    let feed = renderer.feed();
    let mut arrangement = Arrangement::new(Mode::default());
    arrangement.apply(feed, &patches, &mut Vec::new());
    let told: Vec<&str> = arrangement
        .shown(feed)
        .filter_map(|row| match row {
            Row::Block(id) => match &feed.block(id).body {
                BlockBody::Notice {
                    text,
                    warning: false,
                    ..
                } => Some(&**text),
                BlockBody::ToolCall(_) => Some("a call that is not folded"),
                _ => None,
            },
            Row::Work(_) | Row::Company(_) => None,
        })
        .collect();
    assert_eq!(told, WORDS);
}

#[test]
fn while_it_is_asked_again_the_row_counts() {
    let mut renderer = ChatRenderer::new();
    let mut told = Vec::new();
    for event in &retried()[..4] {
        renderer.render_event(event);
        let last = renderer.feed().rows().last().map(|block| &block.body);
        if let Some(BlockBody::Notice { text, .. }) = last {
            told.push(text.clone());
        }
    }
    let counted = [
        "Retried once: overloaded 529",
        "Retried 2 times over 2.0 s: overloaded 529",
    ];
    assert_eq!(told, counted);
}

#[test]
fn the_transcript_and_the_trace_tell_it() {
    let transcript = to_markdown(&retried());
    let trace = to_tool_trace(&retried(), Verbosity::Normal);
    for words in WORDS {
        assert!(
            transcript.contains(&format!("*Note:* {words}")),
            "{transcript}"
        );
        let words = words.replacen('R', "[INFO] R", 1);
        assert!(trace.contains(&words), "{trace}");
    }
}

/// What the rows say of a turn that failed, where the source told no prompt.
fn failed(told: &[(i64, &str, Value)]) -> Vec<String> {
    let start = (0, "turn_start", json!({"trigger": "user"}));
    let events = log(&[&[start], told].concat());
    let mut renderer = ChatRenderer::new();
    renderer.replay_events(&events);
    renderer.check().unwrap();
    let mut live = ChatRenderer::new();
    for event in &events {
        live.render_event(event);
    }
    assert_eq!(
        feed_lines(renderer.feed()).collect::<Vec<_>>(),
        feed_lines(live.feed()).collect::<Vec<_>>()
    );
    let rows = renderer.feed().rows().map(|block| match &block.body {
        BlockBody::Prompt(prompt) => match &prompt.text {
            Some(text) => format!("prompt {}", text.head()),
            None => "no prompt".to_owned(),
        },
        BlockBody::Notice { text, .. } => text.clone(),
        BlockBody::Error { message, .. } => message.clone(),
        _ => "-".to_owned(),
    });
    rows.collect()
}

#[test]
fn a_turn_that_fails_at_once_says_that_its_prompt_is_not_told() {
    let error = (
        2_000,
        "error",
        json!({"code": "x", "message": "Overloaded"}),
    );
    let retry = (1_000, "session_status", json!({"status": "retrying"}));
    assert_eq!(
        failed(std::slice::from_ref(&error)),
        ["no prompt", "Overloaded"]
    );
    assert_eq!(
        failed(&[retry.clone(), error.clone()]),
        ["no prompt", "Retried once over 1.0 s", "Overloaded"]
    );
    let prompt = (3_000, "user_message", json!({"text": "go"}));
    assert_eq!(
        failed(&[retry, error, prompt]),
        ["prompt go", "Retried once over 1.0 s", "Overloaded"]
    );
}

#[test]
fn what_failed_in_the_end_says_how_often_it_was_tried() {
    let retry = |n: i64| (n * 1_000, "session_status", json!({"status": "retrying"}));
    let error = |at_ms: i64| {
        (
            at_ms,
            "error",
            json!({"code": "x", "message": "Overloaded"}),
        )
    };
    let retries_of = |told: &[(i64, &str, Value)]| -> Vec<(u32, Option<u64>, u32)> {
        let start = (0, "turn_start", json!({"trigger": "user"}));
        let mut renderer = ChatRenderer::new();
        renderer.replay_events(&log(&[&[start], told].concat()));
        let rows = renderer
            .feed()
            .rows()
            .filter_map(|block| match &block.body {
                BlockBody::Error {
                    retries,
                    retried_ms,
                    count,
                    ..
                } => Some((*retries, *retried_ms, *count)),
                _ => None,
            });
        rows.collect()
    };
    assert_eq!(retries_of(&[error(1)]), [(0, None, 1)]);
    assert_eq!(retries_of(&[retry(1), error(1_200)]), [(1, None, 1)]);
    assert_eq!(
        retries_of(&[retry(1), retry(2), retry(3), error(32_000)]),
        [(3, Some(31_000), 1)]
    );
    // The provider answered in between.
    let answer = (2_000, "assistant_done", json!({"text": "Yes"}));
    assert_eq!(
        retries_of(&[retry(1), answer, error(3_000)]),
        [(0, None, 1)]
    );
}
