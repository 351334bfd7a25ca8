//! Indexes of a text, or of a text and a number: which rows of a table have that text, without reading the others (file
//! format 1.6).

use std::cmp::Ordering;
use std::io;

use super::record::{QUOTES, damaged, u16_at, u32_at, values, varint};
use super::tree::MOST_DEPTH;
use super::{Database, Value};

/// Entries are short: what is longer is no key of ours.
const MOST_ENTRY_BYTES: usize = 64 * 1024;

/// An index by one or two columns: where it begins.
#[derive(Clone, Copy, Debug)]
pub(in crate::follow) struct Index {
    root: u32,
}

/// One entry: the row of a text and a number; without a number the row's own is that.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    text: String,
    number: i64,
    rowid: i64,
}

impl Entry {
    fn of(record: &[u8]) -> io::Result<Entry> {
        let values = values(record)?;
        let (text, number, rowid) = match &values[..] {
            [
                Value::Text(text),
                Value::Integer(number),
                Value::Integer(rowid),
            ] => (text, number, rowid),
            [Value::Text(text), Value::Integer(rowid)] => (text, rowid, rowid),
            _ => return Err(damaged("an entry of an index")),
        };
        Ok(Entry {
            text: text.clone(),
            number: *number,
            rowid: *rowid,
        })
    }
}

impl Database {
    /// The index of a table by these one or two columns, in the order of their bytes and numbers and with all rows in it; `None`
    /// where there is none.
    pub(in crate::follow) fn index(
        &mut self,
        table: &str,
        by: &[&str],
    ) -> io::Result<Option<Index>> {
        let mut found = None;
        self.schema(&mut |kind, _, of, root, sql| {
            if kind == "index" && of == table && plain_columns(sql).is_some_and(|it| it == by) {
                found = Some(Index { root });
            }
            found.is_none()
        })?;
        Ok(found)
    }

    /// The rows with that text whose number is above `after`, each as its number and its row's, in the order of the
    /// numbers. Where there is none, that of the row stands for it.
    pub(in crate::follow) fn find(
        &mut self,
        index: Index,
        text: &str,
        after: i64,
    ) -> io::Result<Vec<(i64, i64)>> {
        let mut found = Vec::new();
        let mut last: Option<Entry> = None;
        // The path from the root: a page, and its next cell. What is left of a cell is before it.
        let mut path = vec![(self.page(index.root)?, 0_usize, false)];
        while let Some((page, cell, is_entered)) = path.last_mut() {
            let is_leaf = match page.first() {
                Some(0x0a) => true,
                Some(0x02) => false,
                _ => return Err(damaged("a page of another kind")),
            };
            let n_cells = usize::from(u16_at(page, 3)?);
            let cells = if is_leaf { 8 } else { 12 };
            if *cell >= n_cells {
                let right = (!is_leaf && *cell == n_cells).then(|| u32_at(page, 8));
                *cell += 1;
                match right {
                    Some(right) => self.enter(&mut path, right?)?,
                    None => {
                        path.pop();
                    }
                }
                continue;
            }
            let at = usize::from(u16_at(page, cells + 2 * *cell)?);
            let (child, at) = match is_leaf {
                true => (None, at),
                false => (Some(u32_at(page, at)?), at + 4),
            };
            let (len, at) = varint(page, at)?;
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            if len > MOST_ENTRY_BYTES {
                return Err(damaged("the length of an entry"));
            }
            let most = (self.usable - 12) * 64 / 255 - 23;
            let entry = Entry::of(&self.payload(page, at, len, most)?)?;
            let side = entry.text.as_bytes().cmp(text.as_bytes());
            let is_before = side.then(entry.number.cmp(&after)) != Ordering::Greater;
            // What is left of it may be of ours, unless it is itself before all of them.
            if let Some(child) = child.filter(|_| !is_before && !*is_entered) {
                *is_entered = true;
                self.enter(&mut path, child)?;
                continue;
            }
            *is_entered = false;
            *cell += 1;
            if is_before {
                continue;
            }
            if side == Ordering::Greater {
                return Ok(found);
            }
            // Else a damaged one would hold the same again and again.
            if last.is_some_and(|last| last.number >= entry.number) {
                return Err(damaged("an index is out of order"));
            }
            found.push((entry.number, entry.rowid));
            last = Some(entry);
        }
        Ok(found)
    }

    fn enter(&mut self, path: &mut Vec<(Vec<u8>, usize, bool)>, page: u32) -> io::Result<()> {
        if path.len() >= MOST_DEPTH {
            return Err(damaged("it is too deep"));
        }
        path.push((self.page(page)?, 0, false));
        Ok(())
    }
}

/// The columns of an index that has all rows, in the order of their values: no condition, and no order or comparison of
/// its own.
fn plain_columns(sql: &str) -> Option<Vec<&str>> {
    let (_, inner) = sql.split_once('(')?;
    let (inner, rest) = inner.split_once(')')?;
    let is_name = |part: &str| part.split_whitespace().count() == 1;
    let is_plain = rest.trim().is_empty() && inner.split(',').all(is_name);
    let columns = inner.split(',').map(str::trim);
    is_plain.then(|| columns.map(|it| it.trim_matches(QUOTES)).collect())
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    reason = "a promise that is not kept fails its test"
)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_without_a_number_is_in_the_order_of_its_rows() {
        // The length of the head, a text of a byte, a number of one; then a second one.
        let one = Entry::of(&[3, 15, 1, b'a', 7]).unwrap();
        let two = Entry::of(&[4, 15, 1, 1, b'a', 5, 7]).unwrap();
        assert_eq!((one.text.as_str(), one.number, one.rowid), ("a", 7, 7));
        assert_eq!((two.text.as_str(), two.number, two.rowid), ("a", 5, 7));
        for other in [
            &[2, 15, b'a'][..],
            &[3, 1, 1, 7, 7],
            &[3, 15, 15, b'a', b'b'],
        ] {
            assert!(Entry::of(other).is_err());
        }
    }

    #[test]
    fn the_columns_of_an_index_are_told_where_it_has_all_rows_in_their_order() {
        for (sql, wanted) in [
            (
                "CREATE INDEX i ON messages(session_id)",
                Some(vec!["session_id"]),
            ),
            ("CREATE INDEX i ON m(a, `b`)", Some(vec!["a", "b"])),
            ("CREATE INDEX i ON s(updated_at DESC)", None),
            ("CREATE INDEX i ON m(a) WHERE a IS NOT NULL", None),
        ] {
            assert_eq!(plain_columns(sql), wanted, "{sql}");
        }
    }
}
