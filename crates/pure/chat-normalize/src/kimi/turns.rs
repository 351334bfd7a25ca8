//! Turns of Kimi Code: they begin with a prompt and end where a line says so, since protocol 1.5. Before, they end with an answer
//! that wants no tools, or where the user stops them.
//!
//! | state | what comes | next |
//! |---|---|---|
//! | no turn | `turn.prompt`, `turn.steer`; work | turn open |
//! | turn open | `turn.prompt` | closed, as it stands; another is open |
//! | turn open | `prompt.steered`, `turn.steer` | steered: the agent reads it before its next step |
//! | turn open | `turn.step.retrying` | turn open: the model is asked once more |
//! | turn open, 1.5 | `turn.cancel` | `interrupt`; what its step still says is of it |
//! | turn open, 1.5 | `turn.ended` | closed as that says |
//! | steered, 1.4 | an answer that wants no tools | steered, for there is a next step |
//! | steered, 1.4 | `step.begin` | turn open |
//! | turn open, 1.4 | an answer that wants no tools | closed as completed |
//! | turn open, steered, 1.4 | `turn.cancel` | `interrupt`, closed; what its step still says begins no turn |
//!
//! A word that came too late to be read leaves its turn of 1.4 steered to the next prompt, a quiet period or the end. One that
//! 1.5 leaves open, as after a kill, is so until then as well, but for quiet periods: the model may be waited for.

mod known;

use chat_event::Extra;
use chat_event::payload::{ErrorEvent, Interrupt, TurnEnd};
use serde_json::Value;

use super::{Kimi, id_of_turn};
use crate::emit::Emitter;
use crate::track::ended;
use crate::value::{count_of, is_true, str_of, text_of};
pub(super) use known::Turns;

impl Kimi {
    /// `turn.prompt`, or `turn.steer` where nothing runs.
    pub(super) fn prompt(&mut self, emitter: &mut Emitter, line: &Value) {
        self.close(emitter);
        let stem = self.stem(emitter, line);
        let trigger = if is_by_user(line) { "user" } else { "system" };
        self.track.open_turn(emitter, &stem, trigger);
        if let Some(turn_id) = self.track.turn_id() {
            self.turns.begin(turn_id, is_anchor(line));
        }
        self.asked_for(emitter, line);
    }

    /// `turn.steer`: the agent at work reads what it was told. When it does, `context.append_message` says it once more.
    pub(super) fn steer(&mut self, emitter: &mut Emitter, line: &Value) {
        if self.track.turn_id().is_none() {
            return self.prompt(emitter, line);
        }
        self.turns.is_steered = true;
        if text_of(line, "messageId").is_some_and(|id| self.turns.was_said(id)) {
            return emitter.pass_over("a word that was told when it was said");
        }
        self.told_at_work(emitter, line, "input");
    }

    /// `prompt.steered`: the user said something to the agent at work.
    pub(super) fn steered(&mut self, emitter: &mut Emitter, line: &Value) {
        let id = text_of(line, "messageId").filter(|_| self.track.turn_id().is_some());
        let Some(id) = id.filter(|_| line.get("content").is_some_and(Value::is_array)) else {
            return emitter.pass_over("prompt.steered");
        };
        self.turns.is_steered = true;
        if self.turns.said_first(id) {
            self.told_at_work(emitter, line, "content");
        }
    }

    /// `turn.cancel`.
    pub(super) fn cancel(&mut self, emitter: &mut Emitter) {
        let turn_id = self.track.turn_id();
        let Some(turn_id) = turn_id.filter(|_| !self.turns.is_cancelled) else {
            return emitter.pass_over("turn.cancel without a turn");
        };
        let payload = Interrupt {
            reason: "user_cancel".to_owned(),
            extra: Extra::default(),
        };
        let id = format!("{turn_id}:interrupt");
        emitter.add_as(&id, &self.track.place(), payload);
        self.turns.outcome = "interrupted";
        if self.turns.tells_ends {
            self.turns.is_cancelled = true;
            return;
        }
        self.close(emitter);
        self.turns.stopped = Some(self.step.0.clone());
    }

    /// `turn.step.retrying`: a request failed, and comes again after a while.
    pub(super) fn tries_again(&mut self, emitter: &mut Emitter, line: &Value) {
        if self.track.turn_id().is_none() {
            return emitter.pass_over("turn.step.retrying without a turn");
        }
        let nth = count_of(line, "nextAttempt").unwrap_or(0);
        let of = count_of(line, "maxAttempts").unwrap_or(0);
        let words = match text_of(line, "errorMessage") {
            Some(why) => format!("attempt {nth} of {of}: {why}"),
            None => format!("attempt {nth} of {of}"),
        };
        self.turns.outcome = "interrupted";
        emitter.retrying(&self.track.place(), Some(words));
    }

    /// Work of a step: it stands in a turn, unless its own was stopped.
    pub(super) fn work(&mut self, emitter: &mut Emitter, line: &Value, step: Option<&str>) {
        let stopped = &mut self.turns.stopped;
        let is_stopped = stopped.is_some() && stopped.as_deref() == step;
        if !is_stopped {
            *stopped = None;
            let stem = self.stem(emitter, line);
            self.track.need_turn(emitter, &stem);
        }
    }

    /// `step.begin`.
    pub(super) fn step_began(&mut self, native: String) {
        self.turns.native = (native, self.track.turn_id().is_some());
        self.turns.outcome = "interrupted";
        self.turns.is_steered = false;
    }

    /// `step.end`.
    pub(super) fn step_ended(&mut self, emitter: &mut Emitter, event: &Value) {
        let asks_tools = str_of(event, "providerFinishReason") == Some("tool_calls");
        let turns = &mut self.turns;
        match str_of(event, "finishReason") {
            // A step whose tool says that all is done wants no answer, and the turn goes on.
            Some("tool_use") | None => {}
            Some(_) if asks_tools && turns.tells_ends => {}
            _ if self.track.turn_id().is_none() || turns.is_cancelled => {}
            Some("error" | "interrupted") if turns.tells_ends => turns.outcome = "interrupted",
            Some("error") => turns.outcome = "failed",
            Some("interrupted") => turns.outcome = "interrupted",
            Some(_) => {
                turns.outcome = "completed";
                if !turns.is_steered && !turns.tells_ends {
                    self.close(emitter);
                }
            }
        }
    }

    /// `turn.ended`.
    pub(super) fn ended(&mut self, emitter: &mut Emitter, line: &Value) {
        self.turns.tells_ends = true;
        let (native, is_open) = &self.turns.native;
        let id = id_of_turn(line);
        // Of a turn that the user stopped it may come behind the next prompt.
        let is_others = !id.is_empty() && !native.is_empty() && (*native == id) != *is_open;
        if self.track.turn_id().is_none() || is_others {
            return emitter.pass_over("turn.ended of a turn that is over");
        }
        let error = line.get("error").unwrap_or(&Value::Null);
        let message = text_of(error, "message");
        let place = self.track.place();
        self.turns.outcome = match str_of(line, "reason") {
            Some("completed") | None => "completed",
            Some("failed") => {
                let event = ErrorEvent {
                    code: text_of(error, "code").unwrap_or("error").to_owned(),
                    message: message.unwrap_or("the turn failed").to_owned(),
                    extra: Extra::default(),
                };
                emitter.add("error", &place, event);
                "failed"
            }
            Some("blocked") => {
                if let Some(words) = message {
                    emitter.notice("warning", &place, "kimi", words);
                }
                "interrupted"
            }
            Some(_) => "interrupted",
        };
        let end = TurnEnd {
            duration_ms: count_of(line, "durationMs"),
            ..ended(self.turns.outcome)
        };
        self.close_as(emitter, end);
    }

    /// `context.undo`; `context.undone` behind it says it once more.
    pub(super) fn undo(&mut self, emitter: &mut Emitter, line: &Value) {
        let n_turns = count_of(line, "count").unwrap_or(1);
        let n_turns = usize::try_from(n_turns).unwrap_or(usize::MAX);
        let left = self.turns.leave(n_turns);
        emitter.went_back(n_turns.max(left.len()), left);
    }

    /// Nothing came for a while.
    pub(super) fn rest_of_turn(&mut self, emitter: &mut Emitter) {
        // A word that came behind the last answer is read with the next prompt.
        let is_over = matches!(self.turns.outcome, "completed" | "failed");
        if is_over && !self.turns.tells_ends {
            self.close(emitter);
        }
    }

    pub(super) fn close(&mut self, emitter: &mut Emitter) {
        let end = ended(self.turns.outcome);
        self.close_as(emitter, end);
    }

    fn close_as(&mut self, emitter: &mut Emitter, end: TurnEnd) {
        self.expire(emitter);
        self.track.close_turn(emitter, end);
        self.turns.native.1 = false;
        self.turns.outcome = "interrupted";
        self.turns.is_steered = false;
        self.turns.is_cancelled = false;
        self.turns.stopped = None;
    }
}

/// Whether a person wrote it.
pub(super) fn is_by_user(line: &Value) -> bool {
    let origin = line.get("origin");
    origin.is_none_or(|origin| str_of(origin, "kind") == Some("user") || is_by_slash(origin))
}

/// Whether the user called a skill or a plugin by its name.
fn is_by_slash(origin: &Value) -> bool {
    let is_named = matches!(
        str_of(origin, "kind"),
        Some("skill_activation" | "plugin_command")
    );
    is_named && str_of(origin, "trigger") == Some("user-slash")
}

/// Whether the user can go back behind a turn that begins so (`isUndoAnchorOrigin` of the program's source).
fn is_anchor(line: &Value) -> bool {
    let in_turn = |origin: &Value| is_true(origin, "inTurn");
    is_by_user(line) && !line.get("origin").is_some_and(in_turn)
}
