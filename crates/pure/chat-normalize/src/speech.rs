//! A part of a response while it grows: pieces as they come, and the whole that ends them.
//!
//! Which response a piece belongs to, and when its part ends, is for the dialects.

use chat_event::payload::{AssistantChunk, AssistantDone, ThinkingChunk, ThinkingDone};
use chat_event::{Extra, Json};
use serde_json::Value;

use crate::emit::{Emitter, Place};

/// What a part holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Text,
    Thinking,
}

impl Kind {
    /// Its word in event ids.
    fn word(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Thinking => "thought",
        }
    }
}

/// A text block or a thinking block that is open.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) kind: Kind,
    place: Place,
    pub(crate) number: u32,
    text: String,
    n_chunks: u64,
    /// What came with the text and is none: pictures, files.
    attached: Vec<Value>,
}

impl Part {
    /// The part `number` of the response that `place` names.
    pub(crate) fn new(place: Place, kind: Kind, number: u32) -> Self {
        Part {
            kind,
            place,
            number,
            text: String::new(),
            n_chunks: 0,
            attached: Vec::new(),
        }
    }

    /// What was written so far.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Keeps what is no text; it goes out with the whole.
    pub(crate) fn attach(&mut self, attachment: Value) {
        self.attached.push(attachment);
    }

    /// Writes a piece.
    pub(crate) fn add(&mut self, emitter: &mut Emitter, piece: &str) {
        if piece.is_empty() {
            return;
        }
        self.text.push_str(piece);
        self.n_chunks += 1;
        let id = format!("{}.{}", self.id(emitter), self.n_chunks);
        let (text, part) = (piece.to_owned(), Some(self.number));
        match self.kind {
            Kind::Text => {
                let chunk = AssistantChunk {
                    text,
                    part,
                    ..AssistantChunk::default()
                };
                emitter.add_as(&id, &self.place, chunk);
            }
            Kind::Thinking => {
                let chunk = ThinkingChunk {
                    text,
                    part,
                    ..ThinkingChunk::default()
                };
                emitter.add_as(&id, &self.place, chunk);
            }
        }
    }

    /// Ends the part with what came; one of which nothing came is not written. The id of the event that says it whole.
    pub(crate) fn end(mut self, emitter: &mut Emitter) -> Option<String> {
        let text = std::mem::take(&mut self.text);
        self.end_as(emitter, text)
    }

    /// As [`Part::end`], with what the source says it is as a whole.
    pub(crate) fn end_as(self, emitter: &mut Emitter, text: String) -> Option<String> {
        if text.is_empty() && self.n_chunks == 0 && self.attached.is_empty() {
            return None;
        }
        let id = self.id(emitter);
        let part = Some(self.number);
        let mut extra = Extra::default();
        if !self.attached.is_empty() {
            extra.insert("attachments", Json::from(Value::Array(self.attached)));
        }
        let event = match self.kind {
            Kind::Text => {
                let done = AssistantDone {
                    text,
                    part,
                    extra,
                    ..AssistantDone::default()
                };
                emitter.add_as(&id, &self.place, done)
            }
            Kind::Thinking => {
                let done = ThinkingDone {
                    text,
                    part,
                    extra,
                    ..ThinkingDone::default()
                };
                emitter.add_as(&id, &self.place, done)
            }
        };
        Some(event.id.clone())
    }

    fn id(&self, emitter: &Emitter) -> String {
        let response = self.place.response_id.as_deref();
        let response = response.unwrap_or_else(|| emitter.line_id());
        format!("{response}:{}{}", self.kind.word(), self.number)
    }
}
