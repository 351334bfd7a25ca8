//! What a secret reads, as far as it is kept: once, however often it is found, and of a very long one no more than tells it.

use std::sync::Arc;

use chat_event::stable_hash;

/// So much of the beginning and of the end of a value is kept where it is longer than both together. One that goes on and
/// on may have a label in a session of which thousands are kept.
const KEPT_BYTES: usize = 2_048;

/// What was found reads so. Copies share it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Value {
    /// The whole, or its beginning and its end.
    text: Arc<str>,
    cut: Option<Cut>,
}

/// A value whose middle is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Cut {
    /// Where in what is kept the end begins.
    at: usize,
    n_bytes: usize,
    n_chars: usize,
    /// Of the whole.
    hash: u64,
}

impl Value {
    /// As it stands in a text.
    pub(super) fn of(text: &str) -> Value {
        if text.len() <= 2 * KEPT_BYTES {
            return Value {
                text: Arc::from(text),
                cut: None,
            };
        }
        let begins = &text[..text.floor_char_boundary(KEPT_BYTES)];
        let ends = &text[text.ceil_char_boundary(text.len() - KEPT_BYTES)..];
        Value {
            text: Arc::from([begins, ends].concat()),
            cut: Some(Cut {
                at: begins.len(),
                n_bytes: text.len(),
                n_chars: text.trim().chars().count(),
                hash: stable_hash(text.as_bytes()),
            }),
        }
    }

    /// What is kept of it.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// How long it was, in bytes.
    pub(super) fn len(&self) -> usize {
        self.cut.map_or(self.text.len(), |cut| cut.n_bytes)
    }

    /// How long it was, in characters, without the space around it.
    pub(super) fn n_chars(&self) -> usize {
        self.cut
            .map_or_else(|| self.text.trim().chars().count(), |cut| cut.n_chars)
    }

    /// How it begins: all of it, where all is kept.
    pub(super) fn begins(&self) -> &[u8] {
        let end = self.cut.map_or(self.text.len(), |cut| cut.at);
        &self.text.as_bytes()[..end]
    }

    /// How it ends: all of it, where all is kept.
    pub(super) fn ends(&self) -> &[u8] {
        &self.text.as_bytes()[self.cut.map_or(0, |cut| cut.at)..]
    }

    /// The same for the same value, in every run.
    pub(super) fn hash(&self) -> u64 {
        self.cut
            .map_or_else(|| stable_hash(self.text.as_bytes()), |cut| cut.hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_value_is_kept_as_its_ends_and_told_from_others() {
        let long = |middle: &str| format!("é{}{middle}{}é", "a".repeat(9_000), "z".repeat(9_000));
        let (one, other) = (Value::of(&long("1")), Value::of(&long("2")));
        assert!(one.text().len() <= 2 * KEPT_BYTES);
        assert_eq!((one.len(), one.n_chars()), (18_005, 18_003));
        assert!(one.begins().starts_with("éa".as_bytes()) && one.ends().ends_with("zé".as_bytes()));
        assert_eq!(
            (&one, one.hash()),
            (&Value::of(&long("1")), stable_hash(long("1").as_bytes()))
        );
        assert_ne!(one, other);
        let short = Value::of("short");
        assert_eq!(
            (short.begins(), short.ends()),
            (&b"short"[..], &b"short"[..])
        );
        assert_eq!((short.len(), short.hash()), (5, stable_hash(b"short")));
    }
}
