//! What a line is: its message, who wrote it, of which thread and when.

use serde_json::Value;

use crate::value::{millis, str_of, text_of};

/// The message of a line, and whether the client wrote it.
pub(super) fn unwrap(value: &Value) -> (&Value, bool) {
    match (str_of(value, "dir"), value.get("msg")) {
        (Some(dir), Some(msg)) if msg.is_object() => (msg, dir.starts_with("client")),
        _ => (value, value.get("jsonrpc").is_some()),
    }
}

/// Whether a line is of this dialect, and whether that is sure.
pub(crate) fn is_app_server_line(value: &Value) -> Option<bool> {
    let (message, by_client) = unwrap(value);
    let method = str_of(message, "method");
    if let Some(method) = method {
        if message.get("jsonrpc").is_some() {
            return None;
        }
        let sure = ["thread/", "turn/", "item/", "codex/event/"];
        if sure.iter().any(|prefix| method.starts_with(prefix)) {
            return Some(true);
        }
        let likely = ["account/", "mcpServer/", "remoteControl/", "hook/"];
        let is_likely = likely.iter().any(|prefix| method.starts_with(prefix))
            || matches!(
                method,
                "configWarning" | "deprecationNotice" | "initialize" | "initialized"
            );
        return is_likely.then_some(false);
    }
    if message.get("jsonrpc").is_some() || by_client || message.get("id").is_none() {
        return None;
    }
    let result = message.get("result")?;
    let has_object = |key: &str| result.get(key).is_some_and(Value::is_object);
    (result.get("userAgent").is_some_and(Value::is_string)
        || has_object("thread")
        || has_object("turn"))
    .then_some(true)
}

/// The thread that a line names; of a sub-agent's beginning, the one that it works for.
pub(crate) fn thread_of(value: &Value) -> Option<&str> {
    let (message, by_client) = unwrap(value);
    if by_client {
        return None;
    }
    let params = message.get("params").or_else(|| message.get("result"))?;
    text_of(params, "threadId").or_else(|| {
        let thread = params.get("thread")?;
        parent_of(thread)
            .flatten()
            .or_else(|| text_of(thread, "id"))
    })
}

/// Whether a thread is a sub-agent's, and the thread it works for, where it names that.
pub(super) fn parent_of(thread: &Value) -> Option<Option<&str>> {
    if let Some(parent) = text_of(thread, "parentThreadId") {
        return Some(Some(parent));
    }
    let source = thread.get("source")?;
    let agent = source.get("subAgent").or_else(|| source.get("subagent"))?;
    let spawned = agent
        .get("thread_spawn")
        .or_else(|| agent.get("threadSpawn"));
    Some(spawned.and_then(|spawned| {
        text_of(spawned, "parent_thread_id").or_else(|| text_of(spawned, "parentThreadId"))
    }))
}

/// A message's own time.
pub(super) fn time_of(message: &Value, params: &Value) -> Option<i64> {
    let at = ["completedAtMs", "startedAtMs"]
        .iter()
        .find_map(|key| params.get(*key));
    let said = message.get("emittedAtMs").or(at)?;
    millis(said)
}

/// The id of a request, as text.
pub(super) fn id_text(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}
