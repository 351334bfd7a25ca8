//! The index of a log, `<stem>.idx`: what a program needs to open the log without reading it.
//!
//! It is a cache and says nothing that the log does not. It is of the log's beginning, up to some line; what stands behind is
//! read when the log is opened. It is left aside, and written anew, where it is of another program's version, where the files
//! are not the ones it was made of, where its last line is another, and where a checksum is wrong. The id on a line decides
//! in any case, so no index gives a wrong answer.
//!
//! Layout: a head of 32 bytes (magic, place, length and checksum of the facts), blocks of places by hash (`ids`), numbers and
//! offsets of lines, the blocks' first hashes, and the facts as JSON.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use chat_event::jsonl::crc32c;
use serde::{Deserialize, Serialize};

use super::Log;
use super::condition::{Condition, SyncTimes};
use super::files::{Files, Reader, Segment};
use super::ids::{self, BLOCK_BYTES, BLOCK_PLACES, Ids, Older, Place};
use crate::blobs::sha256_hex;
use crate::now::Now;
use crate::platform::{self, FileMark};
use crate::spent::Spent;
use crate::summary::Summary;

const MAGIC: &[u8; 8] = b"TURNIDX2";
const HEAD_BYTES: usize = 32;

/// An index that says it has more is damaged: 16 bytes for each 64 KiB of a log of 640 GiB.
const MOST_TABLE_BYTES: u64 = 256 * 1024 * 1024;

/// Places that are held in memory before the index is written anew; it is then about so many bytes times 32.
const HELD_PLACES: usize = 64 * 1024;

/// After a refusal the index is tried again when the log has grown by so much.
const RETRY_BYTES: u64 = 8 * 1024 * 1024;

/// What is known of a log without reading it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Facts {
    /// The program's version: another one may count otherwise.
    writer: String,
    pub(crate) session: String,
    pub(crate) epoch: String,
    pub(crate) head: u64,
    pub(crate) oldest: u64,
    pub(crate) ends_clean: bool,
    pub(crate) damaged: u64,
    /// Shared with who lists it: of most sessions nothing else is ever asked for.
    #[serde(with = "shared")]
    pub(crate) summary: Arc<Summary>,
    /// What the summary does not tell of what is open, but needs to go on.
    now: Now,
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
    n_places: u64,
    n_lines: u64,
    tables_at: u64,
    tables_crc: u32,
    /// How long it took to make the log durable, while this program runs.
    #[serde(skip)]
    syncs: SyncTimes,
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

    /// How the log is.
    pub(crate) fn condition(&self) -> Condition {
        Condition {
            epoch: self.epoch.clone(),
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

/// What the index has of a log.
pub(super) struct Index {
    pub(super) facts: Facts,
    pub(super) lines: Vec<(u64, u64)>,
    pub(super) ids: Ids,
}

/// The index, where it is of the beginning of this log.
pub(super) fn load(files: &Files, log: &mut Reader) -> Option<Index> {
    let file = platform::private_file().read(true).open(files.index());
    let file = file.ok()?;
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
    let n_blocks = facts.n_places.div_ceil(BLOCK_PLACES as u64);
    let table_bytes = facts.n_lines.checked_mul(16)?;
    let table_bytes = table_bytes.checked_add(n_blocks.checked_mul(8)?)?;
    if table_bytes > MOST_TABLE_BYTES {
        return None;
    }
    let mut tables = vec![0; usize::try_from(table_bytes).ok()?];
    read_exact_at(&file, &mut tables, facts.tables_at)?;
    if crc32c(&tables) != facts.tables_crc {
        return None;
    }
    let (words, _) = tables.as_chunks::<8>();
    let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
    let mut lines = Vec::new();
    for _ in 0..facts.n_lines {
        lines.push((words.next()?, words.next()?));
    }
    let older = Older::Kept {
        first_hashes: words.collect(),
        blocks_at: HEAD_BYTES as u64,
        n_places: facts.n_places,
        file,
    };
    let ids = Ids::with(facts.id_key.clone(), older);
    Some(Index { facts, lines, ids })
}

impl Log {
    /// Whether it is time to write the index: memory for ids is bounded by it, and by an eighth of what is on the disk, so
    /// that all writing together stays near the size of the last.
    pub(super) fn index_is_due(&self) -> bool {
        let (held, kept) = self.ids.counts();
        held >= HELD_PLACES && held as u64 >= kept / 8 && self.end >= self.index_not_before
    }

    /// Writes the index where the log has more than it says. A refusal costs a longer start and no more.
    pub(crate) fn write_index(&mut self) {
        if self.indexed_end == self.end && self.ids.counts().0 == 0 {
            return;
        }
        if let Err(why) = self.try_write_index() {
            tracing::warn!(
                session = self.id.as_str(),
                "could not write the index: {why}"
            );
            self.index_not_before = self.end + RETRY_BYTES;
        }
    }

    fn try_write_index(&mut self) -> io::Result<()> {
        let path = self.files.index();
        let temporary = path.with_extension("idx.new");
        let written = self.write_index_to(&temporary).and_then(|facts| {
            std::fs::rename(&temporary, &path)?;
            Ok(facts)
        });
        match written {
            Ok((facts, first_hashes, file)) => {
                self.ids.kept(Older::Kept {
                    file,
                    blocks_at: HEAD_BYTES as u64,
                    first_hashes,
                    n_places: facts.n_places,
                });
                self.indexed_end = facts.end;
                Ok(())
            }
            Err(why) => {
                let _ = std::fs::remove_file(&temporary);
                Err(why)
            }
        }
    }

    fn write_index_to(&self, path: &Path) -> io::Result<(Facts, Vec<u64>, File)> {
        let file = platform::private_file()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(path)?;
        let mut out = BufWriter::with_capacity(256 * 1024, file);
        out.write_all(&[0; HEAD_BYTES])?;
        let mut block: Vec<Place> = Vec::with_capacity(BLOCK_PLACES);
        let mut first_hashes = Vec::new();
        let mut n_places = 0;
        self.ids.each(&mut |place| {
            n_places += 1;
            block.push(place);
            if block.len() == BLOCK_PLACES {
                first_hashes.push(block[0].0);
                out.write_all(&ids::encode(&block))?;
                block.clear();
            }
            Ok(())
        })?;
        if let Some(first) = block.first() {
            first_hashes.push(first.0);
            out.write_all(&ids::encode(&block))?;
        }
        let mut tables = Vec::with_capacity(self.lines.len() * 16 + first_hashes.len() * 8);
        for (seq, offset) in &self.lines {
            tables.extend_from_slice(&seq.to_le_bytes());
            tables.extend_from_slice(&offset.to_le_bytes());
        }
        for hash in &first_hashes {
            tables.extend_from_slice(&hash.to_le_bytes());
        }
        let facts = Facts {
            tables_at: (HEAD_BYTES + first_hashes.len() * BLOCK_BYTES) as u64,
            tables_crc: crc32c(&tables),
            n_lines: self.lines.len() as u64,
            n_places,
            ..self.facts()?
        };
        let facts_at = facts.tables_at + tables.len() as u64;
        let text = serde_json::to_vec(&facts).map_err(io::Error::other)?;
        out.write_all(&tables)?;
        out.write_all(&text)?;
        out.seek(SeekFrom::Start(0))?;
        out.write_all(&head(facts_at, &text))?;
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok((facts, first_hashes, file))
    }

    /// Takes what is known of the time before it was put away and stands in no file.
    pub(crate) fn go_on_from(&mut self, facts: &Facts) {
        self.syncs = facts.syncs;
    }

    /// What is known of a log that can be put away: all of it stands in the index.
    pub(crate) fn kept_facts(&self) -> Option<Facts> {
        let is_kept = self.indexed_end == self.end && self.ids.counts().0 == 0;
        self.facts().ok().filter(|_| is_kept)
    }

    /// What is known of the log now, but for the tables.
    fn facts(&self) -> io::Result<Facts> {
        let mut reader = self.files.reader().map_err(io::Error::other)?;
        let newest = reader.newest_mark();
        if newest.map_or(0, |mark| mark.bytes) + self.files.base() != self.end {
            return Err(io::Error::other("the log was changed by somebody else"));
        }
        let last_line = read_range(&mut reader, self.last_line, self.end)
            .ok_or_else(|| io::Error::other("the last line cannot be read"))?;
        Ok(Facts {
            writer: super::WRITER.to_owned(),
            session: self.id.as_str().to_owned(),
            epoch: self.epoch.clone(),
            head: self.head,
            oldest: self.oldest,
            ends_clean: self.ends_clean,
            damaged: self.damaged,
            summary: Arc::new(self.summary.clone()),
            now: self.summary.now.clone(),
            spent: self.summary.spent.clone(),
            sealed: self.files.sealed.to_vec(),
            newest,
            end: self.end,
            last_line: self.last_line,
            last_line_sha256: sha256_hex(&last_line),
            id_key: self.ids.key().to_owned(),
            n_places: 0,
            n_lines: 0,
            tables_at: 0,
            tables_crc: 0,
            syncs: self.syncs,
        })
    }
}

fn head(facts_at: u64, facts: &[u8]) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..8].copy_from_slice(MAGIC);
    head[8..16].copy_from_slice(&facts_at.to_le_bytes());
    head[16..24].copy_from_slice(&(facts.len() as u64).to_le_bytes());
    head[24..28].copy_from_slice(&crc32c(facts).to_le_bytes());
    let checksum = crc32c(&head[..28]);
    head[28..].copy_from_slice(&checksum.to_le_bytes());
    head
}

fn read_facts(file: &File) -> Option<Facts> {
    // The index of most sessions is not longer: a folder of thousands is listed by one read each.
    let mut beginning = [0; 2 * BLOCK_BYTES];
    // What it does not give is read below.
    let filled = platform::read_at(file, &mut beginning, 0).ok()?;
    let beginning = &beginning[..filled];
    let head = beginning.first_chunk::<HEAD_BYTES>()?;
    let checksum = u32::from_le_bytes(head[28..].try_into().ok()?);
    if &head[..8] != MAGIC || crc32c(&head[..28]) != checksum {
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
        Some(facts) => Cow::Borrowed(facts),
        None => {
            let mut facts = vec![0; bytes];
            read_exact_at(file, &mut facts, at)?;
            Cow::Owned(facts)
        }
    };
    let checksum = u32::from_le_bytes(head[24..28].try_into().ok()?);
    if crc32c(&facts) != checksum {
        return None;
    }
    let mut facts: Facts = serde_json::from_slice(&facts).ok()?;
    let summary = Arc::make_mut(&mut facts.summary);
    summary.now = std::mem::take(&mut facts.now);
    summary.spent = std::mem::take(&mut facts.spent);
    Some(facts)
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
