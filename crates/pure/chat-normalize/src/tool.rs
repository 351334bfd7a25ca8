//! Tools of which only the name is known: protocols carry the tools of any agent.

use chat_event::payload::{Plan, PlanEntry, ToolError, ToolResult};
use chat_event::{Extra, Json};
use serde_json::Value;

use crate::emit::cut;
use crate::value::str_of;
use crate::{claude, opencode};

/// The longest message of an error; the whole stands in the result.
const MAX_ERROR_BYTES: usize = 2000;

/// Tools of several agents that look after a command that runs, or end it: it was counted where it was started.
const OF_WHAT_RUNS: [&str; 8] = [
    "write_stdin",
    "read_bash",
    "write_bash",
    "stop_bash",
    "list_bash",
    "get_terminal_output",
    "kill_terminal",
    "kill_shell",
];

/// The kind of the tool `name`: as the agents that are known name theirs, else by the words in it.
pub(crate) fn kind(name: &str) -> &'static str {
    let known = claude::tool_kind(name);
    if known != "other" {
        return known;
    }
    let known = opencode::tool_kind(name);
    if known != "other" {
        return known;
    }
    if OF_WHAT_RUNS.contains(&name) {
        return "other";
    }
    let lower = name.to_ascii_lowercase();
    let has = |words: &[&str]| {
        lower
            .split(|c: char| !c.is_ascii_alphanumeric())
            .any(|word| words.contains(&word))
    };
    if has(&[
        "bash", "shell", "exec", "execute", "run", "command", "terminal",
    ]) {
        "execute"
    } else if has(&["edit", "write", "patch", "replace", "create", "delete"]) {
        "edit"
    } else if has(&["fetch", "http", "url", "browse", "download"]) {
        "fetch"
    } else if has(&["search", "grep", "glob", "find", "list"]) {
        "search"
    } else if has(&["read", "view", "cat", "open"]) {
        "read"
    } else if has(&["agent", "subagent", "task", "delegate"]) {
        "agent"
    } else if has(&["plan", "todo"]) {
        "plan"
    } else if has(&["think"]) {
        "think"
    } else {
        "other"
    }
}

/// One line for a call of the tool `name`.
pub(crate) fn title(name: &str, args: &Value) -> Option<String> {
    claude::tool_title(name, args).or_else(|| opencode::tool_title(name, args))
}

/// Why a tool failed.
pub(crate) fn error(code: Option<&str>, message: &str) -> ToolError {
    ToolError {
        code: code.map(str::to_owned),
        message: cut(message, MAX_ERROR_BYTES).to_owned(),
        extra: Extra::default(),
    }
}

/// What stands beside a result that has these attachments: `[{name?, mediaType, data | ref}]`.
pub(crate) fn attached(attachments: Vec<Value>) -> Extra {
    let mut extra = Extra::default();
    if !attachments.is_empty() {
        extra.insert("attachments", Json::from(Value::Array(attachments)));
    }
    extra
}

/// What a call lists that is to be done; what each entry says stands under `words`.
pub(crate) fn todo_list(entries: &[Value], words: &str) -> Plan {
    let entries = entries.iter().map(|entry| PlanEntry {
        content: str_of(entry, words).unwrap_or("").to_owned(),
        status: match str_of(entry, "status") {
            // An entry that was given up is not to be done any more.
            Some("done" | "completed" | "cancelled") => "completed",
            Some("in_progress" | "in-progress") => "in_progress",
            _ => "pending",
        }
        .to_owned(),
        extra: Extra::default(),
    });
    Plan {
        entries: entries.collect(),
        extra: Extra::default(),
    }
}

/// The result of a call to which none came.
pub(crate) fn unanswered(call_id: &str, interrupted: bool) -> ToolResult {
    if interrupted {
        without_result(call_id, "interrupted", "stopped before it ended")
    } else {
        without_result(call_id, "no_result", "no result recorded")
    }
}

/// The result of a call whose input was not whole when its source stopped.
pub(crate) fn cut_off(call_id: &str) -> ToolResult {
    let message = "the call was cut off before its input was whole";
    without_result(call_id, "no_result", message)
}

/// The result of a call that was refused, to which none came.
pub(crate) fn refused(call_id: &str) -> ToolResult {
    without_result(call_id, "rejected", "the call was rejected")
}

fn without_result(call_id: &str, code: &str, message: &str) -> ToolResult {
    ToolResult {
        tool_call_id: call_id.to_owned(),
        result: Json::string(""),
        error: Some(error(Some(code), message)),
        ..ToolResult::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_after_a_command_is_none() {
        assert_eq!(kind("run_in_terminal"), "execute");
        assert_eq!(kind("my-shell"), "execute");
        for name in OF_WHAT_RUNS.into_iter().chain(["BashOutput", "job_output"]) {
            assert_eq!(kind(name), "other", "{name}");
        }
    }
}
