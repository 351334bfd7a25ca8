//! Text and thinking: pieces that build a part, and the whole that replaces them.

use chat_event::payload::{AssistantChunk, AssistantDone, ThinkingChunk, ThinkingDone};
use serde_json::Value;

use super::messages::Message;
use super::parts::SaidPart;
use super::session::Session;
use super::times;
use crate::emit::{Emitter, Place, hash};
use crate::value::str_of;

/// A part whose text grows.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub(super) order: u64,
    pub(super) kind: Kind,
    pub(super) number: u32,
    /// What was written so far.
    pub(super) got: String,
    /// What a part that is done says.
    pub(super) said: u64,
    pub(super) done: bool,
    pub(super) silent: bool,
    pub(super) message_id: String,
    pub(super) place: Place,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// Only pieces came, not yet what they are pieces of.
    #[default]
    Unknown,
    Text,
    Thinking,
    /// Nothing grows in it.
    Other,
}

impl Session {
    /// A text or a thought, as it is now.
    pub(super) fn text(
        &mut self,
        emitter: &mut Emitter,
        said: &SaidPart<'_>,
        kind: Kind,
        place: &Place,
    ) {
        let (message_id, id, whole) = (said.message_id, said.id, said.whole);
        if !self.parts.contains_key(id) {
            self.new_part(message_id, id, kind, place);
        }
        let time = said.value.get("time").unwrap_or(&Value::Null);
        let ended = whole || times::of_member(time, "end").is_some();
        if whole {
            Session::at(emitter, time, "start");
            Session::at(emitter, time, "end");
        }
        let (Some(part), Some(message)) =
            (self.parts.get_mut(id), self.messages.get_mut(message_id))
        else {
            return;
        };
        part.silent = message.summary;
        let mut waiting = String::new();
        if part.kind == Kind::Unknown {
            part.kind = kind;
            part.number(message);
            waiting.clone_from(&part.got);
        }
        let text = str_of(said.value, "text").unwrap_or("");
        if part.done {
            if ended && !part.silent && part.kind == kind && part.said != hash(text.as_bytes()) {
                part.said = hash(text.as_bytes());
                self.write_done(emitter, id, text);
            }
            return;
        }
        if ended {
            let text = text.to_owned();
            return self.finish_part(emitter, id, text);
        }
        // Before 1.18 the whole text so far came with each piece.
        if let Some(more) = text.strip_prefix(part.got.as_str()) {
            part.got.push_str(more);
            waiting.push_str(more);
        }
        self.write_chunk(emitter, id, &waiting);
    }

    /// A piece of a part's text.
    pub(crate) fn delta(
        &mut self,
        emitter: &mut Emitter,
        native_id: &str,
        message_id: &str,
        id: &str,
        delta: &str,
    ) {
        if !self.parts.contains_key(id) {
            let place = self.answer_place(emitter, native_id, message_id, None);
            self.new_part(message_id, id, Kind::Unknown, &place);
        }
        let Some(part) = self.parts.get_mut(id) else {
            return;
        };
        if part.done {
            return emitter.pass_over("a piece of a part that is whole");
        }
        part.got.push_str(delta);
        if part.kind != Kind::Unknown {
            self.write_chunk(emitter, id, delta);
        }
    }

    fn write_chunk(&mut self, emitter: &mut Emitter, id: &str, text: &str) {
        let Some(part) = self.parts.get(id) else {
            return;
        };
        if text.is_empty() || part.silent || !self.live {
            return;
        }
        let text = text.to_owned();
        let number = Some(part.number);
        let event_id = if part.kind == Kind::Thinking {
            let chunk = ThinkingChunk {
                text,
                part: number,
                ..ThinkingChunk::default()
            };
            &emitter.add("chunk", &part.place, chunk).id
        } else {
            let chunk = AssistantChunk {
                text,
                part: number,
                ..AssistantChunk::default()
            };
            &emitter.add("chunk", &part.place, chunk).id
        };
        let event_id = event_id.clone();
        self.note(id, event_id);
    }

    fn finish_part(&mut self, emitter: &mut Emitter, id: &str, text: String) {
        let Some(part) = self.parts.get_mut(id) else {
            return;
        };
        part.done = true;
        part.said = hash(text.as_bytes());
        let begun = !std::mem::take(&mut part.got).is_empty();
        let order = part.order;
        self.open_parts.remove(&order);
        if part.silent {
            if part.kind == Kind::Text
                && let Some(message) = self.messages.get_mut(&part.message_id)
            {
                message.summary_text.push_str(&text);
            }
            return;
        }
        if begun || !text.is_empty() {
            self.write_done(emitter, id, &text);
        }
    }

    fn write_done(&mut self, emitter: &mut Emitter, id: &str, text: &str) {
        let Some(part) = self.parts.get(id) else {
            return;
        };
        let place = part.place.clone();
        let number = Some(part.number);
        let text = text.to_owned();
        if part.kind == Kind::Thinking {
            let done = ThinkingDone {
                text,
                part: number,
                ..ThinkingDone::default()
            };
            self.add(emitter, id, "done", &place, done);
        } else {
            let done = AssistantDone {
                text,
                part: number,
                ..AssistantDone::default()
            };
            self.add(emitter, id, "done", &place, done);
        }
    }

    /// Ends a part with what its pieces built.
    pub(super) fn close_part(&mut self, emitter: &mut Emitter, id: &str) {
        let Some(part) = self.parts.get_mut(id) else {
            return;
        };
        if part.done {
            return;
        }
        if part.kind == Kind::Unknown {
            part.kind = Kind::Text;
            if let Some(message) = self.messages.get_mut(&part.message_id) {
                part.number(message);
            }
        }
        let text = part.got.clone();
        self.finish_part(emitter, id, text);
    }

    /// Ends the open parts that stand where `wanted` says.
    pub(crate) fn close_parts(&mut self, emitter: &mut Emitter, wanted: &dyn Fn(&Place) -> bool) {
        let open: Vec<String> = self.open_parts.values().cloned().collect();
        for id in open {
            if self.parts.get(&id).is_some_and(|part| wanted(&part.place)) {
                self.close_part(emitter, &id);
            }
        }
    }
}

impl Part {
    /// Gives the part its number among those of its kind.
    pub(super) fn number(&mut self, message: &mut Message) {
        let next = match self.kind {
            Kind::Text => &mut message.n_texts,
            Kind::Thinking => &mut message.n_thoughts,
            Kind::Unknown | Kind::Other => return,
        };
        self.number = *next;
        *next += 1;
    }
}
