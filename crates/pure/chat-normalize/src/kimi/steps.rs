//! The steps of a turn, each an answer of the model: it begins, says what it says, and ends with its tokens.

use chat_event::payload::Usage;
use serde_json::Value;

use super::{FORMAT, Kimi, id_of_turn};
use crate::emit::Emitter;
use crate::value::{count_of, str_of, text_of};

impl Kimi {
    /// `context.append_loop_event`.
    pub(super) fn event(&mut self, emitter: &mut Emitter, line: &Value, event: &Value) {
        let kind = str_of(event, "type").unwrap_or("");
        let step = match kind {
            "step.begin" | "step.end" => text_of(event, "uuid"),
            _ => text_of(event, "stepUuid"),
        };
        if kind != "tool.result" {
            self.work(emitter, line, step);
        }
        if let Some(step) = step.filter(|step| *step != self.step.0) {
            self.step = (step.to_owned(), 0, 0);
        }
        let response = self.step.0.clone();
        match kind {
            "step.begin" => self.step_began(id_of_turn(event)),
            "content.part" => self.part(emitter, &response, event),
            "tool.call" => self.call(emitter, &response, event),
            "tool.result" => self.result(emitter, event),
            "step.end" => {
                let place = self.track.place().in_response(&response);
                if let Some(usage) = usage(event, self.named.model()) {
                    emitter.add_as(&format!("{response}:usage"), &place, usage);
                }
                self.step_ended(emitter, event);
            }
            _ => emitter.raw(&self.track.place(), FORMAT, kind, line),
        }
    }

    fn part(&mut self, emitter: &mut Emitter, response: &str, event: &Value) {
        let part = event.get("part").unwrap_or(&Value::Null);
        match str_of(part, "type") {
            Some("text") => {
                let text = str_of(part, "text").unwrap_or("");
                self.track.text(emitter, response, self.step.1, text);
                self.step.1 = self.step.1.saturating_add(1);
            }
            Some("think") => {
                let text = str_of(part, "think").unwrap_or("");
                self.track
                    .thought(emitter, response, self.step.2, text, false);
                self.step.2 = self.step.2.saturating_add(1);
            }
            kind => {
                let place = self.track.place().in_response(response);
                emitter.raw(&place, FORMAT, kind.unwrap_or("part"), event);
            }
        }
    }
}

/// The tokens of an answer, or of what else asked the model; `model` where they do not say which that was.
pub(super) fn usage(holder: &Value, model: Option<&str>) -> Option<Usage> {
    let usage = holder.get("usage").filter(|usage| usage.is_object())?;
    Some(Usage {
        scope: "response".to_owned(),
        input_tokens: count_of(usage, "inputOther").unwrap_or(0),
        output_tokens: count_of(usage, "output").unwrap_or(0),
        cache_read_tokens: count_of(usage, "inputCacheRead"),
        cache_write_tokens: count_of(usage, "inputCacheCreation"),
        model: text_of(holder, "model").or(model).map(str::to_owned),
        ..Usage::default()
    })
}
