//! Tokens and cost of a session in a constant space, kept as its events come: for the list.
//!
//! What a session says of itself counts; else what its turns say, and for a turn that says nothing its responses.
//! The newest turns stay open; an older one is a part of the sum.

use std::collections::VecDeque;

use chat_event::payload::Usage;
use serde::{Deserialize, Serialize};

use crate::now::kept_name;

/// Figures of a turn come while it runs or with its end; sub-agents of some turns before may still count.
const MOST_TURNS: usize = 8;

/// What was used, where it is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Figures {
    tokens: Option<u64>,
    cost_usd: Option<f64>,
}

impl Figures {
    fn of(usage: &Usage) -> Figures {
        Figures {
            tokens: Some(usage.fresh_tokens()),
            cost_usd: usage.cost_usd,
        }
    }

    fn plus(self, other: Figures) -> Figures {
        Figures {
            tokens: match (self.tokens, other.tokens) {
                (Some(one), Some(other)) => Some(one.saturating_add(other)),
                (one, other) => one.or(other),
            },
            cost_usd: match (self.cost_usd, other.cost_usd) {
                (Some(one), Some(other)) => Some(one + other),
                (one, other) => one.or(other),
            },
        }
    }

    fn or(self, other: Figures) -> Figures {
        Figures {
            tokens: self.tokens.or(other.tokens),
            cost_usd: self.cost_usd.or(other.cost_usd),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Turn {
    id: Option<String>,
    told: Figures,
    responses: Figures,
    /// The newest response, whose figures may come again.
    newest: Option<(String, Figures)>,
}

impl Turn {
    fn figures(&self) -> Figures {
        let newest = self.newest.as_ref().map(|(_, figures)| *figures);
        self.told
            .or(self.responses.plus(newest.unwrap_or_default()))
    }
}

/// All that is needed to go on counting.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spent {
    /// Runs of the session before one that began to count anew.
    past_runs: Figures,
    session: Figures,
    past_turns: Figures,
    turns: VecDeque<Turn>,
}

impl Spent {
    /// Takes a `usage` event; `response` names its response, `is_nested` says that a sub-agent used it.
    pub(crate) fn add(
        &mut self,
        turn: Option<&str>,
        response: Option<&str>,
        is_nested: bool,
        usage: &Usage,
    ) {
        let figures = Figures::of(usage);
        let response = response.map(kept_name);
        if usage.scope == "session" {
            return self.add_session(figures, usage.cumulative != Some(false));
        }
        let turn = self.turn(turn);
        if usage.scope == "turn" && !is_nested {
            turn.told = figures.or(turn.told);
            return;
        }
        match (&mut turn.newest, response) {
            (Some((known, newest)), Some(response)) if *known == response => {
                *newest = figures.or(*newest);
            }
            (newest, response) => {
                let before = newest.take().map(|(_, figures)| figures);
                turn.responses = turn.responses.plus(before.unwrap_or_default());
                match response {
                    Some(response) => *newest = Some((response.into_owned(), figures)),
                    None => turn.responses = turn.responses.plus(figures),
                }
            }
        }
    }

    /// Takes what a `turn_end` says.
    pub(crate) fn end_turn(
        &mut self,
        turn: Option<&str>,
        usage: Option<&Usage>,
        cost_usd: Option<f64>,
    ) {
        let told = usage.map_or_else(Figures::default, Figures::of);
        let cost_usd = cost_usd.or(told.cost_usd);
        let turn = self.turn(turn);
        turn.told = Figures { cost_usd, ..told }.or(turn.told);
    }

    /// Tokens read, also into the cache, and written.
    pub(crate) fn tokens(&self) -> Option<u64> {
        self.figures().tokens
    }

    /// Cost in US dollars, in whole hundredths of a cent: sums of money have noise in their last digits.
    pub(crate) fn cost_usd(&self) -> Option<f64> {
        let cost = self.figures().cost_usd.filter(|cost| cost.is_finite())?;
        Some((cost * 1e4).round() / 1e4)
    }

    fn figures(&self) -> Figures {
        let turns = self.turns.iter().map(Turn::figures);
        let turns = turns.fold(self.past_turns, Figures::plus);
        self.past_runs.plus(self.session).or(turns)
    }

    fn add_session(&mut self, figures: Figures, is_cumulative: bool) {
        // Less than before means that the source began to count anew.
        if !is_cumulative || figures.tokens < self.session.tokens {
            self.past_runs = self.past_runs.plus(self.session);
            self.session = figures;
        } else {
            self.session = figures.or(self.session);
        }
    }

    fn turn(&mut self, id: Option<&str>) -> &mut Turn {
        let id = id.map(kept_name);
        let id = id.as_deref();
        let at = self.turns.iter().position(|turn| turn.id.as_deref() == id);
        let at = at.unwrap_or_else(|| {
            if self.turns.len() >= MOST_TURNS
                && let Some(oldest) = self.turns.pop_front()
            {
                self.past_turns = self.past_turns.plus(oldest.figures());
            }
            self.turns.push_back(Turn {
                id: id.map(str::to_owned),
                ..Turn::default()
            });
            self.turns.len() - 1
        });
        &mut self.turns[at]
    }
}
