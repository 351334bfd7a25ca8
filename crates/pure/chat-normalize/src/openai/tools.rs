//! What tools are: their kind, and a title for a call. Clients name their tools as they like, so the names that agents
//! are known to use are asked for, and those of the tools that the services run themselves.

use std::fmt::Write as _;

use chat_event::shell::script_of_words;
use serde_json::Value;

use crate::value::{list_of, str_of, text_of};
use crate::words::one_line;
use crate::{claude, codex, opencode};

/// The kind of a tool, after `design/events.md`.
pub(crate) fn kind(name: &str) -> &'static str {
    match name {
        "shell" | "local_shell" | "code_interpreter" | "computer" | "execute_command"
        | "run_command" | "run_terminal_cmd" | "python" => "execute",
        "web_search" | "fetch" | "fetch_url" | "http_request" => "fetch",
        "file_search" | "tool_search" | "list_files" | "list_dir" | "list_directory"
        | "search_files" | "grep_search" | "file_search_tool" => "search",
        "apply_patch"
        | "str_replace_based_edit_tool"
        | "str_replace_editor"
        | "write_to_file"
        | "replace_in_file"
        | "create_file" => "edit",
        "view" | "open_file" | "view_image" => "read",
        _ => {
            let kinds = [
                claude::tool_kind(name),
                opencode::tool_kind(name),
                codex::tool_kind(name),
            ];
            kinds
                .into_iter()
                .find(|kind| *kind != "other")
                .unwrap_or("other")
        }
    }
}

/// One line for a call.
pub(crate) fn title(name: &str, args: &Value) -> Option<String> {
    let operation = args.get("operation").unwrap_or(&Value::Null);
    if let Some(path) = text_of(operation, "path") {
        return Some(one_line(path));
    }
    let action = args.get("action").unwrap_or(args);
    if let Some(command) = command_of(action) {
        return Some(one_line(&command)).filter(|line| !line.is_empty());
    }
    if let Value::String(text) = args {
        let named = |line: &str| {
            ["*** Update File: ", "*** Add File: ", "*** Delete File: "]
                .iter()
                .find_map(|mark| line.strip_prefix(mark).map(str::to_owned))
        };
        let line = text
            .lines()
            .find_map(named)
            .unwrap_or_else(|| one_line(text));
        return Some(one_line(&line)).filter(|line| !line.is_empty());
    }
    let said = [
        "code",
        "query",
        "queries",
        "path",
        "pattern",
        "url",
        "prompt",
        "server_label",
    ]
    .iter()
    .find_map(|key| match action.get(key) {
        Some(Value::String(text)) => Some(text.as_str()),
        Some(Value::Array(items)) => items.first().and_then(Value::as_str),
        Some(_) | None => None,
    });
    claude::tool_title(name, args)
        .or_else(|| said.map(one_line))
        .filter(|line| !line.is_empty())
}

/// A command line, its words, or a list of command lines.
fn command_of(action: &Value) -> Option<String> {
    let words = |items: &[Value], between: &str| {
        let words: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
        script_of_words(&words).map_or_else(|| words.join(between), str::to_owned)
    };
    match action.get("command") {
        Some(Value::String(command)) => Some(command.clone()),
        Some(Value::Array(items)) => Some(words(items, " ")),
        Some(_) | None => match list_of(action, "commands") {
            [] => None,
            commands => Some(words(commands, "; ")),
        },
    }
}

/// The text of the patch that a call applies.
pub(super) fn patch_of(name: &str, args: &Value) -> Option<String> {
    if name != "apply_patch" {
        return None;
    }
    if let Some(operation) = args.get("operation") {
        return patch_of_operation(operation);
    }
    let text = args
        .as_str()
        .or_else(|| ["input", "patch"].iter().find_map(|key| str_of(args, key)))?;
    Some(text.to_owned())
}

/// An `apply_patch_call`'s operation as the text that patches have elsewhere.
fn patch_of_operation(operation: &Value) -> Option<String> {
    let path = text_of(operation, "path")?;
    let word = match str_of(operation, "type")? {
        "create_file" => "Add",
        "delete_file" => "Delete",
        "update_file" => "Update",
        _ => return None,
    };
    let mut patch = format!("*** Begin Patch\n*** {word} File: {path}\n");
    let diff = str_of(operation, "diff").unwrap_or("");
    let begins_with_hunk = diff.starts_with("@@");
    if word == "Update" && !begins_with_hunk && !diff.is_empty() {
        patch.push_str("@@\n");
    }
    for line in diff.lines() {
        // Writing to a string cannot fail.
        let _ = writeln!(patch, "{line}");
    }
    patch.push_str("*** End Patch\n");
    Some(patch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn calls_have_a_line_and_a_kind() {
        assert_eq!(kind("bash"), "execute");
        assert_eq!(kind("todowrite"), "plan");
        assert_eq!(kind("get_weather"), "other");
        let title = |name: &str, args: Value| title(name, &args).unwrap_or_default();
        assert_eq!(
            title("shell", json!({"action": {"commands": ["ls", "pwd"]}})),
            "ls; pwd"
        );
        assert_eq!(
            title(
                "local_shell",
                json!({"action": {"command": ["bash", "-lc", "ls"]}})
            ),
            "ls"
        );
        assert_eq!(
            title(
                "web_search",
                json!({"action": {"type": "search", "query": "q"}})
            ),
            "q"
        );
        assert_eq!(
            title(
                "apply_patch",
                json!("*** Begin Patch\n*** Add File: a\n+x\n")
            ),
            "a"
        );
        assert_eq!(title("x", json!({})), "");
    }
}
