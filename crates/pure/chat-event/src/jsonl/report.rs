//! What a reader of logs hands on: records, and the sums of what it met.

use std::ops::Range;

use crate::ChatEvent;

/// One record of a log, or what stands in the place of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The line it stands in, from 1. A damaged line can give several records.
    pub line: u64,
    /// Where it is in the source, in bytes; of a record of a line that is not UTF-8, where the whole line is.
    pub range: Range<u64>,
    /// The event, or why there is none.
    pub content: Result<ChatEvent, Unreadable>,
    /// What had to be mended for it to be read.
    pub flaws: Flaws,
}

/// What had to be mended for a record to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flaws {
    /// The line was not UTF-8; U+FFFD stands for what was not.
    pub not_utf8: bool,
    /// An escape gave half a surrogate pair; U+FFFD stands for it.
    pub lone_surrogate: bool,
    /// It was cut out of a damaged line.
    pub salvaged: bool,
}

impl Flaws {
    /// Whether nothing had to be mended.
    pub fn none(self) -> bool {
        self == Flaws::default()
    }
}

/// A part of a log that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Of which kind the damage is.
    pub kind: UnreadableKind,
    /// Why, in words: the end of a sentence "line 7 could not be read: …".
    pub reason: String,
    /// What stands there, as far as it is text; at most 4 KiB.
    pub text: String,
}

/// The kinds of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnreadableKind {
    /// The whole source is no UTF-8 text; nothing more of it is read.
    Foreign,
    /// It is no JSON, or JSON that is no event.
    NoEvent,
    /// It is nested deeper than [`crate::MAX_DEPTH`].
    TooDeep,
    /// The line is longer than [`super::MAX_LINE_BYTES`].
    TooLong,
    /// The line holds nothing but zero bytes.
    Zeros,
    /// The last line ends in the middle of a record.
    CutOff,
    /// The bytes are not those that were written.
    Checksum,
    /// An event with the same id and another content came before; the first one counts.
    Conflict,
}

/// The sums of what a reader met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadReport {
    /// Events handed on.
    pub events: u64,
    /// Places that could not be read, conflicts not included.
    pub unreadable: u64,
    /// Events left out because the same event came before.
    pub duplicates: u64,
    /// Events refused because another event with their id came before.
    pub conflicts: u64,
    /// Events that were read from lines that are not UTF-8, have lone surrogates or are damaged.
    pub mended: u64,
    /// The first 1 000 holes in the numbers that no `log_gap` explains.
    pub gaps: Vec<SeqGap>,
    /// How many such holes there are.
    pub n_gaps: u64,
    /// Events whose number is not above that of an event before them; the order of the file counts.
    pub backwards: u64,
    /// Bytes taken.
    pub bytes: u64,
    /// Lines met, blank ones included.
    pub lines: u64,
    /// How the source ends; said once the reader was told that it does.
    pub tail: Tail,
}

/// A hole in the numbers of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeqGap {
    /// The first number that is missing.
    pub from: u64,
    /// The last number that is missing.
    pub to: u64,
    /// The line of the event behind the hole.
    pub line: u64,
}

/// How a source ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Tail {
    /// With a newline, or it is empty.
    #[default]
    Clean,
    /// With a whole record (or a blank) that lacks its newline.
    NoNewline,
    /// With zero bytes behind the last newline, which no record stands between.
    Zeros(Range<u64>),
    /// In the middle of a record; the range is that of the last line.
    CutOff(Range<u64>),
}
