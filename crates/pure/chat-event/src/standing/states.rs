//! What is told of how a session stands: what it does, and how its newest turn ended.

use serde::{Deserialize, Serialize};

use crate::payload::{SessionStatus, TurnEnd};

/// What a session does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// Nothing.
    #[default]
    Idle,
    /// It works.
    Busy,
    /// It works, and asks its provider again.
    Retrying,
    /// It is over.
    Ended,
}
crate::pack_variants!(Status { 0 => Idle, 1 => Busy, 2 => Retrying, 3 => Ended });

impl Status {
    /// `idle`, `busy`, `retrying` or `ended`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Idle => "idle",
            Status::Busy => "busy",
            Status::Retrying => "retrying",
            Status::Ended => "ended",
        }
    }

    pub(super) fn of(status: &SessionStatus) -> Option<Status> {
        match status.status.as_str() {
            "idle" => Some(Status::Idle),
            "busy" => Some(Status::Busy),
            "retrying" => Some(Status::Retrying),
            _ => None,
        }
    }
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// It is done.
    Completed,
    /// It was stopped.
    Interrupted,
    /// It failed.
    Failed,
}
crate::pack_variants!(Outcome { 0 => Completed, 1 => Interrupted, 2 => Failed });

impl Outcome {
    /// `completed`, `interrupted` or `failed`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Completed => "completed",
            Outcome::Interrupted => "interrupted",
            Outcome::Failed => "failed",
        }
    }

    /// How a turn ended by what its end says, and by what was told of it before.
    pub(super) fn at_end(end: &TurnEnd, before: Option<Outcome>) -> Outcome {
        match (end.outcome.as_deref(), before) {
            (Some("interrupted"), _) | (None, Some(Outcome::Interrupted)) => Outcome::Interrupted,
            (Some("failed"), _) | (None, Some(Outcome::Failed)) => Outcome::Failed,
            _ => Outcome::Completed,
        }
    }
}
