//! Turns of Kimi Code: they begin with a prompt and end with an answer that wants no tools, or where the user stops them.
//!
//! | state | what comes | next |
//! |---|---|---|
//! | no turn | `turn.prompt`, `turn.steer`; work | turn open |
//! | turn open | `turn.prompt` | closed, as it stands; another is open |
//! | turn open | `turn.steer` | steered: the agent reads it before its next step |
//! | steered | an answer that wants no tools | steered, for there is a next step |
//! | steered | `step.begin` | turn open |
//! | turn open | an answer that wants no tools | closed as completed |
//! | turn open, steered | `turn.cancel` | `interrupt`, closed; what its step still says begins no turn |
//! | turn open | `turn.ended` (since protocol 1.5) | closed as that says; there an answer that wants no tools closes none |
//!
//! A word that came too late to be read leaves its turn steered to the next prompt, a quiet period or the end.

use chat_event::Extra;
use chat_event::payload::{ErrorEvent, Interrupt, TurnEnd};
use serde_json::Value;

use super::{FORMAT, Kimi, id_of_turn};
use crate::emit::Emitter;
use crate::track::{Said, ended};
use crate::value::{count_of, list_of, str_of, text_of};

impl Kimi {
    /// `turn.prompt`, or `turn.steer` where nothing runs.
    pub(super) fn prompt(&mut self, emitter: &mut Emitter, line: &Value) {
        self.close(emitter);
        let stem = Self::stem(emitter, line);
        let trigger = if is_by_user(line) { "user" } else { "system" };
        self.track.open_turn(emitter, &stem, trigger);
        self.native_turn.1 = false;
        if let Some(turn_id) = self.track.turn_id() {
            self.standing.begin(turn_id);
        }
        let said = self.said(emitter, line);
        let id = format!("{}:user", self.track.turn_id().unwrap_or(""));
        self.track.user(emitter, &id, said);
    }

    /// `turn.steer`: a word to the agent at work. When it reads it, `context.append_message` says it once more.
    pub(super) fn steer(&mut self, emitter: &mut Emitter, line: &Value) {
        if self.track.turn_id().is_none() {
            return self.prompt(emitter, line);
        }
        self.is_steered = true;
        let said = self.said(emitter, line);
        if is_by_user(line) {
            let id = format!("{}:user", Self::stem(emitter, line));
            self.track.steer(emitter, &id, said);
        } else {
            // Of what runs in the background, for one.
            emitter.notice("info", &self.track.place(), "kimi", said.text);
        }
    }

    /// `turn.cancel`.
    pub(super) fn cancel(&mut self, emitter: &mut Emitter) {
        let Some(turn_id) = self.track.turn_id() else {
            return emitter.pass_over("turn.cancel without a turn");
        };
        let payload = Interrupt {
            reason: "user_cancel".to_owned(),
            extra: Extra::default(),
        };
        let id = format!("{turn_id}:interrupt");
        emitter.add_as(&id, &self.track.place(), payload);
        self.outcome = "interrupted";
        self.close(emitter);
        self.stopped = Some(self.step.0.clone());
    }

    /// Work of a step: it stands in a turn, unless its own was stopped.
    pub(super) fn work(&mut self, emitter: &mut Emitter, line: &Value, step: Option<&str>) {
        let is_stopped = self.stopped.is_some() && self.stopped.as_deref() == step;
        if !is_stopped {
            self.stopped = None;
            let stem = Self::stem(emitter, line);
            self.track.need_turn(emitter, &stem);
        }
    }

    /// An answer that wants no tools.
    pub(super) fn answered(&mut self, emitter: &mut Emitter) {
        if self.track.turn_id().is_none() {
            return;
        }
        self.outcome = "completed";
        if !self.is_steered && !self.tells_ends {
            self.close(emitter);
        }
    }

    /// `turn.ended`.
    pub(super) fn ended(&mut self, emitter: &mut Emitter, line: &Value) {
        self.tells_ends = true;
        let (native, is_open) = &self.native_turn;
        let id = id_of_turn(line);
        // Of a turn that the user stopped it may come behind the next prompt.
        let is_others = !id.is_empty() && !native.is_empty() && (*native == id) != *is_open;
        if self.track.turn_id().is_none() || is_others {
            return emitter.pass_over("turn.ended of a turn that is over");
        }
        self.outcome = match str_of(line, "reason") {
            Some("completed") | None => "completed",
            Some("failed") => {
                let error = line.get("error").unwrap_or(&Value::Null);
                let event = ErrorEvent {
                    code: text_of(error, "code").unwrap_or("error").to_owned(),
                    message: text_of(error, "message")
                        .unwrap_or("the turn failed")
                        .to_owned(),
                    extra: Extra::default(),
                };
                emitter.add("error", &self.track.place(), event);
                "failed"
            }
            Some(_) => "interrupted",
        };
        let end = TurnEnd {
            duration_ms: count_of(line, "durationMs"),
            ..ended(self.outcome)
        };
        self.close_as(emitter, end);
    }

    pub(super) fn close(&mut self, emitter: &mut Emitter) {
        let end = ended(self.outcome);
        self.close_as(emitter, end);
    }

    fn close_as(&mut self, emitter: &mut Emitter, end: TurnEnd) {
        self.expire(emitter);
        self.track.close_turn(emitter, end);
        self.native_turn.1 = false;
        self.outcome = "interrupted";
        self.is_steered = false;
        self.stopped = None;
    }

    /// What a line of the user says.
    fn said(&self, emitter: &mut Emitter, line: &Value) -> Said {
        let mut said = Said::default();
        for part in list_of(line, "input") {
            match str_of(part, "text") {
                Some(text) if said.text.is_empty() => said.text = text.to_owned(),
                Some(text) => {
                    said.text.push('\n');
                    said.text.push_str(text);
                }
                None => emitter.raw(&self.track.place(), FORMAT, "part of a prompt", part),
            }
        }
        said
    }
}

fn is_by_user(line: &Value) -> bool {
    let origin = line.get("origin");
    origin.is_none_or(|origin| str_of(origin, "kind") == Some("user"))
}
