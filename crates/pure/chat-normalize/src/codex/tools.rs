//! What Codex's tools are: names, kinds and titles, and what the text that a tool gives back says of its end.

use chat_event::Json;
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
        "exec_command" | "shell" | "shell_command" | "local_shell" | "container.exec"
        | "write_stdin" | "exec" => "execute",
        "apply_patch" => "edit",
        "update_plan" => "plan",
        "view_image" | "read_file" => "read",
        "list_dir" | "grep_files" | "tool_search" => "search",
        "web_search" => "fetch",
        // The others wait for an agent, or speak to one, that this one started.
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

/// What a tool gave back, as its text tells it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Given {
    pub(crate) text: String,
    /// Images beside it.
    pub(crate) attachments: Option<Json>,
    pub(crate) exit_code: Option<i64>,
    pub(crate) duration_ms: Option<u64>,
    /// The command runs on.
    pub(crate) runs_on: bool,
    /// The number of the session that it runs on in.
    pub(crate) shell: Option<u64>,
    /// It says that it failed.
    pub(crate) failed: bool,
    /// The person stopped it.
    pub(crate) interrupted: bool,
}

/// What stands in place of the output of a call that the person stopped.
pub(crate) const ABORTED: &str = "aborted by user";

/// Whether that is said of a call that was not let run.
pub(crate) fn is_refusal(output: &str) -> bool {
    let output = output.trim();
    output == "exec command rejected by user"
        || (output.starts_with("exec_command failed") && output.contains("rejected by user"))
        || (output.starts_with("patch rejected") && !output.contains('\n'))
}

/// Reads the three ways in which the shell tool says how a command ended.
pub(crate) fn given(text: &str) -> Given {
    if text.starts_with('{')
        && let Ok(value) = serde_json::from_str::<Value>(text)
        && let (Some(output), Some(metadata)) = (str_of(&value, "output"), value.get("metadata"))
    {
        return Given {
            text: output.to_owned(),
            exit_code: metadata.get("exit_code").and_then(Value::as_i64),
            duration_ms: metadata
                .get("duration_seconds")
                .and_then(Value::as_f64)
                .map(millis),
            ..Given::default()
        };
    }
    let mut given = Given::default();
    let mut at = 0;
    for line in text.split_inclusive('\n').take(8) {
        at += line.len();
        let line = line.trim_end();
        let rest = |prefix: &str| line.strip_prefix(prefix);
        if line == "Output:" {
            given.text = text.get(at..).unwrap_or("").to_owned();
            return given;
        }
        if let Some(code) = rest("Exit code: ").or_else(|| rest("Process exited with code ")) {
            given.exit_code = code.trim().parse().ok();
        } else if let Some(time) = rest("Wall time: ")
            .or_else(|| rest("Wall time "))
            .or_else(|| rest("Duration: "))
        {
            let seconds = time
                .split(' ')
                .next()
                .and_then(|time| time.parse::<f64>().ok());
            given.duration_ms = seconds.map(millis);
        } else if let Some(shell) = rest("Process running with session ID") {
            given.runs_on = true;
            given.shell = shell.trim().parse().ok();
        } else if line == "Script failed" {
            given.failed = true;
        } else if line.starts_with(ABORTED) && text.len() == at {
            line.clone_into(&mut given.text);
            given.interrupted = true;
            return given;
        } else if line != "Script completed"
            && rest("Chunk ID: ").is_none()
            && rest("Original token count: ").is_none()
            && rest("Total output lines: ").is_none()
        {
            break;
        }
    }
    Given {
        text: text.to_owned(),
        ..Given::default()
    }
}

// `as` saturates, which is what is wanted here.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn millis(seconds: f64) -> u64 {
    (seconds * 1000.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_command_is_read_in_every_form() {
        let new = "Chunk ID: e8\nWall time: 0.1253 seconds\nProcess exited with code 3\nOriginal token count: 0\nOutput:\na\nb\n";
        let made = given(new);
        assert_eq!(
            (made.text.as_str(), made.exit_code, made.duration_ms),
            ("a\nb\n", Some(3), Some(125))
        );
        let old =
            given("{\"output\":\"x\",\"metadata\":{\"exit_code\":0,\"duration_seconds\":0.5}}");
        assert_eq!(
            (old.text.as_str(), old.exit_code, old.duration_ms),
            ("x", Some(0), Some(500))
        );
        assert!(
            given("Wall time: 1 seconds\nProcess running with session ID 5\nOutput:\n").runs_on
        );
        let script = given("Script failed\nWall time 0.5 seconds\nOutput:\n\nboom");
        assert!(script.failed && script.text == "\nboom" && script.duration_ms == Some(500));
        assert_eq!(given("Exit codeless").text, "Exit codeless");
    }

    #[test]
    fn a_refusal_is_told_from_what_a_command_prints() {
        assert!(is_refusal("exec command rejected by user"));
        assert!(is_refusal(
            "patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings"
        ));
        assert!(!is_refusal("patch rejected\nby a program of that name"));
        assert!(is_refusal(
            r#"exec_command failed: CreateProcess { message: "Rejected(\"rejected by user\")" }"#
        ));
        assert!(!is_refusal("rejected by user"));
    }

    #[test]
    fn names_are_written_one_way() {
        assert_eq!(snake("spawnAgent"), "spawn_agent");
    }
}
