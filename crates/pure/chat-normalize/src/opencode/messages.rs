//! Messages: which turn an answer is for, when it is whole, what it cost, and what went wrong.

mod outcomes;

use std::collections::BTreeSet;

use chat_event::Extra;
use chat_event::payload::{Compaction, Retract};
use serde_json::Value;

use super::parts::Prompt;
use super::session::{Session, Turn};
use super::times;
use crate::emit::{Emitter, Place};
use crate::value::{is_true, str_of, text_of};

/// What is known of a message.
#[derive(Debug, Default)]
pub(crate) struct Message {
    pub(crate) of_user: bool,
    /// It was there when others were forgotten.
    pub(super) is_old: bool,
    pub(crate) turn_id: Option<String>,
    /// It was taken out, or a part of it.
    pub(super) removed: bool,
    /// It stands in for what a compaction dropped.
    pub(super) summary: bool,
    pub(super) summary_text: String,
    pub(super) n_texts: u32,
    pub(super) n_thoughts: u32,
    completed: bool,
    /// Its error was read.
    failed: bool,
    /// A step's usage was written.
    counted: bool,
    model: Option<String>,
    pub(crate) parts: Vec<String>,
    /// Files whose changes were told by the tools of this message.
    pub(crate) edited: BTreeSet<String>,
}

impl Session {
    /// What `info` says of a message; it comes many times.
    pub(crate) fn message(&mut self, emitter: &mut Emitter, native_id: &str, info: &Value) {
        let Some(id) = text_of(info, "id") else {
            let place = self.place(native_id);
            return emitter.raw(&place, self.format, "message without an id", info);
        };
        self.forget_messages();
        match str_of(info, "role") {
            Some("user") => self.prompt_begins(emitter, native_id, id, info),
            Some("assistant") => self.answer(emitter, native_id, id, info),
            Some(_) | None => {
                let place = self.place(native_id);
                emitter.raw(&place, self.format, "message of another role", info);
            }
        }
    }

    fn prompt_begins(&mut self, emitter: &mut Emitter, native_id: &str, id: &str, info: &Value) {
        if self.messages.contains_key(id) {
            return;
        }
        let message = Message {
            of_user: true,
            ..Message::default()
        };
        self.messages.insert(id.to_owned(), message);
        self.flush_prompt(emitter);
        let created = info
            .get("time")
            .and_then(|time| times::of_member(time, "created"));
        self.prompt = Some(Prompt {
            session: native_id.to_owned(),
            message_id: id.to_owned(),
            time_ms: created.unwrap_or(emitter.time_ms),
            ..Prompt::default()
        });
    }

    fn answer(&mut self, emitter: &mut Emitter, native_id: &str, id: &str, info: &Value) {
        let place = self.answer_place(emitter, native_id, id, Some(info));
        if self.is_root(native_id) {
            self.about_answer(emitter, info, &place);
        }
        let Some(message) = self.messages.get_mut(id) else {
            return;
        };
        message.summary |= is_true(info, "summary");
        let model = text_of(info, "modelID");
        if let Some(model) = model {
            message.model = Some(model.to_owned());
        }
        let finish = text_of(info, "finish");
        // It is said again with whatever is said of the message later.
        let error = info.get("error").filter(|error| error.is_object());
        if let Some(error) = error.filter(|_| !std::mem::replace(&mut message.failed, true)) {
            self.failed(emitter, native_id, &place, error);
        }
        let ended = finish.is_some_and(|finish| finish != "tool-calls");
        if let Some(turn) = self.turn(place.turn_id.as_ref())
            && place.parent_tool_call_id.is_none()
        {
            turn.answered = ended;
        }
        let time = info.get("time").unwrap_or(&Value::Null);
        if times::of_member(time, "completed").is_some() {
            self.complete(emitter, id, &place, info);
        }
    }

    /// The place of an answer, which is made known where it was not.
    pub(crate) fn answer_place(
        &mut self,
        emitter: &mut Emitter,
        native_id: &str,
        id: &str,
        info: Option<&Value>,
    ) -> Place {
        let root = self.is_root(native_id);
        if !self.messages.contains_key(id) {
            let turn_id = if root {
                Some(self.turn_of_answer(emitter, id, info))
            } else {
                self.place(native_id).turn_id
            };
            if root && let Some(turn) = self.turn(turn_id.as_ref()) {
                turn.open_messages.insert(id.to_owned());
                turn.guessed = false;
                turn.heard = true;
            }
            let message = Message {
                turn_id,
                ..Message::default()
            };
            self.messages.insert(id.to_owned(), message);
        }
        let mut place = self.place(native_id).in_response(id);
        if let Some(turn_id) = self
            .messages
            .get(id)
            .and_then(|message| message.turn_id.clone())
        {
            place.turn_id = Some(turn_id);
        }
        let now_ms = emitter.time_ms;
        if let Some(turn) = self.turn(place.turn_id.as_ref()) {
            turn.worked_ms = now_ms;
        }
        place
    }

    /// The turn of a new answer: that of the prompt it names; the turns before it are over.
    fn turn_of_answer(&mut self, emitter: &mut Emitter, id: &str, info: Option<&Value>) -> String {
        let prompt_id = info.and_then(|info| text_of(info, "parentID"));
        let of_prompt = prompt_id
            .and_then(|prompt_id| self.messages.get(prompt_id))
            .and_then(|message| message.turn_id.clone());
        let at = of_prompt
            .as_ref()
            .and_then(|turn_id| self.turns.iter().position(|turn| turn.id == *turn_id));
        match (at, of_prompt) {
            (Some(at), Some(turn_id)) => {
                self.close_turns(emitter, at, "completed");
                turn_id
            }
            // The turn was over, or its prompt was not seen.
            _ => {
                if let Some(turn) = self.turns.last() {
                    return turn.id.clone();
                }
                let trigger = match prompt_id {
                    Some(prompt_id) if self.messages.contains_key(prompt_id) => "system",
                    Some(_) | None => "user",
                };
                let stem = prompt_id.map_or_else(|| format!("t-{id}"), str::to_owned);
                self.open_turn(emitter, &stem, trigger)
            }
        }
    }

    /// An answer is whole.
    fn complete(&mut self, emitter: &mut Emitter, id: &str, place: &Place, info: &Value) {
        let Some(message) = self.messages.get_mut(id) else {
            return;
        };
        if std::mem::replace(&mut message.completed, true) {
            return;
        }
        let counted = message.counted;
        let parts = message.parts.clone();
        for part_id in parts {
            self.close_part(emitter, &part_id);
        }
        if !counted {
            self.usage(emitter, id, place, info);
        }
        let summary = self
            .messages
            .get(id)
            .filter(|message| message.summary)
            .map(|message| message.summary_text.clone());
        if let Some(summary) = summary {
            self.compacted = true;
            let trigger = self.compacting.take().unwrap_or_else(|| "auto".to_owned());
            let payload = Compaction {
                trigger,
                summary: Some(summary).filter(|text| !text.is_empty()),
                ..Compaction::default()
            };
            self.add(emitter, id, "compaction", place, payload);
        }
        if place.parent_tool_call_id.is_some() {
            return;
        }
        let Some(turn) = self.turn(place.turn_id.as_ref()) else {
            return;
        };
        turn.open_messages.remove(id);
        // The model was asked again, with less, and answered. A summary alone is no answer.
        let went_well = text_of(info, "finish").is_some_and(|finish| finish != "error")
            && info.get("error").is_none_or(Value::is_null)
            && !is_true(info, "summary");
        if went_well {
            turn.failed = false;
        }
        turn.last_ms = info
            .get("time")
            .and_then(|time| times::of_member(time, "completed"));
        self.close_rested(emitter);
    }

    /// Closes the turns where the session was idle before their last answer was whole, or removed.
    fn close_rested(&mut self, emitter: &mut Emitter) {
        let over = |turn: &Turn| turn.idle && turn.open_messages.is_empty();
        if self.turns.iter().all(over) {
            self.close_turns(emitter, usize::MAX, "completed");
        }
    }

    /// A message or part was removed: what it said is taken back.
    pub(crate) fn removed(
        &mut self,
        emitter: &mut Emitter,
        native_id: &str,
        message_id: &str,
        part_id: Option<&str>,
    ) {
        let mut keys: Vec<String> = Vec::new();
        match part_id {
            Some(part_id) => keys.push(part_id.to_owned()),
            None => {
                keys.push(message_id.to_owned());
                if let Some(message) = self.messages.get(message_id) {
                    keys.extend(message.parts.iter().cloned());
                }
            }
        }
        if let Some(message) = self.messages.get_mut(message_id) {
            message.removed = true;
        }
        if part_id.is_none() {
            self.set_backs.removed(message_id);
        }
        for key in &keys {
            if let Some(part) = self.parts.get_mut(key) {
                part.done = true;
                let order = part.order;
                self.open_parts.remove(&order);
            }
            self.drop_call(emitter, key);
        }
        if part_id.is_none()
            && let Some(message) = self.messages.get_mut(message_id)
        {
            message.completed = true;
            for turn in &mut self.turns {
                turn.open_messages.remove(message_id);
            }
        }
        let event_ids: Vec<String> = keys
            .iter()
            .flat_map(|key| self.said.remove(key).unwrap_or_default())
            .collect();
        if event_ids.is_empty() {
            emitter.pass_over("removal of what was not seen");
        } else {
            let place = self.place(native_id);
            let extra = Extra::default();
            emitter.add("retract", &place, Retract { event_ids, extra });
        }
        self.close_rested(emitter);
    }
}
