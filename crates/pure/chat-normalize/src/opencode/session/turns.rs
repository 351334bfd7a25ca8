//! The turns of a session: opened, said to be idle, closed with what is open in them.

use std::collections::BTreeSet;

use chat_event::Json;
use chat_event::payload::{TurnEnd, TurnStart};
use serde_json::json;

use super::Session;
use crate::emit::{Emitter, Place};
use crate::value::rounded;

/// A turn that is open.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    pub(crate) id: String,
    /// Opened before its prompt was seen.
    pub(crate) guessed: bool,
    pub(crate) interrupted: bool,
    pub(crate) failed: bool,
    /// An answer to it began.
    pub(crate) heard: bool,
    /// An answer ended on its own, not to call a tool.
    pub(crate) answered: bool,
    /// The session was said to be idle.
    pub(crate) idle: bool,
    /// Answers that are not whole.
    pub(crate) open_messages: BTreeSet<String>,
    pub(crate) spent: Spent,
    /// When its last answer was whole, as a document says.
    pub(crate) last_ms: Option<i64>,
    /// When something came of its answers last.
    pub(crate) worked_ms: i64,
    began_ms: i64,
}

/// Tokens and cost of a turn.
#[derive(Debug, Default)]
pub(crate) struct Spent {
    pub(crate) steps: u64,
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) reasoning: u64,
    pub(crate) cache_read: u64,
    pub(crate) cache_write: u64,
    pub(crate) cost_usd: f64,
}

impl Session {
    /// The open turn with this id.
    pub(crate) fn turn(&mut self, id: Option<&String>) -> Option<&mut Turn> {
        let id = id?;
        self.turns.iter_mut().find(|turn| turn.id == *id)
    }

    /// Opens a turn; its id, made different where it was used before.
    pub(crate) fn open_turn(&mut self, emitter: &mut Emitter, id: &str, trigger: &str) -> String {
        // The number is kept: an id that all turns bear must not be counted through for each.
        let mut n = self.turn_ids.get(id).map_or(1, |n| n + 1);
        let mut turn_id = id.to_owned();
        while n > 1 && {
            turn_id = format!("{id}~{n}");
            self.turn_ids.contains(&turn_id)
        } {
            n += 1;
        }
        *self.turn_ids.entry(id) = n;
        if n > 1 {
            self.turn_ids.insert(&turn_id, 1);
        }
        let turn = Turn {
            id: turn_id.clone(),
            worked_ms: emitter.time_ms,
            began_ms: emitter.time_ms,
            ..Turn::default()
        };
        self.turns.push(turn);
        self.errors.clear();
        let place = Place {
            turn_id: Some(turn_id.clone()),
            ..Place::default()
        };
        let start = TurnStart {
            trigger: trigger.to_owned(),
            ..TurnStart::default()
        };
        emitter.add_as(&format!("{turn_id}:turn"), &place, start);
        turn_id
    }

    /// The session works: said many times in a turn, and before the first answer.
    pub(crate) fn works(&mut self, emitter: &mut Emitter) {
        self.close_idle(emitter);
        if self.turns.is_empty() {
            let id = format!("t-{}", emitter.line_id());
            self.open_turn(emitter, &id, "user");
            if let Some(turn) = self.turns.last_mut() {
                turn.guessed = true;
            }
        } else {
            emitter.goes_on(&self.newest_turn());
        }
    }

    /// Work begins anew after the session was idle: the answers that are not whole will not be.
    pub(super) fn close_idle(&mut self, emitter: &mut Emitter) {
        let n = self.turns.iter().take_while(|turn| turn.idle).count();
        self.close_turns(emitter, n, "completed");
    }

    /// The provider is asked again.
    pub(crate) fn retries(&mut self, emitter: &mut Emitter, message: Option<String>) {
        emitter.retrying(&self.newest_turn(), message);
    }

    fn newest_turn(&self) -> Place {
        Place {
            turn_id: self.turns.last().map(|turn| turn.id.clone()),
            ..Place::default()
        }
    }

    /// The session is idle; `last_word` for the second of the two events that say so.
    pub(crate) fn rests(&mut self, emitter: &mut Emitter, last_word: bool) {
        let waits = |turn: &Turn| !turn.open_messages.is_empty() && !turn.idle;
        if self.turns.iter().any(waits) {
            if last_word {
                for turn in &mut self.turns {
                    turn.idle = true;
                }
            }
            return;
        }
        self.close_turns(emitter, usize::MAX, "completed");
    }

    /// Closes the first `n` open turns; those with nothing against it get `outcome`.
    pub(crate) fn close_turns(&mut self, emitter: &mut Emitter, n: usize, outcome: &str) {
        for _ in 0..n.min(self.turns.len()) {
            self.close_turn(emitter, outcome);
        }
    }

    fn close_turn(&mut self, emitter: &mut Emitter, outcome: &str) {
        let Some(turn) = self.turns.first() else {
            return;
        };
        let id = turn.id.clone();
        let now_ms = emitter.time_ms;
        // An answer was never whole: the program was killed in it, and another one goes on with the session.
        let is_cut =
            outcome == "completed" && (!turn.open_messages.is_empty() || self.runs_call_of(&id));
        if is_cut && self.live {
            emitter.time_ms = turn.worked_ms;
        }
        self.close_parts(emitter, &|place| place.turn_id.as_ref() == Some(&id));
        self.close_calls(emitter, &|call| call.place.turn_id.as_ref() == Some(&id));
        self.asks.expire_turn(emitter, &id);
        let turn = self.turns.remove(0);
        let outcome = if turn.interrupted {
            "interrupted"
        } else if turn.failed {
            "failed"
        } else if is_cut || (!turn.heard && !turn.guessed) {
            // So is a prompt that waited, and that nobody answered.
            "interrupted"
        } else {
            outcome
        };
        if !self.live {
            emitter.time_ms = turn.last_ms.unwrap_or(now_ms);
        }
        let spent = (turn.spent.steps > 0).then(|| turn.spent.to_json());
        let end = TurnEnd {
            usage: spent,
            cost_usd: (turn.spent.steps > 0).then(|| rounded(turn.spent.cost_usd)),
            duration_ms: emitter.since(turn.began_ms),
            outcome: Some(outcome.to_owned()),
            ..TurnEnd::default()
        };
        let place = Place {
            turn_id: Some(id.clone()),
            ..Place::default()
        };
        emitter.add_as(&format!("{id}:end"), &place, end);
        emitter.time_ms = now_ms;
    }

    fn runs_call_of(&self, turn_id: &String) -> bool {
        let mut open = self.open_calls.values().filter_map(|id| self.calls.get(id));
        open.any(|call| {
            call.place.turn_id.as_ref() == Some(turn_id) && call.place.parent_tool_call_id.is_none()
        })
    }

    /// The source ended: everything is closed. Where an answer that calls no more tools was whole, that is no
    /// interruption; nor where the source was written `at_rest`.
    pub(crate) fn close_all(&mut self, emitter: &mut Emitter, at_rest: bool) {
        self.flush_prompt(emitter);
        while let Some(turn) = self.turns.first() {
            let answered = turn.answered || (at_rest && turn.last_ms.is_some());
            let whole = turn.idle || (answered && turn.open_messages.is_empty());
            let outcome = if whole { "completed" } else { "interrupted" };
            self.close_turns(emitter, 1, outcome);
        }
        self.close_parts(emitter, &|_| true);
        self.close_calls(emitter, &|_| true);
    }

    /// Whether a turn waits for more of its answer.
    pub(crate) fn is_cut_off(&self) -> bool {
        let is_whole = |turn: &Turn| turn.answered && turn.open_messages.is_empty();
        self.turns.iter().any(|turn| !turn.idle && !is_whole(turn))
    }
}

impl Spent {
    fn to_json(&self) -> Json {
        Json::from(&json!({
            "scope": "turn",
            "inputTokens": self.input,
            "outputTokens": self.output,
            "cacheReadTokens": self.cache_read,
            "cacheWriteTokens": self.cache_write,
            "reasoningTokens": self.reasoning,
        }))
    }
}
