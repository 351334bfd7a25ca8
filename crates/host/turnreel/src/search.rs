//! Finding a text in a log, in capitals or not.
//!
//! The log's files are read line by line; nothing of them is kept, so a search costs memory for its answer only. It has some
//! time and then says how far it came. Only lines that may have the text are parsed: most are passed over as bytes. Searched
//! are all texts in an event's payload, but for the file before a change; bodies beside the log are not, but for the
//! beginning that the event shows of them. Texts that come in pieces are searched over the joints of pieces that follow each
//! other, which is for `joint`; how a text is told from others is for `needle`.

mod joint;
mod needle;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use chat_store::{Error, Session};
use serde::Serialize;
use serde_json::Value;

use joint::{Joint, Piece};

pub(crate) use needle::Needle;

/// How long a search may take.
const TIME: Duration = Duration::from_millis(500);

/// Lines between two looks at the clock.
const LINES_A_LOOK: u32 = 64;

/// The file before a change: nothing of it is shown before it is asked for.
const UNSHOWN: &str = "oldText";

/// Characters of a snippet on each side of what was found.
const AROUND_CHARS: usize = 60;

/// Events before the cursor that are read for the end of a text that goes on behind it.
const RUN_UP: u64 = 200;

/// Where to look, and for how many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) after: u64,
    pub(crate) limit: usize,
}

/// What was found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) matches: Vec<Match>,
    /// The last number that was looked at, where there are others behind it.
    pub(crate) next: Option<u64>,
}

/// One event that has the text.
#[derive(Debug, Serialize)]
pub(crate) struct Match {
    seq: u64,
    id: String,
    #[serde(rename = "type")]
    event_type: String,
    /// The text around the first place, in one line.
    snippet: String,
}

/// Looks through the events behind `asked.after`.
///
/// # Errors
///
/// Where the disk refuses.
pub(crate) fn search(session: &Session, needle: &Needle, asked: Asked) -> Result<Found, Error> {
    let from = asked.after.saturating_sub(RUN_UP);
    search_in(needle, asked, |visit| session.walk(from, visit))
}

/// What is shown each line of a log with its number.
type Visit<'v> = dyn FnMut(u64, &str) -> ControlFlow<()> + 'v;

fn search_in(
    needle: &Needle,
    asked: Asked,
    walk: impl FnOnce(&mut Visit<'_>) -> Result<(), Error>,
) -> Result<Found, Error> {
    let deadline = Instant::now() + TIME;
    let mut matches = Vec::new();
    let mut looked_at = None;
    let mut n_lines = 0;
    let mut ended = true;
    let mut joint = Joint::default();
    let pieces = memchr::memmem::Finder::new(b"_chunk\"");
    walk(&mut |seq, line| {
        let late = n_lines % LINES_A_LOOK == 0 && Instant::now() > deadline;
        // One line is always looked at, or a search could stand still.
        if matches.len() >= asked.limit || (late && looked_at.is_some()) {
            ended = false;
            return ControlFlow::Break(());
        }
        let is_run_up = seq <= asked.after;
        if !is_run_up {
            n_lines += 1;
            looked_at = Some(seq);
        }
        let (may_be_in, is_piece) = (
            needle.may_be_in(line),
            pieces.find(line.as_bytes()).is_some(),
        );
        if !is_piece && (is_run_up || !may_be_in) {
            return ControlFlow::Continue(());
        }
        // Most pieces have nothing of the text, and only their ends are wanted.
        if !may_be_in
            && let Ok(piece) = serde_json::from_str::<Piece<'_>>(line)
            && piece.has_text()
        {
            let snippet = joint.take(piece.of(), &piece.payload.text, needle, false);
            if let Some(snippet) = snippet.filter(|_| !is_run_up) {
                matches.push(Match {
                    seq,
                    id: piece.id.into_owned(),
                    event_type: piece.event_type.into_owned(),
                    snippet,
                });
            }
            return ControlFlow::Continue(());
        }
        let Ok(event) = serde_json::from_str::<Value>(line) else {
            return ControlFlow::Continue(());
        };
        let snippet = joint.find(&event, needle);
        if let Some(snippet) = snippet.filter(|_| !is_run_up) {
            let word = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
            matches.push(Match {
                seq,
                id: word("id"),
                event_type: word("type"),
                snippet,
            });
        }
        ControlFlow::Continue(())
    })?;
    Ok(Found {
        matches,
        next: looked_at.filter(|_| !ended),
    })
}

/// The first text of the value that has it. Values of a log nest no deeper than a parser goes.
fn find_in(value: &Value, needle: &Needle) -> Option<String> {
    match value {
        Value::String(text) => {
            let (from, to) = needle.find(text)?;
            Some(snippet(text, from, to))
        }
        Value::Array(items) => items.iter().find_map(|item| find_in(item, needle)),
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| *name != UNSHOWN)
            .find_map(|(_, field)| find_in(field, needle)),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn snippet(text: &str, from: usize, to: usize) -> String {
    let before = text[..from].char_indices().rev().nth(AROUND_CHARS - 1);
    let start = before.map_or(0, |(at, _)| at);
    let behind = text[to..].char_indices().nth(AROUND_CHARS);
    let end = behind.map_or(text.len(), |(at, _)| to + at);
    let mut snippet = String::new();
    if start > 0 {
        snippet.push('…');
    }
    let in_line = |character: char| {
        if character.is_control() {
            ' '
        } else {
            character
        }
    };
    snippet.extend(text[start..end].chars().map(in_line));
    if end < text.len() {
        snippet.push('…');
    }
    snippet
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_file_before_a_change_is_not_looked_through() {
        let needle = Needle::new("quokka").unwrap();
        let edit = json!({"filePath": "a.rs", "fullDiff": "+wombat", "oldText": "a quokka"});
        assert_eq!(find_in(&edit, &needle), None);
        let edit = json!({"filePath": "a.rs", "fullDiff": "+quokka", "oldText": "a quokka"});
        assert_eq!(find_in(&edit, &needle).as_deref(), Some("+quokka"));
    }

    #[test]
    fn a_text_is_found_over_the_joints_of_its_pieces_once() {
        let needle = Needle::new("hello world").unwrap();
        let pieces = [
            "say hel",
            "lo w",
            "orld, ",
            "hello",
            " world hello world",
            "x",
        ];
        let mut joint = Joint::default();
        let found: Vec<_> = pieces
            .iter()
            .map(|piece| {
                let event = json!({"type": "assistant_chunk", "responseId": "r", "payload": {"text": piece}});
                joint.find(&event, &needle).is_some()
            })
            .collect();
        assert_eq!(found, [false, false, true, false, true, false]);
    }

    /// The slow way: each line is parsed, each text is looked through character by character.
    fn plainly(lines: &[String], needle: &str) -> Vec<u64> {
        fn has(text: &[char], wanted: &[char], from_end: usize) -> bool {
            (0..text.len()).any(|start| {
                let mut folded = Vec::new();
                for (at, character) in text.iter().enumerate().skip(start) {
                    folded.extend(character.to_lowercase());
                    let n = folded.len().min(wanted.len());
                    if folded[..n] != wanted[..n] {
                        return false;
                    }
                    if n == wanted.len() {
                        return at >= from_end;
                    }
                }
                false
            })
        }
        fn texts(value: &Value, found: &mut Vec<String>) {
            match value {
                Value::String(text) => found.push(text.clone()),
                Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
                Value::Object(fields) => fields.values().for_each(|field| texts(field, found)),
                _ => {}
            }
        }
        let wanted: Vec<char> = needle.chars().flat_map(char::to_lowercase).collect();
        let mut before: (Value, Vec<char>) = (Value::Null, Vec::new());
        let mut found = Vec::new();
        for line in lines {
            let event: Value = serde_json::from_str(line).unwrap();
            let mut all = Vec::new();
            texts(&event["payload"], &mut all);
            let mut is_found = all
                .iter()
                .any(|text| has(&text.chars().collect::<Vec<_>>(), &wanted, 0));
            if event["type"].as_str().unwrap().ends_with("_chunk") {
                let of = json!([event["type"], event["responseId"], event["payload"]["part"]]);
                if before.0 != of {
                    before = (of, Vec::new());
                }
                let joint = before.1.len();
                before
                    .1
                    .extend(event["payload"]["text"].as_str().unwrap().chars());
                is_found |= has(&before.1, &wanted, joint);
            }
            if is_found {
                found.push(event["seq"].as_u64().unwrap());
            }
        }
        found
    }

    fn quickly(lines: &[String], needle: &str) -> Vec<u64> {
        let needle = Needle::new(needle).unwrap();
        let asked = Asked {
            after: 0,
            limit: usize::MAX,
        };
        let found = search_in(&needle, asked, |visit| {
            for (line, seq) in lines.iter().zip(1..) {
                let _ = visit(seq, line);
            }
            Ok(())
        });
        found
            .unwrap()
            .matches
            .iter()
            .map(|found| found.seq)
            .collect()
    }

    /// Every way to write a text: letters and their twins, escapes of all kinds, joints of pieces.
    #[test]
    fn no_line_is_passed_over_that_has_the_text() {
        let mut random = 0x2545_f491_4f6c_dd1d_u64;
        let mut rand = |below: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random as usize % below
        };
        let letters: Vec<char> = "aAkKiIs/\\\"\n é\u{130}\u{212a}\u{307}\u{17f}ß"
            .chars()
            .collect();
        let mut n_found = 0;
        for _ in 0..4000 {
            let lines: Vec<String> = (1..=6)
                .map(|seq| {
                    let text: Vec<char> = (0..rand(6)).map(|_| letters[rand(letters.len())]).collect();
                    let mut written = String::new();
                    for character in text {
                        match rand(4) {
                            0 => written.push_str(&format!("\\u{:04x}", u32::from(character))),
                            1 if character == '/' => written.push_str("\\/"),
                            _ => {
                                let quoted = serde_json::to_string(&character).unwrap();
                                written.push_str(&quoted[1..quoted.len() - 1]);
                            }
                        }
                    }
                    let kind = ["assistant_chunk", "thinking_chunk", "notice"][rand(3)];
                    let response = ["r1", "r2"][rand(8) / 7];
                    let more = ["", r#","more":[{"kia":"Ak"}]"#][rand(8) / 7];
                    format!(
                        r#"{{"seq":{seq},"id":"e{seq}","type":"{kind}","responseId":"{response}","payload":{{"text":"{written}"{more}}}}}"#
                    )
                })
                .collect();
            let needle: String = (0..rand(3) + 1)
                .map(|_| letters[rand(letters.len())])
                .collect();
            let expected = plainly(&lines, &needle);
            n_found += expected.len();
            assert_eq!(
                quickly(&lines, &needle),
                expected,
                "{needle:?} in {lines:#?}"
            );
        }
        assert!(n_found > 1000, "{n_found}");
    }

    #[test]
    fn a_snippet_is_one_short_line() {
        let text = format!("{}\n needle\t{}", "a".repeat(500), "é".repeat(500));
        let needle = Needle::new("NEEDLE").unwrap();
        let (from, to) = needle.find(&text).unwrap();
        let snippet = snippet(&text, from, to);
        let expected = format!("…{}  needle {}…", "a".repeat(58), "é".repeat(59));
        assert_eq!(snippet, expected);
    }
}
