//! One line of a trace, as a value: what it says, of which session, how grave, and where it goes.
//!
//! How it is coloured is for the terminal program.

use std::fmt;
use std::sync::Arc;

pub use crate::verbosity::Verbosity;

/// Where a line goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// What is being done: standard error.
    Trace,
    /// What came of it: standard output.
    Result,
}

/// How grave a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// It is there to be looked up.
    Detail,
    /// It goes on.
    Info,
    /// It went well.
    Good,
    /// It was stopped, or something is odd.
    Warning,
    /// It failed.
    Failure,
}

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// A turn begins: `[1/3] ▶ …`
    TurnStart,
    /// A turn is over: `[1/3] ✓ …`
    TurnEnd,
    /// A step goes on: `[1/3] ⋯ …`
    Progress,
    /// A tool call goes on: `[TOOL] … (running…)`
    ToolRunning,
    /// A tool call is done: `[TOOL] … — 0.2s`
    Tool,
    /// A changed file, or the frame of its diff.
    File,
    /// A line of a diff that was added.
    Added,
    /// A line of a diff that was removed.
    Removed,
    /// The agent asks, or was answered.
    Ask,
    /// One agent speaks to another.
    Agent,
    /// Text on the way to the result.
    Said,
    /// Thinking.
    Thinking,
    /// Arguments and results, opened.
    Opened,
    /// Tokens and cost.
    Usage,
    /// Something a reader should know.
    Notice,
    /// Something failed.
    Error,
    /// The session begins or ends.
    Session,
    /// The agent's answer.
    Result,
}

/// One line, without line breaks or anything else that a terminal would obey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceLine {
    /// The session it is of.
    pub session: Arc<str>,
    /// The session's short name, where several are traced.
    pub tag: Option<Arc<str>>,
    /// Where it goes.
    pub stream: Stream,
    /// What it is about.
    pub kind: LineKind,
    /// How grave it is.
    pub severity: Severity,
    /// What it says, without the tag.
    pub text: String,
}

impl fmt::Display for TraceLine {
    /// The tag and what it says, without a line break.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(tag) = &self.tag {
            write!(f, "{tag} ")?;
        }
        f.write_str(&self.text)
    }
}
