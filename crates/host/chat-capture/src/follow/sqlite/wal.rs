//! The write-ahead log beside a database (file format 4.1, 4.2): which pages its commits hold, and where.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use super::record::u32_at;
use crate::follow::file::Followed;

/// A write-ahead log that is longer is waited for: its owner writes it back.
const MOST_WAL_BYTES: u64 = 512 * 1024 * 1024;

/// As much is read at once, or one frame.
const PIECE_BYTES: usize = 256 * 1024;

const WAL_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

#[derive(Debug)]
pub(super) struct Wal {
    file: Followed,
    /// Its first bytes, which are others when it is written from its beginning.
    head: Vec<u8>,
    page_bytes: usize,
    /// Pages whose newest content is here, and where.
    pages: HashMap<u32, u64>,
}

impl Wal {
    /// Notes which pages its commits hold; `None` where there is none of that database.
    pub(super) fn open(path: &Path, page_bytes: usize) -> io::Result<Option<Wal>> {
        let mut file = match Followed::open(path) {
            Ok(file) => file,
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(why) => return Err(why),
        };
        if file.len()? > MOST_WAL_BYTES {
            return Err(io::Error::other("its write-ahead log is too long"));
        }
        let mut head = Vec::new();
        file.read(0, WAL_HEADER as u64, &mut head)?;
        if head.len() < WAL_HEADER {
            return Ok(None);
        }
        let is_big = match u32_at(&head, 0)? {
            0x377f_0682 => false,
            0x377f_0683 => true,
            _ => return Ok(None),
        };
        let sum = checksum((0, 0), &head[..24], is_big);
        if u32_at(&head, 8)? as usize != page_bytes
            || sum != (u32_at(&head, 24)?, u32_at(&head, 28)?)
        {
            return Ok(None);
        }
        let mut wal = Wal {
            file,
            head,
            page_bytes,
            pages: HashMap::new(),
        };
        wal.read_frames(sum, is_big)?;
        Ok(Some(wal))
    }

    fn read_frames(&mut self, mut sum: (u32, u32), is_big: bool) -> io::Result<()> {
        let frame_bytes = FRAME_HEADER + self.page_bytes;
        let mut at = WAL_HEADER as u64;
        let mut uncommitted: Vec<(u32, u64)> = Vec::new();
        let most = frame_bytes * (PIECE_BYTES / frame_bytes).max(1);
        let mut piece = Vec::new();
        loop {
            // It may have grown since its length was asked for.
            if at > MOST_WAL_BYTES {
                return Ok(());
            }
            self.file.read(at, most as u64, &mut piece)?;
            for frame in piece.chunks_exact(frame_bytes) {
                // What follows the last frame of this round is of an earlier one.
                if frame[8..16] != self.head[16..24] {
                    return Ok(());
                }
                sum = checksum(sum, &frame[..8], is_big);
                sum = checksum(sum, &frame[FRAME_HEADER..], is_big);
                if sum != (u32_at(frame, 16)?, u32_at(frame, 20)?) {
                    return Ok(());
                }
                uncommitted.push((u32_at(frame, 0)?, at + FRAME_HEADER as u64));
                if u32_at(frame, 4)? != 0 {
                    self.pages.extend(uncommitted.drain(..));
                }
                at += frame_bytes as u64;
            }
            if piece.len() < most {
                return Ok(());
            }
        }
    }

    /// Bytes of the pages that it holds.
    pub(super) fn n_bytes(&self) -> u64 {
        self.pages.len() as u64 * self.page_bytes as u64
    }

    /// Whether it was not begun anew since.
    pub(super) fn is_still(&mut self) -> bool {
        let mut head = Vec::new();
        let read = self.file.read(0, WAL_HEADER as u64, &mut head);
        read.is_ok() && head == self.head
    }

    /// Reads the newest content of a page; false where that is in the database's file.
    pub(super) fn read_page(
        &mut self,
        number: u32,
        most: u64,
        into: &mut Vec<u8>,
    ) -> io::Result<bool> {
        let Some(&at) = self.pages.get(&number) else {
            return Ok(false);
        };
        self.file.read(at, most, into)?;
        Ok(true)
    }
}

fn checksum((mut a, mut b): (u32, u32), bytes: &[u8], is_big: bool) -> (u32, u32) {
    let word = |bytes: &[u8]| {
        let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
        if is_big {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        }
    };
    for pair in bytes.chunks_exact(8) {
        a = a.wrapping_add(word(&pair[..4])).wrapping_add(b);
        b = b.wrapping_add(word(&pair[4..])).wrapping_add(a);
    }
    (a, b)
}
