//! The turns of a session that are open, in the order in which they are worked on; what comes belongs to the first.
//!
//! A client may send any number of prompts before the first is answered, and the agent may answer them in any order: a
//! turn is found by its request and its prompt, not looked for among all.

use std::collections::{BTreeMap, BTreeSet};

/// A turn that is open.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    pub(super) id: String,
    /// The id of the prompt's request.
    request: Option<String>,
    /// The hash of what the user said.
    prompt: Option<u64>,
    /// It is of a history that is read out.
    pub(super) replayed: bool,
    pub(super) interrupted: bool,
    /// How many responses it has that bear no id of their own.
    pub(super) n_responses: u64,
}

impl Turn {
    pub(super) fn new(id: String, request: Option<String>, replayed: bool) -> Self {
        Turn {
            id,
            request,
            replayed,
            ..Turn::default()
        }
    }

    /// Nobody asked for it, so that nobody is answered when it is over.
    pub(super) fn is_without_prompt(&self) -> bool {
        self.request.is_none() && !self.replayed
    }
}

/// Turns by their place in the order.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    open: BTreeMap<i64, Turn>,
    of_request: BTreeSet<(String, i64)>,
    of_prompt: BTreeSet<(u64, i64)>,
}

impl Turns {
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// The turn that runs.
    pub(super) fn front(&self) -> Option<&Turn> {
        self.open.values().next()
    }

    pub(super) fn front_mut(&mut self) -> Option<&mut Turn> {
        self.open.values_mut().next()
    }

    pub(super) fn push_back(&mut self, turn: Turn) {
        let at = self.open.last_key_value().map_or(0, |(last, _)| last + 1);
        self.put(at, turn);
    }

    pub(super) fn push_front(&mut self, turn: Turn) {
        let at = self
            .open
            .first_key_value()
            .map_or(0, |(first, _)| first - 1);
        self.put(at, turn);
    }

    pub(super) fn pop_back(&mut self) -> Option<Turn> {
        let at = *self.open.last_key_value()?.0;
        self.take(at)
    }

    pub(super) fn pop_front(&mut self) -> Option<Turn> {
        let at = *self.open.first_key_value()?.0;
        self.take(at)
    }

    /// The first turn of this request is worked on now.
    pub(super) fn bring_front(&mut self, request: &str) {
        let from = (request.to_owned(), i64::MIN);
        let found = self.of_request.range(from..).next();
        let at = found.filter(|(of, _)| of == request).map(|(_, at)| *at);
        if let Some(turn) = at.and_then(|at| self.take(at)) {
            self.push_front(turn);
        }
    }

    /// Whether a turn that is open was asked for with this prompt.
    pub(super) fn has_prompt(&self, prompt: u64) -> bool {
        let all = (prompt, i64::MIN)..=(prompt, i64::MAX);
        self.of_prompt.range(all).next().is_some()
    }

    /// The turn that runs was asked for with this prompt, where none is known.
    pub(super) fn note_prompt(&mut self, prompt: u64) {
        if let Some((at, turn)) = self.open.iter_mut().next()
            && turn.prompt.is_none()
        {
            turn.prompt = Some(prompt);
            self.of_prompt.insert((prompt, *at));
        }
    }

    fn put(&mut self, at: i64, turn: Turn) {
        if let Some(request) = &turn.request {
            self.of_request.insert((request.clone(), at));
        }
        if let Some(prompt) = turn.prompt {
            self.of_prompt.insert((prompt, at));
        }
        self.open.insert(at, turn);
    }

    fn take(&mut self, at: i64) -> Option<Turn> {
        let turn = self.open.remove(&at)?;
        if let Some(request) = &turn.request {
            self.of_request.remove(&(request.clone(), at));
        }
        if let Some(prompt) = turn.prompt {
            self.of_prompt.remove(&(prompt, at));
        }
        Some(turn)
    }
}
