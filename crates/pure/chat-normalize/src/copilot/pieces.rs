//! What a run prints while it works (`copilot -p … --output-format json`) and no file keeps: texts and thoughts piece by piece,
//! what calls are written as and print.
//!
//! `tool.execution_partial_result` says all that a call printed so far, each time; where `tool.shell_output` says the pieces,
//! they count.

use std::collections::BTreeMap;

use chat_event::Payload;
use chat_event::payload::{
    AssistantChunk, Progress, ThinkingChunk, ThinkingDone, ToolInputChunk, ToolOutputChunk,
};
use serde_json::Value;

use super::Copilot;
use crate::emit::{Emitter, Place, hash};
use crate::track::{text_in, thought_in};
use crate::value::{str_of, text_of};

/// A text or a thought that is not whole.
#[derive(Debug)]
pub(super) struct Open {
    place: Place,
    text: String,
}

/// Of so many agents at once it is known what they say.
const MOST_OPEN: usize = 100;

/// What is not whole, of each agent that works: their pieces come as they happen, each with its turn at any time.
#[derive(Debug, Default)]
pub(super) struct Pieces(Vec<Open>);

impl Pieces {
    /// That of the agent that works within this call, or of the main one.
    pub(super) fn take(&mut self, within: Option<&str>) -> Option<Open> {
        let is_its = |open: &Open| open.place.parent_tool_call_id.as_deref() == within;
        let at = self.0.iter().position(is_its)?;
        Some(self.0.remove(at))
    }

    /// Keeps it; gives what there is no room for, which waits the longest.
    fn put(&mut self, open: Open) -> Option<Open> {
        self.0.push(open);
        (self.0.len() > MOST_OPEN).then(|| self.0.remove(0))
    }
}

/// What calls that run printed so far, by their ids: a source may tell all of it each time.
#[derive(Debug, Default)]
pub(super) struct Printed(BTreeMap<String, Told>);

/// Of one call.
#[derive(Debug, Default)]
struct Told {
    /// How long it is, and its hash.
    len: usize,
    hash: u64,
    /// What comes new is told by `tool.shell_output`.
    in_pieces: bool,
}

impl Printed {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn forget(&mut self, call: &str) {
        self.0.remove(call);
    }

    /// What is new in all that a call printed. Where that does not begin with what was told, it is a piece of its own, as
    /// 1.0.77 told them.
    fn new_in<'t>(&mut self, call: &str, all: &'t str) -> &'t str {
        let told = self.0.entry(call.to_owned()).or_default();
        let begins_so = all
            .get(..told.len)
            .is_some_and(|start| hash(start.as_bytes()) == told.hash);
        let new = match told.in_pieces {
            true => "",
            false if told.len > 0 && begins_so => &all[told.len..],
            false => all,
        };
        (told.len, told.hash) = (all.len(), hash(all.as_bytes()));
        new
    }
}

impl Copilot {
    /// `assistant.message_delta` and `assistant.reasoning_delta`.
    pub(super) fn piece(&mut self, emitter: &mut Emitter, id: &str, thinks: bool, data: &Value) {
        self.need_turn(emitter, id);
        let delta = str_of(data, "deltaContent").unwrap_or("").to_owned();
        let key = if thinks { "reasoningId" } else { "messageId" };
        let response = text_of(data, key).unwrap_or("answer");
        let place = self.track.place().in_response(response);
        let pieces = match thinks {
            true => &mut self.thinking,
            false => &mut self.writing,
        };
        let open = pieces.take(place.parent_tool_call_id.as_deref());
        let (mut open, left) = match open {
            Some(open) if open.place == place => (open, None),
            left => {
                let open = Open {
                    place: place.clone(),
                    text: String::new(),
                };
                (open, left)
            }
        };
        open.text.push_str(&delta);
        let beyond = pieces.put(open);
        self.close_piece(emitter, left, thinks);
        self.close_piece(emitter, beyond, thinks);
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
        match self.thinking.take(self.track.parent()) {
            Some(open) => {
                // Where its pieces stand, under the id that it has in a file.
                let done = ThinkingDone {
                    text: text.to_owned(),
                    part: Some(0),
                    ..ThinkingDone::default()
                };
                emitter.add_as(&format!("{response}:thinking0"), &open.place, done);
            }
            None => self.track.thought(emitter, response, 0, text, false),
        }
    }

    /// What came in pieces and was never said to be whole is as whole as it gets.
    pub(super) fn close_pieces(&mut self, emitter: &mut Emitter) {
        for thinking in std::mem::take(&mut self.thinking).0 {
            self.close_piece(emitter, Some(thinking), true);
        }
        for writing in std::mem::take(&mut self.writing).0 {
            self.close_piece(emitter, Some(writing), false);
        }
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

    /// `assistant.tool_call_delta`: the model writes a call.
    pub(super) fn input(&mut self, emitter: &mut Emitter, id: &str, data: &Value) {
        let call = text_of(data, "toolCallId").unwrap_or("");
        if self.track.waiting(call).is_some() {
            return emitter.pass_over("arguments of a call that is made");
        }
        self.need_turn(emitter, id);
        let chunk = ToolInputChunk {
            tool_call_id: self.track.id_of_next(call),
            tool_name: str_of(data, "toolName").unwrap_or("").to_owned(),
            chunk: str_of(data, "inputDelta").unwrap_or("").to_owned(),
            ..ToolInputChunk::default()
        };
        emitter.add("input", &self.track.place(), chunk);
    }

    /// `tool.execution_partial_result`, `tool.shell_output` and `tool.execution_progress`: a call that runs says something.
    pub(super) fn runs_on(&mut self, emitter: &mut Emitter, data: &Value) {
        let id = text_of(data, "toolCallId").unwrap_or("");
        let waiting = self.track.waiting(id);
        let Some((call, place)) = waiting.map(|call| (call.id.clone(), call.place.clone())) else {
            return emitter.pass_over("what a call says that does not run");
        };
        if let Some(message) = text_of(data, "progressMessage") {
            let progress = Progress {
                message: message.to_owned(),
                tool_call_id: Some(call),
                ..Progress::default()
            };
            emitter.add("progress", &place, progress);
            return;
        }
        let new = match data.get("text") {
            Some(text) => {
                self.printed.0.entry(id.to_owned()).or_default().in_pieces = true;
                text.as_str().unwrap_or("")
            }
            None => self
                .printed
                .new_in(id, str_of(data, "partialOutput").unwrap_or("")),
        };
        if new.is_empty() {
            return emitter.pass_over("what a call printed, again");
        }
        let chunk = ToolOutputChunk {
            tool_call_id: call,
            chunk: new.to_owned(),
            ..ToolOutputChunk::default()
        };
        emitter.add("output", &place, chunk);
    }
}
