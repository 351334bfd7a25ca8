//! Finding a text in a log, in capitals or not.
//!
//! The log's file is read line by line; nothing of it is kept, so a search costs memory for its answer only. It has some time
//! and then says how far it came. Searched are all texts in an event's payload; bodies beside the log are not, but for the
//! beginning that the event shows of them. Texts that come in pieces are searched over the joints of pieces that follow each
//! other; a match there is the later piece's.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use chat_store::{Error, Session};
use serde::Serialize;
use serde_json::Value;

/// How long a search may take.
const TIME: Duration = Duration::from_millis(500);

/// Lines between two looks at the clock.
const LINES_A_LOOK: u32 = 64;

/// How long a text to find may be.
const NEEDLE_BYTES: usize = 200;

/// Characters of a snippet on each side of what was found.
const AROUND_CHARS: usize = 60;

/// Events before the cursor that are read for the end of a text that goes on behind it.
const RUN_UP: u64 = 200;

/// What is looked for.
#[derive(Debug)]
pub(crate) struct Needle {
    /// Its characters, folded.
    folded: Vec<char>,
    /// The same as bytes, where it stands in a line just as it is: lines without it need no parser.
    plain: Option<Vec<u8>>,
}

impl Needle {
    /// # Errors
    ///
    /// Where there is nothing to find, or too much.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("expected the text to find".to_owned());
        }
        if text.len() > NEEDLE_BYTES {
            return Err(format!("over the limit of {NEEDLE_BYTES} bytes"));
        }
        let folded = text.chars().flat_map(char::to_lowercase).collect();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b' ' || byte == b'_';
        let plain = text.bytes().all(is_plain);
        Ok(Needle {
            folded,
            plain: plain.then(|| text.to_ascii_lowercase().into_bytes()),
        })
    }

    /// Whether the line may have it.
    fn may_be_in(&self, line: &str) -> bool {
        let Some(plain) = &self.plain else {
            return true;
        };
        find_plain(line, plain).is_some()
    }

    /// Where it first stands in `text`, in bytes.
    fn find(&self, text: &str) -> Option<(usize, usize)> {
        if let Some(plain) = &self.plain {
            let at = find_plain(text, plain)?;
            return Some((at, at + plain.len()));
        }
        let ends_at = |start: usize| {
            let mut wanted = self.folded.iter();
            for (at, character) in text[start..].char_indices() {
                for folded in character.to_lowercase() {
                    match wanted.next() {
                        Some(wanted) if *wanted == folded => {}
                        Some(_) => return None,
                        // It ends in the middle of what a character folds to.
                        None => return Some(start + at + character.len_utf8()),
                    }
                }
                if wanted.as_slice().is_empty() {
                    return Some(start + at + character.len_utf8());
                }
            }
            None
        };
        let mut starts = text.char_indices();
        starts.find_map(|(start, _)| Some((start, ends_at(start)?)))
    }
}

/// Where the ASCII text `plain`, in small letters, first stands.
fn find_plain(text: &str, plain: &[u8]) -> Option<usize> {
    let first = plain.first()?;
    let mut windows = text.as_bytes().windows(plain.len());
    windows.position(|window| {
        window[0].to_ascii_lowercase() == *first && window.eq_ignore_ascii_case(plain)
    })
}

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
    let deadline = Instant::now() + TIME;
    let mut matches = Vec::new();
    let mut looked_at = None;
    let mut n_lines = 0;
    let mut ended = true;
    let mut joint = Joint::default();
    let from = asked.after.saturating_sub(RUN_UP);
    session.walk(from, &mut |seq, line| {
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
        let is_piece = line.contains("_chunk\"");
        if !is_piece && (is_run_up || !needle.may_be_in(line)) {
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

/// The end of the text that came last in pieces.
#[derive(Debug, Default)]
struct Joint {
    /// Type, response or call, and part: what the pieces have in common.
    of: [Value; 4],
    tail: String,
}

impl Joint {
    /// What is found in the event, or over the joint with the piece before it.
    fn find(&mut self, event: &Value, needle: &Needle) -> Option<String> {
        let payload = &event["payload"];
        let kind = event["type"].as_str().unwrap_or_default();
        let text = payload["text"]
            .as_str()
            .filter(|_| kind.ends_with("_chunk"));
        let Some(text) = text else {
            return find_in(payload, needle);
        };
        let of = [
            event["type"].clone(),
            event["responseId"].clone(),
            payload["toolCallId"].clone(),
            payload["part"].clone(),
        ];
        if self.of != of {
            self.tail.clear();
            self.of = of;
        }
        let before = self.tail.len();
        self.tail.push_str(text);
        let found = needle.find(&self.tail);
        // A place that lies before the joint was the earlier piece's match.
        let found = found.filter(|(_, end)| *end > before).or_else(|| {
            let (from, to) = needle.find(text)?;
            Some((before + from, before + to))
        });
        let snippet = found.map(|(from, to)| snippet(&self.tail, from, to));
        // One less than the text to find: a whole one would be found again.
        let keep = needle.folded.len().saturating_sub(1);
        let cut = self.tail.char_indices().rev().nth(keep.saturating_sub(1));
        let cut = cut.map_or(0, |(cut, _)| if keep == 0 { self.tail.len() } else { cut });
        self.tail.drain(..cut);
        snippet.or_else(|| find_in(payload, needle))
    }
}

/// The first text of the value that has it. Values of a log nest no deeper than a parser goes.
fn find_in(value: &Value, needle: &Needle) -> Option<String> {
    match value {
        Value::String(text) => {
            let (from, to) = needle.find(text)?;
            Some(snippet(text, from, to))
        }
        Value::Array(items) => items.iter().find_map(|item| find_in(item, needle)),
        Value::Object(fields) => fields.values().find_map(|field| find_in(field, needle)),
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

    fn found(needle: &str, text: &str) -> Option<String> {
        let needle = Needle::new(needle).unwrap();
        let in_text = needle
            .find(text)
            .map(|(from, to)| text[from..to].to_owned());
        let line = json!({ "text": text }).to_string();
        assert!(in_text.is_none() || needle.may_be_in(&line), "{line}");
        in_text
    }

    #[test]
    fn capitals_do_not_matter_in_any_script() {
        assert_eq!(found("error", "An ERROR!").as_deref(), Some("ERROR"));
        assert_eq!(found("ärger", "viel ÄRGER").as_deref(), Some("ÄRGER"));
        assert_eq!(found("ΣΊΣΥΦ", "σίσυφος").as_deref(), Some("σίσυφ"));
        assert_eq!(found("a\"b", "A\"B").as_deref(), Some("A\"B"));
        assert_eq!(found("x\ny", "x\nY").as_deref(), Some("x\nY"));
        assert_eq!(found("missing", "An error"), None);
        // One character that folds to two.
        assert_eq!(found("i\u{307}", "İ").as_deref(), Some("İ"));
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
