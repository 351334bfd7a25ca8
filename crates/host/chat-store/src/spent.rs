//! Tokens and cost of a session in a constant space, kept as its events come: for the list.
//!
//! What a session says of itself counts; else what its turns say, and for a turn that says nothing its responses.
//! The newest turns stay open; an older one is a part of the sum.

use std::collections::VecDeque;

use chat_event::SessionRuns;
use chat_event::payload::Usage;
use serde::{Deserialize, Serialize};

use crate::now::kept_name;

/// Figures of a turn come while it runs or with its end; sub-agents of some turns before may still count.
const MOST_TURNS: usize = 8;

/// So many responses of all turns may be told of in turns: more sub-agents seldom work at a time.
const MOST_RESPONSES: usize = 16;

/// All tokens as one number, and cost, where they are told.
type Figures = chat_event::Figures<u64>;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Turn {
    id: String,
    told: Figures,
    responses: Figures,
}

/// A response whose figures may come again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Response {
    turn: String,
    id: String,
    figures: Figures,
}

/// All that is needed to go on counting.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spent {
    /// Runs of the session before one that began to count anew.
    past_runs: Figures,
    session: Figures,
    /// When the session told that.
    session_ms: Option<i64>,
    past_turns: Figures,
    turns: VecDeque<Turn>,
    /// The newest responses of these turns, the last one last.
    newest: Vec<Response>,
}

impl Spent {
    /// Takes a `usage` event of a turn, and of a response where it names one; `is_nested` says that a sub-agent used it.
    pub(crate) fn add(
        &mut self,
        (turn, response): (&str, Option<&str>),
        is_nested: bool,
        usage: &Usage,
        at_ms: Option<i64>,
    ) {
        let figures = Figures::of(usage);
        if usage.scope == "session" {
            // Of a sub-agent's own session its responses are told, too, and the session's figures count them.
            if !is_nested {
                self.add_session(figures, usage.cumulative != Some(false), at_ms);
            }
            return;
        }
        let turn = self.turn(turn);
        if usage.scope == "turn" && !is_nested {
            turn.told = figures.or(turn.told);
            return;
        }
        let Some(response) = response.map(kept_name) else {
            turn.responses = turn.responses.plus(figures);
            return;
        };
        let turn = turn.id.clone();
        let known = |it: &Response| it.id == response && it.turn == turn;
        let figures = match self.newest.iter().rposition(known) {
            Some(at) => figures.or(self.newest.remove(at).figures),
            None => figures,
        };
        if self.newest.len() == MOST_RESPONSES {
            let oldest = self.newest.remove(0);
            self.settle(oldest);
        }
        self.newest.push(Response {
            turn,
            id: response.into_owned(),
            figures,
        });
    }

    /// Takes what a `turn_end` says.
    pub(crate) fn end_turn(&mut self, turn: &str, usage: Option<&Usage>, cost_usd: Option<f64>) {
        let told = usage.map_or_else(Figures::default, Figures::of);
        let cost_usd = cost_usd.or(told.cost_usd);
        let turn = self.turn(turn);
        turn.told = Figures { cost_usd, ..told }.or(turn.told);
    }

    /// Tokens read, also into the cache, and written.
    pub(crate) fn tokens(&self) -> Option<u64> {
        self.figures().tokens
    }

    /// Cost in US dollars, in whole hundredths of a cent.
    pub(crate) fn cost_usd(&self) -> Option<f64> {
        self.figures().cost_in(1e4)
    }

    fn figures(&self) -> Figures {
        let turns = self.turns.iter().map(|turn| self.of_turn(turn));
        let turns = turns.fold(self.past_turns, Figures::plus);
        self.past_runs.plus(self.session).or(turns)
    }

    fn of_turn(&self, turn: &Turn) -> Figures {
        let newest = self.newest.iter().filter(|it| it.turn == turn.id);
        let newest = newest.map(|it| it.figures);
        turn.told.or(newest.fold(turn.responses, Figures::plus))
    }

    fn add_session(&mut self, figures: Figures, is_cumulative: bool, at_ms: Option<i64>) {
        let runs = SessionRuns {
            now: &mut self.session,
            now_ms: &mut self.session_ms,
            past: &mut self.past_runs,
        };
        runs.take(figures, is_cumulative, at_ms);
    }

    /// The response's figures come no more.
    fn settle(&mut self, response: Response) {
        let mut turns = self.turns.iter_mut();
        if let Some(turn) = turns.find(|turn| turn.id == response.turn) {
            turn.responses = turn.responses.plus(response.figures);
        }
    }

    fn turn(&mut self, id: &str) -> &mut Turn {
        let id = kept_name(id);
        let at = self.turns.iter().position(|turn| turn.id == id);
        let at = at.unwrap_or_else(|| {
            if self.turns.len() >= MOST_TURNS
                && let Some(oldest) = self.turns.pop_front()
            {
                self.past_turns = self.past_turns.plus(self.of_turn(&oldest));
                self.newest.retain(|it| it.turn != oldest.id);
            }
            self.turns.push_back(Turn {
                id: id.into_owned(),
                ..Turn::default()
            });
            self.turns.len() - 1
        });
        &mut self.turns[at]
    }
}
