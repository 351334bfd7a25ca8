//! A prompt that was put together of its parts, and the turn it opens.

use chat_event::payload::UserMessage;
use chat_event::{Extra, Json};
use serde_json::Value;

use super::{Session, Turn};
use crate::emit::{Emitter, Place};
use crate::opencode::parts::Prompt;
use crate::value::text_of;

impl Session {
    /// Writes the prompt that was put together.
    pub(crate) fn flush_prompt(&mut self, emitter: &mut Emitter) {
        let Some(prompt) = self.prompt.take() else {
            return;
        };
        if prompt.is_empty() {
            return;
        }
        let now_ms = std::mem::replace(&mut emitter.time_ms, prompt.time_ms);
        let root = self.is_root(&prompt.session);
        let mut place = self.place(&prompt.session);
        if root {
            let known = self
                .messages
                .get(&prompt.message_id)
                .and_then(|message| message.turn_id.clone());
            let turn_id = match known {
                Some(turn_id) => turn_id,
                None => self.turn_of_prompt(emitter, &prompt),
            };
            place.turn_id = Some(turn_id);
        }
        if let Some(message) = self.messages.get_mut(&prompt.message_id) {
            message.turn_id.clone_from(&place.turn_id);
        }
        if let Some(turn_id) = place.turn_id.clone().filter(|_| root) {
            self.set_backs.begin(&prompt.message_id, turn_id);
        }
        if prompt.ran && root {
            let turn_id = place.turn_id.clone();
            self.ran = turn_id.map(|turn_id| (turn_id, prompt.message_id.clone()));
        }
        if prompt.says_something() {
            let attachments = (!prompt.attachments.is_empty())
                .then(|| Json::from(&Value::Array(prompt.attachments.clone())));
            let payload = UserMessage {
                text: prompt.texts.join("\n\n").into(),
                attachments,
                extra: Extra::default(),
            };
            let tag = format!("{}:said", prompt.message_id);
            let id = {
                let event = emitter.add_as(&tag, &place, payload);
                if !root {
                    event.extra.insert("from", Json::string("agent"));
                }
                event.id.clone()
            };
            self.note(&prompt.message_id, id);
        }
        emitter.time_ms = now_ms;
    }

    /// The user ran the command of the call that comes now, in its turn: it is what they said.
    pub(crate) fn tell_ran(&mut self, emitter: &mut Emitter, place: &Place, input: &Value) {
        let Some(command) = text_of(input, "command") else {
            return;
        };
        if place.parent_tool_call_id.is_none()
            && let Some((turn_id, message_id)) = self.ran.take()
            && place.turn_id.as_ref() == Some(&turn_id)
        {
            let payload = UserMessage {
                text: format!("!{command}").into(),
                ..UserMessage::default()
            };
            let place = Place {
                turn_id: Some(turn_id),
                ..Place::default()
            };
            self.add(emitter, &message_id, "said", &place, payload);
        }
    }

    /// The turn that a prompt opens, or the one that was opened for it.
    fn turn_of_prompt(&mut self, emitter: &mut Emitter, prompt: &Prompt) -> String {
        self.close_idle(emitter);
        if let Some(turn) = self.turns.last_mut()
            && turn.guessed
        {
            turn.guessed = false;
            return turn.id.clone();
        }
        let trigger = if prompt.is_a_persons() {
            "user"
        } else {
            "system"
        };
        // In a document all that came before is over, but for what a later answer shows to have been queued.
        let over = |turn: &Turn| {
            turn.open_messages.is_empty() && (turn.answered || turn.failed || turn.interrupted)
        };
        if !self.live && self.turns.iter().all(over) {
            self.close_turns(emitter, usize::MAX, "completed");
        }
        self.open_turn(emitter, &prompt.message_id, trigger)
    }
}
