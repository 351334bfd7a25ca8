//! What a row is made of: numbers of one to nine bytes, records of values (file format 2.1), and the names of columns.

use std::io;

/// Columns that SQLite allows where it was not built for more.
const MOST_COLUMNS: usize = 2000;

/// What names may stand in.
pub(super) const QUOTES: [char; 5] = ['`', '"', '[', ']', '\''];

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::follow) enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    /// Bytes, which nothing here is made of.
    Blob,
    /// A text of that many bytes, which is too long to be read.
    Long(usize),
}

impl Value {
    pub(in crate::follow) fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(in crate::follow) fn integer(&self) -> Option<i64> {
        match self {
            Value::Integer(n) => Some(*n),
            _ => None,
        }
    }
}

/// The values of a record.
pub(super) fn values(record: &[u8]) -> io::Result<Vec<Value>> {
    let mut values = Vec::new();
    read_values(record, &mut |value, _| match value {
        Some(value) => {
            values.push(value);
            Ok(())
        }
        None => Err(damaged("something is cut off")),
    })?;
    Ok(values)
}

/// The values of a record of which only the first bytes are there: what does not stand in these is only known to be long.
pub(super) fn first_values(record: &[u8]) -> Vec<Value> {
    let mut values = Vec::new();
    // Where its head is damaged, what stands before that is known.
    let _ = read_values(record, &mut |value, len| {
        values.push(value.unwrap_or(Value::Long(len)));
        Ok(())
    });
    values
}

/// Hands each value of a record to `take`, none where it is cut off, with the length of its bytes.
fn read_values(
    record: &[u8],
    take: &mut dyn FnMut(Option<Value>, usize) -> io::Result<()>,
) -> io::Result<()> {
    let (head, mut at) = varint(record, 0)?;
    let head = usize::try_from(head).map_err(|_| damaged("a record"))?;
    let mut body = head;
    let mut n_values = 0;
    while at < head {
        if n_values == MOST_COLUMNS {
            return Err(damaged("a record with very many values"));
        }
        n_values += 1;
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
        let bytes = slice(record, body, len).ok();
        body = body.saturating_add(len);
        let value = bytes.map(|bytes| match kind {
            0 => Value::Null,
            7 => Value::Real(f64::from_be_bytes(bytes.try_into().unwrap_or_default())),
            8 => Value::Integer(0),
            9 => Value::Integer(1),
            1..=6 => Value::Integer(integer(bytes)),
            kind if kind % 2 == 1 => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
            _ => Value::Blob,
        });
        take(value, len)?;
    }
    Ok(())
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

pub(super) fn slice(bytes: &[u8], at: usize, len: usize) -> io::Result<&[u8]> {
    let end = at.checked_add(len);
    let slice = end.and_then(|end| bytes.get(at..end));
    slice.ok_or_else(|| damaged("something is cut off"))
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> io::Result<u16> {
    let bytes = slice(bytes, at, 2)?;
    Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> io::Result<u32> {
    let bytes = slice(bytes, at, 4)?;
    Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

/// A number of one to nine bytes, and what follows it.
pub(super) fn varint(bytes: &[u8], at: usize) -> io::Result<(i64, usize)> {
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

/// What a statement that makes a table says of the table itself, and of none of its columns.
const OF_TABLE: [&str; 5] = ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"];

/// The names of the columns, from the statement that made the table, in the order of their values.
pub(super) fn columns(sql: &str) -> Vec<String> {
    let sql = without_comments(sql);
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
        let word = name.split('(').next().unwrap_or_default();
        // A column that was added later stands behind these.
        if OF_TABLE.iter().any(|it| it.eq_ignore_ascii_case(word)) {
            continue;
        }
        names.push(name.trim_matches(QUOTES).to_owned());
    }
    names
}

/// A statement without its comments, which are kept with it.
fn without_comments(sql: &str) -> String {
    let mut kept = String::with_capacity(sql.len());
    let mut quote = None;
    let mut rest = sql;
    while let Some(c) = rest.chars().next() {
        let end = match quote {
            None if rest.starts_with("--") => Some(rest.find('\n').unwrap_or(rest.len())),
            None if rest.starts_with("/*") => Some(rest.find("*/").map_or(rest.len(), |at| at + 2)),
            _ => None,
        };
        if let Some(end) = end {
            kept.push(' ');
            rest = &rest[end..];
            continue;
        }
        match quote {
            Some(end) if c == end => quote = None,
            None if matches!(c, '\'' | '"' | '`') => quote = Some(c),
            None if c == '[' => quote = Some(']'),
            _ => {}
        }
        kept.push(c);
        rest = &rest[c.len_utf8()..];
    }
    kept
}

pub(super) fn damaged(what: &str) -> io::Error {
    io::Error::other(format!(
        "the database is damaged, or was just written: {what}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_what_is_said_of_the_table_are_no_columns() {
        let sql = "CREATE TABLE messages (
    id TEXT PRIMARY KEY, -- what it's called (at first)
    parts TEXT NOT NULL default '[]', /* JSON, a list */
    n INTEGER CHECK (n >= 0, '--'),
    \"check\" TEXT,
    FOREIGN KEY (id) REFERENCES sessions (id) ON DELETE CASCADE,
    UNIQUE(id, n)
, provider TEXT)";
        assert_eq!(columns(sql), ["id", "parts", "n", "check", "provider"]);
    }
}
