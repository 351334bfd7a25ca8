//! The calls of an answer, by the numbers that the source gives them.

use std::collections::BTreeMap;

/// The calls of an answer, in the order they began.
#[derive(Debug, Default)]
pub(in crate::openai) struct Asked {
    pub(in crate::openai) ids: Vec<String>,
    /// By the source's number of the call.
    by_index: BTreeMap<u64, usize>,
    /// The number of a call.
    indexes: BTreeMap<String, u64>,
}

impl Asked {
    /// The call with this number.
    pub(in crate::openai) fn at(&self, index: u64) -> Option<&String> {
        self.ids.get(*self.by_index.get(&index)?)
    }

    /// The number of a call.
    pub(in crate::openai) fn index_of(&self, id: &str) -> Option<u64> {
        self.indexes.get(id).copied()
    }

    /// The highest number.
    pub(in crate::openai) fn last(&self) -> Option<u64> {
        self.by_index.keys().next_back().copied()
    }

    /// The number that the next call has, if nothing says it.
    pub(in crate::openai) fn next(&self) -> u64 {
        self.last().map_or(0, |last| last.saturating_add(1))
    }

    /// From now on the call `id` has this number.
    pub(in crate::openai) fn put(&mut self, index: u64, id: &str) {
        if self.at(index).is_some_and(|known| known == id) {
            return;
        }
        if !self.indexes.contains_key(id) {
            self.ids.push(id.to_owned());
            self.by_index.insert(index, self.ids.len() - 1);
        }
        self.indexes.insert(id.to_owned(), index);
    }
}
