//! What of a session is past: its sources are read one after the other, and the second may tell what was before that which the
//! first told.
//!
//! Only a time that is told and is an earlier one makes something past. Clocks stand still, and some sources have none: there
//! the order of the log decides.

use serde::{Deserialize, Serialize};

/// When a session's newest turn began and ended, and when the session did. Times are Unix epoch milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Times {
    began_ms: Option<i64>,
    ended_ms: Option<i64>,
    over_ms: Option<i64>,
    told_ms: Option<i64>,
    /// The earliest time that a turn was told of.
    first_ms: Option<i64>,
}
crate::pack_fields!(Times {
    began_ms,
    ended_ms,
    over_ms,
    told_ms,
    first_ms
});

impl Times {
    /// Something arrives then. Nothing was told before of what comes after: where it was, the clock was ahead and went back,
    /// and what was told then is no later than this.
    pub(super) fn arrives(&mut self, recv_ms: Option<i64>) {
        let Some(recv_ms) = recv_ms else { return };
        for mark_ms in [
            &mut self.began_ms,
            &mut self.ended_ms,
            &mut self.over_ms,
            &mut self.told_ms,
            &mut self.first_ms,
        ] {
            *mark_ms = mark_ms.map(|mark_ms| mark_ms.min(recv_ms));
        }
    }

    /// A turn begins; whether it is the newest one: one that began before it is not.
    pub(super) fn begins(&mut self, at_ms: Option<i64>) -> bool {
        self.is_told_of_turn(at_ms);
        if is_before(at_ms, self.began_ms) {
            return false;
        }
        self.began_ms = at_ms.or(self.began_ms);
        self.ended_ms = None;
        self.over_ms = self.over_ms.filter(|_| is_before(at_ms, self.over_ms));
        true
    }

    /// There was a turn then.
    pub(super) fn is_told_of_turn(&mut self, at_ms: Option<i64>) {
        if self.first_ms.is_none() || is_before(at_ms, self.first_ms) {
            self.first_ms = at_ms;
        }
    }

    /// The newest turn ends, or is stopped.
    pub(super) fn ends(&mut self, at_ms: Option<i64>) {
        self.ended_ms = self.ended_ms.max(at_ms);
    }

    /// The session ends.
    pub(super) fn is_over(&mut self, at_ms: Option<i64>) {
        self.over_ms = self.over_ms.max(at_ms);
    }

    /// What was told to have ended goes on.
    pub(super) fn goes_on(&mut self) {
        (self.ended_ms, self.over_ms) = (None, None);
    }

    /// Whether the newest turn goes on, as far as ends were told with their times.
    pub(super) fn is_open(&self) -> bool {
        self.ended_ms.is_none() && self.over_ms.is_none()
    }

    /// It is told what the session works with, its model or branch; whether that holds: not where it was told of a later time.
    pub(super) fn tells(&mut self, at_ms: Option<i64>) -> bool {
        let holds = !is_before(at_ms, self.told_ms);
        self.told_ms = self.told_ms.max(at_ms);
        holds
    }

    /// Whether what was then was before the newest turn began, and not before all of them: that is the time of a clock that is
    /// wrong, as one that tells seconds.
    pub(super) fn is_between_turns(&self, at_ms: Option<i64>) -> bool {
        is_before(at_ms, self.began_ms) && !is_before(at_ms, self.first_ms)
    }

    /// Whether what was then is past: before the newest turn began, or before an end.
    pub(super) fn is_past(&self, at_ms: Option<i64>) -> bool {
        is_before(at_ms, self.began_ms.max(self.ended_ms).max(self.over_ms))
    }
}

fn is_before(at_ms: Option<i64>, mark_ms: Option<i64>) -> bool {
    at_ms.is_some() && at_ms < mark_ms
}
