//! What readers have in hand at a time: a few things, each under a name. A list is quick enough for them, and takes none of
//! the code that larger maps do.

/// A map of few entries.
pub(crate) struct Few<K, V>(Vec<(K, V)>);

impl<K, V> Default for Few<K, V> {
    fn default() -> Self {
        Few(Vec::new())
    }
}

impl<K: PartialEq, V> Few<K, V> {
    /// What is under a name.
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        let found = self.0.iter().find(|(known, _)| known == key);
        found.map(|(_, value)| value)
    }

    /// Puts something under a name, in place of what was.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        self.remove(&key);
        self.0.push((key, value));
    }

    /// Takes out what is under a name.
    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        let place = self.0.iter().position(|(known, _)| known == key)?;
        Some(self.0.swap_remove(place).1)
    }

    /// Takes out everything.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl<K: PartialEq, V: Default> Few<K, V> {
    /// What is under a name, or its beginning.
    pub(crate) fn entry(&mut self, key: K) -> &mut V {
        let place = match self.0.iter().position(|(known, _)| *known == key) {
            Some(place) => place,
            None => {
                self.0.push((key, V::default()));
                self.0.len() - 1
            }
        };
        &mut self.0[place].1
    }
}
