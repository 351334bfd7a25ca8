//! Usage: the tokens of a turn with its prompt's answer, the context and the cost of the session whenever they change.
//!
//! Tokens of the session are summed here, because nobody says them.

use chat_event::Json;
use chat_event::payload::Usage;
use serde_json::Value;

use super::session::Session;
use crate::emit::Emitter;
use crate::value::{amount_of, count_of, str_of};

/// What the session used so far, as it was said last.
#[derive(Debug, Default)]
pub(crate) struct Spent {
    said: Usage,
}

impl Session {
    /// `usage_update`.
    pub(super) fn usage_said(&mut self, emitter: &mut Emitter, update: &Value) {
        let cost = update.get("cost").unwrap_or(&Value::Null);
        let in_dollars = str_of(cost, "currency").is_none_or(|currency| currency == "USD");
        let mut now = self.spent.said.clone();
        now.context_used = count_of(update, "used").or(now.context_used);
        now.context_size = count_of(update, "size").or(now.context_size);
        if in_dollars {
            now.cost_usd = amount_of(cost, "amount").or(now.cost_usd);
        } else {
            now.extra.insert("cost", Json::from(cost));
        }
        if !self.say_spent(emitter, now) {
            emitter.pass_over("usage as before");
        }
    }

    /// What a turn used, from the answer to its prompt.
    pub(super) fn write_usage(&mut self, emitter: &mut Emitter, result: &Value) {
        let usage = result.get("usage").filter(|usage| usage.is_object());
        // Gemini's own.
        let quota = result
            .get("_meta")
            .and_then(|meta| meta.get("quota"))
            .and_then(|quota| quota.get("token_count"));
        let (usage, names) = match (usage, quota) {
            (Some(usage), _) => (usage, ["inputTokens", "outputTokens"]),
            (None, Some(quota)) => (quota, ["input_tokens", "output_tokens"]),
            (None, None) => return,
        };
        let thoughts = count_of(usage, "thoughtTokens");
        let written = count_of(usage, names[1]).unwrap_or(0);
        let of_turn = Usage {
            scope: "turn".to_owned(),
            input_tokens: count_of(usage, names[0]).unwrap_or(0),
            // What was thought is not among what it says was written.
            output_tokens: written.saturating_add(thoughts.unwrap_or(0)),
            cache_read_tokens: count_of(usage, "cachedReadTokens"),
            cache_write_tokens: count_of(usage, "cachedWriteTokens"),
            reasoning_tokens: thoughts,
            ..Usage::default()
        };
        let mut now = self.spent.said.clone();
        let sum = |before: Option<u64>, more: Option<u64>| match (before, more) {
            (None, None) => None,
            (before, more) => Some(before.unwrap_or(0).saturating_add(more.unwrap_or(0))),
        };
        now.input_tokens = now.input_tokens.saturating_add(of_turn.input_tokens);
        now.output_tokens = now.output_tokens.saturating_add(of_turn.output_tokens);
        now.cache_read_tokens = sum(now.cache_read_tokens, of_turn.cache_read_tokens);
        now.cache_write_tokens = sum(now.cache_write_tokens, of_turn.cache_write_tokens);
        now.reasoning_tokens = sum(now.reasoning_tokens, of_turn.reasoning_tokens);
        let place = self.quiet_place();
        let turn = place.turn_id.clone().unwrap_or_default();
        emitter.add_as(&format!("{turn}:usage"), &place, of_turn);
        self.say_spent(emitter, now);
    }

    /// Says what the session used, where that is another than before.
    fn say_spent(&mut self, emitter: &mut Emitter, now: Usage) -> bool {
        let now = Usage {
            scope: "session".to_owned(),
            cumulative: Some(true),
            ..now
        };
        if now == self.spent.said {
            return false;
        }
        self.spent.said.clone_from(&now);
        let place = self.quiet_place();
        emitter.add("usage", &place, now);
        true
    }
}
