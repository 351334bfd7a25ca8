//! What stands beside the rows: changed files, the plan, sub-agents, a timeline of calls, figures, and a row's JSON.
//!
//! Each is a value made from a [`Feed`](crate::Feed) alone, so the feed of an earlier moment gives the panel of that
//! moment. Making one costs a walk over the rows; who shows it decides how often. What it looks like is for the page.

mod agents;
mod files;
mod plan;
mod raw;
mod statistics;
mod timeline;

pub use agents::{AgentRow, AgentState, agent_calls, agents};
pub use files::{
    ChangedFile, EditDiff, FileChange, Files, Sum, TreeRow, TreeRowKind, edits_of, files,
};
pub use plan::{PlanView, plan};
pub use raw::{RawEvent, raw_events};
pub use statistics::{CallCount, Failure, SlowCall, Statistics, TurnFigures, statistics};
pub use timeline::{Bar, Cut, Timeline, TurnBand, timeline};

use crate::block::TurnIdx;

/// What of a session is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// All of it.
    #[default]
    Session,
    /// One turn.
    Turn(TurnIdx),
}

impl Scope {
    /// Whether what belongs to this turn is looked at.
    pub fn holds(self, turn: TurnIdx) -> bool {
        match self {
            Scope::Session => true,
            Scope::Turn(only) => only == turn,
        }
    }
}
