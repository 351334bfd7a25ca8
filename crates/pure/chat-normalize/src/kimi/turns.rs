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
//!
//! A word that came too late to be read leaves its turn steered to the next prompt, a quiet period or the end.

use chat_event::Extra;
use chat_event::payload::Interrupt;
use serde_json::Value;

use super::{FORMAT, Kimi};
use crate::emit::Emitter;
use crate::track::{Said, ended};
use crate::value::{list_of, str_of};

impl Kimi {
    /// `turn.prompt`, or `turn.steer` where nothing runs.
    pub(super) fn prompt(&mut self, emitter: &mut Emitter, line: &Value) {
        self.close(emitter);
        let stem = Self::stem(emitter, line);
        let trigger = if is_by_user(line) { "user" } else { "system" };
        self.track.open_turn(emitter, &stem, trigger);
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
        if !self.is_steered {
            self.close(emitter);
        }
    }

    pub(super) fn close(&mut self, emitter: &mut Emitter) {
        self.track.close_turn(emitter, ended(self.outcome));
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
