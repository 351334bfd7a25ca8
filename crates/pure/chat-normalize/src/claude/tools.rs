//! What Claude Code's tools are: their kind, and a title for a call. What a result comes to in one line is in `summary`, and
//! what goes on behind it in `background`.

mod background;
mod summary;

use serde_json::Value;

use crate::value::{list_of, str_of};
use crate::words::{counted, one_line};
pub(crate) use background::{
    output_path, report_of_agent, said_at_launch, says_only_that_it_runs, task_left_by,
};
pub(crate) use summary::summary;

/// The kind of a tool, after `design/events.md`.
pub(crate) fn kind(name: &str) -> &'static str {
    match name {
        "Read" | "read_file" | "NotebookRead" | "ReadMcpResourceTool" | "ReadMcpResource" => "read",
        "Edit"
        | "Write"
        | "MultiEdit"
        | "NotebookEdit"
        | "edit_file"
        | "write_file"
        | "text_editor_code_execution"
        | "str_replace_based_edit_tool" => "edit",
        "Grep" | "Glob" | "LS" | "ToolSearch" | "LSP" => "search",
        "Bash"
        | "bash"
        | "PowerShell"
        | "REPL"
        | "Monitor"
        | "bash_code_execution"
        | "code_execution"
        | "computer" => "execute",
        "WebFetch" | "WebSearch" | "web_search" | "web_fetch" => "fetch",
        "Task" | "Agent" | "SendMessage" | "Workflow" => "agent",
        "TodoWrite" | "TaskCreate" | "TaskUpdate" | "TaskGet" | "TaskList" | "EnterPlanMode"
        | "ExitPlanMode" => "plan",
        "Think" => "think",
        // Those that look after what runs in the background, or end it, are among the others: what runs was counted where it
        // was started.
        _ => "other",
    }
}

/// One line for a call.
pub(crate) fn title(name: &str, args: &Value) -> Option<String> {
    let text = match name {
        "Bash" | "PowerShell" => str_of(args, "command"),
        "Read" | "Edit" | "Write" | "MultiEdit" => str_of(args, "file_path"),
        "NotebookEdit" | "NotebookRead" => str_of(args, "notebook_path"),
        "Grep" | "Glob" => str_of(args, "pattern"),
        "LS" => str_of(args, "path"),
        "WebFetch" => str_of(args, "url"),
        "WebSearch" | "web_search" | "ToolSearch" => str_of(args, "query"),
        "Task" | "Agent" => str_of(args, "description"),
        "TaskCreate" => str_of(args, "subject"),
        "TaskUpdate" | "TaskGet" => str_of(args, "taskId"),
        "BashOutput" | "KillBash" | "KillShell" | "TaskOutput" | "AgentOutputTool" | "TaskStop" => {
            ["bash_id", "shell_id", "task_id", "agentId"]
                .iter()
                .find_map(|key| str_of(args, key))
        }
        "Skill" => str_of(args, "skill").or_else(|| str_of(args, "command")),
        "AskUserQuestion" => list_of(args, "questions")
            .first()
            .and_then(|question| str_of(question, "question")),
        "TodoWrite" => return Some(counted(list_of(args, "todos").len(), "entry", "entries")),
        _ => [
            "description",
            "file_path",
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
