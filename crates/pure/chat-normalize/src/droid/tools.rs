//! What Droid's tools are: their kind, a title for a call, what they plan.

use chat_event::Extra;
use chat_event::payload::{Plan, PlanEntry};
use serde_json::Value;

use crate::codex::of_patch_text;
use crate::tool;
use crate::value::{list_of, text_of};
use crate::words::{counted, one_line};

/// The kind of a tool, after `design/events.md`.
pub(super) fn kind(name: &str) -> &'static str {
    match name {
        "Execute" | "Shell" => "execute",
        "Create" | "ApplyPatch" => "edit",
        "FetchUrl" => "fetch",
        "ExitSpecMode" => "plan",
        _ => tool::kind(name),
    }
}

/// One line for a call.
pub(super) fn title(name: &str, args: &Value) -> Option<String> {
    if name == "TodoWrite" {
        return plan(args).map(|plan| counted(plan.entries.len(), "entry", "entries"));
    }
    let patch = args.as_str().or_else(|| text_of(args, "input"));
    if let Some(changes) = patch.and_then(|text| of_patch_text(text, None)) {
        let paths: Vec<String> = changes.into_iter().map(|change| change.path).collect();
        return Some(one_line(&paths.join(", ")));
    }
    let text = [
        "command",
        "file_path",
        "path",
        "directory_path",
        "pattern",
        "query",
        "url",
        "description",
        "title",
    ]
    .iter()
    .find_map(|key| text_of(args, key));
    let patterns = || list_of(args, "patterns").first().and_then(Value::as_str);
    text.or_else(patterns).map(one_line)
}

/// The list that a call of `TodoWrite` writes, or a line of it on its own: entries, or lines as `1. [in_progress] Look`.
pub(super) fn plan(holder: &Value) -> Option<Plan> {
    let todos = holder.get("todos")?;
    match todos {
        Value::Array(entries) => Some(tool::todo_list(entries, "content")),
        Value::String(text) => Some(Plan {
            entries: text.lines().filter_map(entry).collect(),
            extra: Extra::default(),
        }),
        Value::Object(_) => plan(todos),
        _ => None,
    }
    .filter(|plan| !plan.entries.is_empty())
}

fn entry(line: &str) -> Option<PlanEntry> {
    let line = line.trim();
    let numbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let line = numbered.trim_start_matches(['.', '-', '*', ' ']);
    let (status, content) = match line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((status, content)) => (status.trim(), content.trim()),
        None => ("", line),
    };
    let status = match status {
        "completed" | "done" | "x" => "completed",
        "in_progress" => "in_progress",
        _ => "pending",
    };
    (!content.is_empty()).then(|| PlanEntry {
        content: content.to_owned(),
        status: status.to_owned(),
        extra: Extra::default(),
    })
}
