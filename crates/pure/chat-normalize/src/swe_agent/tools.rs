//! What SWE-agent's commands are: its own ones by name, all others are a shell's.

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
