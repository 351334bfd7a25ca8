//! What Mistral Vibe's tools are: their kind, and a title for a call.

use serde_json::Value;

use crate::tool;
use crate::value::text_of;
use crate::words::one_line;

/// The kind of a tool, after `design/events.md`; `told` is what the program calls it where that is more than a tool.
pub(super) fn kind(name: &str, told: Option<&str>) -> &'static str {
    // What runs was counted where it was started.
    if name != "process.start" && name.starts_with("process.") {
        return "other";
    }
    match told {
        Some("shell" | "process") => return "execute",
        Some("file_edit" | "file_write") => return "edit",
        Some("file_read") => return "read",
        Some("file_search") => return "search",
        Some("todo") => return "plan",
        Some("web_search" | "web_fetch") => return "fetch",
        Some("subagent") => return "agent",
        _ => {}
    }
    match name {
        "file_system.bash" | "process.start" => "execute",
        "file_system.edit" | "file_system.search_replace" | "file_system.write_file" => "edit",
        "file_system.read_file" => "read",
        "file_system.grep" | "search_tool_functions" => "search",
        "vibe.todo" => "plan",
        "agents.spawn" => "agent",
        "vibe.ask_user_question" => "question",
        _ => match name.rsplit_once('.') {
            // Words of a server's name say nothing of its tools.
            Some((_, own)) => tool::kind(own),
            None => tool::kind(name),
        },
    }
}

/// One line for a call.
pub(super) fn title(name: &str, args: &Value) -> Option<String> {
    let keys = [
        "command",
        "filePath",
        "file_path",
        "path",
        "pattern",
        "query",
        "url",
        "task",
        "prompt",
        "message",
        "processId",
        "process_id",
    ];
    let text = keys.iter().find_map(|key| text_of(args, key));
    text.map(one_line).or_else(|| tool::title(name, args))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_after_a_command_is_none() {
        let kinds = ["process.start", "process.write", "process.read"];
        let kinds = kinds.map(|name| kind(name, Some("process")));
        assert_eq!(kinds, ["execute", "other", "other"]);
    }
}
