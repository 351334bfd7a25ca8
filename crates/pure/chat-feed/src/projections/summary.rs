//! What a session was, in figures: for lists, side bars and reports.
//!
//! Shape: [`SessionSummary`], in JSON with camelCase names. Times are Unix epoch milliseconds, and of no use where a
//! source has none. What was taken back by a `retract` does not count. Calls, errors and changed files are those of the
//! sub-agents, too.

mod usage;

use std::collections::{BTreeMap, HashSet};

use chat_event::payload::FileEdit;
use chat_event::{ChatEvent, Payload};
use serde::Serialize;

pub use usage::TokenCounts;

use super::conversation::{Block, Call, CallKey, Conversation, Entry, EntryBody};
use crate::renderer::seen::hash;
use usage::UsageCount;

/// A title is one line of a list.
const TITLE_CHARS: usize = 120;

/// No session has as many models or agents; a list of more is not read.
const MOST_NAMES: usize = 64;

/// Files are listed up to here, and counted beyond.
const MOST_FILES: usize = 10_000;

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
    /// From the one to the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// How long its turns took, where these say so.
    pub busy_ms: u64,
    /// How its newest turn ended; none where there is no turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<SessionOutcome>,
    /// Turns.
    pub turns: u64,
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
/// The newest 32 MiB or so of the session are kept, because a `retract` may still take them out; older ones are counted
/// for good.
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
        if makes_entries(&event.payload) {
            let counted = &mut self.counted;
            self.conversation.push(event, &mut |tree| {
                counted.add(tree.entries(), tree.calls());
            });
        }
        self.told.note(event, self.conversation.turn());
    }

    /// The summary of what came so far.
    pub fn summary(&self) -> SessionSummary {
        let mut counted = self.counted.clone();
        let (entries, calls) = self.conversation.open();
        counted.add(entries, calls);
        let told = &self.told;
        let (started_ms, ended_ms) = told.span_ms.unzip();
        let between = || u64::try_from(ended_ms?.checked_sub(started_ms?)?).ok();
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
            duration_ms: between(),
            busy_ms: told.busy_ms,
            outcome: told.outcome,
            turns: told.turns.len() as u64,
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

/// The first line of a prompt that says anything, cut to what a list has room for.
pub(super) fn title_of(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let mut title: String = line.chars().take(TITLE_CHARS).collect();
    if title.len() < line.len() {
        title.push('…');
    }
    Some(title)
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

/// What events say for themselves.
#[derive(Clone, Debug, Default)]
struct Told {
    session_id: String,
    title: Option<String>,
    provider: Option<String>,
    agents: Vec<String>,
    models: Vec<String>,
    cwd: Option<String>,
    git_branch: Option<String>,
    span_ms: Option<(i64, i64)>,
    busy_ms: u64,
    outcome: Option<SessionOutcome>,
    turns: HashSet<u64>,
    /// Calls of the newest turn less their results.
    n_running_calls: i64,
    interrupts: u64,
    compactions: u64,
    lost_events: u64,
    usage: UsageCount,
}

impl Told {
    fn note(&mut self, event: &ChatEvent, current_turn: u64) {
        if self.session_id.is_empty() {
            self.session_id.clone_from(&event.session_id);
        }
        if let Some(at_ms) = event.timestamp {
            let (first, last) = self.span_ms.unwrap_or((at_ms, at_ms));
            self.span_ms = Some((first.min(at_ms), last.max(at_ms)));
        }
        let turn = event.turn_id.as_deref().map_or(current_turn, hash);
        let main = event.parent_tool_call_id.is_none();
        match &event.payload {
            Payload::TurnStart(_) => self.go_on(turn),
            Payload::UserMessage(_)
            | Payload::UserAudio(_)
            | Payload::AgentCallback(_)
            | Payload::AssistantChunk(_)
            | Payload::AssistantDone(_)
            | Payload::ThinkingChunk(_)
            | Payload::ThinkingDone(_)
                if main =>
            {
                self.go_on(turn);
            }
            Payload::ToolCall(_) => {
                self.go_on(turn);
                self.n_running_calls += 1;
            }
            Payload::ToolResult(_) => self.n_running_calls -= 1,
            Payload::TurnEnd(end) => {
                self.turns.insert(turn);
                self.busy_ms = self.busy_ms.saturating_add(end.duration_ms.unwrap_or(0));
                let usage = end.usage.as_ref().and_then(|usage| usage.parse());
                self.usage.end_turn(turn, usage.as_ref(), end.cost_usd);
                self.outcome = Some(match (end.outcome.as_deref(), self.outcome) {
                    (Some("interrupted"), _) => SessionOutcome::Interrupted,
                    (Some("failed"), _) => SessionOutcome::Failed,
                    (None, Some(SessionOutcome::Interrupted)) => SessionOutcome::Interrupted,
                    (None, Some(SessionOutcome::Failed)) => SessionOutcome::Failed,
                    (_, _) => SessionOutcome::Completed,
                });
                self.n_running_calls = 0;
            }
            Payload::Interrupt(_) => {
                self.interrupts += 1;
                self.outcome = Some(SessionOutcome::Interrupted);
            }
            Payload::ErrorEvent(_) if main => self.outcome = Some(SessionOutcome::Failed),
            Payload::SessionEnd(_) if self.outcome == Some(SessionOutcome::Running) => {
                self.outcome = Some(match self.n_running_calls > 0 {
                    true => SessionOutcome::Interrupted,
                    false => SessionOutcome::Completed,
                });
            }
            Payload::SessionStart(start) => {
                if let Some(title) = start.title.as_ref().filter(|title| !title.is_empty()) {
                    self.title = Some(title.clone());
                }
                add_name(&mut self.agents, start.agent.as_deref());
                add_name(&mut self.models, start.model.as_deref());
                // Where it began; the agent may go elsewhere.
                if self.cwd.is_none() {
                    self.cwd.clone_from(&start.cwd);
                    self.git_branch.clone_from(&start.git_branch);
                }
                if start.provider.is_some() {
                    self.provider.clone_from(&start.provider);
                }
            }
            Payload::AgentSwitch(switch) => {
                add_name(&mut self.agents, Some(&switch.from_agent_id));
                add_name(&mut self.agents, Some(&switch.to_agent_id));
            }
            Payload::Usage(usage) => {
                add_name(&mut self.models, usage.model.as_deref());
                let response = event.response_id.as_deref().map(hash);
                self.usage.add(turn, response, !main, usage);
            }
            Payload::Compaction(_) => self.compactions += 1,
            Payload::LogGap(gap) => {
                let n_lost = gap.to.saturating_sub(gap.from).saturating_add(1);
                self.lost_events = self.lost_events.saturating_add(n_lost);
            }
            _ => {}
        }
        add_name(&mut self.agents, event.agent_id.as_deref());
    }

    /// Something happens in a turn.
    fn go_on(&mut self, turn: u64) {
        let new = self.turns.insert(turn);
        if new {
            self.n_running_calls = 0;
        }
        // What is said late does not open a turn that is over.
        if new || self.outcome.is_none() {
            self.outcome = Some(SessionOutcome::Running);
        }
    }
}

fn add_name(names: &mut Vec<String>, name: Option<&str>) {
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        return;
    };
    if names.len() < MOST_NAMES && !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}

/// What is counted once it is finished.
#[derive(Clone, Debug, Default)]
struct Counted {
    prompt: Option<String>,
    user_messages: u64,
    responses: u64,
    sub_agent_responses: u64,
    tool_calls: ToolCallCounts,
    errors: u64,
    files: BTreeMap<String, FileSummary>,
    /// Of files beyond those that are listed.
    more_files: FileSummary,
    n_more_files: u64,
}

impl Counted {
    fn add<'e>(
        &mut self,
        entries: impl Iterator<Item = &'e Entry>,
        calls: &BTreeMap<CallKey, Call>,
    ) {
        for entry in entries {
            self.add_entry(entry);
        }
        for call in calls.values() {
            self.add_call(call);
        }
    }

    fn add_entry(&mut self, entry: &Entry) {
        let main = entry.parent.is_none();
        let event = match &entry.body {
            EntryBody::Event(event) => event,
            EntryBody::Response(response) => {
                let says = |block: &Block| match block {
                    Block::Text(text) | Block::Thinking(text) => {
                        text.redacted || !text.text().is_empty()
                    }
                    Block::Call(_) | Block::Message(_) => true,
                    Block::Gone => false,
                };
                if response.blocks.iter().any(says) {
                    let count = match main {
                        true => &mut self.responses,
                        false => &mut self.sub_agent_responses,
                    };
                    *count += 1;
                }
                return;
            }
        };
        match &event.payload {
            Payload::UserMessage(message) if main => {
                self.user_messages += 1;
                self.note_prompt(message.text.preview());
            }
            Payload::UserAudio(audio) if main => {
                self.user_messages += 1;
                self.note_prompt(&audio.transcription);
            }
            Payload::ErrorEvent(_) => self.errors += 1,
            Payload::FileEdit(edit) => self.add_edit(edit),
            _ => {}
        }
    }

    fn note_prompt(&mut self, text: &str) {
        if self.prompt.is_none() {
            self.prompt = title_of(text);
        }
    }

    fn add_call(&mut self, call: &Call) {
        for edit in call.edits.iter().flatten() {
            self.add_edit(edit);
        }
        // What only stands for a call that is not in the log is counted where it gave something.
        if !call.called && call.result.is_none() {
            return;
        }
        let counts = &mut self.tool_calls;
        counts.total += 1;
        *counts.by_kind.entry(call.kind.as_str()).or_default() += 1;
        match &call.result {
            Some(result) if result.error.is_some() => counts.failed += 1,
            Some(_) => {}
            None => counts.without_result += 1,
        }
    }

    fn add_edit(&mut self, edit: &FileEdit) {
        let known = self.files.contains_key(&edit.file_path);
        let file = if known || self.files.len() < MOST_FILES {
            let file = self.files.entry(edit.file_path.clone()).or_default();
            file.path.clone_from(&edit.file_path);
            file
        } else {
            self.n_more_files += 1;
            &mut self.more_files
        };
        // A new file that is edited is still a new one.
        if file.change_type != "created" || edit.change_type == "deleted" {
            file.change_type.clone_from(&edit.change_type);
        }
        file.edits += 1;
        file.lines_added = file.lines_added.saturating_add(u64::from(edit.lines_added));
        file.lines_removed = file
            .lines_removed
            .saturating_add(u64::from(edit.lines_removed));
    }
}
