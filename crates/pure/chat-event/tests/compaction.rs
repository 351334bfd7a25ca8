//! The laws of compaction, held over made-up logs: what was folded is taken apart into what there was, a log is folded once
//! and for all, lines that nothing is folded into stay what they are, and what does not go together is left alone.

use chat_event::ChatEvent;
use chat_event::compaction::{Compactor, Folded, Out};
use chat_event::jsonl::LogReader;
use proptest::prelude::*;
use serde_json::{Value, json};

fn compact(log: &[String]) -> Vec<String> {
    let mut compacted = Vec::new();
    let mut compactor = Compactor::new();
    let mut write = |out| {
        compacted.push(match out {
            Out::AsItWas(line) => String::clone(line),
            Out::Folded(event) if event.extra.get("c").is_some() => event.to_line_with_checksum(),
            Out::Folded(event) => event.to_line(),
        });
    };
    for line in log {
        compactor.push(line, ChatEvent::from_json(line).ok(), &mut write);
    }
    compactor.finish(&mut write);
    compacted
}

/// The lines taken apart, without what tells of lines and not of events.
fn unfolded(log: &[String]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut take = |mut event: ChatEvent| {
        event.recv = None;
        event.extra.remove("c");
        lines.push(event.to_line());
    };
    for line in log {
        match ChatEvent::from_json(line) {
            Ok(event) => match Folded::of(&event) {
                Some(folded) => folded.events().for_each(&mut take),
                None => take(event),
            },
            Err(_) => panic!("{line}"),
        }
    }
    lines
}

/// What may stand in a log, one after the other; what makes chunks go together or not changes now and then.
fn log(numbered: bool) -> impl Strategy<Value = Vec<String>> {
    let text = prop_oneof![
        Just(String::new()),
        "[a-cä€😀\n\u{2028}]{1,4}",
        Just("ab".to_owned())
    ];
    // What, its text, the time since the one before, and a roll that says whether anything is out of the ordinary.
    let step = (0u8..14, text, -3i64..200, 0u8..40);
    proptest::collection::vec(step, 0..60).prop_map(move |steps| {
        let mut lines = Vec::new();
        let mut said = String::new();
        let mut at_ms = 1_703_001_234_000i64;
        let mut chars = 0;
        let mut nth_index = 0;
        for (nth, (what, text, passed_ms, odd)) in steps.into_iter().enumerate() {
            at_ms += passed_ms;
            let kind = match what {
                0..=6 => "chunk",
                7 => "done",
                8 => "thinking",
                9 => "printed",
                10 => "result",
                11 => "input",
                12 => "other",
                _ => "indexed",
            };
            let (event_type, payload) = match kind {
                "chunk" => {
                    said.push_str(&text);
                    ("assistant_chunk", json!({"text": text}))
                }
                "done" => {
                    let mut text = std::mem::take(&mut said);
                    if odd % 4 == 0 {
                        text.push('!');
                    }
                    ("assistant_done", json!({"text": text}))
                }
                "thinking" => ("thinking_chunk", json!({"text": text, "part": 0})),
                "printed" => {
                    said.push_str(&text);
                    ("tool_output_chunk", json!({"toolCallId": "c1", "chunk": text, "stream": "stdout"}))
                }
                "result" => ("tool_result", json!({"toolCallId": "c1", "result": std::mem::take(&mut said), "exitCode": 0})),
                "input" => {
                    let at = chars;
                    chars += text.chars().count();
                    ("tool_input_chunk", json!({"toolCallId": "c2", "toolName": "Bash", "chunk": text, "offset": at}))
                }
                "indexed" => {
                    nth_index += 1;
                    ("assistant_chunk", json!({"text": text, "part": 3, "index": nth_index}))
                }
                _ => ("agent_dance", json!({"steps": [1.0, 2e5]})),
            };
            let mut event = json!({
                "id": format!("m:{nth}"), "timestamp": at_ms, "sessionId": "s1", "type": event_type,
                "turnId": "t1", "responseId": "r1", "payload": payload,
            });
            let mut number = nth as u64 + 1;
            match odd {
                1 => event["responseId"] = "r2".into(),
                2 => event["payload"]["mood"] = "good".into(),
                3 => event["weather"] = json!({"wind": 3}),
                4 => event["id"] = format!("x{}", nth % 3).into(),
                5 => event["timestamp"] = Value::Null,
                6 => number += 1,
                7 => event["id"] = format!("srv:{nth:x}é").into(),
                _ => {}
            }
            let mut event = ChatEvent::from_json(&event.to_string()).unwrap();
            if numbered {
                event.seq = Some(number);
                event.recv = Some(at_ms + 5);
                lines.push(event.to_line_with_checksum());
            } else {
                lines.push(event.to_line());
            }
        }
        lines
    })
}

fn logs() -> impl Strategy<Value = Vec<String>> {
    prop_oneof![log(false), log(true)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn what_was_folded_is_taken_apart_into_what_there_was(log in logs()) {
        let compacted = compact(&log);
        prop_assert_eq!(unfolded(&compacted), unfolded(&log));
        prop_assert!(compacted.len() <= log.len());
        // What was not folded is the same to the byte, and in its place.
        let mut old = log.iter();
        for line in &compacted {
            let event = ChatEvent::from_json(line).unwrap();
            match Folded::of(&event) {
                Some(folded) => {
                    let last = old.nth(folded.n_events() - 1).unwrap();
                    let last = ChatEvent::from_json(last).unwrap();
                    prop_assert_eq!((&event.id, event.seq, event.recv), (&last.id, last.seq, last.recv));
                }
                None => prop_assert_eq!(Some(line), old.next()),
            }
        }
    }

    #[test]
    fn a_log_is_folded_once_and_for_all(log in logs()) {
        let once = compact(&log);
        prop_assert_eq!(compact(&once), once);
    }

    #[test]
    fn each_event_is_found_by_its_id(log in log(true)) {
        let compacted = compact(&log);
        let all = unfolded(&log);
        let mut nth = 0;
        for line in &compacted {
            let event = ChatEvent::from_json(line).unwrap();
            let Some(folded) = Folded::of(&event) else {
                nth += 1;
                continue;
            };
            let ids: Vec<String> = folded.ids().collect();
            prop_assert_eq!(ids.len() + 1, folded.n_events());
            for id in ids.iter().chain([&event.id]) {
                let mut found = folded.event_of_id(id).unwrap();
                found.recv = None;
                // Of two with one id, the first.
                let first = all[nth..].iter().find(|line| ChatEvent::from_json(line).unwrap().id == *id);
                if ids.iter().filter(|other| *other == id).count() <= 1 && *id != event.id {
                    prop_assert_eq!(Some(&found.to_line()), first);
                }
            }
            nth += folded.n_events();
        }
    }

    #[test]
    fn no_number_is_missing(log in log(true)) {
        let report = |lines: &[String]| {
            let mut reader = LogReader::new();
            for line in lines {
                reader.push(format!("{line}\n").as_bytes(), &mut |_| {});
            }
            let report = reader.report();
            (report.n_gaps, report.gaps.iter().map(|gap| (gap.from, gap.to)).collect::<Vec<_>>())
        };
        prop_assume!(log.iter().map(|line| ChatEvent::from_json(line).unwrap().id).collect::<std::collections::BTreeSet<_>>().len() == log.len());
        prop_assert_eq!(report(&compact(&log)), report(&log));
    }

    #[test]
    fn what_does_not_go_together_is_no_survivor(
        timing in proptest::collection::vec((any::<i64>(), prop_oneof![0u64..9, any::<u64>()]), 0..6),
        span in prop_oneof![Just(None), (any::<u64>(), any::<u64>()).prop_map(Some), Just(Some((1, 3)))],
        ids in "(null|\\[\\]|\\[\"a\",\"b\"\\]|\\[\\[\"e\",0,18446744073709551615\\]\\]|7)",
        is_chunk in any::<bool>(),
    ) {
        let ids: Value = serde_json::from_str(&ids).unwrap();
        let payload = json!({"text": "añ😀c", "timing": timing, "span": span, "ids": ids});
        let event_type = if is_chunk { "assistant_chunk" } else { "assistant_done" };
        let line = json!({"seq": 3, "id": "d", "timestamp": 5, "sessionId": "s", "type": event_type, "payload": payload});
        let event = ChatEvent::from_json(&line.to_string()).unwrap();
        if let Some(folded) = Folded::of(&event) {
            let n = folded.events().count();
            prop_assert_eq!(n, folded.n_events());
            prop_assert!(n <= timing.len() + 1);
            prop_assert_eq!(folded.span(), Some((4 - n as u64, 3)));
        }
    }
}

#[test]
fn a_long_run_is_cut_where_a_reader_takes_it_and_folded_once() {
    let mut log: Vec<String> = Vec::new();
    for nth in 0..70_000 {
        let line = json!({"seq": nth + 1, "id": format!("m:{nth}"), "timestamp": nth * 3, "sessionId": "s1",
            "type": "thinking_chunk", "payload": {"text": "words, and a few more of them "}});
        log.push(ChatEvent::from_json(&line.to_string()).unwrap().to_line());
    }
    let compacted = compact(&log);
    assert!(compacted.len() < 40, "{} lines", compacted.len());
    assert!(compacted.iter().all(|line| line.len() < 256 * 1024));
    assert_eq!(unfolded(&compacted), log);
    assert_eq!(compact(&compacted), compacted);
}
