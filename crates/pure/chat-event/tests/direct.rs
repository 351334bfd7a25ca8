//! The reader of plain lines says what the reader of all lines says, or nothing.

use std::path::Path;

use chat_event::{ChatEvent, MAX_DEPTH, depth};
use proptest::prelude::*;
use serde_json::{Value, json};

/// What the reader of all lines makes of a text that is one event and nothing else.
fn by_serde(text: &str) -> Option<ChatEvent> {
    if depth::exceeds(text, MAX_DEPTH) {
        return None;
    }
    serde_json::from_str(text).ok()
}

/// Holds one reader against the other; true where the line is a plain one.
fn agree(event: &mut ChatEvent, bytes: &[u8]) -> bool {
    let Some(len) = event.read_plain_line(bytes) else {
        return false;
    };
    let (line, _) = bytes.split_at(len);
    let line = std::str::from_utf8(line).expect("what is read is UTF-8");
    let said = by_serde(line).expect("what is read is an event");
    assert_eq!(*event, said, "{line}");
    assert_eq!(line.matches('\n').count(), 1, "{line}");
    true
}

/// Texts with all that is written in another way than it is read.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,40}",
        "\\PC{0,12}",
        prop::collection::vec(
            prop::sample::select(vec![
                "\"",
                "\\",
                "/",
                "\u{8}",
                "\u{c}",
                "\n",
                "\r",
                "\t",
                "\u{0}",
                "\u{1f}",
                "\u{7f}",
                "\u{85}",
                "\u{2028}",
                "é",
                "レ",
                "😀",
                "\u{10ffff}",
                "plain text",
                "\\u0041",
                "{}[],:",
            ]),
            0..12
        )
        .prop_map(|parts| parts.concat()),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The members of payloads, each of a kind that its type may have, or of none.
fn payload() -> impl Strategy<Value = (&'static str, Value)> {
    let types = prop::sample::select(chat_event::Payload::TYPES);
    let members = (
        text(),
        text(),
        value(),
        any::<u32>(),
        any::<i64>(),
        any::<bool>(),
        any::<[bool; 8]>(),
    );
    (types, members).prop_map(
        |(event_type, (text, id, value, small, number, truth, there))| {
            let all = [
                ("toolCallId", json!(id)),
                ("toolName", json!(id)),
                ("text", json!(text)),
                ("chunk", json!(text)),
                ("args", value.clone()),
                ("result", value.clone()),
                ("message", json!(text)),
                ("trigger", json!(id)),
                ("filePath", json!(id)),
                ("changeType", json!("modified")),
                ("messageId", json!(id)),
                ("fromAgentId", json!(id)),
                ("status", json!("idle")),
                ("requestId", json!(id)),
                ("decision", json!("allow")),
                ("toAgentId", json!(id)),
                ("transcription", json!(text)),
                ("part", json!(small)),
                ("index", json!(number.unsigned_abs())),
                ("exitCode", json!(number)),
                ("fullDiff", json!(text)),
                ("fullDiffAvailable", json!(truth)),
                ("redacted", json!(truth)),
                ("error", json!({"code": id, "message": text})),
                ("ofNoRule", value),
            ];
            let kept = all.into_iter().zip(there.into_iter().cycle());
            let kept =
                kept.filter(|((key, _), there)| *there || !key.starts_with(['p', 'i', 'e', 'r']));
            (
                event_type,
                Value::Object(
                    kept.map(|((key, value), _)| (key.to_owned(), value))
                        .collect(),
                ),
            )
        },
    )
}

prop_compose! {
    fn line()(
        (event_type, payload) in payload(),
        (id, turn, more) in (text(), prop::option::of(text()), value()),
        (seq, at_ms, recv) in (any::<Option<u64>>(), any::<i64>(), any::<Option<i64>>()),
        shuffled in Just(["seq", "id", "timestamp", "recv", "sessionId", "turnId", "agentId", "more"]).prop_shuffle(),
        in_order in any::<bool>(),
    ) -> String {
        let all = json!({
            "seq": seq, "id": id, "timestamp": at_ms, "recv": recv, "sessionId": "s1", "type": event_type,
            "turnId": turn, "agentId": id, "more": more, "payload": payload,
        });
        let Value::Object(mut all) = all else { unreachable!() };
        all.retain(|key, value| !value.is_null() || key == "more");
        let mut line = serde_json::Map::new();
        if !in_order {
            for key in shuffled {
                line.extend(all.remove(key).map(|value| (key.to_owned(), value)));
            }
        }
        line.extend(all);
        format!("{}\n", Value::Object(line))
    }
}

/// What damage brings into a line.
const BITS: &[&[u8]] = &[
    b"\"",
    b"\\",
    b"\\u",
    b"\\ud83d",
    b"\\udc00",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b" ",
    b"\n",
    b"\r",
    b"\0",
    b"\xff",
    b"\xc3",
    b"0",
    b"-",
    b".5",
    b"e9",
    b"null",
    b"true",
    b"18446744073709551616",
    b"\"id\":\"x\",",
    b"\"payload\":{},",
    b"\"text\":null,",
    b"\x1f",
    b"\t",
    b"nul",
    b"01",
    b"-0",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_line_says_the_same_to_both_readers(lines in prop::collection::vec(line(), 1..6)) {
        // What an event before said leaves nothing behind.
        let mut event = ChatEvent::default();
        for line in &lines {
            agree(&mut event, line.as_bytes());
            prop_assert_eq!(ChatEvent::from_json(line.trim_end()).ok(), by_serde(line).or_else(|| ChatEvent::from_json(line).ok()));
        }
    }

    #[test]
    fn a_damaged_line_says_the_same_to_both_readers_or_nothing(
        before in line(),
        line in line(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0..6_usize, prop::sample::select(BITS)), 1..4),
    ) {
        let mut event = ChatEvent::default();
        agree(&mut event, before.as_bytes());
        let mut bytes = line.into_bytes();
        for (at, n_taken, bit) in damage {
            let at = at.index(bytes.len() + 1);
            let end = bytes.len().min(at + n_taken);
            bytes.splice(at..end, bit.iter().copied());
        }
        agree(&mut event, &bytes);
    }

    #[test]
    fn a_line_that_is_not_whole_says_nothing(line in line(), at in any::<prop::sample::Index>()) {
        let cut = at.index(line.len());
        prop_assert_eq!(ChatEvent::default().read_plain_line(&line.as_bytes()[..cut]), None);
    }
}

#[test]
fn what_our_writer_writes_of_chunks_calls_and_results_is_plain() {
    let payloads = [
        (
            "assistant_chunk",
            json!({"text": "a \"b\"\n\u{1b}[1m😀", "part": 1, "index": 2}),
        ),
        ("thinking_done", json!({"text": "é", "redacted": true})),
        (
            "tool_call",
            json!({"toolCallId": "t", "toolName": "Bash", "args": {"a": [1.5, null, {"b": "\t"}]}}),
        ),
        (
            "tool_result",
            json!({"toolCallId": "t", "result": "x\r\n", "error": {"message": "m"}, "exitCode": -1, "later": 1}),
        ),
        (
            "file_edit",
            json!({"filePath": "a", "changeType": "modified", "linesAdded": 1, "fullDiff": "@@", "fullDiffSize": 2}),
        ),
        ("turn_start", json!({"trigger": "user"})),
    ];
    let mut event = ChatEvent::default();
    for (event_type, payload) in payloads {
        let line = json!({"seq": 7, "id": "e", "timestamp": -5, "recv": 6, "sessionId": "s", "type": event_type,
            "turnId": "t", "responseId": "r", "payload": payload, "c": "00c0ffee"});
        let line = format!(
            "{}\n",
            ChatEvent::from_json(&line.to_string()).unwrap().to_line()
        );
        assert!(agree(&mut event, line.as_bytes()), "{line}");
    }
}

#[test]
fn a_time_that_is_told_in_seconds_is_that_in_both_readers() {
    for (said, at_ms) in [
        ("1703001234", 1_703_001_234_000),
        ("1703001234.5", 1_703_001_234_000),
        ("1703001234567", 1_703_001_234_567),
        ("999999999", 999_999_999),
        ("100000000000", 100_000_000_000),
        ("-1703001234", -1_703_001_234),
    ] {
        let line = format!(
            r#"{{"id":"e","timestamp":{said},"sessionId":"s","type":"turn_start","payload":{{"trigger":"user"}}}}"#
        );
        agree(&mut ChatEvent::default(), format!("{line}\n").as_bytes());
        let event = ChatEvent::from_json(&line).unwrap();
        assert_eq!(event.timestamp, Some(at_ms), "{said}");
        assert_eq!(ChatEvent::from_json(&event.to_line()).unwrap(), event);
    }
}

#[test]
fn what_is_nested_deep_is_left_to_who_counts_it() {
    for depth in [1, 60, 62, 63, 64, 120, 126, 127, 128, 4000] {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        let line = format!(r#"{{"type":"raw","payload":{{"value":{open}{close}}}}}"#);
        agree(&mut ChatEvent::default(), format!("{line}\n").as_bytes());
        assert_eq!(
            ChatEvent::from_json(&line).is_ok(),
            depth + 2 <= MAX_DEPTH,
            "{depth}"
        );
    }
}

#[test]
#[allow(
    clippy::disallowed_methods,
    reason = "recorded sessions are read where they lie"
)]
fn recorded_sessions_say_the_same_to_both_readers() {
    let sessions = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/sessions");
    let (mut n_lines, mut n_plain) = (0, 0);
    let mut event = ChatEvent::default();
    for session in sessions.read_dir().unwrap() {
        let Ok(log) = std::fs::read(session.unwrap().path().join("events.jsonl")) else {
            continue;
        };
        for line in log.split_inclusive(|&byte| byte == b'\n') {
            n_lines += 1;
            n_plain += usize::from(agree(&mut event, line));
        }
    }
    assert!(n_lines > 1000, "{n_lines} lines were found");
    // The rest are of rare types; of long logs these are few.
    assert!(
        n_plain * 4 > n_lines * 3,
        "{n_plain} of {n_lines} lines are plain"
    );
}
