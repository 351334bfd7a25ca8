//! What was read, counted; and what could not be read or is of no known kind, kept as notices and as it is.

use std::collections::BTreeMap;

use chat_event::payload::{Notice, Raw};
use chat_event::{ChatEvent, Extra, Json};
use serde_json::Value;

use super::{Emitter, Place, cut};

/// The longest text of an unreadable line that its notice keeps.
const KEPT_TEXT_BYTES: usize = 4096;

/// So many things of a line that no rule knows are kept. A line can hold millions of them, and one that is kept takes several
/// hundred times as much memory as one of two bytes.
const MAX_RAW_OF_LINE: u32 = 10_000;

/// What was read so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Lines taken, blank ones not counted.
    pub lines: u64,
    /// Events made.
    pub events: u64,
    /// Lines, and parts of them, that could not be read; each gave a `notice`.
    pub unreadable: u64,
    /// Lines and parts that no rule knows, by their kind; each gave a `raw`, but for those of a line that has too many.
    pub raw: BTreeMap<String, u64>,
    /// Lines that a rule passes over, by their kind.
    pub passed_over: BTreeMap<String, u64>,
    /// Lines that came before, word for word the same id.
    pub repeated: u64,
}

impl Emitter {
    /// Adds a notice about the line that is read now.
    pub(crate) fn notice(
        &mut self,
        level: &str,
        place: &Place,
        source: &str,
        text: impl Into<String>,
    ) -> &mut ChatEvent {
        let tag = self.next_tag("notice");
        let notice = Notice {
            level: level.to_owned(),
            text: text.into(),
            source: Some(source.to_owned()),
            line: Some(self.line_no),
            extra: Extra::default(),
        };
        self.add(&tag, place, notice)
    }

    /// Adds the notice for a line that could not be read; what stands there is kept with it.
    pub(crate) fn unreadable(&mut self, reason: &str, text: &str) {
        self.report.unreadable += 1;
        let tag = self.next_tag("unreadable");
        let notice = unreadable_notice(self.line_no, reason, text);
        self.add(&tag, &Place::default(), notice);
    }

    /// Keeps what no rule knows.
    pub(crate) fn raw(&mut self, place: &Place, format: &str, kind: &str, value: &Value) {
        count_kind(&mut self.report.raw, kind);
        if self.raw_of_line.0 != self.line_no {
            self.raw_of_line = (self.line_no, 0);
        }
        self.raw_of_line.1 = self.raw_of_line.1.saturating_add(1);
        if self.raw_of_line.1 > MAX_RAW_OF_LINE {
            if self.raw_of_line.1 == MAX_RAW_OF_LINE + 1 {
                let line_no = self.line_no;
                let told = format!(
                    "Line {line_no} has more than {MAX_RAW_OF_LINE} parts of no known kind; those beyond are not kept"
                );
                self.notice("warning", place, "reader", told);
            }
            return;
        }
        let tag = self.next_tag("raw");
        let raw = Raw {
            format: format.to_owned(),
            value: Json::from(value),
            extra: Extra::default(),
        };
        self.add(&tag, place, raw);
    }

    /// Counts a line that a rule passes over on purpose.
    pub(crate) fn pass_over(&mut self, kind: &str) {
        count_kind(&mut self.report.passed_over, kind);
    }
}

/// What is said of a line that could not be read; what stands there is kept with it.
pub(crate) fn unreadable_notice(line_no: u64, reason: &str, text: &str) -> Notice {
    let mut extra = Extra::default();
    let kept = cut(text, KEPT_TEXT_BYTES);
    if !kept.is_empty() {
        extra.insert(Notice::FOUND, Json::string(kept));
    }
    if kept.len() < text.len() {
        extra.insert("bytes", Json::from(Value::from(text.len())));
    }
    Notice {
        level: "warning".to_owned(),
        text: format!("Line {line_no} could not be read: {reason}"),
        source: Some("reader".to_owned()),
        line: Some(line_no),
        extra,
    }
}

/// Kinds that are counted by their name; further ones are counted together.
const MAX_KINDS: usize = 1000;

/// Counts a kind. Kinds come from the source, so their length and their number are bounded.
pub(crate) fn count_kind(counts: &mut BTreeMap<String, u64>, kind: &str) {
    let kind = cut(kind, 80);
    if let Some(count) = counts.get_mut(kind) {
        *count += 1;
    } else if counts.len() < MAX_KINDS {
        counts.insert(kind.to_owned(), 1);
    } else {
        *counts.entry("other kinds".to_owned()).or_default() += 1;
    }
}
