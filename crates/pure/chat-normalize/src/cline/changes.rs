//! A task whose file is followed: what changed in messages that were told, and messages that the file has no more.
//!
//! Who follows the file gives new messages as they stand, and these lines of its own ([`TaskLine`](crate::TaskLine)):
//!
//! | line | what it gives |
//! |---|---|
//! | `{"$changed": message}` | what is new in it: more of a text, tokens of a request, an answer |
//! | `{"$left": [message, …]}` | nothing, where the program only tidied up; else the turns that they began were left |
//!
//! Programs tidy up all the time: a message that grew gives way to another form of it, and a task that is resumed loses its
//! last `resume_task` and a request that nothing came of.

use std::collections::{HashSet, VecDeque};

use chat_event::SetBack;
use serde_json::Value;

use super::lines::Message;
use super::task::ClineTask;
use super::turns::usage_of;
use crate::emit::{Emitter, Place};
use crate::set_back::Standing;
use crate::value::is_true;

/// So many responses wait at most for what they cost.
const MAX_UNPRICED: usize = 16;

/// What is known of the task beside what its messages said last.
#[derive(Debug, Default)]
pub(super) struct Sight {
    turns: Standing,
    newest_turn: Option<String>,
    /// Responses that are over and did not say what they cost; the last ones.
    unpriced: VecDeque<(String, Place)>,
    /// The call that is the last message, and asks.
    asks: Option<i64>,
    /// The last message, by its time.
    pub(super) newest_ms: i64,
}

impl Sight {
    /// A message was told, in this turn.
    pub(super) fn note(&mut self, message: &Message<'_>, turn: Option<&str>) {
        if turn.is_some() && turn != self.newest_turn.as_deref() {
            self.newest_turn = turn.map(str::to_owned);
            self.turns.begin(turn.unwrap_or_default());
        }
        self.newest_ms = message.ts;
        match message.kind {
            // These come when they come.
            "checkpoint_created" | "checkpoint_saved" | "hook_status" => {}
            _ => self.asks = Some(message.ts).filter(|_| message.is_ask && !message.grows),
        }
    }

    /// A response is over that did not say what it cost.
    pub(super) fn is_unpriced(&mut self, id: String, place: Place) {
        if self.unpriced.len() >= MAX_UNPRICED {
            self.unpriced.pop_front();
        }
        self.unpriced.push_back((id, place));
    }

    fn take_unpriced(&mut self, id: &str) -> Option<Place> {
        let at = self.unpriced.iter().position(|(it, _)| it == id)?;
        self.unpriced.remove(at).map(|(_, place)| place)
    }
}

impl ClineTask {
    /// A message says something else than it did.
    pub(super) fn changed(&mut self, emitter: &mut Emitter, value: &Value) {
        let Some(message) = Message::of(value) else {
            return emitter.pass_over("a change of what is no message");
        };
        let worked_ms = self.worked_ms;
        emitter.begin_line(Some(&format!("m{}", message.ts)));
        match message.kind {
            _ if self.grows(&message) => return self.tell(emitter, value),
            "api_req_started" => self.request_changed(emitter, &message),
            "followup" | "mistake_limit_reached" if self.is_asked(&message) => {
                self.run.at(emitter, Some(message.ts));
                self.asks(emitter, &message);
            }
            "command_output" | "subagent" | "task_progress" | "user_edit_todos" | "error_retry" => {
                self.run.at(emitter, Some(message.ts));
                self.message(emitter, &message);
            }
            _ if message.is_ask && is_true(value, "isAnswered") => {
                self.calls.allow(emitter, message.ts);
            }
            _ => emitter.pass_over("a change that says nothing"),
        }
        // It says nothing of when the task was worked on last.
        self.run.at(emitter, worked_ms);
        self.worked_ms = worked_ms;
    }

    fn is_asked(&self, message: &Message<'_>) -> bool {
        let id = format!("q{}", message.ts);
        let question = self.question.as_ref();
        question.is_some_and(|question| question.request_id == id)
    }

    /// Whether more of a message was to come when it was told last.
    fn grows(&self, message: &Message<'_>) -> bool {
        let is_held = self.growing.as_ref().and_then(Message::of);
        is_held.is_some_and(|it| it.is_same(message)) || self.speech.grows(message.ts)
    }

    /// A request tells more: what it cost, and where the program runs.
    fn request_changed(&mut self, emitter: &mut Emitter, message: &Message<'_>) {
        let told = message.json();
        let id = format!("r{}", message.ts);
        if self.response.as_ref() == Some(&id) {
            self.run.at(emitter, Some(message.ts));
            self.folder_of(emitter, &told);
            return self.figures(told);
        }
        // It came when the next one had begun.
        if let Some(usage) = usage_of(&told)
            && let Some(place) = self.sight.take_unpriced(&id)
        {
            emitter.add_as(&format!("{id}:usage"), &place, usage);
        }
    }

    /// These messages are in the file no more.
    pub(super) fn left(&mut self, emitter: &mut Emitter, left: &[Value]) {
        let left: Vec<Message<'_>> = left.iter().filter_map(Message::of).collect();
        let is_left = |grown: &mut Value| {
            let grown = Message::of(grown);
            grown.is_some_and(|grown| left.iter().any(|it| it.is_same(&grown)))
        };
        self.growing.take_if(is_left);
        if left.iter().any(|it| self.speech.grows(it.ts)) {
            self.speech.end(emitter);
        }
        let said: Vec<&Message<'_>> = left.iter().filter(|it| !is_tidied(it)).collect();
        let (Some(first), Some(last)) = (said.first(), said.last()) else {
            return emitter.pass_over("messages that were tidied up");
        };
        emitter.begin_line(Some(&format!("m{}-{}", first.ts, last.ts)));
        self.run.at(emitter, None);
        self.close(emitter);
        let turns: Vec<String> = left.iter().map(|it| format!("t{}", it.ts)).collect();
        let turns: HashSet<&String> = turns.iter().collect();
        let told = SetBack {
            left: self.sight.turns.leave_these(&turns),
            ..SetBack::default()
        };
        let text = match said.len() {
            1 => "the task was set back: 1 message was left".to_owned(),
            n => format!("the task was set back: {n} messages were left"),
        };
        emitter.tell_set_back(text, &told);
    }

    /// Nothing comes for a while: a call that asks, and is the last message, waits for a person. Programs that answer for the
    /// person do so at once.
    pub(super) fn rests(&mut self, emitter: &mut Emitter) {
        if let Some(ts) = self.sight.asks.filter(|_| self.growing.is_none()) {
            self.calls.ask(emitter, &self.run.track, ts);
        }
    }
}

/// Whether a message is one that programs take away without anybody going back.
fn is_tidied(message: &Message<'_>) -> bool {
    let is_of_no_words = matches!(
        message.kind,
        "resume_task"
            | "resume_completed_task"
            | "api_req_started"
            | "api_req_retried"
            | "api_req_retry_delayed"
            | "api_req_failed"
            | "reasoning"
            | "checkpoint_created"
            | "checkpoint_saved"
            | "hook_status"
    );
    message.grows || is_of_no_words
}
