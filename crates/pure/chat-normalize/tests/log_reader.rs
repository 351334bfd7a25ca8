//! A log that is read without the rules of providers gives what it gives with them, and nothing else is taken for one.

use std::collections::BTreeSet;

use chat_event::{ChatEvent, Payload};
use chat_normalize::{
    AT_REST, Context, Detection, Dialect, Head, LogReader, SessionReader, detect,
};
use proptest::prelude::*;
use serde_json::Value;

const FIRST: &[u8] =
    br#"{"id":"e0","timestamp":1,"sessionId":"s 1","type":"user_message","turnId":"t1","payload":{"text":"Hi"}}"#;

/// Lines as logs have them, and as damage leaves them.
const LINES: &[&[u8]] = &[
    br#"{"id":"e1","timestamp":2,"sessionId":"s 1","type":"assistant_chunk","payload":{"text":"a"}}"#,
    br#"{"timestamp":2,"type":"assistant_chunk","payload":{"text":"no id, no session"}}"#,
    br#"{"seq":2,"id":"n2","timestamp":2,"sessionId":"s 1","type":"raw","payload":{}}"#,
    br#"{"seq":5,"id":"n5","timestamp":5,"sessionId":"s 1","type":"raw","payload":{}}"#,
    br#"{"seq":9,"id":"n9","timestamp":9,"sessionId":"other","type":"raw","payload":{}}"#,
    br#"{"type":"log_gap","payload":{"from":3,"to":4,"why":"lost"}}"#,
    br#"{"id":"e2","type":"of_tomorrow","sessionId":"other","payload":{"x":1}}"#,
    br#"{"id":"e3","type":"tool_call","payload":"of another shape"}"#,
    br#"{"id":"a","type":"raw","payload":{}}{"id":"b","type":"raw","payload":{}}"#,
    br#"{"id":"a","type":"raw","payload":{}}{"id":"b","ty"#,
    br#"{"id":"half \ud800 pair","type":"user_message","payload":{"text":"\udc00"}}"#,
    br#"[{"id":"i0","type":"raw","payload":{}},{"id":5,"type":"raw","payload":{}},7,{"id":"i3","type":"raw","payload":{}}]"#,
    br#"{"seq":6,"id":"e6","timestamp"{"seq":7,"id":"e7","timestamp":7,"sessionId":"s 1","type":"raw","payload":{}}"#,
    b"{\"id\":\"z\",\"type\":\"raw\",\"payload\":{}}{}\xff7{}",
    b"7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 {\"type\":\"raw\"} \xff",
    b"not JSON at all",
    b"[1,2]",
    b"{\"id\":\"\xff\",\"type\":\"raw\",\"payload\":{}}",
    b"broken \xff and not UTF-8",
    b"\0\0\0\0",
    b"data: {\"id\":\"of a stream\",\"type\":\"raw\",\"payload\":{}}",
    b"   ",
    b"",
    b"\r",
];

type Read = Result<Vec<ChatEvent>, String>;

fn with_the_rules(arrival_ms: i64, pieces: &[&[u8]]) -> Read {
    let mut reader = SessionReader::new(Context::default());
    let mut events = Vec::new();
    let mut result = Ok(());
    for piece in pieces {
        result = result.and(reader.push(piece, arrival_ms, &mut events));
    }
    result = result.and(reader.finish(arrival_ms, &mut events));
    result.map(|()| events).map_err(|why| why.to_string())
}

fn alone(session_id: &str, arrival_ms: i64, pieces: &[&[u8]]) -> Read {
    let mut reader = LogReader::new(session_id);
    let mut events = Vec::new();
    for piece in pieces {
        reader.push(piece, arrival_ms, &mut events);
    }
    reader.finish(arrival_ms, &mut events);
    Ok(events)
}

proptest! {
    #[test]
    fn a_log_gives_the_same_events_in_any_pieces(
        lines in prop::collection::vec(prop::sample::select(LINES), 0..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ended in any::<bool>(),
    ) {
        let mut all: Vec<&[u8]> = vec![FIRST];
        all.extend(lines);
        let mut bytes = all.join(&b'\n');
        bytes.extend(ended.then_some(b'\n'));
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        let pieces: Vec<&[u8]> = at.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect();
        if let Head::Log(session_id) = Head::of(&bytes) {
            for arrival_ms in [7, AT_REST] {
                let whole = with_the_rules(arrival_ms, &[&bytes]);
                prop_assert_eq!(alone(&session_id, arrival_ms, &pieces), whole);
            }
        } else {
            // A first line that never ends is all there is.
            prop_assert!(!bytes.contains(&b'\n'));
        }
    }

    #[test]
    fn what_is_called_a_log_is_one_for_the_rules(
        kind in prop::sample::select(Payload::TYPES),
        members in prop::collection::vec(
            prop::sample::select(&[
                r#""id":"e1""#, r#""timestamp":5"#, r#""timestamp":"2026-01-01T00:00:00Z""#,
                r#""sessionId":"s1""#, r#""session_id":"s2""#, r#""seq":1"#, r#""uuid":"u""#,
                r#""event_type":"agent.message""#, r#""method":"x""#, r#""jsonrpc":"2.0""#,
                r#""properties":{}"#, r#""turnId":"t""#, r#""payload":{"text":"x"}"#, r#""payload":{}"#,
                r#""payload":{"type":"x","session_id":"s3"}"#, r#""data":{}"#,
            ][..]),
            1..7,
        ),
    ) {
        let line = format!("{{\"type\":\"{kind}\",{}}}\n", members.join(","));
        if let Head::Log(session_id) = Head::of(line.as_bytes()) {
            prop_assert_eq!(detect(line.as_bytes(), true), Detection::Found(Dialect::ChatEvents));
            let pieces = [line.as_bytes()];
            prop_assert_eq!(alone(&session_id, 7, &pieces), with_the_rules(7, &pieces));
        }
    }

    #[test]
    fn what_is_a_log_or_not_stays_so_however_much_follows(more in prop::collection::vec(any::<u8>(), 0..200)) {
        let line = [FIRST, b"\n"].concat();
        for end in 0..line.len() {
            prop_assert_eq!(Head::of(&line[..end]), Head::Unsure);
        }
        let head = Head::of(&line);
        prop_assert!(matches!(head, Head::Log(_)));
        prop_assert_eq!(Head::of(&[&line[..], &more].concat()), head);
    }
}

#[test]
fn what_is_said_of_a_damaged_log_has_a_time_of_the_log() {
    let torn = [
        FIRST,
        b"{\"broken\": ",
        br#"{"id":"e9","timestamp":50,"sess"#,
    ]
    .join(&b'\n');
    for events in [
        alone("s 1", AT_REST, &[&torn]),
        with_the_rules(AT_REST, &[&torn]),
    ] {
        let times: Vec<_> = events
            .unwrap()
            .iter()
            .map(|event| event.timestamp)
            .collect();
        assert_eq!(times, [Some(1); 3]);
    }
    let (first, later) = torn.split_at(FIRST.len() + 4);
    let mut reader = LogReader::new("s 1");
    let mut events = Vec::new();
    reader.push(first, 70, &mut events);
    reader.push(later, 80, &mut events);
    reader.finish(90, &mut events);
    let times: Vec<_> = events.iter().map(|event| event.timestamp).collect();
    assert_eq!(
        times,
        [Some(1), Some(80), Some(90)],
        "a stream has its arrivals"
    );
}

#[test]
fn what_lies_at_rest_has_no_time_of_its_reading() {
    let read = |lines: &[&str]| {
        let mut reader = SessionReader::new(Context::default());
        let mut events = Vec::new();
        reader
            .push(lines.join("\n").as_bytes(), AT_REST, &mut events)
            .unwrap();
        reader.finish(AT_REST, &mut events).unwrap();
        assert!(events.len() > 3, "{events:?}");
        events
    };
    let untimed = read(&[
        r#"{"type":"thread.started","thread_id":"t-1"}"#,
        r#"{"type":"turn.started"}"#,
        r#"{"type":"item.completed","item":{"id":"i1","type":"agent_message","text":"Hi"}}"#,
    ]);
    assert!(untimed.iter().all(|event| event.timestamp.is_none()));
    let timed = read(&[
        r#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"t-1","cwd":"/w"}}"#,
        r#"{"timestamp":"2026-01-01T00:00:09Z","type":"event_msg","payload":{"type":"user_message","message":"Hi"}}"#,
        r#"{"timestamp":"2026-01-01T00:01:00Z","type":"event_m"#,
    ]);
    let last = timed.last().unwrap();
    assert_eq!(last.timestamp, Some(1_767_225_609_000), "{timed:?}");
}

#[test]
fn what_is_missing_in_a_log_is_marked_where_it_is() {
    let line = |seq: u64, rest: &str| {
        format!(
            r#"{{"seq":{seq},"id":"e{seq}","timestamp":{seq},"sessionId":"s 1","type":"assistant_done","payload":{{"text":"x"{rest}}}}}"#
        )
    };
    let gap = r#"{"type":"log_gap","timestamp":1,"sessionId":"s 1","payload":{"from":9,"to":11,"why":"disk"}}"#;
    let lines = [
        // A later part of a session.
        line(3, ""),
        line(4, ""),
        line(7, ""),
        // A step back, and what it left.
        line(5, ""),
        line(8, ""),
        gap.to_owned(),
        line(12, ""),
        // It stands for what was folded into it.
        line(
            15,
            r#","timing":[[0,1],[1,0],[2,0]],"span":[13,15],"ids":[["e",13,14]]"#,
        ),
        line(17, ""),
    ];
    let log = lines.join("\n");
    for events in [
        alone("s 1", AT_REST, &[log.as_bytes()]),
        with_the_rules(AT_REST, &[log.as_bytes()]),
    ] {
        let events = events.unwrap();
        let gaps = events.iter().filter_map(|event| match &event.payload {
            Payload::LogGap(gap) => Some((event.id.as_str(), gap.from, gap.to)),
            _ => None,
        });
        let gaps: Vec<_> = gaps.collect();
        assert_eq!(gaps, [("gap-5", 5, 6), ("", 9, 11), ("gap-16", 16, 16)]);
    }
}

/// The places that could not be read, by the lines they are of.
fn unread(events: &[ChatEvent]) -> Vec<u64> {
    let notices = events.iter().filter_map(|event| match &event.payload {
        Payload::Notice(notice) if notice.text.contains(" could not be read: ") => notice.line,
        _ => None,
    });
    notices.collect()
}

/// Holds what was read of a log against its entry of `expected.json`, as far as it is for a reader: what stands twice is
/// left to the merging, and whether an end is repaired to who appends.
fn check_expected(name: &str, events: &[ChatEvent], expected: &Value) {
    let is_said =
        |event: &&ChatEvent| !matches!(event.payload, Payload::Notice(_) | Payload::LogGap(_));
    let ids: BTreeSet<&str> = events
        .iter()
        .filter(is_said)
        .map(|event| event.id.as_str())
        .collect();
    let n_events = &expected["events"];
    let wanted = match n_events.as_u64() {
        Some(exact) => exact..=exact,
        None => n_events[0].as_u64().unwrap()..=n_events[1].as_u64().unwrap(),
    };
    assert!(
        wanted.contains(&(ids.len() as u64)),
        "{name}: {n_events} events: {ids:?}"
    );
    let unread = unread(events);
    if let Some(n_unread) = expected["quarantined"].as_u64() {
        // Zeros at the end are repaired by who appends; who reads tells of them.
        let n_unread = n_unread + u64::from(expected["repaired"] == "NUL run cut");
        assert_eq!(unread.len() as u64, n_unread, "{name}: {events:?}");
    }
    let gaps = events.iter().filter_map(|event| match &event.payload {
        Payload::LogGap(gap) => Some((gap.from, gap.to)),
        _ => None,
    });
    match &expected["gap"] {
        Value::Null => {}
        Value::String(_) => assert_eq!(unread, [2], "{name}"),
        span => {
            let gaps: Vec<(u64, u64)> = gaps.collect();
            let [(from, to)] = gaps[..] else {
                panic!("{name}: {gaps:?}");
            };
            assert!(
                span[0].as_u64() <= Some(from) && Some(to) <= span[1].as_u64(),
                "{name}: {gaps:?}"
            );
        }
    }
    match name {
        "torn-then-appended.jsonl" => {
            assert!(ids.contains("e7") && ids.contains("e8"), "{ids:?}");
            assert_eq!(unread, [6]);
        }
        "interleaved-writers.jsonl" => assert!(ids.contains("e2") && ids.contains("e3"), "{ids:?}"),
        "lone-cr.jsonl" => assert_eq!(ids.len(), 5),
        _ => {}
    }
}

#[test]
fn damaged_logs_give_what_is_expected_of_them() {
    let Some(folder) = crate::support::shared("corpora/own/jsonl-files") else {
        return;
    };
    let expected: Value =
        serde_json::from_slice(&std::fs::read(folder.join("expected.json")).unwrap()).unwrap();
    let mut n_logs = 0;
    for (name, expected) in expected.as_object().unwrap() {
        if name.ends_with(".gen") {
            continue;
        }
        let bytes = std::fs::read(folder.join(name)).unwrap();
        if !expected["error"].is_null() {
            assert!(with_the_rules(AT_REST, &[&bytes]).is_err(), "{name}");
            continue;
        }
        let mut reader = SessionReader::with_dialect(Context::default(), Dialect::ChatEvents);
        let mut events = Vec::new();
        reader.push(&bytes, AT_REST, &mut events).unwrap();
        reader.finish(AT_REST, &mut events).unwrap();
        check_expected(name, &events, expected);
        // A line may be long; pieces of one byte are for those that are not.
        for size in [if bytes.len() < 10_000 { 1 } else { 997 }, 31, 65_536] {
            let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
            if let Head::Log(session_id) = Head::of(&bytes) {
                n_logs += 1;
                assert_eq!(
                    alone(&session_id, AT_REST, &pieces).unwrap(),
                    events,
                    "{name}"
                );
                assert_eq!(with_the_rules(AT_REST, &pieces).unwrap(), events, "{name}");
            }
        }
    }
    assert!(n_logs > 60, "{n_logs}");
}
