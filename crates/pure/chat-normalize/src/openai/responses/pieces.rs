//! Pieces of an answer: of its texts, of a call's input, of what a tool prints, of sound.

use chat_event::Extra;
use chat_event::payload::{AudioChunk, Progress};
use serde_json::Value;

use super::{FORMAT, OpenAiResponses};
use crate::emit::Emitter;
use crate::openai::items::{about_text, part_key, raw_thought_key};
use crate::openai::session::Key;
use crate::value::{count_of, str_of, text_of};

impl OpenAiResponses {
    /// A piece of a text.
    pub(super) fn piece(&mut self, emitter: &mut Emitter, key: Key, event: &Value) {
        let id = self.need_answer(emitter);
        match str_of(event, "delta") {
            Some(delta) => self.session.chunk(emitter, &id, key, delta),
            None => emitter.raw(&self.place(), FORMAT, "a piece without text", event),
        }
    }

    /// A text is whole.
    pub(super) fn text_whole(&mut self, emitter: &mut Emitter, kind: &str, event: &Value) {
        let id = self.need_answer(emitter);
        let is_refusal = kind == "refusal.done";
        let Some(text) = str_of(event, if is_refusal { "refusal" } else { "text" }) else {
            return emitter.raw(&self.place(), FORMAT, "a text without text", event);
        };
        let index = count_of(event, "content_index").unwrap_or(0);
        let about = match self.items.open_of(event) {
            Some(open) => {
                // They are said with the first whole only: the same text may be said to be whole any number of times.
                let annotations = open.annotations.remove(&index).unwrap_or_default();
                about_text(open.phase.as_deref(), &annotations, is_refusal)
            }
            None => about_text(None, &[], is_refusal),
        };
        let key = Key::text(self.text_key(event, "content_index"));
        self.session.done(emitter, &id, key, text, &about);
    }

    /// A thought is whole.
    pub(super) fn thought_whole(&mut self, emitter: &mut Emitter, key: Key, event: &Value) {
        let id = self.need_answer(emitter);
        match text_of(event, "text") {
            Some(text) => self.session.done(emitter, &id, key, text, &[]),
            None => emitter.pass_over("reasoning without text"),
        }
    }

    /// A piece of a call's input.
    pub(super) fn input(&mut self, emitter: &mut Emitter, event: &Value) {
        let call = self.items.open_of(event).and_then(|open| open.call.clone());
        match (call, str_of(event, "delta")) {
            (Some(call), Some(delta)) => self.session.calls.input(emitter, &call, delta),
            _ => emitter.raw(&self.place(), FORMAT, "input of no call", event),
        }
    }

    /// A piece of what a tool prints.
    pub(super) fn output(&mut self, emitter: &mut Emitter, event: &Value) {
        let delta = event.get("delta").unwrap_or(&Value::Null);
        let native_id = self.items.open_of(event).and_then(|open| open.call.clone());
        let native_id = native_id.or_else(|| text_of(event, "call_id").map(str::to_owned));
        let Some(native_id) = native_id else {
            return emitter.raw(&self.place(), FORMAT, "output of no call", event);
        };
        for stream in ["stdout", "stderr"] {
            if let Some(text) = text_of(delta, stream) {
                self.session.calls.output(emitter, &native_id, text, stream);
            }
        }
    }

    /// A tool that the service runs goes on.
    pub(super) fn progress(&mut self, emitter: &mut Emitter, kind: &str, event: &Value) {
        let item = self.items.open_of(event);
        let call = item.and_then(|open| open.call.as_ref());
        let call = call.and_then(|call| self.session.calls.get(call));
        let Some(tool_call_id) = call.map(|call| call.id.clone()) else {
            return emitter.pass_over(&format!("response.{kind}"));
        };
        let message = kind.rsplit('.').next().unwrap_or(kind);
        let progress = Progress {
            message: message.to_owned(),
            percent: None,
            tool_call_id: Some(tool_call_id.clone()),
            extra: Extra::default(),
        };
        emitter.add_as(
            &format!("{tool_call_id}:{message}"),
            &self.place(),
            progress,
        );
    }

    /// A piece of sound.
    pub(super) fn sound(&mut self, emitter: &mut Emitter, event: &Value) {
        let id = self.need_answer(emitter);
        let sound = AudioChunk {
            data: text_of(event, "delta").map(str::to_owned),
            audio_ref: None,
            seq: self.n_sounds,
            extra: Extra::default(),
        };
        self.n_sounds += 1;
        emitter.add_as(&format!("{id}:audio.{}", sound.seq), &self.place(), sound);
    }

    /// Names a text of an item: `index` is the member that counts such texts.
    pub(super) fn text_key(&mut self, event: &Value, index: &str) -> String {
        let item = self.items.key_of(event);
        part_key(&item, count_of(event, index).unwrap_or(0))
    }

    /// Names raw reasoning of an item.
    pub(super) fn reasoning_key(&mut self, event: &Value) -> String {
        let item = self.items.key_of(event);
        raw_thought_key(&item, count_of(event, "content_index").unwrap_or(0))
    }
}
