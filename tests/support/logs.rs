//! What is promised of damaged logs, for the host's tests and the browser's alike: inputs and expectations come in as
//! arguments.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a promise that is not kept fails its test"
)]

use chat_event::Payload;
use chat_event::jsonl::{LogReader, ReadReport, Record, Tail, UnreadableKind};
use serde_json::Value;

/// Holds a log against its entry of `expected.json`, read whole, byte by byte and in pieces.
pub(crate) fn check(name: &str, bytes: &[u8], expected: &Value) {
    let (records, report) = read(bytes, &mut |rest| rest);
    for (how, size) in [
        (
            "byte by byte",
            &mut (|_| 1usize) as &mut dyn FnMut(usize) -> usize,
        ),
        ("in random pieces", &mut random_sizes(bytes.len() as u64)),
        ("in large pieces", &mut (|_| 65_536)),
    ] {
        let again = read(bytes, size);
        assert_eq!(again.1, report, "{name} {how}: the report");
        assert!(again.0 == records, "{name} {how}: the records");
    }
    check_sums(name, &records, &report, bytes.len() as u64);
    check_expected(name, &records, &report, expected);
    check_more(name, &records, &report);
}

/// The bytes that a recipe (`*.gen`) stands for.
pub(crate) fn build(recipe: &Value) -> Vec<u8> {
    let recipe = recipe["repeat"].as_str().unwrap();
    let (field, times) = recipe.split_once(" = ").unwrap();
    let (text, times) = times.split_once(" x ").unwrap();
    assert_eq!(field, "payload.text");
    let text = text.trim_matches('"').repeat(times.parse().unwrap());
    let event = format!(
        r#"{{"seq":1,"id":"e1","timestamp":1703001234001,"sessionId":"s1","type":"user_message","payload":{{"text":"{text}"}}}}"#
    );
    (event + "\n").into_bytes()
}

/// Reads a log in pieces of the sizes that `size` says, given how many bytes are left.
pub(crate) fn read(
    mut bytes: &[u8],
    size: &mut dyn FnMut(usize) -> usize,
) -> (Vec<Record>, ReadReport) {
    let mut records = Vec::new();
    let mut reader = LogReader::new();
    while !bytes.is_empty() {
        let (piece, rest) = bytes.split_at(size(bytes.len()).min(bytes.len()));
        reader.push(piece, &mut |record| records.push(record));
        bytes = rest;
    }
    reader.finish(&mut |record| records.push(record));
    (records, reader.report().clone())
}

/// Sizes that look random and are the same in every run.
fn random_sizes(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % 97
    }
}

/// What holds of every report.
fn check_sums(name: &str, records: &[Record], report: &ReadReport, n_bytes: u64) {
    let n_events = records.iter().filter(|it| it.content.is_ok()).count() as u64;
    let n_conflicts = refused(records, UnreadableKind::Conflict);
    assert_eq!(report.events, n_events, "{name}");
    assert_eq!(report.conflicts, n_conflicts, "{name}");
    assert_eq!(
        report.unreadable,
        records.len() as u64 - n_events - n_conflicts,
        "{name}"
    );
    assert_eq!(report.bytes, n_bytes, "{name}");
    for record in records {
        assert!(
            (1..=report.lines).contains(&record.line),
            "{name}: {record:?}"
        );
        assert!(record.range.start < record.range.end, "{name}: {record:?}");
        assert!(record.range.end <= n_bytes, "{name}: {record:?}");
        match &record.content {
            Ok(event) => assert!(!event.id.is_empty(), "{name}: {record:?}"),
            Err(unreadable) => {
                assert!(!unreadable.reason.is_empty(), "{name}: {record:?}");
                assert!(unreadable.text.len() <= 4096, "{name}: {record:?}");
            }
        }
    }
}

fn check_expected(name: &str, records: &[Record], report: &ReadReport, expected: &Value) {
    let n_events = &expected["events"];
    let (least, most) = match n_events.as_u64() {
        Some(exact) => (exact, exact),
        None => (n_events[0].as_u64().unwrap(), n_events[1].as_u64().unwrap()),
    };
    assert!(
        (least..=most).contains(&report.events),
        "{name}: {n_events} events expected: {report:?}"
    );
    if let Some(n_unreadable) = expected["quarantined"].as_u64() {
        assert_eq!(report.unreadable, n_unreadable, "{name}: {records:?}");
    }
    match &expected["repaired"] {
        Value::Null => {}
        Value::String(how) if how.starts_with("newline appended") => {
            assert_eq!(report.tail, Tail::NoNewline, "{name}");
        }
        Value::String(how) if how == "tail moved aside" => {
            assert!(
                matches!(report.tail, Tail::CutOff(_)),
                "{name}: {:?}",
                report.tail
            );
            let last = records.last().unwrap().content.as_ref().unwrap_err();
            assert_eq!(last.reason, "the last line is cut off", "{name}");
        }
        Value::String(how) if how == "NUL run cut" => {
            assert!(
                matches!(report.tail, Tail::Zeros(_)),
                "{name}: {:?}",
                report.tail
            );
        }
        Value::Number(_) => assert_eq!(report.tail, Tail::Clean, "{name}"),
        other => panic!("{name}: no rule for {other}"),
    }
    match &expected["gap"] {
        Value::Null => {}
        // Where the mark is shown is where the record stands.
        Value::String(_) => assert!(
            records.iter().any(|it| it.line == 2 && it.content.is_err()),
            "{name}"
        ),
        span => {
            let (from, to) = (span[0].as_u64().unwrap(), span[1].as_u64().unwrap());
            assert_eq!(report.n_gaps, 1, "{name}");
            assert!(
                from <= report.gaps[0].from && report.gaps[0].to <= to,
                "{name}: {report:?}"
            );
        }
    }
    if !expected["error"].is_null() {
        assert_eq!(refused(records, UnreadableKind::Foreign), 1, "{name}");
        assert_eq!(records.len(), 1, "{name}");
    }
}

/// What `expected.json` leaves open or says in its notes.
fn check_more(name: &str, records: &[Record], report: &ReadReport) {
    let texts: Vec<String> = records
        .iter()
        .filter_map(|record| match &record.content {
            Ok(event) => match &event.payload {
                Payload::UserMessage(message) => Some(message.text.preview().to_string()),
                _ => None,
            },
            Err(_) => None,
        })
        .collect();
    match name {
        "lone-cr.jsonl" => assert_eq!(report.events, 5),
        "torn-then-appended.jsonl" => {
            assert_eq!(report.events, 7);
            assert_eq!(report.mended, 1);
            assert_eq!((report.gaps[0].from, report.gaps[0].to), (6, 6));
        }
        "interleaved-writers.jsonl" => assert_eq!(report.events, 2),
        "lone-surrogate.jsonl" => {
            assert_eq!(texts, ["\u{fffd} x"]);
            assert!(records[0].flaws.lone_surrogate);
        }
        "invalid-utf8-inside.jsonl" => {
            assert_eq!(texts, ["\u{fffd}\u{fffd}\u{fffd}("]);
            assert!(records[0].flaws.not_utf8);
        }
        "u2028.jsonl" => assert_eq!(texts, ["a\u{2028}b\u{2029}c\u{85}d\u{b}e"]),
        "dup-ids.jsonl" => assert_eq!(report.duplicates, 1),
        "dup-id-different-body.jsonl" => {
            assert_eq!((report.conflicts, report.unreadable), (1, 0));
            assert!(records[0].content.is_ok());
        }
        "seq-backwards.jsonl" => {
            assert_eq!((report.backwards, report.n_gaps), (1, 0));
            assert_eq!(seqs(records), [Some(4), Some(1)]);
        }
        "big-numbers.jsonl" => assert_eq!(seqs(records), [Some(9_007_199_254_740_993)]),
        "depth-100k.jsonl" => {
            assert_eq!(refused(records, UnreadableKind::TooDeep), 1);
        }
        "nul-middle.jsonl" => assert_eq!(refused(records, UnreadableKind::Zeros), 1),
        "utf16le.jsonl" => assert!(reason(records).contains("UTF-16")),
        "gzip-magic.jsonl" => assert!(reason(records).contains("gzip")),
        _ => {}
    }
}

fn refused(records: &[Record], kind: UnreadableKind) -> u64 {
    let is_kind =
        |record: &&Record| matches!(&record.content, Err(unreadable) if unreadable.kind == kind);
    records.iter().filter(is_kind).count() as u64
}

fn reason(records: &[Record]) -> &str {
    &records[0].content.as_ref().unwrap_err().reason
}

fn seqs(records: &[Record]) -> Vec<Option<u64>> {
    records
        .iter()
        .filter_map(|record| record.content.as_ref().ok())
        .map(|event| event.seq)
        .collect()
}
