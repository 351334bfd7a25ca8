//! Values that lines do not hold one each: printed over several lines, several in one, torn lists, and figures that are too
//! long.

use crate::support::{Source, assert_cuts, assert_sound, read, told};
use chat_event::Payload;
use chat_normalize::{Context, Dialect, SessionReader};

const INIT: &str =
    r#"{"type":"init","timestamp":"2026-11-21T20:52:28.228Z","session_id":"g1","model":"m"}"#;
const PROMPT: &str =
    r#"{"type":"message","timestamp":"2026-11-21T20:52:28.361Z","role":"user","content":"Go"}"#;
const CALL: &str = r#"{"type":"tool_use","timestamp":"2026-11-21T20:52:28.690Z","tool_name":"read_file","tool_id":"r1","parameters":{"file_path":"/a"}}"#;
const RESULT: &str = r#"{"type":"tool_result","timestamp":"2026-11-21T20:52:29.605Z","tool_id":"r1","status":"success","output":"x"}"#;
const END: &str = r#"{"type":"result","timestamp":"2026-11-21T20:52:29.705Z","status":"success","stats":{"input_tokens":3,"output_tokens":2}}"#;

const WHOLE: [&str; 6] = [
    "turn user",
    "user Go",
    "call r1 read_file",
    "result r1 x",
    "usage turn 3/2",
    "end completed",
];

fn of(text: &str) -> (Vec<String>, u64) {
    let source = Source {
        name: text.chars().take(60).collect(),
        bytes: text.as_bytes().to_vec(),
    };
    assert_cuts(&source);
    let read = read(&source.bytes);
    assert_eq!(read.dialect, Some(Dialect::GeminiStream), "{text}");
    assert_sound(&source.name, &read.events);
    (told(&read.events), read.report.unreadable)
}

/// `text` as a program prints it that lays out what it reads.
fn printed(text: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    serde_json::to_string_pretty(&value).unwrap()
}

#[test]
fn a_value_over_several_lines_among_others_is_read_as_one() {
    let call = printed(CALL);
    for text in [
        format!("{INIT}\n{PROMPT}\n{call}\n{RESULT}\n{END}\n"),
        // Without a newline at the end, with blank lines in it, and one behind another.
        format!("{INIT}\n{PROMPT}\n{CALL}\n{RESULT}\n{}", printed(END)),
        format!(
            "{INIT}\n{PROMPT}\n{}\n{RESULT}\n{END}",
            call.replace('\n', "\n\n")
        ),
        format!(
            "{INIT}\n{}\n{call}\n{}\n{END}",
            printed(PROMPT),
            printed(RESULT)
        ),
        format!(
            "{INIT}\n{PROMPT}\n{}\n{RESULT}\n{END}",
            CALL.replace(",\"tool_id", ",\r\n\"tool_id")
        ),
    ] {
        assert_eq!(of(&text), (WHOLE.map(str::to_owned).to_vec(), 0), "{text}");
    }
}

/// Bytes that are no text are told of a value of several lines as of one.
#[test]
fn a_value_over_several_lines_that_is_not_utf_8_says_so() {
    let call = printed(&CALL.replace("/a", "/~"));
    let text = format!("{INIT}\n{PROMPT}\n{call}\n{RESULT}\n{END}\n");
    let bytes: Vec<u8> = text
        .bytes()
        .map(|byte| if byte == b'~' { 0xff } else { byte })
        .collect();
    let read = read(&bytes);
    assert_eq!(read.report.unreadable, 0);
    let told = told(&read.events);
    let notice = "notice Line 3 is not UTF-8; what was not is replaced".to_owned();
    assert!(told.contains(&notice), "{told:?}");
    assert!(told.contains(&"call r1 read_file".to_owned()), "{told:?}");
}

/// The first record decides what the source is; those behind it, however they are printed, are no document that it is.
#[test]
fn a_record_printed_behind_one_that_names_no_session_takes_nothing_from_it() {
    let first = r#"{"type":"summary","summary":"First","leafUuid":"a"}"#;
    let second = printed(r#"{"type":"summary","summary":"Second","leafUuid":"b"}"#);
    let read = read(format!("{first}\n{second}\n").as_bytes());
    let told = told(&read.events);
    assert!(told.contains(&"notice First".to_owned()), "{told:?}");
    assert!(told.contains(&"notice Second".to_owned()), "{told:?}");
    // It may name the session.
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}"#;
    let made = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hi"}}}}"#;
    let read = crate::support::read(format!("{hello}\n{}\n", printed(made)).as_bytes());
    assert_eq!(read.dialect, Some(Dialect::Acp));
    assert!(read.events.iter().all(|event| event.session_id == "s1"));
}

/// What a program says in brackets may hold what looks like a record.
#[test]
fn a_record_in_a_line_of_a_programs_log_is_none() {
    let text = format!("{INIT}\n{PROMPT}\n[debug] sent {CALL}\n{CALL}\n{RESULT}\n{END}\n");
    let (told, unreadable) = of(&text);
    let calls = told.iter().filter(|line| line.starts_with("call"));
    assert_eq!((calls.count(), unreadable), (1, 1), "{told:?}");
}

#[test]
fn a_line_that_a_killed_writer_left_costs_itself_and_nothing_else() {
    for torn in [
        r#"{"type":"message","role":"#,
        "{",
        r#"{"type":"message","content":["#,
        r#"{"type":"message","content":"hal"#,
        "{\n\"type\": \"message\",",
    ] {
        let text = format!("{INIT}\n{PROMPT}\n{torn}\n{CALL}\n{RESULT}\n{END}\n");
        let (told, unreadable) = of(&text);
        let is_told = |line: &&String| !line.starts_with("notice");
        let left: Vec<&String> = told.iter().filter(is_told).collect();
        assert_eq!(left, WHOLE.iter().collect::<Vec<_>>(), "{torn}");
        assert!(unreadable > 0, "{torn}");
    }
    // What is held is told at the end, too.
    let (told, unreadable) = of(&format!("{INIT}\n{PROMPT}\n{{\"type\":\n"));
    assert_eq!(unreadable, 1);
    assert!(
        told.iter().any(|line| line.starts_with("notice Line 3")),
        "{told:?}"
    );
}

/// A value that comes slowly is the same as one that lies in a file.
#[test]
fn a_quiet_period_within_a_value_changes_nothing() {
    let text = format!("{INIT}\n{PROMPT}\n{}\n{RESULT}\n{END}\n", printed(CALL));
    let mut reader = SessionReader::new(Context::default());
    let mut events = Vec::new();
    for line in text.split_inclusive('\n') {
        reader.push(line.as_bytes(), 0, &mut events).unwrap();
        reader.quiet(0, &mut events);
    }
    reader.finish(0, &mut events).unwrap();
    assert!(events == read(text.as_bytes()).events);
}

#[test]
fn several_values_in_a_line_are_read_also_behind_a_torn_one() {
    for line in [
        format!("{PROMPT}{CALL} {RESULT}"),
        format!("[{PROMPT},{CALL}]{RESULT}"),
        format!("{PROMPT},{CALL},{RESULT}").replace("},{\"type", "} {\"type"),
    ] {
        let (told, unreadable) = of(&format!("{INIT}\n{line}\n{END}\n"));
        assert_eq!(
            (told, unreadable),
            (WHOLE.map(str::to_owned).to_vec(), 0),
            "{line}"
        );
    }
    for (line, unreadable) in [
        // Of a list that is cut off, the whole items.
        (format!("[{PROMPT},{CALL},{RESULT},{{\"type\":\"res"), 1),
        (format!("[{PROMPT},{CALL},{RESULT}"), 1),
        // Two writers at one file.
        (format!("{{\"type\":\"mess{PROMPT}{CALL}{RESULT}"), 1),
        (
            format!("{{\"type\":\"message\",\"content\":\"hal{PROMPT}{CALL}{RESULT}"),
            1,
        ),
    ] {
        let (told, n) = of(&format!("{INIT}\n{line}\n{END}\n"));
        let is_told = |line: &&String| !line.starts_with("notice");
        let left: Vec<&String> = told.iter().filter(is_told).collect();
        assert_eq!(left, WHOLE.iter().collect::<Vec<_>>(), "{line}");
        assert_eq!(n, unreadable, "{line}");
    }
}

/// A line of 16 MiB can hold millions of them, each of which takes hundreds of times its length once it is an event.
#[test]
fn of_a_line_full_of_what_no_rule_knows_so_much_is_kept_and_all_is_counted() {
    const N: usize = 200_000;
    for full in [
        "{}".repeat(N),
        format!("[{}]", vec!["1"; N].join(",")),
        format!("[{}]", vec!["{\"type\":\"x\"}"; N].join(",")),
    ] {
        let read = read(format!("{INIT}\n{full}\n{PROMPT}\n{{}}\n{END}\n").as_bytes());
        let raws = read
            .events
            .iter()
            .filter(|event| matches!(event.payload, Payload::Raw(_)));
        // That of a line of its own is kept.
        assert_eq!(raws.count(), 10_001);
        assert_eq!(read.report.raw.values().sum::<u64>(), N as u64 + 1);
        let told = told(&read.events);
        let notice =
            "notice Line 2 has more than 10000 parts of no known kind; those beyond are not kept";
        assert_eq!(told.iter().filter(|line| *line == notice).count(), 1);
        assert!(told.contains(&"user Go".to_owned()));
    }
}

#[test]
fn an_integer_beyond_64_bits_loses_no_digits_and_counts_for_nothing() {
    let long = "123456789012345678901234567890";
    let call = CALL.replace("\"/a\"", long);
    let end = END.replace(
        "\"input_tokens\":3",
        &format!("\"input_tokens\":{long},\"duration_ms\":18446744073709551616"),
    );
    let read = read(format!("{INIT}\n{PROMPT}\n{call}\n{RESULT}\n{end}\n").as_bytes());
    let args = read.events.iter().find_map(|event| match &event.payload {
        Payload::ToolCall(call) => Some(call.args.to_value()),
        _ => None,
    });
    assert_eq!(args, Some(serde_json::json!({"file_path": long})));
    let told = told(&read.events);
    assert!(told.contains(&"usage turn 0/2".to_owned()), "{told:?}");
    let notices = told
        .iter()
        .filter(|line| line.contains("integers beyond 64 bits"));
    assert_eq!(notices.count(), 2, "{told:?}");
    let took = read.events.iter().find_map(|event| match &event.payload {
        Payload::TurnEnd(end) => Some(end.duration_ms),
        _ => None,
    });
    assert_eq!(took, Some(None));
}

/// Any numeric field of any dialect: nothing panics, and the digits stand somewhere.
#[test]
fn a_long_integer_in_any_field_is_kept() {
    let long = "99999999999999999999999999";
    let dialects = Dialect::all().filter(|dialect| *dialect != Dialect::ChatEvents);
    for dialect in dialects {
        let line = format!(
            "{{\"type\":\"unknown-{long}\",\"timestamp\":{long},\"id\":{long},\"usage\":{{\"input_tokens\":-{long}}},\"n\":{long}}}\n"
        );
        let mut reader = SessionReader::with_dialect(Context::default(), dialect);
        let mut events = Vec::new();
        reader.push(line.as_bytes(), 0, &mut events).unwrap();
        reader.finish(0, &mut events).unwrap();
        assert_sound(dialect.word(), &events);
        let kept = events
            .iter()
            .any(|event| event.to_line().contains(&format!("\"{long}\"")));
        let passed_over = !reader.report().passed_over.is_empty();
        assert!(kept || passed_over, "{}", dialect.word());
    }
}
