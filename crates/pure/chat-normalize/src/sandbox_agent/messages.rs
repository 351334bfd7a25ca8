//! Messages: begun with what is known of them, written in pieces, completed, perhaps under another id.
//!
//! What a message is begun with and the pieces behind it overlap, so the first is only kept: it is written as the whole
//! where another item begins, or the turn ends, before the message is completed. A completed message that nobody began
//! is the one that says the same and was not completed, or the one that is written.

use chat_event::payload::{Notice, Retract, UserMessage};
use chat_event::{Extra, Json, Payload};
use serde_json::{Map, Value};

use super::FORMAT;
use super::events::SandboxAgent;
use super::results::Beside;
use crate::emit::{Emitter, hash};
use crate::speech::{Kind, Part};
use crate::value::{list_of, str_of, text_of};

/// Messages that come in pieces and were left for other items: those that a whole of another id may be, at most.
const MAX_LEFT: usize = 8;

/// A message of the agent.
#[derive(Debug, Default)]
pub(crate) struct Message {
    /// The id of its response.
    pub(super) id: String,
    order: u64,
    /// What it was begun with and was not written.
    pending: Vec<(Kind, String)>,
    /// What is written in pieces.
    part: Option<Part>,
    /// The events of these pieces.
    pieces: Vec<String>,
    numbers: [u32; 2],
    /// It was completed.
    whole: bool,
}

impl SandboxAgent {
    /// A message that began or is complete.
    pub(super) fn message(&mut self, emitter: &mut Emitter, key: &str, item: &Value, whole: bool) {
        let content = list_of(item, "content");
        if str_of(item, "role") == Some("user") {
            if whole || !content.is_empty() {
                self.user(emitter, key, content);
            }
            return;
        }
        let mut texts = Vec::new();
        for part in content {
            match text_part(part) {
                Some(text) => texts.push(text),
                None => self.other_part(emitter, key, part),
            }
        }
        let key = match (whole, self.messages.contains_key(key)) {
            (true, false) => self.completes(&texts).unwrap_or_else(|| key.to_owned()),
            _ => key.to_owned(),
        };
        if self.current.as_deref() != Some(&key) {
            self.leave(emitter);
        }
        self.need_message(emitter, &key);
        if !whole {
            texts.retain(|(_, text)| !text.is_empty());
        }
        if !texts.is_empty() && !whole {
            // One block after the other comes under the same id: what came before is whole.
            let Some(message) = self.messages.get(&key) else {
                return;
            };
            if message.pending == texts {
                return emitter.pass_over("an item begun again");
            }
            self.flush(emitter);
            self.current = Some(key.clone());
        }
        let texts = match self.messages.get_mut(&key) {
            Some(message) if whole => {
                message.whole = true;
                // What another message said, this one says once more.
                let told = |text: &(Kind, String)| self.texts.get(&text_hash(text)) == Some(&key);
                let news: Vec<_> = texts.into_iter().filter(|text| !told(text)).collect();
                message.pending = news;
                true
            }
            Some(message) if !texts.is_empty() => {
                message.pending = texts;
                false
            }
            _ => whole,
        };
        if texts {
            self.take_back_thoughts(emitter, &key);
            self.flush(emitter);
            self.answered = true;
            self.failed = false;
        }
    }

    /// The message whose text a completed one of an unknown id repeats, or the one that is written.
    fn completes(&self, texts: &[(Kind, String)]) -> Option<String> {
        let said = texts
            .iter()
            .filter_map(|text| self.texts.get(&text_hash(text)))
            .find(|key| {
                self.messages
                    .get(*key)
                    .is_some_and(|message| !message.whole)
            });
        let is_in_pieces = |key: &&String| {
            let message = self.messages.get(*key);
            let part = message.and_then(|message| message.part.as_ref());
            let is_it = |(kind, text): &(Kind, String)| {
                *kind == Kind::Text && part.is_some_and(|part| part.text() == text)
            };
            texts.iter().any(is_it)
        };
        let said = said.or_else(|| self.left.iter().find(is_in_pieces));
        said.cloned().or_else(|| {
            let current = self.current.clone()?;
            let message = self.messages.get(&current)?;
            let same =
                message.part.is_some() || texts.iter().any(|text| message.pending.contains(text));
            same.then_some(current)
        })
    }

    fn need_message(&mut self, emitter: &mut Emitter, key: &str) {
        self.place(emitter);
        if !self.messages.contains_key(key) {
            self.n_messages += 1;
            let id = if key.is_empty() {
                format!("message-{}", self.n_messages)
            } else {
                key.to_owned()
            };
            let message = Message {
                id,
                order: self.n_messages,
                ..Message::default()
            };
            self.messages.insert(key.to_owned(), message);
        }
        self.current = Some(key.to_owned());
    }

    /// `item.delta`: a piece of a message, or of what a tool prints.
    pub(super) fn delta(&mut self, emitter: &mut Emitter, data: &Value) {
        let Some(piece) = str_of(data, "delta") else {
            let place = self.quiet_place();
            return emitter.raw(&place, FORMAT, "a piece without text", data);
        };
        if let Some(call) = self.call_of(data) {
            return self.output(emitter, &call, piece);
        }
        let named = ["item_id", "native_item_id"]
            .iter()
            .filter_map(|key| text_of(data, key))
            .find(|id| self.messages.contains_key(*id))
            .map(str::to_owned);
        let id = text_of(data, "item_id").or_else(|| text_of(data, "native_item_id"));
        let key = named
            .or_else(|| self.current.clone().filter(|_| id.is_none()))
            .or_else(|| id.map(str::to_owned))
            .unwrap_or_default();
        if self.current.as_deref() != Some(&key) {
            self.leave(emitter);
        }
        self.need_message(emitter, &key);
        let place = self.quiet_place();
        // A thought that the message was begun with stands before its text.
        let thought = self.messages.get(&key).is_some_and(|message| {
            let thoughts = |(kind, _): &(Kind, String)| *kind == Kind::Thinking;
            !message.pending.is_empty() && message.pending.iter().all(thoughts)
        });
        if thought {
            self.flush(emitter);
            self.current = Some(key.clone());
        }
        let Some(message) = self.messages.get_mut(&key) else {
            return;
        };
        let response = message.id.clone();
        let numbers = &mut message.numbers;
        let part = message.part.get_or_insert_with(|| {
            let number = numbers[0];
            numbers[0] = number.saturating_add(1);
            Part::new(place.in_response(&response), Kind::Text, number)
        });
        let n_before = emitter.out.len();
        part.add(emitter, piece);
        let added = emitter.out.get(n_before..).unwrap_or_default();
        let pieces = added
            .iter()
            .filter(|event| matches!(event.payload, Payload::AssistantChunk(_)));
        message.pieces.extend(pieces.map(|event| event.id.clone()));
    }

    /// Another item begins: what the message that is written was begun with is whole then. What comes in pieces may go on
    /// beside others, until it is completed or the turn ends.
    pub(super) fn leave(&mut self, emitter: &mut Emitter) {
        let current = self.current.as_ref();
        let Some(message) = current.and_then(|key| self.messages.get(key)) else {
            return self.flush(emitter);
        };
        if message.part.is_none() {
            return self.flush(emitter);
        }
        if let Some(key) = self.current.take() {
            self.left.retain(|left| *left != key);
            self.left.push_back(key);
            if self.left.len() > MAX_LEFT {
                self.left.pop_front();
            }
        }
    }

    /// The turn ends: what came in pieces is whole.
    pub(super) fn end_parts(&mut self, emitter: &mut Emitter) {
        let open = self.messages.iter();
        let open = open.filter(|(_, message)| message.part.is_some());
        let mut open: Vec<(u64, String)> = open
            .map(|(key, message)| (message.order, key.clone()))
            .collect();
        open.sort();
        for (_, key) in open {
            self.current = Some(key);
            self.flush(emitter);
        }
    }

    /// Pieces do not say whether they are said or thought: where the whole says that it was thought, they are taken back.
    fn take_back_thoughts(&mut self, emitter: &mut Emitter, key: &str) {
        let Some(message) = self.messages.get_mut(key) else {
            return;
        };
        let Some(part) = &message.part else { return };
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        let written = bare(part.text());
        // In their order, so that it is looked through once.
        let mut left = written.as_str();
        let mut was_thought = |(kind, text): &(Kind, String)| {
            let found = left.split_once(bare(text).as_str());
            left = found.map_or(left, |(_, rest)| rest);
            *kind == Kind::Thinking && found.is_some()
        };
        // What else was written is an answer, and stays.
        if message.pending.is_empty()
            || !message.pending.iter().all(&mut was_thought)
            || !left.is_empty()
        {
            return;
        }
        message.part = None;
        message.numbers[0] = message.numbers[0].saturating_sub(1);
        let event_ids = std::mem::take(&mut message.pieces);
        let id = message.id.clone();
        let place = self.quiet_place().in_response(&id);
        if !event_ids.is_empty() {
            let extra = Extra::default();
            emitter.add_as(
                &format!("{id}:retract"),
                &place,
                Retract { event_ids, extra },
            );
        }
    }

    /// Writes what the message that is written was begun with, and ends its pieces.
    pub(super) fn flush(&mut self, emitter: &mut Emitter) {
        let Some(key) = self.current.take() else {
            return;
        };
        let place = self.quiet_place();
        let Some(message) = self.messages.get_mut(&key) else {
            return;
        };
        message.pieces.clear();
        let place = place.in_response(&message.id);
        for (kind, text) in std::mem::take(&mut message.pending) {
            let said = self.texts.get(&text_hash(&(kind, text.clone())));
            if message.part.is_none() && said == Some(&key) {
                emitter.pass_over("a message told before");
                continue;
            }
            self.texts
                .insert(text_hash(&(kind, text.clone())), key.clone());
            if kind == Kind::Text
                && let Some(part) = message.part.take()
            {
                // What it was begun with may be less than what came in pieces.
                if message.whole || text.len() >= part.text().len() {
                    part.end_as(emitter, text);
                } else {
                    part.end(emitter);
                }
                continue;
            }
            let number = match kind {
                Kind::Text => &mut message.numbers[0],
                Kind::Thinking => &mut message.numbers[1],
            };
            let part = Part::new(place.clone(), kind, *number);
            *number = number.saturating_add(1);
            part.end_as(emitter, text);
        }
        if let Some(part) = message.part.take() {
            self.texts.insert(
                text_hash(&(Kind::Text, part.text().to_owned())),
                key.clone(),
            );
            part.end(emitter);
        }
    }

    /// What the user says begins a turn, unless the one that runs was not answered yet.
    fn user(&mut self, emitter: &mut Emitter, key: &str, content: &[Value]) {
        let mut text = String::new();
        let mut attached = Vec::new();
        let mut unread = Vec::new();
        for part in content {
            match (text_part(part), attachment(part)) {
                (Some((_, more)), _) => text.push_str(&more),
                (None, Some(attachment)) => attached.push(attachment),
                (None, None) => unread.push(part),
            }
        }
        let said = text_hash(&(Kind::Text, format!("user:{key}:{text}")));
        if self.texts.contains_key(&said) {
            return emitter.pass_over("an item begun again");
        }
        self.flush(emitter);
        if self.answered && self.calls.is_empty() {
            self.close_turn(emitter, "completed");
        }
        let place = self.place(emitter);
        self.texts.insert(said, key.to_owned());
        let payload = UserMessage {
            text: text.into(),
            attachments: (!attached.is_empty()).then(|| Json::from(Value::Array(attached))),
            ..UserMessage::default()
        };
        let id = if key.is_empty() { "user" } else { key };
        emitter.add_as(&format!("{id}:user"), &place, payload);
        for part in unread {
            emitter.raw(&place, FORMAT, "a part of a message", part);
        }
    }

    /// A part of a message that is no text.
    fn other_part(&mut self, emitter: &mut Emitter, key: &str, part: &Value) {
        match str_of(part, "type") {
            Some("tool_call") => self.call_part(emitter, key, part, None, true),
            Some("tool_result") => self.result_part(emitter, part, Beside::default()),
            Some("status") => self.status_part(emitter, part),
            Some("image" | "file_ref") => {
                let place = self.place(emitter);
                let mut extra = Extra::default();
                if let Some(attachment) = attachment(part) {
                    extra.insert("attachments", Json::from(Value::Array(vec![attachment])));
                }
                let notice = Notice {
                    level: "info".to_owned(),
                    text: text_of(part, "path").unwrap_or("a file").to_owned(),
                    source: Some("agent".to_owned()),
                    extra,
                    ..Notice::default()
                };
                emitter.add("file", &place, notice);
            }
            Some(_) | None => {
                let place = self.quiet_place();
                emitter.raw(&place, FORMAT, "a part of a message", part);
            }
        }
    }
}

/// The text of a part: said, or thought. Old converters keep a thought as `json`.
pub(super) fn text_part(part: &Value) -> Option<(Kind, String)> {
    match str_of(part, "type") {
        Some("text") => Some((Kind::Text, str_of(part, "text")?.to_owned())),
        Some("reasoning") => Some((Kind::Thinking, str_of(part, "text")?.to_owned())),
        Some("json") => {
            let held = part.get("json")?;
            let thought =
                str_of(held, "thinking").filter(|_| str_of(held, "type") == Some("thinking"));
            Some((Kind::Thinking, thought?.to_owned()))
        }
        Some(_) | None => None,
    }
}

pub(super) fn text_hash(text: &(Kind, String)) -> u64 {
    hash(format!("{:?}:{}", text.0, text.1).as_bytes())
}

/// A picture or a file, as a reference.
pub(super) fn attachment(part: &Value) -> Option<Value> {
    let path = text_of(part, "path")?;
    let mut made = Map::new();
    made.insert("name".to_owned(), path.into());
    let media = text_of(part, "mime").unwrap_or("application/octet-stream");
    made.insert("mediaType".to_owned(), media.into());
    made.insert("ref".to_owned(), path.into());
    Some(Value::Object(made))
}
