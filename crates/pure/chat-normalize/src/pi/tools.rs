//! What Pi's tools are: their kind, a title for a call, a summary of its result.

use serde_json::Value;

use crate::value::{list_of, str_of};
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
        // Of an agent, and of a script that calls tools.
        "task",
        "code",
    ];
    let text = keys.iter().find_map(|key| str_of(args, key));
    let line = text.map(one_line).or_else(|| agents(args));
    line.filter(|line| !line.is_empty())
}

/// The names of the agents that one call starts.
fn agents(args: &Value) -> Option<String> {
    let tasks = ["tasks", "chain"].iter().flat_map(|key| list_of(args, key));
    let names: Vec<&str> = tasks.filter_map(|task| str_of(task, "agent")).collect();
    (!names.is_empty()).then(|| one_line(&names.join(", ")))
}

/// The file that a call changes.
pub(crate) fn edited_path<'a>(name: &str, args: &'a Value) -> Option<&'a str> {
    if kind(name) != "edit" {
        return None;
    }
    str_of(args, "path").or_else(|| str_of(args, "file_path"))
}

/// The exit code of a command: what the program says of it beside the output, else what a failed one's output names.
pub(crate) fn exit_code(name: &str, structured: Option<&Value>, output: &str) -> Option<i64> {
    if name != "bash" {
        return None;
    }
    let told = structured.and_then(|told| told.get("exit_code")?.as_i64());
    told.or_else(|| {
        let (_, code) = output.rsplit_once("Command exited with code ")?;
        code.trim_end().parse().ok()
    })
}
