//! The trace of one session: what each event adds to it.
//!
//! Ids are kept as their hashes and texts cut to a line, so that what is kept of open calls and turns is small whatever
//! they are called.
//!
//! What an event tells is in `take`, what goes on now in `running`.

mod asks;
mod lines;
mod running;
mod says;
mod take;
mod tell;
mod tools;
mod turns;

use chat_event::payload::TurnEnd;
use chat_event::{ChatEvent, Payload, Standing};

use super::calls::{Calls, TurnNth};
use super::clean::clean;
use super::line::{LineKind, Severity, Stream, Verbosity};
use super::turns::Turns;
use crate::projections::two_sources::{Told as Asking, TwoSources};
use crate::renderer::Seen;
use crate::retries::Retries;
use crate::tool::ToolStatus;
use asks::{Asks, Name};
use take::place_of;

/// A line before it gets its session and tag.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) stream: Stream,
    pub(super) kind: LineKind,
    pub(super) severity: Severity,
    pub(super) text: String,
}

/// One session that is traced.
#[derive(Debug, Default)]
pub(super) struct SessionTrace {
    verbosity: Verbosity,
    seen: Seen,
    /// How the session stands, as everywhere else.
    standing: Standing,
    /// Nothing more was to come, though the session did not say that it ended: what runs was told as running.
    is_finished: bool,
    turns: Turns,
    calls: Calls,
    asks: Asks,
    two_sources: TwoSources,
    cwd: Option<String>,
    is_cwd_guessed: bool,
    /// What it is doing outside of turns.
    status: Option<String>,
    /// The provider is asked again, in this turn.
    retries: Option<(Option<TurnNth>, Retries)>,
    n_unknown: u64,
    newest_compaction: Option<u64>,
    /// That was taken back for another one, which says more of it.
    is_compacted_anew: bool,
    pub(super) told: Vec<Told>,
}

impl SessionTrace {
    pub(super) fn new(verbosity: Verbosity) -> Self {
        SessionTrace {
            verbosity,
            ..SessionTrace::default()
        }
    }

    /// Takes the next event.
    pub(super) fn push(&mut self, event: &ChatEvent) {
        if event.is_control() || !self.seen.is_new(event) {
            return;
        }
        self.is_finished = false;
        let took = self.standing.take(event);
        let asking = self.two_sources.take(event);
        let event = match &asking {
            Asking::Now(event) => event,
            Asking::Renamed(event) => &**event,
            Asking::Before {
                request_id,
                call_id,
            } => {
                let name = Name::of(event, request_id);
                return self.asked_before(name, call_id.as_deref());
            }
        };
        let turn = self.turn_of(event);
        if let Some(turn) = turn.and_then(|nth| self.turns.get(nth)) {
            turn.last_ms = event.timestamp.or(turn.last_ms);
        }
        if took.works {
            self.turns.works_in(turn);
        }
        self.take(event, turn, took);
        while let Some(call) = self.calls.overflow() {
            self.tell_call(&call);
        }
        while let Some(nth) = self.turns.overflow() {
            self.end_turn(nth, &TurnEnd::default(), None);
        }
    }

    /// Nothing more will come: what runs is told as it stands.
    pub(super) fn finish(&mut self, ended: bool) {
        self.is_finished = !ended;
        self.tell_retries(None);
        let open: Vec<_> = self.turns.open().iter().map(|turn| turn.nth).collect();
        for nth in open {
            let runs = self.calls.running().any(|call| call.turn == Some(nth));
            let waits = self.asks.any_in(nth);
            if !ended && (runs || waits) {
                self.leave_turn(nth, waits);
                continue;
            }
            self.cut_turn(nth);
        }
        let how = match ended {
            true => ToolStatus::NoResult,
            false => ToolStatus::Running,
        };
        for call in self.calls.settle(None, how) {
            self.tell_call(&call);
        }
        self.asks.clear();
        self.status = None;
        if self.n_unknown > 0 && self.verbosity == Verbosity::Normal {
            let n = std::mem::take(&mut self.n_unknown);
            let what = if n == 1 { "record" } else { "records" };
            self.tell(
                LineKind::Notice,
                Severity::Detail,
                format!("[INFO] {n} {what} of a kind that is not known"),
            );
        }
    }

    /// The provider answered, or is asked no more.
    fn tell_retries(&mut self, to_ms: Option<i64>) {
        if let Some((turn, retries)) = self.retries.take() {
            let retried = clean(&retries.words(to_ms));
            self.notable(turn, LineKind::Notice, format!("[INFO] {retried}"));
        }
    }

    /// The turn an event belongs to; one that is not known is opened, one that is over stays so.
    fn turn_of(&mut self, event: &ChatEvent) -> Option<TurnNth> {
        let begins = matches!(
            event.payload,
            Payload::TurnStart(_) | Payload::UserMessage(_) | Payload::UserAudio(_)
        );
        match event.turn_id.as_deref() {
            Some(id) if self.turns.has_ended(id) => None,
            Some(id) => match self.turns.by_id(id) {
                Some(nth) => Some(nth),
                None if matches!(event.payload, Payload::TurnEnd(_)) => None,
                None => Some(self.begin_turn(Some(id), event)),
            },
            None if begins && event.parent_tool_call_id.is_none() => {
                let waits = self.turns.current().is_some_and(|turn| {
                    let starts = matches!(event.payload, Payload::TurnStart(_));
                    !starts && (turn.id.is_some() || !turn.prompted)
                });
                match self.turns.current() {
                    Some(turn) if waits => Some(turn.nth),
                    _ => Some(self.begin_turn(None, event)),
                }
            }
            None => self.turns.current().map(|turn| turn.nth),
        }
    }

    /// Whether an event comes behind the end of the turn that it names.
    fn is_late(&self, event: &ChatEvent) -> bool {
        let turn = event.turn_id.as_deref();
        turn.is_some_and(|id| self.turns.has_ended(id))
    }

    /// Opens a turn. One without a name ends the one without a name before it.
    fn begin_turn(&mut self, id: Option<&str>, event: &ChatEvent) -> TurnNth {
        let before = self.turns.current().filter(|turn| turn.id.is_none());
        if let (None, Some(before)) = (id, before.map(|turn| turn.nth)) {
            self.end_turn(before, &TurnEnd::default(), None);
        }
        self.turns.begin(id, event.timestamp)
    }
}
