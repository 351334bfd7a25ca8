//! Messages: begun with what is known of them, written in pieces, completed, perhaps under another id.
//!
//! What a message is begun with and the pieces behind it overlap, so the first is only kept: it is written as the whole
//! where another item begins, or the turn ends, before the message is completed. A completed message that nobody began
//! is the one that says the same and was not completed, or the one that is written.
//!
//! A message that its turn's end cut off goes on in that turn, whenever more of it comes.

use std::collections::BTreeSet;

use chat_event::payload::Retract;
use chat_event::{Extra, Payload};
use serde_json::Value;

use super::FORMAT;
use super::events::SandboxAgent;
use super::parts::{text_hash, text_part};
use super::results::ids_of;
use crate::emit::{Emitter, Place, hash};
use crate::speech::{Kind, Part};
use crate::value::{list_of, str_of};

/// Messages that come in pieces and were left for other items: those that a whole of another id may be, at most.
const MAX_LEFT: usize = 8;

/// A message of the agent.
#[derive(Debug, Default)]
pub(crate) struct Message {
    /// The id of its response.
    pub(super) id: String,
    /// The turn it began in, and the call whose agent says it.
    turn: Option<String>,
    parent: Option<String>,
    order: u64,
    /// What it was begun with and was not written.
    pending: Vec<(Kind, String)>,
    /// What is written in pieces.
    part: Option<Part>,
    /// The events of these pieces.
    pieces: Vec<String>,
    numbers: [u32; 2],
    /// The texts it told, by hash.
    told: BTreeSet<u64>,
    /// What was ended before it was completed.
    cut_off: Option<CutOff>,
    /// It was completed.
    whole: bool,
}

/// A text that pieces wrote, and that may be no more than the beginning of it.
#[derive(Debug)]
struct CutOff {
    number: u32,
    event_id: String,
    n_bytes: usize,
    hash: u64,
}

impl Message {
    fn place(&self) -> Place {
        Place {
            turn_id: self.turn.clone(),
            parent_tool_call_id: self.parent.clone(),
            ..Place::default()
        }
        .in_response(&self.id)
    }

    /// Whether it is complete, and all of this was told of it.
    fn has_told(&self, texts: &[(Kind, String)]) -> bool {
        self.whole
            && texts
                .iter()
                .all(|text| self.told.contains(&text_hash(text)))
    }

    /// The number that `text` has, where a part that was cut off is the beginning of it; that part is taken back.
    fn take_back_cut_off(&mut self, emitter: &mut Emitter, text: &str) -> Option<u32> {
        let is_start = |cut: &mut CutOff| {
            let start = text.get(..cut.n_bytes);
            start.is_some_and(|start| hash(start.as_bytes()) == cut.hash)
        };
        let cut_off = self.cut_off.take_if(is_start)?;
        self.retract(emitter, vec![cut_off.event_id]);
        Some(cut_off.number)
    }

    fn retract(&self, emitter: &mut Emitter, event_ids: Vec<String>) {
        let extra = Extra::default();
        let retract = Retract { event_ids, extra };
        emitter.add_as(&format!("{}:retract", self.id), &self.place(), retract);
    }
}

impl SandboxAgent {
    /// A message that began or is complete.
    pub(super) fn message(&mut self, emitter: &mut Emitter, key: &str, item: &Value, whole: bool) {
        let content = list_of(item, "content");
        if str_of(item, "role") == Some("user") || self.of_user(item).is_some() {
            return self.user_item(emitter, key, item);
        }
        let mut texts = Vec::new();
        for part in content {
            match text_part(part) {
                Some(text) => texts.push(text),
                None => self.other_part(emitter, key, part),
            }
        }
        let past = self.past.get(key);
        if !self.in_turn() && past.is_some_and(|past| past.has_told(&texts)) {
            return emitter.pass_over("a message told before");
        }
        let known = self.messages.contains_key(key) || past.is_some_and(|past| !past.whole);
        let key = match (whole, known) {
            (true, false) => self.completes(&texts).unwrap_or_else(|| key.to_owned()),
            _ => key.to_owned(),
        };
        if self.current.as_deref() != Some(&key) {
            self.leave(emitter);
        }
        self.need_message(emitter, &key);
        if !whole {
            texts.retain(|(_, text)| !text.is_empty());
        }
        if !texts.is_empty() && !whole {
            // One block after the other comes under the same id: what came before is whole.
            let Some(message) = self.messages.get(&key) else {
                return;
            };
            if message.pending == texts {
                return emitter.pass_over("an item begun again");
            }
            self.flush(emitter);
            self.current = Some(key.clone());
        }
        let texts = match self.messages.get_mut(&key) {
            Some(message) if whole => {
                message.whole = true;
                texts.retain(|text| !message.told.contains(&text_hash(text)));
                message.pending = texts;
                true
            }
            Some(message) if !texts.is_empty() => {
                message.pending = texts;
                false
            }
            _ => whole,
        };
        if texts {
            self.take_back_thoughts(emitter, &key);
            self.flush(emitter);
            let message = self.messages.get(&key);
            if message.is_some_and(|message| message.turn == self.turn) {
                self.answered = true;
                self.failed = false;
            }
        }
    }

    /// The message whose text a completed one of an unknown id repeats, or the one that is written.
    fn completes(&self, texts: &[(Kind, String)]) -> Option<String> {
        let said = texts
            .iter()
            .filter_map(|text| self.texts.get(&text_hash(text)))
            .find(|key| {
                self.messages
                    .get(*key)
                    .is_some_and(|message| !message.whole)
            });
        let is_in_pieces = |key: &&String| {
            let message = self.messages.get(*key);
            let part = message.and_then(|message| message.part.as_ref());
            let is_it = |(kind, text): &(Kind, String)| {
                *kind == Kind::Text && part.is_some_and(|part| part.text() == text)
            };
            texts.iter().any(is_it)
        };
        let said = said.or_else(|| self.left.iter().find(is_in_pieces));
        said.cloned().or_else(|| {
            let current = self.current.clone()?;
            let message = self.messages.get(&current)?;
            let same =
                message.part.is_some() || texts.iter().any(|text| message.pending.contains(text));
            same.then_some(current)
        })
    }

    fn need_message(&mut self, emitter: &mut Emitter, key: &str) {
        let is_late = self.past.get(key).is_some_and(|past| !past.whole);
        if self.messages.contains_key(key) {
            // It is written.
        } else if let Some(late) = is_late.then(|| self.past.remove(key)).flatten() {
            self.messages.insert(key.to_owned(), late);
        } else {
            let place = self.place(emitter);
            self.n_messages += 1;
            let id = if key.is_empty() {
                format!("message-{}", self.n_messages)
            } else {
                key.to_owned()
            };
            let message = Message {
                id,
                turn: place.turn_id,
                parent: place.parent_tool_call_id,
                order: self.n_messages,
                ..Message::default()
            };
            self.messages.insert(key.to_owned(), message);
        }
        self.current = Some(key.to_owned());
    }

    /// `item.delta`: a piece of a message, or of what a tool prints.
    pub(super) fn delta(&mut self, emitter: &mut Emitter, data: &Value) {
        let Some(piece) = str_of(data, "delta") else {
            let place = self.quiet_place();
            return emitter.raw(&place, FORMAT, "a piece without text", data);
        };
        if let Some(call) = self.call_of(data) {
            return self.output(emitter, &call, piece);
        }
        if let Some(told) = self.of_user(data) {
            return self.user_piece(emitter, told, data, piece);
        }
        let named = ids_of(data)
            .find(|id| self.messages.contains_key(*id))
            .map(str::to_owned);
        let id = ids_of(data).next();
        let key = named
            .or_else(|| self.current.clone().filter(|_| id.is_none()))
            .or_else(|| id.map(str::to_owned))
            .unwrap_or_default();
        let text = [(Kind::Text, piece.to_owned())];
        let past = self.past.get(&key);
        if !self.in_turn() && past.is_some_and(|past| past.has_told(&text)) {
            return emitter.pass_over("a message told before");
        }
        if self.current.as_deref() != Some(&key) {
            self.leave(emitter);
        }
        self.need_message(emitter, &key);
        // A thought that the message was begun with stands before its text.
        let thought = self.messages.get(&key).is_some_and(|message| {
            let thoughts = |(kind, _): &(Kind, String)| *kind == Kind::Thinking;
            !message.pending.is_empty() && message.pending.iter().all(thoughts)
        });
        if thought {
            self.flush(emitter);
            self.current = Some(key.clone());
        }
        let Some(message) = self.messages.get_mut(&key) else {
            return;
        };
        let place = message.place();
        let numbers = &mut message.numbers;
        let part = message.part.get_or_insert_with(|| {
            let number = numbers[0];
            numbers[0] = number.saturating_add(1);
            Part::new(place, Kind::Text, number)
        });
        let n_before = emitter.out.len();
        part.add(emitter, piece);
        let added = emitter.out.get(n_before..).unwrap_or_default();
        let pieces = added
            .iter()
            .filter(|event| matches!(event.payload, Payload::AssistantChunk(_)));
        message.pieces.extend(pieces.map(|event| event.id.clone()));
    }

    /// Another item begins: what the message that is written was begun with is whole then. What comes in pieces may go on
    /// beside others, until it is completed or the turn ends.
    pub(super) fn leave(&mut self, emitter: &mut Emitter) {
        let current = self.current.as_ref();
        let Some(message) = current.and_then(|key| self.messages.get(key)) else {
            return self.flush(emitter);
        };
        if message.part.is_none() {
            return self.flush(emitter);
        }
        if let Some(key) = self.current.take() {
            self.left.retain(|left| *left != key);
            self.left.push_back(key);
            if self.left.len() > MAX_LEFT {
                self.left.pop_front();
            }
        }
    }

    /// The turn ends: what came in pieces is whole.
    pub(super) fn end_parts(&mut self, emitter: &mut Emitter) {
        let open = self.messages.iter();
        let open = open.filter(|(_, message)| message.part.is_some());
        let mut open: Vec<(u64, String)> = open
            .map(|(key, message)| (message.order, key.clone()))
            .collect();
        open.sort();
        for (_, key) in open {
            self.current = Some(key);
            self.flush(emitter);
        }
    }

    /// Pieces do not say whether they are said or thought: where the whole says that it was thought, they are taken back.
    fn take_back_thoughts(&mut self, emitter: &mut Emitter, key: &str) {
        let Some(message) = self.messages.get_mut(key) else {
            return;
        };
        let Some(part) = &message.part else { return };
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        let written = bare(part.text());
        // In their order, so that it is looked through once.
        let mut left = written.as_str();
        let mut was_thought = |(kind, text): &(Kind, String)| {
            let found = left.split_once(bare(text).as_str());
            left = found.map_or(left, |(_, rest)| rest);
            *kind == Kind::Thinking && found.is_some()
        };
        // What else was written is an answer, and stays.
        if message.pending.is_empty()
            || !message.pending.iter().all(&mut was_thought)
            || !left.is_empty()
        {
            return;
        }
        message.part = None;
        message.numbers[0] = message.numbers[0].saturating_sub(1);
        let event_ids = std::mem::take(&mut message.pieces);
        if !event_ids.is_empty() {
            message.retract(emitter, event_ids);
        }
    }

    /// Writes what the message that is written was begun with, and ends its pieces.
    pub(super) fn flush(&mut self, emitter: &mut Emitter) {
        let Some(key) = self.current.take() else {
            return;
        };
        let Some(message) = self.messages.get_mut(&key) else {
            return;
        };
        message.pieces.clear();
        let place = message.place();
        for (kind, text) in std::mem::take(&mut message.pending) {
            let print = text_hash(&(kind, text.clone()));
            if message.part.is_none() && message.told.contains(&print) {
                emitter.pass_over("a message told before");
                continue;
            }
            message.told.insert(print);
            self.texts.insert(print, key.clone());
            let cut_off = match kind {
                Kind::Text if message.whole => message.take_back_cut_off(emitter, &text),
                Kind::Text | Kind::Thinking => None,
            };
            if kind == Kind::Text
                && let Some(part) = message.part.take()
            {
                // What it was begun with may be less than what came in pieces.
                if message.whole || text.len() >= part.text().len() {
                    part.end_as(emitter, text);
                } else {
                    part.end(emitter);
                }
                continue;
            }
            let next = match kind {
                Kind::Text => &mut message.numbers[0],
                Kind::Thinking => &mut message.numbers[1],
            };
            let number = cut_off.unwrap_or(*next);
            *next = (*next).max(number.saturating_add(1));
            Part::new(place.clone(), kind, number).end_as(emitter, text);
        }
        if let Some(part) = message.part.take() {
            let print = text_hash(&(Kind::Text, part.text().to_owned()));
            message.told.insert(print);
            self.texts.insert(print, key.clone());
            let (number, n_bytes) = (part.number, part.text().len());
            let hash = hash(part.text().as_bytes());
            let event_id = part.end(emitter).filter(|_| !message.whole);
            message.cut_off = event_id.map(|event_id| CutOff {
                number,
                event_id,
                n_bytes,
                hash,
            });
        }
    }

    /// The turn is over: its messages may go on, or be said again.
    pub(super) fn end_messages(&mut self) {
        for (key, message) in std::mem::take(&mut self.messages) {
            if !key.is_empty() {
                self.past.insert(&key, message);
            }
        }
        self.texts.clear();
        self.left.clear();
        self.current = None;
    }
}
