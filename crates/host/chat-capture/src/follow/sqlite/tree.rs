//! Tables: their rows by number, all behind one or some of them (file format 1.6).

use std::io;

use super::Database;
use super::record::{Value, columns, damaged, first_values, u16_at, u32_at, values, varint};

/// Deeper trees do not occur: each level has tens of times as many pages.
pub(super) const MOST_DEPTH: usize = 24;

/// The longest row that is read: a longer one would make no line that is read.
const MOST_ROW_BYTES: usize = chat_event::jsonl::MAX_LINE_BYTES;

/// Rows of one look, and their bytes.
const SLICE_ROWS: usize = 2000;
const SLICE_BYTES: usize = 4 * 1024 * 1024;

/// One row of a table.
#[derive(Debug, PartialEq)]
pub(in crate::follow) struct Row {
    pub(in crate::follow) rowid: i64,
    pub(in crate::follow) values: Vec<Value>,
}

/// A table: where it begins, and the names of its columns.
#[derive(Clone, Debug)]
pub(in crate::follow) struct Table {
    root: u32,
    columns: Vec<String>,
}

impl Table {
    /// Where a column's value stands in each row.
    pub(in crate::follow) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }
}

/// Which rows are read.
#[derive(Clone, Copy)]
enum Which<'a> {
    Behind(i64),
    /// Those with these numbers, which ascend.
    These(&'a [i64]),
}

impl Which<'_> {
    /// Whether one of them is behind `low` and not behind `high`.
    fn meets(self, low: i64, high: i64) -> bool {
        match self {
            Which::Behind(after) => high > after,
            Which::These(numbers) => {
                let at = numbers.partition_point(|number| *number <= low);
                numbers.get(at).is_some_and(|number| *number <= high)
            }
        }
    }

    fn has(self, rowid: i64) -> bool {
        match self {
            Which::Behind(after) => rowid > after,
            Which::These(numbers) => numbers.binary_search(&rowid).is_ok(),
        }
    }
}

impl Database {
    /// The table of that name; `None` where there is none.
    pub(in crate::follow) fn table(&mut self, name: &str) -> io::Result<Option<Table>> {
        let mut found = None;
        self.schema(&mut |kind, own, _, root, sql| {
            if kind == "table" && own == name {
                found = Some((root, columns(sql)));
            }
            found.is_none()
        })?;
        Ok(found.map(|(root, columns)| Table { root, columns }))
    }

    /// Hands what the database is made of to `take`, until it says that it has enough: its kind, its name, the table that
    /// it is of, its first page and the statement that made it.
    pub(super) fn schema(
        &mut self,
        take: &mut dyn FnMut(&str, &str, &str, u32, &str) -> bool,
    ) -> io::Result<()> {
        let schema = Table {
            root: 1,
            columns: Vec::new(),
        };
        self.walk(&schema, Which::Behind(i64::MIN), &mut |row| {
            let Some([kind, own, table, root, sql]) = row.values.get(..5) else {
                return Ok(true);
            };
            let root = root.integer().and_then(|root| u32::try_from(root).ok());
            let (Some(kind), Some(own), Some(table), Some(root), Some(sql)) =
                (kind.text(), own.text(), table.text(), root, sql.text())
            else {
                return Ok(true);
            };
            Ok(take(kind, own, table, root, sql))
        })
    }

    /// The next rows of a table behind `after`, in their order; none at its end.
    pub(in crate::follow) fn rows(&mut self, table: &Table, after: i64) -> io::Result<Vec<Row>> {
        self.slice(table, Which::Behind(after))
    }

    /// The first of the rows with these numbers, which ascend. What is not there is left out.
    pub(in crate::follow) fn rows_at(
        &mut self,
        table: &Table,
        numbers: &[i64],
    ) -> io::Result<Vec<Row>> {
        self.slice(table, Which::These(numbers))
    }

    fn slice(&mut self, table: &Table, which: Which<'_>) -> io::Result<Vec<Row>> {
        let mut rows = Vec::new();
        let mut bytes = 0;
        let walked = self.walk(table, which, &mut |row| {
            let texts = row.values.iter().filter_map(Value::text);
            bytes += texts.map(str::len).sum::<usize>();
            bytes += size_of::<Row>() + row.values.len() * size_of::<Value>();
            rows.push(row);
            Ok(rows.len() < SLICE_ROWS && bytes < SLICE_BYTES)
        });
        match walked {
            // What stands before damage is read; who asks for what is behind that is told of it.
            Err(why) if rows.is_empty() => Err(why),
            _ => Ok(rows),
        }
    }

    /// The row with the highest number.
    pub(in crate::follow) fn last_row(&mut self, table: &Table) -> io::Result<Option<Row>> {
        let mut page = self.page(table.root)?;
        let mut at = if table.root == 1 { 100 } else { 0 };
        for _ in 0..MOST_DEPTH {
            let n_cells = usize::from(u16_at(&page, at + 3)?);
            match page.get(at) {
                Some(0x05) => {
                    let child = u32_at(&page, at + 8)?;
                    page = self.page(child)?;
                    at = 0;
                }
                Some(0x0d) => {
                    let Some(cell) = n_cells.checked_sub(1) else {
                        return Ok(None);
                    };
                    let cell = usize::from(u16_at(&page, at + 8 + 2 * cell)?);
                    return self.row(&page, cell, Which::Behind(i64::MIN));
                }
                _ => return Err(damaged("a page of another kind")),
            }
        }
        Err(damaged("it is too deep"))
    }

    /// Hands rows to `take`, until it says that it has enough.
    fn walk(
        &mut self,
        table: &Table,
        which: Which<'_>,
        take: &mut dyn FnMut(Row) -> io::Result<bool>,
    ) -> io::Result<()> {
        // The path from the root: a page, its next cell, and the number that all of its rows are behind.
        let mut path = vec![(table.root, self.page(table.root)?, 0, i64::MIN)];
        let mut last = None;
        while let Some((number, page, cell, low)) = path.last_mut() {
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
                let behind = (*low > i64::MIN).then_some(*low);
                last = last.max(behind);
                path.pop();
                for cell in 0..n_cells {
                    let at = usize::from(u16_at(&page, cells + 2 * cell)?);
                    // Of all rows, read or not: else who asks for what is behind the last one would be told the same again,
                    // or never be told of one.
                    let rowid = rowid(&page, at)?;
                    if last.is_some_and(|last| rowid <= last) {
                        return Err(damaged("its rows are out of order"));
                    }
                    last = Some(rowid);
                    let Some(row) = self.row(&page, at, which)? else {
                        continue;
                    };
                    if !take(row)? {
                        return Ok(());
                    }
                }
                continue;
            }
            let (child, high) = match (*cell).cmp(&n_cells) {
                std::cmp::Ordering::Less => {
                    let at = usize::from(u16_at(page, cells + 2 * *cell)?);
                    (u32_at(page, at)?, varint(page, at + 4)?.0)
                }
                std::cmp::Ordering::Equal => (u32_at(page, at + 8)?, i64::MAX),
                std::cmp::Ordering::Greater => {
                    path.pop();
                    continue;
                }
            };
            *cell += 1;
            let low = std::mem::replace(low, high);
            if which.meets(low, high) {
                if path.len() >= MOST_DEPTH {
                    return Err(damaged("it is too deep"));
                }
                let page = self.page(child)?;
                path.push((child, page, 0, low));
            }
        }
        Ok(())
    }

    /// The row in the cell of a leaf; `None` where it is none of those.
    fn row(&mut self, page: &[u8], at: usize, which: Which<'_>) -> io::Result<Option<Row>> {
        let (len, at) = varint(page, at)?;
        let (rowid, at) = varint(page, at)?;
        if !which.has(rowid) {
            return Ok(None);
        }
        let len = usize::try_from(len).map_err(|_| damaged("the length of a row"))?;
        if len > MOST_ROW_BYTES {
            // It has its place, and says whose it is; of what does not stand on this page nothing is read.
            let most = self.usable - 35;
            let record = self.payload_here(page, at, len, most)?;
            let values = first_values(record);
            return Ok(Some(Row { rowid, values }));
        }
        let record = self.payload(page, at, len, self.usable - 35)?;
        let values = values(&record)?;
        Ok(Some(Row { rowid, values }))
    }
}

/// The number of the row in the cell of a leaf.
fn rowid(page: &[u8], at: usize) -> io::Result<i64> {
    let (_, at) = varint(page, at)?;
    Ok(varint(page, at)?.0)
}
