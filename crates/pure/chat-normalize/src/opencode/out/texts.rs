//! Texts and thoughts: an empty part, pieces, and the whole, which replaces them.

use chat_event::ChatEvent;
use serde_json::{Value, json};

use super::{OpenCodeOut, object};
use crate::emit::hash;

/// A text or a thought. What is whole is kept apart, for it may be corrected.
#[derive(Debug)]
pub(super) struct TextPart {
    scope: usize,
    message_id: String,
    part_id: String,
    thinking: bool,
    /// As long as it grows.
    text: String,
    /// The hash of the whole.
    said: u64,
    start_ms: i64,
    step: u64,
}

impl OpenCodeOut {
    /// A piece of a text.
    pub(super) fn piece(
        &mut self,
        event: &ChatEvent,
        thinking: bool,
        part: Option<u32>,
        text: &str,
    ) {
        let key = self.block(event, thinking, part);
        if self.whole.at(key).is_some() {
            return self.leave_out("a piece of a text that is whole");
        }
        let Some(of) = self.texts.get_mut(&key) else {
            return;
        };
        if text.is_empty() {
            return;
        }
        of.text.push_str(text);
        let (scope, message_id, part_id) = (of.scope, of.message_id.clone(), of.part_id.clone());
        if self.gone.contains(&part_id) {
            return;
        }
        let properties = object([
            ("sessionID", Value::from(self.scopes[scope].id.as_str())),
            ("messageID", Value::String(message_id)),
            ("partID", Value::String(part_id)),
            ("field", Value::from("text")),
            ("delta", Value::from(text)),
        ]);
        self.tell("message.part.delta", properties);
    }

    /// The whole of a text.
    pub(super) fn whole(
        &mut self,
        event: &ChatEvent,
        thinking: bool,
        part: Option<u32>,
        text: &str,
    ) {
        let key = self.block(event, thinking, part);
        self.finish_text(key, Some(text));
        let Some(of) = self.whole.at(key) else {
            return;
        };
        let (scope, message_id, part_id) = (of.scope, of.message_id.clone(), of.part_id.clone());
        self.note(scope, &message_id, Some(&part_id));
    }

    /// The block that the event is of; it begins where it is not known.
    fn block(&mut self, event: &ChatEvent, thinking: bool, part: Option<u32>) -> u64 {
        match self.known_block(event, thinking, part) {
            Some(key) => key,
            None => self.new_block(event, thinking, part),
        }
    }

    /// The block that an event is about, where it was begun.
    fn known_block(&mut self, event: &ChatEvent, thinking: bool, part: Option<u32>) -> Option<u64> {
        let scope = self.scope(event);
        let step = match &event.response_id {
            Some(response) => self
                .step_of_response
                .get(&(scope, response.clone()))
                .copied(),
            None => self.scopes[scope].step,
        };
        let step = step.and_then(|key| self.steps.get(&key));
        let name = event
            .response_id
            .as_ref()
            .or(step.map(|step| &step.message_id))?;
        let part = part.or(step.map(|step| step.next_block[usize::from(thinking)]))?;
        let key = block_key(scope, name, thinking, part);
        (self.texts.contains_key(&key) || self.whole.at(key).is_some()).then_some(key)
    }

    fn new_block(&mut self, event: &ChatEvent, thinking: bool, part: Option<u32>) -> u64 {
        let step_key = self.step_for(event);
        let Some((scope, message_id, part_id)) = self.step_part(step_key) else {
            return 0;
        };
        let Some(step) = self.steps.get_mut(&step_key) else {
            return 0;
        };
        let name = event.response_id.as_ref().unwrap_or(&message_id);
        let next = step.next_block[usize::from(thinking)];
        let key = block_key(scope, name, thinking, part.unwrap_or(next));
        step.open_texts.push(key);
        let of = TextPart {
            scope,
            message_id: message_id.clone(),
            part_id: part_id.clone(),
            thinking,
            text: String::new(),
            said: 0,
            start_ms: self.now_ms,
            step: step_key,
        };
        self.texts.insert(key, of);
        self.note(scope, &message_id, Some(&part_id));
        let kind = if thinking { "reasoning" } else { "text" };
        let part = json!({"type": kind, "text": "", "time": {"start": self.now_ms}});
        self.tell_part(scope, &message_id, &part_id, part);
        key
    }

    /// Tells the whole text; what the pieces built where the log does not say it.
    pub(super) fn finish_text(&mut self, key: u64, text: Option<&str>) {
        let now_ms = self.now_ms;
        let first = self.texts.remove(&key);
        let is_first = first.is_some();
        let built = match first {
            Some(mut of) => {
                let built = std::mem::take(&mut of.text);
                self.whole.put(key, of);
                built
            }
            None if text.is_none() => return,
            None => String::new(),
        };
        let Some(of) = self.whole.at_mut(key) else {
            return;
        };
        let text = text.unwrap_or(&built);
        let said = hash(text.as_bytes());
        if !is_first && of.said == said {
            return;
        }
        of.said = said;
        let kind = if of.thinking { "reasoning" } else { "text" };
        let part = json!({"type": kind, "text": text, "time": {"start": of.start_ms, "end": now_ms.max(of.start_ms)}});
        let (scope, thinking, step) = (of.scope, of.thinking, of.step);
        let (message_id, part_id) = (of.message_id.clone(), of.part_id.clone());
        self.tell_part(scope, &message_id, &part_id, part);
        if is_first && let Some(step) = self.steps.get_mut(&step) {
            step.open_texts.retain(|open| *open != key);
            step.next_block[usize::from(thinking)] += 1;
        }
    }
}

/// What tells an answer's block from all others.
fn block_key(scope: usize, response: &str, thinking: bool, part: u32) -> u64 {
    hash(format!("{scope}\0{response}\0{thinking}\0{part}").as_bytes())
}
