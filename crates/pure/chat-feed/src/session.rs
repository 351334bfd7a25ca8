//! The facts of a session, its turns and its responses: what headers and lists show.

use chat_event::Outcome;
use chat_event::payload::Usage;

use crate::block::{BlockId, EventIdx, TurnIdx};

/// What is known of the session as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionFacts {
    /// Its id.
    pub session_id: String,
    /// Its title: its own, else the first line of the first prompt.
    pub title: Option<String>,
    /// The agent's name and version.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The branch.
    pub git_branch: Option<String>,
    /// Which normalizer read it.
    pub provider: Option<String>,
    /// Whether the source has no times of its own.
    pub arrival_times: bool,
    /// How it stands: `busy`, `idle`, `retrying` or `ended`; none before anything was told of it.
    pub status: Option<String>,
    /// How its newest turn ended; none while it goes on. Where the log is at its own end, as far as it got.
    pub outcome: Option<TurnState>,
    /// Why the source ended, once it has.
    pub ended: Option<String>,
    /// The session's usage, where the source counts it.
    pub usage: Option<Usage>,
    /// Time of the earliest event, Unix epoch in milliseconds.
    pub first_ms: Option<i64>,
    /// Time of the latest event.
    pub last_ms: Option<i64>,
    /// How many events the log has lost.
    pub lost_events: u64,
    /// Places where the log could not be read, or has lost events; each is a row ([`BlockBody::is_damage`]).
    ///
    /// [`BlockBody::is_damage`]: crate::BlockBody::is_damage
    pub damaged_places: u64,
    /// The schema the log was written in, where that is newer than [`chat_event::SCHEMA`].
    pub newer_schema: Option<u64>,
    /// How many chunks came after their part was whole, and changed nothing.
    pub late_chunks: u64,
}
chat_event::pack_fields!(SessionFacts {
    session_id,
    title,
    agent,
    model,
    cwd,
    git_branch,
    provider,
    arrival_times,
    status,
    outcome,
    ended,
    usage,
    first_ms,
    last_ms,
    lost_events,
    damaged_places,
    newer_schema,
    late_chunks
});

impl SessionFacts {
    /// Whether it is at work, as the list of sessions says it, too.
    pub fn works(&self) -> bool {
        matches!(self.status.as_deref(), Some("busy" | "retrying"))
    }
}

/// Where a turn stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnState {
    /// It goes on.
    Running,
    /// It is done.
    Completed,
    /// It was stopped.
    Interrupted,
    /// It failed.
    Failed,
}
impl From<Outcome> for TurnState {
    fn from(outcome: Outcome) -> TurnState {
        match outcome {
            Outcome::Completed => TurnState::Completed,
            Outcome::Interrupted => TurnState::Interrupted,
            Outcome::Failed => TurnState::Failed,
        }
    }
}
chat_event::pack_variants!(TurnState { 0 => Running, 1 => Completed, 2 => Interrupted, 3 => Failed });

/// A trigger and all that followed.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// Its id; `None` for what stands outside of turns.
    pub id: Option<Box<str>>,
    /// Its number, from 1; 0 for what stands outside of turns.
    pub number: u32,
    /// `user`, `callback` or `system`; empty where nothing started it.
    pub trigger: Box<str>,
    /// Where it stands.
    pub state: TurnState,
    /// Time of its first event.
    pub started_ms: Option<i64>,
    /// Whether its end was told; one that was left open, because the log is at its own end, shows how far it got.
    pub ended: bool,
    /// Time of its end, where that is known.
    pub ended_ms: Option<i64>,
    /// How long it took, once it is over, in milliseconds.
    pub took_ms: Option<u64>,
    /// Its prompt's row.
    pub prompt: Option<BlockId>,
    /// How many tool calls it made.
    pub steps: u32,
    /// How many file changes it made.
    pub edits: u32,
    /// How many files those were of.
    pub files: u32,
    /// Lines added by them.
    pub lines_added: u32,
    /// Lines removed by them.
    pub lines_removed: u32,
    /// Where the user went back behind it.
    pub undone: Option<Undone>,
}
chat_event::pack_fields!(Turn {
    id,
    number,
    trigger,
    state,
    started_ms,
    ended,
    ended_ms,
    took_ms,
    prompt,
    steps,
    edits,
    files,
    lines_added,
    lines_removed,
    undone
});

impl Turn {
    /// Whether the user went back behind it.
    pub fn is_undone(&self) -> bool {
        self.undone.is_some()
    }

    /// Whether the files that were changed in it were put back.
    pub fn is_put_back(&self) -> bool {
        self.undone.is_some_and(|undone| undone.files_restored)
    }

    /// Whether it began before another one. Without a name it stands where it came.
    pub(crate) fn is_before(&self, other: &Turn) -> bool {
        self.id.is_some() && self.started_ms.is_some() && self.started_ms < other.started_ms
    }
}

/// That the user went back behind a turn: the session goes on without it, and the agent knows no more of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undone {
    /// The row that says so.
    pub by: BlockId,
    /// Whether the agent put back the files that were changed in it; else nothing is told of that.
    pub files_restored: bool,
}
chat_event::pack_fields!(Undone { by, files_restored });

/// One assistant message.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// Its id, where the source has one.
    pub id: Option<Box<str>>,
    /// Its turn.
    pub turn: TurnIdx,
    /// The tool call whose sub-agent wrote it.
    pub parent: Option<BlockId>,
}
chat_event::pack_fields!(Response { id, turn, parent });

/// How full the context window is, as far as it is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextUse {
    /// Tokens in it, as told last; from the newest response where nobody tells.
    pub used: Option<u64>,
    /// Tokens it has room for.
    pub size: Option<u64>,
}
chat_event::pack_fields!(ContextUse { used, size });

/// So many steps of plans are looked through for the newest that holds. Seldom is it not among the last; a log that was made
/// so that it never is must not cost more.
pub(crate) const MOST_STEPS_BACK: usize = 1_000;

/// A step of a plan: what one `plan` event changed.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanStep {
    /// The row of the plan.
    pub block: BlockId,
    /// The tool call whose agent made it; `None` where it is the session's own.
    pub parent: Option<BlockId>,
    /// The turn it was made in.
    pub turn: TurnIdx,
    /// The event.
    pub event: EventIdx,
    /// When, Unix epoch in milliseconds.
    pub at_ms: Option<i64>,
    /// What changed, in the plan's order; what is no longer in it comes last. Nothing, where a row tells the same again.
    pub changes: Vec<PlanChange>,
}
chat_event::pack_fields!(PlanStep {
    block,
    parent,
    turn,
    event,
    at_ms,
    changes
});

/// What became of one entry of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanChange {
    /// The entry.
    pub content: String,
    /// Its status before; `None` where it is new.
    pub before: Option<String>,
    /// Its status now; `None` where it was dropped.
    pub now: Option<String>,
}
chat_event::pack_fields!(PlanChange {
    content,
    before,
    now
});
