//! What stands in the place of what was masked: its kind, and a number that tells which one it was.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use super::find::{Found, Rank};
use super::personal::USER_NAME;
use super::rules::{SERVICES, SHAPES};
use super::value::Value;

/// The labels of one session.
#[derive(Clone, Debug, Default)]
pub(super) struct Labels {
    numbers: HashMap<(&'static str, Value), usize>,
    all: Vec<Labelled>,
    last_of_kind: HashMap<&'static str, usize>,
}

/// A value that has a label.
#[derive(Clone, Debug)]
pub(super) struct Labelled {
    pub(super) kind: &'static str,
    pub(super) value: Value,
    pub(super) rank: Rank,
    /// Which one of its kind, from 1.
    number: usize,
}

/// Kinds that no table of rules has.
const OTHER_KINDS: [&str; 15] = [
    "azure secret",
    "basic credentials",
    "bearer token",
    "cut word",
    "e-mail address",
    "facebook token",
    "ip address",
    "kubernetes secret",
    "password",
    "private key",
    "random text",
    "secret",
    "secret answer",
    "seed phrase",
    USER_NAME,
];

/// What all that is masked can be called, in the order of letters. [`Plan::keep`](super::Plan::keep) takes these.
///
/// ```
/// assert!(chat_feed::mask::kinds().contains("github token"));
/// ```
pub fn kinds() -> &'static BTreeSet<&'static str> {
    static KINDS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
        let shapes = SHAPES.iter().map(|shape| shape.kind);
        let services = SERVICES.iter().map(|service| service.kind);
        shapes.chain(services).chain(OTHER_KINDS).collect()
    });
    &KINDS
}

impl Labels {
    /// The label of what was found, which is made where there is none.
    pub(super) fn of(&mut self, found: &Found) -> usize {
        let key = (found.kind, found.value.clone());
        if let Some(&label) = self.numbers.get(&key) {
            return label;
        }
        debug_assert!(kinds().contains(found.kind), "{}", found.kind);
        let number = self.last_of_kind.entry(found.kind).or_insert(0);
        *number += 1;
        let label = self.all.len();
        self.all.push(Labelled {
            kind: found.kind,
            value: found.value.clone(),
            rank: found.rank,
            number: *number,
        });
        self.numbers.insert(key, label);
        label
    }

    /// What has this label.
    pub(super) fn get(&self, label: usize) -> Option<&Labelled> {
        self.all.get(label)
    }

    /// All that have one, in the order in which they were found.
    pub(super) fn all(&self) -> &[Labelled] {
        &self.all
    }
}

impl Labelled {
    /// As it is written into texts.
    pub(super) fn text(&self) -> String {
        format!("[masked: {} #{}]", self.kind, self.number)
    }

    /// As it is written into ids, which have fewer characters.
    pub(super) fn id(&self) -> String {
        let word: String = self
            .kind
            .chars()
            .map(|char| {
                if char.is_ascii_alphanumeric() {
                    char
                } else {
                    '-'
                }
            })
            .collect();
        format!("masked-{word}-{}", self.number)
    }
}
