//! The items of the answer that is being written, and which of them an event is of.
//!
//! An item is known by the id it began with. Some services (GitHub Copilot's is one) give one item another id in each
//! event, so where an id is not known the item's place in the output tells, and of a whole item also what it says.
//! Others give all items the same place: an id that is known counts more.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::emit::hash;
use crate::openai::item_calls::args_of;
use crate::openai::items::{fingerprint, kind_of, thought_texts};
use crate::value::{count_of, text_of};

/// An item that is not whole.
#[derive(Debug, Default)]
pub(in crate::openai) struct Open {
    /// What it is.
    kind: String,
    /// The call it is, or is the output of.
    pub(in crate::openai) call: Option<String>,
    /// `commentary` or `final_answer`.
    pub(super) phase: Option<String>,
    /// Annotations of its texts, by the text.
    pub(super) annotations: BTreeMap<u64, Vec<Value>>,
}

/// The items of one answer.
#[derive(Debug, Default)]
pub(in crate::openai) struct Items {
    open: BTreeMap<String, Open>,
    /// By their places in the output, the newest at each.
    at: BTreeMap<u64, String>,
    /// Those that are whole, with what tells what they say.
    whole: BTreeMap<String, u64>,
    /// What whole items say that the response itself did not repeat, and how often.
    said: BTreeMap<u64, u32>,
}

impl Items {
    fn knows(&self, key: &str) -> bool {
        self.open.contains_key(key) || self.whole.contains_key(key)
    }

    /// The key of the item that an event with this id and place is of.
    fn key(&mut self, id: Option<&str>, place: Option<u64>) -> String {
        if let Some(id) = id.filter(|id| self.knows(id)) {
            return id.to_owned();
        }
        if let Some(key) = place.and_then(|place| self.at.get(&place)) {
            return key.clone();
        }
        let key = new_key(id, place);
        if let Some(place) = place {
            self.at.insert(place, key.clone());
        }
        key
    }

    /// The key of the item that an event is of a piece of.
    pub(super) fn key_of(&mut self, event: &Value) -> String {
        self.key(text_of(event, "item_id"), count_of(event, "output_index"))
    }

    /// The item that an event is of a piece of, where it began and is not whole.
    pub(super) fn open_of(&mut self, event: &Value) -> Option<&mut Open> {
        let key = self.key_of(event);
        self.open.get_mut(&key)
    }

    /// An item begins.
    pub(super) fn begin(&mut self, item: &Value, place: Option<u64>, call: Option<String>) {
        let key = new_key(text_of(item, "id"), place);
        if let Some(place) = place {
            self.at.insert(place, key.clone());
        }
        let open = Open {
            kind: kind_of(item).to_owned(),
            call,
            phase: text_of(item, "phase").map(str::to_owned),
            annotations: BTreeMap::new(),
        };
        self.open.insert(key, open);
    }

    /// An item is whole: its key, or `None` where it was said before. `in_response`, it stands in the response itself,
    /// which says all its items once more.
    pub(super) fn end(
        &mut self,
        item: &Value,
        place: Option<u64>,
        in_response: bool,
    ) -> Option<String> {
        let print = print_of(item);
        let key = match text_of(item, "id").filter(|id| self.knows(id)) {
            Some(id) => id.to_owned(),
            None => self.key_by_place(item, print, place),
        };
        let is_same = self.whole.get(&key) == Some(&print);
        let left = self.said.entry(print).or_default();
        // Its place may be another one than it had, too.
        if is_same || (in_response && *left > 0 && !self.open.contains_key(&key)) {
            *left = left.saturating_sub(u32::from(in_response));
            return None;
        }
        *left += u32::from(!in_response);
        self.open.remove(&key);
        self.whole.insert(key.clone(), print);
        if let Some(place) = place {
            self.at.insert(place, key.clone());
        }
        Some(key)
    }

    /// The key of an item whose id is not known: that of the one at its place, where it can be that.
    fn key_by_place(&self, item: &Value, print: u64, place: Option<u64>) -> String {
        let key = new_key(text_of(item, "id"), place);
        let there = place.map_or(Some(&key), |place| self.at.get(&place));
        let is_it = |there: &&String| match (self.open.get(*there), self.whole.get(*there)) {
            (Some(open), _) => open.kind == kind_of(item),
            (None, Some(whole)) => *whole == print,
            // Only pieces came of it.
            (None, None) => true,
        };
        match there.filter(is_it) {
            Some(there) => there.clone(),
            None if self.whole.contains_key(&key) => format!("{key}.{}", self.whole.len()),
            None => key,
        }
    }

    /// What tells what its whole items say.
    pub(super) fn prints(&self) -> impl Iterator<Item = u64> {
        self.whole.values().copied()
    }
}

/// What an item is called that is not known.
fn new_key(id: Option<&str>, place: Option<u64>) -> String {
    match (id, place) {
        (Some(id), _) => id.to_owned(),
        (None, Some(place)) => format!("#{place}"),
        (None, None) => "#".to_owned(),
    }
}

/// What tells what an item says, whatever its id is.
pub(super) fn print_of(item: &Value) -> u64 {
    let kind = kind_of(item);
    if kind == "message" || text_of(item, "call_id").is_some() {
        return fingerprint(item).unwrap_or_default();
    }
    let said = match kind {
        "reasoning" => thought_texts(item),
        _ => {
            let names = ["server_label", "name", "approval_request_id"];
            let names = names.map(|name| text_of(item, name).unwrap_or(""));
            format!("{}\n{}", names.join("\n"), args_of(item))
        }
    };
    hash(format!("{kind}\n{said}").as_bytes())
}
