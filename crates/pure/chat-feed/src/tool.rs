//! Tool calls: what kinds there are, and where a call stands. The one line that is shown of it is in [`headline`] and
//! [`outcome`], what it was given in [`given`].

mod given;
mod headline;
mod line;
mod outcome;
mod so_far;

use chat_event::Json;
use chat_event::payload::ToolError;

use crate::block::ToolCallBlock;
pub use headline::Headline;

/// What sort of tool a call uses, alike for all providers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolKind {
    /// Reads a file.
    Read,
    /// Changes a file.
    Edit,
    /// Searches files.
    Search,
    /// Runs a command.
    Execute,
    /// Fetches from the net.
    Fetch,
    /// Thinks.
    Think,
    /// Starts another agent.
    Agent,
    /// Keeps the plan.
    Plan,
    /// Anything else.
    Other,
}
chat_event::pack_variants!(ToolKind { 0 => Read, 1 => Edit, 2 => Search, 3 => Execute, 4 => Fetch, 5 => Think, 6 => Agent, 7 => Plan, 8 => Other });

impl ToolKind {
    /// The kind the event says, else the one its tool's name is known for.
    pub fn of(kind: Option<&str>, tool_name: &str) -> ToolKind {
        match kind {
            Some("read") => ToolKind::Read,
            Some("edit") => ToolKind::Edit,
            Some("search") => ToolKind::Search,
            Some("execute") => ToolKind::Execute,
            Some("fetch") => ToolKind::Fetch,
            Some("think") => ToolKind::Think,
            Some("agent") => ToolKind::Agent,
            Some("plan") => ToolKind::Plan,
            Some(_) => ToolKind::Other,
            None => match tool_name.to_ascii_lowercase().as_str() {
                "read" | "read_file" | "notebookread" | "ls" => ToolKind::Read,
                "write" | "edit" | "multiedit" | "notebookedit" | "apply_patch" | "write_file" => {
                    ToolKind::Edit
                }
                "grep" | "glob" | "search" => ToolKind::Search,
                "bash" | "shell" | "exec" | "exec_command" | "terminal" => ToolKind::Execute,
                "webfetch" | "websearch" | "fetch" => ToolKind::Fetch,
                "task" | "agent" => ToolKind::Agent,
                "todowrite" | "taskcreate" | "taskupdate" | "update_plan" => ToolKind::Plan,
                _ => ToolKind::Other,
            },
        }
    }

    /// The kind's name, as the event has it.
    pub fn as_str(self) -> &'static str {
        match self {
            ToolKind::Read => "read",
            ToolKind::Edit => "edit",
            ToolKind::Search => "search",
            ToolKind::Execute => "execute",
            ToolKind::Fetch => "fetch",
            ToolKind::Think => "think",
            ToolKind::Agent => "agent",
            ToolKind::Plan => "plan",
            ToolKind::Other => "other",
        }
    }
}

/// Where a tool call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolStatus {
    /// Its arguments are still being written.
    Preparing,
    /// It was called and has no result yet.
    Running,
    /// It gave a result.
    Succeeded,
    /// It gave an error.
    Failed,
    /// Somebody, or a rule, did not let it run.
    Denied,
    /// The turn was stopped before a result came.
    Interrupted,
    /// The turn ended without a result.
    NoResult,
}
chat_event::pack_variants!(ToolStatus { 0 => Preparing, 1 => Running, 2 => Succeeded, 3 => Failed, 4 => Interrupted, 5 => NoResult, 6 => Denied });

impl ToolStatus {
    /// Whether something is still to come.
    pub fn runs(self) -> bool {
        matches!(self, ToolStatus::Preparing | ToolStatus::Running)
    }

    /// Where a call stands that gave this error, or none. Sources, and those who read them, say also of a call without a
    /// result that it failed.
    pub(crate) fn of_result(error: Option<&ToolError>, interrupted: bool) -> ToolStatus {
        match error.map(|error| error.code.as_deref()) {
            None => ToolStatus::Succeeded,
            Some(Some("interrupted")) => ToolStatus::Interrupted,
            Some(Some("no_result")) if interrupted => ToolStatus::Interrupted,
            Some(Some("no_result")) => ToolStatus::NoResult,
            Some(Some("rejected" | "declined" | "denied")) => ToolStatus::Denied,
            Some(_) => ToolStatus::Failed,
        }
    }

    /// The word that is shown for it.
    pub fn as_str(self) -> &'static str {
        match self {
            ToolStatus::Preparing => "preparing",
            ToolStatus::Running => "running",
            ToolStatus::Succeeded => "done",
            ToolStatus::Failed => "failed",
            ToolStatus::Denied => "denied",
            ToolStatus::Interrupted => "interrupted",
            ToolStatus::NoResult => "no result",
        }
    }
}

impl ToolCallBlock {
    /// Whether its last result came.
    pub(crate) fn has_ended(&self) -> bool {
        self.result.is_some() && !self.background
    }

    /// A call of which nothing but its id is known.
    pub(crate) fn unknown(tool_call_id: &str) -> Self {
        ToolCallBlock {
            tool_call_id: tool_call_id.into(),
            tool_name: "".into(),
            kind: ToolKind::Other,
            title: None,
            args: Json::default(),
            lists_steps: false,
            args_event: None,
            input: None,
            output: None,
            result: None,
            result_is_large: false,
            result_event: None,
            attachments: None,
            error: None,
            summary: None,
            exit_code: None,
            progress: None,
            status: ToolStatus::Running,
            background: false,
            waits: false,
            denied: false,
            called_ms: None,
            allowed_ms: None,
            asked: None,
            duration_ms: None,
            settled_event: None,
            steps: 0,
            orphan: false,
            conflicts: 0,
        }
    }

    /// Why it failed or was denied; that it has no result, or was interrupted, is neither.
    pub fn failure(&self) -> Option<&ToolError> {
        let said = matches!(self.status, ToolStatus::Failed | ToolStatus::Denied);
        self.error.as_ref().filter(|_| said)
    }
}
