//! Writing the index: as a whole under a name of its own, or a tail behind what is there.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use chat_event::jsonl::crc32c;
use serde::Serialize;

use super::super::ids::{self, BLOCK_BYTES, BLOCK_PLACES, Older, Place};
use super::super::{Log, WRITER};
use super::reading::read_range;
use super::{Facts, HEAD_BYTES, Indexed, MAGIC, Tables, Tail};
use crate::blobs::sha256_hex;
use crate::platform::{self, FileMark};
use crate::summing::Behind;

/// Places that are held in memory before the index is written anew; it is then about so many bytes times 32.
const HELD_PLACES: usize = 64 * 1024;

/// After a refusal the index is tried again when the log has grown by so much.
const RETRY_BYTES: u64 = 8 * 1024 * 1024;

/// An index that is no longer is written whole: a tail would cost as much.
const SHORT_BYTES: u64 = 4 * BLOCK_BYTES as u64;

/// What stands in the index: the facts, and what they do not tell.
#[derive(Serialize)]
struct Text<'t> {
    #[serde(flatten)]
    facts: &'t Facts,
    #[serde(flatten)]
    behind: &'t Behind,
}

impl Log {
    /// Whether it is time to write the index: memory for ids is bounded by it, and by an eighth of what is on the disk, so
    /// that all writing together stays near the size of the last.
    pub(crate) fn index_is_due(&self) -> bool {
        let (held, kept) = self.ids.counts();
        held >= HELD_PLACES && held as u64 >= kept / 8 && self.end >= self.index_not_before
    }

    /// Writes the index where the log has more than it says. A refusal costs a longer start and no more.
    pub(crate) fn write_index(&mut self) {
        let newest = FileMark::at(&self.files.newest()).ok();
        if self.indexed.end == self.end && self.indexed.newest == newest {
            return;
        }
        let written = match self.ids.kept_in() {
            Some(file) if self.tail_is_enough(file) => self.write_tail(file).map(|facts| {
                self.indexed = Indexed::of(&facts);
            }),
            Some(_) | None => self.write_whole(),
        };
        if let Err(why) = written {
            tracing::warn!(
                session = self.id.as_str(),
                "could not write the index: {why}"
            );
            self.index_not_before = self.end + RETRY_BYTES;
        }
    }

    /// Whether what is new goes behind what the index has. A tail has all that came since the blocks were written, and is
    /// written again whenever the log is put away: with so many places that its square is twice what the blocks have, both
    /// ways of writing cost the same.
    fn tail_is_enough(&self, file: &File) -> bool {
        let (held, kept) = self.ids.counts();
        let tables = self.indexed.tables;
        let whole_bytes = tables.at + tables.n_lines * 16 + tables.n_blocks() * 8;
        // Tails that count no more are as long as the rest at most.
        let has_room = |bytes: u64| bytes < 2 * whole_bytes;
        whole_bytes > SHORT_BYTES
            && (held as u64).saturating_pow(2) < kept.saturating_mul(2)
            && file.metadata().is_ok_and(|it| has_room(it.len()))
    }

    /// Writes a tail behind all that is there, and then the head that names it: until that is there, the old one counts.
    fn write_tail(&self, mut file: &File) -> io::Result<Facts> {
        let tables = self.indexed.tables;
        let places = self.ids.recent();
        let n_lines = usize::try_from(tables.n_lines).unwrap_or(usize::MAX);
        let lines = self.lines.get(n_lines..).unwrap_or_default();
        let mut tail = encode_pairs(places.iter().chain(lines));
        let at = file.metadata()?.len();
        let facts = Facts {
            tables,
            tail: Tail {
                n_places: places.len() as u64,
                n_lines: lines.len() as u64,
                at,
                crc: crc32c(&tail),
            },
            ..self.facts()?
        };
        let facts_at = at + tail.len() as u64;
        let text = self.text_of(&facts)?;
        tail.extend_from_slice(&text);
        file.seek(SeekFrom::Start(at))?;
        file.write_all(&tail)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&head(facts_at, &text))?;
        Ok(facts)
    }

    fn write_whole(&mut self) -> io::Result<()> {
        let path = self.files.index();
        let temporary = path.with_extension("idx.new");
        let written = self.write_whole_to(&temporary).and_then(|facts| {
            std::fs::rename(&temporary, &path)?;
            Ok(facts)
        });
        match written {
            Ok((facts, first_hashes, file)) => {
                self.ids.kept(Older::Kept {
                    file,
                    blocks_at: HEAD_BYTES as u64,
                    first_hashes,
                    n_places: facts.tables.n_places,
                });
                self.indexed = Indexed::of(&facts);
                Ok(())
            }
            Err(why) => {
                let _ = std::fs::remove_file(&temporary);
                Err(why)
            }
        }
    }

    fn write_whole_to(&self, path: &Path) -> io::Result<(Facts, Vec<u64>, File)> {
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
        let mut tables = encode_pairs(&self.lines);
        for hash in &first_hashes {
            tables.extend_from_slice(&hash.to_le_bytes());
        }
        let facts = Facts {
            tables: Tables {
                n_places,
                n_lines: self.lines.len() as u64,
                at: (HEAD_BYTES + first_hashes.len() * BLOCK_BYTES) as u64,
                crc: crc32c(&tables),
            },
            ..self.facts()?
        };
        let facts_at = facts.tables.at + tables.len() as u64;
        let text = self.text_of(&facts)?;
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
        let indexed = self.indexed;
        let facts = self.facts().ok();
        facts.filter(|facts| facts.end == indexed.end && facts.newest == indexed.newest)
    }

    /// What is known of a log whose newest file somebody removed: who asks for it has it read anew.
    pub(crate) fn facts_of_gone(&self) -> Option<Facts> {
        let is_gone = self.end > self.files.base() && self.files.is_gone();
        is_gone.then(|| self.facts_of_removed())
    }

    /// The same of one whose files are to go, whether they are gone or not.
    pub(crate) fn facts_of_removed(&self) -> Facts {
        let n_bytes = self.end.saturating_sub(self.files.base());
        self.facts_of(Some(FileMark::of_gone(n_bytes)), String::new())
    }

    /// The facts as they stand in the index.
    fn text_of(&self, facts: &Facts) -> io::Result<Vec<u8>> {
        let behind = &self.summing.behind;
        serde_json::to_vec(&Text { facts, behind }).map_err(io::Error::other)
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
        Ok(self.facts_of(newest, sha256_hex(&last_line)))
    }

    fn facts_of(&self, newest: Option<FileMark>, last_line_sha256: String) -> Facts {
        Facts {
            writer: WRITER.to_owned(),
            session: self.id.as_str().to_owned(),
            epochs: self.epochs.clone(),
            head: self.head,
            oldest: self.oldest,
            ends_clean: self.ends_clean,
            damaged: self.damaged,
            summary: Arc::new(self.summing.row.clone()),
            sealed: self.files.sealed.to_vec(),
            newest,
            end: self.end,
            last_line: self.last_line,
            last_line_sha256,
            id_key: self.ids.key().to_owned(),
            tables: Tables::default(),
            tail: Tail::default(),
            syncs: self.syncs,
        }
    }
}

fn encode_pairs<'a>(pairs: impl IntoIterator<Item = &'a (u64, u64)>) -> Vec<u8> {
    let words = pairs.into_iter().flat_map(|(one, other)| [one, other]);
    words.flat_map(|word| word.to_le_bytes()).collect()
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
