//! What Gemini CLI's tools are: their kind, a title for a call, a summary of its result, what they plan and edit.

use chat_event::payload::Plan;
use serde_json::Value;

use crate::tool;
use crate::value::{list_of, str_of};
use crate::words::{counted, one_line};

/// The kind of a tool, after `design/events.md`.
pub(crate) fn kind(name: &str) -> &'static str {
    match name {
        "read_file" | "read_many_files" => "read",
        "replace" | "write_file" | "edit" => "edit",
        "grep_search" | "search_file_content" | "glob" | "list_directory" | "codebase_search" => {
            "search"
        }
        "run_shell_command" | "run_command" => "execute",
        "web_fetch" | "google_web_search" => "fetch",
        "invoke_agent" | "delegate_to_agent" | "codebase_investigator" => "agent",
        "write_todos" | "enter_plan_mode" | "exit_plan_mode" => "plan",
        _ => "other",
    }
}

/// One line for a call.
pub(crate) fn title(name: &str, args: &Value) -> Option<String> {
    if name == "write_todos" {
        return Some(counted(list_of(args, "todos").len(), "entry", "entries"));
    }
    let text = [
        "command",
        "file_path",
        "absolute_path",
        "path",
        "dir_path",
        "pattern",
        "query",
        "url",
        "prompt",
        "description",
    ]
    .iter()
    .find_map(|key| str_of(args, key));
    text.map(one_line).filter(|line| !line.is_empty())
}

/// One line for a result that is no failure.
pub(crate) fn summary(output: &str) -> Option<String> {
    let lines = output.trim_end().lines().count();
    match lines {
        0 => None,
        1 => Some(one_line(output)),
        _ => Some(counted(lines, "line", "lines")),
    }
}

/// The file that a call changes.
pub(crate) fn edited_path<'a>(name: &str, args: &'a Value) -> Option<&'a str> {
    if kind(name) != "edit" {
        return None;
    }
    ["file_path", "absolute_path", "path"]
        .iter()
        .find_map(|key| str_of(args, key))
}

/// The list that a call of `write_todos` writes.
pub(crate) fn plan(name: &str, args: &Value) -> Option<Plan> {
    if name != "write_todos" {
        return None;
    }
    Some(tool::todo_list(list_of(args, "todos"), "description"))
}
