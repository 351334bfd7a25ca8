//! Tokens and cost.
//!
//! `total_cost_usd` and `modelUsage` count from the session's beginning, over resumed runs too; `usage` of a `result`
//! is that of the turn's main agent, without its sub-agents and without what the program asks beside them. The `usage`
//! on `assistant` lines of a stream is that of `message_start` and is not used.

use std::collections::BTreeMap;

use chat_event::payload::Usage;
use chat_event::{Extra, Json};
use serde_json::Value;

use crate::value::{amount_of, count_of, rounded, str_of, text_of};

/// What was spent when the last turn ended.
#[derive(Debug, Default)]
pub(crate) struct Spent {
    total_cost_usd: Option<f64>,
    total: Option<Sums>,
}

/// Tokens of several models together.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

impl Sums {
    /// Of an object that has the figures of each model by its name.
    fn of(models: &Value) -> Option<Sums> {
        let models = models.as_object()?;
        let sum = |key: &str| {
            models
                .values()
                .filter_map(|model| count_of(model, key))
                .fold(0, u64::saturating_add)
        };
        Some(Sums {
            input: sum("inputTokens"),
            output: sum("outputTokens"),
            cache_read: sum("cacheReadInputTokens"),
            cache_write: sum("cacheCreationInputTokens"),
        })
    }

    /// What came since `before`: all of it where it counts anew, as a run may that was started again.
    fn since(self, before: Sums) -> Sums {
        let less = |now: u64, before: u64| now.checked_sub(before);
        let since = || {
            Some(Sums {
                input: less(self.input, before.input)?,
                output: less(self.output, before.output)?,
                cache_read: less(self.cache_read, before.cache_read)?,
                cache_write: less(self.cache_write, before.cache_write)?,
            })
        };
        since().unwrap_or(self)
    }

    fn total(self) -> u64 {
        [self.input, self.output, self.cache_read, self.cache_write]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    fn usage(self, scope: &str) -> Usage {
        Usage {
            scope: scope.to_owned(),
            input_tokens: self.input,
            output_tokens: self.output,
            cache_read_tokens: Some(self.cache_read),
            cache_write_tokens: Some(self.cache_write),
            ..Usage::default()
        }
    }
}

impl Spent {
    /// The tokens of the turn that `result` ends, those of its sub-agents with them: its cost has them too.
    pub(crate) fn turn_usage(&mut self, result: &Value) -> Option<Usage> {
        let total = result.get("modelUsage").and_then(Sums::of);
        let before = self.total;
        self.total = total.or(before);
        let of_all = result
            .get("model_usage_since_last_result")
            .and_then(Sums::of)
            .or_else(|| Some(total?.since(before.unwrap_or_default())));
        let of_main = result.get("usage").filter(|usage| usage.is_object());
        let of_main = of_main.map(|tokens| usage("turn", tokens, None));
        // A result that was held back is told with the figures of the one before it.
        let more = |sums: &Sums| {
            let known = of_main.as_ref().map_or(0, |usage| {
                [
                    Some(usage.input_tokens),
                    Some(usage.output_tokens),
                    usage.cache_read_tokens,
                    usage.cache_write_tokens,
                ]
                .into_iter()
                .flatten()
                .fold(0, u64::saturating_add)
            });
            sums.total() > known
        };
        of_all
            .filter(more)
            .map(|sums| sums.usage("turn"))
            .or(of_main)
    }

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
        // A sum that fell counts anew.
        let before = before.filter(|before| *before <= total);
        Some(rounded(total - before.unwrap_or(0.0)))
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

/// How many tokens a compaction left in the context, under the name it is told by.
pub(crate) fn tokens_after(about: &Value, key: &str) -> Extra {
    let mut extra = Extra::default();
    if let Some(after) = count_of(about, key) {
        extra.insert("tokensAfter", Json::from(Value::from(after)));
    }
    extra
}

/// The session's sums, from `modelUsage` and `total_cost_usd`.
pub(crate) fn session_usage(result: &Value) -> Option<Usage> {
    let models = result.get("modelUsage").and_then(Value::as_object);
    let cost_usd =
        amount_of(result, "total_cost_usd").or_else(|| amount_of(result, "totalCostUSD"));
    if models.is_none_or(serde_json::Map::is_empty) && cost_usd.is_none() {
        return None;
    }
    let sums = result.get("modelUsage").and_then(Sums::of);
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
        cumulative: Some(true),
        cache_read_tokens: sums.map(|sums| sums.cache_read),
        cache_write_tokens: sums.map(|sums| sums.cache_write),
        context_size: context_size.filter(|size| *size > 0),
        cost_usd,
        model,
        ..sums.unwrap_or_default().usage("session")
    })
}

/// The usage of a transcript's message, put off until no later line of the message can correct it.
///
/// Agents work at the same time, so each has a message of its own that may go on.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// By the agent's chain; the main agent has none.
    of_chains: BTreeMap<Option<Chain>, Waiting>,
}

/// What waits of one message.
#[derive(Debug)]
struct Waiting {
    message_id: String,
    usage: Usage,
    /// The line says why the model stopped: the figures are the message's last.
    is_whole: bool,
    /// Whether they were told when nothing came for a while. They are the message's last, then.
    is_told: bool,
}

/// The call that started a sub-agent, and what the agent is called.
pub(crate) type Chain = (Option<String>, String);

/// What a message used.
#[derive(Debug)]
pub(crate) struct Used {
    /// Whose message it was.
    pub(crate) chain: Option<Chain>,
    pub(crate) message_id: String,
    pub(crate) usage: Usage,
}

impl Pending {
    /// Takes the usage a line repeats; what an earlier message of its chain is left with, once another one begins.
    pub(crate) fn take(&mut self, chain: Option<&Chain>, message: &Value) -> Option<Used> {
        let message_id = text_of(message, "id")?;
        let tokens = message.get("usage").filter(|usage| usage.is_object())?;
        let chain = chain.cloned();
        let mut now = Waiting {
            message_id: message_id.to_owned(),
            usage: usage("response", tokens, str_of(message, "model")),
            is_whole: text_of(message, "stop_reason").is_some(),
            is_told: false,
        };
        if let Some(before) = self.of_chains.get(&chain)
            && before.message_id == message_id
        {
            now.is_told = before.is_told;
        }
        let before = self.of_chains.insert(chain.clone(), now)?;
        (before.message_id != message_id)
            .then(|| before.left(chain))
            .flatten()
    }

    /// Nothing came for a while: what is known of the messages that are whole, and was not told. Figures of one that goes
    /// on would be told twice.
    pub(crate) fn rest(&mut self) -> Vec<Used> {
        let untold = self.of_chains.iter_mut();
        let untold = untold.filter(|(_, waiting)| waiting.is_whole && !waiting.is_told);
        let tell = |(chain, waiting): (&Option<Chain>, &mut Waiting)| {
            waiting.is_told = true;
            Used {
                chain: chain.clone(),
                message_id: waiting.message_id.clone(),
                usage: waiting.usage.clone(),
            }
        };
        untold.map(tell).collect()
    }

    /// What is left of the sub-agents that `call` started, once it is over.
    pub(crate) fn flush_call(&mut self, call: &str) -> Vec<Used> {
        self.flush_where(|chain| chain.is_some_and(|(of, _)| of.as_deref() == Some(call)))
    }

    /// What is left.
    pub(crate) fn flush(&mut self) -> Vec<Used> {
        self.flush_where(|_| true)
    }

    fn flush_where(&mut self, is_over: impl Fn(Option<&Chain>) -> bool) -> Vec<Used> {
        self.of_chains
            .extract_if(.., |chain, _| is_over(chain.as_ref()))
            .filter_map(|(chain, waiting)| waiting.left(chain))
            .collect()
    }
}

impl Waiting {
    /// What is to be told once the message is over.
    fn left(self, chain: Option<Chain>) -> Option<Used> {
        (!self.is_told).then_some(Used {
            chain,
            message_id: self.message_id,
            usage: self.usage,
        })
    }
}
