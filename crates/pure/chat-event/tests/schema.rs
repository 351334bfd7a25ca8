//! What is written is what was read: every type, unknown types and fields, number text, key order.

use chat_event::{ChatEvent, Payload};
use proptest::prelude::*;

/// One payload of each type with every field that `events.md` names.
const PAYLOADS: &[(&str, &str)] = &[
    (
        "turn_start",
        r#"{"trigger":"user","task":{"index":1,"total":3,"label":"x"}}"#,
    ),
    (
        "turn_end",
        r#"{"usage":{"scope":"turn","inputTokens":1,"outputTokens":2},"costUsd":0.25,"durationMs":12,"outcome":"completed"}"#,
    ),
    (
        "user_message",
        r#"{"text":"§","attachments":[{"name":"a.png","mediaType":"image/png","data":"AA=="}]}"#,
    ),
    (
        "user_audio",
        r#"{"transcription":"§","durationMs":5,"audioRef":"a"}"#,
    ),
    ("assistant_chunk", r#"{"text":"§","part":1,"index":7}"#),
    (
        "assistant_done",
        r#"{"text":"§","part":1,"timing":[[0,1],[30,2]],"span":[1,9]}"#,
    ),
    ("thinking_chunk", r#"{"text":"§","part":0,"index":0}"#),
    (
        "thinking_done",
        r#"{"text":"§","part":0,"timing":[[0,1]],"span":[1,9],"redacted":true}"#,
    ),
    (
        "tool_call",
        r#"{"toolCallId":"t1","toolName":"Bash","args":{"z":1.0,"a":"§"},"title":"§","kind":"execute"}"#,
    ),
    (
        "tool_input_chunk",
        r#"{"toolCallId":"t1","toolName":"Bash","chunk":"{\"","offset":3}"#,
    ),
    (
        "tool_output_chunk",
        r#"{"toolCallId":"t1","chunk":"§","stream":"stderr"}"#,
    ),
    (
        "tool_result",
        r#"{"toolCallId":"t1","result":[1,{"b":1e5,"a":null}],"error":{"code":"E","message":"§"},"summary":"§","durationMs":1,"exitCode":-1,"background":false,"timing":[[0,1]],"span":[2,3]}"#,
    ),
    (
        "agent_message",
        r#"{"messageId":"m1","targetAgentId":"a","targetSessionId":"s2","message":"§","wait":true}"#,
    ),
    (
        "agent_callback",
        r#"{"messageId":"m1","fromAgentId":"a","fromSessionId":"s2","result":"§"}"#,
    ),
    ("agent_switch", r#"{"fromAgentId":"a","toAgentId":"b"}"#),
    ("interrupt", r#"{"reason":"§"}"#),
    ("error", r#"{"code":"E","message":"§"}"#),
    ("audio_chunk", r#"{"data":"AA==","seq":1}"#),
    ("audio_done", r#"{"durationMs":5}"#),
    (
        "session_start",
        r#"{"agent":"claude","nativeId":"x/y","model":"m","cwd":"/p","title":"§","gitBranch":"b","provider":"p","tools":["Bash"]}"#,
    ),
    ("session_end", r#"{"reason":"§"}"#),
    (
        "session_status",
        r#"{"status":"busy","guessed":true,"message":"§"}"#,
    ),
    (
        "file_edit",
        r#"{"toolCallId":"t1","filePath":"§","changeType":"renamed","oldPath":"b","linesAdded":1,"linesRemoved":2,"diffPreview":"§","fullDiff":{"$body":{"sha256":"00","bytes":9,"preview":"p","truncated":true}},"fullDiffAvailable":true,"fullDiffSize":9,"binary":false}"#,
    ),
    (
        "progress",
        r#"{"message":"§","percent":12.5,"toolCallId":"t1"}"#,
    ),
    (
        "plan",
        r#"{"entries":[{"content":"§","status":"in_progress"}]}"#,
    ),
    (
        "permission_request",
        r#"{"requestId":"r","toolCallId":"t1","toolName":"Bash","kind":"execute","title":"§","args":{"b":1,"a":2},"options":[{"id":"1","label":"§","kind":"allow_once"}],"reason":"§"}"#,
    ),
    (
        "permission_resolved",
        r#"{"requestId":"r","decision":"allow","scope":"once","by":"user","message":"§"}"#,
    ),
    (
        "question_request",
        r#"{"requestId":"r","toolCallId":"t1","questions":[{"id":"q","header":"h","text":"§","options":[{"label":"§","description":"d"}],"multi":true,"secret":false}]}"#,
    ),
    (
        "question_resolved",
        r#"{"requestId":"r","answers":{"q":["§"]},"outcome":"answered"}"#,
    ),
    (
        "usage",
        r#"{"scope":"turn","cumulative":true,"inputTokens":1,"outputTokens":2,"cacheReadTokens":3,"cacheWriteTokens":4,"reasoningTokens":5,"contextUsed":6,"contextSize":7,"costUsd":0.5,"model":"m"}"#,
    ),
    (
        "compaction",
        r#"{"trigger":"auto","summary":"§","tokensBefore":1}"#,
    ),
    (
        "notice",
        r#"{"level":"info","text":"§","source":"hook","line":4}"#,
    ),
    ("retract", r#"{"eventIds":["a","b"]}"#),
    ("raw", r#"{"format":"f","value":{"z":[1.0,"§"],"a":{}}}"#),
    (
        "log_start",
        r#"{"schema":2,"epoch":"Qm","writer":"turnreel/0.1"}"#,
    ),
    (
        "log_epoch",
        r#"{"epoch":"Zz","base":812,"why":"unclean_boot"}"#,
    ),
    ("log_gap", r#"{"from":813,"to":815,"why":"torn"}"#),
    ("log_end", r#"{"clean":true}"#),
];

/// A payload with `text` in each free place and a field that no rule knows behind the others.
fn with_text(payload: &str, text: &str, unknown: &str) -> String {
    let text = serde_json::to_string(text).unwrap();
    let filled = payload.replace("\"§\"", &text);
    let open = filled.strip_suffix('}').unwrap();
    format!(r#"{open},"x-unknown":{unknown}}}"#)
}

fn line(event_type: &str, payload: &str, unknown: &str) -> String {
    format!(
        r#"{{"seq":7,"id":"e7","timestamp":1703001234567,"recv":1703001234570,"sessionId":"s1","type":"{event_type}","turnId":"t1","responseId":"r1","agentId":"a1","parentToolCallId":"p1","payload":{payload},"x-envelope":{unknown}}}"#
    )
}

#[test]
fn every_type_has_a_payload_here() {
    let types: Vec<&str> = PAYLOADS.iter().map(|(name, _)| *name).collect();
    assert_eq!(types, Payload::TYPES);
}

#[test]
fn a_line_in_the_schemas_order_is_written_as_it_was_read() {
    for (event_type, payload) in PAYLOADS {
        let numbers = r#"{"z":1.0,"a":1e5,"m":123456789012345678901234567890,"u":-0.0}"#;
        let line = line(event_type, &with_text(payload, "plain", numbers), numbers);
        let event = ChatEvent::from_json(&line).unwrap();
        assert_eq!(event.problem(), None);
        assert!(!matches!(event.payload, Payload::Unknown { .. }));
        assert_eq!(event.to_line(), line);
    }
}

/// JSON texts that say what they say in a way of their own.
fn odd_json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("1.0".to_owned()),
        Just("1e5".to_owned()),
        Just("1E+2".to_owned()),
        Just("-0".to_owned()),
        Just("123456789012345678901234567890".to_owned()),
        Just("0.1000".to_owned()),
        Just(r#""\u0041\/\ud83d\ude00""#.to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let member = (any::<String>(), inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec(member, 0..4).prop_map(|members| {
                let members: Vec<String> = members
                    .into_iter()
                    .map(|(key, value)| format!("{}:{value}", serde_json::to_string(&key).unwrap()))
                    .collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

/// Strings with what breaks lines elsewhere.
fn text() -> impl Strategy<Value = String> {
    let trouble = prop::sample::select(vec![
        "\u{2028}",
        "\u{2029}",
        "\u{85}",
        "\u{7f}",
        "\n",
        "\r\n",
        "\0",
        "\u{feff}",
        "😀",
        "\"",
        "\\",
        "}{",
        ",\"c\":\"00000000\"}",
    ]);
    prop::collection::vec(
        prop_oneof![any::<String>(), trouble.prop_map(str::to_owned)],
        0..5,
    )
    .prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn what_is_written_reads_as_what_was_read(
        which in 0..PAYLOADS.len(),
        text in text(),
        unknown in odd_json(),
    ) {
        let (event_type, payload) = PAYLOADS[which];
        let line = line(event_type, &with_text(payload, &text, &unknown), &unknown);
        let event = ChatEvent::from_json(&line).unwrap();
        prop_assert_eq!(event.problem(), None);
        let written = event.to_line();
        let breaks = |c: char| c < ' ' || matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}');
        prop_assert!(!written.contains(breaks), "{written}");
        let again = ChatEvent::from_json(&written).unwrap();
        prop_assert_eq!(again.to_line(), written);
        // Unknown text can be written with other escapes, and is else the same.
        let tree = |event: &ChatEvent| event.extra.get("x-envelope").map(|json| json.to_value());
        prop_assert_eq!(tree(&again), tree(&event));
        if !line.contains(breaks) {
            prop_assert_eq!(&again, &event);
            let kept = event.extra.get("x-envelope").unwrap();
            prop_assert_eq!(kept.as_text(), unknown);
        }
    }

    #[test]
    fn unknown_types_are_kept_word_for_word(name in "[a-z_]{1,12}", payload in odd_json()) {
        prop_assume!(!Payload::TYPES.contains(&name.as_str()) && payload != "null");
        let line = line(&name, &payload, "1.0");
        let event = ChatEvent::from_json(&line).unwrap();
        let Payload::Unknown { event_type, value } = &event.payload else {
            panic!("{event:?}");
        };
        prop_assert_eq!(event_type, &name);
        prop_assert_eq!(value.as_text(), payload);
    }

    #[test]
    fn a_payload_of_any_shape_is_kept_and_named(which in 0..PAYLOADS.len(), payload in odd_json()) {
        prop_assume!(payload != "null");
        let line = line(PAYLOADS[which].0, &payload, "1");
        let event = ChatEvent::from_json(&line).unwrap();
        if let Payload::Malformed { event_type, value, reason } = &event.payload {
            prop_assert_eq!(event_type, PAYLOADS[which].0);
            prop_assert_eq!(value.as_text(), &payload);
            prop_assert!(reason.starts_with("payload"), "{reason}");
        }
    }

    #[test]
    fn no_text_is_too_much(text in any::<String>()) {
        let _ = ChatEvent::from_json(&text);
        let _ = ChatEvent::from_json(&format!(r#"{{"type":"error","payload":{text}}}"#));
    }
}

#[test]
fn a_body_of_the_wrong_kind_is_named_by_what_it_should_be() {
    let line =
        r#"{"id":"e","timestamp":1,"sessionId":"s","type":"user_message","payload":{"text":5}}"#;
    let event = ChatEvent::from_json(line).unwrap();
    assert_eq!(
        event.problem().as_deref(),
        Some("payload.text: invalid type: integer `5`, expected a string or a body reference")
    );
}
