//! What the user says: as an item, or in pieces under the id of one that is empty.
//!
//! OpenCode's converter tells of each of the user's messages, at any time and more than once, that it is complete and
//! empty; the words come as if they were the agent's, each part at once.

use chat_event::Json;
use chat_event::payload::UserMessage;
use serde_json::Value;

use super::FORMAT;
use super::events::SandboxAgent;
use super::parts::{attachment, text_part};
use super::results::ids_of;
use crate::emit::{Emitter, hash};
use crate::value::list_of;

/// How an item of the user's was told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Told {
    /// It is known to be one.
    #[default]
    Not,
    InPieces,
    Whole,
}

impl SandboxAgent {
    /// How the user's item was told that an item or a piece names; `None` where that is none of the user's.
    pub(super) fn of_user(&self, named: &Value) -> Option<Told> {
        ids_of(named).find_map(|id| self.users.get(id)).copied()
    }

    fn note_user(&mut self, named: &Value, told: Told) {
        for id in ids_of(named) {
            self.users.insert(id, told);
        }
    }

    /// An item of the user's.
    pub(super) fn user_item(&mut self, emitter: &mut Emitter, key: &str, item: &Value) {
        let told = self.of_user(item).unwrap_or_default();
        let content = list_of(item, "content");
        if content.is_empty() {
            self.note_user(item, told);
            return emitter.pass_over("an empty item of the user's");
        }
        if told == Told::InPieces {
            return emitter.pass_over("an item told in pieces");
        }
        self.note_user(item, Told::Whole);
        let mut text = String::new();
        let mut attached = Vec::new();
        let mut unread = Vec::new();
        for part in content {
            match (text_part(part), attachment(part)) {
                (Some((_, more)), _) => text.push_str(&more),
                (None, Some(attachment)) => attached.push(attachment),
                (None, None) => unread.push(part),
            }
        }
        if !self.user_says(emitter, key, &text, attached) {
            return;
        }
        let place = self.quiet_place();
        for part in unread {
            emitter.raw(&place, FORMAT, "a part of a message", part);
        }
    }

    /// A piece under the id of a user's item.
    pub(super) fn user_piece(
        &mut self,
        emitter: &mut Emitter,
        told: Told,
        data: &Value,
        text: &str,
    ) {
        if told == Told::Whole || text.is_empty() {
            return emitter.pass_over("a piece of an item told before");
        }
        self.note_user(data, Told::InPieces);
        let key = ids_of(data).next().unwrap_or("");
        self.user_says(emitter, key, text, Vec::new());
    }

    /// What the user says begins a turn, unless the one that runs was not answered yet; `false` where it was said before.
    fn user_says(
        &mut self,
        emitter: &mut Emitter,
        key: &str,
        text: &str,
        attached: Vec<Value>,
    ) -> bool {
        // Without an id the same words are the same item in their turn alone.
        let print = |n_turns: u64| {
            let turn = if key.is_empty() { n_turns } else { 0 };
            hash(format!("{turn}:{key}:{text}").as_bytes())
        };
        if self.words.at(print(self.n_turns)).is_some() {
            emitter.pass_over("an item begun again");
            return false;
        }
        self.flush(emitter);
        if self.answered && self.calls.is_empty() {
            self.close_turn(emitter, "completed");
        }
        let place = self.place(emitter);
        self.words.put(print(self.n_turns), ());
        let is_by_agent = place.parent_tool_call_id.is_some();
        let mut payload = UserMessage {
            text: text.into(),
            attachments: (!attached.is_empty()).then(|| Json::from(Value::Array(attached))),
            ..UserMessage::default()
        };
        if is_by_agent {
            payload.extra.insert("from", Json::string("agent"));
        }
        let id = if key.is_empty() { "user" } else { key };
        emitter.add_as(&format!("{id}:user"), &place, payload);
        true
    }
}
