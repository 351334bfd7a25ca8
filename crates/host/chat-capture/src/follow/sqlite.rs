//! An SQLite database that another program writes, read as it lies there: its tables, row by row, and no queries.
//!
//! No lock is taken and nothing is written, not even beside it, so its owner never notices us. For that a look may meet a
//! database in the middle of a change. Each look therefore reads the write-ahead log's commits first, and what was read
//! counts only if the database's own file stayed as it was meanwhile ([`Database::is_still`]).
//!
//! After <https://www.sqlite.org/fileformat2.html> (3.53): headers (1.3), b-tree pages (1.6), records (2.1), the
//! write-ahead log (4.1, 4.2). Databases in UTF-8 are read, as nearly all are; damage is an error and never a panic.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use super::file::{Facts, Followed};

/// Deeper trees do not occur: each level has tens of times as many pages.
const MOST_DEPTH: usize = 24;

/// Of one look not more is read than so many times what the files hold, and this: a damaged tree may have the same page in it
/// many times. A whole one is read once or twice, and the way to each slice of it.
const MOST_TIMES: u64 = 8;
const MOST_BYTES_MORE: u64 = 64 * 1024 * 1024;

/// The longest row that is read: a longer one would make no line that is read.
const MOST_ROW_BYTES: usize = chat_event::jsonl::MAX_LINE_BYTES;

/// Columns that SQLite allows where it was not built for more.
const MOST_COLUMNS: usize = 2000;

/// A write-ahead log that is longer is waited for: its owner writes it back.
const MOST_WAL_BYTES: u64 = 512 * 1024 * 1024;

/// Rows of one look, and their bytes.
const SLICE_ROWS: usize = 2000;
const SLICE_BYTES: usize = 4 * 1024 * 1024;

const WAL_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// A database as it was when it was looked at.
#[derive(Debug)]
pub(super) struct Database {
    path: PathBuf,
    file: Followed,
    facts: Facts,
    wal: Option<Followed>,
    page_bytes: usize,
    /// Bytes of a page that hold something.
    usable: usize,
    /// Pages whose newest content is in the write-ahead log, and where there.
    newer: HashMap<u32, u64>,
    /// The log's first bytes, which are others when it is written from its beginning.
    wal_head: Vec<u8>,
    /// Bytes that may still be read.
    left: u64,
}

/// One row of a table.
#[derive(Debug, PartialEq)]
pub(super) struct Row {
    pub(super) rowid: i64,
    pub(super) values: Vec<Value>,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    /// Bytes, which nothing here is made of.
    Blob,
}

impl Value {
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn integer(&self) -> Option<i64> {
        match self {
            Value::Integer(n) => Some(*n),
            _ => None,
        }
    }
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

fn damaged(what: &str) -> io::Error {
    io::Error::other(format!(
        "the database is damaged, or was just written: {what}"
    ))
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
        let mut database = Database {
            path: path.to_owned(),
            file,
            facts,
            wal: None,
            page_bytes,
            usable: page_bytes - reserved,
            newer: HashMap::new(),
            wal_head: Vec::new(),
            left: 0,
        };
        match Followed::open(&beside(path, "-wal")) {
            Ok(wal) => database.read_wal(wal)?,
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            Err(why) => return Err(why),
        }
        let wal_bytes = database.newer.len() as u64 * page_bytes as u64;
        let bytes = facts.len.saturating_add(wal_bytes);
        database.left = bytes
            .saturating_mul(MOST_TIMES)
            .saturating_add(MOST_BYTES_MORE);
        Ok(database)
    }

    /// Whether nothing was written back to the database's file since, and the log not begun anew: else what was read may be of
    /// two states of it.
    pub(super) fn is_still(&mut self) -> bool {
        let mut head = Vec::new();
        let is_log_still = self.wal.as_mut().is_none_or(|wal| {
            wal.read(0, WAL_HEADER as u64, &mut head).is_ok() && head == self.wal_head
        });
        is_log_still && Facts::of(&self.path) == Some(self.facts)
    }

    /// Counts what is read.
    fn spend(&mut self, bytes: usize) -> io::Result<()> {
        let left = self.left.checked_sub(bytes as u64);
        self.left = left.ok_or_else(|| damaged("something is in it many times"))?;
        Ok(())
    }

    /// Notes which pages the commits of the write-ahead log hold.
    fn read_wal(&mut self, mut wal: Followed) -> io::Result<()> {
        let len = wal.len()?;
        if len > MOST_WAL_BYTES {
            return Err(io::Error::other("its write-ahead log is too long"));
        }
        let mut head = Vec::new();
        wal.read(0, WAL_HEADER as u64, &mut head)?;
        if head.len() < WAL_HEADER {
            return Ok(());
        }
        let is_big = match u32_at(&head, 0)? {
            0x377f_0682 => false,
            0x377f_0683 => true,
            _ => return Ok(()),
        };
        if u32_at(&head, 8)? as usize != self.page_bytes {
            return Ok(());
        }
        let mut sum = checksum((0, 0), &head[..24], is_big);
        if sum != (u32_at(&head, 24)?, u32_at(&head, 28)?) {
            return Ok(());
        }
        let salt = head[16..24].to_vec();
        let frame_bytes = FRAME_HEADER + self.page_bytes;
        let mut at = WAL_HEADER as u64;
        let mut uncommitted: Vec<(u32, u64)> = Vec::new();
        let mut frame = Vec::new();
        loop {
            wal.read(at, frame_bytes as u64, &mut frame)?;
            // What follows the last frame of this round is of an earlier one.
            if frame.len() < frame_bytes || frame[8..16] != salt[..] {
                break;
            }
            sum = checksum(sum, &frame[..8], is_big);
            sum = checksum(sum, &frame[FRAME_HEADER..], is_big);
            if sum != (u32_at(&frame, 16)?, u32_at(&frame, 20)?) {
                break;
            }
            uncommitted.push((u32_at(&frame, 0)?, at + FRAME_HEADER as u64));
            if u32_at(&frame, 4)? != 0 {
                self.newer.extend(uncommitted.drain(..));
            }
            at += frame_bytes as u64;
        }
        self.wal = Some(wal);
        self.wal_head = head;
        Ok(())
    }

    fn page(&mut self, number: u32) -> io::Result<Vec<u8>> {
        self.spend(self.page_bytes)?;
        let mut page = Vec::new();
        let most = self.page_bytes as u64;
        match (self.newer.get(&number), &mut self.wal) {
            (Some(&at), Some(wal)) => wal.read(at, most, &mut page)?,
            _ => {
                let at = u64::from(number)
                    .checked_sub(1)
                    .ok_or_else(|| damaged("page 0"))?;
                self.file.read(at * most, most, &mut page)?;
            }
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

/// The values of a record.
fn values(record: &[u8]) -> io::Result<Vec<Value>> {
    let (head, mut at) = varint(record, 0)?;
    let head = usize::try_from(head).map_err(|_| damaged("a record"))?;
    let mut body = head;
    let mut values = Vec::new();
    while at < head {
        if values.len() == MOST_COLUMNS {
            return Err(damaged("a record with very many values"));
        }
        let (kind, next) = varint(record, at)?;
        at = next;
        let len = match kind {
            0 | 8 | 9 => 0,
            1..=4 => kind as usize,
            5 => 6,
            6 | 7 => 8,
            12.. => usize::try_from((kind - 12) / 2).map_err(|_| damaged("a record"))?,
            _ => return Err(damaged("a value of another kind")),
        };
        let bytes = slice(record, body, len)?;
        body += len;
        values.push(match kind {
            0 => Value::Null,
            7 => Value::Real(f64::from_be_bytes(bytes.try_into().unwrap_or_default())),
            8 => Value::Integer(0),
            9 => Value::Integer(1),
            1..=6 => Value::Integer(integer(bytes)),
            kind if kind % 2 == 1 => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
            _ => Value::Blob,
        });
    }
    Ok(values)
}

/// A number of up to eight bytes, with its sign.
fn integer(bytes: &[u8]) -> i64 {
    let first = bytes
        .first()
        .map_or(0, |&byte| i64::from(byte.cast_signed()));
    bytes
        .iter()
        .skip(1)
        .fold(first, |sum, &byte| (sum << 8) | i64::from(byte))
}

fn slice(bytes: &[u8], at: usize, len: usize) -> io::Result<&[u8]> {
    let end = at.checked_add(len);
    let slice = end.and_then(|end| bytes.get(at..end));
    slice.ok_or_else(|| damaged("something is cut off"))
}

fn u16_at(bytes: &[u8], at: usize) -> io::Result<u16> {
    let bytes = slice(bytes, at, 2)?;
    Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> io::Result<u32> {
    let bytes = slice(bytes, at, 4)?;
    Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

/// A number of one to nine bytes, and what follows it.
fn varint(bytes: &[u8], at: usize) -> io::Result<(i64, usize)> {
    let mut sum = 0_i64;
    for nth in 0..9 {
        let byte = *bytes
            .get(at + nth)
            .ok_or_else(|| damaged("something is cut off"))?;
        if nth == 8 {
            return Ok(((sum << 8) | i64::from(byte), at + 9));
        }
        sum = (sum << 7) | i64::from(byte & 0x7f);
        if byte < 0x80 {
            return Ok((sum, at + nth + 1));
        }
    }
    Err(damaged("a number"))
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

/// The names of the columns, from the statement that made the table.
fn columns(sql: &str) -> Vec<String> {
    let inner = sql.split_once('(').map_or("", |(_, inner)| inner);
    let mut depth = 0_i64;
    let mut names = Vec::new();
    let parts = inner.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    });
    for part in parts.take(MOST_COLUMNS) {
        let name = part.split_whitespace().next().unwrap_or_default();
        names.push(name.trim_matches(['`', '"', '[', ']', '\'']).to_owned());
    }
    names
}

#[cfg(test)]
mod tests;
