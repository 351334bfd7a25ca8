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

/// Lines between two looks at the clock, and bytes of such lines: a text of letters of many scripts, which begins as what is looked
/// for does again and again, takes a hundred times what reading it takes.
const LINES_A_LOOK: u32 = 64;
const BYTES_A_LOOK: usize = 32 * 1024;

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
    let (mut n_lines, mut n_bytes) = (0, 0);
    let mut ended = true;
    let mut joint = Joint::default();
    let pieces = memchr::memmem::Finder::new(b"_chunk\"");
    let references = memchr::memmem::Finder::new(texts::REFERENCE);
    walk(&mut |seq, line| {
        if n_bytes >= BYTES_A_LOOK {
            (n_lines, n_bytes) = (0, 0);
        }
        let late = n_lines % lines_a_look == 0 && Instant::now() > deadline;
        // One line is always looked at, or a search could stand still.
        if matches.len().max(unread.len()) >= asked.limit || (late && looked_at.is_some()) {
            ended = false;
            return ControlFlow::Break(());
        }
        let is_run_up = seq <= asked.after;
        if !is_run_up {
            n_lines += 1;
            n_bytes += line.len();
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
mod tests;
