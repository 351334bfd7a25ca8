//! Which events were seen: by `seq` where there is one, else by `id`.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use chat_event::ChatEvent;

#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Runs of `seq`s, first → last: a log in order is one run however long it is.
    runs: BTreeMap<u64, u64>,
    /// Hashes stand in for ids: a session's ids would need five times the memory.
    ids: HashSet<u64>,
}

impl Seen {
    /// Notes an event; true where it was not seen before.
    pub(crate) fn is_new(&mut self, event: &ChatEvent) -> bool {
        match event.seq {
            Some(seq) if seq > 0 => self.seq_is_new(seq),
            // Control lines bear no number of their own; an event without an id cannot be told from another.
            _ if event.id.is_empty() => true,
            _ => self.ids.insert(hash(&event.id)),
        }
    }

    /// Whether an event was seen; one without an id never was.
    pub(crate) fn is_seen(&self, event: &ChatEvent) -> bool {
        match event.seq {
            Some(seq) if seq > 0 => {
                let before = self.runs.range(..=seq).next_back();
                before.is_some_and(|(_, &last)| seq <= last)
            }
            _ => !event.id.is_empty() && self.ids.contains(&hash(&event.id)),
        }
    }

    fn seq_is_new(&mut self, seq: u64) -> bool {
        let before = self.runs.range(..=seq).next_back();
        let mut first = seq;
        if let Some((&run_first, &run_last)) = before {
            if seq <= run_last {
                return false;
            }
            if run_last + 1 == seq {
                first = run_first;
            }
        }
        let last = match seq.checked_add(1).and_then(|next| self.runs.remove(&next)) {
            Some(run_last) => run_last,
            None => seq,
        };
        self.runs.insert(first, last);
        true
    }
}

/// The same on every machine and in every run: what is shown must not depend on it.
pub(crate) fn hash(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}
