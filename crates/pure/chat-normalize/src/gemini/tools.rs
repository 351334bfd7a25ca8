//! What the tools of Gemini CLI and of Qwen Code, which grew out of it, are: their kind, a title for a call, a summary of its
//! result, what they plan and edit.

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
        "web_fetch" | "google_web_search" | "web_search" => "fetch",
        "invoke_agent" | "delegate_to_agent" | "codebase_investigator" | "agent" | "task" => {
            "agent"
        }
        "write_todos" | "todo_write" | "task_create" | "task_update" | "task_list"
        | "enter_plan_mode" | "exit_plan_mode" => "plan",
        _ => "other",
    }
}

/// One line for a call.
pub(crate) fn title(name: &str, args: &Value) -> Option<String> {
    if matches!(name, "write_todos" | "todo_write") {
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

/// The file that a call changes.
pub(crate) fn edited_path<'a>(name: &str, args: &'a Value) -> Option<&'a str> {
    if kind(name) != "edit" {
        return None;
    }
    ["file_path", "absolute_path", "path"]
        .iter()
        .find_map(|key| str_of(args, key))
}

/// The list that a call of `write_todos`, or of `todo_write`, writes.
pub(crate) fn plan(name: &str, args: &Value) -> Option<Plan> {
    let words = match name {
        "write_todos" => "description",
        "todo_write" => "content",
        _ => return None,
    };
    Some(tool::todo_list(list_of(args, "todos"), words))
}
