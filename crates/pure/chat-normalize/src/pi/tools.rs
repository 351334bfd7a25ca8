//! What Pi's tools are: their kind, a title for a call, a summary of its result.

use serde_json::Value;

use crate::value::str_of;
use crate::words::one_line;

/// The kind of a tool, after `design/events.md`.
pub(crate) fn kind(name: &str) -> &'static str {
    match name {
        "read" => "read",
        "edit" | "write" => "edit",
        "grep" | "find" | "ls" | "glob" => "search",
        "bash" => "execute",
        "fetch" | "web_fetch" | "web_search" => "fetch",
        "subagent" | "task" => "agent",
        "todo" | "plan" => "plan",
        _ => "other",
    }
}

/// One line for a call.
pub(crate) fn title(args: &Value) -> Option<String> {
    let keys = [
        "command",
        "path",
        "file_path",
        "pattern",
        "query",
        "url",
        "description",
    ];
    let text = keys.iter().find_map(|key| str_of(args, key));
    text.map(one_line).filter(|line| !line.is_empty())
}

/// The file that a call changes.
pub(crate) fn edited_path<'a>(name: &str, args: &'a Value) -> Option<&'a str> {
    if kind(name) != "edit" {
        return None;
    }
    str_of(args, "path").or_else(|| str_of(args, "file_path"))
}

/// The exit code that a failed command's output names.
pub(crate) fn exit_code(name: &str, output: &str) -> Option<i64> {
    if name != "bash" {
        return None;
    }
    let (_, code) = output.rsplit_once("Command exited with code ")?;
    code.trim_end().parse().ok()
}
