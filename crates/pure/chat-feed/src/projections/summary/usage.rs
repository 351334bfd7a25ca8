//! Tokens and cost of a session, from figures of any scope, none counted twice.
//!
//! What a session says of itself counts; else what its turns say, and for a turn that says nothing its responses.
//!
//! What is said is a note (`note`), and figures add up in `counts`.

mod counts;
mod note;

use std::collections::BTreeMap;

use chat_event::SessionRuns;
use chat_event::payload::Usage;

pub use counts::TokenCounts;
use counts::{Figures, less};
use note::Said;
pub(crate) use note::{NewestUsage, UsageNote};

/// Turns are kept apart while they may still change; older ones are one figure.
const OPEN_TURNS: usize = 4096;

/// So many responses of a turn may be told of in turns: more sub-agents seldom work at a time.
const OPEN_RESPONSES: usize = 16;

/// In what parts of a dollar cost is told.
const PARTS_OF_DOLLAR: f64 = 1e9;

/// Counts the figures of a turn: what it says of itself, else those of its own and its sub-agents' responses.
#[derive(Clone, Debug, Default)]
pub(crate) struct TurnUsage {
    told: Figures,
    responses: Figures,
    /// The newest responses, whose figures may come again; the last one last. Sub-agents answer side by side.
    newest: Vec<(u64, Figures)>,
}

impl TurnUsage {
    /// Takes what was said of the turn or of one of its responses.
    pub(crate) fn take(&mut self, note: &UsageNote) {
        let figures = note.figures;
        let response = match note.said {
            Said::OfSession { .. } | Said::OfAgent => return,
            Said::OfTurn | Said::AtEnd => {
                self.told = figures.or(self.told);
                return;
            }
            Said::OfResponse(response) => response,
        };
        let Some(response) = response else {
            self.responses = self.responses.plus(figures);
            return;
        };
        let mut newest = self.newest.iter();
        if let Some(at) = newest.rposition(|(known, _)| *known == response) {
            let (_, told) = self.newest.remove(at);
            self.newest.push((response, figures.or(told)));
            return;
        }
        if self.newest.len() == OPEN_RESPONSES {
            let (_, oldest) = self.newest.remove(0);
            self.responses = self.responses.plus(oldest);
        }
        self.newest.push((response, figures));
    }

    /// What was said of the turn or of one of its responses was taken back; what replaced it before stays.
    fn give_back(&mut self, note: &UsageNote) {
        let figures = note.figures;
        let response = match note.said {
            Said::OfSession { .. } | Said::OfAgent => return,
            Said::OfTurn | Said::AtEnd => {
                self.told = self.told.without(figures);
                return;
            }
            Said::OfResponse(response) => response,
        };
        let mut newest = self.newest.iter_mut();
        match newest.find(|(known, _)| Some(*known) == response) {
            Some((_, told)) => *told = told.without(figures),
            None => self.responses = less(self.responses, figures),
        }
    }

    /// Tokens and cost.
    pub(crate) fn spent(&self) -> (Option<TokenCounts>, Option<f64>) {
        let figures = self.figures();
        (figures.tokens, figures.cost_in(PARTS_OF_DOLLAR))
    }

    fn figures(&self) -> Figures {
        let newest = self.newest.iter().map(|(_, figures)| *figures);
        self.told.or(newest.fold(self.responses, Figures::plus))
    }
}

/// Counts the figures of a session as they come.
#[derive(Clone, Debug, Default)]
pub(crate) struct UsageCount {
    /// Of runs of the session before one that began to count anew.
    past_runs: Figures,
    session: Figures,
    /// When the session told that.
    session_ms: Option<i64>,
    past_turns: Figures,
    turns: BTreeMap<u64, TurnUsage>,
    /// The turns in the order they came.
    order: std::collections::VecDeque<u64>,
}

impl UsageCount {
    /// Takes what was said.
    pub(crate) fn take(&mut self, note: &UsageNote) {
        match note.said {
            Said::OfSession { .. } if note.taken_back => {
                self.session = self.session.without(note.figures);
            }
            Said::OfSession { cumulative, at_ms } => {
                self.add_session(note.figures, cumulative, at_ms);
            }
            Said::OfAgent => {}
            _ if note.taken_back => {
                if let Some(turn) = self.turns.get_mut(&note.turn) {
                    turn.give_back(note);
                }
            }
            _ => self.turn(note.turn).take(note),
        }
    }

    /// Takes what a `turn_end` says.
    pub(crate) fn end_turn(&mut self, turn: u64, usage: Option<&Usage>, cost_usd: Option<f64>) {
        self.take(&UsageNote::at_end(turn, usage, cost_usd));
    }

    /// What a turn used; of one that is long past only its sum with others is kept.
    pub(crate) fn of_turn(&self, turn: u64) -> (Option<TokenCounts>, Option<f64>) {
        let turn = self.turns.get(&turn);
        turn.map(TurnUsage::spent).unwrap_or_default()
    }

    pub(crate) fn tokens(&self) -> Option<TokenCounts> {
        self.figures().tokens
    }

    pub(crate) fn cost_usd(&self) -> Option<f64> {
        self.figures().cost_in(PARTS_OF_DOLLAR)
    }

    fn figures(&self) -> Figures {
        let turns = self.turns.values().map(TurnUsage::figures);
        let turns = turns.fold(self.past_turns, Figures::plus);
        self.past_runs.plus(self.session).or(turns)
    }

    fn add_session(&mut self, figures: Figures, is_cumulative: bool, at_ms: Option<i64>) {
        let runs = SessionRuns {
            now: &mut self.session,
            now_ms: &mut self.session_ms,
            past: &mut self.past_runs,
        };
        runs.take(figures, is_cumulative, at_ms);
    }

    fn turn(&mut self, turn: u64) -> &mut TurnUsage {
        if !self.turns.contains_key(&turn) {
            self.order.push_back(turn);
            if self.order.len() > OPEN_TURNS
                && let Some(oldest) = self.order.pop_front()
                && let Some(oldest) = self.turns.remove(&oldest)
            {
                self.past_turns = self.past_turns.plus(oldest.figures());
            }
        }
        self.turns.entry(turn).or_default()
    }
}
