//! What OpenCode's tools are: their kind, a title for a call, a summary of its result.

use serde_json::Value;

use crate::value::{count_of, list_of, str_of};
use crate::words::{counted, one_line};

/// The kind of a tool, after `design/events.md`.
pub(crate) fn kind(name: &str) -> &'static str {
    match name {
        "read" => "read",
        "edit" | "write" | "multiedit" | "apply_patch" | "patch" => "edit",
        "grep" | "glob" | "list" | "ls" | "lsp" | "codesearch" => "search",
        "bash" | "batch" => "execute",
        "webfetch" | "websearch" => "fetch",
        "task" => "agent",
        "todowrite" | "todoread" | "plan_enter" | "plan_exit" => "plan",
        _ => "other",
    }
}

/// One line for a call.
pub(crate) fn title(name: &str, args: &Value) -> Option<String> {
    let text = match name {
        "bash" => str_of(args, "command"),
        "read" | "edit" | "write" | "multiedit" => str_of(args, "filePath"),
        "grep" | "glob" => str_of(args, "pattern"),
        "webfetch" => str_of(args, "url"),
        "task" => str_of(args, "description"),
        "question" => list_of(args, "questions")
            .first()
            .and_then(|question| str_of(question, "question")),
        "todowrite" => return Some(counted(list_of(args, "todos").len(), "entry", "entries")),
        _ => [
            "description",
            "filePath",
            "path",
            "query",
            "command",
            "url",
            "name",
        ]
        .iter()
        .find_map(|key| str_of(args, key)),
    };
    text.map(one_line).filter(|line| !line.is_empty())
}

/// One line for a result that is no failure.
pub(crate) fn summary(name: &str, state: &Value, output: &str) -> Option<String> {
    let metadata = state.get("metadata").unwrap_or(&Value::Null);
    let input = state.get("input").unwrap_or(&Value::Null);
    match name {
        "bash" => {
            let printed = str_of(metadata, "output").unwrap_or(output);
            let n_lines = match printed {
                "(no output)" => 0,
                _ => printed.lines().count(),
            };
            let lines = if n_lines == 0 {
                "no output".to_owned()
            } else {
                counted(n_lines, "line", "lines")
            };
            Some(match metadata.get("exit").and_then(Value::as_i64) {
                Some(code) => format!("exit {code}, {lines}"),
                None => lines,
            })
        }
        "read" => {
            let display = metadata.get("display").unwrap_or(&Value::Null);
            let total = count_of(display, "totalLines")?;
            let first = count_of(display, "lineStart").unwrap_or(1);
            let shown = count_of(display, "lineEnd")
                .map_or(total, |last| last.saturating_add(1).saturating_sub(first));
            let lines = counted(shown, "line", "lines");
            Some(if shown == 0 {
                "empty".to_owned()
            } else if shown < total {
                format!("{lines} of {total}")
            } else {
                lines
            })
        }
        "edit" | "multiedit" => {
            let changed = metadata.get("filediff").unwrap_or(&Value::Null);
            let added = count_of(changed, "additions")?;
            let removed = count_of(changed, "deletions")?;
            Some(format!("+{added} −{removed}"))
        }
        "write" => {
            let n_lines = str_of(input, "content").map_or(0, |content| content.lines().count());
            let verb = if metadata.get("exists").and_then(Value::as_bool) == Some(true) {
                "replaced"
            } else {
                "wrote"
            };
            Some(format!("{verb} {}", counted(n_lines, "line", "lines")))
        }
        "grep" => count_of(metadata, "matches").map(|n| counted(n, "match", "matches")),
        "glob" | "list" => count_of(metadata, "count").map(|n| counted(n, "file", "files")),
        "todowrite" => Some(counted(list_of(input, "todos").len(), "entry", "entries")),
        "task" => output
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty() && !line.starts_with('<'))
            .map(one_line),
        _ => output
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .map(one_line),
    }
}
