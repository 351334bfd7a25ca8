//! What models used, told with each answer or as sums of all.

use chat_event::payload::Usage;
use serde_json::{Map, Value, json};

use super::Session;
use crate::emit::{Emitter, hash};
use crate::value::{amount_of, count_of, text_of};

impl Session {
    /// The tokens of a completion, once; those from and to the cache are counted within `prompt_tokens`.
    pub(crate) fn completion(&mut self, emitter: &mut Emitter, response: &str, completion: &Value) {
        let Some(usage) = completion.get("usage").filter(|usage| usage.is_object()) else {
            return;
        };
        if !self.counted.insert(hash(response.as_bytes())) {
            return;
        }
        self.model(emitter, text_of(completion, "model"));
        let details = usage.get("prompt_tokens_details").unwrap_or(&Value::Null);
        let read = count_of(usage, "cache_read_input_tokens")
            .or_else(|| count_of(details, "cached_tokens"));
        let written = count_of(usage, "cache_creation_input_tokens");
        let prompt = count_of(usage, "prompt_tokens").unwrap_or(0);
        let cached = read.unwrap_or(0).saturating_add(written.unwrap_or(0));
        let payload = Usage {
            scope: "response".to_owned(),
            input_tokens: prompt.saturating_sub(cached),
            output_tokens: count_of(usage, "completion_tokens").unwrap_or(0),
            cache_read_tokens: read,
            cache_write_tokens: written,
            context_used: count_of(usage, "total_tokens"),
            model: text_of(completion, "model").map(str::to_owned),
            ..Usage::default()
        };
        let place = self.track.place().in_response(response);
        emitter.add_as(&format!("{response}:usage"), &place, payload);
    }

    /// The sums of the session so far, or of a task; they are told when the turn ends.
    pub(crate) fn metrics(&mut self, scope: &str, metrics: &Value) {
        let tokens = metrics
            .get("accumulated_token_usage")
            .unwrap_or(&Value::Null);
        let read = count_of(tokens, "cache_read_tokens");
        let written = count_of(tokens, "cache_write_tokens");
        let prompt = count_of(tokens, "prompt_tokens").unwrap_or(0);
        let cached = read.unwrap_or(0).saturating_add(written.unwrap_or(0));
        let cost_usd = amount_of(metrics, "accumulated_cost");
        if cost_usd.is_none() && tokens.is_null() {
            return;
        }
        self.spent = Some(Usage {
            scope: scope.to_owned(),
            cumulative: (scope == "session").then_some(true),
            input_tokens: prompt.saturating_sub(cached),
            output_tokens: count_of(tokens, "completion_tokens").unwrap_or(0),
            cache_read_tokens: read,
            cache_write_tokens: written,
            reasoning_tokens: count_of(tokens, "reasoning_tokens"),
            context_size: count_of(tokens, "context_window").filter(|size| *size > 0),
            cost_usd,
            ..Usage::default()
        });
    }

    /// The sums of all models and agents, by what they are used for.
    pub(crate) fn sums(&mut self, stats: &Value) {
        let by_use = stats.get("usage_to_metrics").and_then(Value::as_object);
        let Some(by_use) = by_use else { return };
        let mut sums = Map::new();
        for metrics in by_use.values() {
            let tokens = metrics.get("accumulated_token_usage");
            let tokens = tokens.and_then(Value::as_object).into_iter().flatten();
            for (name, n) in tokens.filter(|(name, _)| !matches!(&***name, "context_window")) {
                let Some(n) = n.as_u64() else { continue };
                let sum = sums.get(name).and_then(Value::as_u64).unwrap_or(0);
                sums.insert(name.clone(), sum.saturating_add(n).into());
            }
        }
        let costs = by_use.values();
        let costs = costs.filter_map(|metrics| amount_of(metrics, "accumulated_cost"));
        let cost = costs.sum::<f64>();
        let cost = Some(cost).filter(|cost| *cost > 0.0);
        let is_none = sums.values().all(|sum| sum.as_u64() == Some(0));
        if is_none && cost.is_none() {
            return;
        }
        self.metrics(
            "session",
            &json!({"accumulated_token_usage": sums, "accumulated_cost": cost}),
        );
    }

    /// Tells the sums at the end of the turn, where they were not told before.
    pub(super) fn tell_spent(&mut self, emitter: &mut Emitter) {
        let place = self.track.place();
        if self.spent != self.told_spent
            && let Some(turn) = &place.turn_id
            && let Some(spent) = self.spent.clone()
        {
            emitter.add_as(&format!("{turn}:spent"), &place, spent);
            self.told_spent.clone_from(&self.spent);
        }
    }

    /// Forgets the sums of the task before.
    pub(crate) fn forget_metrics(&mut self) {
        self.spent = None;
        self.told_spent = None;
    }
}
