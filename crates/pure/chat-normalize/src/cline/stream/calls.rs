//! Calls: one begins, prints, and has its result.

use chat_event::payload::ToolOutputChunk;
use serde_json::Value;

use super::ClineStream;
use crate::cline::talk::{Given, starts_agent};
use crate::emit::Emitter;
use crate::value::{count_of, str_of, text_of};

impl ClineStream {
    pub(super) fn call(&mut self, emitter: &mut Emitter, event: &Value) {
        self.end_part(emitter);
        let id = text_of(event, "toolCallId").unwrap_or("");
        let name = str_of(event, "toolName").unwrap_or("");
        let args = event.get("input").unwrap_or(&Value::Null);
        let response = self.response(emitter);
        self.talk.call(emitter, &response, id, name, args);
        if starts_agent(name) {
            self.helpers.expect(id);
        }
    }

    pub(super) fn prints(&mut self, emitter: &mut Emitter, event: &Value) {
        let update = event.get("update").unwrap_or(&Value::Null);
        let keys = ["chunk", "text", "output"];
        let text = update
            .as_str()
            .or_else(|| keys.iter().find_map(|key| str_of(update, key)));
        let id = str_of(event, "toolCallId").unwrap_or("");
        match (text, self.talk.run.track.waiting(id)) {
            (Some(text), Some(call)) if !text.is_empty() => {
                let chunk = ToolOutputChunk {
                    tool_call_id: call.id.clone(),
                    chunk: text.to_owned(),
                    stream: text_of(update, "stream").map(str::to_owned),
                    ..ToolOutputChunk::default()
                };
                emitter.add_as(&format!("{}:output", call.id), &call.place, chunk);
            }
            _ => emitter.pass_over("content_update"),
        }
    }

    pub(super) fn result(&mut self, emitter: &mut Emitter, event: &Value, line: &Value) {
        let given = Given {
            value: event.get("output").unwrap_or(&Value::Null),
            error: text_of(event, "error"),
            failed: false,
            duration_ms: count_of(event, "durationMs"),
        };
        let id = str_of(event, "toolCallId").unwrap_or("");
        self.talk.result(emitter, id, &given, line);
        if self.helpers.done(id) {
            self.talk.run.track.within(None);
        }
    }
}
