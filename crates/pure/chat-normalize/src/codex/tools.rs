//! What Codex's tools are: names, kinds and titles.

use chat_event::shell::{script_of, script_of_words};
use serde_json::{Map, Value};

use crate::value::{list_of, str_of, text_of};
use crate::words::one_line;

/// A tool call as it is shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spec {
    pub(crate) name: String,
    pub(crate) kind: &'static str,
    pub(crate) title: Option<String>,
    pub(crate) args: Value,
}

impl Spec {
    /// What a model's call is: its name, and its arguments as they were sent.
    pub(crate) fn of_call(name: &str, args: Value) -> Self {
        let kind = kind(name);
        let title = title(name, &args);
        Spec {
            name: name.to_owned(),
            kind,
            title,
            args,
        }
    }

    /// The call that an item stands for; `None` where the item is no call.
    pub(crate) fn of_item(item_kind: &str, item: &Value) -> Option<Self> {
        let text = |snake: &str, camel: &str| text_of(item, snake).or_else(|| text_of(item, camel));
        Some(match item_kind {
            "commandexecution" => {
                let command = command_of(item);
                let mut args = Map::new();
                args.insert("command".to_owned(), Value::from(command.as_str()));
                if let Some(cwd) = text("cwd", "cwd") {
                    let cwd = cwd.strip_prefix("file://").unwrap_or(cwd);
                    args.insert("cwd".to_owned(), Value::from(cwd));
                }
                Spec {
                    name: "shell".to_owned(),
                    kind: "execute",
                    title: Some(one_line(&script_of(&command))).filter(|line| !line.is_empty()),
                    args: Value::Object(args),
                }
            }
            "filechange" => {
                let changes = super::changes::of_item(item.get("changes").unwrap_or(&Value::Null));
                let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
                Spec {
                    name: "apply_patch".to_owned(),
                    kind: "edit",
                    title: Some(one_line(&paths.join(", "))).filter(|line| !line.is_empty()),
                    args: Value::Object(super::changes::args_of(
                        &changes,
                        // The edits of one that is made are told by themselves.
                        str_of(item, "status") == Some("completed"),
                    )),
                }
            }
            "mcptoolcall" => {
                let (server, tool) = (
                    str_of(item, "server").unwrap_or(""),
                    str_of(item, "tool").unwrap_or(""),
                );
                Spec {
                    name: format!("mcp__{server}__{tool}"),
                    kind: "other",
                    title: Some(one_line(&format!("{server}: {tool}"))),
                    args: args_of(item),
                }
            }
            "dynamictoolcall" => {
                Spec::of_call(text("tool", "tool").unwrap_or("tool"), args_of(item))
            }
            "collabtoolcall" | "collabagenttoolcall" => {
                let tool = snake(str_of(item, "tool").unwrap_or("agent"));
                let mut args = serde_json::Map::new();
                args.insert(
                    "prompt".to_owned(),
                    item.get("prompt").cloned().unwrap_or_default(),
                );
                let receivers = item
                    .get("receiver_thread_ids")
                    .or_else(|| item.get("receiverThreadIds"));
                args.insert(
                    "receivers".to_owned(),
                    receivers.cloned().unwrap_or_default(),
                );
                let spec = Spec {
                    kind: kind(&tool),
                    name: tool,
                    title: text("prompt", "prompt").map(one_line),
                    args: Value::Object(args),
                };
                match super::collab::agent_of(item) {
                    Some(agent) if spec.kind == "agent" => spec.of_agent(agent),
                    Some(_) | None => spec,
                }
            }
            "websearch" => Spec {
                name: "web_search".to_owned(),
                kind: "fetch",
                title: search_title(item),
                args: search_args(item),
            },
            "imageview" => Spec::of_call(
                "view_image",
                serde_json::json!({"path": item.get("path").unwrap_or(&Value::Null)}),
            ),
            "imagegeneration" => Spec {
                name: "image_generation".to_owned(),
                kind: "other",
                title: text("revised_prompt", "revisedPrompt").map(one_line),
                args: Value::Object(Map::new()),
            },
            "sleep" => Spec::of_call("sleep", Value::Object(Map::new())),
            "extension" => Spec {
                name: text("kind", "kind").unwrap_or("extension").to_owned(),
                kind: "other",
                title: search_title(item),
                args: item.get("action").cloned().unwrap_or(Value::Null),
            },
            _ => return None,
        })
    }
}

fn args_of(item: &Value) -> Value {
    item.get("arguments").cloned().unwrap_or(Value::Null)
}

fn search_title(item: &Value) -> Option<String> {
    let action = item.get("action").unwrap_or(&Value::Null);
    text_of(item, "query")
        .or_else(|| text_of(action, "query"))
        .or_else(|| text_of(action, "url"))
        .or_else(|| list_of(action, "queries").first().and_then(Value::as_str))
        .map(one_line)
}

/// What is looked for, whichever way it is said.
fn search_args(item: &Value) -> Value {
    let mut args = item.get("action").cloned().unwrap_or(Value::Null);
    let is_told = ["query", "url"]
        .iter()
        .any(|key| text_of(&args, key).is_some());
    if let Some(query) = search_title(item).filter(|_| !is_told) {
        if !args.is_object() {
            args = Value::Object(Map::new());
        }
        if let Some(args) = args.as_object_mut() {
            args.insert("query".to_owned(), Value::from(query));
        }
    }
    args
}

/// `spawnAgent` as `spawn_agent`.
fn snake(name: &str) -> String {
    let mut made = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !made.is_empty() {
            made.push('_');
        }
        made.push(c.to_ascii_lowercase());
    }
    made
}

/// A command as one text; an argument vector of a shell is its script.
pub(crate) fn command_of(item: &Value) -> String {
    match item.get("command") {
        Some(Value::String(command)) => command.clone(),
        Some(Value::Array(words)) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            script_of_words(&words).map_or_else(|| words.join(" "), str::to_owned)
        }
        _ => String::new(),
    }
}

pub(crate) fn kind(name: &str) -> &'static str {
    match name {
        "exec_command" | "shell" | "shell_command" | "local_shell" | "container.exec" | "exec" => {
            "execute"
        }
        "apply_patch" => "edit",
        "update_plan" => "plan",
        "view_image" | "read_file" => "read",
        "list_dir" | "grep_files" | "tool_search" => "search",
        "web_search" => "fetch",
        // The others wait for an agent, or speak to one, that this one started; so does `write_stdin` with a command, which was
        // counted where it was started.
        "spawn_agent" => "agent",
        _ => "other",
    }
}

fn title(name: &str, args: &Value) -> Option<String> {
    let line = match name {
        "apply_patch" => {
            let patch = args.as_str().or_else(|| str_of(args, "input"))?;
            let changes = super::changes::of_patch_text(patch, None)?;
            let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
            return Some(one_line(&paths.join(", "))).filter(|line| !line.is_empty());
        }
        "update_plan" => text_of(args, "explanation"),
        _ => ["cmd", "command", "path", "query", "message", "chars"]
            .iter()
            .find_map(|key| text_of(args, key))
            .or_else(|| args.as_str()),
    };
    if let Some(line) = line {
        return Some(one_line(&script_of(line))).filter(|line| !line.is_empty());
    }
    // Old versions send the command as a list of words.
    let words = args.get("command").filter(|command| command.is_array())?;
    let command = command_of(&serde_json::json!({ "command": words }));
    Some(one_line(&command)).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_one_way() {
        assert_eq!(snake("spawnAgent"), "spawn_agent");
    }
}
