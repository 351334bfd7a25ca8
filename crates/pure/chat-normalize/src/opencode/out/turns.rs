//! Turns as OpenCode has them: a prompt of the user, and the answers to it.
//!
//! A turn whose prompt the log does not have gets one without parts, or for what the program began itself, one with a
//! synthetic part. The session is busy once the prompt was told, and rests when the log says so, or where it never says
//! so, when its last turn is over.

use chat_event::ChatEvent;
use chat_event::payload::TurnEnd;
use serde_json::{Value, json};

use super::OpenCodeOut;
use super::changes::Changes;
use super::scopes::Status;
use super::spent::TurnSpent;
use crate::emit::hash;
use crate::value::str_of;

/// Open turns, and turns that wait for the session to rest; with more, the oldest is closed, or told.
const MAX_OPEN: usize = 1024;

/// What waiting turns changed, in bytes; with more, the oldest is told.
const MAX_RESTED_BYTES: usize = 4 * 1024 * 1024;

/// A turn that is open.
#[derive(Debug, Default)]
pub(super) struct Turn {
    id: String,
    trigger: String,
    /// The message that says what is to be done.
    pub(super) prompt: Option<String>,
    prompt_ms: i64,
    /// The prompt was told without parts.
    bare: bool,
    pub(super) steps: Vec<u64>,
    pub(super) spent: TurnSpent,
    pub(super) error: Option<Value>,
    pub(super) changes: Changes,
}

/// What is told of a turn when the session rests.
#[derive(Debug)]
pub(super) struct Rested {
    prompt: String,
    prompt_ms: i64,
    changes: Changes,
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

    /// What the user wrote, or an agent to its sub-agent.
    pub(super) fn prompt(&mut self, event: &ChatEvent, text: &str, attachments: Option<&Value>) {
        let scope = self.scope(event);
        self.ensure_session(scope);
        let native = event.id.split(':').next().unwrap_or("").to_owned();
        let turn_id = event.turn_id.clone().unwrap_or_default();
        let message_id = if scope == 0 {
            let no = match self.open_turn_of(event.turn_id.as_ref()) {
                // Without a turn of its own a prompt is the end of what came before.
                Some(no) if event.turn_id.is_none() && self.implicit.contains(&no) => {
                    self.close_implicit();
                    self.turn_for(None)
                }
                Some(no) => no,
                None => {
                    self.close_implicit();
                    self.turn_for(event.turn_id.as_ref())
                }
            };
            let bare = self.turns.get(&no).and_then(|turn| {
                let prompt = turn.prompt.clone();
                prompt.filter(|_| turn.bare)
            });
            match bare {
                Some(message_id) => message_id,
                None => {
                    let message_id = self.message_id([&native, &turn_id], &event.id);
                    self.set_prompt(no, &message_id);
                    self.tell_prompt(0, &message_id, None);
                    message_id
                }
            }
        } else {
            let message_id = self.message_id([&native, ""], &event.id);
            self.scopes[scope].prompt = Some(message_id.clone());
            self.tell_prompt(scope, &message_id, None);
            message_id
        };
        let mut any = false;
        if !text.is_empty() {
            any = true;
            let part_id = self.ids.mint("prt", self.now_ms, &event.id);
            let part = json!({"type": "text", "text": text});
            self.tell_part(scope, &message_id, &part_id, part);
        }
        for attachment in attachments.and_then(Value::as_array).into_iter().flatten() {
            any = true;
            let part_id = self.ids.mint("prt", self.now_ms, &event.id);
            self.tell_part(scope, &message_id, &part_id, file_part(attachment));
        }
        self.note(scope, &message_id, None);
        if scope == 0
            && let Some(no) = self.open_turn_of(event.turn_id.as_ref())
            && let Some(turn) = self.turns.get_mut(&no)
        {
            turn.bare = !any;
        }
        self.say_busy(scope);
    }

    fn set_prompt(&mut self, no: u64, message_id: &str) {
        let now_ms = self.now_ms;
        if let Some(turn) = self.turns.get_mut(&no) {
            turn.prompt = Some(message_id.to_owned());
            turn.prompt_ms = now_ms;
            turn.bare = true;
            self.prompts.insert(&turn.id, message_id.to_owned());
        }
    }

    fn tell_prompt(&mut self, scope: usize, message_id: &str, changed: Option<(i64, Value)>) {
        let session = self.scopes[scope].id.clone();
        let created_ms = changed.as_ref().map_or(self.now_ms, |(ms, _)| *ms);
        let mut info = json!({
            "id": message_id,
            "role": "user",
            "sessionID": session,
            "time": {"created": created_ms},
            "agent": self.agent(),
            "model": {"providerID": self.provider(), "modelID": self.model()},
        });
        if let Some((_, diffs)) = changed {
            info["summary"] = json!({"diffs": diffs});
        }
        self.tell(
            "message.updated",
            json!({"sessionID": session, "info": info}),
        );
    }

    /// Work begins: the prompt it is for is told where it was not, and that the session is busy.
    pub(super) fn begin(&mut self, scope: usize, turn: u64) -> String {
        self.ensure_session(scope);
        let told = match self.turns.get(&turn).filter(|_| scope == 0) {
            Some(turn) => turn.prompt.clone(),
            None => self.scopes[scope].prompt.clone(),
        };
        let prompt = match told {
            Some(prompt) => prompt,
            None => {
                let (turn_id, own) = match self.turns.get(&turn).filter(|_| scope == 0) {
                    Some(turn) => (turn.id.clone(), turn.trigger != "user"),
                    None => (String::new(), true),
                };
                let seed = format!("{turn_id}:prompt:{}", self.event_id);
                let message_id = self.message_id([&turn_id, ""], &seed);
                self.tell_prompt(scope, &message_id, None);
                if own {
                    let part_id = self.ids.mint("prt", self.now_ms, &seed);
                    let part = json!({"type": "text", "text": "", "synthetic": true});
                    self.tell_part(scope, &message_id, &part_id, part);
                }
                if scope == 0 {
                    self.set_prompt(turn, &message_id);
                } else {
                    self.scopes[scope].prompt = Some(message_id.clone());
                }
                message_id
            }
        };
        self.say_busy(scope);
        prompt
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
            self.rested_bytes += turn.changes.n_bytes();
            self.rested.push_back(Rested {
                prompt,
                prompt_ms: turn.prompt_ms,
                changes: turn.changes,
            });
            while self.rested.len() > MAX_OPEN || self.rested_bytes > MAX_RESTED_BYTES {
                self.tell_rested();
            }
        }
    }

    pub(super) fn close_implicit(&mut self) {
        for no in std::mem::take(&mut self.implicit) {
            self.close_turn(no, "completed");
        }
    }

    /// The session rests: told once, and then what its turns changed.
    fn rest(&mut self) {
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

/// An attachment as a part of a prompt.
pub(super) fn file_part(attachment: &Value) -> Value {
    let media_type = str_of(attachment, "mediaType").unwrap_or("application/octet-stream");
    let url = match str_of(attachment, "data") {
        Some(data) => format!("data:{media_type};base64,{data}"),
        None => str_of(attachment, "ref").unwrap_or("").to_owned(),
    };
    let mut part = json!({"type": "file", "mime": media_type, "url": url});
    if let Some(name) = str_of(attachment, "name") {
        part["filename"] = Value::from(name);
    }
    part
}

/// What tells an answer's block from all others.
pub(super) fn block_key(scope: usize, response: &str, thinking: bool, part: u32) -> u64 {
    hash(format!("{scope}\0{response}\0{thinking}\0{part}").as_bytes())
}
