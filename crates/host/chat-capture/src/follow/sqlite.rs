//! An SQLite database that another program writes, read as it lies there: its tables, row by row, and no queries.
//!
//! No lock is taken and nothing is written, not even beside it, so its owner never notices us. For that a look may meet a
//! database in the middle of a change. Each look therefore reads the write-ahead log's commits first, and what was read
//! counts only if the database's own file stayed as it was meanwhile ([`Database::is_still`]).
//!
//! After <https://www.sqlite.org/fileformat2.html> (3.53): headers (1.3), b-tree pages (1.6), records (2.1), the
//! write-ahead log (4.1, 4.2). Databases in UTF-8 are read, as nearly all are; damage is an error and never a panic.

mod record;
mod wal;

use std::io;
use std::path::{Path, PathBuf};

use super::file::{Facts, Followed};
pub(super) use record::Value;
use record::{columns, damaged, slice, u16_at, u32_at, values, varint};
use wal::Wal;

/// Deeper trees do not occur: each level has tens of times as many pages.
const MOST_DEPTH: usize = 24;

/// Of one look not more is read than so many times what the files hold, and this: a damaged tree may have the same page in it
/// many times. A whole one is read once or twice, and the way to each slice of it.
const MOST_TIMES: u64 = 8;
const MOST_BYTES_MORE: u64 = 64 * 1024 * 1024;

/// The longest row that is read: a longer one would make no line that is read.
const MOST_ROW_BYTES: usize = chat_event::jsonl::MAX_LINE_BYTES;

/// Rows of one look, and their bytes.
const SLICE_ROWS: usize = 2000;
const SLICE_BYTES: usize = 4 * 1024 * 1024;

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

/// One row of a table.
#[derive(Debug, PartialEq)]
pub(super) struct Row {
    pub(super) rowid: i64,
    pub(super) values: Vec<Value>,
}

/// A table: where it begins, and the names of its columns.
#[derive(Clone, Debug)]
pub(super) struct Table {
    root: u32,
    columns: Vec<String>,
}

impl Table {
    /// Where a column's value stands in each row.
    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }
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

    /// The table of that name; `None` where there is none.
    pub(super) fn table(&mut self, name: &str) -> io::Result<Option<Table>> {
        let schema = Table {
            root: 1,
            columns: Vec::new(),
        };
        let mut found = None;
        self.walk(&schema, i64::MIN, &mut |row| {
            let Some([kind, own, _, root, sql]) = row.values.get(..5) else {
                return Ok(true);
            };
            if kind.text() == Some("table") && own.text() == Some(name) {
                let root = root.integer().and_then(|root| u32::try_from(root).ok());
                found = root.zip(sql.text().map(columns));
            }
            Ok(found.is_none())
        })?;
        Ok(found.map(|(root, columns)| Table { root, columns }))
    }

    /// The next rows of a table behind `after`, in their order; none at its end.
    pub(super) fn rows(&mut self, table: &Table, after: i64) -> io::Result<Vec<Row>> {
        let mut rows = Vec::new();
        let mut bytes = 0;
        self.walk(table, after, &mut |row| {
            let texts = row.values.iter().filter_map(Value::text);
            bytes += texts.map(str::len).sum::<usize>();
            bytes += size_of::<Row>() + row.values.len() * size_of::<Value>();
            rows.push(row);
            Ok(rows.len() < SLICE_ROWS && bytes < SLICE_BYTES)
        })?;
        Ok(rows)
    }

    /// The first row of a table behind `after`.
    pub(super) fn first_row(&mut self, table: &Table, after: i64) -> io::Result<Option<Row>> {
        let mut first = None;
        self.walk(table, after, &mut |row| {
            first = Some(row);
            Ok(false)
        })?;
        Ok(first)
    }

    /// Hands the rows behind `after` to `take`, until it says that it has enough.
    fn walk(
        &mut self,
        table: &Table,
        after: i64,
        take: &mut dyn FnMut(Row) -> io::Result<bool>,
    ) -> io::Result<()> {
        // The path from the root: a page, and its next cell.
        let mut path = vec![(table.root, self.page(table.root)?, 0)];
        let mut last = after;
        while let Some((number, page, cell)) = path.last_mut() {
            let at = if *number == 1 { 100 } else { 0 };
            let kind = *page.get(at).ok_or_else(|| damaged("a page"))?;
            let n_cells = usize::from(u16_at(page, at + 3)?);
            let is_leaf = match kind {
                0x0d => true,
                0x05 => false,
                _ => return Err(damaged("a page of another kind")),
            };
            let cells = at + if is_leaf { 8 } else { 12 };
            if is_leaf {
                let page = std::mem::take(page);
                path.pop();
                for cell in 0..n_cells {
                    let at = usize::from(u16_at(&page, cells + 2 * cell)?);
                    let Some(row) = self.row(&page, at, after)? else {
                        continue;
                    };
                    // Else who asks for what is behind the last one would be told the same again.
                    if row.rowid <= last {
                        return Err(damaged("its rows are out of order"));
                    }
                    last = row.rowid;
                    if !take(row)? {
                        return Ok(());
                    }
                }
                continue;
            }
            let child = match (*cell).cmp(&n_cells) {
                std::cmp::Ordering::Less => {
                    let at = usize::from(u16_at(page, cells + 2 * *cell)?);
                    let (key, _) = varint(page, at + 4)?;
                    (key > after).then(|| u32_at(page, at)).transpose()?
                }
                std::cmp::Ordering::Equal => Some(u32_at(page, at + 8)?),
                std::cmp::Ordering::Greater => {
                    path.pop();
                    continue;
                }
            };
            *cell += 1;
            if let Some(child) = child {
                if path.len() >= MOST_DEPTH {
                    return Err(damaged("it is too deep"));
                }
                let page = self.page(child)?;
                path.push((child, page, 0));
            }
        }
        Ok(())
    }

    /// The row in the cell of a leaf; `None` where it is not behind `after`.
    fn row(&mut self, page: &[u8], at: usize, after: i64) -> io::Result<Option<Row>> {
        let (len, at) = varint(page, at)?;
        let (rowid, at) = varint(page, at)?;
        if rowid <= after {
            return Ok(None);
        }
        let len = usize::try_from(len).map_err(|_| damaged("the length of a row"))?;
        if len > MOST_ROW_BYTES {
            // It has its place, and nothing to say.
            return Ok(Some(Row {
                rowid,
                values: Vec::new(),
            }));
        }
        self.spend(len)?;
        let usable = self.usable;
        let (most, least) = (usable - 35, (usable - 12) * 32 / 255 - 23);
        let here = if len <= most {
            len
        } else {
            let here = least + (len - least) % (usable - 4);
            if here <= most { here } else { least }
        };
        let mut record = slice(page, at, here)?.to_vec();
        if here < len {
            let mut next = u32_at(page, at + here)?;
            while record.len() < len {
                let page = self.page(next)?;
                next = u32_at(&page, 0)?;
                let more = (len - record.len()).min(usable - 4);
                record.extend_from_slice(slice(&page, 4, more)?);
            }
        }
        let values = values(&record)?;
        Ok(Some(Row { rowid, values }))
    }
}

#[cfg(test)]
mod tests;
