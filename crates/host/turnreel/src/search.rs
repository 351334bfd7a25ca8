//! Finding a text in a log: in capitals or not, as it stands, or by a pattern.
//!
//! The log's files are read line by line; nothing of them is kept, so a search costs memory for its answer only. It has some
//! time and then says how far it came. Only lines that may have the text are parsed: most are passed over as bytes. Searched
//! are all texts in an event's payload, but for the file before a change, as a terminal would show them; `texts` knows them,
//! and reads bodies beside the log. Texts that come in pieces are searched over the joints of pieces that follow each other,
//! which is for `joint`; how a text is told from others is for `needle`.

mod joint;
mod needle;
mod texts;

use std::fs::File;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use chat_store::{Error, Session};
use serde::Serialize;
use serde_json::Value;

use joint::{Joint, Piece};
use texts::Texts;

pub(crate) use needle::Needle;

/// How long a search may take.
const TIME: Duration = Duration::from_millis(500);

/// Lines between two looks at the clock.
const LINES_A_LOOK: u32 = 64;

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
    /// The ids of other events, of which a body could not be read here.
    pub(crate) unread: Vec<String>,
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

/// Looks through the events behind `asked.after`, as long as `go_on` says so.
///
/// # Errors
///
/// Where the disk refuses.
pub(crate) fn search(
    session: &Session,
    needle: &Needle,
    asked: Asked,
    go_on: &dyn Fn() -> ControlFlow<()>,
) -> Result<Found, Error> {
    let from = asked.after.saturating_sub(RUN_UP);
    let open = |sha256: &str| session.open_body(sha256).ok().flatten();
    search_in(needle, asked, &open, |visit| {
        session.walk(from, &mut |seq, line| {
            go_on()?;
            visit(seq, line)
        })
    })
}

/// What is shown each line of a log with its number.
type Visit<'v> = dyn FnMut(u64, &str) -> ControlFlow<()> + 'v;

fn search_in(
    needle: &Needle,
    asked: Asked,
    open: &dyn Fn(&str) -> Option<File>,
    walk: impl FnOnce(&mut Visit<'_>) -> Result<(), Error>,
) -> Result<Found, Error> {
    let deadline = Instant::now() + TIME;
    let (mut matches, mut unread) = (Vec::new(), Vec::new());
    let mut texts = Texts::new(needle, open);
    // Before the cursor only the ends of pieces are wanted: no body is opened for them.
    let mut run_up_texts = Texts::new(needle, &|_| None);
    let lines_a_look = if needle.is_dear() { 1 } else { LINES_A_LOOK };
    let mut looked_at = None;
    let mut n_lines = 0;
    let mut ended = true;
    let mut joint = Joint::default();
    let pieces = memchr::memmem::Finder::new(b"_chunk\"");
    let references = memchr::memmem::Finder::new(texts::REFERENCE);
    walk(&mut |seq, line| {
        let late = n_lines % lines_a_look == 0 && Instant::now() > deadline;
        // One line is always looked at, or a search could stand still.
        if matches.len().max(unread.len()) >= asked.limit || (late && looked_at.is_some()) {
            ended = false;
            return ControlFlow::Break(());
        }
        let is_run_up = seq <= asked.after;
        if !is_run_up {
            n_lines += 1;
            looked_at = Some(seq);
        }
        let (mut may_be_in, is_piece) = (
            needle.may_be_in(line),
            pieces.find(line.as_bytes()).is_some(),
        );
        // Most pieces have nothing of the text, and only their ends are wanted.
        if is_piece
            && !may_be_in
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
        let may_end_a_piece = is_piece && may_be_in;
        may_be_in |= references.find(line.as_bytes()).is_some();
        if !may_be_in || is_run_up && !may_end_a_piece {
            return ControlFlow::Continue(());
        }
        let Ok(event) = serde_json::from_str::<Value>(line) else {
            return ControlFlow::Continue(());
        };
        let word = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        if is_run_up {
            joint.find(&event, &mut run_up_texts);
            run_up_texts.take_bodies();
            return ControlFlow::Continue(());
        }
        let snippet = joint.find(&event, &mut texts);
        let bodies = texts.take_bodies();
        match snippet {
            Some(snippet) => matches.push(Match {
                seq,
                id: word("id"),
                event_type: word("type"),
                snippet,
            }),
            None if bodies.are_unread => unread.push(word("id")),
            None => {}
        }
        // Long bodies may have taken all the time there was.
        n_lines = if bodies.were_any() { 0 } else { n_lines };
        ControlFlow::Continue(())
    })?;
    Ok(Found {
        matches,
        unread,
        next: looked_at.filter(|_| !ended),
    })
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
    use std::cell::Cell;

    use chat_feed::find::How;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_is_found_over_the_joints_of_its_pieces_once() {
        let needle = Needle::new("hello world", How::AnyCase).unwrap();
        let mut texts = Texts::new(&needle, &|_| None);
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
                joint.find(&event, &mut texts).is_some()
            })
            .collect();
        assert_eq!(found, [false, false, true, false, true, false]);
    }

    #[test]
    fn what_a_tool_prints_is_found_over_the_joints_of_its_pieces() {
        let line = |seq: u64, call: &str, stream: &str, chunk: &str| {
            let payload = json!({"toolCallId": call, "stream": stream, "chunk": chunk});
            json!({"seq": seq, "id": "e", "type": "tool_output_chunk", "payload": payload})
                .to_string()
        };
        let found = |second: (&str, &str, &str)| {
            let lines = [
                line(1, "c", "stderr", "error: could not com"),
                json!({"seq": 2, "type": "progress", "payload": {"message": "x"}}).to_string(),
                line(3, second.0, second.1, second.2),
            ];
            quickly(&lines, "could not compile", How::AnyCase)
        };
        assert_eq!(found(("c", "stderr", "pile foo\n")), [3]);
        assert_eq!(found(("c", "stderr", "\u{1b}[1mpile\u{1b}[0m foo\n")), [3]);
        for other in [("d", "stderr", "pile foo\n"), ("c", "stdout", "pile foo\n")] {
            assert!(found(other).is_empty(), "{other:?}");
        }
    }

    /// The slow way: each line is parsed, each text is looked through character by character, as it is folded.
    fn plainly(lines: &[String], needle: &str, how: How) -> Vec<u64> {
        let fold = |character: char| -> Vec<char> {
            match how {
                How::Exact => vec![character],
                How::AnyCase | How::Pattern => character.to_lowercase().collect(),
            }
        };
        let has = |text: &[char], wanted: &[char], from_end: usize| -> bool {
            (0..text.len()).any(|start| {
                let mut folded = Vec::new();
                for (at, character) in text.iter().enumerate().skip(start) {
                    folded.extend(fold(*character));
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
        };
        fn texts(value: &Value, found: &mut Vec<String>) {
            match value {
                Value::String(text) => found.push(text.clone()),
                Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
                Value::Object(fields) => fields.values().for_each(|field| texts(field, found)),
                _ => {}
            }
        }
        let wanted: Vec<char> = needle.chars().flat_map(fold).collect();
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
                let payload = &event["payload"];
                let of = json!([
                    event["type"],
                    event["responseId"],
                    payload["part"],
                    payload["stream"]
                ]);
                if before.0 != of {
                    before = (of, Vec::new());
                }
                let joint = before.1.len();
                let text = payload["text"].as_str().or(payload["chunk"].as_str());
                before.1.extend(text.unwrap().chars());
                is_found |= has(&before.1, &wanted, joint);
            }
            if is_found {
                found.push(event["seq"].as_u64().unwrap());
            }
        }
        found
    }

    fn quickly(lines: &[String], needle: &str, how: How) -> Vec<u64> {
        let needle = Needle::new(needle, how).unwrap();
        let asked = Asked {
            after: 0,
            limit: usize::MAX,
        };
        let found = search_in(&needle, asked, &|_| None, |visit| {
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
                    let (kind, key) = [
                        ("assistant_chunk", "text"),
                        ("thinking_chunk", "text"),
                        ("tool_output_chunk", "chunk"),
                        ("notice", "text"),
                    ][rand(4)];
                    let response = ["r1", "r2"][rand(8) / 7];
                    let more = ["", r#","more":[{"kia":"Ak"}]"#, r#","stream":"x""#];
                    let more = more[(rand(8) / 6) * (1 + rand(2))];
                    format!(
                        r#"{{"seq":{seq},"id":"e{seq}","type":"{kind}","responseId":"{response}","payload":{{"{key}":"{written}"{more}}}}}"#
                    )
                })
                .collect();
            let needle: String = (0..rand(3) + 1)
                .map(|_| letters[rand(letters.len())])
                .collect();
            for how in [How::AnyCase, How::Exact] {
                let expected = plainly(&lines, &needle, how);
                n_found += expected.len();
                assert_eq!(
                    quickly(&lines, &needle, how),
                    expected,
                    "{needle:?} in {lines:#?}"
                );
            }
        }
        assert!(n_found > 1500, "{n_found}");
    }

    #[test]
    fn events_with_bodies_take_no_more_time_than_a_search_has() {
        let needle = Needle::new("quokka", How::AnyCase).unwrap();
        let n_opened = Cell::new(0);
        let open = |_: &str| {
            n_opened.set(n_opened.get() + 1);
            std::thread::sleep(TIME / 2);
            tempfile::tempfile().ok()
        };
        let line = |seq: u64| {
            let body =
                json!({"$body": {"sha256": "00", "bytes": 9, "preview": "", "truncated": true}});
            json!({"id": seq, "type": "a_chunk", "payload": {"n": body, "of": "a_chunk"}})
                .to_string()
        };
        let asked = Asked {
            after: 10,
            limit: 100,
        };
        let found = search_in(&needle, asked, &open, |visit| {
            let _ = (1..=40).try_for_each(|seq| visit(seq, &line(seq)));
            Ok(())
        });
        let found = found.unwrap();
        assert!(found.matches.is_empty() && found.unread.is_empty());
        // None of those before the cursor, and of the others as many as there was time for.
        assert!(n_opened.get() <= 3, "{} are opened", n_opened.get());
        assert_eq!(found.next, Some(10 + n_opened.get()));
    }

    #[test]
    fn a_snippet_is_one_short_line() {
        let text = format!("{}\n needle\t{}", "a".repeat(500), "é".repeat(500));
        let needle = Needle::new("NEEDLE", How::AnyCase).unwrap();
        let (from, to) = needle.find(&text).unwrap();
        let snippet = snippet(&text, from, to);
        let expected = format!("…{}  needle {}…", "a".repeat(58), "é".repeat(59));
        assert_eq!(snippet, expected);
    }
}
