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
//! Writing it is for `writing`.

mod writing;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chat_event::Standing;
use chat_event::jsonl::crc32c;
use serde::{Deserialize, Serialize};

use super::condition::{Condition, SyncTimes};
use super::epochs::Epochs;
use super::files::{Files, Reader, Segment};
use super::ids::{BLOCK_BYTES, BLOCK_PLACES, Ids, Older};
use crate::blobs::sha256_hex;
use crate::now::Now;
use crate::platform::{self, FileMark};
use crate::spent::Spent;
use crate::summary::Summary;

const MAGIC: &[u8; 8] = b"TURNIDX7";
/// How the magic of each of our versions begins.
const MAGIC_OF_ANY: &[u8] = b"TURNIDX";
const HEAD_BYTES: usize = 32;

/// An index that says it has more is damaged: 16 bytes for each 64 KiB of a log of 640 GiB.
const MOST_TABLE_BYTES: u64 = 256 * 1024 * 1024;

/// What is known of a log without reading it.
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
    /// What the summary does not tell of what is open, but needs to go on.
    now: Now,
    /// The same of how the session stands.
    standing: Standing,
    /// The same of what it used.
    spent: Spent,
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
        (is_whole && facts.end == files.base() + newest.map_or(0, |mark| mark.bytes))
            .then_some(facts)
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
        let (_, text) = read_text(&file.ok()?)?;
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
    pub(super) lines: Vec<(u64, u64)>,
    pub(super) ids: Ids,
}

/// The index, where it is of the beginning of this log.
pub(super) fn load(files: &Files, log: &mut Reader) -> Option<Index> {
    // It is written to as well: a tail goes to its end.
    let mut options = platform::private_file();
    let file = options.read(true).write(true).open(files.index()).ok()?;
    let facts = read_facts(&file)?;
    let now = log.newest_mark();
    let is_of_it = match (facts.newest, now) {
        (Some(then), Some(now)) => {
            let unchanged = then == now;
            then.is_same_file(now) && (unchanged || now.bytes > then.bytes)
        }
        (None, _) => true,
        (Some(_), None) => false,
    };
    if !facts.fits(files) || !is_of_it || facts.end > log.end().ok()? {
        return None;
    }
    let last_line = read_range(log, facts.last_line, facts.end)?;
    if sha256_hex(&last_line) != facts.last_line_sha256 {
        return None;
    }
    let (tables, tail) = (facts.tables, facts.tail);
    let n_words = tables.n_lines.checked_mul(2)?;
    let n_words = n_words.checked_add(tables.n_blocks())?;
    let mut words = read_words(&file, n_words, tables.at, tables.crc)?.into_iter();
    let mut lines = Vec::new();
    for _ in 0..tables.n_lines {
        lines.push((words.next()?, words.next()?));
    }
    let older = Older::Kept {
        first_hashes: words.collect(),
        blocks_at: HEAD_BYTES as u64,
        n_places: tables.n_places,
        file,
    };
    let mut ids = Ids::with(facts.id_key.clone(), older);
    if tail != Tail::default() {
        let n_pairs = tail.n_places.checked_add(tail.n_lines)?;
        let words = read_words(ids.kept_in()?, n_pairs.checked_mul(2)?, tail.at, tail.crc)?;
        let mut words = words.into_iter();
        for _ in 0..tail.n_places {
            ids.insert_place((words.next()?, words.next()?));
        }
        for _ in 0..tail.n_lines {
            lines.push((words.next()?, words.next()?));
        }
    }
    Some(Index { facts, lines, ids })
}

/// Numbers that stand in a row, where their checksum is this.
fn read_words(file: &File, n_words: u64, at: u64, crc: u32) -> Option<Vec<u64>> {
    let n_bytes = n_words.checked_mul(8)?;
    if n_bytes > MOST_TABLE_BYTES {
        return None;
    }
    let mut bytes = vec![0; usize::try_from(n_bytes).ok()?];
    read_exact_at(file, &mut bytes, at)?;
    if crc32c(&bytes) != crc {
        return None;
    }
    let (words, _) = bytes.as_chunks::<8>();
    Some(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
}

fn read_facts(file: &File) -> Option<Facts> {
    let (magic, text) = read_text(file)?;
    if &magic != MAGIC {
        return None;
    }
    let mut facts: Facts = serde_json::from_slice(&text).ok()?;
    let summary = Arc::make_mut(&mut facts.summary);
    summary.now = std::mem::take(&mut facts.now);
    summary.standing = std::mem::take(&mut facts.standing);
    summary.spent = std::mem::take(&mut facts.spent);
    Some(facts)
}

/// The magic, and the facts as they stand there.
fn read_text(file: &File) -> Option<([u8; 8], Vec<u8>)> {
    // The index of most sessions is not longer: a folder of thousands is listed by one read each.
    let mut beginning = [0; 2 * BLOCK_BYTES];
    // What it does not give is read below.
    let filled = platform::read_at(file, &mut beginning, 0).ok()?;
    let beginning = &beginning[..filled];
    let head = beginning.first_chunk::<HEAD_BYTES>()?;
    let checksum = u32::from_le_bytes(head[28..].try_into().ok()?);
    let magic = *head.first_chunk::<8>()?;
    if !magic.starts_with(MAGIC_OF_ANY) || crc32c(&head[..28]) != checksum {
        return None;
    }
    let at = u64::from_le_bytes(head[8..16].try_into().ok()?);
    let bytes = u64::from_le_bytes(head[16..24].try_into().ok()?);
    if bytes > MOST_TABLE_BYTES {
        return None;
    }
    let bytes = usize::try_from(bytes).ok()?;
    let within = usize::try_from(at).ok();
    let within = within.and_then(|at| beginning.get(at..at.checked_add(bytes)?));
    let facts = match within {
        Some(facts) => facts.to_vec(),
        None => {
            let mut facts = vec![0; bytes];
            read_exact_at(file, &mut facts, at)?;
            facts
        }
    };
    let checksum = u32::from_le_bytes(head[24..28].try_into().ok()?);
    (crc32c(&facts) == checksum).then_some((magic, facts))
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

fn read_exact_at(file: &File, buffer: &mut [u8], at: u64) -> Option<()> {
    let mut filled = 0;
    while filled < buffer.len() {
        match platform::read_at(file, &mut buffer[filled..], at + filled as u64).ok()? {
            0 => return None,
            n => filled += n,
        }
    }
    Some(())
}

fn read_range(log: &mut Reader, from: u64, to: u64) -> Option<Vec<u8>> {
    let length = to.checked_sub(from)?;
    if length > MOST_TABLE_BYTES {
        return None;
    }
    let mut bytes = vec![0; usize::try_from(length).ok()?];
    let mut filled = 0;
    while filled < bytes.len() {
        match log
            .read_at(&mut bytes[filled..], from + filled as u64)
            .ok()?
        {
            0 => return None,
            n => filled += n,
        }
    }
    Some(bytes)
}
