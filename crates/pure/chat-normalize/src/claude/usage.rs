//! Tokens and cost.
//!
//! `total_cost_usd` and `modelUsage` count from the session's beginning, over resumed runs too; `usage` of a `result`
//! is the turn's. The `usage` on `assistant` lines of a stream is that of `message_start` and is not used.

use chat_event::Extra;
use chat_event::payload::Usage;
use serde_json::Value;

use crate::value::{amount_of, count_of, rounded, str_of};

/// What was spent when the last turn ended.
#[derive(Debug, Default)]
pub(crate) struct Spent {
    total_cost_usd: Option<f64>,
}

impl Spent {
    /// The cost of the turn that `result` ends.
    pub(crate) fn turn_cost(&mut self, result: &Value) -> Option<f64> {
        let total = amount_of(result, "total_cost_usd");
        let before = self.total_cost_usd;
        self.total_cost_usd = total.or(before);
        if let Some(since) = result
            .get("model_usage_since_last_result")
            .and_then(Value::as_object)
        {
            let costs = since
                .values()
                .filter_map(|model| model.get("costUSD").and_then(Value::as_f64));
            return Some(rounded(costs.fold(0.0, |sum, cost| sum + cost)));
        }
        let total = total?;
        Some(rounded((total - before.unwrap_or(0.0)).max(0.0)))
    }
}

/// A provider's usage object as an event.
pub(crate) fn usage(scope: &str, tokens: &Value, model: Option<&str>) -> Usage {
    Usage {
        scope: scope.to_owned(),
        input_tokens: count_of(tokens, "input_tokens").unwrap_or(0),
        output_tokens: count_of(tokens, "output_tokens").unwrap_or(0),
        cache_read_tokens: count_of(tokens, "cache_read_input_tokens"),
        cache_write_tokens: count_of(tokens, "cache_creation_input_tokens"),
        model: model.map(str::to_owned),
        ..Usage::default()
    }
}

/// The session's sums, from `modelUsage` and `total_cost_usd`.
pub(crate) fn session_usage(result: &Value) -> Option<Usage> {
    let models = result.get("modelUsage").and_then(Value::as_object);
    let cost_usd =
        amount_of(result, "total_cost_usd").or_else(|| amount_of(result, "totalCostUSD"));
    if models.is_none_or(serde_json::Map::is_empty) && cost_usd.is_none() {
        return None;
    }
    let sum = |key: &str| {
        models.map(|models| {
            models
                .values()
                .filter_map(|model| count_of(model, key))
                .fold(0, u64::saturating_add)
        })
    };
    let context_size = models.and_then(|models| {
        models
            .values()
            .filter_map(|model| count_of(model, "contextWindow"))
            .max()
    });
    let model = models
        .filter(|models| models.len() == 1)
        .and_then(|models| models.keys().next().cloned());
    Some(Usage {
        scope: "session".to_owned(),
        cumulative: Some(true),
        input_tokens: sum("inputTokens").unwrap_or(0),
        output_tokens: sum("outputTokens").unwrap_or(0),
        cache_read_tokens: sum("cacheReadInputTokens"),
        cache_write_tokens: sum("cacheCreationInputTokens"),
        context_size: context_size.filter(|size| *size > 0),
        cost_usd,
        model,
        extra: Extra::default(),
        ..Usage::default()
    })
}

/// The usage of a transcript's message, put off until no later line of the message can correct it.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    pub(crate) message_id: String,
    pub(crate) usage: Option<Usage>,
}

impl Pending {
    /// Takes the usage a line repeats; what an earlier message is left with, once another one begins.
    pub(crate) fn take(&mut self, message: &Value) -> Option<(String, Usage)> {
        let message_id = str_of(message, "id").unwrap_or("");
        let tokens = message.get("usage").filter(|usage| usage.is_object())?;
        if message_id.is_empty() {
            return None;
        }
        let before = if self.message_id == message_id {
            None
        } else {
            self.flush()
        };
        self.message_id = message_id.to_owned();
        self.usage = Some(usage("response", tokens, str_of(message, "model")));
        before
    }

    /// What is left.
    pub(crate) fn flush(&mut self) -> Option<(String, Usage)> {
        self.usage
            .take()
            .map(|usage| (std::mem::take(&mut self.message_id), usage))
    }
}
