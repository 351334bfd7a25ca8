//! What was used: of answers, and of turns, where the log says more of those than of their answers.

use chat_event::ChatEvent;
use chat_event::payload::{TurnEnd, Usage};
use serde_json::Value;

use super::OpenCodeOut;
use super::scopes::Tokens;
use crate::value::{amount_of, count_of, rounded};

/// Tokens, and what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spent {
    pub(super) tokens: Tokens,
    pub(super) cost_usd: f64,
}

/// What a turn used, as far as the log says it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TurnSpent {
    /// The log said what the answers used.
    counted: bool,
    /// What the answers cost, those of sub-agents too.
    answers_usd: f64,
    /// What was said of the turn itself.
    tokens: Option<Tokens>,
    cost_usd: Option<f64>,
    /// By how much the session's figures grew.
    grown: Spent,
}

impl Spent {
    /// As OpenCode says it: what was thought is not among what was written.
    fn of_json(usage: &Value) -> Self {
        let count = |key: &str| count_of(usage, key).unwrap_or(0);
        Spent {
            tokens: Tokens {
                input: count("inputTokens"),
                output: count("outputTokens").saturating_sub(count("reasoningTokens")),
                reasoning: count("reasoningTokens"),
                cache_read: count("cacheReadTokens"),
                cache_write: count("cacheWriteTokens"),
            },
            cost_usd: amount_of(usage, "costUsd").unwrap_or(0.0),
        }
    }

    fn of(usage: &Usage) -> Self {
        let reasoning = usage.reasoning_tokens.unwrap_or(0);
        Spent {
            tokens: Tokens {
                input: usage.input_tokens,
                output: usage.output_tokens.saturating_sub(reasoning),
                reasoning,
                cache_read: usage.cache_read_tokens.unwrap_or(0),
                cache_write: usage.cache_write_tokens.unwrap_or(0),
            },
            cost_usd: usage.cost_usd.unwrap_or(0.0),
        }
    }

    pub(super) fn is_nothing(&self) -> bool {
        *self == Spent::default()
    }

    pub(super) fn add(&mut self, more: &Spent) {
        self.tokens.add(&more.tokens);
        self.cost_usd = rounded(self.cost_usd + more.cost_usd);
    }

    /// What came on top of `before`.
    fn since(&self, before: &Spent) -> Spent {
        let (now, then) = (&self.tokens, &before.tokens);
        Spent {
            tokens: Tokens {
                input: now.input.saturating_sub(then.input),
                output: now.output.saturating_sub(then.output),
                reasoning: now.reasoning.saturating_sub(then.reasoning),
                cache_read: now.cache_read.saturating_sub(then.cache_read),
                cache_write: now.cache_write.saturating_sub(then.cache_write),
            },
            cost_usd: (self.cost_usd - before.cost_usd).max(0.0),
        }
    }
}

impl TurnSpent {
    fn say(&mut self, spent: &Spent) {
        if spent.tokens != Tokens::default() {
            self.tokens = Some(spent.tokens);
        }
        if spent.cost_usd > 0.0 {
            self.cost_usd = Some(spent.cost_usd);
        }
    }

    /// What its answers do not tell.
    pub(super) fn spare(&self) -> Spent {
        let tokens = self.tokens.unwrap_or(self.grown.tokens);
        let cost_usd = self.cost_usd.unwrap_or(self.grown.cost_usd);
        Spent {
            tokens: if self.counted {
                Tokens::default()
            } else {
                tokens
            },
            cost_usd: rounded(cost_usd - self.answers_usd).max(0.0),
        }
    }
}

impl OpenCodeOut {
    /// What was used.
    pub(super) fn usage(&mut self, event: &ChatEvent, usage: &Usage) {
        let scope = self.scope(event);
        let spent = Spent::of(usage);
        if usage.scope == "response" {
            return self.usage_of_answer(event, usage, scope, &spent);
        }
        if scope != 0 {
            return self.leave_out("usage of a sub-agent as a whole");
        }
        let grown = (usage.cumulative == Some(true)).then(|| {
            let before = std::mem::replace(&mut self.counted, spent);
            spent.since(&before)
        });
        let no = self.open_turn_of(event.turn_id.as_ref());
        match (no.and_then(|no| self.turns.get_mut(&no)), grown) {
            (Some(turn), Some(grown)) => turn.spent.grown.add(&grown),
            (Some(turn), None) => turn.spent.say(&spent),
            // What was there before a turn, or is said once more behind it.
            (None, Some(grown)) if grown.is_nothing() => {}
            (None, _) => self.leave_out("usage outside of any turn"),
        }
    }

    fn usage_of_answer(&mut self, event: &ChatEvent, usage: &Usage, scope: usize, spent: &Spent) {
        let of_response = event.response_id.as_ref().and_then(|response| {
            let key = (scope, response.clone());
            self.step_of_response.get(&key).copied()
        });
        let key = of_response.or(self.scopes[scope].step);
        let of_step = key.and_then(|key| self.steps.get(&key).map(|step| step.turn));
        let no = match of_step.filter(|_| scope == 0) {
            Some(no) => Some(no),
            None => self.open_turn_of(event.turn_id.as_ref()),
        };
        if let Some(turn) = no.and_then(|no| self.turns.get_mut(&no)) {
            turn.spent.counted |= scope == 0 && of_step.is_some();
            turn.spent.answers_usd += spent.cost_usd;
        }
        let Some((key, step)) = key.and_then(|key| Some((key, self.steps.get_mut(&key)?))) else {
            self.scopes[scope].spent.add(spent);
            return self.leave_out("usage of an answer that was whole");
        };
        let native = event.id.split(':').next().unwrap_or("");
        step.used(spent, usage.model.as_ref(), native);
        self.close_if_over(key);
    }

    /// What the end of a turn says of it, where nothing else did.
    pub(super) fn usage_at_end(&mut self, turn: u64, end: &TurnEnd) {
        let Some(turn) = self.turns.get_mut(&turn) else {
            return;
        };
        let used = end.usage.as_ref();
        let used = used.map(|usage| Spent::of_json(&usage.to_value()));
        if let Some(used) = used.filter(|_| turn.spent.tokens.is_none()) {
            turn.spent.say(&used);
        }
        turn.spent.cost_usd = end.cost_usd.or(turn.spent.cost_usd);
    }
}
