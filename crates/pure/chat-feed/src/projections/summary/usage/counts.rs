//! Tokens and cost, as they add up.

use chat_event::Tokens;
use chat_event::payload::Usage;
use serde::Serialize;

/// Tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenCounts {
    /// Read, without those from the cache where the source tells these apart.
    pub input_tokens: u64,
    /// Written.
    pub output_tokens: u64,
    /// Read from the cache.
    pub cache_read_tokens: u64,
    /// Written to the cache.
    pub cache_write_tokens: u64,
    /// Spent on thinking.
    pub reasoning_tokens: u64,
}
chat_event::pack_fields!(TokenCounts {
    input_tokens,
    output_tokens,
    cache_read_tokens,
    cache_write_tokens,
    reasoning_tokens
});

impl TokenCounts {
    fn minus(self, other: Self) -> Self {
        let less = u64::saturating_sub;
        TokenCounts {
            input_tokens: less(self.input_tokens, other.input_tokens),
            output_tokens: less(self.output_tokens, other.output_tokens),
            cache_read_tokens: less(self.cache_read_tokens, other.cache_read_tokens),
            cache_write_tokens: less(self.cache_write_tokens, other.cache_write_tokens),
            reasoning_tokens: less(self.reasoning_tokens, other.reasoning_tokens),
        }
    }

    /// Those that were worked on for the first time, as [`Usage::fresh_tokens`].
    pub fn fresh(self) -> u64 {
        let read = self.input_tokens.saturating_add(self.cache_write_tokens);
        read.saturating_add(self.output_tokens)
    }
}

impl Tokens for TokenCounts {
    fn of(usage: &Usage) -> Self {
        TokenCounts {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cache_read_tokens: usage.cache_read_tokens.unwrap_or(0),
            cache_write_tokens: usage.cache_write_tokens.unwrap_or(0),
            reasoning_tokens: usage.reasoning_tokens.unwrap_or(0),
        }
    }

    fn plus(self, other: Self) -> Self {
        TokenCounts {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cache_read_tokens: self
                .cache_read_tokens
                .saturating_add(other.cache_read_tokens),
            cache_write_tokens: self
                .cache_write_tokens
                .saturating_add(other.cache_write_tokens),
            reasoning_tokens: self.reasoning_tokens.saturating_add(other.reasoning_tokens),
        }
    }

    fn fresh(self) -> u64 {
        self.fresh()
    }
}

/// Tokens of each kind, and cost where it is told.
pub(super) type Figures = chat_event::Figures<TokenCounts>;

/// A sum, less `part` that went into it.
pub(super) fn less(sum: Figures, part: Figures) -> Figures {
    let less = |tokens: TokenCounts| tokens.minus(part.tokens.unwrap_or_default());
    Figures {
        tokens: (sum.tokens.map(less)).filter(|left| *left != TokenCounts::default()),
        cost_usd: (sum.cost_usd).map(|cost| (cost - part.cost_usd.unwrap_or(0.0)).max(0.0)),
    }
}
