//! What a session was, in figures: for lists, side bars and reports.
//!
//! Shape: [`SessionSummary`], in JSON with camelCase names. Times are Unix epoch milliseconds, and of no use where a
//! source has none. What was taken back by a `retract` does not count. Calls, errors and changed files are those of the
//! sub-agents, too. Turns that the user went back behind count, for they were worked and paid for; but not what they did to
//! files where the agent put these back.

mod counted;
mod told;
pub(crate) mod usage;

use std::collections::BTreeMap;

use chat_event::{ChatEvent, Payload};
use serde::Serialize;

pub use usage::TokenCounts;

use super::conversation::Conversation;
use counted::Counted;
use told::Told;

/// A session in figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionSummary {
    /// Its id.
    pub session_id: String,
    /// Its title: its own, else the first line of the first prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Which normalizer read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The agents that spoke, in order.
    pub agents: Vec<String>,
    /// The models that were used, in order.
    pub models: Vec<String>,
    /// The folder it began in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The branch it began on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_branch: Option<String>,
    /// Time of the earliest event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_ms: Option<i64>,
    /// Time of the latest event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<i64>,
    /// From the one to the other; none where all events have one time, which tells nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// How long its turns took together; what went on at once is counted once.
    pub busy_ms: u64,
    /// How its newest turn ended; none where there is no turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<SessionOutcome>,
    /// Turns.
    pub turns: u64,
    /// How many of them the user went back behind.
    pub undone_turns: u64,
    /// Prompts of people.
    pub user_messages: u64,
    /// Assistant messages of the main conversation.
    pub responses: u64,
    /// Assistant messages of sub-agents.
    pub sub_agent_responses: u64,
    /// Tool calls.
    pub tool_calls: ToolCallCounts,
    /// Errors of the session; calls that failed are counted with the calls.
    pub errors: u64,
    /// How often it was interrupted.
    pub interrupts: u64,
    /// How often its context was made shorter.
    pub compactions: u64,
    /// Events the log has lost.
    pub lost_events: u64,
    /// The files that were changed, by path; 10,000 at most.
    pub files: Vec<FileSummary>,
    /// How many were changed.
    pub files_changed: u64,
    /// Lines added, in all files.
    pub lines_added: u64,
    /// Lines removed, in all files.
    pub lines_removed: u64,
    /// Tokens, where they are told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenCounts>,
    /// Cost in US dollars, where it is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// How a session's newest turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionOutcome {
    /// It goes on.
    Running,
    /// It is done.
    Completed,
    /// It was stopped.
    Interrupted,
    /// It failed.
    Failed,
}

/// Tool calls, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallCounts {
    /// All.
    pub total: u64,
    /// Those that gave an error.
    pub failed: u64,
    /// Those that were not let run.
    pub denied: u64,
    /// Those without a result.
    pub without_result: u64,
    /// By kind: `read`, `edit`, `search` …
    pub by_kind: BTreeMap<&'static str, u64>,
}

/// What was done to a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileSummary {
    /// Its path.
    pub path: String,
    /// In sum: `created`, `modified`, `deleted` or `renamed`.
    pub change_type: String,
    /// How often.
    pub edits: u64,
    /// Lines added.
    pub lines_added: u64,
    /// Lines removed.
    pub lines_removed: u64,
    /// Whether it was not there before.
    #[serde(skip)]
    is_new: bool,
}

/// The summary of a log.
///
/// ```
/// use chat_event::ChatEvent;
/// use chat_feed::projections::to_session_summary;
/// let line = r#"{"id":"e1","timestamp":1,"sessionId":"s","type":"user_message","payload":{"text":"Hi"}}"#;
/// let summary = to_session_summary(&[ChatEvent::from_json(line).unwrap()]);
/// assert_eq!(summary.title.as_deref(), Some("Hi"));
/// assert_eq!(summary.turns, 1);
/// ```
pub fn to_session_summary(events: &[ChatEvent]) -> SessionSummary {
    // The events are in memory anyway, so all may stay open.
    let mut summarizer = SessionSummarizer::with_window(usize::MAX);
    for event in events {
        summarizer.push(event);
    }
    summarizer.summary()
}

/// Counts a log event by event.
///
/// The newest 32 MiB or so of the session are kept, because a `retract` may still take them out, and a set-back put files
/// back; older ones are counted for good.
#[derive(Debug, Default)]
pub struct SessionSummarizer {
    conversation: Conversation,
    told: Told,
    counted: Counted,
}

impl SessionSummarizer {
    /// A summary of an empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// One that keeps about `window_bytes` open.
    pub fn with_window(window_bytes: usize) -> Self {
        SessionSummarizer {
            conversation: Conversation::with_window(window_bytes),
            ..Self::default()
        }
    }

    /// Takes the next event.
    pub fn push(&mut self, event: &ChatEvent) {
        if !self.conversation.is_new(event) {
            return;
        }
        self.told.set_backs.note(event);
        if makes_entries(&event.payload) {
            let (counted, set_backs) = (&mut self.counted, &self.told.set_backs);
            self.conversation.push(event, &mut |tree| {
                counted.add(tree.entries(), tree.calls(), set_backs);
            });
        }
        if let Payload::Usage(usage) = &event.payload
            && event.turn_id.is_none()
            && event.parent_tool_call_id.is_none()
            && usage.scope != "session"
        {
            self.conversation.note_usage_of_no_turn();
        }
        self.told.note(event, self.conversation.turn());
    }

    /// The summary of what came so far.
    pub fn summary(&self) -> SessionSummary {
        let mut counted = self.counted.clone();
        let (entries, calls) = self.conversation.open();
        counted.add(entries, calls, &self.told.set_backs);
        let told = &self.told;
        let (started_ms, ended_ms) = told.span_ms.unzip();
        let sum = |of: fn(&FileSummary) -> u64| {
            let files = counted.files.values().chain([&counted.more_files]);
            files.map(of).fold(0, u64::saturating_add)
        };
        SessionSummary {
            session_id: told.session_id.clone(),
            title: told.title.clone().or(counted.prompt),
            provider: told.provider.clone(),
            agents: told.agents.clone(),
            models: told.models.clone(),
            cwd: told.cwd.clone(),
            git_branch: told.git_branch.clone(),
            started_ms,
            ended_ms,
            duration_ms: told.lasted_ms(),
            busy_ms: told.busy_ms(),
            outcome: told.outcome(),
            turns: told.turns.len() as u64,
            undone_turns: told.undone_turns(),
            user_messages: counted.user_messages,
            responses: counted.responses,
            sub_agent_responses: counted.sub_agent_responses,
            tool_calls: counted.tool_calls,
            errors: counted.errors,
            interrupts: told.interrupts,
            compactions: told.compactions,
            lost_events: told.lost_events,
            files_changed: counted.files.len() as u64 + counted.n_more_files,
            lines_added: sum(|file| file.lines_added),
            lines_removed: sum(|file| file.lines_removed),
            files: counted.files.into_values().collect(),
            usage: told.usage.tokens(),
            cost_usd: told.usage.cost_usd(),
        }
    }
}

/// Whether what an event makes is counted once it is finished; the others are taken as they come.
fn makes_entries(payload: &Payload) -> bool {
    match payload {
        Payload::TurnStart(_)
        | Payload::TurnEnd(_)
        | Payload::UserMessage(_)
        | Payload::UserAudio(_)
        | Payload::AssistantChunk(_)
        | Payload::AssistantDone(_)
        | Payload::ThinkingChunk(_)
        | Payload::ThinkingDone(_)
        | Payload::ToolCall(_)
        | Payload::ToolInputChunk(_)
        | Payload::ToolResult(_)
        | Payload::AgentMessage(_)
        | Payload::AgentCallback(_)
        | Payload::Interrupt(_)
        | Payload::ErrorEvent(_)
        | Payload::FileEdit(_)
        | Payload::Retract(_) => true,
        Payload::ToolOutputChunk(_)
        | Payload::AgentSwitch(_)
        | Payload::AudioChunk(_)
        | Payload::AudioDone(_)
        | Payload::SessionStart(_)
        | Payload::SessionEnd(_)
        | Payload::SessionStatus(_)
        | Payload::Progress(_)
        | Payload::Plan(_)
        | Payload::PermissionRequest(_)
        | Payload::PermissionResolved(_)
        | Payload::QuestionRequest(_)
        | Payload::QuestionResolved(_)
        | Payload::Usage(_)
        | Payload::Compaction(_)
        | Payload::Notice(_)
        | Payload::Raw(_)
        | Payload::LogStart(_)
        | Payload::LogEpoch(_)
        | Payload::LogGap(_)
        | Payload::LogEnd(_)
        | Payload::Unknown { .. }
        | Payload::Malformed { .. } => false,
    }
}
