//! One session's log.
//!
//! Events get their number here and nowhere else, in the order in which they stand in the file. The promises of
//! `protocol.md` 5.7: one `write(2)` a group on an appending file, nothing half-written left behind, a line's checksum.
//! Taking events in is for `append`, those that another log numbered for `copied` and `home`, opening and repairing for
//! `open` and `scan`, writing for `write`, full files for `seal`, reading pages for `page`.

mod append;
mod aside;
mod begun;
mod condition;
mod copied;
mod epochs;
mod files;
mod home;
mod ids;
mod index;
mod lines;
mod open;
mod packed;
mod page;
mod records;
mod removal;
mod restored;
mod scan;
mod seal;
mod walk;
mod write;

use std::fs::File;
use std::sync::Arc;

use chat_event::ChatEvent;
use chat_event::compaction::Folded;

use crate::error::Error;
use crate::platform::FileMark;
use crate::session_id::SessionId;
use crate::summary::Summary;
use crate::summing::Summing;
use files::Reader;
use ids::Ids;

pub use append::Rewrite;
pub use condition::{Condition, SYNC_BOUNDS_US, SyncTimes};
pub use copied::Copied;
pub use epochs::Epoch;
pub use packed::Packed;
pub use page::{Gap, Page, PageRequest};
pub use removal::Freed;

pub(crate) use append::{Storing, items_of};
pub(crate) use begun::{end as end_begun, stem_of_mark};
pub(crate) use epochs::{CopyOf, Epochs};
pub(crate) use files::{ENDING, Files, Segment, of_name};
pub(crate) use index::Facts;
pub(crate) use lines::checksum_holds;
pub(crate) use open::Opening;
pub(crate) use packed::{is_begun as packing_is_begun, stem_of_packed};
pub(crate) use page::Snapshot;
pub(crate) use removal::{
    One as FileOfOne, all_by_stem as all_files_by_stem, all_of as all_files_of,
    is_begun as removal_is_begun, remove as remove_files, remove_each as remove_files_of_each,
};
pub(crate) use seal::forget as forget_segment;

/// What the log says about its writer.
const WRITER: &str = concat!("turnreel/", env!("CARGO_PKG_VERSION"));

/// One line's place is kept for this many bytes of log.
const LINE_EVERY_BYTES: u64 = 64 * 1024;

/// What became of a batch.
#[derive(Debug)]
pub struct Appended {
    /// The epoch the numbers belong to.
    pub epoch: String,
    /// One entry for each event of the batch, in its order.
    pub results: Vec<ItemResult>,
    /// The events that were stored, in order; their numbers follow each other, but for gaps that were copied.
    pub stored: Vec<Stored>,
    /// Whether they are on the disk, or only with the operating system.
    pub synced: bool,
    /// The session's row after it.
    pub summary: Summary,
    /// Whether nothing was stored because the batch was to be stored whole or not at all.
    pub refused: bool,
}

/// What became of one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemResult {
    /// It was stored.
    Stored {
        /// Its number.
        seq: u64,
        /// Its id.
        id: String,
        /// Whether the id came with it, so that sending it again does nothing.
        idempotent: bool,
    },
    /// It was stored before.
    Duplicate {
        /// The number it has.
        seq: u64,
    },
    /// Another event has its id.
    Conflict {
        /// The id.
        id: String,
        /// The number of the event that has it.
        seq: u64,
        /// Whether it says the same, at another time.
        only_time: bool,
    },
}

/// One stored event, as an event and as its line.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Its number.
    pub seq: u64,
    /// The event.
    pub event: ChatEvent,
    /// Its line in the log, without the newline.
    pub line: String,
}

/// One log, open for appending.
#[derive(Debug)]
pub(crate) struct Log {
    id: SessionId,
    files: Files,
    /// A file of so many bytes is sealed.
    segment_bytes: u64,
    /// Open since the first append; most logs are only read.
    file: Option<File>,
    /// The newest file as it was last seen; `None` where there is none.
    newest: Option<FileMark>,
    epochs: Epochs,
    /// The number of the last event, or of the last that cannot be had.
    head: u64,
    /// The number of the first event; 1 where there is none.
    oldest: u64,
    /// Where the log ends; what lies behind it is none of ours.
    end: u64,
    /// Where the last line begins.
    last_line: u64,
    /// `(seq, offset)` of lines, ascending.
    lines: Vec<(u64, u64)>,
    ids: Ids,
    summing: Summing,
    /// Whether it was made elsewhere and not appended to since.
    is_restored: bool,
    /// Whether the last line is a `log_end`.
    ends_clean: bool,
    unsynced: bool,
    /// What was written before is being made durable, by somebody who does not hold the log meanwhile.
    n_syncing: u32,
    /// Whether the name of the newest file may not be durable.
    unsynced_name: bool,
    failed: Option<String>,
    /// Damaged lines found on opening.
    damaged: u64,
    syncs: SyncTimes,
    indexed: index::Indexed,
    /// The index was refused, and is not tried again before the log has come so far.
    index_not_before: u64,
}

impl Log {
    /// Takes note of an event that stands at `offset`.
    fn note(&mut self, event: &ChatEvent, offset: u64) {
        let Some(seq) = event.seq else { return };
        let folded = Folded::of(event);
        if self.summing.row.events == 0 {
            let span = folded.as_ref().and_then(Folded::span);
            self.oldest = span.map_or(seq, |(from, _)| from);
        }
        self.head = seq;
        let far = self
            .lines
            .last()
            .is_none_or(|&(_, last)| offset >= last + LINE_EVERY_BYTES);
        if far {
            self.lines.push((seq, offset));
        }
        self.ids.insert(&event.id, offset);
        for id in folded.iter().flat_map(Folded::ids) {
            self.ids.insert(&id, offset);
        }
        self.summing.take(event);
    }

    /// The event with that id.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub(crate) fn find(&mut self, id: &str, now_ms: i64) -> Result<Option<ChatEvent>, Error> {
        if !self.may_read(FileMark::at(&self.files.newest()).ok()) {
            self.check_unchanged(now_ms)?;
        }
        let mut offsets = self.offsets_of(&[id], now_ms)?;
        self.find_at(id, &offsets.pop().unwrap_or_default())
    }

    /// For each id the offsets of the lines that may have it. Where the index cannot be trusted, the log is read anew.
    fn offsets_of(&mut self, ids: &[&str], now_ms: i64) -> Result<Vec<Vec<u64>>, Error> {
        let all = |log: &Log| ids.iter().map(|id| log.ids.candidates(id)).collect();
        let found: Result<Vec<_>, ids::Damaged> = all(self);
        if let Ok(found) = found {
            return Ok(found);
        }
        tracing::warn!(
            session = self.id.as_str(),
            "the index is damaged; it is made anew from the log"
        );
        self.reopen(None, now_ms)?;
        // It was made just now; a disk that loses it again is not asked a third time.
        all(self).map_err(|ids::Damaged| Error::Degraded {
            why: "the index cannot be read back".to_owned(),
        })
    }

    fn find_at(&self, id: &str, offsets: &[u64]) -> Result<Option<ChatEvent>, Error> {
        if offsets.is_empty() {
            return Ok(None);
        }
        let mut reader = self.files.reader()?;
        for offset in offsets {
            let line = lines::read_line_at(&mut reader, *offset, self.end)
                .map_err(|why| Error::io("read the log", &self.files.newest(), why))?;
            // The id on the line decides, so a wrong entry of the index gives no wrong answer.
            let mut records = records::places(&line, self.id.as_str());
            let found = records.find_map(|within| {
                let event = scan::read(line.get(within)?)?;
                match Folded::of(&event) {
                    Some(folded) => folded.event_of_id(id),
                    None => (event.id == id).then_some(event),
                }
            });
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Where to read the events behind `after`. What lies before its end never changes, and is there as long as the reader
    /// is held. Where another file has the log's name by now, that is read anew first: the places of lines are not its own.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub(crate) fn snapshot(
        &mut self,
        after: u64,
        held: Arc<()>,
        now_ms: i64,
    ) -> Result<Snapshot, Error> {
        let mut reader = self.files.reader()?;
        if !self.may_read(reader.newest_mark()) {
            self.check_unchanged(now_ms)?;
            reader = self.files.reader()?;
        }
        Ok(self.snapshot_of(reader, after, held))
    }

    /// The same of files that were just looked at.
    fn snapshot_of(&self, reader: Reader, after: u64, held: Arc<()>) -> Snapshot {
        let at = self
            .lines
            .partition_point(|&(seq, _)| seq <= after.saturating_add(1));
        let start = match at.checked_sub(1) {
            Some(at) => self.lines[at].1,
            None => self.lines.first().map_or(self.end, |&(_, offset)| offset),
        };
        Snapshot {
            reader,
            path: self.files.newest(),
            session: self.id.clone(),
            epoch: self.epochs.now().to_owned(),
            head: self.head,
            oldest: self.oldest,
            start,
            end: self.end,
            _held: held,
        }
    }

    /// Whether what is known of the log is of that newest file. There may be more in it, of what could not be taken back.
    fn may_read(&self, newest: Option<FileMark>) -> bool {
        match (self.newest, newest) {
            (None, None) => true,
            (Some(seen), Some(found)) => {
                seen.is_same_file(found) && found.bytes >= self.end - self.files.base()
            }
            (None, Some(_)) | (Some(_), None) => false,
        }
    }

    pub(crate) fn files(&self) -> &Files {
        &self.files
    }

    pub(crate) fn summary(&self) -> &Summary {
        &self.summing.row
    }

    pub(crate) fn epochs(&self) -> &Epochs {
        &self.epochs
    }

    pub(crate) fn head(&self) -> u64 {
        self.head
    }

    pub(crate) fn oldest(&self) -> u64 {
        self.oldest
    }

    pub(crate) fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Whether it has what is not durable, or is not known to be: the disk may be at it.
    pub(crate) fn is_unsynced(&self) -> bool {
        self.unsynced || self.is_syncing() || self.unsynced_name
    }

    /// Whether the disk is at it, for somebody who does not hold the log.
    pub(crate) fn is_syncing(&self) -> bool {
        self.n_syncing > 0
    }

    /// Whether it must stay open: what it knows stands nowhere else.
    pub(crate) fn is_degraded(&self) -> bool {
        self.failed.is_some()
    }
}

#[cfg(test)]
impl Log {
    /// Has a file in place of its own that no disk makes durable.
    pub(crate) fn lose_its_disk(&mut self) {
        self.file = Some(File::open("/dev/null").unwrap());
        self.unsynced = true;
    }

    /// Writes an event, loses its way in what is known of the log, and panics.
    pub(crate) fn fail_half_way(&mut self, mut event: ChatEvent) -> ! {
        event.seq = Some(self.head + 1);
        self.write_lines([event.to_line_with_checksum()]).unwrap();
        self.lines.clear();
        self.summing.row.events += 1;
        self.last_line = 0;
        self.ids = Ids::new().unwrap();
        panic!("half way");
    }
}
