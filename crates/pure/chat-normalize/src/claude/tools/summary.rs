//! One line for a result, a tool at a time: what a reader wants to know without opening it.

use serde_json::Value;

use super::background::is_launched;
use crate::value::{count_of, is_true, list_of, str_of, text_of};
use crate::words::{counted, one_line};

/// One line for a result: what a reader wants to know without opening it.
pub(crate) fn summary(
    name: &str,
    args: &Value,
    details: Option<&Value>,
    text: &str,
    failed: bool,
    exit_code: Option<i64>,
) -> Option<String> {
    let details = details
        .filter(|details| details.is_object())
        .unwrap_or(&Value::Null);
    if name == "Bash" {
        return Some(bash_summary(args, details, text, exit_code, failed));
    }
    if failed {
        let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
        return Some(one_line(
            line.trim_start_matches("<tool_use_error>")
                .trim_end_matches("</tool_use_error>"),
        ));
    }
    if is_launched(details) {
        return Some("started in the background".to_owned());
    }
    match name {
        "Read" => Some(read_summary(details, text)),
        "Write" => {
            let lines = str_of(args, "content").map_or(0, |content| content.lines().count());
            let verb = if str_of(details, "type") == Some("update") {
                "replaced"
            } else {
                "wrote"
            };
            Some(format!("{verb} {}", counted(lines, "line", "lines")))
        }
        "Edit" | "MultiEdit" => Some(edit_summary(details)),
        "NotebookEdit" => Some(match str_of(details, "edit_mode") {
            Some("insert") => "inserted a cell".to_owned(),
            Some("delete") => "deleted a cell".to_owned(),
            _ => "replaced a cell".to_owned(),
        }),
        "Grep" | "Glob" => search_summary(name, details, text),
        "WebFetch" => count_of(details, "code").map(|code| {
            let n_bytes = count_of(details, "bytes").unwrap_or(0);
            format!("HTTP {code}, {}", counted(n_bytes, "byte", "bytes"))
        }),
        "WebSearch" => Some(counted(n_found(details), "result", "results")),
        "Task" | "Agent" => agent_summary(details, text),
        "TodoWrite" => Some(counted(list_of(args, "todos").len(), "entry", "entries")),
        "AskUserQuestion" if details.get("answers").is_some_and(Value::is_object) => {
            Some(answers_summary(details))
        }
        "ExitPlanMode" => Some("approved".to_owned()),
        _ => text
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .map(one_line),
    }
}

/// How many pages a search found: beside the lists of them stands what a model says of them.
fn n_found(details: &Value) -> usize {
    let results = list_of(details, "results").iter();
    results.map(|result| list_of(result, "content").len()).sum()
}

/// What was answered, without the words around it that are for the model.
fn answers_summary(details: &Value) -> String {
    let answers = details.get("answers").and_then(Value::as_object);
    let answers = answers.into_iter().flatten();
    let texts: Vec<&str> = answers.filter_map(|(_, answer)| answer.as_str()).collect();
    one_line(&texts.join(" · "))
}

fn bash_summary(
    args: &Value,
    details: &Value,
    text: &str,
    exit_code: Option<i64>,
    failed: bool,
) -> String {
    let n_lines = if text == "(Bash completed with no output)" {
        0
    } else {
        text.lines().count()
    };
    // The first line of a failure is its exit code.
    let n_lines = if failed && exit_code.is_some() {
        n_lines.saturating_sub(1)
    } else {
        n_lines
    };
    let lines = if n_lines == 0 {
        "no output".to_owned()
    } else {
        counted(n_lines, "line", "lines")
    };
    if text_of(details, "backgroundTaskId").is_some() {
        let asked_for = is_true(args, "run_in_background");
        let verb = if asked_for { "started in" } else { "moved to" };
        return format!("{verb} the background");
    }
    if let Some(bytes) = count_of(details, "persistedOutputSize") {
        let bytes = counted(bytes, "byte", "bytes");
        return format!("exit {}, {bytes}", exit_code.unwrap_or(0));
    }
    if is_true(details, "interrupted") {
        return format!("interrupted, {lines}");
    }
    match exit_code {
        Some(code) => format!("exit {code}, {lines}"),
        // It is why the command did not run, or all that it said.
        None if failed && n_lines == 1 => one_line(text),
        None if failed => format!("failed, {lines}"),
        None => lines,
    }
}

fn read_summary(details: &Value, text: &str) -> String {
    let file = details.get("file").unwrap_or(&Value::Null);
    match str_of(details, "type") {
        Some("image") => return "image".to_owned(),
        Some("pdf") => return "PDF".to_owned(),
        Some("notebook") => return counted(list_of(file, "cells").len(), "cell", "cells"),
        Some(_) | None => {}
    }
    let total = count_of(file, "totalLines").unwrap_or(0);
    let n_lines = match str_of(file, "content") {
        Some(content) if ends_within(file, total) => content.split('\n').count(),
        Some(content) => content.lines().count(),
        None => n_numbered(text),
    };
    if n_lines == 0 {
        return "empty".to_owned();
    }
    let lines = counted(n_lines, "line", "lines");
    // The program counts the empty line behind the last newline.
    if total > n_lines as u64 + 1 {
        format!("{lines} of {total}")
    } else {
        lines
    }
}

/// Whether what was read ends before the file of `total` lines does: then an empty last line is one of the file's, and not what
/// stands behind its last newline.
fn ends_within(file: &Value, total: u64) -> bool {
    let first = count_of(file, "startLine").unwrap_or(1);
    let n_told = count_of(file, "numLines");
    n_told.is_some_and(|n_told| first.saturating_add(n_told) <= total)
}

/// How many lines of a file are told with their numbers, as of what sub-agents read: what stands behind the last newline is
/// numbered, and is no line.
fn n_numbered(text: &str) -> usize {
    let lines = text.lines();
    let lines = lines.take_while(|line| !line.contains("<system-reminder>"));
    let mut lines = lines.filter(|line| !line.is_empty()).peekable();
    let mut n_lines = 0;
    while let Some(line) = lines.next() {
        let number = line.trim_start_matches(' ');
        let rest = number.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_behind = lines.peek().is_none() && rest != number && matches!(rest, "\t" | "→");
        n_lines += usize::from(!is_behind);
    }
    n_lines
}

fn edit_summary(details: &Value) -> String {
    let lines = || {
        list_of(details, "structuredPatch")
            .iter()
            .flat_map(|hunk| list_of(hunk, "lines"))
            .filter_map(Value::as_str)
    };
    if lines().next().is_none() {
        return "edited".to_owned();
    }
    let added = lines().filter(|line| line.starts_with('+')).count();
    let removed = lines().filter(|line| line.starts_with('-')).count();
    format!("+{added} −{removed}")
}

fn search_summary(name: &str, details: &Value, text: &str) -> Option<String> {
    let n_files =
        count_of(details, "numFiles").unwrap_or(list_of(details, "filenames").len() as u64);
    match str_of(details, "mode") {
        Some("content") => Some(counted(
            count_of(details, "numLines").unwrap_or(0),
            "line",
            "lines",
        )),
        Some("count") => Some(format!(
            "{} in {}",
            counted(
                count_of(details, "numMatches").unwrap_or(0),
                "match",
                "matches"
            ),
            counted(n_files, "file", "files")
        )),
        Some(_) => Some(counted(n_files, "file", "files")),
        None if details.get("filenames").is_some() => Some(counted(n_files, "file", "files")),
        None => found_in(name, text),
    }
}

/// The same where only the text tells it, as of what sub-agents look for: a count, or what was found, a line each.
fn found_in(name: &str, text: &str) -> Option<String> {
    let first = text.lines().next()?.trim();
    if matches!(first, "No files found" | "No matches found") {
        return Some("0 files".to_owned());
    }
    if let Some(count) = first.strip_prefix("Found ") {
        return Some(one_line(count));
    }
    let is_found = |line: &&str| !line.trim().is_empty() && !line.starts_with('(');
    let n_found = text.lines().filter(is_found).count();
    Some(match name {
        "Glob" => counted(n_found, "file", "files"),
        _ => counted(n_found, "line", "lines"),
    })
}

fn agent_summary(details: &Value, text: &str) -> Option<String> {
    match (
        count_of(details, "totalToolUseCount"),
        count_of(details, "totalTokens"),
    ) {
        (Some(tools), Some(tokens)) => Some(format!(
            "{}, {}",
            counted(tools, "tool call", "tool calls"),
            counted(tokens, "token", "tokens")
        )),
        _ => text
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .map(one_line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the program numbers what it read: the empty line behind the last newline is numbered, too.
    #[test]
    fn a_file_has_as_many_lines_whether_its_text_is_told_or_only_what_the_model_was_told() {
        for (content, numbered) in [
            (
                "# Demo\n\nA project.\n",
                "1\t# Demo\n2\t\n3\tA project.\n4\t",
            ),
            ("# Demo\n\nA project.", "1\t# Demo\n2\t\n3\tA project."),
            ("one\n", "     1→one\n     2→"),
            (
                "one\n",
                "1\tone\n2\t\n\n<system-reminder>\n12\t\n</system-reminder>\n",
            ),
            ("12\t", "1\t12\t"),
            ("\n", "1\t\n2\t"),
            ("", ""),
        ] {
            let details = serde_json::json!({"type": "text", "file": {"content": content}});
            let told = read_summary(&details, numbered);
            assert_eq!(read_summary(&Value::Null, numbered), told, "{numbered:?}");
        }
    }
    /// Lines 216 to 255 of a file, as in fixtures/claude-transcript/entireio__cli__bc-b1ad8ffbac-0.jsonl.
    #[test]
    fn an_empty_line_at_the_end_of_what_was_read_counts_unless_it_is_the_end_of_the_file() {
        let read = |first: u64, content: &str, total: u64| {
            let n_lines = content.split('\n').count();
            let file = serde_json::json!({"content": content, "numLines": n_lines, "startLine": first, "totalLines": total});
            read_summary(&serde_json::json!({"type": "text", "file": file}), "")
        };
        assert_eq!(read(216, "}\n\t}\n", 959), "3 lines of 959");
        assert_eq!(read(1, "\n", 9), "2 lines of 9");
        assert_eq!(read(957, "}\n}\n", 959), "2 lines of 959");
        assert_eq!(read(1, "}\n}\n", 3), "2 lines");
        assert_eq!(read(1, "", 9), "1 line of 9");
        assert_eq!(read(1, "", 1), "empty");
    }
}
