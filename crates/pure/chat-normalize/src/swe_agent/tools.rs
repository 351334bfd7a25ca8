//! What SWE-agent's commands are: its own ones by name, all others are a shell's.

use crate::words::one_line;

/// The file that commands with a window work on: `edit` names the lines of it, and not its path.
#[derive(Debug, Default)]
pub(crate) struct OpenFile(Option<String>);

impl OpenFile {
    /// One line for a command: the file that it edits, and the lines where it says them; else the command.
    pub(crate) fn title(&self, action: &str) -> String {
        let mut words = action.split_whitespace();
        let (Some("edit"), Some(path)) = (words.next(), &self.0) else {
            return one_line(action);
        };
        let lines = words.next().and_then(|word| {
            let (from, to) = word.split_once(':')?;
            let (from, to) = (from.parse::<u32>().ok()?, to.parse::<u32>().ok()?);
            Some((from, to))
        });
        match lines {
            Some((from, to)) if from == to => one_line(&format!("{path}:{from}")),
            Some((from, to)) => one_line(&format!("{path}:{from}-{to}")),
            None => one_line(path),
        }
    }

    /// A command was run: what it says that it shows is open; else what it asked for.
    pub(crate) fn after(&mut self, action: &str, output: &str) {
        let mut words = action.split_whitespace();
        let (Some("open" | "create"), Some(asked)) = (words.next(), words.next()) else {
            return;
        };
        let shown = output
            .split_once("[File: ")
            .and_then(|(_, rest)| rest.split_once(" ("))
            .filter(|(path, _)| !path.contains('\n'));
        if let Some((path, _)) = shown {
            self.0 = Some(path.to_owned());
        } else if output.trim().is_empty() {
            self.0 = Some(asked.trim_matches('"').to_owned());
        }
    }
}

/// The kind of a command, after `design/events.md`.
pub(crate) fn kind(action: &str) -> &'static str {
    let mut words = action.split_whitespace();
    match (words.next().unwrap_or(""), words.next()) {
        ("str_replace_editor", Some("view"))
        | ("open" | "goto" | "scroll_up" | "scroll_down" | "cat" | "view_image", _) => "read",
        ("str_replace_editor" | "edit" | "create" | "insert" | "edit_anthropic", _) => "edit",
        ("find_file" | "search_dir" | "search_file" | "grep" | "find" | "ls" | "filemap", _) => {
            "search"
        }
        ("submit" | "exit_cost" | "exit_context" | "exit_format" | "exit_forfeit", _) => "other",
        _ => "execute",
    }
}
