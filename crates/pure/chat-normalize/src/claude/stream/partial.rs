//! `stream_event` lines: the model's answer as it is written, in the events of the Anthropic API.
//!
//! The whole of each block comes with an `assistant` line, before the block's `content_block_stop`.

use chat_event::Extra;
use chat_event::payload::ErrorEvent;
use serde_json::{Map, Value};

use super::{ClaudeStream, FORMAT};
use crate::claude::{blocks, usage};
use crate::emit::{Emitter, Place};
use crate::value::{count_of, str_of, text_of};

impl ClaudeStream {
    pub(super) fn stream_event(&mut self, emitter: &mut Emitter, line: &Value, place: &Place) {
        let event = line.get("event").unwrap_or(&Value::Null);
        let parent = text_of(line, "parent_tool_use_id").unwrap_or("").to_owned();
        let index = count_of(event, "index").unwrap_or(0);
        match str_of(event, "type").unwrap_or("") {
            "message_start" => {
                let id = event
                    .get("message")
                    .and_then(|message| text_of(message, "id"))
                    .unwrap_or_else(|| emitter.line_id());
                let id = id.to_owned();
                if parent.is_empty() {
                    self.woken = false;
                    self.retrying = false;
                    self.session.need_turn(emitter);
                    self.tell_ended_tasks(emitter);
                }
                let place = self.place(line);
                // What an attempt that broke off left open is closed by the next one.
                self.session.close_parts_at(emitter, &place);
                self.streaming.remove(&parent);
                let mut current = Map::new();
                current.insert("id".to_owned(), Value::String(id));
                if let Some(model) = event
                    .get("message")
                    .and_then(|message| message.get("model"))
                {
                    current.insert("model".to_owned(), model.clone());
                }
                self.current.insert(&parent, Value::Object(current));
                emitter.pass_over("stream_event/message_start");
            }
            "content_block_start" => self.block_start(emitter, event, place, &parent, index),
            "content_block_delta" => self.block_delta(emitter, event, place, &parent, index, line),
            "message_delta" => {
                let Some(tokens) = event.get("usage").filter(|usage| usage.is_object()) else {
                    emitter.pass_over("stream_event/message_delta");
                    return;
                };
                let id = self.current_id(&parent);
                let model = self
                    .current
                    .get(&parent)
                    .and_then(|current| text_of(current, "model"));
                let usage = usage::usage("response", tokens, model);
                let response_id = id
                    .map(|id| self.session.message(&id, place).response_id.clone())
                    .unwrap_or_default();
                let place = place.in_response(&response_id);
                if response_id.is_empty() {
                    emitter.add("usage", &place, usage);
                } else {
                    // The transcript tells the same by the same id.
                    emitter.add_as(&format!("{response_id}:usage"), &place, usage);
                }
            }
            // The assistant's line of the block came before.
            "content_block_stop" => emitter.pass_over("stream_event/content_block_stop"),
            "message_stop" => emitter.pass_over("stream_event/message_stop"),
            "ping" => emitter.pass_over("stream_event/ping"),
            "error" => {
                let error = event.get("error").unwrap_or(&Value::Null);
                let payload = ErrorEvent {
                    code: str_of(error, "type").unwrap_or("error").to_owned(),
                    message: str_of(error, "message").unwrap_or("").to_owned(),
                    extra: Extra::default(),
                };
                emitter.add("error", place, payload);
            }
            kind => emitter.raw(place, FORMAT, &format!("stream_event/{kind}"), line),
        }
    }

    fn current_id(&self, parent: &str) -> Option<String> {
        self.current
            .get(parent)
            .and_then(|current| text_of(current, "id"))
            .map(str::to_owned)
    }

    fn block_start(
        &mut self,
        emitter: &mut Emitter,
        event: &Value,
        place: &Place,
        parent: &str,
        index: u64,
    ) {
        let block = event.get("content_block").unwrap_or(&Value::Null);
        let id = self
            .current_id(parent)
            .unwrap_or_else(|| format!("m-{}", emitter.line_id()));
        match str_of(block, "type").unwrap_or("") {
            "text" => self.session.message(&id, place).text.begin(),
            "thinking" | "redacted_thinking" => self.session.message(&id, place).thinking.begin(),
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                let response_id = self.session.message(&id, place).response_id.clone();
                let place = place.in_response(&response_id);
                let native_id = blocks::call_id_of(emitter, block);
                let name = str_of(block, "name").unwrap_or("").to_owned();
                self.session.open_call(emitter, &native_id, &name, &place);
                self.streaming.entry(parent).insert(index, native_id);
            }
            // Whatever else begins comes whole with the assistant's line.
            _ => {}
        }
        emitter.pass_over("stream_event/content_block_start");
    }

    fn block_delta(
        &mut self,
        emitter: &mut Emitter,
        event: &Value,
        place: &Place,
        parent: &str,
        index: u64,
        line: &Value,
    ) {
        let delta = event.get("delta").unwrap_or(&Value::Null);
        let id = self
            .current_id(parent)
            .unwrap_or_else(|| "message".to_owned());
        match str_of(delta, "type").unwrap_or("") {
            "text_delta" => {
                self.session
                    .text_chunk(emitter, place, &id, str_of(delta, "text").unwrap_or(""))
            }
            "thinking_delta" => self.session.thinking_chunk(
                emitter,
                place,
                &id,
                str_of(delta, "thinking").unwrap_or(""),
            ),
            "input_json_delta" => match self
                .streaming
                .get(parent)
                .and_then(|blocks| blocks.get(&index))
                .cloned()
            {
                Some(native_id) => {
                    self.session.input_chunk(
                        emitter,
                        &native_id,
                        str_of(delta, "partial_json").unwrap_or(""),
                    );
                }
                None => emitter.raw(
                    place,
                    FORMAT,
                    "stream_event/input_json_delta without a block",
                    line,
                ),
            },
            // What they carry comes whole with the assistant's line.
            kind @ ("signature_delta" | "citations_delta" | "compaction_delta") => {
                emitter.pass_over(&format!("stream_event/{kind}"));
            }
            kind => emitter.raw(place, FORMAT, &format!("stream_event/delta {kind}"), line),
        }
    }
}
