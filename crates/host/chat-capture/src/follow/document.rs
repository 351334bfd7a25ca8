//! A session's file that is one JSON document, written anew with each change: the chats of Gemini CLI before 0.4x
//! (`formats.md` 10.2), `session-….json`; and those that are a list of messages (`list`).
//!
//! A chat's first state is read as it is, and each later one as what today's files say of such a change: `$set` with all
//! messages. So one reader tells of all states what is new in them.

mod item;
mod list;

use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::file::{Facts, Followed, SETTLED, Taken};
use super::source::Failed;
use crate::pipe::now_ms;
pub(super) use list::{List, Slice};

/// Longer documents are not read: they would have to be held whole, with each change.
const MOST_BYTES: u64 = chat_event::jsonl::MAX_LINE_BYTES as u64;

/// Whether a session's file is a document.
pub(super) fn is_document(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "json")
}

/// Whether a document that is not whole stays so: nobody writes it any more.
pub(super) fn is_settled(facts: Facts) -> bool {
    let settled_ms = i64::try_from(SETTLED.as_millis()).unwrap_or(i64::MAX);
    now_ms().saturating_sub(facts.changed_ms) >= settled_ms
}

/// One state of a document.
pub(super) struct State {
    value: Value,
    /// How it is known again.
    pub(super) taken: Taken,
}

impl State {
    /// Reads it. One that is not whole is being written, unless it rests so.
    pub(super) fn read(path: &Path, facts: Facts) -> Result<State, Failed> {
        let mut file = Followed::open(path)?;
        let len = file.len()?;
        if len > MOST_BYTES {
            let what = "the document is longer than 16 MiB";
            return Err(Failed::Broken(what.to_owned()));
        }
        let mut bytes = Vec::new();
        file.read(0, MOST_BYTES, &mut bytes)?;
        let value = match serde_json::from_slice(&bytes) {
            Ok(value) => value,
            Err(why) => {
                if !is_settled(facts) {
                    return Err(Failed::Io(io::ErrorKind::UnexpectedEof.into()));
                }
                return Err(Failed::Broken(format!(
                    "it is no whole JSON document: {why}"
                )));
            }
        };
        let taken = file.taken(bytes.len() as u64)?;
        Ok(State { value, taken })
    }

    /// The line that says it to a reader, which knows an earlier state or none.
    pub(super) fn line(&self, is_first: bool) -> String {
        let said = if is_first {
            self.value.to_string()
        } else {
            let mut set = serde_json::Map::new();
            for name in ["summary", "messages"] {
                if let Some(value) = self.value.get(name) {
                    set.insert(name.to_owned(), value.clone());
                }
            }
            json!({"$set": set}).to_string()
        };
        said + "\n"
    }
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    reason = "a promise that is not kept fails its test"
)]
mod tests;
