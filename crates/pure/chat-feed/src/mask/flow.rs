//! A text that comes in pieces, masked while it comes: what may be the beginning of a secret waits until more of it is there.
//!
//! Secrets are words, so what waits is the last word, which may not be whole; and where what comes behind tells that what came
//! before is a secret, as much as that takes. Each piece is looked at together with what came before it. So what is given, put
//! together, is what the whole text would be, up to what a rule would have to look further back or ahead for.

use std::ops::Range;

use super::find::Found;
use super::{quotes, waits};

/// What need not be looked at again goes when it is so much.
const SPARE_BYTES: usize = 400;

/// No word waits that is longer: so much of its end does.
const MOST_HELD_BYTES: usize = 4_000;
const LEAST_HELD_BYTES: usize = 512;

/// What is longer, and no end of it in sight, is all of it masked up to the next space.
pub(super) const MOST_SECRET_BYTES: usize = 16_000;

/// One text.
#[derive(Clone, Debug, Default)]
pub(super) struct Flow {
    /// The text as it came: some of what was given, then what waits.
    text: String,
    /// Where what waits begins.
    given: usize,
    /// What was given ends in the middle of something that is masked.
    is_within: bool,
    /// All is masked up to the next space.
    is_swallowing: bool,
}

/// Who knows secrets.
pub(super) trait Look {
    /// Those of a text, in order and apart from each other.
    fn find(&self, text: &str) -> Vec<Found>;

    /// One of them was masked.
    fn note(&mut self, found: &Found);
}

impl Flow {
    /// A text of which this was given, and what was held of it is lost.
    pub(super) fn behind(given: &str) -> Self {
        let mut flow = Flow {
            text: given.to_owned(),
            given: given.len(),
            ..Flow::default()
        };
        flow.forget(&[]);
        flow
    }

    /// Whether something of it waits.
    pub(super) fn holds(&self) -> bool {
        self.given < self.text.len()
    }

    /// Takes the next piece, and gives what can be given by now.
    pub(super) fn push(&mut self, piece: &str, look: &mut dyn Look) -> String {
        let piece = self.swallow(piece);
        self.text.push_str(piece);
        self.give(false, look)
    }

    /// All of a text at once.
    pub(super) fn push_all(mut self, text: &str, look: &mut dyn Look) -> String {
        self.text.push_str(text);
        self.give(true, look)
    }

    /// What is known of the text.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// There is no more: gives what waits.
    pub(super) fn finish(&mut self, look: &mut dyn Look) -> String {
        self.give(true, look)
    }

    /// Nobody knows when there will be more: gives what waits, but for a word that may be half of a secret, which is masked as
    /// it goes on.
    pub(super) fn pause(&mut self, look: &mut dyn Look) -> String {
        let from = open_word(&self.text).max(self.given);
        if !may_be_half(&self.text[from..]) {
            return self.give(true, look);
        }
        self.text.truncate(from);
        let given = self.give(true, look) + &label_of(HALF);
        self.is_swallowing = true;
        given
    }

    /// What came before the next piece is not known: where it goes on in a word, that may be half of a secret, and is masked as
    /// it goes on. What stands in its place.
    pub(super) fn tear(&mut self, next: &str) -> String {
        let end = next.find(ends_word);
        // So little of one tells nothing.
        let is_little = end.is_some_and(|end| end < LEAST_HALF_BYTES);
        if next.is_empty() || is_little {
            return String::new();
        }
        self.is_swallowing = true;
        label_of(HALF)
    }

    /// The rest of a piece of which the beginning is masked, whatever it is.
    fn swallow<'p>(&mut self, piece: &'p str) -> &'p str {
        if !self.is_swallowing {
            return piece;
        }
        let Some(end) = piece.find(ends_word) else {
            return "";
        };
        self.is_swallowing = false;
        &piece[end..]
    }

    fn give(&mut self, all: bool, look: &mut dyn Look) -> String {
        let may_give = all || self.last_word_end() > 0 || self.holds_too_much();
        if !self.holds() || !may_give {
            return String::new();
        }
        let found = look.find(&self.text);
        let end = if all {
            self.text.len()
        } else {
            self.safe_end(&found)
        };
        let mut out = String::with_capacity(end - self.given);
        let mut copied = self.given;
        let mut is_within = false;
        for found in &found {
            let Range { start, end: ends } = found.range;
            if ends <= self.given || start >= end {
                continue;
            }
            out.push_str(&self.text[copied..start.max(copied)]);
            // Its label stands before what was given last.
            if !(self.is_within && start < self.given) {
                out.push_str(&label_of(found.kind));
                look.note(found);
            }
            copied = ends.min(end).max(copied);
            is_within = ends >= end;
        }
        out.push_str(&self.text[copied..end]);
        if end > self.given {
            self.is_within = is_within;
        }
        self.given = end;
        self.forget(&found);
        out
    }

    /// How much of what waits are whole words.
    fn last_word_end(&self) -> usize {
        let last = open_word(&self.text).saturating_sub(self.given);
        let waits = &self.text[self.given..];
        // What was masked before has no more to it.
        let label = waits
            .rfind("[masked: ")
            .and_then(|at| Some(at + waits[at..].find(']')? + 1));
        last.max(label.unwrap_or(0))
    }

    fn holds_too_much(&self) -> bool {
        self.text.len() - self.given > MOST_HELD_BYTES
    }

    /// Up to where nothing that comes can be told from what comes behind it to be a secret.
    fn safe_end(&self, found: &[Found]) -> usize {
        let text = &self.text;
        let mut end = self.given + self.last_word_end();
        if let Some(start) = waits::open_from(text, end) {
            end = end.min(start.max(self.given));
        }
        // What goes over spaces may go on.
        let crossing = found
            .iter()
            .find(|found| found.range.start < end && end < found.range.end);
        if let Some(found) = crossing {
            end = found.range.start.max(self.given);
        }
        if text.len() - end > MOST_HELD_BYTES {
            end = text.floor_char_boundary(text.len() - LEAST_HELD_BYTES);
        }
        end
    }

    /// Forgets what need not be looked at again.
    fn forget(&mut self, found: &[Found]) {
        let mut from = waits::context_from(&self.text[..self.given]);
        let open = found.iter().find(|found| {
            self.is_within && found.range.start < self.given && self.given <= found.range.end
        });
        if let Some(open) = open {
            from = from.min(open.range.start);
            if self.given - open.range.start > MOST_SECRET_BYTES {
                let rest = self.text.split_off(self.given);
                *self = Flow {
                    is_swallowing: true,
                    is_within: true,
                    ..Flow::default()
                };
                self.text = self.swallow(&rest).to_owned();
                return;
            }
        }
        // A word that began before is looked at as a whole or not at all.
        let from = self.text.ceil_char_boundary(from);
        let near = self
            .text
            .ceil_char_boundary(from.saturating_sub(waits::NEAR_BYTES));
        let begins = self.text[near..from].rfind(ends_word);
        let from = begins.map_or(from, |at| near + at);
        if from >= SPARE_BYTES {
            self.text.drain(..from);
            self.given -= from;
        }
    }
}

/// What stands in the place of a secret. It has no number: the same event is written the same whenever it comes.
pub(super) fn label_of(kind: &str) -> String {
    format!("[masked: {kind}]")
}

/// Less of a word tells nothing.
const LEAST_HALF_BYTES: usize = 4;

/// What a word is called that may be half of a secret.
pub(super) const HALF: &str = "cut word";

/// Whether a word that may go on may be half of a secret: more than the beginning of a common word.
fn may_be_half(word: &str) -> bool {
    word.len() >= 12 || word.contains('=') || word.bytes().any(|byte| byte.is_ascii_digit())
}

/// Where the last word of a text begins, which may go on: behind a space, or behind a letter that is a word, unless that
/// stands in a quote which is open.
fn open_word(text: &str) -> usize {
    let ends = |char: char| !ends_word(char);
    let from = text.trim_end_matches(ends).len();
    let run = text[..from].trim_end_matches(|char: char| !char.is_whitespace());
    match run.len() < from && quotes::opens(&text[run.len()..from]) {
        true => run.len(),
        false => from,
    }
}

/// Whether a word ends with this. Of scripts without spaces each letter is one.
pub(super) fn ends_word(char: char) -> bool {
    char.is_whitespace() || char >= '\u{2e80}'
}
