//! Answers of the model, and which of them is a turn's last.

use serde_json::Value;

use super::Copilot;
use crate::emit::Emitter;
use crate::value::{list_of, str_of, text_of};

impl Copilot {
    /// `assistant.message`: a thought, a text and calls.
    pub(super) fn answer(&mut self, emitter: &mut Emitter, id: &str, data: &Value) {
        self.need_turn(emitter, id);
        self.stopped = false;
        let response = text_of(data, "messageId").unwrap_or(id);
        self.think(
            emitter,
            response,
            str_of(data, "reasoningText").unwrap_or(""),
        );
        let text = str_of(data, "content").unwrap_or("");
        let open = self.writing.take(self.track.parent());
        if text.is_empty() {
            // It was cut off.
            self.close_piece(emitter, open, false);
        }
        self.track.text(emitter, response, 0, text);
        let requests = list_of(data, "toolRequests");
        for request in requests {
            let name = str_of(request, "name").unwrap_or("");
            let title = text_of(request, "intentionSummary");
            self.call(emitter, response, request, name, title);
        }
        self.wrote(emitter, response, data);
        if self.track.parent().is_none() {
            let done = requests.is_empty() && !text.is_empty();
            self.outcome = if done { "completed" } else { "interrupted" };
            let answer = text_of(data, "turnId").filter(|_| requests.is_empty());
            self.answered = answer.map(str::to_owned);
        }
    }

    /// `assistant.turn_start`: the main agent is asked for the next answer, also where no prompt began a turn.
    pub(super) fn begin_answer(&mut self, emitter: &mut Emitter, id: &str) {
        self.need_turn(emitter, id);
        (self.answered, self.is_answered) = (None, false);
        emitter.pass_over("assistant.turn_start");
    }

    /// `assistant.turn_end`: behind an answer without calls the turn is over.
    pub(super) fn end_answer(&mut self, emitter: &mut Emitter, data: &Value) {
        self.is_answered =
            self.answered.is_some() && self.answered.as_deref() == text_of(data, "turnId");
        if !self.end_where_answered(emitter) {
            emitter.pass_over("assistant.turn_end");
        }
    }

    /// Ends the turn where its last answer came and nothing works on in it; whether that is so.
    pub(super) fn end_where_answered(&mut self, emitter: &mut Emitter) -> bool {
        let is_over = self.is_answered && !self.agents.any_work() && !self.track.waits();
        if is_over {
            self.close(emitter);
        }
        is_over
    }
}
