//! Which tool a message is about: its name, its arguments, its kind, a title.

use serde_json::{Map, Value, json};

use super::lines::Message;
use crate::tool;
use crate::value::{list_of, str_of, text_of};
use crate::words::{counted, one_line};

/// What stands behind a command that a person has to allow.
const ASKS_FOR_IT: &str = "REQ_APP";

/// A call, as its message tells it.
#[derive(Debug)]
pub(super) struct Use {
    pub(super) name: String,
    pub(super) args: Value,
    pub(super) title: Option<String>,
    pub(super) kind: &'static str,
    /// What it gave, where the message says it.
    pub(super) given: Option<String>,
    /// What the model calls such a tool: what it gave is quoted under one of these names.
    pub(super) quoted_as: &'static [&'static str],
}

/// The call that a message is about; `None` where it is about none.
pub(super) fn of(message: &Message<'_>) -> Option<Use> {
    let json = || message.json();
    Some(match message.kind {
        "tool" => of_tool(json()),
        "command" => {
            let command = message.text.strip_suffix(ASKS_FOR_IT);
            let command = command.unwrap_or(message.text).trim_end();
            simple(
                "execute_command",
                "execute",
                json!({"command": command}),
                &["execute_command"],
                one_line(command),
            )
        }
        "use_mcp_server" => of_server(&json()),
        "browser_action_launch" => simple(
            "browser_action",
            "fetch",
            json!({"action": "launch", "url": message.text}),
            &["browser_action"],
            one_line(message.text),
        ),
        "browser_action" => {
            let args = json();
            let parts = ["action", "coordinate", "text"].map(|key| text_of(&args, key));
            let parts: Vec<&str> = parts.into_iter().flatten().collect();
            let title = one_line(&parts.join(" "));
            simple("browser_action", "fetch", args, &["browser_action"], title)
        }
        "use_subagents" => {
            let args = json();
            let prompts = list_of(&args, "prompts");
            let title = match prompts {
                [Value::String(prompt)] => one_line(prompt),
                prompts => counted(prompts.len(), "agent", "agents"),
            };
            simple("use_subagents", "agent", args, &["use_subagents"], title)
        }
        "load_mcp_documentation" => simple(
            "load_mcp_documentation",
            "read",
            json!({}),
            &["load_mcp_documentation"],
            String::new(),
        ),
        "new_task" if message.is_ask => simple(
            "new_task",
            "agent",
            json!({"context": message.text}),
            &["new_task"],
            one_line(message.text),
        ),
        _ => return None,
    })
}

fn simple(
    name: &str,
    kind: &'static str,
    args: Value,
    quoted_as: &'static [&'static str],
    title: String,
) -> Use {
    Use {
        name: name.to_owned(),
        args,
        title: Some(title).filter(|title| !title.is_empty()),
        kind,
        given: None,
        quoted_as,
    }
}

/// What the model calls its tools that change files.
const EDITS: &[&str] = &[
    "write_to_file",
    "replace_in_file",
    "apply_diff",
    "apply_patch",
    "insert_content",
    "search_and_replace",
    "search_replace",
    "edit_file",
    "edit",
    "new_rule",
];

fn of_tool(told: Value) -> Use {
    let Value::Object(mut args) = told else {
        return simple("tool", "other", told, &[], String::new());
    };
    let name = match args.remove("tool") {
        Some(Value::String(name)) if !name.is_empty() => name,
        _ => "tool".to_owned(),
    };
    let (kind, quoted_as): (_, &'static [&'static str]) = match name.as_str() {
        "editedExistingFile" | "newFileCreated" | "appliedDiff" | "fileDeleted"
        | "insertContent" | "searchAndReplace" => ("edit", EDITS),
        "readFile" => ("read", &["read_file"]),
        "readCommandOutput" => ("read", &["read_command_output"]),
        "listCodeDefinitionNames" => ("read", &["list_code_definition_names"]),
        "fetchInstructions" | "skill" | "useSkill" => {
            ("read", &["fetch_instructions", "skill", "use_skill"])
        }
        "listFilesTopLevel" | "listFilesRecursive" => ("search", &["list_files"]),
        "searchFiles" => ("search", &["search_files"]),
        "codebaseSearch" => ("search", &["codebase_search"]),
        "webFetch" => ("fetch", &["web_fetch"]),
        "webSearch" => ("fetch", &["web_search"]),
        "newTask" => ("agent", &["new_task"]),
        "updateTodoList" => ("plan", &["update_todo_list"]),
        "switchMode" => ("other", &["switch_mode"]),
        "finishTask" => ("other", &["attempt_completion"]),
        "runSlashCommand" => ("other", &["run_slash_command"]),
        "generateImage" | "imageGenerated" => ("other", &["generate_image"]),
        name => (tool::kind(name), &[]),
    };
    // What a tool found stands where others have what is written; of a file that is read, its whole path.
    let given = match (kind, name.as_str()) {
        ("search", _) | (_, "listCodeDefinitionNames") => args.remove("content"),
        ("read", _) => {
            args.remove("content");
            None
        }
        _ => None,
    };
    let given = given.and_then(|given| given.as_str().map(str::to_owned));
    let title = title_of(&args);
    Use {
        name,
        title,
        args: Value::Object(args),
        kind,
        given,
        quoted_as,
    }
}

fn title_of(args: &Map<String, Value>) -> Option<String> {
    let text = |key: &str| {
        let text = args.get(key).and_then(Value::as_str);
        text.filter(|text| !text.trim().is_empty())
    };
    if let (Some(regex), Some(path)) = (text("regex"), text("path")) {
        return Some(one_line(&format!("{regex} in {path}")));
    }
    let keys = [
        "query", "path", "command", "mode", "skill", "reason", "question",
    ];
    if let Some(told) = keys.iter().find_map(|key| text(key)) {
        return Some(one_line(told));
    }
    ["batchFiles", "batchDiffs", "batchDirs"]
        .iter()
        .find_map(|key| {
            let batch = args.get(*key)?.as_array()?;
            let paths: Vec<&str> = batch.iter().filter_map(|it| str_of(it, "path")).collect();
            Some(one_line(&paths.join(", ")))
        })
}

fn of_server(told: &Value) -> Use {
    let server = str_of(told, "serverName").unwrap_or("");
    if let Some(uri) = text_of(told, "uri") {
        return simple(
            "access_mcp_resource",
            "read",
            json!({"server": server, "uri": uri}),
            &["access_mcp_resource"],
            one_line(uri),
        );
    }
    let tool = str_of(told, "toolName").unwrap_or("");
    let input = str_of(told, "arguments").unwrap_or("").trim();
    let args = match input {
        "" => json!({}),
        input => serde_json::from_str(input).unwrap_or_else(|_| Value::from(input)),
    };
    let name = format!("mcp__{server}__{tool}");
    let title = tool::title(&name, &args).unwrap_or_default();
    let kind = tool::kind(tool);
    simple(&name, kind, args, &["use_mcp_tool"], title)
}
