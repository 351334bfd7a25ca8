//! Where the turns of a session begin and end.
//!
//! | what comes | what is done |
//! |---|---|
//! | words, with no turn open | one begins |
//! | words with the results of calls, or right behind them | they steer the turn: they waited for these |
//! | other words | the turn is over, as its last message says, and another begins |
//! | the outcome of the turn that is open, or of one that went over into it | it ends so |
//! | any other outcome | nothing: that turn is over, or never began |
//!
//! Words that wait for the turn's end are written behind its last answer, and the outcomes of both turns behind all of it.

use std::collections::VecDeque;

use chat_event::Extra;
use chat_event::payload::ErrorEvent;
use serde_json::Value;

use crate::droid::talk::Talk;
use crate::emit::{Emitter, hash};
use crate::track::{Said, ended};
use crate::value::{str_of, text_of};

/// Words that waited for the results of calls are written with them (seen: 2 ms later); who comes back to a session whose
/// program was killed in between needs longer.
const WAITED_MS: i64 = 1000;

/// So many prompts of turns that went over into the next one are known.
const MOST_ASKED: usize = 64;

/// What is open.
#[derive(Debug)]
pub(super) struct Turns {
    /// How the turn would end now.
    outcome: &'static str,
    /// When the last message was written.
    worked_ms: Option<i64>,
    /// When the results were written that nothing came behind.
    answered_ms: Option<i64>,
    /// What began the turn and steered it, and what began those that went over into it without an outcome: hashes of ids.
    asked: VecDeque<u64>,
    /// Its error was told.
    has_failed: bool,
}

impl Default for Turns {
    fn default() -> Self {
        Turns {
            outcome: "interrupted",
            worked_ms: None,
            answered_ms: None,
            asked: VecDeque::new(),
            has_failed: false,
        }
    }
}

impl Turns {
    /// A message was read that was written then.
    pub(super) fn at(&mut self, time_ms: Option<i64>) {
        self.worked_ms = time_ms.or(self.worked_ms);
    }

    /// Calls were answered.
    pub(super) fn answered(&mut self, at_ms: i64) {
        self.answered_ms = Some(at_ms);
    }

    /// The model answered; `is_last` where nothing in it asks for more.
    pub(super) fn worked(&mut self, is_last: bool) {
        self.answered_ms = None;
        self.outcome = if is_last { "completed" } else { "interrupted" };
    }

    /// The user stopped it.
    pub(super) fn stopped(&mut self) {
        self.outcome = "interrupted";
    }

    /// An error was told.
    pub(super) fn failed(&mut self) {
        self.outcome = "failed";
        self.has_failed = true;
    }

    /// The user said something; `with_results` where the same message answers calls.
    pub(super) fn said(
        &mut self,
        emitter: &mut Emitter,
        talk: &mut Talk,
        id: Option<&str>,
        with_results: bool,
        said: Said,
    ) {
        let has_waited = |at_ms| (0..WAITED_MS).contains(&emitter.time_ms.saturating_sub(at_ms));
        let track = &mut talk.run.track;
        let waited = with_results || (self.answered_ms.is_some_and(has_waited) && !track.waits());
        if waited && track.turn_id().is_some() {
            let event = format!("{}:user", id.unwrap_or(emitter.line_id()));
            track.steer(emitter, &event, said);
        } else {
            self.close(emitter, talk);
            talk.run.ask(emitter, id, said);
        }
        self.ask(id);
    }

    /// The program begins a turn by itself, where none is at work.
    pub(super) fn woken(&mut self, emitter: &mut Emitter, talk: &mut Talk, id: Option<&str>) {
        let at_work = talk.run.track.turn_id().is_some() && self.outcome == "interrupted";
        if !at_work {
            self.close(emitter, talk);
            talk.run.open_turn(emitter, id, "system");
        }
        self.ask(id);
    }

    fn ask(&mut self, id: Option<&str>) {
        self.answered_ms = None;
        if self.asked.len() == MOST_ASKED {
            self.asked.pop_front();
        }
        self.asked.extend(id.map(|id| hash(id.as_bytes())));
    }

    /// The turn is over, since the last message.
    pub(super) fn close(&mut self, emitter: &mut Emitter, talk: &mut Talk) {
        let now_ms = emitter.time_ms;
        emitter.time_ms = self.worked_ms.unwrap_or(now_ms);
        talk.close(emitter, ended(self.outcome));
        emitter.time_ms = now_ms;
        self.begin_anew();
    }

    /// An outcome is told. `resultKind` beside it says of what kind the result is, and nothing of how it ended.
    pub(super) fn ended(&mut self, emitter: &mut Emitter, talk: &mut Talk, line: &Value) {
        if talk.run.track.turn_id().is_none() {
            return emitter.pass_over("agent_turn_outcome without a turn");
        }
        let is_of = |id: &str| self.asked.contains(&hash(id.as_bytes()));
        // Where its beginning was not read, nothing is known that it could be of.
        let is_ours = self.asked.is_empty() || text_of(line, "turnId").is_none_or(is_of);
        if !is_ours {
            return emitter.pass_over("agent_turn_outcome of another turn");
        }
        let reason = str_of(line, "reason");
        let outcome = match reason {
            None => self.outcome,
            Some("completed" | "spec_handoff") => "completed",
            Some("cancelled" | "process_exit") => "interrupted",
            Some(_) => "failed",
        };
        if let Some(reason) = reason.filter(|_| outcome == "failed" && !self.has_failed) {
            let error = ErrorEvent {
                code: reason.to_owned(),
                message: reason.replace('_', " "),
                extra: Extra::default(),
            };
            emitter.add("error", &talk.run.track.place(), error);
        }
        talk.close(emitter, ended(outcome));
        self.begin_anew();
        self.asked.clear();
    }

    fn begin_anew(&mut self) {
        self.outcome = "interrupted";
        self.answered_ms = None;
        self.has_failed = false;
    }
}
