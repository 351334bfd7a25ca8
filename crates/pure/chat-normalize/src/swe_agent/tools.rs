//! What SWE-agent's commands are: its own ones by name, all others are a shell's. What an edit replaced is in `window`.

use serde_json::{Map, Value, json};

use super::window::Window;
use crate::value::text_of;
use crate::words::one_line;

/// The program's own commands, and the tools of the same names; all else is run by a shell.
const OWN: [&str; 19] = [
    "open",
    "goto",
    "scroll_up",
    "scroll_down",
    "view_image",
    "edit",
    "create",
    "insert",
    "edit_anthropic",
    "str_replace_editor",
    "find_file",
    "search_dir",
    "search_file",
    "filemap",
    "submit",
    "exit_cost",
    "exit_context",
    "exit_format",
    "exit_forfeit",
];

/// A command as it is shown.
pub(super) struct Spec {
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) title: Option<String>,
    pub(super) args: Value,
}

impl Spec {
    /// What a command is: with the name and the arguments of the model's call where it called a tool, else with those that
    /// its words give.
    pub(super) fn of(
        action: &str,
        name: Option<String>,
        args: Option<Value>,
        window: &Window,
    ) -> Self {
        let words = words(action);
        let own = words.first().filter(|word| OWN.contains(word)).copied();
        let name = name.unwrap_or_else(|| own.unwrap_or("shell").to_owned());
        let args = match args {
            Some(Value::Object(args)) => args,
            _ if words.len() == 1 && own.is_some() => Map::new(),
            _ => told(action, &words),
        };
        let line = title(action, window);
        // The tool's name stands before it.
        let behind = line.strip_prefix(own.unwrap_or_default());
        let title = behind.map_or(line.as_str(), str::trim_start).to_owned();
        Spec {
            kind: kind(&words),
            title: Some(title).filter(|title| !title.is_empty()),
            args: Value::Object(with_path(args, &words, window)),
            name,
        }
    }
}

/// The words of a command's first line, each without the quotes around it.
fn words(action: &str) -> Vec<&str> {
    let mut rest = action.trim_start().lines().next().unwrap_or("").trim();
    let mut words = Vec::new();
    while let Some(first) = rest.chars().next() {
        let quoted = matches!(first, '"' | '\'').then(|| rest[1..].split_once(first));
        let (word, behind) = match quoted.flatten() {
            Some((word, behind)) => (word, behind),
            None => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        words.push(word);
        rest = behind.trim_start();
    }
    words
}

/// What a command says that was written as a line, under the names that tools have for it.
fn told(action: &str, words: &[&str]) -> Map<String, Value> {
    let mut args = Map::new();
    args.insert("command".to_owned(), Value::from(action));
    let names: &[&str] = match words {
        ["open" | "create" | "view_image" | "filemap", ..] => &["path"],
        ["str_replace_editor", ..] => &["", "path"],
        ["find_file" | "search_dir" | "search_file", ..] => &["pattern", "path"],
        _ => &[],
    };
    for (name, word) in names.iter().zip(words.iter().skip(1)) {
        if !name.is_empty() {
            args.insert((*name).to_owned(), Value::from(*word));
        }
    }
    args
}

/// The arguments with the file that is open, where the command works on that and does not name it.
fn with_path(mut args: Map<String, Value>, words: &[&str], window: &Window) -> Map<String, Value> {
    let is_of_open = matches!(
        words.first(),
        Some(&("edit" | "insert" | "goto" | "scroll_up" | "scroll_down"))
    );
    let named = ["path", "file_path", "filename"];
    if let Some(path) = window.path().filter(|_| is_of_open)
        && !named.iter().any(|name| args.contains_key(*name))
    {
        args.insert("path".to_owned(), json!(path));
    }
    args
}

/// One line for a command: the file that it edits, and the lines where it says them; else the command.
fn title(action: &str, window: &Window) -> String {
    let (Some("edit"), Some(path)) = (action.split_whitespace().next(), window.path()) else {
        return one_line(action);
    };
    match lines_of(action) {
        Some((from, to)) if from == to => one_line(&format!("{path}:{from}")),
        Some((from, to)) => one_line(&format!("{path}:{from}-{to}")),
        None => one_line(path),
    }
}

/// The lines that `edit 3:5` replaces.
pub(super) fn lines_of(action: &str) -> Option<(u32, u32)> {
    let (from, to) = action.split_whitespace().nth(1)?.split_once(':')?;
    Some((from.parse().ok()?, to.parse().ok()?))
}

/// What a tool replaces and by what, where its call says both.
pub(super) fn replaced(args: &Value) -> Option<(&str, &str)> {
    let new = args.get("replace").and_then(Value::as_str)?;
    Some((text_of(args, "search")?, new))
}

/// The kind of a command, after `design/events.md`.
fn kind(words: &[&str]) -> &'static str {
    match words {
        ["str_replace_editor", "view", ..]
        | [
            "open" | "goto" | "scroll_up" | "scroll_down" | "view_image",
            ..,
        ] => "read",
        [
            "str_replace_editor" | "edit" | "create" | "insert" | "edit_anthropic",
            ..,
        ] => "edit",
        ["find_file" | "search_dir" | "search_file" | "filemap", ..] => "search",
        [
            "submit" | "exit_cost" | "exit_context" | "exit_format" | "exit_forfeit",
            ..,
        ] => "other",
        _ => "execute",
    }
}
