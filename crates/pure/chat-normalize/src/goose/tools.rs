//! What Goose's tools are: their kind, a title for a call, what a call changed.

use chat_diff::{Change, from_unified};
use chat_event::payload::FileEdit;
use serde_json::Value;

use crate::edit::{file_edit, piece_edit, shown_path};
use crate::tool;
use crate::track::Call;
use crate::untold_edits::edit_by_args;
use crate::value::{str_of, text_of};
use crate::words::one_line;

/// A tool's own name, without that of its extension: `developer__shell`.
fn own_name(name: &str) -> &str {
    name.rsplit("__").next().unwrap_or(name)
}

/// The kind of a tool, after `design/events.md`.
pub(super) fn kind(name: &str, args: &Value) -> &'static str {
    match own_name(name) {
        "text_editor" if str_of(args, "command") == Some("view") => "read",
        "text_editor" | "write" | "edit" | "edit_file" => "edit",
        "shell" => "execute",
        "tree" | "analyze" | "list_resources" => "search",
        "read_image" | "image_processor" | "read_resource" | "load_skill" | "load" => "read",
        "web_scrape" => "fetch",
        "todo_write" | "todo_read" => "plan",
        "subagent" | "delegate" | "execute_task" | "create_task" => "agent",
        own => tool::kind(own),
    }
}

/// One line for a call.
pub(super) fn title(name: &str, args: &Value) -> Option<String> {
    let keys: &[&str] = match own_name(name) {
        // Its command says what it does with a file.
        "text_editor" => &["path"],
        _ => &[
            "command",
            "path",
            "query",
            "pattern",
            "url",
            "uri",
            "instructions",
            "name",
            "source",
        ],
    };
    keys.iter().find_map(|key| text_of(args, key)).map(one_line)
}

/// What a call changed that says `result`; `None` where it is nothing.
pub(super) fn edit(call: &Call, cwd: Option<&str>, result: &str) -> Option<FileEdit> {
    if kind(&call.name, &call.args) != "edit" {
        return None;
    }
    let path = text_of(&call.args, "path")?;
    let command = str_of(&call.args, "command").unwrap_or("");
    if command == "undo_edit" {
        return Some(crate::edit::named_edit(&call.id, path, Change::Modified));
    }
    let shown = shown_path(cwd, path);
    let unified = text_of(&call.args, "diff");
    let unified = unified.and_then(|text| from_unified(&shown, None, Change::Modified, text));
    if let Some(diff) = unified {
        return Some(file_edit(&call.id, path, &diff));
    }
    let text = |key: &str| str_of(&call.args, key);
    let mut edit = match (text("before"), text("after"), command) {
        (Some(before), Some(after), _) => piece_edit(&call.id, path, &[(before, after)]),
        (.., "insert") => piece_edit(&call.id, path, &[("", text("new_str").unwrap_or(""))]),
        _ => edit_by_args(&call.id, own_name(&call.name), &call.args, path),
    };
    if result.trim_start().starts_with("Created ") {
        Change::Created.as_str().clone_into(&mut edit.change_type);
    }
    Some(edit)
}
