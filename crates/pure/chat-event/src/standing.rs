//! What of a session is past: its sources are read one after the other, and the second may tell what was before that which the
//! first told. How the session stands is for its newest turn to say, by the times of the turns.
//!
//! Only a time that is told and is an earlier one makes something past. Clocks stand still, and some sources have none: there
//! the order of the log decides.

use serde::{Deserialize, Serialize};

use crate::ChatEvent;

/// When a session's newest turn began and ended, and when the session did. Times are Unix epoch milliseconds.
///
/// ```
/// use chat_event::Standing;
/// let mut standing = Standing::default();
/// assert!(standing.begins(Some(100)));
/// // Another source tells of the turn before.
/// assert!(!standing.begins(Some(50)));
/// assert!(standing.is_past(Some(60)) && !standing.is_past(Some(110)) && !standing.is_past(None));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Standing {
    began_ms: Option<i64>,
    ended_ms: Option<i64>,
    over_ms: Option<i64>,
    told_ms: Option<i64>,
}
crate::pack_fields!(Standing {
    began_ms,
    ended_ms,
    over_ms,
    told_ms
});

impl Standing {
    /// A turn begins; whether it is the newest one: one that began before it is not.
    pub fn begins(&mut self, at_ms: Option<i64>) -> bool {
        if is_before(at_ms, self.began_ms) {
            return false;
        }
        self.began_ms = at_ms.or(self.began_ms);
        self.ended_ms = None;
        self.over_ms = self.over_ms.filter(|_| is_before(at_ms, self.over_ms));
        true
    }

    /// The newest turn ends, or is stopped.
    pub fn ends(&mut self, at_ms: Option<i64>) {
        self.ended_ms = self.ended_ms.max(at_ms);
    }

    /// The session ends.
    pub fn is_over(&mut self, at_ms: Option<i64>) {
        self.over_ms = self.over_ms.max(at_ms);
    }

    /// What was told to have ended goes on.
    pub fn goes_on(&mut self) {
        (self.ended_ms, self.over_ms) = (None, None);
    }

    /// Whether the newest turn goes on, as far as ends were told with their times.
    pub fn is_open(&self) -> bool {
        self.ended_ms.is_none() && self.over_ms.is_none()
    }

    /// It is told what the session works with, its model or branch; whether that holds: not where it was told of a later time.
    pub fn tells(&mut self, at_ms: Option<i64>) -> bool {
        let holds = !is_before(at_ms, self.told_ms);
        self.told_ms = self.told_ms.max(at_ms);
        holds
    }

    /// Whether what was then is past: before the newest turn began, or before an end.
    pub fn is_past(&self, at_ms: Option<i64>) -> bool {
        is_before(at_ms, self.began_ms.max(self.ended_ms).max(self.over_ms))
    }
}

impl ChatEvent {
    /// A time that the event tells, Unix epoch in milliseconds, but not later than the event came: a clock that is ahead says
    /// nothing of what comes after.
    #[must_use]
    pub fn within_arrival(&self, at_ms: Option<i64>) -> Option<i64> {
        at_ms.map(|at_ms| self.recv.map_or(at_ms, |recv_ms| at_ms.min(recv_ms)))
    }
}

fn is_before(at_ms: Option<i64>, mark_ms: Option<i64>) -> bool {
    at_ms.is_some() && at_ms < mark_ms
}
