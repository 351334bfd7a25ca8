//! Tokens and cost of a session, from figures of any scope, none counted twice.
//!
//! What a session says of itself counts; else what its turns say, and for a turn that says nothing its responses.

use std::collections::BTreeMap;

use chat_event::pack::{Pack, Packer, Unpacker};
use chat_event::payload::Usage;
use chat_event::{Figures as _, SessionRuns};
use serde::Serialize;

/// Turns are kept apart while they may still change; older ones are one figure.
const OPEN_TURNS: usize = 4096;

/// So many responses of a turn may be told of in turns: more sub-agents seldom work at a time.
const OPEN_RESPONSES: usize = 16;

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

/// Tokens, and cost where it is told.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    tokens: Option<TokenCounts>,
    cost_usd: Option<f64>,
}
chat_event::pack_fields!(Figures { tokens, cost_usd });

impl Figures {
    fn of(usage: &Usage) -> Self {
        Figures {
            tokens: usage.tells_tokens().then(|| TokenCounts::of(usage)),
            cost_usd: usage.cost_usd,
        }
    }

    /// These figures without what `other` says, where no later word came in its place.
    fn without(self, other: Self) -> Self {
        let merged = other.or(self);
        if (merged.tokens, merged.cost_usd) != (self.tokens, self.cost_usd) {
            return self;
        }
        Figures {
            tokens: self.tokens.filter(|_| other.tokens.is_none()),
            cost_usd: self.cost_usd.filter(|_| other.cost_usd.is_none()),
        }
    }

    /// This sum, less `other` that went into it.
    fn minus(self, other: Self) -> Self {
        let less = |tokens: TokenCounts| tokens.minus(other.tokens.unwrap_or_default());
        Figures {
            tokens: (self.tokens.map(less)).filter(|left| *left != TokenCounts::default()),
            cost_usd: (self.cost_usd).map(|cost| (cost - other.cost_usd.unwrap_or(0.0)).max(0.0)),
        }
    }

    /// Sums of money have noise in their last digits, which would make equal sessions differ.
    fn cost_usd(self) -> Option<f64> {
        let cost = self.cost_usd.filter(|cost| cost.is_finite())?;
        Some((cost * 1e9).round() / 1e9)
    }
}

impl chat_event::Figures for Figures {
    fn tokens(&self) -> Option<u64> {
        self.tokens.map(TokenCounts::fresh)
    }

    fn cost_usd(&self) -> Option<f64> {
        self.cost_usd
    }

    fn plus(self, other: Self) -> Self {
        Figures {
            tokens: match (self.tokens, other.tokens) {
                (Some(left), Some(right)) => Some(left.plus(right)),
                (left, right) => left.or(right),
            },
            cost_usd: match (self.cost_usd, other.cost_usd) {
                (Some(left), Some(right)) => Some(left + right),
                (left, right) => left.or(right),
            },
        }
    }

    fn or(self, other: Self) -> Self {
        Figures {
            tokens: self.tokens.or(other.tokens),
            cost_usd: self.cost_usd.or(other.cost_usd),
        }
    }
}

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
            None => self.responses = self.responses.minus(figures),
        }
    }

    /// Tokens and cost.
    pub(crate) fn spent(&self) -> (Option<TokenCounts>, Option<f64>) {
        let figures = self.figures();
        (figures.tokens, figures.cost_usd())
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

/// One thing that is said of what was used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UsageNote {
    pub(crate) turn: u64,
    said: Said,
    figures: Figures,
    /// It was said before, and does not hold.
    taken_back: bool,
}
chat_event::pack_fields!(UsageNote {
    turn,
    said,
    figures,
    taken_back
});

#[derive(Clone, Copy, Debug)]
enum Said {
    OfSession {
        cumulative: bool,
        at_ms: Option<i64>,
    },
    OfTurn,
    OfResponse(Option<u64>),
    AtEnd,
    /// Of a sub-agent's own session: its responses are told, too, and the session's figures count them.
    OfAgent,
}
chat_event::pack_variants!(Said { 0 => OfSession { cumulative, at_ms }, 1 => OfTurn, 2 => OfResponse(response), 3 => AtEnd, 4 => OfAgent });

impl UsageNote {
    /// What a `usage` event says; `response` names its response, `nested` says that a sub-agent used it, `at_ms` when.
    pub(crate) fn of(
        turn: u64,
        response: Option<u64>,
        nested: bool,
        usage: &Usage,
        at_ms: Option<i64>,
    ) -> UsageNote {
        let said = match usage.scope.as_str() {
            "session" if nested => Said::OfAgent,
            "session" => Said::OfSession {
                cumulative: usage.cumulative != Some(false),
                at_ms,
            },
            "turn" if !nested => Said::OfTurn,
            _ => Said::OfResponse(response),
        };
        UsageNote {
            turn,
            said,
            figures: Figures::of(usage),
            taken_back: false,
        }
    }

    /// What a `usage` event says of the sub-agent that it comes from: `agent` stands in the place of a turn, and what is said
    /// of its session is what the turn says of itself.
    pub(crate) fn of_agent(agent: u64, response: Option<u64>, usage: &Usage) -> UsageNote {
        let note = UsageNote::of(agent, response, true, usage, None);
        UsageNote {
            said: match note.said {
                Said::OfAgent => Said::OfTurn,
                said => said,
            },
            ..note
        }
    }

    /// That this was taken back.
    pub(crate) fn taken_back(self) -> UsageNote {
        UsageNote {
            taken_back: true,
            ..self
        }
    }

    /// What a `turn_end` says.
    pub(crate) fn at_end(turn: u64, usage: Option<&Usage>, cost_usd: Option<f64>) -> UsageNote {
        let told = usage.map_or_else(Figures::default, Figures::of);
        UsageNote {
            turn,
            said: Said::AtEnd,
            figures: Figures {
                cost_usd: cost_usd.or(told.cost_usd),
                ..told
            },
            taken_back: false,
        }
    }
}

/// What the newest `usage` events said, by hashes of their ids: it may be taken back.
#[derive(Clone, Debug)]
pub(crate) struct NewestUsage<N>(Vec<(u64, N)>);

/// So many are kept at least, and twice as many at most.
const NEWEST_USAGE: usize = 512;

impl<N> Default for NewestUsage<N> {
    fn default() -> Self {
        NewestUsage(Vec::new())
    }
}

impl<N> NewestUsage<N> {
    /// Notes what an event said.
    pub(crate) fn note(&mut self, id_hash: u64, note: N) {
        if self.0.len() == 2 * NEWEST_USAGE {
            self.0.drain(..NEWEST_USAGE);
        }
        self.0.push((id_hash, note));
    }

    /// What an event said that is taken back.
    pub(crate) fn take_back(&mut self, id_hash: u64) -> Option<N> {
        let at = self.0.iter().rposition(|(known, _)| *known == id_hash)?;
        Some(self.0.remove(at).1)
    }
}

impl<N: Pack> Pack for NewestUsage<N> {
    fn pack(&self, out: &mut Packer) {
        self.0.pack(out);
    }

    fn unpack(input: &mut Unpacker<'_>) -> Self {
        NewestUsage(Pack::unpack(input))
    }
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
        self.figures().cost_usd()
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
