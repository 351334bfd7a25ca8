//! Which events were seen: by `seq` where there is one, else by `id`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};

use chat_event::ChatEvent;

#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Runs of `seq`s, first → last: a log in order is one run however long it is.
    runs: BTreeMap<u64, u64>,
    /// Hashes stand in for ids: a session's ids would need five times the memory.
    ids: HashSet<u64, Keyed>,
}

chat_event::pack_fields!(Seen { runs, ids });

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

/// A map by hashes: [`hash`] of an id, mostly.
pub(crate) type ByHash<V> = HashMap<u64, V, Keyed>;

/// Hashes what is a hash already: one multiplication by a number that is another in each map, so that nobody who writes
/// a log can have its ids meet in one place. (The standard hasher was a tenth of reducing an event.)
#[derive(Clone, Debug)]
pub(crate) struct Keyed(u64);

impl Default for Keyed {
    fn default() -> Keyed {
        // An odd factor loses no bit.
        Keyed(RandomState::new().hash_one(0_u64) | 1)
    }
}

impl BuildHasher for Keyed {
    type Hasher = Multiplied;

    fn build_hasher(&self) -> Multiplied {
        Multiplied {
            factor: self.0,
            hash: 0,
        }
    }
}

/// See [`Keyed`].
#[derive(Debug)]
pub(crate) struct Multiplied {
    factor: u64,
    hash: u64,
}

impl Hasher for Multiplied {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut eight = [0; 8];
            eight[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(eight));
        }
    }

    fn write_u64(&mut self, number: u64) {
        let wide = u128::from(number ^ self.hash) * u128::from(self.factor);
        // The upper half depends on all bits of the number, the lower half on the lower ones alone.
        #[allow(clippy::cast_possible_truncation)]
        let folded = (wide as u64) ^ ((wide >> 64) as u64);
        self.hash = folded;
    }

    fn finish(&self) -> u64 {
        self.hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_differ_in_few_bits_spread_over_a_table() {
        let keyed = Keyed::default();
        for shift in [0, 8, 32, 48] {
            let mut places = [0_u32; 256];
            for number in 0..4096_u64 {
                places[(keyed.hash_one(number << shift) & 0xff) as usize] += 1;
            }
            // Sixteen each on the average; by chance alone none is near to this.
            let most = places.iter().max().copied().unwrap_or(0);
            assert!(most < 160, "{most} of 4096 in one of 256 places");
        }
    }
}
