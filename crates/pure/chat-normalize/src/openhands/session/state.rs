//! The state that the program says it is in, and stops. How a turn fails is in `failures`.

use chat_event::Extra;
use chat_event::payload::Interrupt;

use super::Session;
use crate::emit::Emitter;

impl Session {
    /// The state that the program says it is in.
    pub(crate) fn state(&mut self, emitter: &mut Emitter, id: &str, state: &str, why: &str) {
        if self.track.parent().is_some() && self.state_of_delegate(emitter, id, state, why) {
            return;
        }
        match state {
            // It is so before a prompt, which is written right behind it, and once more with it.
            "idle" if !self.works => emitter.pass_over("rest before any work"),
            "awaiting_user_input" | "finished" | "idle" => {
                if self.track.turn_id().is_some() {
                    self.outcome = "completed";
                    self.close(emitter);
                }
            }
            "error" | "stuck" => self.failed(emitter, id, state, why),
            "stopped" => {
                self.interrupt(emitter, id);
                self.close(emitter);
            }
            // Calls that wait are given up, or run on when the agent does.
            "paused" => {
                self.interrupt(emitter, id);
                if !self.track.waits() {
                    self.close(emitter);
                }
            }
            "rate_limited" => {
                let why = Some(why.to_owned()).filter(|why| !why.is_empty());
                emitter.retrying(&self.track.place(), why);
            }
            "running" => emitter.goes_on(&self.track.place()),
            "user_confirmed" => self.answer_all(emitter, "allow"),
            "user_rejected" => self.answer_all(emitter, "deny"),
            _ => emitter.pass_over("agent state"),
        }
    }

    /// What a state says of the delegate that works; whether that is all it says.
    fn state_of_delegate(
        &mut self,
        emitter: &mut Emitter,
        id: &str,
        state: &str,
        why: &str,
    ) -> bool {
        match state {
            "finished" | "rejected" => {
                self.delegate_is_done = true;
                emitter.pass_over("state of a delegate");
            }
            // Who is done is closed, which is no stop.
            "stopped" if self.delegate_is_done => emitter.pass_over("state of a delegate"),
            // The agent that it works for goes on. Without a reason an event of its own says why, or its result.
            "error" | "stuck" => {
                self.delegate_is_done = true;
                if why.is_empty() {
                    emitter.pass_over("state of a delegate");
                } else {
                    self.error(emitter, id, state, why);
                    self.has_error = false;
                }
            }
            _ => return false,
        }
        true
    }

    pub(crate) fn interrupt(&mut self, emitter: &mut Emitter, id: &str) {
        if self.track.turn_id().is_none() || self.outcome == "interrupted" && self.stopped {
            return emitter.pass_over("a stop at rest");
        }
        let payload = Interrupt {
            reason: "user_cancel".to_owned(),
            extra: Extra::default(),
        };
        emitter.add_as(&format!("{id}:interrupt"), &self.track.place(), payload);
        self.outcome = "interrupted";
        self.stopped = true;
    }
}
