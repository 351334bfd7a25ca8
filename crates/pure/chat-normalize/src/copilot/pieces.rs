//! What a run prints while it works (`copilot -p … --output-format json`) and no file keeps: texts and thoughts piece by piece,
//! what calls are written as and print, the tokens of each answer.

use chat_event::Payload;
use chat_event::payload::{
    AssistantChunk, Progress, ThinkingChunk, ToolInputChunk, ToolOutputChunk, Usage,
};
use serde_json::Value;

use super::Copilot;
use crate::emit::{Emitter, Place, hash};
use crate::track::{text_in, thought_in};
use crate::value::{count_of, str_of, text_of};

/// A text or a thought that is not whole.
#[derive(Debug)]
pub(super) struct Open {
    place: Place,
    text: String,
}

/// The tokens that an answer says it wrote; where the whole figures follow, those are told.
#[derive(Debug)]
pub(super) struct Written {
    id: String,
    place: Place,
    usage: Usage,
    time_ms: i64,
}

impl Copilot {
    /// `assistant.message_delta` and `assistant.reasoning_delta`.
    pub(super) fn piece(&mut self, emitter: &mut Emitter, id: &str, thinks: bool, data: &Value) {
        self.track.need_turn(emitter, id);
        let delta = str_of(data, "deltaContent").unwrap_or("").to_owned();
        let key = if thinks { "reasoningId" } else { "messageId" };
        let response = text_of(data, key).unwrap_or("answer");
        let place = self.track.place().in_response(response);
        let open = if thinks {
            &mut self.thinking
        } else {
            &mut self.writing
        };
        if open.as_ref().is_none_or(|open| open.place != place) {
            let left = open.take();
            self.close_piece(emitter, left, thinks);
        }
        let open = if thinks {
            &mut self.thinking
        } else {
            &mut self.writing
        };
        let open = open.get_or_insert_with(|| Open {
            place: place.clone(),
            text: String::new(),
        });
        open.text.push_str(&delta);
        let chunk: Payload = if thinks {
            ThinkingChunk {
                text: delta,
                part: Some(0),
                ..ThinkingChunk::default()
            }
            .into()
        } else {
            AssistantChunk {
                text: delta,
                part: Some(0),
                ..AssistantChunk::default()
            }
            .into()
        };
        emitter.add("piece", &place, chunk);
    }

    /// A thought is whole: that which came in pieces, where one did.
    pub(super) fn think(&mut self, emitter: &mut Emitter, response: &str, text: &str) {
        let now = hash(text.as_bytes());
        if text.is_empty() || self.thought == now {
            return;
        }
        self.thought = now;
        match self.thinking.take() {
            Some(open) => {
                thought_in(emitter, &open.place, 0, text, false);
            }
            None => self.track.thought(emitter, response, 0, text, false),
        }
    }

    /// What came in pieces and was never said to be whole is as whole as it gets.
    pub(super) fn close_pieces(&mut self, emitter: &mut Emitter) {
        let thinking = self.thinking.take();
        self.close_piece(emitter, thinking, true);
        let writing = self.writing.take();
        self.close_piece(emitter, writing, false);
    }

    pub(super) fn close_piece(&mut self, emitter: &mut Emitter, open: Option<Open>, thinks: bool) {
        match open.filter(|open| !open.text.is_empty()) {
            Some(open) if thinks => {
                self.thought = hash(open.text.as_bytes());
                thought_in(emitter, &open.place, 0, &open.text, false);
            }
            Some(open) => {
                text_in(emitter, &open.place, 0, &open.text);
            }
            None => {}
        }
    }

    /// The tokens that an answer wrote: told with what comes next, which may be all of its figures.
    pub(super) fn wrote(&mut self, emitter: &Emitter, response: &str, data: &Value) {
        let Some(output_tokens) = count_of(data, "outputTokens").filter(|n| *n > 0) else {
            return;
        };
        let usage = Usage {
            scope: "response".to_owned(),
            output_tokens,
            model: text_of(data, "model").map(str::to_owned),
            ..Usage::default()
        };
        self.written = Some(Written {
            id: format!("{response}:usage"),
            place: self.track.place().in_response(response),
            usage,
            time_ms: emitter.time_ms,
        });
    }

    /// Tells them, where nothing more was said of them.
    pub(super) fn tell_written(&mut self, emitter: &mut Emitter) {
        if let Some(written) = self.written.take() {
            let now_ms = std::mem::replace(&mut emitter.time_ms, written.time_ms);
            emitter.add_as(&written.id, &written.place, written.usage);
            emitter.time_ms = now_ms;
        }
    }

    /// `assistant.usage`: the figures of one request to the model.
    pub(super) fn spent(&mut self, emitter: &mut Emitter, data: &Value) {
        let read = count_of(data, "cacheReadTokens");
        let written = count_of(data, "cacheWriteTokens");
        let in_cache = read.unwrap_or(0).saturating_add(written.unwrap_or(0));
        let input = count_of(data, "inputTokens").unwrap_or(0);
        let usage = Usage {
            scope: "response".to_owned(),
            input_tokens: input.saturating_sub(in_cache),
            output_tokens: count_of(data, "outputTokens").unwrap_or(0),
            cache_read_tokens: read,
            cache_write_tokens: written,
            reasoning_tokens: count_of(data, "reasoningTokens"),
            model: text_of(data, "model").map(str::to_owned),
            ..Usage::default()
        };
        match self.written.take() {
            Some(written) => emitter.add_as(&written.id, &written.place, usage),
            None => emitter.add("usage", &self.track.place(), usage),
        };
    }

    /// `assistant.tool_call_delta`: the model writes a call.
    pub(super) fn input(&mut self, emitter: &mut Emitter, id: &str, data: &Value) {
        let call = text_of(data, "toolCallId").unwrap_or("");
        if self.track.waiting(call).is_some() {
            return emitter.pass_over("arguments of a call that is made");
        }
        self.track.need_turn(emitter, id);
        let chunk = ToolInputChunk {
            tool_call_id: self.track.id_of_next(call),
            tool_name: str_of(data, "toolName").unwrap_or("").to_owned(),
            chunk: str_of(data, "inputDelta").unwrap_or("").to_owned(),
            ..ToolInputChunk::default()
        };
        emitter.add("input", &self.track.place(), chunk);
    }

    /// `tool.execution_partial_result` and `tool.execution_progress`: a call that runs says something.
    pub(super) fn runs_on(&mut self, emitter: &mut Emitter, data: &Value) {
        let waiting = self
            .track
            .waiting(text_of(data, "toolCallId").unwrap_or(""));
        let Some((call, place)) = waiting.map(|call| (call.id.clone(), call.place.clone())) else {
            return emitter.pass_over("what a call says that does not run");
        };
        match text_of(data, "progressMessage") {
            Some(message) => {
                let progress = Progress {
                    message: message.to_owned(),
                    tool_call_id: Some(call),
                    ..Progress::default()
                };
                emitter.add("progress", &place, progress);
            }
            None => {
                let chunk = ToolOutputChunk {
                    tool_call_id: call,
                    chunk: str_of(data, "partialOutput").unwrap_or("").to_owned(),
                    ..ToolOutputChunk::default()
                };
                emitter.add("output", &place, chunk);
            }
        }
    }
}
