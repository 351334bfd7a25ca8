//! Where a turn is over that no state ends: its events say so only by what does not come behind them.
//!
//! | what comes | behind it | next |
//! |---|---|---|
//! | the result of `finish`, and no other call waits | a hook that says no, work, words of the program | the turn goes on |
//! | a text without a call | the same | the turn goes on |
//! | an error, a pause, and no call waits | the same | the turn goes on |
//! | any of them | a prompt, a state that ends the turn, the end of the source, a quiet period | the turn is over since then |

use super::session::Session;
use crate::emit::Emitter;

impl Session {
    /// The turn is over with this line, unless something goes on in it.
    pub(super) fn may_end(&mut self, emitter: &Emitter) {
        if self.track.turn_id().is_some() && !self.track.waits() {
            self.ends = Some(emitter.this_line());
        }
    }

    /// A call of it has its result: where the agent said that it is done and none waits, the turn is over.
    pub(super) fn end_when_done(&mut self, emitter: &Emitter) {
        if self.track.waits() {
            return;
        }
        if self.is_done {
            self.outcome = "completed";
            self.may_end(emitter);
        } else if self.stopped {
            self.may_end(emitter);
        }
    }

    /// It goes on.
    pub(super) fn goes_on_in_turn(&mut self) {
        if self.ends.take().is_some() {
            self.is_done = false;
        }
    }
}
