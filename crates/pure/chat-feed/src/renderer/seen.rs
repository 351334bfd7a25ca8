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
        self.hash_is_new(event, hash_of_id(&event.id))
    }

    /// The same, where the [`hash_of_id`] of its id is known.
    pub(crate) fn hash_is_new(&mut self, event: &ChatEvent, id_hash: u64) -> bool {
        match event.seq {
            Some(seq) if seq > 0 => self.seq_is_new(seq),
            // Control lines bear no number of their own; an event without an id cannot be told from another.
            _ if event.id.is_empty() => true,
            _ => self.ids.insert(id_hash),
        }
    }

    /// Whether an event was seen; one without an id never was.
    pub(crate) fn is_seen(&self, event: &ChatEvent) -> bool {
        match event.seq {
            Some(seq) if seq > 0 => {
                let before = self.runs.range(..=seq).next_back();
                before.is_some_and(|(_, &last)| seq <= last)
            }
            _ => !event.id.is_empty() && self.ids.contains(&hash_of_id(&event.id)),
        }
    }

    fn seq_is_new(&mut self, seq: u64) -> bool {
        // Most numbers go on with the newest run.
        if let Some(mut newest) = self.runs.last_entry()
            && newest.get().checked_add(1) == Some(seq)
        {
            *newest.get_mut() = seq;
            return true;
        }
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

/// A hash of an event's id that is quick to make, the same on every machine: products of its words, two at a time.
///
/// Whoever makes two ids with one hash on purpose gains no more than by giving two events one id.
pub(crate) fn hash_of_id(id: &str) -> u64 {
    // Numbers without pattern.
    const KEYS: [u64; 3] = [
        0x9e37_79b9_7f4a_7c15,
        0xc2b2_ae3d_27d4_eb4f,
        0x1656_67b1_9e37_79f9,
    ];
    let [key, other, last] = KEYS;
    let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    let mut hash = id.len() as u64 ^ last;
    let mut rest = id.as_bytes();
    while let Some(([first, second], behind)) = two_words(rest) {
        hash = folded_product(word(first) ^ key, word(second) ^ hash);
        rest = behind;
    }
    let mut words = [0; 16];
    for (byte, there) in words.iter_mut().zip(rest) {
        *byte = *there;
    }
    if let Some(([first, second], _)) = two_words(&words) {
        hash = folded_product(word(first) ^ key, word(second) ^ hash);
    }
    folded_product(hash ^ other, last)
}

fn two_words(bytes: &[u8]) -> Option<([&[u8; 8]; 2], &[u8])> {
    let (first, rest) = bytes.split_first_chunk::<8>()?;
    let (second, rest) = rest.split_first_chunk::<8>()?;
    Some(([first, second], rest))
}

/// Both halves of a product in one: each bit of it depends on all bits of both.
fn folded_product(left: u64, right: u64) -> u64 {
    let wide = u128::from(left) * u128::from(right);
    #[allow(clippy::cast_possible_truncation)]
    let folded = (wide as u64) ^ ((wide >> 64) as u64);
    folded
}

/// A map by hashes: [`hash_of_id`] or [`hash`], mostly.
pub(crate) type ByHash<V> = HashMap<u64, V, Keyed>;

/// Hashes what is a hash already, or short: one multiplication a word by a number that is another in each map, so that
/// nobody who writes a log can have its ids meet in one place. (The standard hasher was a tenth of reducing an event.)
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
        self.hash = folded_product(number ^ self.hash, self.factor);
    }

    fn finish(&self) -> u64 {
        self.hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_are_alike_have_hashes_of_their_own() {
        let mut hashes = HashSet::new();
        let mut n_ids = 0;
        for (start, end) in [
            ("", ""),
            ("e", ":text"),
            ("toolu_01", "abcdefgh"),
            ("6b1f0c3a-52d4-4d9e-8f0a-1c2d3e4f", "-0000"),
            ("item_0.", ""),
        ] {
            for number in 0..20_000 {
                for id in [
                    format!("{start}{number}{end}"),
                    format!("{start}{:05}-{:05}{end}", number % 141, number / 141),
                ] {
                    hashes.insert(hash_of_id(&id));
                    n_ids += 1;
                }
            }
        }
        assert_eq!(hashes.len(), n_ids);
        for len in 0..40 {
            assert!(hashes.insert(hash_of_id(&"\0".repeat(len))) || len == 0);
        }
    }

    /// A key may be an unlucky one for numbers of some kind; few are.
    #[test]
    fn numbers_that_differ_in_few_bits_spread_over_a_table() {
        const KEYS: usize = 32;
        for shift in [0, 8, 32, 48] {
            let keys = (0..KEYS).map(|_| Keyed::default());
            let most_of = keys.map(|keyed| {
                let mut places = [0_u32; 256];
                for number in 0..4096_u64 {
                    places[(keyed.hash_one(number << shift) & 0xff) as usize] += 1;
                }
                places.iter().max().copied().unwrap_or(0)
            });
            let mut most_of: Vec<u32> = most_of.collect();
            most_of.sort_unstable();
            // Sixteen each on the average; by chance alone none is near to this.
            let most = most_of[KEYS * 3 / 4];
            assert!(
                most < 160,
                "{most} of 4096 in one of 256 places: {most_of:?}"
            );
        }
    }
}
