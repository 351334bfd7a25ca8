//! What calls left running: their results say that it began in the background, and how it ends is told later.

use chat_event::payload::{ToolError, ToolResult};
use chat_event::{Extra, Json};

use super::{Call, Session};
use crate::claude::task_end::TaskEnd;
use crate::claude::tools;
use crate::emit::{Emitter, Place};
use crate::words::counted;

/// A call whose work goes on behind its result.
#[derive(Debug)]
pub(crate) struct LeftRunning {
    /// The provider's id, and the one that its events bear.
    native_id: String,
    call_id: String,
    /// It started an agent.
    is_agent: bool,
    /// All that its result says is that it runs.
    is_bare: bool,
    place: Place,
}

impl Session {
    /// Whether something runs in the background, as far as its end is told.
    pub(crate) fn runs_in_background(&self) -> bool {
        !self.background.is_empty()
    }

    /// The tasks that run there.
    pub(crate) fn tasks_in_background(&self) -> impl Iterator<Item = &str> {
        self.background.keys().map(String::as_str)
    }

    /// `call` left a task running.
    pub(crate) fn leave_running(
        &mut self,
        emitter: &mut Emitter,
        task: String,
        native_id: &str,
        call: &Call,
        is_bare: bool,
    ) {
        let left = LeftRunning {
            native_id: native_id.to_owned(),
            call_id: call.id.clone(),
            is_agent: tools::kind(&call.name) == "agent",
            is_bare,
            place: call.place.clone(),
        };
        // A task that is taken up again is what the later call began.
        let before = self.background.insert(task, left);
        if let Some(before) = before.filter(|before| before.call_id != call.id) {
            lost(emitter, &before);
        }
    }

    /// The call was never made: nothing runs that it began.
    pub(super) fn forget_running(&mut self, call_id: &str) {
        self.background.retain(|_, left| left.call_id != call_id);
    }

    /// A task ended; one that no call left running is none.
    pub(crate) fn task_ended(&mut self, emitter: &mut Emitter, end: &TaskEnd) {
        let known = |task: &String| self.background.contains_key(task);
        let task = end.task_id.clone().filter(known).or_else(|| {
            let mut left = self.background.iter();
            let call_id = end.call_id.as_ref()?;
            let of_call = left.find(|(_, left)| left.native_id == *call_id);
            of_call.map(|(task, _)| task.clone())
        });
        let Some(left) = task.and_then(|task| self.background.remove(&task)) else {
            return;
        };
        let mut result = result_of(end, &left.call_id, left.is_agent);
        if left.is_bare && result.result.is_null() {
            result.result = Json::string(&said_at_end(end));
        }
        emitter.add_as(&format!("{}:ended", left.call_id), &left.place, result);
    }

    /// The program ended, and with it what it ran: nothing tells how.
    pub(crate) fn end_background(&mut self, emitter: &mut Emitter) {
        for left in std::mem::take(&mut self.background).into_values() {
            lost(emitter, &left);
        }
    }
}

/// How what a call began in the background ended, as the call's second result.
pub(crate) fn result_of(end: &TaskEnd, call_id: &str, is_agent: bool) -> ToolResult {
    ToolResult {
        tool_call_id: call_id.to_owned(),
        // What a command printed lies in a file; what is known of it stays.
        result: match is_agent {
            true => Json::string(end.report.as_deref().unwrap_or("")),
            false => end.report.as_deref().map(Json::string).unwrap_or_default(),
        },
        error: error_of(end),
        summary: summary_of(end),
        duration_ms: end.duration_ms,
        exit_code: end.exit_code,
        background: Some(false),
        ..ToolResult::default()
    }
}

/// What is told of a command that ended, in place of that it runs: what it printed is not known.
fn said_at_end(end: &TaskEnd) -> String {
    if let Some(code) = end.exit_code {
        return format!("It ran in the background and ended with exit code {code}.");
    }
    match end.status.as_str() {
        "killed" | "stopped" | "cancelled" => "It ran in the background until it was stopped.",
        "failed" => "It ran in the background and failed.",
        _ => "It ran in the background and ended.",
    }
    .to_owned()
}

/// Nothing tells how it ended.
fn lost(emitter: &mut Emitter, left: &LeftRunning) {
    let result = lost_result(&left.call_id);
    emitter.add_as(&format!("{}:lost", left.call_id), &left.place, result);
}

/// The second result of a call that left something in the background, where nothing tells how that ended.
pub(crate) fn lost_result(call_id: &str) -> ToolResult {
    ToolResult {
        tool_call_id: call_id.to_owned(),
        error: Some(ToolError {
            code: Some("no_result".to_owned()),
            message: "its end is not recorded".to_owned(),
            extra: Extra::default(),
        }),
        background: Some(false),
        ..ToolResult::default()
    }
}

fn error_of(end: &TaskEnd) -> Option<ToolError> {
    let code = match (end.status.as_str(), end.exit_code) {
        ("killed" | "stopped" | "cancelled", _) => "interrupted",
        (_, Some(code)) if code != 0 => "exit_code",
        ("failed", _) => "failed",
        _ => return None,
    };
    let message = end.summary.clone();
    Some(ToolError {
        code: Some(code.to_owned()),
        message: message.unwrap_or_else(|| format!("the task is {}", end.status)),
        extra: Extra::default(),
    })
}

fn summary_of(end: &TaskEnd) -> Option<String> {
    if let Some(code) = end.exit_code {
        return Some(format!("exit {code}"));
    }
    if let (Some(n_calls), Some(n_tokens)) = (end.n_tool_calls, end.n_tokens) {
        return Some(format!(
            "{}, {}",
            counted(n_calls, "tool call", "tool calls"),
            counted(n_tokens, "token", "tokens")
        ));
    }
    (end.status != "completed").then(|| end.status.clone())
}
