//! What the pieces of an answer say: its texts, its sounds, its calls.

use chat_event::Extra;
use chat_event::payload::AudioChunk;
use serde_json::Value;

use super::chat::{FORMAT, OpenAiChat};
use super::chat_messages::{reasoning_of, thinking_of_part};
use super::chat_prints::{args_of, calls_of};
use super::content::texts_of;
use super::session::Key;
use crate::emit::Emitter;
use crate::value::{count_of, list_of, str_of, text_of};

/// Members of a delta that have a rule, or say nothing of the answer.
const KNOWN_OF_DELTA: [&str; 11] = [
    "role",
    "content",
    "refusal",
    "reasoning_content",
    "reasoning",
    "reasoning_details",
    "tool_calls",
    "function_call",
    "audio",
    "annotations",
    "name",
];

impl OpenAiChat {
    pub(super) fn delta(
        &mut self,
        emitter: &mut Emitter,
        id: &str,
        native_id: &str,
        delta: &Value,
        chunk: &Value,
    ) {
        let session = &mut self.session;
        let thought = reasoning_of(delta);
        if !thought.is_empty() {
            let key = session.thought_key(native_id, "reasoning");
            session.chunk(emitter, native_id, key, &thought);
        }
        let text = match delta.get("content") {
            Some(Value::Array(parts)) => {
                let thought: String = parts.iter().map(thinking_of_part).collect();
                let key = session.thought_key(native_id, "reasoning");
                session.chunk(emitter, native_id, key, &thought);
                super::content::texts_of(&Value::Array(parts.clone())).concat()
            }
            Some(Value::String(text)) => text.clone(),
            Some(_) | None => String::new(),
        };
        let refusal = str_of(delta, "refusal").unwrap_or("");
        let calls = list_of(delta, "tool_calls");
        if !text.is_empty() || !refusal.is_empty() || !calls.is_empty() {
            session.close_texts(emitter, native_id, true);
        }
        session.chunk(emitter, native_id, Key::text("content"), &text);
        session.chunk(emitter, native_id, Key::text("refusal"), refusal);
        if let Some(audio) = delta.get("audio").filter(|audio| audio.is_object()) {
            self.audio(emitter, id, native_id, audio);
        }
        for piece in calls {
            self.call_piece(emitter, native_id, piece);
        }
        if let Some(call) = delta.get("function_call").filter(|call| call.is_object()) {
            let piece = serde_json::json!({"index": 0, "function": call});
            self.call_piece(emitter, native_id, &piece);
        }
        let unknown = delta
            .as_object()
            .into_iter()
            .flatten()
            .find(|(name, value)| {
                !KNOWN_OF_DELTA.contains(&name.as_str())
                    && !value.is_null()
                    && value.as_str() != Some("")
                    && value.as_array().is_none_or(|items| !items.is_empty())
            });
        if let Some((name, _)) = unknown {
            emitter.raw(
                &self.session.place(),
                FORMAT,
                &format!("delta {name}"),
                chunk,
            );
        }
    }

    fn audio(&mut self, emitter: &mut Emitter, id: &str, native_id: &str, audio: &Value) {
        let transcript = str_of(audio, "transcript").unwrap_or("");
        let session = &mut self.session;
        session.chunk(emitter, native_id, Key::text("transcript"), transcript);
        let place = session.answer(emitter, native_id).place.clone();
        if let Some(data) = text_of(audio, "data")
            && let Some(seq) = self.next_sound(id)
        {
            let sound = AudioChunk {
                data: Some(data.to_owned()),
                audio_ref: None,
                seq,
                extra: Extra::default(),
            };
            emitter.add_as(&format!("{native_id}:audio.{seq}"), &place, sound);
        }
    }

    /// A piece of a call: `id` and `name` come with the first, for some servers with all, for some never.
    fn call_piece(&mut self, emitter: &mut Emitter, native_id: &str, piece: &Value) {
        let function = piece.get("function").or_else(|| piece.get("custom"));
        let function = function.unwrap_or(&Value::Null);
        let said_id = text_of(piece, "id");
        let name = text_of(function, "name");
        let answer = self.session.answer(emitter, native_id);
        let place = answer.place.clone();
        let of_id = said_id.and_then(|id| answer.calls.index_of(id));
        let index = count_of(piece, "index").unwrap_or(match (of_id, answer.calls.last()) {
            (Some(index), _) => index,
            (None, Some(last)) if said_id.is_none() && name.is_none() => last,
            (None, _) => answer.calls.next(),
        });
        let known = answer.calls.at(index).cloned();
        let response_id = place.response_id.as_deref().unwrap_or(native_id);
        let call_id = match (&known, said_id) {
            (_, Some(id)) => id.to_owned(),
            (Some(known), None) => known.clone(),
            (None, None) => format!("{response_id}:call{index}"),
        };
        let made_up = known.is_none() && said_id.is_none();
        answer.asks = true;
        answer.calls.put(index, &call_id);
        let calls = &mut self.session.calls;
        if let Some(before) = known.filter(|before| *before != call_id) {
            // Another call at the same index.
            calls.announce(emitter, &before, None);
        }
        calls.open(&call_id, name.unwrap_or(""), &place).made_up |= made_up;
        match args_of(function) {
            Some(Value::String(text)) => calls.input(emitter, &call_id, text),
            Some(args @ Value::Object(_)) => calls.announce(emitter, &call_id, Some(args.clone())),
            Some(_) | None => {}
        }
    }
}

/// Whether a delta says something of an answer: more than who speaks.
pub(super) fn says(delta: &Value) -> bool {
    let texts = texts_of(delta.get("content").unwrap_or(&Value::Null));
    texts.iter().any(|text| !text.is_empty())
        || text_of(delta, "refusal").is_some()
        || !reasoning_of(delta).is_empty()
        || calls_of(delta).next().is_some()
}
