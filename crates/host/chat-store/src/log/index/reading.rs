//! Reading an index file: all of it that is needed at once, and a stretch of it when it is asked for.

use std::borrow::Cow;
use std::fs::File;

use chat_event::jsonl::crc32c;

use super::super::files::{Files, Reader};
use super::super::ids::{BLOCK_BYTES, Ids, Older};
use super::{Facts, HEAD_BYTES, Index, MAGIC, MAGIC_OF_ANY, MOST_TABLE_BYTES, Tail};
use crate::blobs::sha256_hex;
use crate::platform;

/// So much of an index is read at once: of a session of up to 512 ids its facts end within it, behind two blocks of places.
pub(super) const BEGINNING_BYTES: usize = 4 * BLOCK_BYTES;

/// The index, where it is of the beginning of this log.
pub(in crate::log) fn load(files: &Files, log: &mut Reader) -> Option<Index> {
    // It is written to as well: a tail goes to its end.
    let mut options = platform::private_file();
    let file = options.read(true).write(true).open(files.index()).ok()?;
    let mut beginning = [0; BEGINNING_BYTES];
    let text = read_ours(&file, &mut beginning)?;
    let facts: Facts = serde_json::from_slice(&text).ok()?;
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
    let behind = serde_json::from_slice(&text).ok()?;
    Some(Index {
        facts,
        behind,
        lines,
        ids,
    })
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

/// The facts alone: of what stands beside them nothing is made, for a folder of thousands is listed so.
pub(super) fn read_facts(file: &File) -> Option<Facts> {
    let mut beginning = [0; BEGINNING_BYTES];
    let text = read_ours(file, &mut beginning)?;
    serde_json::from_slice(&text).ok()
}

fn read_ours<'b>(file: &File, beginning: &'b mut [u8; BEGINNING_BYTES]) -> Option<Cow<'b, [u8]>> {
    let (magic, text) = read_text(file, beginning)?;
    (&magic == MAGIC).then_some(text)
}

/// The magic, and the facts as they stand there: where they lie in the file's beginning, in what that is read into.
pub(super) fn read_text<'b>(
    file: &File,
    beginning: &'b mut [u8; BEGINNING_BYTES],
) -> Option<([u8; 8], Cow<'b, [u8]>)> {
    // What it does not give is read below.
    let filled = platform::read_at(file, beginning, 0).ok()?;
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
        Some(facts) => Cow::Borrowed(facts),
        None => {
            let mut facts = vec![0; bytes];
            read_exact_at(file, &mut facts, at)?;
            Cow::Owned(facts)
        }
    };
    let checksum = u32::from_le_bytes(head[24..28].try_into().ok()?);
    (crc32c(&facts) == checksum).then_some((magic, facts))
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

pub(super) fn read_range(log: &mut Reader, from: u64, to: u64) -> Option<Vec<u8>> {
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
