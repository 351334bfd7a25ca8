//! Pages of a log, read from the file: nothing of it is held in memory.

use std::path::PathBuf;

use chat_event::ChatEvent;
use chat_event::compaction::Folded;
use serde::Serialize;

use super::files::Reader;
use super::lines::{Lines, leading_seq};
use super::records;
use crate::error::Error;
use crate::session_id::SessionId;

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct PageRequest {
    /// Events after this number.
    pub after: u64,
    /// At most this many.
    pub limit: usize,
    /// At most this many bytes of lines, but always one event.
    pub max_bytes: usize,
}

/// Numbers whose events cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// The first of them.
    pub from: u64,
    /// The last of them.
    pub to: u64,
    /// Why they are missing, in words.
    pub why: &'static str,
}

/// Events in order.
#[derive(Clone, Debug)]
pub struct Page {
    /// The epoch at the time of reading.
    pub epoch: String,
    /// The lines of the events.
    pub lines: Vec<String>,
    /// The number of each line: of one that stands for many, the last.
    pub numbers: Vec<u64>,
    /// The number to ask on from.
    pub next: u64,
    /// The last number there was.
    pub head: u64,
    /// The first number there is.
    pub oldest: u64,
    /// Numbers within the page whose events cannot be had.
    pub gaps: Vec<Gap>,
    /// Whether bodies that were to be put back are not there yet.
    pub lacks_bodies: bool,
}

/// Where a page begins, taken while nobody wrote; what lies before `end` never changes.
pub(crate) struct Snapshot {
    pub(super) reader: Reader,
    /// For messages.
    pub(super) path: PathBuf,
    pub(super) session: SessionId,
    pub(super) epoch: String,
    pub(super) head: u64,
    pub(super) oldest: u64,
    pub(super) start: u64,
    pub(super) end: u64,
    /// As long as it is there, the log is.
    pub(super) _held: std::sync::Arc<()>,
}

impl Snapshot {
    pub(crate) fn read(mut self, request: PageRequest) -> Result<Page, Error> {
        let mut page = Page {
            epoch: self.epoch,
            lines: Vec::new(),
            numbers: Vec::new(),
            next: request.after,
            head: self.head,
            oldest: self.oldest,
            gaps: Vec::new(),
            lacks_bodies: false,
        };
        if request.after >= self.head {
            return Ok(page);
        }
        let failed = |why| Error::io("read the log", &self.path, why);
        let mut lines = Lines::new(&mut self.reader, self.start, self.end);
        let mut bytes = 0;
        'page: while page.lines.len() < request.limit {
            let Some(line) = lines.next_line().map_err(failed)? else {
                // What is missing behind the last event is missing for good.
                page.miss_up_to(self.head + 1);
                break;
            };
            for within in records::places(line.bytes, self.session.as_str()) {
                let record = line.bytes.get(within).unwrap_or_default();
                let seq = leading_seq(record).filter(|&seq| seq > page.next && seq <= self.head);
                let Some((seq, text)) = seq.zip(std::str::from_utf8(record).ok()) else {
                    continue;
                };
                let is_full = page.lines.len() >= request.limit
                    || !page.lines.is_empty() && bytes + text.len() > request.max_bytes;
                if is_full {
                    break 'page;
                }
                bytes += text.len();
                page.miss_up_to(first_number(seq, page.next, text));
                page.lines.push(text.to_owned());
                page.numbers.push(seq);
                page.next = seq;
            }
        }
        Ok(page)
    }
}

/// The first of the numbers that a line stands for, where those before it are missing.
pub(super) fn first_number(seq: u64, last: u64, text: &str) -> u64 {
    // Nearly every line follows the one before.
    if seq <= last + 1 {
        return seq;
    }
    let event = ChatEvent::from_json(text).ok();
    let span = event.as_ref().and_then(|event| Folded::of(event)?.span());
    span.map_or(seq, |(from, _)| from.max(last + 1))
}

impl Page {
    /// Marks the numbers from the next one up to `seq` (without it) as missing.
    fn miss_up_to(&mut self, seq: u64) {
        if seq > self.next + 1 {
            self.gaps.push(Gap {
                from: self.next + 1,
                to: seq - 1,
                why: "disk",
            });
            self.next = seq - 1;
        }
    }
}
