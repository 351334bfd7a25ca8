//! Fields that no rule knows: they are carried as they came.

use serde_json::Value;

use crate::Json;

/// Fields that no rule knows, in the order they came; of two with the same key the last is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extra(Vec<(Box<str>, Json)>);

impl Extra {
    /// Adds or replaces a field.
    pub fn insert(&mut self, key: &str, value: Json) {
        if let Some(slot) = self.0.iter_mut().find(|(name, _)| &**name == key) {
            slot.1 = value;
        } else {
            self.0.push((key.into(), value));
        }
    }

    /// Takes the field `key` out.
    pub fn remove(&mut self, key: &str) -> Option<Json> {
        let at = self.0.iter().position(|(name, _)| &**name == key)?;
        Some(self.0.remove(at).1)
    }

    /// The field `key`.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.0
            .iter()
            .find(|(name, _)| &**name == key)
            .map(|(_, value)| value)
    }

    /// The fields in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a field that is not there.
    pub(crate) fn push(&mut self, key: &str, value: Json) {
        self.0.push((key.into(), value));
    }

    /// Whether there are so many that going through all for each costs too much.
    pub(crate) fn is_many(&self) -> bool {
        self.0.len() >= MANY
    }
}

/// From so many fields on, those that are read are found by a table.
const MANY: usize = 32;

/// Fields on their way into an [`Extra`]: a line can hold a million of them, and each may be there already.
#[derive(Default)]
pub(crate) struct ExtraReader {
    extra: Extra,
    /// Where each key stands, once there are many. A map of JSON values, because such ones are compiled anyway.
    places: serde_json::Map<String, Value>,
}

impl ExtraReader {
    /// Adds or replaces a field.
    pub(crate) fn insert(&mut self, key: &str, value: Json) {
        if !self.extra.is_many() {
            return self.extra.insert(key, value);
        }
        if self.places.is_empty() {
            let fields = self.extra.iter().zip(0_usize..);
            self.places = fields
                .map(|((key, _), at)| (key.to_owned(), at.into()))
                .collect();
        }
        let at = self.places.get(key).and_then(Value::as_u64);
        let at = at.and_then(|at| usize::try_from(at).ok());
        if let Some(slot) = at.and_then(|at| self.extra.0.get_mut(at)) {
            slot.1 = value;
        } else {
            self.places
                .insert(key.to_owned(), self.extra.0.len().into());
            self.extra.push(key, value);
        }
    }

    /// What was read.
    pub(crate) fn done(self) -> Extra {
        self.extra
    }
}
