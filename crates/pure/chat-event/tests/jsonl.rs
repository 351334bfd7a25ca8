//! Laws of reading logs: pieces do not matter, damage costs what is damaged, what is written is read.

use chat_event::ChatEvent;
use chat_event::jsonl::{
    LineContent, LineSplitter, LogReader, ReadReport, Record, Tail, UnreadableKind,
};
use chat_event::payload::{UserMessage, *};
use proptest::prelude::*;

fn read(pieces: &[&[u8]]) -> (Vec<Record>, ReadReport) {
    let mut records = Vec::new();
    let mut reader = LogReader::new();
    for piece in pieces {
        reader.push(piece, &mut |record| records.push(record));
    }
    reader.finish(&mut |record| records.push(record));
    (records, reader.report().clone())
}

fn events(records: &[Record]) -> Vec<&ChatEvent> {
    records
        .iter()
        .filter_map(|record| record.content.as_ref().ok())
        .collect()
}

/// `bytes` cut at the places that `cuts` give.
fn pieces<'a>(bytes: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    ends.sort_unstable();
    ends.push(bytes.len());
    let mut start = 0;
    ends.into_iter()
        .map(|end| &bytes[std::mem::replace(&mut start, end)..end])
        .collect()
}

fn message(seq: u64, text: &str) -> ChatEvent {
    let payload = UserMessage {
        text: text.into(),
        ..UserMessage::default()
    };
    let mut event = ChatEvent::new(format!("e{seq}"), 1_703_001_234_567, "s1", payload);
    event.seq = Some(seq);
    event.recv = Some(1_703_001_234_570);
    event
}

/// Bytes that are nearly a log.
fn nearly_a_log() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        4 => (0u64..9, ".{0,4}").prop_map(|(seq, text)| message(seq, &text).to_line().into_bytes()),
        4 => (0u64..9, ".{0,4}")
            .prop_map(|(seq, text)| message(seq, &text).to_line_with_checksum().into_bytes()),
        6 => Just(b"\n".to_vec()),
        3 => prop::sample::select(vec![
            &b"\r\n"[..], b"\r", b"\0", b"\0\0\0\0", b"\xef\xbb\xbf", b"\xff", b"\xe2\x82", b" ", b"{", b"}", b"{\"",
            b"\"", b"[", b"{\"a\":", b"\\ud83d", b"null", b"{\"type\":\"error\"}", b"{\"id\":\"\\ud83d\",\"type\":\"x\"}",
        ]).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ];
    let cut = (part, any::<prop::sample::Index>(), 0..4).prop_map(|(mut bytes, at, whole)| {
        if whole == 0 {
            bytes.truncate(at.index(bytes.len() + 1));
        }
        bytes
    });
    prop::collection::vec(cut, 0..24).prop_map(|parts| parts.concat())
}

/// Number, start, end, what is kept, whether it was ended.
type PlainLine = (u64, usize, usize, Option<Vec<u8>>, bool);

/// The lines of `bytes`, the plain way.
fn plain_lines(bytes: &[u8], limit: usize) -> Vec<PlainLine> {
    let mut lines = Vec::new();
    let mut start = 0;
    for (n_before, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let end = start + line.len();
        let ended = end < bytes.len();
        let zeros = line.iter().take_while(|&&byte| byte == 0).count();
        let too_long = line.len() - zeros > limit;
        let mut content = &line[zeros..];
        content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
        while let Some(rest) = content.strip_prefix(b"\0") {
            content = rest;
        }
        for strip_return in [true, false] {
            while let Some(rest) = content.strip_suffix(b"\0") {
                content = rest;
            }
            if strip_return {
                match content.strip_suffix(b"\r") {
                    Some(rest) => content = rest,
                    None => break,
                }
            }
        }
        let blank = content.iter().all(u8::is_ascii_whitespace);
        let zeros_only = content.is_empty() && line.contains(&0);
        if too_long || !blank || zeros_only {
            let kept = (!too_long).then(|| content.to_vec());
            lines.push((n_before as u64 + 1, start, end, kept, ended));
        }
        start = end + 1;
    }
    lines
}

proptest! {
    #[test]
    fn lines_are_what_the_plain_way_gives(
        bytes in nearly_a_log(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        limit in 1usize..300,
    ) {
        let mut lines = Vec::new();
        let mut splitter = LineSplitter::with_limit(limit);
        let mut on_line = |line: chat_event::jsonl::Line<'_>| {
            let (start, end) = (line.range.start as usize, line.range.end as usize);
            let kept = match line.content {
                LineContent::Bytes(content) => {
                    let from = line.content_start as usize;
                    assert_eq!(content, &bytes[from..from + content.len()]);
                    Some(content.to_vec())
                }
                LineContent::Zeros => Some(Vec::new()),
                LineContent::TooLong => None,
            };
            lines.push((line.number, start, end, kept, line.ended));
        };
        for piece in pieces(&bytes, &cuts) {
            splitter.push(piece, &mut on_line);
        }
        splitter.finish(&mut on_line);
        prop_assert_eq!(lines, plain_lines(&bytes, limit));
    }

    #[test]
    fn pieces_do_not_matter(
        bytes in nearly_a_log(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let whole = read(&[&bytes]);
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(&read(&pieces(&bytes, &cuts)), &whole);
        prop_assert_eq!(&read(&single), &whole);
        let (records, report) = whole;
        prop_assert_eq!(report.bytes, bytes.len() as u64);
        prop_assert_eq!(report.events, events(&records).len() as u64);
        for pair in records.windows(2) {
            prop_assert!(pair[0].line <= pair[1].line);
        }
        for record in &records {
            prop_assert!(record.range.start < record.range.end);
            prop_assert!(record.range.end <= bytes.len() as u64);
        }
    }

    #[test]
    fn a_log_is_read_as_it_was_written(
        texts in prop::collection::vec(any::<String>(), 0..12),
        checksums in any::<bool>(),
        newline in prop::sample::select(vec!["\n", "\r\n", "", "\r", "\0\0\n", "\n\n"]),
    ) {
        let written: Vec<ChatEvent> =
            texts.iter().zip(1..).map(|(text, seq)| message(seq, text)).collect();
        let lines: Vec<String> = written
            .iter()
            .map(|event| if checksums { event.to_line_with_checksum() } else { event.to_line() })
            .collect();
        let (records, report) = read(&[lines.join(newline).as_bytes()]);
        prop_assert!(records.iter().all(|record| record.flaws.none()));
        let read: Vec<ChatEvent> = events(&records).into_iter().cloned().collect();
        prop_assert_eq!(read, written);
        prop_assert_eq!((report.unreadable, report.n_gaps, report.backwards), (0, 0, 0));
    }

    #[test]
    fn a_log_twice_gives_its_events_once(texts in prop::collection::vec(any::<String>(), 1..9)) {
        let lines: Vec<String> =
            texts.iter().zip(1..).map(|(text, seq)| message(seq, text).to_line() + "\n").collect();
        // The second time each event has another place in the log.
        let again: Vec<String> = texts
            .iter()
            .zip(1..)
            .map(|(text, seq)| {
                let mut event = message(seq, text);
                event.seq = Some(seq + 100);
                event.recv = None;
                event.to_line_with_checksum() + "\n"
            })
            .collect();
        let once = read(&[lines.concat().as_bytes()]);
        let twice = read(&[lines.concat().as_bytes(), again.concat().as_bytes()]);
        prop_assert_eq!(&once.0, &twice.0);
        prop_assert_eq!(twice.1.duplicates, texts.len() as u64);
        prop_assert_eq!(twice.1.conflicts, 0);
    }

    #[test]
    fn no_flipped_bit_gives_another_event(
        text in any::<String>(),
        at in any::<prop::sample::Index>(),
        bit in 0..8,
    ) {
        let event = message(1, &text);
        let line = event.to_line_with_checksum();
        let before = line.rfind(",\"c\":").unwrap();
        let mut bytes = line.clone().into_bytes();
        bytes[at.index(before)] ^= 1u8 << bit;
        let (records, _) = read(&[&bytes]);
        prop_assert_eq!(events(&records), Vec::<&ChatEvent>::new());
    }

    #[test]
    fn a_torn_line_costs_itself_and_nothing_else(
        text in any::<String>(),
        cut in any::<prop::sample::Index>(),
        glued in any::<bool>(),
    ) {
        let (first, torn, last) =
            (message(1, "a").to_line(), message(2, &text).to_line(), message(3, "z").to_line());
        let torn = torn.as_bytes();
        let torn = &torn[..1 + cut.index(torn.len() - 1)];
        let between = if glued { "" } else { "\n" };
        let log = [first.as_bytes(), b"\n", torn, between.as_bytes(), last.as_bytes(), b"\n"].concat();
        let (records, report) = read(&[&log]);
        let seqs: Vec<Option<u64>> = events(&records).iter().map(|event| event.seq).collect();
        prop_assert_eq!(seqs, [Some(1), Some(3)]);
        prop_assert_eq!(report.unreadable, 1);
        prop_assert_eq!(report.n_gaps, 1);
        prop_assert_eq!(report.tail, Tail::Clean);
    }
}

#[test]
fn a_line_too_long_is_reported_and_not_kept() {
    let long = vec![b'x'; 17 * 1024 * 1024];
    let log = [
        message(1, "a").to_line().as_bytes(),
        b"\n",
        &long,
        b"\n",
        message(2, "b").to_line().as_bytes(),
    ]
    .concat();
    for size in [usize::MAX, 65_536] {
        let pieces: Vec<&[u8]> = log.chunks(size.min(log.len())).collect();
        let (records, report) = read(&pieces);
        assert_eq!(events(&records).len(), 2);
        let unreadable = records[1].content.as_ref().unwrap_err();
        assert_eq!(unreadable.kind, UnreadableKind::TooLong);
        assert_eq!(records[1].line, 2);
        assert_eq!(
            records[1].range.end - records[1].range.start,
            long.len() as u64
        );
        assert_eq!(report.tail, Tail::NoNewline);
    }
}

#[test]
fn a_hostile_line_costs_time_in_proportion_to_its_length() {
    // Each opening could begin a record, and none ends: tried one by one to the end of the line this would take hours.
    for unit in ["{\"a\":", "{\"", "{\"a\":[", "{}", "{\"type\":\"x\"} x"] {
        let line = unit.repeat(1024 * 1024 / unit.len());
        let (records, report) = read(&[line.as_bytes(), b"\n"]);
        assert!(report.unreadable >= 1 || report.events > 1, "{unit}");
        assert!(records.len() < 200_000, "{unit}");
    }
}

#[test]
fn an_object_within_a_torn_record_does_not_pass_for_one() {
    let log = br#"{"seq":1,"id":"e1","timestamp":1,"sessionId":"s1","type":"tool_call","payload":{"args":{"id":"toolu_1","type":"tool_use"},"toolN"#;
    let (records, report) = read(&[log]);
    assert_eq!(records.len(), 1);
    assert_eq!(report.tail, Tail::CutOff(0..log.len() as u64));
    let unreadable = records[0].content.as_ref().unwrap_err();
    assert_eq!(unreadable.kind, UnreadableKind::CutOff);
    assert_eq!(unreadable.text.as_bytes(), log);
}

#[test]
fn holes_that_the_log_explains_are_none() {
    let mut gap = ChatEvent::new(
        "log-2",
        1,
        "s1",
        LogGap {
            from: 2,
            to: 4,
            why: "torn".to_owned(),
            ..LogGap::default()
        },
    );
    gap.seq = Some(0);
    let lines = [
        message(1, "a").to_line(),
        gap.to_line(),
        message(5, "b").to_line(),
        message(9, "c").to_line(),
    ];
    let (_, report) = read(&[lines.join("\n").as_bytes()]);
    assert_eq!(report.n_gaps, 1);
    assert_eq!(
        (report.gaps[0].from, report.gaps[0].to, report.gaps[0].line),
        (6, 8, 4)
    );
}

/// As Python writes JSON: with a blank behind each colon and comma.
#[test]
fn an_id_that_stands_twice_is_a_conflict_or_a_double_however_the_number_is_spelled() {
    let line = |seq: &str, text: &str| {
        format!(
            r#"{{{seq}"id": "e1", "timestamp": 1, "sessionId": "s1", "type": "user_message", "payload": {{"text": "{text}"}}}}"#
        )
    };
    for (first, second) in [
        (r#""seq": 1, "#, r#""seq": 22, "#),
        (r#""seq" : 1 , "#, r#" "seq":1,"#),
        (r#""seq":1, "#, ""),
        (r#""seq":null,"#, r#""seq":null,"#),
    ] {
        for (text, duplicates, conflicts) in [("a", 1, 0), ("b", 0, 1)] {
            let log = [line(first, "a"), line(second, text)].join("\n");
            let (_, report) = read(&[log.as_bytes()]);
            assert_eq!(
                (report.events, report.duplicates, report.conflicts),
                (1, duplicates, conflicts),
                "{log}"
            );
        }
    }
}

#[test]
fn events_without_id_are_named_by_their_lines() {
    let log = b"\n{\"type\":\"turn_end\"}\n{\"type\":\"turn_end\"}{\"type\":\"turn_end\"}\n";
    let (records, _) = read(&[log]);
    let ids: Vec<&str> = events(&records)
        .iter()
        .map(|event| event.id.as_str())
        .collect();
    assert_eq!(ids, ["line-2", "line-3", "line-3.2"]);
}

#[test]
fn sources_that_are_no_text_get_one_clear_message() {
    let cases: [(&[u8], &str); 5] = [
        (
            b"\xff\xfe{\0\"\0",
            "the file is UTF-16 text; a log is UTF-8",
        ),
        (b"{\0\"\0a\0\n\0", "the file is UTF-16 text; a log is UTF-8"),
        (
            b"\x1f\x8b\x08\n\n\n",
            "the file is compressed with gzip; unpack it first",
        ),
        (
            b"\x28\xb5\x2f\xfd\n\n",
            "the file is compressed with zstd; unpack it first",
        ),
        (
            b"PK\x03\x04\n\n\n",
            "the file is a zip archive; unpack it first",
        ),
    ];
    for (bytes, reason) in cases {
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        for pieces in [vec![bytes], single] {
            let (records, report) = read(&pieces);
            assert_eq!(records.len(), 1);
            assert_eq!(records[0].content.as_ref().unwrap_err().reason, reason);
            assert_eq!(report.bytes, bytes.len() as u64);
        }
    }
}
