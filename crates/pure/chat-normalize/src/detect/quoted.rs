//! Sessions that a text quotes, told from sessions.

use crate::dialect::Dialect;

/// So many lines of words may stand before a session's first line, as programs print that start it.
const MAX_WORDS_BEFORE: u64 = 8;

/// Behind more of them so many more lines of JSON than of words show that it is a session, and no text that quotes one.
const SHOWN_BY: i64 = 8;

/// Whether what speaks for a dialect is a session's, or stands in a text that tells of such.
#[derive(Debug, Default)]
pub(super) struct Quoted {
    /// Lines of words before the first that speaks for a dialect.
    n_words_before: u64,
    /// The dialect that is in doubt.
    pub(super) doubted: Option<Dialect>,
    /// From the line on that speaks for a dialect: how many more lines are JSON than words.
    lead: i64,
    has_spoken: bool,
}

impl Quoted {
    /// Takes note of a line; `speaks` is whether it is the first that speaks for a dialect, or one of those behind it.
    pub(super) fn line(&mut self, is_json: bool, is_words: bool, speaks: bool) {
        self.has_spoken |= speaks;
        if self.has_spoken {
            self.lead += i64::from(is_json) - i64::from(is_words);
        } else {
            self.n_words_before += u64::from(is_words);
        }
    }

    /// Whether a line that decides may be one that is quoted.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.n_words_before > MAX_WORDS_BEFORE && self.lead < SHOWN_BY
    }

    /// Whether it is one, where no more is looked at.
    pub(super) fn is_quoted(&self) -> bool {
        self.n_words_before > MAX_WORDS_BEFORE && self.lead < 0
    }
}
