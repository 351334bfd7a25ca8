//! `assistant` lines: what the model answers, its errors, and the tokens of an answer once all of its lines were read.

use chat_event::payload::SessionStart;
use serde_json::{Map, Value};

use super::{ClaudeTranscript, is_no_answer};
use crate::claude::usage::Used;
use crate::emit::Emitter;
use crate::value::{is_true, list_of, str_of, text_of};

impl ClaudeTranscript {
    pub(super) fn assistant(
        &mut self,
        emitter: &mut Emitter,
        line: &Value,
        chain: Option<(Option<String>, String)>,
    ) {
        if is_no_answer(line) {
            if let Some(turn) = self.session.turns.last_mut().filter(|_| chain.is_none()) {
                turn.interrupted = true;
            }
            self.forget_tasks(emitter);
            emitter.pass_over("assistant, in place of an answer");
            return;
        }
        let message = line.get("message").unwrap_or(&Value::Null);
        let mut place = self.place(chain.as_ref());
        if chain.is_none() {
            if self.left.is_none() || calls_tool(message) {
                self.left = None;
                self.session.need_turn(emitter);
            }
            if let Some(turn) = self.session.turns.last_mut() {
                turn.answered = true;
            }
            place = self.late_place();
        }
        let superseded = list_of(line, "supersedesUuids");
        if !superseded.is_empty() {
            self.session.retract(emitter, &place, superseded);
        }
        if is_true(line, "isApiErrorMessage") {
            let code = text_of(line, "apiErrorType").or_else(|| text_of(line, "error"));
            if chain.is_none()
                && let Some(turn) = self.session.turns.last_mut()
            {
                turn.failed = true;
            }
            self.session.api_error(emitter, &place, (code, message));
            return;
        }
        if chain.is_none()
            && let Some(model) = text_of(message, "model").filter(|model| !model.starts_with('<'))
        {
            let facts = SessionStart {
                model: Some(model.to_owned()),
                ..SessionStart::default()
            };
            self.session.facts.say(emitter, facts, Map::new());
        }
        if let Some(used) = self.pending_usage.take(chain.as_ref(), message) {
            self.write_usage(emitter, used);
        }
        emitter.keep_ids(true);
        self.session.assistant_blocks(emitter, &place, message);
        emitter.keep_ids(false);
        if chain.is_none()
            && let Some(turn) = self.session.turns.last_mut()
        {
            turn.failed = false;
        }
    }

    fn write_usage(&mut self, emitter: &mut Emitter, used: Used) {
        let Used {
            chain,
            message_id,
            usage,
        } = used;
        let mut place = self.place(chain.as_ref());
        let response_id = match self.session.messages.get(&message_id) {
            Some(message) => {
                place.turn_id.clone_from(&message.turn_id);
                message.response_id.clone()
            }
            None => {
                place.turn_id = None;
                message_id
            }
        };
        let place = place.in_response(&response_id);
        emitter.add_as(&format!("{response_id}:usage"), &place, usage);
    }

    /// Nothing came for a while: the newest answers' tokens are told, of those that are whole.
    pub(super) fn usage_at_rest(&mut self, emitter: &mut Emitter) {
        for used in self.pending_usage.rest() {
            self.write_usage(emitter, used);
        }
    }

    pub(super) fn flush_usage(&mut self, emitter: &mut Emitter) {
        for used in self.pending_usage.flush() {
            self.write_usage(emitter, used);
        }
    }

    /// Writes what the sub-agents used that a call started, whose result came.
    pub(super) fn flush_usage_of_call(&mut self, emitter: &mut Emitter, call: &str) {
        for used in self.pending_usage.flush_call(call) {
            self.write_usage(emitter, used);
        }
    }
}

/// Whether the agent goes on working.
fn calls_tool(message: &Value) -> bool {
    let blocks = list_of(message, "content");
    blocks
        .iter()
        .any(|block| str_of(block, "type") == Some("tool_use"))
}
