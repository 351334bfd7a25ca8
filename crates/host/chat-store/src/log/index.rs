//! The index of a log, `<stem>.idx`: what a program needs to open the log without reading it.
//!
//! It is a cache and says nothing that the log does not. It is of the log's beginning, up to some line; what stands behind is
//! read when the log is opened. It is left aside, and written anew, where it is of another program's version, where the files
//! are not the ones it was made of, where its last line is another, and where a checksum is wrong. The id on a line decides
//! in any case, so no index gives a wrong answer.
//!
//! Layout: a head of 32 bytes (magic, place, length and checksum of the facts), blocks of places by hash (`ids`), numbers and
//! offsets of lines, the blocks' first hashes, and the facts as JSON. Behind them may stand tails: what came since the blocks
//! were written, and newer facts. The head names the newest facts, and these the one tail that counts.
//!
//! Reading it is for `reading`, writing it for `writing`.

mod reading;
mod writing;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::condition::{Condition, SyncTimes};
use super::epochs::Epochs;
use super::files::{Files, Segment};
use super::ids::{BLOCK_PLACES, Ids};
use crate::platform::{self, FileMark};
use crate::summary::Summary;
use crate::summing::Behind;
pub(super) use reading::load;
use reading::{BEGINNING_BYTES, read_facts, read_text};

const MAGIC: &[u8; 8] = b"TURNIDX8";

/// How the magic of each of our versions begins.
const MAGIC_OF_ANY: &[u8] = b"TURNIDX";

const HEAD_BYTES: usize = 32;

/// An index that says it has more is damaged: 16 bytes for each 64 KiB of a log of 640 GiB.
const MOST_TABLE_BYTES: u64 = 256 * 1024 * 1024;

/// What is known of a log without reading it. In the index stands more: what is needed by who goes on with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Facts {
    /// The program's version: another one may count otherwise.
    writer: String,
    pub(crate) session: String,
    pub(crate) epochs: Epochs,
    pub(crate) head: u64,
    pub(crate) oldest: u64,
    pub(crate) ends_clean: bool,
    pub(crate) damaged: u64,
    /// Shared with who lists it: of most sessions nothing else is ever asked for.
    #[serde(with = "shared")]
    pub(crate) summary: Arc<Summary>,
    /// The segments, and the newest file as it was.
    pub(crate) sealed: Vec<Segment>,
    pub(crate) newest: Option<FileMark>,
    /// Up to where it goes.
    pub(crate) end: u64,
    pub(super) last_line: u64,
    last_line_sha256: String,
    id_key: String,
    tables: Tables,
    tail: Tail,
    /// How long it took to make the log durable, while this program runs.
    #[serde(skip)]
    syncs: SyncTimes,
}

/// What stands behind the blocks of places, and how many places these have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tables {
    n_places: u64,
    n_lines: u64,
    at: u64,
    crc: u32,
}

impl Tables {
    fn n_blocks(self) -> u64 {
        self.n_places.div_ceil(BLOCK_PLACES as u64)
    }
}

/// Places and lines that came since the blocks were written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tail {
    n_places: u64,
    n_lines: u64,
    at: u64,
    crc: u32,
}

/// How far the index goes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Indexed {
    /// Up to where in the log.
    end: u64,
    /// The newest file as it was then: who cuts it back to this length leaves another time in it.
    newest: Option<FileMark>,
    tables: Tables,
}

impl Indexed {
    pub(super) fn of(facts: &Facts) -> Self {
        Indexed {
            end: facts.end,
            newest: facts.newest,
            tables: facts.tables,
        }
    }
}

impl Facts {
    /// What the index says of the log, where it is of the log as it is now: nobody wrote to it since.
    pub(crate) fn of_whole(files: &Files) -> Option<Facts> {
        let file = platform::private_file().read(true).open(files.index());
        let facts = read_facts(&file.ok()?)?;
        let newest = FileMark::at(&files.newest()).ok();
        let is_whole = facts.fits(files) && facts.newest == newest;
        let end = files.base() + newest.map_or(0, |mark| mark.bytes);
        // Of what a full disk leaves of a new log nothing is known.
        (is_whole && facts.end == end && end > 0).then_some(facts)
    }

    /// The files it is of.
    pub(crate) fn files(&self, dir: &Path, stem: &str) -> Files {
        Files {
            sealed: self.sealed.clone().into(),
            ..Files::of_one(dir, stem)
        }
    }

    /// Whether nobody wrote to the newest file since.
    pub(crate) fn is_of_now(&self, files: &Files) -> bool {
        FileMark::at(&files.newest()).ok() == self.newest
    }

    /// Whether somebody removed the newest file since.
    pub(crate) fn is_gone(&self, files: &Files) -> bool {
        self.newest.is_some() && files.is_gone()
    }

    /// How the log is.
    pub(crate) fn condition(&self) -> Condition {
        Condition {
            epoch: self.epochs.now().to_owned(),
            head: self.head,
            oldest: self.oldest,
            events: self.summary.events,
            bytes: self.end,
            damaged_lines: self.damaged,
            degraded: None,
            synced: true,
            syncs: self.syncs,
        }
    }

    /// Whether it is of these files.
    fn fits(&self, files: &Files) -> bool {
        self.writer == super::WRITER && self.sealed == *files.sealed
    }
}

/// What is known of a log whose index does not fit: it is another version's, or of a log that was another.
#[derive(Debug, Deserialize)]
pub(super) struct Before {
    session: String,
    pub(super) epochs: Epochs,
    pub(super) head: u64,
    newest: Option<FileMark>,
}

impl Before {
    /// What the index says of the session's log, whatever became of that since, and whichever version wrote it.
    pub(super) fn of(files: &Files, session: &str) -> Option<Before> {
        let file = platform::private_file().read(true).open(files.index());
        let mut beginning = [0; BEGINNING_BYTES];
        let (_, text) = read_text(&file.ok()?, &mut beginning)?;
        let before: Before = serde_json::from_slice(&text).ok()?;
        (before.session == session).then_some(before)
    }

    /// Whether none of the files is the one that was appended to: somebody put others in their place. A stop leaves the file
    /// that it was, or the segment that it became.
    pub(super) fn is_of_other_files(&self, files: &Files) -> bool {
        let Some(then) = self.newest else {
            return false;
        };
        let is_it =
            |path: PathBuf| FileMark::at(&path).is_ok_and(|mark| mark.is_same_file_since(then));
        let mut sealed = files.sealed.iter().rev();
        !is_it(files.newest()) && !sealed.any(|segment| is_it(files.segment(segment.number)))
    }
}

/// What the index has of a log.
pub(super) struct Index {
    pub(super) facts: Facts,
    pub(super) behind: Behind,
    pub(super) lines: Vec<(u64, u64)>,
    pub(super) ids: Ids,
}

/// A summary that is shared, written and read as if it were not.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::summary::Summary;

    pub(super) fn serialize<S: Serializer>(it: &Arc<Summary>, to: S) -> Result<S::Ok, S::Error> {
        Summary::serialize(it, to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(of: D) -> Result<Arc<Summary>, D::Error> {
        Summary::deserialize(of).map(Arc::new)
    }
}
