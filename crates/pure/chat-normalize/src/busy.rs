//! Whether a session works or rests: told in one place, from the turns that begin and end.
//!
//! | what comes | said |
//! |---|---|
//! | the first open turn | `busy` |
//! | the last open turn ends, nothing runs in the background | `idle`, once |
//! | something begins to run in the background | `busy`, where it is not |
//! | what ran in the background ended, no turn is open | `idle`, once |
//! | the session ends, no turn is open | `idle`, once, whatever ran in the background |
//! | the provider is asked again | `retrying`; `busy` when an answer comes |
//! | a quiet period in a source that does not say when turns end, nor that more comes | `idle` with `guessed`; `busy` when work comes |
//!
//! The end of the program says nothing more where a session that was busy then had its turns closed first; `idle` where
//! it worked outside of turns, as a damaged source may tell.

use std::collections::BTreeSet;

use chat_event::Payload;
use chat_event::payload::SessionStatus;

use crate::emit::{Emitter, Place};
use crate::error_words;

/// What is known of it.
#[derive(Debug, Default)]
pub(crate) struct Busy {
    /// Turns of the main agent that began and did not end.
    turns: BTreeSet<String>,
    is_busy: bool,
    retrying: bool,
    background: bool,
    /// The source told that more comes, however long that takes.
    goes_on: bool,
}

impl Busy {
    /// What is to be said before an event.
    pub(crate) fn before(&mut self, payload: &Payload, place: &Place) -> Option<&'static str> {
        if matches!(payload, Payload::SessionEnd(_)) {
            self.background = false;
            return self.rest();
        }
        let works = payload.is_agents_work();
        let in_turn = place
            .turn_id
            .as_ref()
            .is_some_and(|turn| self.turns.contains(turn));
        if works && (self.retrying || (!self.is_busy && in_turn)) {
            self.retrying = false;
            self.is_busy = true;
            return Some("busy");
        }
        None
    }

    /// What is to be said after an event.
    pub(crate) fn after(&mut self, payload: &Payload, place: &Place) -> Option<&'static str> {
        match payload {
            Payload::TurnStart(_) if place.parent_tool_call_id.is_none() => {
                self.turns.insert(place.turn_id.clone().unwrap_or_default());
                if !self.is_busy {
                    self.is_busy = true;
                    return Some("busy");
                }
            }
            Payload::TurnEnd(_) if place.parent_tool_call_id.is_none() => {
                let turn = place.turn_id.as_deref().unwrap_or_default();
                if self.turns.remove(turn) {
                    return self.rest();
                }
            }
            _ => {}
        }
        None
    }

    /// Whether a turn of the main agent is open.
    pub(crate) fn in_turn(&self) -> bool {
        !self.turns.is_empty()
    }

    fn rest(&mut self) -> Option<&'static str> {
        if !self.is_busy || self.background || !self.turns.is_empty() {
            return None;
        }
        self.is_busy = false;
        self.retrying = false;
        Some("idle")
    }
}

impl Emitter {
    /// Says the status that an event tells.
    pub(crate) fn say_busy(&mut self, status: &'static str, id: &str, place: &Place) {
        self.say_status(&format!("{id}:{status}"), status, place, None, false);
    }

    /// The provider is asked again.
    pub(crate) fn retrying(&mut self, place: &Place, message: Option<String>) {
        self.busy.retrying = true;
        let message = message.map(|said| error_words::words_of(&said).unwrap_or(said));
        let id = format!("{}:status-retrying", self.line_id());
        self.say_status(&id, "retrying", place, message, false);
    }

    /// The provider answers, after it was asked again.
    pub(crate) fn goes_on(&mut self, place: &Place) {
        if std::mem::take(&mut self.busy.retrying) {
            self.busy.is_busy = true;
            let id = format!("{}:status-busy", self.line_id());
            self.say_status(&id, "busy", place, None, false);
        }
    }

    /// Busy with something else than an answer: `message` says with what.
    pub(crate) fn busy_with(&mut self, place: &Place, message: &str) {
        // Also outside of a turn: it rests again at the end.
        self.busy.is_busy = true;
        let id = format!("{}:status-busy", self.line_id());
        self.say_status(&id, "busy", place, Some(message.to_owned()), false);
    }

    /// Whether something runs that outlives its turn.
    pub(crate) fn in_background(&mut self, runs: bool) {
        self.busy.background = runs;
        let wakes = runs && !self.busy.is_busy;
        self.busy.is_busy |= runs;
        let status = wakes.then_some("busy").or_else(|| self.busy.rest());
        if let Some(status) = status {
            let id = format!("{}:status-{status}", self.line_id());
            self.say_status(&id, status, &Place::default(), None, false);
        }
    }

    /// Whether the source told that more comes: then a quiet period is no end.
    pub(crate) fn more_comes(&mut self, comes: bool) {
        self.busy.goes_on = comes;
    }

    /// Nothing came for a while from a source that does not say when turns end.
    pub(crate) fn quiet(&mut self) {
        let runs = self.busy.background || self.busy.goes_on || !self.open_calls.is_empty();
        if self.busy.is_busy && !runs {
            self.busy.is_busy = false;
            let place = Place {
                turn_id: self.busy.turns.last().cloned(),
                ..Place::default()
            };
            let id = format!("{}:quiet", self.line_id());
            self.say_status(&id, "idle", &place, None, true);
        }
    }

    /// The source is over: who worked outside of any turn that is open now rests.
    pub(crate) fn rest_at_end(&mut self) {
        if self.busy.turns.is_empty() && std::mem::take(&mut self.busy.is_busy) {
            let id = format!("{}:status-idle", self.line_id());
            self.say_status(&id, "idle", &Place::default(), None, false);
        }
    }

    fn say_status(
        &mut self,
        id: &str,
        status: &str,
        place: &Place,
        message: Option<String>,
        guessed: bool,
    ) {
        let place = Place {
            turn_id: place.turn_id.clone(),
            ..Place::default()
        };
        let payload = SessionStatus {
            status: status.to_owned(),
            message,
            guessed: guessed.then_some(true),
            ..SessionStatus::default()
        };
        self.add_as(id, &place, payload);
    }
}
