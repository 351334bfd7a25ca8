//! What OpenHands' tools are: their kind, a title for a call, the plan it writes, the edit its result tells.

use chat_diff::{Change, diff_texts, from_unified};
use chat_event::payload::{FileEdit, Plan};
use serde_json::{Map, Value};

use crate::edit::{file_edit, named_edit, shown_path, with_old_text};
use crate::tool;
use crate::track::Call;
use crate::value::{is_true, list_of, str_of, text_of};
use crate::words::one_line;

/// The kind of a tool, by the action or the tool's name.
pub(crate) fn kind(name: &str, args: &Value) -> &'static str {
    match name {
        // One tool reads and edits.
        "str_replace_editor" | "file_editor" if str_of(args, "command") == Some("view") => "read",
        "read" => "read",
        "edit" | "write" | "str_replace_editor" | "file_editor" | "apply_patch" | "edit_file" => {
            "edit"
        }
        "grep" | "glob" | "search" => "search",
        "run" | "run_ipython" | "execute_bash" | "terminal" | "execute_ipython_cell" => "execute",
        "browse" | "browse_interactive" | "browser" | "fetch" => "fetch",
        "think" => "think",
        "delegate" | "task" => "agent",
        "task_tracking" | "task_tracker" => "plan",
        _ if name.starts_with("browser_") => "fetch",
        _ => "other",
    }
}

/// One line for a call.
pub(crate) fn title(args: &Value) -> Option<String> {
    let keys = [
        "path",
        "file_path",
        "command",
        "code",
        "url",
        "pattern",
        "query",
        "agent",
        "name",
    ];
    let text = keys.iter().find_map(|key| str_of(args, key));
    text.map(one_line).filter(|line| !line.is_empty())
}

/// The arguments of an action without what the program adds for itself.
pub(crate) fn args_of(members: &Map<String, Value>) -> Value {
    const OWN: [&str; 16] = [
        "action",
        "action_risk",
        "blocking",
        "confirmation_state",
        "hidden",
        "impl_source",
        "is_confirmed",
        "is_input",
        "is_static",
        "keep_prompt",
        "kernel_init_code",
        "kind",
        "security_risk",
        "source",
        "thought",
        "translated_ipython_code",
    ];
    let kept = members
        .iter()
        .filter(|(name, _)| !OWN.contains(&name.as_str()));
    Value::Object(
        kept.map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    )
}

/// The list that a call of the task tracker writes.
pub(crate) fn plan(name: &str, args: &Value) -> Option<Plan> {
    let tasks = args.get("task_list").and_then(Value::as_array)?;
    if kind(name, args) != "plan" {
        return None;
    }
    Some(tool::todo_list(tasks, "title"))
}

/// The edit that an observation tells; `told` holds `path`, `prev_exist`, `old_content`, `new_content`.
pub(crate) fn edit(
    call: &Call,
    told: &Value,
    unified: &str,
    cwd: Option<&str>,
) -> Option<FileEdit> {
    if kind(&call.name, &call.args) != "edit" {
        return None;
    }
    let path = text_of(told, "path").or_else(|| text_of(&call.args, "path"))?;
    let shown = shown_path(cwd, path);
    let known = told.get("prev_exist").is_some();
    let was_there = is_true(told, "prev_exist");
    let old = str_of(told, "old_content").filter(|_| was_there);
    if let Some(new) = str_of(told, "new_content")
        && (old.is_some() || (known && !was_there))
    {
        let diff = diff_texts(&shown, old, Some(new));
        return Some(with_old_text(file_edit(&call.id, path, &diff), old));
    }
    let change = if known && !was_there {
        Change::Created
    } else {
        Change::Modified
    };
    match from_unified(&shown, None, change, unified) {
        Some(diff) => Some(file_edit(&call.id, path, &diff)),
        None => Some(FileEdit {
            lines_added: u32::try_from(list_of(told, "lines").len()).unwrap_or(u32::MAX),
            ..named_edit(&call.id, path, change)
        }),
    }
}
