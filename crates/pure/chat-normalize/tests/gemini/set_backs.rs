//! What the user went back behind, and what a resumed session begins with.

use std::collections::BTreeMap;

use chat_event::{ChatEvent, Payload, SetBack};
use chat_normalize::{Context, Dialect, SessionReader};
use serde_json::{Value, json};

use super::{header, message};
use crate::support::{Source, assert_cuts, assert_sound, read, read_lines, told};

#[test]
fn what_the_user_went_back_behind_is_named_and_stays() {
    let lines = [
        header(),
        message("m1", "user", json!("First")),
        message("m2", "gemini", json!("One.")),
        message("m3", "user", json!("Second")),
        message("m4", "gemini", json!("Two.")),
        json!({"$rewindTo": "m3"}),
        json!({"$rewindTo": "m3"}),
        message("m5", "user", json!("Second, better")),
        message("m6", "info", json!("Request cancelled.")),
        json!({"$set": {"messages": [message("m1", "user", json!("First")), message("m7", "gemini", json!("One!"))]}}),
        json!({"$set": {"summary": "A title", "x": 1}}),
        json!({"$rewindTo": "no such"}),
    ];
    let read = read_lines(Dialect::GeminiChat, &lines);
    assert_sound("rewound", &read.events);
    assert_eq!(
        told(&read.events),
        [
            "turn user",
            "user First",
            "done One.",
            "end completed",
            "turn user",
            "user Second",
            "done Two.",
            "notice the conversation was set back: 2 messages were left",
            "end completed",
            "turn user",
            "user Second, better",
            "interrupt user_cancel",
            "done One!",
            "notice the conversation was set back: 3 messages were left",
            "raw 1",
            "end completed",
        ]
    );
    let left: Vec<String> = read
        .events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::Notice(notice) => Some(notice.extra.get("leftTurnIds")?.as_text().to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(left, [r#"["m3"]"#, r#"["m5"]"#]);
    assert_eq!(cleared(&read.events), [false, false]);
    // Without its beginning it is another conversation, as after a compression.
    let anew = message("m8", "user", json!("So far"));
    let others = [
        header(),
        message("m1", "user", json!("First")),
        message("m2", "gemini", json!("One.")),
        json!({"$set": {"messages": [anew]}}),
    ];
    let read = read_lines(Dialect::GeminiChat, &others);
    assert_eq!(cleared(&read.events), [true]);
}

/// Of each set-back whether another conversation stands in the place of what was left.
fn cleared(events: &[ChatEvent]) -> Vec<bool> {
    let told = events.iter().filter_map(|event| match &event.payload {
        Payload::Notice(notice) => SetBack::of(notice),
        _ => None,
    });
    told.map(|told| told.cleared).collect()
}

/// Gemini CLI 0.61.0, two runs against a scripted model, the second with `--resume latest`; its folders are renamed.
const RESUMED: &[u8] = include_bytes!("../recordings/gemini-resume.chat.jsonl");

#[test]
fn a_resumed_session_leaves_nothing_though_its_messages_are_set_to_its_context_first() {
    let whole = read(RESUMED);
    assert_sound("resumed", &whole.events);
    assert_eq!(whole.report.raw, BTreeMap::new());
    assert_eq!(
        told(&whole.events),
        [
            "turn user",
            "user Read it",
            "done I'll read.",
            "usage response 1200/40",
            "call read_file__read_file_1795791130509_0 read_file",
            "result read_file__read_file_1795791130509_0 # Demo\n\nA small project.\n",
            "done Done.",
            "usage response 1200/40",
            "end completed",
            "turn user",
            "user Go on",
            "done Resumed and done.",
            "usage response 1200/40",
            "end completed",
        ]
    );
    assert_cuts(&Source {
        name: "resumed".to_owned(),
        bytes: RESUMED.to_vec(),
    });
}

/// The notices of a set-back: line, id, text, and the turns that were left.
fn set_backs(events: &[ChatEvent]) -> Vec<String> {
    let notices = events.iter().filter_map(|event| match &event.payload {
        Payload::Notice(notice) if notice.source.as_deref() == Some("branch") => Some(format!(
            "{} {} {} {}",
            notice.line.unwrap(),
            event.id,
            notice.text.rsplit(": ").next().unwrap(),
            notice.extra.get("leftTurnIds").unwrap().as_text()
        )),
        _ => None,
    });
    notices.collect()
}

#[test]
fn a_set_behind_a_header_leaves_what_nothing_brings_back() {
    let context = || message("m0", "user", json!("<session_context>\n</session_context>"));
    let (asked, said) = (
        || message("m1", "user", json!("First")),
        || message("m2", "gemini", json!("One.")),
    );
    let set = |messages: Value| json!({"$set": {"messages": messages}});
    let begin = [header(), context(), asked(), said()];
    let resume = [
        header(),
        set(json!([context()])),
        json!({"$set": {"sessionId": "g1"}}),
    ];
    let all = set(json!([context(), asked(), said()]));
    let new = message("m3", "user", json!("Next"));
    let left = ["6 m0:notice 2 messages were left [\"m1\"]"];
    let cases: [(&str, Vec<Value>, Vec<&str>); 8] = [
        ("brought back", vec![all.clone()], vec![]),
        ("at the end", vec![], left.to_vec()),
        ("before a message", vec![new.clone()], left.to_vec()),
        (
            "before a rewind",
            vec![json!({"$rewindTo": "m1"})],
            left.to_vec(),
        ),
        (
            "one of them brought back",
            vec![set(json!([context(), said()]))],
            vec!["8 m2:notice 1 message was left [\"m1\"]"],
        ),
        (
            "stopped in the middle and resumed again",
            [resume.to_vec(), vec![all, new.clone()]].concat(),
            vec![],
        ),
        (
            "resumed again for nothing",
            [resume.to_vec(), vec![new.clone()]].concat(),
            left.to_vec(),
        ),
        (
            "only one is waited for",
            vec![set(json!([context()])), new],
            vec!["8 m0:notice 2 messages were left [\"m1\"]"],
        ),
    ];
    for (name, then, expected) in cases {
        let lines = [begin.to_vec(), resume.to_vec(), then].concat();
        let whole = read_lines(Dialect::GeminiChat, &lines);
        assert_sound(name, &whole.events);
        assert_eq!(set_backs(&whole.events), expected, "{name}");
        let bytes: String = lines.iter().map(|line| format!("{line}\n")).collect();
        assert_cuts(&Source {
            name: name.to_owned(),
            bytes: bytes.into_bytes(),
        });
    }
}

#[test]
fn a_source_that_rests_says_what_was_left_once_and_as_its_file_does() {
    let context = message("m0", "user", json!("<session_context>\n</session_context>"));
    let lines = [
        header(),
        message("m1", "user", json!("First")),
        header(),
        json!({"$set": {"messages": [context]}}),
    ];
    let mut reader = SessionReader::with_dialect(Context::default(), Dialect::GeminiChat);
    let mut live = Vec::new();
    for line in &lines {
        let line = format!("{line}\n");
        reader.push(line.as_bytes(), 0, &mut live).unwrap();
    }
    assert_eq!(set_backs(&live), [""; 0]);
    reader.quiet(10_000, &mut live);
    let left = ["4 m0:notice 1 message was left [\"m1\"]"];
    assert_eq!(set_backs(&live), left);
    reader.finish(20_000, &mut live).unwrap();
    assert_sound("live", &live);
    // That it rests is a guess, which is told live alone.
    live.retain(|event| event.event_type() != "session_status");
    let mut whole = read_lines(Dialect::GeminiChat, &lines).events;
    whole.retain(|event| event.event_type() != "session_status");
    let without_end_time = |mut event: ChatEvent| {
        if event.event_type() == "session_end" {
            event.timestamp = None;
        }
        event
    };
    let live: Vec<_> = live.into_iter().map(without_end_time).collect();
    let whole: Vec<_> = whole.into_iter().map(without_end_time).collect();
    assert_eq!(live, whole);
}
