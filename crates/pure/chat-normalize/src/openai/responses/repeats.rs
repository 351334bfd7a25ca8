//! What comes twice: whole responses that are logged again, and the events of a stream that was taken up from its start.

use std::collections::HashSet;

use serde_json::Value;

use super::known::{Items, print_of};
use crate::recent::{LATE_LARGE, Recent};
use crate::value::{count_of, text_of};

/// What came of the answers before, and of the one that is being written.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    /// Answers that were said to be over, with what tells what their items say.
    over: Recent<HashSet<u64>, LATE_LARGE>,
    /// The highest number of the events of this answer.
    newest: Option<u64>,
    /// The stream began anew: events up to this number came before.
    upto: Option<u64>,
}

impl Repeats {
    /// Another answer begins.
    pub(super) fn begin(&mut self) {
        self.newest = None;
        self.upto = None;
    }

    /// An answer is over.
    pub(super) fn end(&mut self, id: &str, items: &Items) {
        self.over.insert(id, items.prints().collect());
    }

    /// Whether the answer is over and said all of this.
    pub(super) fn say(&self, id: &str, output: &[Value]) -> bool {
        let said = self.over.get(id);
        said.is_some_and(|said| output.iter().all(|item| said.contains(&print_of(item))))
    }

    /// Whether an event of the answer `current` came before. Servers that give all events one number, or none, begin no
    /// stream anew.
    pub(super) fn has_come(&mut self, current: Option<&str>, kind: &str, event: &Value) -> bool {
        let number = count_of(event, "sequence_number");
        let of = event.get("response").and_then(|it| text_of(it, "id"));
        if kind == "created" && of.is_some() && of == current && number < self.newest {
            self.upto = self.newest;
        }
        let has_come = number.is_some() && number <= self.upto;
        if !has_come {
            self.upto = None;
        }
        self.newest = self.newest.max(number);
        has_come
    }
}
