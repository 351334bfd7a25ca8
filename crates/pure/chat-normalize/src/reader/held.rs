//! Lines of the source on their way to a normalizer.

use std::borrow::Cow;

/// A line and when its end came; lines are held as their own until the dialect is known, and lent after that.
#[derive(Debug)]
pub(super) struct Held<'a> {
    pub(super) line_no: u64,
    pub(super) arrival_ms: i64,
    pub(super) line: HeldLine<'a>,
}

/// What a line holds.
#[derive(Debug)]
pub(super) enum HeldLine<'a> {
    Text {
        text: Cow<'a, str>,
        lossy: bool,
        ended: bool,
    },
    Zeros,
    TooLong,
}

impl Held<'_> {
    /// The same line, to be kept.
    pub(super) fn kept(&self) -> Held<'static> {
        let line = match &self.line {
            HeldLine::Text { text, lossy, ended } => HeldLine::Text {
                text: Cow::Owned(text.to_string()),
                lossy: *lossy,
                ended: *ended,
            },
            HeldLine::Zeros => HeldLine::Zeros,
            HeldLine::TooLong => HeldLine::TooLong,
        };
        Held {
            line_no: self.line_no,
            arrival_ms: self.arrival_ms,
            line,
        }
    }

    pub(super) fn into_owned(self) -> Held<'static> {
        let line = match self.line {
            HeldLine::Text { text, lossy, ended } => HeldLine::Text {
                text: Cow::Owned(text.into_owned()),
                lossy,
                ended,
            },
            HeldLine::Zeros => HeldLine::Zeros,
            HeldLine::TooLong => HeldLine::TooLong,
        };
        Held {
            line_no: self.line_no,
            arrival_ms: self.arrival_ms,
            line,
        }
    }
}
