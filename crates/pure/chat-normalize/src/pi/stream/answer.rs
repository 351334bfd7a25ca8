//! An answer that is still written, piece by piece.

use std::collections::HashMap;

use chat_event::Extra;
use chat_event::payload::{AssistantChunk, ThinkingChunk, ToolInputChunk};
use serde_json::{Value, json};

use super::PiStream;
use crate::emit::Emitter;
use crate::pi::talk::Blocks;
use crate::value::{count_of, list_of, millis, str_of, text_of};

/// An answer whose pieces come.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) response: String,
    pub(super) blocks: Blocks,
    pub(super) n_pieces: u64,
    /// The calls whose arguments come, by their place in the answer.
    pub(super) inputs: HashMap<u64, Input>,
}

/// A call whose arguments come.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) id: String,
    name: String,
    /// How much of them came, in Unicode scalar values.
    n_chars: u64,
}

impl PiStream {
    pub(super) fn message_start(&mut self, emitter: &mut Emitter, message: &Value) {
        let time_ms = message.get("timestamp").and_then(millis);
        self.talk.at(emitter, time_ms);
        match str_of(message, "role") {
            Some("user") => {
                self.prompt = None;
                self.open = None;
                self.prompted = message.get("timestamp").cloned();
                self.talk.user(emitter, message);
            }
            Some("assistant") => {
                self.open = None;
                self.open = Some(self.open(emitter, message));
            }
            _ => {}
        }
    }

    pub(super) fn message_end(&mut self, emitter: &mut Emitter, message: &Value) {
        match str_of(message, "role") {
            Some("user") => {
                let told = self.prompted.take();
                if told.is_none() || told.as_ref() != message.get("timestamp") {
                    self.talk.message(emitter, message);
                }
            }
            Some("assistant") => {
                let mut answer = self.open(emitter, message);
                self.talk
                    .answer(emitter, &answer.response, &mut answer.blocks, message);
            }
            Some("toolResult") => {
                let time_ms = message.get("timestamp").and_then(millis);
                self.talk.at(emitter, time_ms);
                self.talk.result(emitter, message, true);
            }
            _ => self.talk.message(emitter, message),
        }
    }

    pub(super) fn update(&mut self, emitter: &mut Emitter, line: &Value) {
        let event = line.get("assistantMessageEvent").unwrap_or(&Value::Null);
        let message = line.get("message").unwrap_or(&Value::Null);
        let kind = str_of(event, "type").unwrap_or("");
        let index = count_of(event, "contentIndex").unwrap_or(0);
        let delta = str_of(event, "delta").unwrap_or("");
        let mut answer = self.open(emitter, message);
        let response = answer.response.clone();
        let place = self.talk.track.place().in_response(&response);
        answer.n_pieces += 1;
        let id = format!("{response}:piece{}", answer.n_pieces);
        match kind {
            "text_delta" => {
                let chunk = AssistantChunk {
                    text: delta.to_owned(),
                    part: Some(answer.blocks.part(index, false).part),
                    ..AssistantChunk::default()
                };
                emitter.add_as(&id, &place, chunk);
            }
            "thinking_delta" => {
                let chunk = ThinkingChunk {
                    text: delta.to_owned(),
                    part: Some(answer.blocks.part(index, true).part),
                    ..ThinkingChunk::default()
                };
                emitter.add_as(&id, &place, chunk);
            }
            "text_end" | "thinking_end" => {
                let is_thought = kind == "thinking_end";
                let (kind, text) = (
                    if is_thought { "thinking" } else { "text" },
                    event.get("content"),
                );
                if text.is_some_and(Value::is_string) {
                    let block = json!({"type": kind, kind: text});
                    self.talk
                        .block(emitter, &response, &mut answer.blocks, index, &block);
                }
            }
            "toolcall_start" => {
                // Before 0.84 each update repeated the answer so far, and only that named the call.
                let at = usize::try_from(index).unwrap_or(usize::MAX);
                let partial = event.get("partial").unwrap_or(message);
                let call = list_of(partial, "content").get(at).unwrap_or(&Value::Null);
                let name = str_of(event, "toolName").or_else(|| str_of(call, "name"));
                if let Some(id) = text_of(event, "id").or_else(|| text_of(call, "id")) {
                    let input = Input {
                        id: self.talk.track.id_of_next(id),
                        name: name.unwrap_or("").to_owned(),
                        n_chars: 0,
                    };
                    answer.inputs.insert(index, input);
                }
            }
            "toolcall_delta" => {
                if let Some(input) = answer.inputs.get_mut(&index) {
                    let chunk = ToolInputChunk {
                        tool_call_id: input.id.clone(),
                        tool_name: input.name.clone(),
                        chunk: delta.to_owned(),
                        offset: Some(input.n_chars),
                        extra: Extra::default(),
                    };
                    input.n_chars += delta.chars().count() as u64;
                    emitter.add_as(&id, &place, chunk);
                }
            }
            "toolcall_end" => {
                answer.inputs.remove(&index);
                if let Some(call) = event.get("toolCall") {
                    let blocks = &mut answer.blocks;
                    self.talk
                        .call_block(emitter, &response, blocks, index, call);
                }
            }
            // The message's end says how it ended.
            "start" | "text_start" | "thinking_start" | "done" | "error" => {}
            _ => emitter.raw(&place, self.talk.format, kind, event),
        }
        self.open = Some(answer);
    }
}
