//! What an `agent_event` says.

use serde_json::Value;

use super::ClineStream;
use crate::cline::FORMAT;
use crate::cline::talk::{is_redacted, usage};
use crate::emit::Emitter;
use crate::speech::Kind;
use crate::value::str_of;

impl ClineStream {
    pub(super) fn event(&mut self, emitter: &mut Emitter, event: &Value, line: &Value) {
        let kind = str_of(event, "type").unwrap_or("");
        let about = str_of(event, "contentType").unwrap_or("");
        match (kind, about) {
            ("iteration_start", _) => self.next_response(emitter),
            ("iteration_end", _) => self.end_part(emitter),
            ("content_start", "text") => self.grow(emitter, Kind::Text, str_of(event, "text")),
            ("content_start", "reasoning") if is_redacted(event) => {
                self.end_part(emitter);
                let response = self.response(emitter);
                self.talk.run.thought(emitter, &response, "", true);
            }
            ("content_start", "reasoning") => {
                self.grow(emitter, Kind::Thinking, str_of(event, "reasoning"));
            }
            ("content_end", "text") => self.whole(emitter, Kind::Text, str_of(event, "text")),
            ("content_end", "reasoning") => {
                self.whole(emitter, Kind::Thinking, str_of(event, "reasoning"));
            }
            ("content_start", "tool") => self.call(emitter, event),
            ("content_update", _) => self.prints(emitter, event),
            ("content_end", "tool") => self.result(emitter, event, line),
            ("usage", _) => self.used(emitter, event),
            ("notice", _) => {
                let text = str_of(event, "message").unwrap_or("");
                emitter.notice("info", &self.talk.run.track.place(), FORMAT, text);
            }
            ("error", _) => self.failure(emitter, event),
            ("done", _) if self.helpers.call().is_some() => {
                self.end_part(emitter);
                emitter.pass_over("the end of a sub-agent");
            }
            ("done", _) => self.done(emitter, str_of(event, "reason"), event),
            _ => emitter.raw(&self.talk.run.track.place(), FORMAT, kind, line),
        }
    }

    fn used(&mut self, emitter: &mut Emitter, event: &Value) {
        if let Some(usage) = usage("response", event) {
            let response = self.response(emitter);
            let place = self.talk.run.track.place().in_response(&response);
            emitter.add_as(&format!("{response}:usage"), &place, usage);
        }
        // Of several, the next one may be another's, and adds to this.
        if self.helpers.are_many() {
            self.helpers.next_response();
        }
    }
}
