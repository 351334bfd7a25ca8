//! Where the event with an id may stand.
//!
//! Ids are kept as hashes, eight bytes each: a log of a million events has a million of them. The line at the offset
//! decides whether it is the one.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

/// Offsets of lines by the hash of their ids.
#[derive(Debug, Default)]
pub(super) struct Ids {
    // The hash is keyed anew for each log, so nobody can choose ids that clash.
    hasher: RandomState,
    first: HashMap<u64, u64>,
    /// Those whose hash was taken.
    clashing: Vec<(u64, u64)>,
}

impl Ids {
    pub(super) fn insert(&mut self, id: &str, offset: u64) {
        let hash = self.hasher.hash_one(id);
        if *self.first.entry(hash).or_insert(offset) != offset {
            self.clashing.push((hash, offset));
        }
    }

    /// Offsets of the lines to look at for that id.
    pub(super) fn candidates(&self, id: &str) -> impl Iterator<Item = u64> {
        let hash = self.hasher.hash_one(id);
        let clashing = self.clashing.iter();
        self.first.get(&hash).copied().into_iter().chain(
            clashing
                .filter(move |(other, _)| *other == hash)
                .map(|&(_, offset)| offset),
        )
    }
}
