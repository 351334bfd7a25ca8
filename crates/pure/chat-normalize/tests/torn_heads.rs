//! Sources whose first line begins what does not end there: a log whose line is torn, or a document.

use chat_event::{ChatEvent, Payload};
use chat_normalize::{AT_REST, Context, Dialect, SessionReader};
use serde_json::json;

/// A line that may be a ChatEvent, and says so less surely than one of a type that is known.
fn line(n: usize, text: &str) -> String {
    json!({"id": format!("e{n}"), "timestamp": 1, "sessionId": "s1", "type": "of_tomorrow", "payload": {"text": text}})
        .to_string()
}

const TORN: &str = "{\"id\":\"e0\",\"timestamp\":1,\"sess";

fn n_events(events: &[ChatEvent]) -> usize {
    let said = |event: &&ChatEvent| !matches!(event.payload, Payload::Notice(_));
    events.iter().filter(said).count()
}

/// What the pieces of this size give before the end, and in all.
fn read(text: &str, piece: usize) -> Result<(usize, Vec<ChatEvent>), String> {
    let mut reader = SessionReader::new(Context::default());
    let mut events = Vec::new();
    for piece in text.as_bytes().chunks(piece) {
        let pushed = reader.push(piece, AT_REST, &mut events);
        pushed.map_err(|why| why.to_string())?;
    }
    let before_the_end = n_events(&events);
    let finished = reader.finish(AT_REST, &mut events);
    finished.map_err(|why| why.to_string())?;
    Ok((before_the_end, events))
}

#[test]
fn a_log_whose_first_line_is_torn_is_told_while_it_comes() {
    let mut text = format!("{TORN}\n");
    for n in 0..1000 {
        text.push_str(&format!("{}\nplain words in between\n\n", line(n, "x")));
    }
    assert!(text.len() > 100_000);
    for piece in [1, 777, text.len()] {
        let (before_the_end, events) = read(&text, piece).unwrap();
        assert_eq!((before_the_end, n_events(&events)), (1000, 1000));
        let first = &events[0];
        assert!(matches!(&first.payload, Payload::Notice(notice) if notice.line == Some(1)));
    }
}

#[test]
fn however_much_stands_between_its_lines_it_is_told_in_bounded_memory() {
    let long = "x".repeat(1 << 20);
    let mut text = format!("{TORN}\n");
    for n in 0..20 {
        text.push_str(&format!("{}\n[INFO] up\n[INFO] up\n", line(n, &long)));
    }
    let (before_the_end, events) = read(&text, 1 << 16).unwrap();
    assert_eq!((before_the_end, n_events(&events)), (20, 20));
}

#[test]
fn a_document_that_begins_with_more_than_a_bracket_is_read_as_a_whole() {
    let of = |n_items: usize, text: &str| {
        let items: Vec<String> = (0..n_items).map(|n| line(n, text)).collect();
        format!(
            "{{\"epoch\":\"x\",\"events\":[\n{}\n]}}\n",
            items.join(",\n")
        )
    };
    let text = of(2000, "x");
    assert!(text.len() > 1 << 17);
    for piece in [1000, text.len()] {
        let (before_the_end, events) = read(&text, piece).unwrap();
        assert_eq!((before_the_end, events.len()), (0, 2000));
    }
    // One that is too long for that is refused when it is, and not held without an end.
    let why = read(&of(20, &"x".repeat(1 << 20)), 1 << 16).unwrap_err();
    assert!(why.contains("a JSON document of more than 16 MiB"), "{why}");
}

/// What is lost of it is told, as it is of a document in one line.
#[test]
fn of_a_document_over_several_lines_what_is_no_text_is_told() {
    let document = json!({
        "sessionId": "g1", "projectHash": "x", "startTime": "2026-11-21T20:52:28.228Z",
        "lastUpdated": "2026-11-21T20:52:28.228Z",
        "messages": [
            {"id": "1", "timestamp": "2026-11-21T20:52:28.228Z", "type": "user", "content": "Hi"},
            {"id": "2", "timestamp": "2026-11-21T20:52:29.228Z", "type": "gemini", "content": "~", "model": "m"},
        ],
    });
    let printed = serde_json::to_string_pretty(&document).unwrap();
    let line = printed.lines().position(|line| line.contains('~')).unwrap();
    let line_no = line + 1;
    let content = printed.lines().nth(line).unwrap();
    let zeros = "\0".repeat(content.len());
    let long = content.replace('~', &"x".repeat(17 << 20));
    for (text, told_of_it) in [
        (
            printed.replace(content, &zeros),
            format!("Line {line_no} could not be read: it holds nothing but zero bytes"),
        ),
        (
            printed.replace(content, &long),
            format!("Line {line_no} could not be read: it is longer than 16 MiB"),
        ),
        (
            printed.clone(),
            "Line 1 is not UTF-8; what was not is replaced".to_owned(),
        ),
    ] {
        let bytes: Vec<u8> = text
            .bytes()
            .map(|byte| if byte == b'~' { 0xff } else { byte })
            .collect();
        let mut reader = SessionReader::new(Context::default());
        let mut events = Vec::new();
        for piece in bytes.chunks(1 << 20) {
            reader.push(piece, AT_REST, &mut events).unwrap();
        }
        reader.finish(AT_REST, &mut events).unwrap();
        let told = crate::support::told(&events);
        assert!(told.contains(&"user Hi".to_owned()), "{told:?}");
        assert!(told.contains(&format!("notice {told_of_it}")), "{told:?}");
    }
}

#[test]
fn a_cut_off_document_with_half_a_surrogate_pair_is_read_up_to_its_end() {
    let items: Vec<String> = (0..3)
        .map(|n| line(n, "x").replace("\"x\"", r#""\ud83d""#))
        .collect();
    let text = format!("{{\"epoch\":\"x\",\"events\":[\n{}", items.join(",\n"));
    let (_, events) = read(&text[..text.len() - 20], 100).unwrap();
    assert_eq!(n_events(&events), 2, "{events:?}");
}

#[test]
fn a_number_beyond_all_bounds_costs_no_line() {
    let text = r#"{"type":"user","uuid":"u1","sessionId":"s1","timestamp":"2026-01-01T00:00:00Z","message":{"content":"Hi"},"n":1e400}"#;
    let mut reader = SessionReader::with_dialect(Context::default(), Dialect::ClaudeTranscript);
    let mut events = Vec::new();
    reader.push(text.as_bytes(), AT_REST, &mut events).unwrap();
    reader.finish(AT_REST, &mut events).unwrap();
    let told = crate::support::told(&events);
    assert!(told.contains(&"user Hi".to_owned()), "{told:?}");
    let mended = "notice Line 1 has numbers beyond all bounds; they are left out";
    assert!(told.contains(&mended.to_owned()), "{told:?}");
}

#[test]
fn what_is_wrong_with_a_line_is_told_in_plain_words_with_its_column() {
    let told = |dialect: Dialect, lines: &[&str]| -> Vec<String> {
        let mut reader = SessionReader::with_dialect(Context::default(), dialect);
        let mut events = Vec::new();
        let text = lines.join("\n") + "\n";
        reader.push(text.as_bytes(), AT_REST, &mut events).unwrap();
        reader.finish(AT_REST, &mut events).unwrap();
        let told = events.iter().filter_map(|event| match &event.payload {
            Payload::Notice(notice) if notice.source.as_deref() == Some("reader") => {
                let found = notice.extra.get("found")?.as_str()?.into_owned();
                Some(format!("{} <{found}>", notice.text))
            }
            _ => None,
        });
        told.collect()
    };
    let sound =
        r#"{"type":"user","sessionId":"s1","uuid":"u1","message":{"role":"user","content":"Go"}}"#;
    let torn = r#"{"type":"assistant","text":"é"#;
    let claude = told(
        Dialect::ClaudeTranscript,
        &[sound, torn, sound, r#"{"type": user}"#],
    );
    assert_eq!(
        claude,
        [
            format!(
                "Line 2 could not be read: it ends in the middle of a text, at column 29 <{torn}>"
            ),
            "Line 4 could not be read: it is not JSON: a value was expected, at column 10 <{\"type\": user}>"
                .to_owned(),
        ]
    );
    let ours = told(Dialect::ChatEvents, &[&line(1, "x"), TORN, &line(2, "x")]);
    assert_eq!(
        ours,
        [format!(
            "Line 2 could not be read: it ends in the middle of a text, at column 30 <{TORN}>"
        )]
    );
}
