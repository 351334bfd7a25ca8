//! Status parts: what an agent said of itself that no event of the schema is for. Before the schema had turns, their ends
//! came as such parts.

use chat_event::payload::{ErrorEvent, Interrupt, Progress};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::events::{SandboxAgent, outcome_of};
use crate::emit::Emitter;
use crate::value::{str_of, text_of};
use crate::words::one_line;

impl SandboxAgent {
    pub(super) fn status_part(&mut self, emitter: &mut Emitter, part: &Value) {
        let label = text_of(part, "label").unwrap_or("status");
        let detail = text_of(part, "detail");
        let said: Option<Value> = detail.and_then(|detail| serde_json::from_str(detail).ok());
        let said = said.unwrap_or_default();
        match label {
            "turn.started" | "agent_start" => emitter.pass_over(label),
            // The end of a sub-agent's session is none of this one.
            "turn.completed" | "session.idle" | "agent_end" if self.natives.of_other() => {
                emitter.pass_over("the end of another session");
            }
            "turn.completed" | "session.idle" | "agent_end" => {
                if let Some(error) = said.get("error").filter(|error| error.is_object()) {
                    self.failed_with(emitter, "turn_failed", error);
                }
                if self.in_turn() {
                    self.close_turn(emitter, outcome_of(&said));
                } else {
                    emitter.pass_over("the end of no turn");
                }
            }
            "session.status" => match text_of(&said, "type") {
                Some("retry") => {
                    let place = self.quiet_place();
                    let message = text_of(&said, "message").map(str::to_owned);
                    emitter.retrying(&place, message);
                }
                // What begins and ends then comes beside it.
                Some("busy" | "idle") => emitter.pass_over(label),
                Some(_) | None => self.progress(emitter, label, detail),
            },
            "session.error" if text_of(&said, "name") == Some("MessageAbortedError") => {
                let place = self.quiet_place();
                let interrupt = Interrupt {
                    reason: "user_cancel".to_owned(),
                    extra: Extra::default(),
                };
                emitter.add("interrupt", &place, interrupt);
                self.close_turn(emitter, "interrupted");
            }
            "session.error" => {
                let name = text_of(&said, "name").unwrap_or("session_error");
                let data = said.get("data").unwrap_or(&said);
                self.failed_with(emitter, name, data);
            }
            _ => self.progress(emitter, label, detail),
        }
    }

    fn failed_with(&mut self, emitter: &mut Emitter, code: &str, said: &Value) {
        let place = self.quiet_place();
        let error = ErrorEvent {
            code: code.to_owned(),
            message: str_of(said, "message")
                .unwrap_or("the agent failed")
                .to_owned(),
            extra: Extra::default(),
        };
        emitter.add("error", &place, error);
        self.failed = true;
    }

    fn progress(&mut self, emitter: &mut Emitter, label: &str, detail: Option<&str>) {
        let place = self.quiet_place();
        let mut extra = Extra::default();
        let message = match detail {
            Some(detail) => {
                let line = one_line(detail);
                if line != detail {
                    extra.insert("detail", Json::string(detail));
                }
                format!("{label}: {line}")
            }
            None => label.to_owned(),
        };
        let progress = Progress {
            message,
            extra,
            ..Progress::default()
        };
        emitter.add("progress", &place, progress);
    }
}
