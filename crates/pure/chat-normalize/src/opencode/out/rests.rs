//! Whether the session works or rests, and what is told when it rests: what each turn changed.
//!
//! It rests when the log says so, or where it never says so, when its last turn is over.

use chat_event::ChatEvent;
use serde_json::json;

use super::OpenCodeOut;
use super::changes::Changes;
use super::scopes::Status;
use super::turns::Turn;

/// Turns that wait for the session to rest; with more, the oldest is told.
const MAX_WAITING: usize = 1024;

/// What waiting turns changed, in bytes; with more, the oldest is told.
const MAX_RESTED_BYTES: usize = 4 * 1024 * 1024;

/// What is told of a turn when the session rests.
#[derive(Debug)]
pub(super) struct Rested {
    pub(super) prompt: String,
    pub(super) prompt_ms: i64,
    pub(super) changes: Changes,
}

impl OpenCodeOut {
    /// A turn is over; what it changed waits for the session to rest.
    pub(super) fn wait_for_rest(&mut self, turn: Rested) {
        self.rested_bytes += turn.changes.n_bytes();
        self.rested.push_back(turn);
        while self.rested.len() > MAX_WAITING || self.rested_bytes > MAX_RESTED_BYTES {
            self.tell_rested();
        }
    }

    /// The session rests: told once, and then what its turns changed.
    pub(super) fn rest(&mut self) {
        if !self.say_idle(0) {
            self.rested.clear();
            self.rested_bytes = 0;
            return;
        }
        self.session_updated(0);
        while !self.rested.is_empty() {
            self.tell_rested();
        }
    }

    /// Tells what the oldest of the turns that are over changed.
    fn tell_rested(&mut self) {
        let Some(turn) = self.rested.pop_front() else {
            return;
        };
        self.rested_bytes -= turn.changes.n_bytes();
        let diffs = turn.changes.to_json();
        let session = self.scopes[0].id.as_str();
        let properties = json!({"sessionID": session, "diff": diffs});
        self.tell("session.diff", properties);
        self.tell_prompt(0, &turn.prompt, Some((turn.prompt_ms, diffs)));
    }

    pub(super) fn says_busy(&mut self) {
        // At the beginning of a turn its prompt comes first.
        let begun = |turn: &Turn| turn.prompt.is_some();
        if self.scopes[0].status == Status::Retry
            || self.turns.values().next_back().is_some_and(begun)
        {
            self.say_busy(0);
        }
    }

    pub(super) fn says_idle(&mut self, guessed: bool) {
        self.close_implicit();
        if self.turns.is_empty() {
            self.rest();
        } else if guessed {
            self.say_idle(0);
        } else {
            self.idle_waits = true;
        }
    }

    pub(super) fn retries(&mut self, event: &ChatEvent, message: Option<&str>) {
        let turn = self.turn_for(event.turn_id.as_ref());
        self.begin(0, turn);
        self.n_retries += 1;
        let message = message.unwrap_or("the provider failed");
        // As OpenCode's own reader says it.
        let said = message
            .strip_prefix("attempt ")
            .and_then(|rest| rest.split_once(" failed: "))
            .and_then(|(n, why)| Some((n.parse::<u64>().ok()?, why)));
        let (attempt, why) = said.unwrap_or((self.n_retries, message));
        self.scopes[0].status = Status::Retry;
        let session = self.scopes[0].id.clone();
        let status =
            json!({"type": "retry", "attempt": attempt, "message": why, "next": self.now_ms});
        self.tell(
            "session.status",
            json!({"sessionID": session, "status": status}),
        );
    }
}
