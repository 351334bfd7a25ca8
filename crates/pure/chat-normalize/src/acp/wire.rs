//! Messages as they stand on the wire: which side says them, and what an answer answers.
//!
//! Ids are counted by each side for itself and both begin at 0, so an answer in a log without directions can be that to
//! either side's request. What it holds decides; only where that says nothing, the request that waits does.

use std::collections::BTreeMap;

use serde_json::Value;

use super::openings::asks_for_old;
use crate::value::{str_of, text_of};

/// Who says a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Agent,
}

impl Side {
    fn other(self) -> Side {
        match self {
            Side::Client => Side::Agent,
            Side::Agent => Side::Client,
        }
    }
}

/// A request that waits for its answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) session: String,
    /// What the answer is about: a file's path, a terminal, the request's id in the events.
    pub(crate) about: String,
}

/// One message.
#[derive(Debug)]
pub(crate) enum Said<'a> {
    /// A request, or a notification where it has no id.
    Request {
        side: Side,
        id: Option<String>,
        method: &'a str,
        params: &'a Value,
    },
    /// An answer; `asked` is what it answers, with no more than the method where the request was not read.
    Answer {
        side: Side,
        id: String,
        asked: Asked,
        result: Option<&'a Value>,
        error: Option<&'a Value>,
    },
    /// No message.
    Unknown,
}

/// What waits, on either side.
#[derive(Debug, Default)]
pub(crate) struct Wire {
    of_client: BTreeMap<String, Asked>,
    of_agent: BTreeMap<String, Asked>,
    /// Something came that only the agent says, and something that only the client says.
    pub(crate) heard_agent: bool,
    pub(crate) heard_client: bool,
}

impl Wire {
    /// Reads a line.
    pub(crate) fn read<'a>(&mut self, line: &'a Value) -> Said<'a> {
        let (told, message) = unwrapped(line);
        if !message.is_object() {
            return Said::Unknown;
        }
        let id = message.get("id").and_then(id_text);
        if let Some(method) = str_of(message, "method") {
            let side = told.or_else(|| side_of(method)).unwrap_or(Side::Agent);
            self.hear(side);
            return Said::Request {
                side,
                id,
                method,
                params: message.get("params").unwrap_or(&Value::Null),
            };
        }
        let result = message.get("result");
        let error = message.get("error").filter(|error| !error.is_null());
        let (Some(id), true) = (id, result.is_some() || error.is_some()) else {
            return Said::Unknown;
        };
        let side = told.unwrap_or_else(|| self.answering(&id, result.filter(|_| error.is_none())));
        self.hear(side);
        let waiting = self.waiting(side.other());
        let asked = waiting.remove(&id).unwrap_or_else(|| Asked {
            method: result.map_or("", method_of).to_owned(),
            ..Asked::default()
        });
        Said::Answer {
            side,
            id,
            asked,
            result: result.filter(|_| error.is_none()),
            error,
        }
    }

    /// Remembers a request of `side`.
    pub(crate) fn asked(&mut self, side: Side, id: &str, asked: Asked) {
        self.waiting(side).insert(id.to_owned(), asked);
    }

    fn waiting(&mut self, side: Side) -> &mut BTreeMap<String, Asked> {
        match side {
            Side::Client => &mut self.of_client,
            Side::Agent => &mut self.of_agent,
        }
    }

    fn hear(&mut self, side: Side) {
        match side {
            Side::Client => self.heard_client = true,
            Side::Agent => self.heard_agent = true,
        }
    }

    /// Who gives the answer `id`.
    fn answering(&self, id: &str, result: Option<&Value>) -> Side {
        if let Some(side) = result.map(method_of).and_then(side_of) {
            return side.other();
        }
        let told =
            result.is_some_and(|result| result.as_object().is_some_and(|held| !held.is_empty()));
        match (self.of_client.get(id), self.of_agent.get(id)) {
            (None, Some(_)) => Side::Client,
            // Both wait: the client answers these with nothing, the agent hardly anything.
            (Some(asked), Some(of_agent)) => {
                let empty = matches!(
                    of_agent.method.as_str(),
                    "fs/write_text_file" | "terminal/kill" | "terminal/release"
                );
                if empty && asked.method == "session/prompt" {
                    Side::Client
                } else {
                    Side::Agent
                }
            }
            // A log of the client's lines alone: it answers, and nobody answers it.
            (_, None) if self.heard_client && !self.heard_agent && !told => Side::Client,
            (_, None) => Side::Agent,
        }
    }
}

/// Whether a value is of this protocol.
pub(crate) fn is_acp(value: &Value) -> Option<bool> {
    let (_, message) = unwrapped(value);
    if str_of(message, "jsonrpc") != Some("2.0") {
        return None;
    }
    let params = message.get("params").unwrap_or(&Value::Null);
    match str_of(message, "method") {
        Some("initialize") => params
            .get("protocolVersion")
            .is_some_and(Value::is_u64)
            .then_some(true),
        Some(method) if method.starts_with("session/") => Some(true),
        Some(method) => side_of(method)
            .filter(|_| params.get("sessionId").is_some())
            .map(|_| true),
        None => {
            let result = message.get("result")?;
            match method_of(result) {
                "" => None,
                // Other protocols answer with these as well.
                "fs/read_text_file" | "terminal/output" | "terminal/wait_for_exit" => Some(false),
                _ => Some(true),
            }
        }
    }
}

/// The session a message names.
pub(crate) fn session_of(value: &Value) -> Option<String> {
    is_acp(value)?;
    let (_, message) = unwrapped(value);
    // That one is asked for does not say that it is there.
    if str_of(message, "method").is_some_and(asks_for_old) {
        return None;
    }
    ["params", "result"]
        .iter()
        .find_map(|key| {
            message
                .get(*key)
                .and_then(|held| text_of(held, "sessionId"))
        })
        .map(str::to_owned)
}

/// A message without what a recorder put around it, and who said it where that is told.
fn unwrapped(line: &Value) -> (Option<Side>, &Value) {
    let held = ["msg", "message"]
        .iter()
        .find_map(|key| line.get(*key).filter(|held| held.is_object()));
    let told = ["dir", "direction"]
        .iter()
        .find_map(|key| str_of(line, key));
    let (Some(held), Some(told)) = (held, told) else {
        return (None, line);
    };
    let side = match told.trim() {
        told if told.starts_with("client") => Some(Side::Client),
        told if told.starts_with("agent") => Some(Side::Agent),
        // Seen from the client.
        "out" | "send" | "sent" | "outgoing" | "->" | ">" => Some(Side::Client),
        "in" | "recv" | "received" | "incoming" | "<-" | "<" => Some(Side::Agent),
        _ => None,
    };
    (side, held)
}

fn id_text(id: &Value) -> Option<String> {
    match id {
        Value::String(id) => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Who says a method.
fn side_of(method: &str) -> Option<Side> {
    Some(match method {
        "session/update" | "session/request_permission" => Side::Agent,
        _ if method.starts_with("fs/")
            || method.starts_with("terminal/")
            || method.starts_with("elicitation/")
            || method.starts_with("mcp/") =>
        {
            Side::Agent
        }
        "initialize" | "authenticate" | "logout" => Side::Client,
        _ if method.starts_with("session/")
            || method.starts_with("auth/")
            || method.starts_with("providers/")
            || method.starts_with("nes/")
            || method.starts_with("document/") =>
        {
            Side::Client
        }
        _ => return None,
    })
}

/// The method that a result answers, by what it holds; empty where that says nothing.
fn method_of(result: &Value) -> &'static str {
    let has = |key: &str| result.get(key).is_some_and(|value| !value.is_null());
    let version = result.get("protocolVersion").is_some_and(Value::is_u64);
    if has("agentCapabilities") || (version && (has("capabilities") || has("authMethods"))) {
        "initialize"
    } else if str_of(result, "stopReason").is_some() {
        "session/prompt"
    } else if text_of(result, "sessionId").is_some() {
        "session/new"
    } else if result
        .get("outcome")
        .is_some_and(|outcome| str_of(outcome, "outcome").is_some())
    {
        "session/request_permission"
    } else if has("configOptions") || has("modes") {
        "session/load"
    } else if result.get("sessions").is_some_and(Value::is_array) {
        "session/list"
    } else if matches!(
        str_of(result, "action").or_else(|| result.get("action").and_then(|a| str_of(a, "action"))),
        Some("accept" | "decline" | "cancel")
    ) {
        "elicitation/create"
    } else if str_of(result, "output").is_some() && has("truncated") {
        "terminal/output"
    } else if text_of(result, "terminalId").is_some() {
        "terminal/create"
    } else if has("exitCode") || has("signal") {
        "terminal/wait_for_exit"
    } else if str_of(result, "content").is_some() {
        "fs/read_text_file"
    } else {
        ""
    }
}
