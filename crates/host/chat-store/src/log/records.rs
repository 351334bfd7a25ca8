//! The records in a line of a log, whatever became of the line: nearly always it is one, but a newline may be lost, and what
//! was never written or belongs elsewhere may stand before it.
//!
//! They are found as a reader of foreign files finds them (`chat_event::jsonl::salvage`), and held to more: every record of
//! ours bears its checksum.

use std::ops::Range;

use chat_event::jsonl::{UnreadableKind, salvage};

use super::lines::checksum_holds;

/// What stands in a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InLine {
    /// The places of the records, in order.
    pub(super) records: Vec<Range<usize>>,
    /// Where that begins which no record follows, where there is such a thing.
    pub(super) unread_from: Option<usize>,
}

/// The places of the records in a line of the session's log.
pub(super) fn places(line: &[u8], session: &str) -> impl Iterator<Item = Range<usize>> + use<> {
    // Nearly all lines are one record, and cost nothing more.
    let whole = checksum_holds(line).then_some(0..line.len());
    let pieces = match whole {
        Some(_) => Vec::new(),
        None => salvaged(line, session).records,
    };
    whole.into_iter().chain(pieces)
}

/// What stands in a line whose checksum is not right.
pub(super) fn salvaged(line: &[u8], session: &str) -> InLine {
    // A byte that is no text becomes one that is, so that places stay what they are. The checksum is of the bytes.
    let mut text = String::with_capacity(line.len());
    for chunk in line.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '?'));
    }
    let mut pieces: Vec<(Range<usize>, bool)> = Vec::new();
    let mut take = |within: Range<usize>, piece: Result<_, UnreadableKind>| {
        let is_ours = piece.is_ok_and(|event: chat_event::ChatEvent| event.session_id == session);
        let is_record = is_ours && line.get(within.clone()).is_some_and(checksum_holds);
        pieces.push((within, is_record));
    };
    salvage(&text, &mut take);
    let mut records = Vec::new();
    let mut is_behind_damage = false;
    for (at, (within, is_record)) in pieces.iter().enumerate() {
        let follows = match pieces.get(at + 1) {
            None => text[within.end..].trim_ascii_end().is_empty(),
            Some((next, is_record)) => *is_record && next.start == within.end,
        };
        // What an agent sent may hold all that a record of ours has. But only a record of ours is followed by nothing or by
        // another: what stands within one is followed by its end.
        if *is_record && (!is_behind_damage || follows) {
            records.push(within.clone());
        } else {
            is_behind_damage = true;
        }
    }
    let read_to = records.last().map_or(0, |last| last.end);
    let is_unread = pieces.iter().any(|(within, _)| within.start >= read_to);
    InLine {
        unread_from: (is_unread || records.is_empty()).then_some(read_to),
        records,
    }
}

#[cfg(test)]
mod tests {
    use chat_event::payload::ToolResult;
    use chat_event::{ChatEvent, Payload};

    use super::*;

    fn record(seq: u64, payload: impl Into<Payload>) -> String {
        let mut event = ChatEvent::new(format!("e{seq}"), 1, "s1", payload);
        event.seq = Some(seq);
        event.to_line_with_checksum()
    }

    fn result(of: serde_json::Value) -> ToolResult {
        ToolResult {
            tool_call_id: "t".to_owned(),
            result: of.into(),
            ..ToolResult::default()
        }
    }

    fn found(line: &str) -> Vec<&str> {
        let found = places(line.as_bytes(), "s1");
        found.map(|within| &line[within]).collect()
    }

    #[test]
    fn records_are_found_where_a_newline_is_lost_and_behind_what_is_none() {
        let [a, b] = [1, 2].map(|seq| record(seq, result("\u{e9}".into())));
        assert_eq!(found(&a), [&a]);
        assert_eq!(found(&format!("{a}{b}")), [&a, &b]);
        assert_eq!(found(&format!("{a}\0\0\0{b}")), [&a, &b]);
        assert_eq!(found(&format!("{a}{{\"seq\":7,\"j{b}")), [&a, &b]);
        assert_eq!(found(&format!("{}{b}", &a[..a.len() / 2])), [&b]);
        assert_eq!(found(&format!("{a}{}", &b[..b.len() - 1])), [&a]);
        let line = [b"\xff\xfe", a.as_bytes()].concat();
        let mut found = places(&line, "s1");
        assert_eq!(found.next(), Some(2..line.len()));
        assert_eq!(found.next(), None);
    }

    #[test]
    fn what_is_wrong_or_anothers_or_stands_within_a_record_is_none() {
        let a = record(1, result("x".into()));
        assert!(found(&a.replace("\"x\"", "\"y\"")).is_empty());
        assert!(places(format!(" {a}").as_bytes(), "s2").next().is_none());
        let within: serde_json::Value = serde_json::from_str(&a).unwrap();
        let outer = record(2, result(within));
        assert!(outer.contains(&a), "{outer}");
        // The beginning of the outer one is lost.
        assert!(found(&outer[20..]).is_empty());
        assert!(found(&format!("{}\0\0", &outer[20..])).is_empty());
    }

    #[test]
    fn what_no_record_follows_is_told() {
        let a = record(1, result("x".into()));
        let unread = |line: &str| salvaged(line.as_bytes(), "s1").unread_from;
        assert_eq!(unread(&format!("{a}{{\"se")), Some(a.len()));
        assert_eq!(unread(&format!("{a}{a}")), None);
        assert_eq!(unread(&format!("{{\"se{a}")), None);
        assert_eq!(unread("{\"se"), Some(0));
        assert_eq!(unread("\0\0"), Some(0));
    }
}
