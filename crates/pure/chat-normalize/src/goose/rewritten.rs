//! A conversation that was written anew while it was told: which of its messages stand, and what was done to it.
//!
//! | what is seen | what it was |
//! |---|---|
//! | its last messages are gone | the user went back behind them |
//! | all of them are, and none is there | it was cleared |
//! | others are, as the first ones | it was compacted: room was made in the model's context |
//!
//! Messages that are only marked otherwise stand, as those that the model is not shown any more.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use crate::emit::hash;
use crate::set_back::Standing;
use crate::value::{list_of, text_of};

/// So many messages are known; those before are taken to stand.
const MOST_MESSAGES: usize = 200_000;

/// A message: one id may be that of several, which are told apart by their order.
type Key = (u64, u32);

/// Counts messages of one id.
#[derive(Debug, Default)]
pub(super) struct Nth(BTreeMap<u64, u32>);

impl Nth {
    /// The key of the message that comes next.
    pub(super) fn key(&mut self, message: &Value) -> Key {
        match text_of(message, "id") {
            Some(id) => self.key_of(id),
            None => self.next(hash(message.to_string().as_bytes())),
        }
    }

    fn key_of(&mut self, id: &str) -> Key {
        self.next(hash(id.as_bytes()))
    }

    fn next(&mut self, id: u64) -> Key {
        let nth = self.0.entry(id).or_default();
        *nth += 1;
        (id, *nth)
    }
}

/// The messages that are said to stand.
#[derive(Debug)]
pub(super) struct Stands<'a> {
    ids: &'a [Value],
    are_messages: bool,
}

impl<'a> Stands<'a> {
    /// Those of what is about a session: an export, or `stands`.
    pub(super) fn of(value: &'a Value) -> Option<Stands<'a>> {
        let are_messages = value.get("conversation").is_some();
        if !are_messages {
            value.get("stands")?;
        }
        let name = if are_messages {
            "conversation"
        } else {
            "stands"
        };
        Some(Stands {
            ids: list_of(value, name),
            are_messages,
        })
    }

    fn keys(&self) -> HashSet<Key> {
        let mut seen = Nth::default();
        let keys = self.ids.iter().map(|it| match self.are_messages {
            true => seen.key(it),
            false => seen.key_of(it.as_str().unwrap_or_default()),
        });
        keys.collect()
    }
}

/// What was done to a conversation.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The turns that were left.
    SetBack(Vec<String>),
    Cleared(Vec<String>),
    Compacted,
}

/// The messages that were told and stand, and the turns that they began.
#[derive(Debug, Default)]
pub(super) struct Rewritten {
    messages: Vec<(Key, Option<String>)>,
    known: HashSet<Key>,
    seen: Nth,
    standing: Standing,
    turn: Option<String>,
}

impl Rewritten {
    /// A message was told; `turn` is the one that is open behind it.
    pub(super) fn note(&mut self, message: &Value, turn: Option<&str>) {
        let key = self.seen.key(message);
        let began = turn.filter(|it| self.turn.as_deref() != Some(it));
        let began = began.map(str::to_owned);
        if let Some(turn) = &began {
            self.standing.begin(turn);
            self.turn = Some(turn.clone());
        }
        if self.messages.len() < MOST_MESSAGES && self.known.insert(key) {
            self.messages.push((key, began));
        }
    }

    pub(super) fn has(&self, key: &Key) -> bool {
        self.known.contains(key)
    }

    /// Keeps what stands of the messages; `None` where all of them do.
    pub(super) fn keep(&mut self, stands: &Stands<'_>) -> Option<Change> {
        let keys = stands.keys();
        let first_gone = self
            .messages
            .iter()
            .position(|(key, _)| !keys.contains(key))?;
        let is_tail = self.messages[first_gone..]
            .iter()
            .all(|(key, _)| !keys.contains(key));
        let all = std::mem::take(&mut self.messages).into_iter();
        let (stay, gone): (Vec<_>, Vec<_>) = all.partition(|(key, _)| keys.contains(key));
        self.messages = stay;
        // An id that comes again is counted anew.
        self.seen = Nth::default();
        self.known.clear();
        for (key, _) in &mut self.messages {
            *key = self.seen.next(key.0);
            self.known.insert(*key);
        }
        let turns: Vec<String> = gone.into_iter().filter_map(|(_, turn)| turn).collect();
        let ids: HashSet<&String> = turns.iter().collect();
        if !is_tail || (self.messages.is_empty() && !keys.is_empty()) {
            return Some(Change::Compacted);
        }
        let left = self.standing.leave_these(&ids);
        Some(match self.messages.is_empty() {
            true => Change::Cleared(left),
            false => Change::SetBack(left),
        })
    }
}
