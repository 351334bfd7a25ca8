//! What is said of what was used: of a session, a turn, a response; and what of it may be taken back.

use chat_event::pack::{Pack, Packer, Unpacker};
use chat_event::payload::Usage;

use super::counts::Figures;

/// One thing that is said of what was used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UsageNote {
    pub(crate) turn: u64,
    pub(super) said: Said,
    pub(super) figures: Figures,
    /// It was said before, and does not hold.
    pub(super) taken_back: bool,
}
chat_event::pack_fields!(UsageNote {
    turn,
    said,
    figures,
    taken_back
});

#[derive(Clone, Copy, Debug)]
pub(super) enum Said {
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
