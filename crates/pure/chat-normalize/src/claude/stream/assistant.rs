//! `assistant` lines: the whole of what the model answered, block by block, and its errors.

use serde_json::Value;

use super::ClaudeStream;
use crate::emit::{Emitter, Place};
use crate::value::{is_true, list_of, text_of};

impl ClaudeStream {
    pub(super) fn assistant(&mut self, emitter: &mut Emitter, line: &Value, place: &Place) {
        let mut place = place.clone();
        if place.parent_tool_call_id.is_none() {
            self.woken = false;
            if !self.session.in_turn() {
                self.session.need_turn(emitter);
                place = self.place(line);
            }
            self.tell_ended_tasks(emitter);
        }
        let message = line.get("message").unwrap_or(&Value::Null);
        if is_true(line, "is_api_error_message") || text_of(line, "error").is_some() {
            let code = text_of(line, "api_error_type").or_else(|| text_of(line, "error"));
            self.main_fails(&place, true);
            self.session.api_error(emitter, &place, (code, message));
            return;
        }
        self.session
            .retract(emitter, &place, list_of(line, "supersedes"));
        emitter.keep_ids(true);
        self.session.assistant_blocks(emitter, &place, message);
        emitter.keep_ids(false);
        self.main_fails(&place, false);
    }

    /// Whether the newest answer of the main agent is an error. What became of a sub-agent is its call's result.
    fn main_fails(&mut self, place: &Place, failed: bool) {
        if place.parent_tool_call_id.is_none()
            && let Some(turn) = self.session.turns.last_mut()
        {
            turn.failed = failed;
        }
    }
}
