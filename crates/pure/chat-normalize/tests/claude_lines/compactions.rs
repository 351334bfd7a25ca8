//! Compactions of Claude Code: what they leave, who asked for them, and when the session rests behind one.

use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::{Value, json};

use super::{at, ms, queue, said, stream, transcript};
use crate::support::read_lines;

#[test]
fn a_compaction_says_what_it_left() {
    let boundary = json!({"type": "system", "subtype": "compact_boundary", "session_id": "s1", "uuid": "b1",
        "compact_metadata": {"trigger": "auto", "pre_tokens": 168_000, "post_tokens": 24_000}});
    let streamed = stream(&[boundary]);
    let line = json!({"type": "system", "subtype": "compact_boundary", "sessionId": "s1", "uuid": "b1", "timestamp": at(1),
        "compactMetadata": {"trigger": "auto", "preTokens": 168_000, "postTokens": 24_000}});
    let written = transcript(&[said("user", "u1", 0, json!("Go")), line]);
    for events in [streamed, written] {
        let told = events.iter().find_map(|event| match &event.payload {
            Payload::Compaction(told) => Some((
                told.tokens_before,
                told.extra
                    .get("tokensAfter")
                    .map(|after| after.as_text().to_string()),
            )),
            _ => None,
        });
        assert_eq!(told, Some((Some(168_000), Some("24000".to_owned()))));
    }
}

#[test]
fn a_compaction_that_a_person_asked_for_is_told_behind_their_words() {
    let command = "<command-name>/compact</command-name><command-message>compact</command-message><command-args>be short</command-args>";
    let boundary = |trigger: &str| {
        json!({"type": "system", "subtype": "compact_boundary", "sessionId": "s1", "uuid": "b1", "timestamp": at(5),
            "compactMetadata": {"trigger": trigger, "preTokens": 1_240}})
    };
    let summary = |mut line: Value| {
        line["isCompactSummary"] = json!(true);
        line
    };
    let mut caveat = said(
        "user",
        "c1",
        3,
        json!("<local-command-caveat>Not a request.</local-command-caveat>"),
    );
    caveat["isMeta"] = json!(true);
    let places = |lines: &[Value]| -> Vec<(String, Option<String>, Option<i64>)> {
        let events = transcript(lines);
        let told = events.iter().filter_map(|event| match &event.payload {
            Payload::UserMessage(said) => Some((event, said.text.preview().to_string())),
            Payload::Compaction(told) => Some((event, told.summary.clone().unwrap_or_default())),
            _ => None,
        });
        told.map(|(event, what)| (what, event.turn_id.clone(), event.timestamp))
            .collect()
    };
    let before = [
        said("user", "u1", 0, json!("Go")),
        said(
            "assistant",
            "a1",
            1,
            json!([{"type": "text", "text": "Done."}]),
        ),
    ];
    let asked = [
        boundary("manual"),
        summary(said("user", "k1", 5, json!("In short"))),
        queue("dequeue", 5, None),
        caveat,
        said("user", "u2", 3, json!(command)),
        said(
            "user",
            "o2",
            6,
            json!("<local-command-stdout>Compacted</local-command-stdout>"),
        ),
    ];
    let found = places(&[&before[..], &asked].concat());
    let turn = |id: &str| Some(id.to_owned());
    assert_eq!(
        found,
        [
            ("Go".to_owned(), turn("u1"), Some(ms(0))),
            ("/compact be short".to_owned(), turn("u2"), Some(ms(3))),
            ("In short".to_owned(), turn("u2"), Some(ms(5))),
        ]
    );
    // The program's own stands where it came; so does one whose command is not written.
    for (trigger, next) in [
        ("auto", said("user", "u2", 6, json!(command))),
        ("manual", said("user", "u2", 6, json!("And now?"))),
    ] {
        let lines = [&before[..], &[boundary(trigger), next]].concat();
        assert_eq!(places(&lines)[1], (String::new(), turn("u1"), Some(ms(5))));
    }
}

#[test]
fn who_compacts_outside_of_any_turn_rests_at_the_end() {
    let line = |uuid: &str, mut line: Value| {
        line["uuid"] = json!(uuid);
        line["session_id"] = json!("s1");
        line
    };
    let lines = [
        line(
            "u1",
            json!({"type": "system", "subtype": "init", "cwd": "/w"}),
        ),
        line(
            "u2",
            json!({"type": "result", "subtype": "success", "is_error": false}),
        ),
        line(
            "u3",
            json!({"type": "system", "subtype": "status", "status": "compacting"}),
        ),
    ];
    let events = read_lines(Dialect::ClaudeStream, &lines).events;
    let told = |event: &ChatEvent| match &event.payload {
        Payload::SessionStatus(told) => Some(told.status.clone()),
        _ => None,
    };
    let told: Vec<String> = events.iter().filter_map(told).collect();
    assert_eq!(told, ["busy", "idle", "busy", "idle"]);
}
