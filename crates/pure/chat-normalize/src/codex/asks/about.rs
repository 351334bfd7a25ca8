//! What an approval is about: the call it is of, and what beyond that is to be allowed.

use chat_event::{Extra, Json};
use serde_json::Value;

use crate::codex::changes::{args_of, of_item};
use crate::codex::tools::{Spec, command_of};
use crate::value::{str_of, text_of};
use crate::words::one_line;

/// Members that say what is to be allowed, beside the command and its folder, which an open call has itself.
const ASKED: [&str; 4] = [
    "networkApprovalContext",
    "permissions",
    "additionalPermissions",
    "grantRoot",
];

/// Members that say where the request stands, or that have a field of their own.
const PLACED: [&str; 13] = [
    "threadId",
    "conversationId",
    "turnId",
    "itemId",
    "callId",
    "startedAtMs",
    "environmentId",
    "reason",
    "availableDecisions",
    "command",
    "cwd",
    "kind",
    "fileChanges",
];

/// What an approval is about.
pub(crate) struct About {
    pub(crate) call_id: Option<String>,
    pub(crate) tool_name: String,
    pub(crate) title: Option<String>,
    pub(crate) args: Option<Json>,
    /// What else the request says.
    pub(crate) extra: Extra,
}

impl About {
    /// As the request's `params` say it, and the call, where that is open. `tool` is what the request is of.
    pub(crate) fn new(
        tool: &str,
        call_id: Option<String>,
        call: Option<&Spec>,
        params: &Value,
    ) -> Self {
        let args = call.and_then(|call| call.args.as_object());
        let mut args = args.cloned().unwrap_or_default();
        if call.is_none() {
            let command = command_of(params);
            if !command.is_empty() {
                args.insert("command".to_owned(), Value::from(command));
            }
            if let Some(cwd) = text_of(params, "cwd") {
                args.insert("cwd".to_owned(), Value::from(cwd));
            }
            let changes = of_item(params.get("fileChanges").unwrap_or(&Value::Null));
            if !changes.is_empty() {
                args.extend(args_of(&changes, false));
            }
        }
        for name in ASKED {
            if let Some(value) = params.get(name).filter(|value| !value.is_null()) {
                args.insert(name.to_owned(), value.clone());
            }
        }
        let mut extra = Extra::default();
        for (name, value) in params.as_object().into_iter().flatten() {
            let is_told = PLACED.contains(&name.as_str()) || ASKED.contains(&name.as_str());
            if !is_told && !value.is_null() && !OF_EVENTS.contains(&name.as_str()) {
                extra.insert(name, Json::from(value));
            }
        }
        About {
            tool_name: call.map_or_else(|| tool.to_owned(), |call| call.name.clone()),
            title: call
                .and_then(|call| call.title.clone())
                .or_else(|| title(params)),
            args: (!args.is_empty()).then(|| Json::from(Value::Object(args))),
            call_id,
            extra,
        }
    }
}

/// Names that a request's event has for other things.
const OF_EVENTS: [&str; 6] = [
    "answerable",
    "requestId",
    "toolCallId",
    "toolName",
    "title",
    "options",
];

/// What is asked for, in a line.
fn title(params: &Value) -> Option<String> {
    let command = command_of(params);
    if !command.is_empty() {
        return Some(one_line(&chat_event::shell::script_of(&command)));
    }
    let network = params.get("networkApprovalContext");
    if let Some(host) = network.and_then(|network| text_of(network, "host")) {
        let protocol = network.and_then(|network| text_of(network, "protocol"));
        let protocol = protocol.map(|protocol| format!("{protocol}://"));
        return Some(one_line(&(protocol.unwrap_or_default() + host)));
    }
    let mut wanted = Vec::new();
    wanted_in(
        params.get("permissions").unwrap_or(&Value::Null),
        &mut wanted,
    );
    if !wanted.is_empty() {
        return Some(one_line(&wanted.join(", ")));
    }
    let changes = of_item(params.get("fileChanges").unwrap_or(&Value::Null));
    let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    let paths = one_line(&paths.join(", "));
    let root = str_of(params, "grantRoot").map(one_line);
    Some(paths).filter(|paths| !paths.is_empty()).or(root)
}

/// The names of what is wanted, and the paths: `network`, `write /etc`.
fn wanted_in(permissions: &Value, wanted: &mut Vec<String>) {
    for (name, value) in permissions.as_object().into_iter().flatten() {
        for (kind, value) in value.as_object().into_iter().flatten() {
            match value {
                Value::Bool(true) => wanted.push(name.clone()),
                Value::Array(paths) => {
                    let paths = paths.iter().filter_map(Value::as_str);
                    wanted.extend(paths.map(|path| format!("{kind} {path}")));
                }
                _ => {}
            }
        }
    }
}
