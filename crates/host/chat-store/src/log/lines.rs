//! Lines of the file, whatever stands in them.

use std::io;

use chat_event::jsonl::{MAX_LINE_BYTES, crc32c};
use memchr::{memchr, memchr_iter};

use super::files::Reader;

const BLOCK_BYTES: usize = 256 * 1024;

/// Lines of a part of a file, one after the other.
pub(super) struct Lines<'a> {
    reader: &'a mut Reader,
    /// Where the next block is read.
    at: u64,
    end: u64,
    block: Vec<u8>,
    /// Where the next line begins within the block.
    used: usize,
}

/// One line without its newline.
pub(super) struct Line<'a> {
    pub(super) offset: u64,
    /// Its bytes in the file.
    pub(super) length: u64,
    /// What it says; of one that is longer than a line may be, only the end.
    pub(super) bytes: &'a [u8],
    /// Whether a newline ends it.
    pub(super) ended: bool,
}

impl<'a> Lines<'a> {
    pub(super) fn new(reader: &'a mut Reader, start: u64, end: u64) -> Self {
        Lines {
            reader,
            at: start,
            end,
            block: Vec::new(),
            used: 0,
        }
    }

    pub(super) fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        let mut searched = self.used;
        // Bytes of the line that were read and are not held.
        let mut dropped = 0;
        loop {
            if let Some(n) = memchr(b'\n', &self.block[searched..]) {
                let newline = searched + n;
                let start = self.used;
                self.used = newline + 1;
                let in_block = (self.block.len() - start) as u64;
                return Ok(Some(Line {
                    offset: self.at - in_block - dropped,
                    length: (newline - start) as u64 + dropped,
                    bytes: &self.block[start..newline],
                    ended: true,
                }));
            }
            self.block.drain(..self.used);
            self.used = 0;
            if self.block.len() > MAX_LINE_BYTES {
                dropped += self.block.len() as u64;
                self.block.clear();
            }
            searched = self.block.len();
            if self.fill()? == 0 {
                break;
            }
        }
        if self.block.is_empty() && dropped == 0 {
            return Ok(None);
        }
        self.used = self.block.len();
        let length = self.block.len() as u64 + dropped;
        Ok(Some(Line {
            offset: self.at - length,
            length,
            bytes: &self.block,
            ended: false,
        }))
    }

    fn fill(&mut self) -> io::Result<usize> {
        let wanted = usize::try_from(self.end.saturating_sub(self.at))
            .unwrap_or(usize::MAX)
            .min(BLOCK_BYTES);
        let len = self.block.len();
        self.block.resize(len + wanted, 0);
        let n = self.reader.read_at(&mut self.block[len..], self.at)?;
        self.block.truncate(len + n);
        self.at += n as u64;
        Ok(n)
    }
}

/// The line that begins at `offset`.
pub(super) fn read_line_at(reader: &mut Reader, offset: u64, end: u64) -> io::Result<Vec<u8>> {
    let mut block = vec![0; 4096];
    let mut len = 0;
    loop {
        if len == block.len() {
            block.resize(len * 4, 0);
        }
        let wanted = usize::try_from(end.saturating_sub(offset))
            .unwrap_or(usize::MAX)
            .min(block.len());
        let n = match wanted.checked_sub(len) {
            None | Some(0) => 0,
            Some(_) => reader.read_at(&mut block[len..wanted], offset + len as u64)?,
        };
        let newline = memchr(b'\n', &block[len..len + n]);
        len += n;
        if let Some(at) = newline {
            block.truncate(len - n + at);
            break;
        }
        if n == 0 {
            block.truncate(len);
            break;
        }
    }
    Ok(block)
}

/// Whether the line has its checksum, and the right one. Every line of ours has.
pub(crate) fn checksum_holds(line: &[u8]) -> bool {
    let Some((before, tail)) = line.split_last_chunk::<16>() else {
        return false;
    };
    let mut right = *br#","c":"00000000"}"#;
    let checksum = crc32c(before);
    for (digit, at) in right[6..14].iter_mut().zip((0..8).rev()) {
        *digit = b"0123456789abcdef"[(checksum >> (4 * at)) as usize & 15];
    }
    *tail == right
}

/// As much of a line as its number takes.
pub(super) const SEQ_BYTES: usize = r#"{"seq":18446744073709551615,"#.len();

/// The number at the beginning of a line that we wrote.
pub(super) fn leading_seq(line: &[u8]) -> Option<u64> {
    let digits = line.strip_prefix(b"{\"seq\":")?;
    let len = digits.iter().position(|byte| !byte.is_ascii_digit())?;
    std::str::from_utf8(&digits[..len]).ok()?.parse().ok()
}

/// The highest number that begins a record in a damaged line, where it is near `expected`: what is damaged may say any
/// number, and one that is far too high would cost all between.
pub(super) fn highest_seq(line: &[u8], expected: u64) -> u64 {
    const SHORTEST_LINE_BYTES: u64 = 64;
    let most = expected + line.len() as u64 / SHORTEST_LINE_BYTES;
    memchr_iter(b'{', line)
        .filter_map(|at| leading_seq(&line[at..]))
        .filter(|&seq| seq <= most)
        .max()
        .unwrap_or_default()
}
