//! What Crush's tools are: their kind, a title for a call, what its result says in a line, what it changed.

use chat_diff::{Change, diff_texts, from_unified};
use chat_event::payload::FileEdit;
use serde_json::Value;

use crate::edit::{file_edit, named_edit, shown_path, with_old_text};
use crate::tool;
use crate::track::Call;
use crate::untold_edits::edit_by_args;
use crate::value::{count_of, list_of, str_of, text_of};
use crate::words::{counted, one_line, printed};

/// Tools that start an agent with a session of its own.
pub(super) const AGENTS: [&str; 2] = ["agent", "agentic_fetch"];

/// The kind of a tool, after `design/events.md`.
pub(super) fn kind(name: &str) -> &'static str {
    match name {
        "bash" => "execute",
        "edit" | "multiedit" | "write" | "lsp_rename" | "lsp_replace_symbol" => "edit",
        "view" | "read_mcp_resource" => "read",
        "glob" | "grep" | "ls" | "sourcegraph" | "web_search" | "list_mcp_resources" => "search",
        "diagnostics" | "lsp_diagnostics" | "references" | "lsp_references" | "lsp_symbols"
        | "lsp_definition" | "lsp_call_hierarchy" => "search",
        "fetch" | "web_fetch" | "download" => "fetch",
        "agent" | "agentic_fetch" => "agent",
        "todos" => "plan",
        // What runs was counted where it was started.
        "job_output" | "job_kill" => "other",
        "question" | "crush_info" | "crush_logs" | "lsp_restart" => "other",
        // `mcp_SERVER_TOOL`
        _ => tool::kind(name.strip_prefix("mcp_").unwrap_or(name)),
    }
}

/// One line for a call.
pub(super) fn title(name: &str, args: &Value) -> Option<String> {
    let keys: &[&str] = match name {
        "bash" => &["command"],
        "todos" => {
            let n_entries = list_of(args, "todos").len();
            return Some(counted(n_entries, "entry", "entries"));
        }
        "question" => {
            let first = list_of(args, "questions").first()?;
            return text_of(first, "question").map(one_line);
        }
        "grep" | "glob" => &["pattern"],
        "agentic_fetch" => &["prompt", "url"],
        _ => &[
            "file_path",
            "path",
            "url",
            "uri",
            "query",
            "symbol",
            "prompt",
            "shell_id",
            "name",
            "mcp_name",
            "description",
        ],
    };
    keys.iter().find_map(|key| text_of(args, key)).map(one_line)
}

/// One line for a result that is no failure.
pub(super) fn summary(name: &str, text: &str, metadata: &Value) -> Option<String> {
    let count = |key: &str| count_of(metadata, key);
    match name {
        "bash" if text == "no output" => Some("no output".to_owned()),
        "grep" | "sourcegraph" => {
            count("number_of_matches").map(|n| counted(n, "match", "matches"))
        }
        "glob" | "ls" => count("number_of_files").map(|n| counted(n, "file", "files")),
        "todos" => {
            let (done, all) = (count("completed")?, count("total")?);
            Some(format!("{done} of {all} done"))
        }
        "view" => {
            let content = text_of(metadata, "content")?;
            Some(counted(content.lines().count(), "line", "lines"))
        }
        _ => None,
    }
    .or_else(|| printed(text))
}

/// What a call changed that went well; `None` where it is nothing.
pub(super) fn edit(call: &Call, cwd: Option<&str>, metadata: &Value) -> Option<FileEdit> {
    if kind(&call.name) != "edit" {
        return None;
    }
    let path = text_of(&call.args, "file_path").or_else(|| text_of(metadata, "file_path"))?;
    let shown = shown_path(cwd, path);
    let old = str_of(metadata, "old_content");
    let new = str_of(metadata, "new_content");
    if old.is_some() || new.is_some() {
        // An empty text is left out.
        let old = old.filter(|old| !old.is_empty());
        let diff = diff_texts(&shown, old, Some(new.unwrap_or("")));
        return Some(with_old_text(file_edit(&call.id, path, &diff), old));
    }
    let unified = text_of(metadata, "diff");
    let diff = unified.and_then(|text| {
        // A file that was empty before is taken for one that was not there.
        let is_new = text.lines().any(|line| line.starts_with("@@ -0,0 "));
        let change = if is_new {
            Change::Created
        } else {
            Change::Modified
        };
        from_unified(&shown, None, change, text)
    });
    if let Some(diff) = diff {
        return Some(file_edit(&call.id, path, &diff));
    }
    let edit = edit_by_args(&call.id, &call.name, &call.args, path);
    let is_known = edit.lines_added > 0 || edit.lines_removed > 0;
    Some(match is_known {
        true => edit,
        false => named_edit(&call.id, path, Change::Modified),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_after_a_command_is_none() {
        let kinds = ["bash", "job_output", "job_kill"].map(kind);
        assert_eq!(kinds, ["execute", "other", "other"]);
    }
}
