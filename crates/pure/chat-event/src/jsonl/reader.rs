//! Events of the lines of a log, and word of what could not be read.
//!
//! What came before is told by `doubles`, and what is missing by `numbers`.

mod doubles;
mod numbers;

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasherDefault;
use std::ops::Range;

use super::foreign::{HEAD_BYTES, foreign_mark};
use super::lines::{Line, LineContent, LineSplitter};
use super::report::{Flaws, ReadReport, Record, Tail, Unreadable, UnreadableKind};
use super::salvage::{Damage, Found, one_value, read_record, salvage_with_reasons};
use doubles::{Hashed, hash_of_content, hash_of_id};

/// As much of what could not be read as is handed on.
const PREVIEW_BYTES: usize = 4096;

/// Makes events of the bytes of a log that come in any pieces.
///
/// Events come out in the order of the file. An event whose id came before in the same session is left out: without a
/// word where it says the same (`seq`, `recv` and the checksum aside), else with an [`Unreadable`] of the kind
/// [`UnreadableKind::Conflict`]. An event without an id is given `line-N`; `seq` stays empty where the log gives none.
/// Lines about the log itself (`log_start` …) always come out.
///
/// ```
/// use chat_event::jsonl::LogReader;
/// let mut records = Vec::new();
/// let mut reader = LogReader::new();
/// reader.push(b"{\"type\":\"turn_end\",\"payload\":{}}\n{\"type\":", &mut |record| records.push(record));
/// reader.finish(&mut |record| records.push(record));
/// assert_eq!(records[0].content.as_ref().unwrap().id, "line-1");
/// assert_eq!(records[1].content.as_ref().unwrap_err().reason, "the last line is cut off");
/// assert_eq!(reader.report().unreadable, 1);
/// ```
#[derive(Clone, Debug, Default)]
pub struct LogReader {
    splitter: LineSplitter,
    records: RecordReader,
    head: Vec<u8>,
    foreign: bool,
}

impl LogReader {
    /// A reader at the beginning of a log.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes of the log; calls `on_record` for each record they complete.
    pub fn push(&mut self, bytes: &[u8], on_record: &mut dyn FnMut(Record)) {
        self.records.report.bytes += bytes.len() as u64;
        if self.foreign {
            return;
        }
        if self.head.len() < HEAD_BYTES {
            let wanted = HEAD_BYTES - self.head.len();
            self.head.extend(bytes.iter().take(wanted));
            if let Some((mark_len, what)) = foreign_mark(&self.head) {
                self.foreign = true;
                let why = (UnreadableKind::Foreign, format!("the file is {what}"));
                let range = 0..mark_len as u64;
                self.records.report.lines = 1;
                let unread = Unread {
                    line: 1,
                    range,
                    text: "",
                };
                self.records.refuse(unread, why, on_record);
                return;
            }
        }
        let records = &mut self.records;
        self.splitter
            .push(bytes, &mut |line| records.take_line(&line, on_record));
        records.report.lines = self.splitter.lines();
    }

    /// Ends the log; calls `on_record` for what its last line holds.
    pub fn finish(&mut self, on_record: &mut dyn FnMut(Record)) {
        if self.foreign {
            return;
        }
        let records = &mut self.records;
        if self.splitter.open() {
            records.report.tail = Tail::NoNewline;
        }
        self.splitter
            .finish(&mut |line| records.take_line(&line, on_record));
    }

    /// The sums so far.
    pub fn report(&self) -> &ReadReport {
        &self.records.report
    }
}

/// Makes events of lines; remembers what tells doubles.
#[derive(Clone, Debug, Default)]
struct RecordReader {
    report: ReadReport,
    /// The ids that came, as hashes, with a hash of what their events say. Never gone through, so its order reaches
    /// nobody.
    seen: HashMap<u64, u64, BuildHasherDefault<Hashed>>,
    /// The session whose numbers are being followed, and the highest of them.
    session_id: String,
    last_seq: Option<u64>,
}

/// A place that could not be read.
struct Unread<'a> {
    line: u64,
    range: Range<u64>,
    text: &'a str,
}

/// Where a record was found.
struct Place {
    line: u64,
    range: Range<u64>,
    /// How many records the line gave before it.
    n_before: u64,
}

impl RecordReader {
    fn take_line(&mut self, line: &Line<'_>, on_record: &mut dyn FnMut(Record)) {
        let bytes = match line.content {
            LineContent::Bytes(bytes) => bytes,
            LineContent::Zeros if !line.ended => {
                self.report.tail = Tail::Zeros(line.range.clone());
                return;
            }
            LineContent::Zeros => {
                let n_bytes = line.range.end - line.range.start;
                let why = (
                    UnreadableKind::Zeros,
                    format!("nothing but {n_bytes} zero bytes"),
                );
                self.refuse_line(line, why, on_record);
                return;
            }
            LineContent::TooLong => {
                let n_bytes = line.range.end - line.range.start;
                let reason = format!("{n_bytes} bytes are more than a line may have");
                self.refuse_line(line, (UnreadableKind::TooLong, reason), on_record);
                return;
            }
        };
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(bytes),
        };
        let flaws = Flaws {
            not_utf8: matches!(text, Cow::Owned(_)),
            ..Flaws::default()
        };
        match read_record(&text, bytes) {
            Ok(found) => {
                let range = range_of(line, bytes, 0..bytes.len(), flaws);
                let place = Place {
                    line: line.number,
                    range,
                    n_before: 0,
                };
                self.accept(place, bytes, found, flaws, on_record);
            }
            // A whole value is not torn, so there is nothing to save within it.
            Err(why) if why.0 == UnreadableKind::Checksum || one_value(&text) => {
                self.refuse_line_text(line, &text, why, on_record);
            }
            Err(_) => self.take_pieces(line, bytes, &text, flaws, on_record),
        }
    }

    /// Takes a line that holds not exactly one value.
    fn take_pieces(
        &mut self,
        line: &Line<'_>,
        bytes: &[u8],
        text: &str,
        flaws: Flaws,
        on_record: &mut dyn FnMut(Record),
    ) {
        let mut n_before = 0;
        let mut damaged = false;
        salvage_with_reasons(text, &mut |within, piece| {
            let range = range_of(line, bytes, within.clone(), flaws);
            match piece {
                Ok(found) => {
                    let flaws = Flaws {
                        salvaged: damaged,
                        ..flaws
                    };
                    let written = text.get(within).unwrap_or_default().as_bytes();
                    let place = Place {
                        line: line.number,
                        range,
                        n_before,
                    };
                    self.accept(place, written, found, flaws, on_record);
                    n_before += 1;
                }
                Err(mut why) => {
                    damaged = true;
                    if !line.ended && within.end == text.len() {
                        why = (
                            UnreadableKind::CutOff,
                            "the last line is cut off".to_owned(),
                        );
                        self.report.tail = Tail::CutOff(line.range.clone());
                    }
                    let unread = Unread {
                        line: line.number,
                        range,
                        text: text.get(within).unwrap_or_default(),
                    };
                    self.refuse(unread, why, on_record);
                }
            }
        });
    }

    /// Hands on an event, unless it came before.
    fn accept(
        &mut self,
        place: Place,
        written: &[u8],
        (mut event, lone_surrogate): Found,
        mut flaws: Flaws,
        on_record: &mut dyn FnMut(Record),
    ) {
        if event.id.is_empty() {
            event.id = match place.n_before {
                0 => format!("line-{}", place.line),
                n_before => format!("line-{}.{}", place.line, n_before + 1),
            };
        }
        if !event.is_control() {
            let said = hash_of_content(&event, written);
            match self.seen.entry(hash_of_id(&event)) {
                Entry::Vacant(entry) => {
                    entry.insert(said);
                }
                Entry::Occupied(before) if *before.get() == said => {
                    self.report.duplicates += 1;
                    return;
                }
                Entry::Occupied(_) => {
                    self.report.conflicts += 1;
                    let reason = format!(
                        "another event with the id {} came before; the first one counts",
                        event.id
                    );
                    let content = Err(Unreadable {
                        kind: UnreadableKind::Conflict,
                        reason,
                        text: preview(&event.to_line()),
                    });
                    on_record(Record {
                        line: place.line,
                        range: place.range,
                        content,
                        flaws,
                    });
                    return;
                }
            }
        }
        self.follow_numbers(&event, place.line);
        flaws.lone_surrogate = lone_surrogate;
        self.report.events += 1;
        self.report.mended += u64::from(!flaws.none());
        on_record(Record {
            line: place.line,
            range: place.range,
            content: Ok(event),
            flaws,
        });
    }

    fn refuse_line(&mut self, line: &Line<'_>, why: Damage, on_record: &mut dyn FnMut(Record)) {
        self.refuse_line_text(line, "", why, on_record);
    }

    fn refuse_line_text(
        &mut self,
        line: &Line<'_>,
        text: &str,
        why: Damage,
        on_record: &mut dyn FnMut(Record),
    ) {
        if !line.ended {
            self.report.tail = Tail::CutOff(line.range.clone());
        }
        let unread = Unread {
            line: line.number,
            range: line.range.clone(),
            text,
        };
        self.refuse(unread, why, on_record);
    }

    fn refuse(
        &mut self,
        unread: Unread<'_>,
        (kind, reason): Damage,
        on_record: &mut dyn FnMut(Record),
    ) {
        self.report.unreadable += 1;
        on_record(Record {
            line: unread.line,
            range: unread.range,
            content: Err(Unreadable {
                kind,
                reason,
                text: preview(unread.text),
            }),
            flaws: Flaws::default(),
        });
    }
}

/// Where a stretch of a line's text is in the source.
fn range_of(line: &Line<'_>, bytes: &[u8], within: Range<usize>, flaws: Flaws) -> Range<u64> {
    if flaws.not_utf8 || within.len() == bytes.len() {
        // U+FFFD is longer than what it stands for, so offsets in the text are not those in the source.
        return line.range.clone();
    }
    line.content_start + within.start as u64..line.content_start + within.end as u64
}

fn preview(text: &str) -> String {
    let end = text.floor_char_boundary(PREVIEW_BYTES);
    text.get(..end).unwrap_or_default().to_owned()
}
