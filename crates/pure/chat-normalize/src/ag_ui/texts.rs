//! Messages and thoughts: begun, written and ended by their id.
//!
//! A thought and the message behind it are one response; what follows a call's result is another.

use chat_event::Json;
use chat_event::payload::{Notice, UserMessage};
use serde_json::Value;

use super::events::{AgUi, Chunked, text_key};
use super::names::field;
use crate::emit::{Emitter, Place, hash};
use crate::speech::{Kind, Part};
use crate::value::str_of;

/// A message that is written.
#[derive(Debug)]
pub(crate) struct Open {
    order: u64,
    pub(super) role: String,
    pub(super) part: Option<Part>,
    /// What of it came, where the role is not the assistant's.
    text: String,
    said: u64,
    place: Place,
}

/// A part that is whole.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) place: Place,
    pub(super) number: u32,
    /// The event that says it.
    pub(super) event_id: String,
}

/// One speaker: the agent, or a sub-agent.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    response: Option<Response>,
}

#[derive(Debug)]
struct Response {
    id: String,
    said: bool,
    thought: bool,
    called: bool,
    answered: bool,
}

impl AgUi {
    pub(super) fn text_start(&mut self, emitter: &mut Emitter, event: &Value, sub: Option<String>) {
        let id = self.message_id(event);
        let role = str_of(event, "role").unwrap_or("assistant").to_owned();
        self.open_text(emitter, &id, &role, Kind::Text, sub);
    }

    pub(super) fn text_content(
        &mut self,
        emitter: &mut Emitter,
        event: &Value,
        sub: Option<String>,
    ) {
        let id = self.message_id(event);
        self.open_text(emitter, &id, "assistant", Kind::Text, sub);
        self.write_delta(emitter, Kind::Text, &id, event);
    }

    pub(super) fn text_end(&mut self, emitter: &mut Emitter, event: &Value) {
        let id = self.message_id(event);
        if !self.close_text(emitter, Kind::Text, &id) {
            emitter.pass_over("the end of a message that is over");
        }
    }

    pub(super) fn text_chunk(&mut self, emitter: &mut Emitter, event: &Value, sub: Option<String>) {
        let id = match (field(event, "messageId", "message_id"), &self.chunked) {
            (Some(id), _) => id.to_owned(),
            (None, Some(Chunked::Text(id))) => id.clone(),
            (None, _) => self.message_id(event),
        };
        let role = str_of(event, "role").unwrap_or("assistant").to_owned();
        self.open_text(emitter, &id, &role, Kind::Text, sub);
        self.write_delta(emitter, Kind::Text, &id, event);
        self.chunked = Some(Chunked::Text(id));
    }

    pub(super) fn thought_start(
        &mut self,
        emitter: &mut Emitter,
        event: &Value,
        sub: Option<String>,
    ) {
        let id = self.thought_id(event, true);
        self.open_text(emitter, &id, "assistant", Kind::Thinking, sub);
    }

    pub(super) fn thought_content(
        &mut self,
        emitter: &mut Emitter,
        event: &Value,
        sub: Option<String>,
    ) {
        let id = self.thought_id(event, false);
        self.open_text(emitter, &id, "assistant", Kind::Thinking, sub);
        self.write_delta(emitter, Kind::Thinking, &id, event);
    }

    pub(super) fn thought_end(&mut self, emitter: &mut Emitter, event: &Value) {
        let id = self.thought_id(event, false);
        self.thought = None;
        if !self.close_text(emitter, Kind::Thinking, &id) {
            emitter.pass_over("the end of a message that is over");
        }
    }

    pub(super) fn thought_chunk(
        &mut self,
        emitter: &mut Emitter,
        event: &Value,
        sub: Option<String>,
    ) {
        let id = match (field(event, "messageId", "message_id"), &self.chunked) {
            (None, Some(Chunked::Thought(id))) => id.clone(),
            (id, _) => {
                let begins = id.is_none();
                self.thought_id(event, begins)
            }
        };
        self.open_text(emitter, &id, "assistant", Kind::Thinking, sub);
        self.write_delta(emitter, Kind::Thinking, &id, event);
        self.chunked = Some(Chunked::Thought(id));
    }

    /// The id of a message; one without an id is the last that is open.
    fn message_id(&self, event: &Value) -> String {
        let open = &self.texts[Kind::Text as usize];
        let last = self.text.as_ref().filter(|id| open.contains_key(*id));
        field(event, "messageId", "message_id")
            .map(str::to_owned)
            .or_else(|| last.cloned())
            .unwrap_or_else(|| {
                let turn = self.turn.as_deref().unwrap_or("t");
                format!("{turn}.message")
            })
    }

    /// The id of a thought; before 1.0 they had none.
    fn thought_id(&mut self, event: &Value, begins: bool) -> String {
        if let Some(id) = field(event, "messageId", "message_id") {
            return id.to_owned();
        }
        if let Some(id) = self.thought.clone().filter(|_| !begins) {
            return id;
        }
        self.n_thoughts += 1;
        let turn = self.turn.as_deref().unwrap_or("t");
        let id = format!("{turn}.thought{}", self.n_thoughts);
        self.thought = Some(id.clone());
        id
    }

    /// Begins a message, where it is not open.
    fn open_text(
        &mut self,
        emitter: &mut Emitter,
        id: &str,
        role: &str,
        kind: Kind,
        sub: Option<String>,
    ) {
        if self.texts[kind as usize].contains_key(id) {
            return;
        }
        let place = if role == "assistant" {
            self.response(emitter, id, kind, sub)
        } else {
            self.place(emitter, sub.as_deref())
        };
        let told = self.told.get(&text_key(kind, id)).copied();
        self.n_calls += 1;
        // Where a message goes on that had ended, that is another part of it.
        let part = (role == "assistant").then(|| {
            let response = place.response_id.as_deref().unwrap_or("");
            let number = &mut self.parts.entry(response)[kind as usize];
            let part = Part::new(place.clone(), kind, *number);
            *number = number.saturating_add(1);
            part
        });
        let open = Open {
            order: self.n_calls,
            role: role.to_owned(),
            part,
            text: String::new(),
            // A snapshot has all of it as one text.
            said: told.filter(|_| role == "assistant").unwrap_or(hash(b"")),
            place,
        };
        self.texts[kind as usize].insert(id.to_owned(), open);
        if kind == Kind::Text {
            self.text = Some(id.to_owned());
        }
    }

    fn write_delta(&mut self, emitter: &mut Emitter, kind: Kind, id: &str, event: &Value) {
        let delta = str_of(event, "delta").unwrap_or("");
        self.write(emitter, kind, id, delta);
    }

    fn write(&mut self, emitter: &mut Emitter, kind: Kind, id: &str, piece: &str) {
        let Some(open) = self.texts[kind as usize].get_mut(id) else {
            return;
        };
        match &mut open.part {
            Some(part) => part.add(emitter, piece),
            None => open.text.push_str(piece),
        }
        open.said = piece.bytes().fold(open.said, |said, byte| {
            (said ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    }

    /// Ends a message; `false` where it is not open.
    pub(super) fn close_text(&mut self, emitter: &mut Emitter, kind: Kind, id: &str) -> bool {
        let Some(open) = self.texts[kind as usize].remove(id) else {
            return false;
        };
        let key = text_key(kind, id);
        self.note_text(kind, id, open.said, &open.place);
        match open.part {
            Some(part) => {
                let number = part.number;
                if let Some(event_id) = part.end(emitter) {
                    let place = open.place;
                    self.said.entry_at(key).push(Said {
                        place,
                        number,
                        event_id,
                    });
                }
            }
            None if open.role == "user" => {
                self.user_message(emitter, id, &open.text, None);
            }
            None => {
                let notice = Notice {
                    level: "info".to_owned(),
                    text: open.text,
                    source: Some(open.role),
                    ..Notice::default()
                };
                emitter.add_as(&format!("{id}:text"), &open.place, notice);
            }
        }
        true
    }

    /// Ends all messages, in the order in which they began.
    pub(super) fn close_texts(&mut self, emitter: &mut Emitter) {
        let mut open: Vec<(u64, Kind, String)> = Vec::new();
        for kind in [Kind::Text, Kind::Thinking] {
            let texts = self.texts[kind as usize].iter();
            open.extend(texts.map(|(id, open)| (open.order, kind, id.clone())));
        }
        open.sort();
        for (_, kind, id) in open {
            self.close_text(emitter, kind, &id);
        }
        self.thought = None;
        if !matches!(self.chunked, Some(Chunked::Call(_))) {
            self.chunked = None;
        }
    }

    /// The user's words, in the turn that runs.
    pub(super) fn user_message(
        &mut self,
        emitter: &mut Emitter,
        id: &str,
        text: &str,
        attachments: Option<Json>,
    ) {
        let place = self.place(emitter, None);
        self.user_words(emitter, &place, id, text, attachments);
    }

    /// The user's words, in any turn.
    pub(super) fn user_words(
        &mut self,
        emitter: &mut Emitter,
        place: &Place,
        id: &str,
        text: &str,
        attachments: Option<Json>,
    ) {
        self.note_text(Kind::Text, id, hash(text.as_bytes()), place);
        let turn = place.turn_id.as_deref().unwrap_or("");
        let known = self.prompt.take_if(|prompt| prompt == text);
        if known.is_some() && self.worded.contains(turn) {
            return emitter.pass_over("the prompt, said back");
        }
        self.worded.insert(turn, ());
        let payload = UserMessage {
            text: text.into(),
            attachments,
            ..UserMessage::default()
        };
        emitter.add_as(id, place, payload);
    }

    /// The place of a piece of a message, in its response.
    pub(super) fn response(
        &mut self,
        emitter: &mut Emitter,
        id: &str,
        kind: Kind,
        sub: Option<String>,
    ) -> Place {
        let place = self.place(emitter, sub.as_deref());
        let lane = self.lanes.entry(sub).or_default();
        let goes_on = lane.response.as_ref().is_some_and(|response| {
            response.id == id
                || match kind {
                    Kind::Text => !response.said && !response.called,
                    Kind::Thinking => !response.said && !response.thought && !response.called,
                }
        });
        if !goes_on {
            lane.response = Some(Response {
                id: id.to_owned(),
                said: false,
                thought: false,
                called: false,
                answered: false,
            });
        }
        let Some(response) = &mut lane.response else {
            return place;
        };
        match kind {
            Kind::Text => response.said = true,
            Kind::Thinking => response.thought = true,
        }
        place.in_response(&response.id)
    }

    /// The place of a call: in the response that is open, or one of its own.
    pub(super) fn call_response(
        &mut self,
        emitter: &mut Emitter,
        parent_message: Option<&str>,
        call_id: &str,
        sub: Option<String>,
    ) -> Place {
        let place = self.place(emitter, sub.as_deref());
        let lane = self.lanes.entry(sub).or_default();
        if lane
            .response
            .as_ref()
            .is_none_or(|response| response.answered)
        {
            lane.response = Some(Response {
                id: parent_message.unwrap_or(call_id).to_owned(),
                said: false,
                thought: false,
                called: true,
                answered: false,
            });
        }
        match &mut lane.response {
            Some(response) => {
                response.called = true;
                place.in_response(&response.id)
            }
            None => place,
        }
    }

    pub(super) fn answered(&mut self, sub: Option<&String>) {
        let lane = self.lanes.get_mut(&sub.cloned());
        if let Some(response) = lane.and_then(|lane| lane.response.as_mut()) {
            response.answered = true;
        }
    }
}
