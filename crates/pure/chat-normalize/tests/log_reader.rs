//! A log that is read without the rules of providers gives what it gives with them, and nothing else is taken for one.
#![allow(
    clippy::unwrap_used,
    reason = "a promise that is not kept fails its test"
)]

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Detection, Dialect, Head, LogReader, SessionReader, detect};
use proptest::prelude::*;

const FIRST: &[u8] =
    br#"{"id":"e0","timestamp":1,"sessionId":"s 1","type":"user_message","turnId":"t1","payload":{"text":"Hi"}}"#;

/// Lines as logs have them, and as damage leaves them.
const LINES: &[&[u8]] = &[
    br#"{"id":"e1","timestamp":2,"sessionId":"s 1","type":"assistant_chunk","payload":{"text":"a"}}"#,
    br#"{"timestamp":2,"type":"assistant_chunk","payload":{"text":"no id, no session"}}"#,
    br#"{"type":"log_gap","payload":{"from":3,"to":4,"why":"lost"}}"#,
    br#"{"id":"e2","type":"of_tomorrow","sessionId":"other","payload":{"x":1}}"#,
    br#"{"id":"e3","type":"tool_call","payload":"of another shape"}"#,
    br#"{"id":"a","type":"raw","payload":{}}{"id":"b","type":"raw","payload":{}}"#,
    br#"{"id":"a","type":"raw","payload":{}}{"id":"b","ty"#,
    br#"{"id":"half \ud800 pair","type":"user_message","payload":{"text":"\udc00"}}"#,
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

fn with_the_rules(pieces: &[&[u8]]) -> Read {
    let mut reader = SessionReader::new(Context::default());
    let mut events = Vec::new();
    let mut result = Ok(());
    for piece in pieces {
        result = result.and(reader.push(piece, 7, &mut events));
    }
    result = result.and(reader.finish(7, &mut events));
    result.map(|()| events).map_err(|why| why.to_string())
}

fn alone(session_id: &str, pieces: &[&[u8]]) -> Read {
    let mut reader = LogReader::new(session_id);
    let mut events = Vec::new();
    for piece in pieces {
        reader.push(piece, 7, &mut events);
    }
    reader.finish(7, &mut events);
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
            prop_assert_eq!(alone(&session_id, &pieces), with_the_rules(&[&bytes]));
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
            prop_assert_eq!(alone(&session_id, &[line.as_bytes()]), with_the_rules(&[line.as_bytes()]));
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
