//! An SQLite database that another program writes, read as it lies there: its tables, row by row, its indexes, and no
//! queries.
//!
//! No lock is taken and nothing is written, not even beside it, so its owner never notices us. For that a look may meet a
//! database in the middle of a change. Each look therefore reads the write-ahead log's commits first, and what was read
//! counts only if the database's own file stayed as it was meanwhile ([`Database::is_still`]).
//!
//! After <https://www.sqlite.org/fileformat2.html> (3.53): headers (1.3), b-tree pages (1.6), records (2.1), the
//! write-ahead log (4.1, 4.2). Databases in UTF-8 are read, as nearly all are; damage is an error and never a panic.

mod index;
mod record;
mod tree;
mod wal;

use std::io;
use std::path::{Path, PathBuf};

use super::file::{Facts, Followed};
pub(super) use index::Index;
pub(super) use record::Value;
use record::{damaged, slice, u16_at, u32_at};
pub(super) use tree::{Row, Table};
use wal::Wal;

/// Of one look not more is read than so many times what the files hold, and this: a damaged tree may have the same page in it
/// many times. A whole one is read once or twice, and the way to each slice of it.
const MOST_TIMES: u64 = 8;
const MOST_BYTES_MORE: u64 = 64 * 1024 * 1024;

/// A database as it was when it was looked at.
#[derive(Debug)]
pub(super) struct Database {
    path: PathBuf,
    file: Followed,
    facts: Facts,
    wal: Option<Wal>,
    page_bytes: usize,
    /// Bytes of a page that hold something.
    usable: usize,
    /// Bytes that may still be read.
    left: u64,
}

/// The file beside the database.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

impl Database {
    /// Looks at a database.
    ///
    /// # Errors
    ///
    /// Where it is none that is read, is being changed, or the disk refuses.
    pub(super) fn open(path: &Path) -> io::Result<Database> {
        if Facts::of(&beside(path, "-journal")).is_some_and(|facts| facts.len > 0) {
            return Err(damaged("a change of it is under way"));
        }
        let facts = Facts::of(path).unwrap_or_default();
        let mut file = Followed::open(path)?;
        let mut head = Vec::new();
        file.read(0, 100, &mut head)?;
        if !head.starts_with(b"SQLite format 3\0") || head.len() < 100 {
            return Err(io::Error::other("it is no SQLite database"));
        }
        // None is set as long as there is no table.
        if u32_at(&head, 56)? > 1 {
            return Err(io::Error::other("its texts are not UTF-8"));
        }
        let page_bytes = match u16_at(&head, 16)? {
            1 => 65_536,
            n => usize::from(n),
        };
        let reserved = usize::from(head[20]);
        if !page_bytes.is_power_of_two() || page_bytes < 512 || page_bytes - reserved < 480 {
            return Err(damaged("the length of its pages"));
        }
        let wal = Wal::open(&beside(path, "-wal"), page_bytes)?;
        let wal_bytes = wal.as_ref().map_or(0, Wal::n_bytes);
        let bytes = facts.len.saturating_add(wal_bytes);
        Ok(Database {
            path: path.to_owned(),
            file,
            facts,
            wal,
            page_bytes,
            usable: page_bytes - reserved,
            left: bytes
                .saturating_mul(MOST_TIMES)
                .saturating_add(MOST_BYTES_MORE),
        })
    }

    /// Whether nothing was written back to the database's file since, and the log not begun anew: else what was read may be of
    /// two states of it.
    pub(super) fn is_still(&mut self) -> bool {
        let is_log_still = self.wal.as_mut().is_none_or(Wal::is_still);
        is_log_still && Facts::of(&self.path) == Some(self.facts)
    }

    /// Counts what is read.
    fn spend(&mut self, bytes: usize) -> io::Result<()> {
        let left = self.left.checked_sub(bytes as u64);
        self.left = left.ok_or_else(|| damaged("something is in it many times"))?;
        Ok(())
    }

    fn page(&mut self, number: u32) -> io::Result<Vec<u8>> {
        self.spend(self.page_bytes)?;
        let mut page = Vec::new();
        let most = self.page_bytes as u64;
        let wal = self.wal.as_mut();
        if !wal.map_or(Ok(false), |wal| wal.read_page(number, most, &mut page))? {
            let at = u64::from(number)
                .checked_sub(1)
                .ok_or_else(|| damaged("page 0"))?;
            self.file.read(at * most, most, &mut page)?;
        }
        if page.len() < self.page_bytes {
            return Err(damaged("a page is missing"));
        }
        page.truncate(self.usable);
        Ok(page)
    }

    /// Of the bytes of a cell those that stand on its own page.
    fn payload_here<'a>(
        &self,
        page: &'a [u8],
        at: usize,
        len: usize,
        most: usize,
    ) -> io::Result<&'a [u8]> {
        let usable = self.usable;
        let least = (usable - 12) * 32 / 255 - 23;
        let here = if len <= most {
            len
        } else {
            let here = least + (len - least) % (usable - 4);
            if here <= most { here } else { least }
        };
        slice(page, at, here)
    }

    /// The bytes of a cell, of which what does not fit stands in pages of its own: `most` fits, and then at least `least`
    /// stands here (1.6, "cell payload overflow pages").
    fn payload(&mut self, page: &[u8], at: usize, len: usize, most: usize) -> io::Result<Vec<u8>> {
        self.spend(len)?;
        let usable = self.usable;
        let mut record = self.payload_here(page, at, len, most)?.to_vec();
        let here = record.len();
        if here < len {
            let mut next = u32_at(page, at + here)?;
            while record.len() < len {
                let page = self.page(next)?;
                next = u32_at(&page, 0)?;
                let more = (len - record.len()).min(usable - 4);
                record.extend_from_slice(slice(&page, 4, more)?);
            }
        }
        Ok(record)
    }
}

#[cfg(test)]
mod tests;
