//! Sources that are no session, and how they are named.

use std::fmt;

use chat_event::jsonl::foreign_format;
use serde_json::Value;

use crate::dialect::Dialect;

/// Why a source is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotASession {
    /// The line that shows it, from 1; 0 where the source is none of lines.
    pub line: u64,
    /// What that line is, or the source.
    pub found: String,
}

impl NotASession {
    /// Where it shows and what stands there, without the formats that are read.
    pub fn place(&self) -> String {
        match self.line {
            0 => format!("not a session log: it is {}", self.found),
            line => format!("not a session log: line {line} is {}", self.found),
        }
    }

    /// The formats that are read, by their names.
    pub fn formats() -> String {
        let names: Vec<&str> = Dialect::all().map(Dialect::name).collect();
        names.join(", ")
    }
}

impl fmt::Display for NotASession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (place, formats) = (self.place(), NotASession::formats());
        write!(f, "{place}; formats read are {formats}")
    }
}

impl std::error::Error for NotASession {}

/// First bytes of files that somebody may take for a log, and what they are.
const MAGIC: &[(&[u8], &str)] = &[
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"%PDF-", "a PDF document"),
    (
        b"SQLite format 3\0",
        "an SQLite database; `turnreel` follows those of OpenCode, Goose and Crush where they lie",
    ),
    (b"\x7fELF", "a program"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"PK\x05\x06", "an empty zip archive"),
    (
        b"<!DOCTYPE html",
        "a web page without a session; of pages those are read that Turnreel exported",
    ),
    (
        b"<!doctype html",
        "a web page without a session; of pages those are read that Turnreel exported",
    ),
];

/// What a source is that begins as no log does.
pub(crate) fn foreign(line: &[u8]) -> Option<NotASession> {
    let known = || {
        let mut known = MAGIC.iter();
        known.find(|(magic, _)| line.starts_with(magic))
    };
    let found = foreign_format(line).or_else(|| known().map(|(_, what)| *what))?;
    Some(NotASession {
        line: 0,
        found: found.to_owned(),
    })
}

/// What a value is, in a few words.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let names: Vec<String> = members
                .keys()
                .take(5)
                .map(|name| format!("\"{}\"", crate::emit::cut(name, 30)))
                .collect();
            match members.get("type").and_then(Value::as_str) {
                Some(kind) => format!("a JSON object of type \"{}\"", crate::emit::cut(kind, 60)),
                None if names.is_empty() => "an empty JSON object".to_owned(),
                None => format!("a JSON object with {}", names.join(", ")),
            }
        }
        Value::Array(_) => "a JSON array".to_owned(),
        Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => {
            "a bare JSON value".to_owned()
        }
    }
}
