//! Tokens: `input_tokens` counts what came from the cache, too, and is written without it, as other providers say it.

use chat_event::payload::Usage;
use serde_json::Value;

use crate::value::count_of;

/// The session's tokens as they were said last: the same figures are not said again.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    last_total: Option<Value>,
    /// Those of the response that was said with it.
    last_response: Option<Value>,
}

/// What a line of tokens says that the one before did not.
#[derive(Debug)]
pub(crate) enum News {
    /// What a response used.
    Response(Usage),
    /// How full the context is now, and no more: it was made shorter.
    Context(Usage),
}

impl Tokens {
    /// Whether `total` is another one than before.
    pub(crate) fn is_news(&mut self, total: Option<&Value>) -> bool {
        let Some(total) = total else {
            return true;
        };
        if self.last_total.as_ref() == Some(total) {
            return false;
        }
        self.last_total = Some(total.clone());
        true
    }

    /// What is new in the session's `total` and its `last` response; `None` where nothing is.
    pub(crate) fn news(
        &mut self,
        total: Option<&Value>,
        last: &Value,
        window: Option<u64>,
        model: Option<String>,
    ) -> Option<News> {
        let is_other = self.last_response.as_ref() != Some(last);
        if is_other {
            self.last_response = Some(last.clone());
        }
        let usage = response_usage(last, window, model);
        if self.is_news(total) {
            return Some(News::Response(usage));
        }
        // Nothing more was used: what else stands there is of a response that was told.
        let is_context = is_other && usage.context_used.is_some();
        is_context.then(|| {
            News::Context(Usage {
                scope: usage.scope,
                context_used: usage.context_used,
                context_size: usage.context_size,
                model: usage.model,
                ..Usage::default()
            })
        })
    }

    /// The session's sum as an event.
    pub(crate) fn session_usage(&self, model: Option<String>) -> Option<Usage> {
        let mut usage = usage("session", self.last_total.as_ref()?, model);
        usage.cumulative = Some(true);
        Some(usage)
    }
}

/// A provider's figures as an event.
pub(crate) fn usage(scope: &str, tokens: &Value, model: Option<String>) -> Usage {
    let count =
        |snake: &str, camel: &str| count_of(tokens, snake).or_else(|| count_of(tokens, camel));
    let cached = count("cached_input_tokens", "cachedInputTokens");
    let written = count("cache_write_input_tokens", "cacheWriteInputTokens");
    // What is read counts both.
    let in_cache = cached.unwrap_or(0).saturating_add(written.unwrap_or(0));
    let input = count("input_tokens", "inputTokens").unwrap_or(0);
    Usage {
        scope: scope.to_owned(),
        input_tokens: input.saturating_sub(in_cache),
        output_tokens: count("output_tokens", "outputTokens").unwrap_or(0),
        cache_read_tokens: cached,
        cache_write_tokens: written,
        reasoning_tokens: count("reasoning_output_tokens", "reasoningOutputTokens"),
        model,
        ..Usage::default()
    }
}

/// What a turn used, between two sums of its thread.
pub(crate) fn between(before: &Value, after: &Value) -> Usage {
    let (before, after) = (usage("turn", before, None), usage("turn", after, None));
    let rest = |after: u64, before: u64| after.saturating_sub(before);
    let rest_of = |after: Option<u64>, before: Option<u64>| {
        after.map(|after| rest(after, before.unwrap_or(0)))
    };
    Usage {
        input_tokens: rest(after.input_tokens, before.input_tokens),
        output_tokens: rest(after.output_tokens, before.output_tokens),
        cache_read_tokens: rest_of(after.cache_read_tokens, before.cache_read_tokens),
        cache_write_tokens: rest_of(after.cache_write_tokens, before.cache_write_tokens),
        reasoning_tokens: rest_of(after.reasoning_tokens, before.reasoning_tokens),
        ..after
    }
}

/// As [`usage`], of one response and with how full the context is after it.
pub(crate) fn response_usage(last: &Value, window: Option<u64>, model: Option<String>) -> Usage {
    Usage {
        context_used: count_of(last, "total_tokens").or_else(|| count_of(last, "totalTokens")),
        context_size: window,
        ..usage("response", last, model)
    }
}
