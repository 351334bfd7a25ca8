//! How a turn ends, and what goes wrong or is stopped before that.

use chat_event::Extra;
use chat_event::payload::{ErrorEvent, Interrupt, TurnEnd};
use serde_json::Value;

use super::ClineStream;
use crate::emit::Emitter;
use crate::track::ended;
use crate::value::{count_of, is_true, str_of, text_of};

impl ClineStream {
    pub(super) fn failure(&mut self, emitter: &mut Emitter, event: &Value) {
        let told = event.get("error").unwrap_or(event);
        let message = told
            .as_str()
            .or_else(|| str_of(told, "message"))
            .unwrap_or("");
        let place = self.talk.run.track.place();
        if is_true(event, "recoverable") {
            if message.contains(" tool call(s) failed") {
                return emitter.pass_over("calls that failed, as their results say");
            }
            return emitter.retrying(&place, Some(message.to_owned()));
        }
        self.failed |= self.helpers.call().is_none();
        let code = text_of(event, "errorClass").unwrap_or("error");
        emitter.add("error", &place, error(code, message));
    }

    pub(super) fn interrupt(&mut self, emitter: &mut Emitter, line: &Value) {
        self.end_part(emitter);
        let interrupt = Interrupt {
            reason: text_of(line, "message")
                .or_else(|| text_of(line, "reason"))
                .unwrap_or("stopped")
                .to_owned(),
            ..Interrupt::default()
        };
        emitter.add("interrupt", &self.talk.run.track.place(), interrupt);
    }

    pub(super) fn done(&mut self, emitter: &mut Emitter, reason: Option<&str>, told: &Value) {
        self.end_part(emitter);
        if self.talk.run.track.turn_id().is_none() {
            self.failed = false;
            return emitter.pass_over("the end of what is over");
        }
        let text = str_of(told, "text").unwrap_or("");
        let outcome = match reason {
            _ if self.failed => "failed",
            Some("completed") => "completed",
            Some("error" | "mistake_limit") => "failed",
            _ => "interrupted",
        };
        if outcome == "completed" && !text.is_empty() && text.trim() != self.last_text.trim() {
            let response = self.response(emitter);
            self.talk.run.text(emitter, &response, text);
        }
        if outcome == "failed" && !self.failed && !text.is_empty() {
            let place = self.talk.run.track.place();
            emitter.add("error", &place, error("error", text));
        }
        self.last_text.clear();
        self.failed = false;
        self.talk.expire(emitter);
        self.lead(emitter);
        let end = TurnEnd {
            duration_ms: count_of(told, "durationMs"),
            ..ended(outcome)
        };
        self.talk.run.close(emitter, end);
    }
}

fn error(code: &str, message: &str) -> ErrorEvent {
    ErrorEvent {
        code: code.to_owned(),
        message: message.to_owned(),
        extra: Extra::default(),
    }
}
