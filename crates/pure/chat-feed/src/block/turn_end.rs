//! The row at the end of a turn.

use crate::projections::TokenCounts;

/// What a turn took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnEndBlock {
    /// `completed`, `interrupted` or `failed`.
    pub outcome: Option<String>,
    /// Duration in milliseconds.
    pub duration_ms: Option<u64>,
    /// The model that answered last in it.
    pub model: Option<String>,
    /// Tokens, counted as the session's are.
    pub tokens: Option<TokenCounts>,
    /// Cost in US dollars.
    pub cost_usd: Option<f64>,
}

impl TurnEndBlock {
    /// Whether nothing is known of what it took, and nothing went wrong.
    pub fn says_nothing(&self) -> bool {
        let went_on = !matches!(self.outcome.as_deref(), Some("failed" | "interrupted"));
        let n_tokens = self.tokens.map_or(0, |tokens| tokens.fresh());
        let took = self.duration_ms.and_then(crate::units::told_duration);
        went_on
            && took.is_none()
            && n_tokens == 0
            && self.model.is_none()
            && self.cost_usd.is_none()
    }
}

chat_event::pack_fields!(TurnEndBlock {
    outcome,
    duration_ms,
    model,
    tokens,
    cost_usd
});
