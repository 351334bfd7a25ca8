//! How often each fact was told: of what one source says twice and another once, two are told.

use std::collections::HashMap;

/// How often each fact was told, at most by one source, and by each.
#[derive(Debug, Default)]
pub(super) struct Counts(HashMap<u64, Told>);

#[derive(Debug, Default)]
struct Told {
    most: u32,
    by: Vec<(usize, u32)>,
}

impl Counts {
    /// Counts a fact; whether this source told it more often than any before.
    pub(super) fn count(&mut self, key: u64, source: usize) -> bool {
        let told = self.0.entry(key).or_default();
        let at = match told.by.iter().position(|(by, _)| *by == source) {
            Some(at) => at,
            None => {
                told.by.push((source, 0));
                told.by.len() - 1
            }
        };
        let n = &mut told.by[at].1;
        *n = n.saturating_add(1);
        let fresh = *n > told.most;
        told.most = told.most.max(*n);
        fresh
    }

    /// How often this source told a fact.
    pub(super) fn of(&self, key: u64, source: usize) -> u32 {
        let by = self.0.get(&key).map(|told| told.by.as_slice());
        let by = by.unwrap_or_default().iter().find(|(by, _)| *by == source);
        by.map_or(0, |(_, n)| *n)
    }
}
