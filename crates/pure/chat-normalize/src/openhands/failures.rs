//! How a turn fails: the state says that it did, an event of its own why, in either order.
//!
//! | state | what comes | next |
//! |---|---|---|
//! | turn runs | an error | the turn has an error |
//! | turn runs | a state that fails, with a reason | `error`, the turn ends |
//! | turn has an error | a state that fails, without a reason | the turn ends: it is told why |
//! | turn runs | a state that fails, without a reason | failing: the end waits for one event |
//! | failing | an error | `error`, the turn ends |
//! | failing | another event, a quiet period, the end of the source | `error` in words that fit all, the turn ends |

use chat_event::Extra;
use chat_event::payload::ErrorEvent;

use super::session::Session;
use crate::emit::{Emitter, Line};

/// A turn that failed, and the line that said so.
#[derive(Debug)]
pub(super) struct Failing {
    id: String,
    state: String,
    line: Line,
}

impl Session {
    /// An error, which is told in the turn that fails of it.
    pub(crate) fn error(&mut self, emitter: &mut Emitter, id: &str, code: &str, message: &str) {
        let payload = ErrorEvent {
            code: code.to_owned(),
            message: message.to_owned(),
            extra: Extra::default(),
        };
        emitter.add_as(&format!("{id}:error"), &self.track.place(), payload);
        self.outcome = "failed";
        self.stopped = true;
        self.has_error = true;
        // It is what the end of the turn waited for.
        if self.failing.take().is_some() {
            self.close(emitter);
        }
    }

    /// The state says that the agent failed.
    pub(super) fn failed(&mut self, emitter: &mut Emitter, id: &str, state: &str, why: &str) {
        if !why.is_empty() {
            self.error(emitter, id, state, why);
        } else if !self.has_error {
            self.failing = Some(Failing {
                id: id.to_owned(),
                state: state.to_owned(),
                line: emitter.this_line(),
            });
            return;
        }
        self.outcome = "failed";
        self.close(emitter);
    }

    /// Nothing told why the turn failed, and what comes now does not either.
    pub(crate) fn fail(&mut self, emitter: &mut Emitter) {
        let Some(failing) = self.failing.take() else {
            return;
        };
        let now = emitter.go_to(failing.line);
        self.error(emitter, &failing.id, &failing.state, "the agent failed");
        self.close(emitter);
        emitter.go_to(now);
    }
}
