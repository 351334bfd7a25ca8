//! What answers came to: what they cost, what went wrong, and summaries that stand for what was said.

use chat_event::payload::{Compaction, ErrorEvent, Interrupt, Usage};
use chat_event::{Extra, Json};
use serde_json::Value;

use crate::emit::{Emitter, Place};
use crate::opencode::session::Session;
use crate::value::{amount_of, count_of, text_of};

impl Session {
    /// `session.compacted`, where the summary did not say it.
    pub(crate) fn shortened(&mut self, emitter: &mut Emitter, native_id: &str) {
        if std::mem::take(&mut self.compacted) {
            return;
        }
        let place = self.place(native_id);
        let trigger = self.compacting.take().unwrap_or_else(|| "auto".to_owned());
        let payload = Compaction {
            trigger,
            ..Compaction::default()
        };
        emitter.add("compaction", &place, payload);
    }

    /// An error of the session, or of an answer; both say the same one.
    pub(crate) fn failed(
        &mut self,
        emitter: &mut Emitter,
        native_id: &str,
        place: &Place,
        error: &Value,
    ) {
        let name = text_of(error, "name").unwrap_or("error");
        let data = error.get("data").unwrap_or(error);
        let message = text_of(data, "message").unwrap_or(name);
        let aborted = name == "MessageAbortedError";
        if place.parent_tool_call_id.is_none()
            && let Some(turn) = self.turn(place.turn_id.as_ref())
        {
            turn.interrupted |= aborted;
            turn.failed |= !aborted;
        }
        let key = format!("{name}: {message}");
        if self.errors.get(native_id) == Some(&key) {
            return;
        }
        self.errors.insert(native_id.to_owned(), key);
        if aborted {
            let reason = "user_cancel".to_owned();
            let extra = Extra::default();
            emitter.add("interrupt", place, Interrupt { reason, extra });
            return;
        }
        let mut extra = Extra::default();
        for key in ["statusCode", "isRetryable"] {
            if let Some(value) = data.get(key) {
                extra.insert(key, Json::from(value));
            }
        }
        let payload = ErrorEvent {
            code: name.to_owned(),
            message: message.to_owned(),
            extra,
        };
        emitter.add("error", place, payload);
    }

    pub(crate) fn step_ended(&mut self, message_id: &str, place: &Place, part: &Value) {
        if let Some(message) = self.messages.get_mut(message_id) {
            message.counted = true;
        }
        let ended = text_of(part, "reason").is_some_and(|reason| reason != "tool-calls");
        if place.parent_tool_call_id.is_none()
            && let Some(turn) = self.turn(place.turn_id.as_ref())
        {
            turn.answered = ended;
        }
    }

    /// What a step used, from the part that ends it, or from its message.
    pub(crate) fn usage(&mut self, emitter: &mut Emitter, key: &str, place: &Place, of: &Value) {
        let Some(tokens) = of.get("tokens").filter(|tokens| tokens.is_object()) else {
            return;
        };
        let cache = tokens.get("cache").unwrap_or(&Value::Null);
        let count = |value: &Value, key: &str| count_of(value, key).unwrap_or(0);
        let (input, output) = (count(tokens, "input"), count(tokens, "output"));
        let reasoning = count(tokens, "reasoning");
        // What was thought is not among what it says was written.
        let output = output.saturating_add(reasoning);
        let (cache_read, cache_write) = (count(cache, "read"), count(cache, "write"));
        if [input, output, reasoning, cache_read, cache_write] == [0; 5] {
            return;
        }
        let cost_usd = amount_of(of, "cost");
        let model = place
            .response_id
            .as_ref()
            .and_then(|id| self.messages.get(id))
            .and_then(|message| message.model.clone());
        if let Some(turn) = self.turn(place.turn_id.as_ref()) {
            let spent = &mut turn.spent;
            spent.steps += 1;
            spent.input = spent.input.saturating_add(input);
            spent.output = spent.output.saturating_add(output);
            spent.reasoning = spent.reasoning.saturating_add(reasoning);
            spent.cache_read = spent.cache_read.saturating_add(cache_read);
            spent.cache_write = spent.cache_write.saturating_add(cache_write);
            spent.cost_usd += cost_usd.unwrap_or(0.0);
        }
        let payload = Usage {
            scope: "response".to_owned(),
            input_tokens: input,
            output_tokens: output,
            cache_read_tokens: Some(cache_read),
            cache_write_tokens: Some(cache_write),
            reasoning_tokens: Some(reasoning),
            cost_usd,
            model,
            ..Usage::default()
        };
        self.add(emitter, key, "usage", place, payload);
    }
}
