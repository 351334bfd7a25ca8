//! Telling what is new, and leaving out the rest.
//!
//! What an event says is for `facts`, and which turn and which call it is of, for `turns` and `calls`. Kinds with rules of
//! their own are told by `texts`, `edits`, `compactions` and `statuses`.

use chat_event::{ChatEvent, Payload};

use super::facts::{self, Fact, fact_of};
use super::written::is_end;
use super::{Merge, Strength};
use crate::emit::hash;

impl Merge {
    /// Tells an event whose turn is known, if it says something new.
    pub(super) fn tell(&mut self, source: usize, mut event: ChatEvent, out: &mut Vec<ChatEvent>) {
        self.calls.rename(source, &mut event, self.wording);
        self.written.rename_taken_back(source, &mut event);
        self.note_taken_back(source, &event);
        match fact_of(&event, source, self.wording) {
            Fact::Counted(key) => {
                let fresh = self.told.count(key, source);
                self.tell_if(fresh, source, event, out);
            }
            Fact::Edit { key, worth } => self.tell_edit(key, worth, source, event, out),
            Fact::Compaction { has_figures } => {
                self.tell_compaction(has_figures, source, event, out);
            }
            Fact::Once(key) => self.tell_once(key, Strength::Sure, source, event, out),
            Fact::Began { key, result } => {
                self.tell_beginning((key, result), source, event, out);
            }
            Fact::Plain { result, failed } => {
                self.tell_plain((result, failed), source, event, out);
            }
            Fact::Bare(key) => self.tell_once(key, Strength::Bare, source, event, out),
            Fact::Guessed(key) => self.tell_once(key, Strength::Guess, source, event, out),
            Fact::Whole { part, words, guess } => {
                self.tell_whole(part, words, guess, source, event, out)
            }
            Fact::Chunk { part } => self.tell_chunk(part, source, event, out),
            Fact::Sum { key, context } => {
                let fresh = self.told.count(key, source);
                let news = context
                    .is_some_and(|context| self.once.insert(context, Strength::Sure).is_none());
                if !fresh && news {
                    // Only that is new: the sum was told, and others since.
                    facts::keep_context(&mut event.payload);
                }
                self.tell_if(fresh || news, source, event, out);
            }
            Fact::TurnStart => {
                let fresh = self.turns.start(event.turn_id.as_deref());
                self.tell_if(fresh, source, event, out);
            }
            Fact::TurnEnd { key, guess } => {
                self.tell_once(key, Strength::of(guess), source, event, out);
            }
            Fact::Request(key) => {
                let fresh = self.told.count(key, source);
                let n = self.told.of(key, source);
                let Some(id) = facts::request_id(&mut event.payload).cloned() else {
                    return;
                };
                let told = self
                    .request_of
                    .entry((key, n))
                    .or_insert_with(|| id.clone());
                self.requests.insert(id, told.clone());
                self.tell_if(fresh, source, event, out);
            }
            Fact::Answer { guess } => {
                if let Some(id) = facts::request_id(&mut event.payload) {
                    if let Some(told) = self.requests.get(id) {
                        id.clone_from(told);
                    }
                    let key = hash(format!("answer\0{id}").as_bytes());
                    self.tell_once(key, Strength::of(guess), source, event, out);
                }
            }
            Fact::SessionStart => self.tell_facts(source, event, out),
            Fact::Status => self.tell_status(source, event, out),
        }
    }

    /// Tells what is new, and counts what is not.
    pub(super) fn tell_if(
        &mut self,
        is_new: bool,
        source: usize,
        event: ChatEvent,
        out: &mut Vec<ChatEvent>,
    ) {
        if is_new {
            self.write(source, event, out);
        } else {
            self.dropped += 1;
        }
    }

    /// Writes an event; the id it bears then.
    pub(super) fn write(
        &mut self,
        source: usize,
        event: ChatEvent,
        out: &mut Vec<ChatEvent>,
    ) -> String {
        self.written.write(source, event, out)
    }

    /// A fact that stands once: a sure one ends the waiting of a guess, and comes after one that was told.
    pub(super) fn tell_once(
        &mut self,
        key: u64,
        strength: Strength,
        source: usize,
        event: ChatEvent,
        out: &mut Vec<ChatEvent>,
    ) {
        // What is told behind the session's end wants another one.
        let again = self.written.has_log() && is_end(&event) && !self.written.is_over();
        if !again && self.once.get(&key).is_some_and(|told| *told >= strength) {
            self.dropped += 1;
            return self.tell_rest_of_end(source, event, out);
        }
        // What stands in a log waits for nobody.
        if strength == Strength::Guess && !self.written.is_log(source) && !self.alone(source) {
            if let std::collections::hash_map::Entry::Vacant(entry) = self.waiting_of.entry(key) {
                self.n_waiting += 1;
                entry.insert(self.n_waiting);
                self.waiting.insert(self.n_waiting, (source, event));
            } else {
                self.dropped += 1;
            }
            return;
        }
        if let Some(at) = self.waiting_of.remove(&key) {
            self.waiting.remove(&at);
            self.dropped += 1;
        }
        self.once.insert(key, strength);
        self.chunks.remove(&key);
        let ended = matches!(event.payload, Payload::TurnEnd(_));
        if ended {
            self.turns.end(event.turn_id.as_deref());
            if let Some(usage) = facts::usage_of_end(&event) {
                self.once.insert(usage.0, Strength::Sure);
            }
        }
        self.write(source, event, out);
        if ended
            && !self.turns.any_open()
            && let Some((source, idle)) = self.idle.take()
        {
            self.tell_status(source, idle, out);
        }
    }

    /// What a turn used, where its end was told by one who does not know that.
    fn tell_rest_of_end(&mut self, source: usize, event: ChatEvent, out: &mut Vec<ChatEvent>) {
        if let Some((key, usage)) = facts::usage_of_end(&event) {
            let payload = Payload::Usage(usage);
            let id = format!("{}.usage", event.id);
            let usage = ChatEvent {
                id,
                payload,
                ..event
            };
            self.tell_once(key, Strength::Sure, source, usage, out);
        }
    }

    /// Facts of the session: those that were not told as often as this source tells them.
    fn tell_facts(&mut self, source: usize, mut event: ChatEvent, out: &mut Vec<ChatEvent>) {
        let wording = self.wording;
        let mut count = |key: u64| self.told.count(key, source);
        let is_new = facts::keep_new(&mut event.payload, wording, &mut count);
        self.tell_if(is_new, source, event, out);
    }
}
