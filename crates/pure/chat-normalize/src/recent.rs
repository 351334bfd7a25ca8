//! A map that forgets: what a late line or event may still name, kept for a while and not for ever.
//!
//! Two tables: what is put in goes to the young one; when that is full, the old one is dropped and the young one takes
//! its place. So an entry stays for at least `LIMIT` others after it and is gone after twice as many, at no cost but a
//! second look. Keys are hashes of the ids they stand for, for ids may be long.

use std::collections::HashMap;

use crate::emit::hash;

/// Where nothing else is said: seven eighths of 32,768, which is what a table of that size holds.
pub(crate) const LATE: usize = 28_672;

/// As [`LATE`], for entries that hold more than a few words.
pub(crate) const LATE_LARGE: usize = 7_168;

/// As [`LATE`], for what is no more than a hash and a number: seven eighths of 524,288.
pub(crate) const LATE_SMALL: usize = 458_752;

/// The entries that were put in last, by the hash of their id: `LIMIT` at least, twice as many at most.
#[derive(Debug)]
pub(crate) struct Recent<V, const LIMIT: usize = LATE> {
    young: HashMap<u64, V>,
    old: HashMap<u64, V>,
}

impl<V, const LIMIT: usize> Default for Recent<V, LIMIT> {
    fn default() -> Self {
        Recent {
            young: HashMap::new(),
            old: HashMap::new(),
        }
    }
}

impl<V, const LIMIT: usize> Recent<V, LIMIT> {
    /// The entry of `id`, where it is not forgotten.
    pub(crate) fn get(&self, id: &str) -> Option<&V> {
        self.at(hash(id.as_bytes()))
    }

    /// As [`Recent::get`], by the id's hash.
    pub(crate) fn at(&self, key: u64) -> Option<&V> {
        self.young.get(&key).or_else(|| self.old.get(&key))
    }

    /// As [`Recent::at`], to be changed.
    pub(crate) fn at_mut(&mut self, key: u64) -> Option<&mut V> {
        match self.young.get_mut(&key) {
            Some(value) => Some(value),
            None => self.old.get_mut(&key),
        }
    }

    /// Whether `id` has an entry.
    pub(crate) fn contains(&self, id: &str) -> bool {
        self.get(id).is_some()
    }

    /// Puts an entry in; whether there was none.
    pub(crate) fn insert(&mut self, id: &str, value: V) -> bool {
        self.put(hash(id.as_bytes()), value)
    }

    /// As [`Recent::insert`], by the id's hash.
    pub(crate) fn put(&mut self, key: u64, value: V) -> bool {
        let is_new = self.old.remove(&key).is_none();
        if self.young.len() >= LIMIT && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value).is_none() && is_new
    }

    /// Takes the entry of `id` out.
    pub(crate) fn remove(&mut self, id: &str) -> Option<V> {
        let key = hash(id.as_bytes());
        self.young.remove(&key).or_else(|| self.old.remove(&key))
    }

    /// The entry of `id`, which is put in where there is none, and stays as if it were put in now.
    pub(crate) fn entry(&mut self, id: &str) -> &mut V
    where
        V: Default,
    {
        self.entry_at(hash(id.as_bytes()))
    }

    /// As [`Recent::entry`], by the id's hash.
    pub(crate) fn entry_at(&mut self, key: u64) -> &mut V
    where
        V: Default,
    {
        if !self.young.contains_key(&key) {
            let value = self.old.remove(&key).unwrap_or_default();
            self.put(key, value);
        }
        self.young.entry(key).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_entries_stay_and_those_before_twice_as_many_are_gone() {
        let mut recent = Recent::<usize, 10>::default();
        for n in 0..1000_usize {
            assert!(recent.insert(&n.to_string(), n));
            for back in 0..=n.min(10) {
                let id = (n - back).to_string();
                assert_eq!(recent.get(&id), Some(&(n - back)), "{id} at {n}");
            }
            assert!(recent.young.len() + recent.old.len() <= 20);
        }
        assert_eq!(recent.get("979"), None);
    }

    #[test]
    fn an_entry_is_one_wherever_it_stands() {
        let mut recent = Recent::<u32, 2>::default();
        *recent.entry("a") += 1;
        *recent.entry("b") += 1;
        *recent.entry("c") += 1;
        // `a` is old now, and young again.
        *recent.entry("a") += 1;
        assert_eq!(recent.remove("a"), Some(2));
        assert_eq!(recent.get("a"), None);
        assert!(recent.insert("a", 5));
        assert!(!recent.insert("a", 6));
        assert_eq!(recent.get("a"), Some(&6));
    }
}
