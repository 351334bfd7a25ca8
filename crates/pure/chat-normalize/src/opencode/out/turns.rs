//! Turns as they open and end.
//!
//! A turn of the log is a prompt of the user (`prompts`) and the answers to it (`steps`). When the last of them is over, the
//! session rests (`rests`).

use chat_event::ChatEvent;
use chat_event::payload::TurnEnd;
use serde_json::{Value, json};

use super::OpenCodeOut;
use super::changes::Changes;
use super::rests::Rested;
use super::spent::TurnSpent;

/// Open turns; with more, the oldest is closed.
const MAX_OPEN: usize = 1024;

/// A turn that is open.
#[derive(Debug, Default)]
pub(super) struct Turn {
    pub(super) id: String,
    pub(super) trigger: String,
    /// The message that says what is to be done.
    pub(super) prompt: Option<String>,
    pub(super) prompt_ms: i64,
    /// The prompt was told without parts.
    pub(super) bare: bool,
    pub(super) steps: Vec<u64>,
    pub(super) spent: TurnSpent,
    pub(super) error: Option<Value>,
    pub(super) changes: Changes,
}

impl OpenCodeOut {
    pub(super) fn turn_starts(&mut self, event: &ChatEvent, trigger: &str) {
        if event.parent_tool_call_id.is_some() {
            self.scope(event);
            return;
        }
        self.ensure_session(0);
        let id = event.turn_id.clone().unwrap_or_default();
        let no = match self.turn_no.get(&id) {
            Some(no) => *no,
            None => {
                self.close_implicit();
                self.open_turn(&id, trigger)
            }
        };
        self.implicit.retain(|implicit| *implicit != no);
        if let Some(turn) = self.turns.get(&no)
            && turn.prompt.is_some()
        {
            self.say_busy(0);
        }
    }

    fn open_turn(&mut self, id: &str, trigger: &str) -> u64 {
        if self.turns.len() >= MAX_OPEN
            && let Some((oldest, _)) = self.turns.first_key_value()
        {
            let oldest = *oldest;
            self.implicit.retain(|implicit| *implicit != oldest);
            self.close_turn(oldest, "interrupted");
        }
        self.n_turns += 1;
        let turn = Turn {
            id: id.to_owned(),
            trigger: trigger.to_owned(),
            // A turn that goes on after its end answers the same prompt.
            prompt: self.prompts.get(id).cloned(),
            prompt_ms: self.now_ms,
            ..Turn::default()
        };
        self.turns.insert(self.n_turns, turn);
        self.turn_no.insert(id.to_owned(), self.n_turns);
        self.n_turns
    }

    /// The open turn with this id, or where none is said, the last; one is begun where there is none.
    pub(super) fn turn_for(&mut self, id: Option<&String>) -> u64 {
        if let Some(no) = self.open_turn_of(id) {
            return no;
        }
        let no = self.open_turn(id.map_or("", String::as_str), "user");
        self.implicit.push(no);
        no
    }

    pub(super) fn open_turn_of(&self, id: Option<&String>) -> Option<u64> {
        match id {
            Some(id) => self.turn_no.get(id).copied(),
            None => self.turns.last_key_value().map(|(no, _)| *no),
        }
    }

    pub(super) fn turn_ends(&mut self, event: &ChatEvent, end: &TurnEnd) {
        if event.parent_tool_call_id.is_some() {
            return;
        }
        let Some(no) = self.open_turn_of(event.turn_id.as_ref()) else {
            return;
        };
        self.usage_at_end(no, end);
        self.close_turn(no, end.outcome.as_deref().unwrap_or("completed"));
        self.close_implicit();
        if self.turns.is_empty() && (!self.says_status || std::mem::take(&mut self.idle_waits)) {
            self.rest();
        }
    }

    fn close_turn(&mut self, no: u64, outcome: &str) {
        self.settle_early(no);
        let Some(turn) = self.turns.get_mut(&no) else {
            return;
        };
        let error = match outcome {
            "interrupted" => Some(turn.error.take().unwrap_or_else(
                || json!({"name": "MessageAbortedError", "data": {"message": "Aborted"}}),
            )),
            "failed" => Some(turn.error.take().unwrap_or_else(
                || json!({"name": "UnknownError", "data": {"message": "The turn failed"}}),
            )),
            _ => None,
        };
        if turn.steps.is_empty() && (error.is_some() || turn.prompt.is_none()) {
            // What went wrong is said by an answer.
            if error.is_some() {
                self.new_step(0, no, None);
            } else {
                self.begin(0, no);
            }
        }
        let Some(turn) = self.turns.get_mut(&no) else {
            return;
        };
        let steps = std::mem::take(&mut turn.steps);
        let spare = std::mem::take(&mut turn.spent).spare();
        let last = steps.last().copied();
        if last.is_none() && !spare.is_nothing() {
            self.scopes[0].spent.add(&spare);
            self.leave_out("usage of a turn whose answers were whole");
        }
        for key in steps {
            if Some(key) == last {
                self.last_words(key, &spare, error.clone());
            }
            self.close_step(key, true);
        }
        if self.turns.len() == 1 {
            self.close_agents();
        }
        let Some(turn) = self.turns.remove(&no) else {
            return;
        };
        self.turn_no.remove(&turn.id);
        if self.turns.is_empty() {
            self.forget_calls();
        }
        if let Some(prompt) = turn.prompt {
            self.wait_for_rest(Rested {
                prompt,
                prompt_ms: turn.prompt_ms,
                changes: turn.changes,
            });
        }
    }

    pub(super) fn close_implicit(&mut self) {
        for no in std::mem::take(&mut self.implicit) {
            self.close_turn(no, "completed");
        }
    }

    /// Something went wrong, or was stopped.
    pub(super) fn failed(&mut self, event: &ChatEvent, error: &Value) {
        let scope = self.scope(event);
        self.ensure_session(scope);
        if scope == 0
            && let Some(no) = self.open_turn_of(event.turn_id.as_ref())
        {
            if self
                .turns
                .get(&no)
                .is_some_and(|turn| turn.steps.is_empty())
            {
                self.new_step(0, no, None);
            }
            if let Some(turn) = self.turns.get_mut(&no) {
                turn.error = Some(error.clone());
            }
        }
        let session = self.scopes[scope].id.clone();
        self.tell(
            "session.error",
            json!({"sessionID": session, "error": error}),
        );
    }

    /// Everything is closed; a turn that has no end in the log was interrupted.
    pub(super) fn close_all(&mut self) {
        self.close_implicit();
        while let Some((no, _)) = self.turns.first_key_value() {
            let no = *no;
            self.close_turn(no, "interrupted");
        }
        self.close_agents();
        if !self.scopes.is_empty() {
            self.rest();
        }
    }
}
