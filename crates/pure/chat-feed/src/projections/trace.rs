//! `to_tool_trace`: what an agent does, line by line, for a terminal.
//!
//! [`ToolTrace`] takes the events of one or more sessions as they come and appends the lines that are then certain:
//!
//! ```text
//! [1/3] ▶ Analyzing codebase
//! [TOOL] glob: **/*.rs → 45 matches — 0.2s
//! [TOOL] read: src/lib.rs (890 lines, 35KB) — 0.8s
//! [TOOL] bash: cargo build (exit 0) — 15.3s
//! [1/3] ✓ Analyzing codebase (2.4s)
//! ```
//!
//! What goes on now is [`ToolTrace::running`]: it is overwritten, not appended. A trace made afterwards is equal to
//! the one made live: times are the events', and no line depends on how the events were cut into batches. What is
//! kept is bounded; a log of any length can be traced.
//!
//! Colours, and where the cursor is, are for the terminal program.

mod answer;
mod calls;
mod clean;
mod line;
mod opened;
mod session;
mod turns;
mod words;

use std::collections::BTreeMap;
use std::sync::Arc;

use chat_event::ChatEvent;

pub use clean::clean;
pub use line::{LineKind, Severity, Stream, TraceLine, Verbosity};
use session::{SessionTrace, Told};

/// So many sessions are traced at once; beyond them the one that was silent longest is ended.
const MAX_SESSIONS: usize = 256;

/// An id up to this length is its own tag.
const TAG_CHARS: usize = 12;

/// What goes on now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running<L = TraceLine> {
    /// What, as a line.
    pub line: L,
    /// When it began (a call) or was last heard of (a turn), Unix epoch in milliseconds.
    pub since_ms: Option<i64>,
}

/// The trace of one or more sessions.
///
/// ```
/// use chat_event::ChatEvent;
/// use chat_feed::projections::trace::{ToolTrace, Verbosity};
/// let mut trace = ToolTrace::new(Verbosity::Normal);
/// let mut lines = Vec::new();
/// for (id, time, payload) in [
///     ("a", 0, r#""tool_call","payload":{"toolCallId":"c","toolName":"Bash","args":{"command":"cargo build"}}"#),
///     ("b", 15_300, r#""tool_result","payload":{"toolCallId":"c","exitCode":0}"#),
/// ] {
///     let text = format!(r#"{{"id":"{id}","timestamp":{time},"sessionId":"s","type":{payload}}}"#);
///     trace.push(&ChatEvent::from_json(&text).unwrap(), &mut lines);
/// }
/// assert_eq!(lines[0].to_string(), "[TOOL] bash: cargo build (exit 0) — 15.3s");
/// ```
#[derive(Debug)]
pub struct ToolTrace {
    verbosity: Verbosity,
    tagged: bool,
    sessions: BTreeMap<Arc<str>, Traced>,
    n_events: u64,
}

#[derive(Debug)]
struct Traced {
    tag: Arc<str>,
    trace: SessionTrace,
    last_event: u64,
}

impl ToolTrace {
    /// A trace that tells so much.
    pub fn new(verbosity: Verbosity) -> Self {
        ToolTrace {
            verbosity,
            tagged: false,
            sessions: BTreeMap::new(),
            n_events: 0,
        }
    }

    /// Tags every line with its session from the start. Without this, lines are tagged from the moment at which a second
    /// session appears.
    pub fn tagged(mut self) -> Self {
        self.tagged = true;
        self
    }

    /// Takes the next event; the lines that it makes certain are added to `out`.
    pub fn push(&mut self, event: &ChatEvent, out: &mut Vec<TraceLine>) {
        self.n_events += 1;
        let id = match self.sessions.get_key_value(event.session_id.as_str()) {
            Some((id, _)) => id.clone(),
            None => self.begin(&event.session_id, out),
        };
        let Some(traced) = self.sessions.get_mut(&id) else {
            return;
        };
        traced.last_event = self.n_events;
        traced.trace.push(event);
        traced.hand_on(&id, self.tagged, out);
    }

    /// What goes on now, session by session. Empty where only results are told.
    pub fn running(&self) -> Vec<Running> {
        if self.verbosity == Verbosity::Quiet {
            return Vec::new();
        }
        let sessions = self.sessions.iter();
        let running = sessions.flat_map(|(id, traced)| {
            traced.trace.running().into_iter().map(|running| Running {
                line: traced.stamp(running.line, id, self.tagged),
                since_ms: running.since_ms,
            })
        });
        running.collect()
    }

    /// Nothing more will come: what still runs is told as it stands.
    pub fn finish(&mut self, out: &mut Vec<TraceLine>) {
        for (id, traced) in &mut self.sessions {
            traced.trace.finish(false);
            traced.hand_on(id, self.tagged, out);
        }
    }

    /// Nothing more will come of one session.
    pub fn finish_session(&mut self, session_id: &str, out: &mut Vec<TraceLine>) {
        if let Some((id, mut traced)) = self.sessions.remove_entry(session_id) {
            traced.trace.finish(false);
            traced.hand_on(&id, self.tagged, out);
            self.sessions.insert(id, traced);
        }
    }

    fn begin(&mut self, id: &str, out: &mut Vec<TraceLine>) -> Arc<str> {
        if self.sessions.len() == MAX_SESSIONS {
            let silent = self
                .sessions
                .iter()
                .min_by_key(|(_, traced)| traced.last_event);
            if let Some(silent) = silent.map(|(id, _)| id.clone())
                && let Some(mut traced) = self.sessions.remove(&silent)
            {
                traced.trace.finish(false);
                traced.hand_on(&silent, self.tagged, out);
            }
        }
        self.tagged |= !self.sessions.is_empty();
        let traced = Traced {
            tag: self.tag(id),
            trace: SessionTrace::new(self.verbosity),
            last_event: self.n_events,
        };
        let id: Arc<str> = id.into();
        self.sessions.insert(id.clone(), traced);
        id
    }

    /// A short name that no other session has: of ids that count time, the beginnings are alike.
    fn tag(&self, id: &str) -> Arc<str> {
        let shown = clean::one_line(id);
        let n_chars = shown.chars().count();
        if n_chars <= TAG_CHARS {
            return shown.into();
        }
        let first: String = shown.chars().take(8).collect();
        let last: String = shown.chars().skip(n_chars - 8).collect();
        let is_new = |tag: &str| self.sessions.values().all(|traced| *traced.tag != *tag);
        let tags = [first, last];
        let tag = tags.into_iter().find(|tag| is_new(tag)).unwrap_or(shown);
        tag.into()
    }
}

impl Traced {
    fn hand_on(&mut self, id: &Arc<str>, tagged: bool, out: &mut Vec<TraceLine>) {
        let told = std::mem::take(&mut self.trace.told);
        out.extend(told.into_iter().map(|told| self.stamp(told, id, tagged)));
    }

    fn stamp(&self, told: Told, id: &Arc<str>, tagged: bool) -> TraceLine {
        TraceLine {
            session: id.clone(),
            tag: tagged.then(|| self.tag.clone()),
            stream: told.stream,
            kind: told.kind,
            severity: told.severity,
            text: told.text,
        }
    }
}

/// The whole trace of a finished log, each line with its line break.
pub fn to_tool_trace(events: &[ChatEvent], verbosity: Verbosity) -> String {
    let mut trace = ToolTrace::new(verbosity);
    let mut lines = Vec::new();
    for event in events {
        trace.push(event, &mut lines);
    }
    trace.finish(&mut lines);
    lines.iter().map(|line| format!("{line}\n")).collect()
}
