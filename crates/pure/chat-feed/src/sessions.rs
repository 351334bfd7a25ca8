//! The list of sessions: in which section each stands and in what order, which of them a filter shows, what is unread,
//! and which of thousands of rows are on the screen.
//!
//! Rows come as the server tells them; how they look is for the page.

mod arranged;
mod filter;
mod named;
mod row;
mod rows;
mod section;
mod seen;
mod settled;
mod stack;

pub use arranged::Arranged;
pub use filter::{Facet, Filter, haystack_of};
pub use named::{agent_name, called, folder_of};
pub use row::{Ask, Doing, Pace, Row, Whole};
pub use rows::Rows;
pub use section::{Clock, Section};
pub use seen::Seen;
pub use stack::{Stack, Stacks};

/// A session that runs and of which nothing came for so long is quiet; one that rests for so long is as if it were over.
const QUIET_MS: i64 = 5 * 60_000;
/// What comes so long after it happened was read from a file. An agent's clock that is wrong is so by less.
const LATE_MS: i64 = 10 * 60_000;

/// How a session stands; each has a glyph and a word of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// It stands still until somebody answers.
    NeedsYou,
    /// It works.
    Running,
    /// It should work, and nothing comes.
    Quiet,
    /// It has not ended and does nothing: it is between two turns, or no turn of it is known to be done.
    Idle,
    /// Its newest turn failed.
    Failed,
    /// Its newest turn is done.
    Done,
    /// Its newest turn was stopped.
    Cancelled,
}

impl State {
    /// The word beside the glyph.
    pub fn word(self) -> &'static str {
        match self {
            State::NeedsYou => "Needs you",
            State::Running => "Running",
            State::Quiet => "Quiet",
            State::Idle => "Idle",
            State::Failed => "Failed",
            State::Done => "Done",
            State::Cancelled => "Cancelled",
        }
    }
}

impl Row {
    /// How it stands.
    pub fn state(&self, now_ms: i64) -> State {
        let works = self.works();
        match self.outcome.as_deref() {
            // An end settles what was asked before it: who asks behind it goes on, and waits.
            _ if self.asks > 0 && !self.sample => State::NeedsYou,
            _ if works && now_ms.saturating_sub(self.changed_ms()) >= QUIET_MS => State::Quiet,
            _ if works => State::Running,
            Some("failed") => State::Failed,
            Some("interrupted") => State::Cancelled,
            _ if self.rests(now_ms) => State::Idle,
            // Nobody said that anything of it was done.
            None if self.status != "ended" => State::Idle,
            _ => State::Done,
        }
    }

    /// Whether it was at work in the last minutes and may go on: by the times of its events too, because what an agent
    /// wrote long ago may have come just now.
    fn rests(&self, now_ms: i64) -> bool {
        let at_ms = self.changed_ms();
        let at_ms = self
            .last_event_ms
            .map_or(at_ms, |last_ms| last_ms.min(at_ms));
        self.status == "idle" && now_ms.saturating_sub(at_ms) < QUIET_MS
    }

    fn works(&self) -> bool {
        matches!(self.status.as_str(), "busy" | "retrying")
    }

    /// Whether it works or waits for an answer.
    fn is_live(&self) -> bool {
        self.works() || self.asks > 0
    }

    /// The time that it stands in its section by: of its last change. One that works stands by when it began to: each of
    /// its events is a change, and rows that move at each cannot be pointed at.
    pub(crate) fn order_ms(&self) -> i64 {
        let since_ms = self.works_since_ms.filter(|_| self.works());
        since_ms.unwrap_or_else(|| self.at_ms())
    }

    /// The time that it stands by in this section. Those that run, and rest between their turns, hold still through all of
    /// them: they stand by when they began.
    pub fn place_ms(&self, section: Section) -> i64 {
        let begun_ms = self.started_ms.filter(|_| section == Section::Running);
        begun_ms.unwrap_or_else(|| self.order_ms())
    }

    /// What it is called: see [`called`].
    pub fn name(&self, told: &dyn Fn(i64) -> String) -> String {
        let title = self.title.as_deref();
        let at_ms = self.started_ms.or(self.last_activity_ms);
        let by = (self.agent_name(), at_ms);
        called(title, self.cwd.as_deref(), &self.id, by, told)
    }

    /// When it last changed here.
    pub fn changed_ms(&self) -> i64 {
        self.last_activity_ms
            .or(self.started_ms)
            .unwrap_or(i64::MIN)
    }

    /// When the last of it was: see [`last_ms`].
    pub fn at_ms(&self) -> i64 {
        last_ms(self.changed_ms(), self.last_event_ms)
    }

    /// How long it goes on, or went on: by the times of its events, which may have come long after they happened.
    pub fn lasted_ms(&self, now_ms: i64) -> Option<u64> {
        let lasted_ms = self.last_event_ms?.checked_sub(self.started_ms?)?;
        let since_ms = match self.state(now_ms) {
            State::NeedsYou | State::Running | State::Quiet => now_ms.saturating_sub(self.at_ms()),
            State::Idle | State::Failed | State::Done | State::Cancelled => 0,
        };
        u64::try_from(lasted_ms.saturating_add(since_ms.max(0))).ok()
    }

    /// The folder it works in, by its last name.
    pub fn project(&self) -> Option<&str> {
        folder_of(self.cwd.as_deref()?)
    }

    /// The agent's name without its version.
    pub fn agent_name(&self) -> Option<&str> {
        let name = agent_name(self.agent.as_deref()?);
        (!name.is_empty()).then_some(name)
    }

    /// The share of the context window that is used, in percent.
    pub fn context_percent(&self) -> Option<u64> {
        let (used, size) = self.context_used.zip(self.context_size)?;
        (size > 0).then(|| (used.saturating_mul(100) / size).min(100))
    }
}

/// When the last of a session was: when it changed, and where its last event came late, when that happened.
pub fn last_ms(changed_ms: i64, event_ms: Option<i64>) -> i64 {
    let is_late = |event_ms: &i64| changed_ms.saturating_sub(*event_ms) >= LATE_MS;
    event_ms.filter(is_late).unwrap_or(changed_ms)
}
