//! What the calls among the items are given, and what they give.

use chat_event::{Extra, Json};
use serde_json::{Map, Value, json};

use super::calls::{Given, args_of_text};
use super::content::{given_of, texts_of};
use super::items::kind_of;
use crate::value::{count_of, list_of, str_of, text_of};
use crate::words::counted;

/// Whether the service runs a call itself.
pub(super) fn is_hosted(stem: &str, item: &Value) -> bool {
    match stem {
        "web_search" | "file_search" | "code_interpreter" | "image_generation" | "mcp" => true,
        "tool_search" => str_of(item, "execution") != Some("client"),
        "shell" => {
            let environment = item.get("environment").unwrap_or(&Value::Null);
            str_of(environment, "type").is_some_and(|kind| kind != "local")
        }
        _ => false,
    }
}

/// The name of a function or a tool of the client's; with its server's, where a service found it on one.
pub(super) fn function_name(item: &Value) -> String {
    let name = str_of(item, "name").unwrap_or("");
    match text_of(item, "namespace") {
        Some(server) if server.starts_with("mcp__") => {
            format!("{}__{name}", server.trim_end_matches("__"))
        }
        Some(_) | None => name.to_owned(),
    }
}

/// What is said of a call beside its arguments.
pub(super) fn beside_args(item: &Value) -> Extra {
    let mut beside = Extra::default();
    for name in ["namespace", "pending_safety_checks"] {
        let said = item.get(name).filter(|said| match said {
            Value::Array(items) => !items.is_empty(),
            said => !said.is_null(),
        });
        if let Some(said) = said {
            beside.insert(name, Json::from(said));
        }
    }
    beside
}

/// A tool of an MCP server, with the server's name.
pub(super) fn mcp_name(item: &Value) -> String {
    let (server, name) = (
        str_of(item, "server_label").unwrap_or(""),
        str_of(item, "name").unwrap_or(""),
    );
    format!("mcp__{server}__{name}")
}

/// The arguments of a call, in the shape that its kind has.
pub(super) fn args_of(item: &Value) -> Value {
    let members = |names: &[&str]| {
        let named = names.iter().filter_map(|name| {
            let value = item.get(*name).filter(|value| !value.is_null())?;
            Some(((*name).to_owned(), value.clone()))
        });
        Value::Object(named.collect())
    };
    match kind_of(item) {
        "custom_tool_call" => item.get("input").cloned().unwrap_or_default(),
        "web_search_call" | "computer_call" | "local_shell_call" | "shell_call" => {
            match item.get("action").filter(|action| action.is_object()) {
                Some(action) => action.clone(),
                None => members(&["actions"]),
            }
        }
        "file_search_call" => members(&["queries"]),
        "code_interpreter_call" => members(&["code", "container_id"]),
        "image_generation_call" => members(&["revised_prompt", "size", "quality", "background"]),
        "apply_patch_call" => members(&["operation"]),
        _ => match item.get("arguments") {
            Some(Value::String(text)) => args_of_text(text),
            Some(args) => args.clone(),
            None => Value::Object(Map::new()),
        },
    }
}

/// What a call gave that the service ran; `None` where that comes in an item of its own, or did not come.
pub(super) fn given_by_service(item: &Value) -> Option<Given> {
    let kind = kind_of(item);
    if matches!(kind, "shell_call" | "tool_search_call") {
        return None;
    }
    let status = str_of(item, "status").unwrap_or("completed");
    if matches!(
        status,
        "in_progress" | "searching" | "interpreting" | "generating" | "calling"
    ) {
        return None;
    }
    let said = |name: &str| item.get(name).filter(|value| !value.is_null()).cloned();
    let result = match kind {
        "web_search_call" => item
            .get("action")
            .and_then(|action| action.get("sources"))
            .filter(|sources| !sources.is_null())
            .cloned(),
        "file_search_call" => said("results"),
        "code_interpreter_call" => said("outputs").map(|outputs| printed(&outputs)),
        "image_generation_call" => text_of(item, "result").map(|data| {
            let format = text_of(item, "output_format").unwrap_or("png");
            json!([{"type": "image", "mimeType": format!("image/{format}"), "data": data}])
        }),
        _ => said("output"),
    };
    let error = item.get("error").filter(|error| !error.is_null());
    let failed = error.is_some() || matches!(status, "failed" | "incomplete");
    Some(Given {
        error: failed.then(|| {
            let message = error.map_or_else(|| status.to_owned(), message_of);
            let code = error.and_then(|error| text_of(error, "type"));
            (code.or(Some(status)).map(str::to_owned), message)
        }),
        // That it is not told does not say that there was nothing.
        ..Given::of(result.unwrap_or_default())
    })
}

/// What a client says a call gave.
pub(super) fn given_by_client(item: &Value) -> Given {
    let output = item.get("output").unwrap_or(&Value::Null);
    let status = str_of(item, "status").unwrap_or("completed");
    let failed = |message: String| Some((Some("failed".to_owned()), message));
    match kind_of(item) {
        "shell_call_output" => {
            let outputs = output.as_array().map_or(&[][..], Vec::as_slice);
            let outcomes = || outputs.iter().filter_map(|output| output.get("outcome"));
            let exit_code = outcomes()
                .filter_map(|outcome| outcome.get("exit_code").and_then(Value::as_i64))
                .find(|code| *code != 0)
                .or_else(|| (!outputs.is_empty()).then_some(0));
            let timed_out = outcomes().any(|outcome| str_of(outcome, "type") == Some("timeout"));
            Given {
                exit_code: exit_code.filter(|_| !timed_out),
                error: timed_out.then(|| {
                    (
                        Some("timeout".to_owned()),
                        "the command timed out".to_owned(),
                    )
                }),
                ..Given::of(printed(output))
            }
        }
        "apply_patch_call_output" => Given {
            error: (status == "failed")
                .then(|| {
                    failed(
                        output
                            .as_str()
                            .unwrap_or("the patch was not applied")
                            .to_owned(),
                    )
                })
                .flatten(),
            ..Given::of(given_of(output))
        },
        "tool_search_output" => {
            let tools = list_of(item, "tools");
            Given {
                summary: Some(counted(tools.len(), "tool", "tools")),
                ..Given::of(Value::Array(tools.to_vec()))
            }
        }
        _ => Given {
            error: (status == "failed" || status == "incomplete")
                .then(|| failed(status.to_owned()))
                .flatten(),
            exit_code: count_of(item, "exit_code").and_then(|code| i64::try_from(code).ok()),
            ..Given::of(given_of(output))
        },
    }
}

/// What was printed, as one text where it is nothing else.
fn printed(outputs: &Value) -> Value {
    let Some(items) = outputs.as_array() else {
        return given_of(outputs);
    };
    let mut text = String::new();
    for item in items {
        let pieces = ["logs", "stdout", "stderr"];
        let mut said = pieces
            .iter()
            .filter_map(|name| str_of(item, name))
            .peekable();
        if said.peek().is_none() {
            return outputs.clone();
        }
        for piece in said.filter(|piece| !piece.is_empty()) {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(piece);
        }
    }
    Value::from(text)
}

/// What an error says.
pub(super) fn message_of(error: &Value) -> String {
    match error {
        Value::String(text) => text.clone(),
        other => match text_of(other, "message") {
            Some(text) => text.to_owned(),
            None => match other.get("content") {
                Some(content) => texts_of(content).join("\n"),
                None => other.to_string(),
            },
        },
    }
}
