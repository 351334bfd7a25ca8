//! Which of OpenCode's dialects a value speaks, and to which session it belongs.

use serde_json::Value;

use crate::value::{str_of, text_of};

/// Families of events that are about the server, its projects or its windows, not about a session.
const NOT_OF_A_SESSION: [&str; 18] = [
    "catalog",
    "file",
    "ide",
    "installation",
    "integration",
    "lsp",
    "mcp",
    "plugin",
    "project",
    "pty",
    "reference",
    "server",
    "skill",
    "tui",
    "vcs",
    "workspace",
    "worktree",
    "global",
];

/// The form of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// An event of the bus, bare or in the wrapper of `/global/event`.
    Event,
    /// A line of `opencode run --format json`.
    Run,
    /// An exported session, or one of its messages.
    Export,
}

/// The form of `value` and whether it is sure.
fn shape(value: &Value) -> Option<(Shape, bool)> {
    let is_object = |value: &Value, key: &str| value.get(key).is_some_and(Value::is_object);
    let kind = str_of(value, "type").unwrap_or("");
    let timed = value.get("timestamp").is_some_and(Value::is_number);
    if text_of(value, "sessionID").is_some() && timed {
        let known = match kind {
            "step_start" | "text" | "tool_use" | "step_finish" | "reasoning" => {
                is_object(value, "part")
            }
            "error" => value.get("error").is_some(),
            _ => false,
        };
        if known {
            return Some((Shape::Run, true));
        }
    }
    // A run of mini-swe-agent is laid out alike.
    let is_mini = || {
        value
            .get("info")
            .is_some_and(|info| info.get("mini_version").is_some())
    };
    if is_object(value, "info") && kind.is_empty() && !is_mini() {
        let listed = |key: &str| value.get(key).is_some_and(Value::is_array);
        if listed("messages") || listed("parts") {
            return Some((Shape::Export, true));
        }
    }
    let event = unwrapped(value);
    let kind = str_of(event, "type").unwrap_or("");
    if kind == "sync" && is_object(event, "syncEvent") {
        return Some((Shape::Event, true));
    }
    if kind.starts_with(super::next::FAMILY) && is_object(event, "data") {
        return Some((Shape::Event, true));
    }
    if is_object(event, "properties")
        && let Some((family, _)) = kind.split_once('.')
    {
        let sure = matches!(
            family,
            "session" | "message" | "server" | "permission" | "question" | "todo"
        );
        return Some((Shape::Event, sure));
    }
    None
}

/// Whether `value` is of the form `wanted`, and whether that is sure.
pub(crate) fn is_of(value: &Value, wanted: Shape) -> Option<bool> {
    shape(value)
        .filter(|(shape, _)| *shape == wanted)
        .map(|(_, sure)| sure)
}

/// The event within the wrapper of `/global/event`.
pub(crate) fn unwrapped(value: &Value) -> &Value {
    match value.get("payload") {
        Some(payload) if payload.is_object() && value.get("type").is_none() => payload,
        _ => value,
    }
}

/// The session a value belongs to; of a sub-agent's beginning, the session it works for.
pub(crate) fn session_of(value: &Value) -> Option<String> {
    let (shape, _) = shape(value)?;
    let id = match shape {
        Shape::Run => text_of(value, "sessionID"),
        Shape::Export => {
            let info = value.get("info")?;
            text_of(info, "sessionID").or_else(|| text_of(info, "id"))
        }
        Shape::Event => session_of_event(unwrapped(value)),
    };
    id.map(str::to_owned)
}

/// The members of an event; those of the newer family may stand in `data`.
pub(crate) fn properties_of(event: &Value) -> &Value {
    let properties = event.get("properties").or_else(|| event.get("data"));
    properties.unwrap_or(&Value::Null)
}

fn session_of_event(event: &Value) -> Option<&str> {
    let properties = properties_of(event);
    let kind = str_of(event, "type").unwrap_or("");
    let info = properties.get("info").unwrap_or(&Value::Null);
    if kind.starts_with("session.")
        && let Some(parent) = text_of(info, "parentID")
    {
        return Some(parent);
    }
    native_session(kind, properties)
}

/// Whether an event is not about a session.
pub(crate) fn is_of_server(kind: &str) -> bool {
    let family = kind.split_once('.').map_or(kind, |(family, _)| family);
    NOT_OF_A_SESSION.contains(&family)
}

/// The session an event names.
pub(crate) fn native_session<'a>(kind: &str, properties: &'a Value) -> Option<&'a str> {
    let info = properties.get("info").unwrap_or(&Value::Null);
    let part = properties.get("part").unwrap_or(&Value::Null);
    text_of(properties, "sessionID")
        .or_else(|| text_of(info, "sessionID"))
        .or_else(|| text_of(part, "sessionID"))
        .or_else(|| {
            kind.starts_with("session.")
                .then(|| text_of(info, "id"))
                .flatten()
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn members_tell_the_form_in_any_order() {
        let event =
            json!({"properties": {"sessionID": "ses_1", "status": {}}, "type": "session.status"});
        assert_eq!(shape(&event), Some((Shape::Event, true)));
        assert_eq!(session_of(&event).as_deref(), Some("ses_1"));
        let global = json!({"payload": event, "directory": "/d"});
        assert_eq!(shape(&global), Some((Shape::Event, true)));
        assert_eq!(session_of(&global).as_deref(), Some("ses_1"));
        let run = json!({"part": {}, "sessionID": "ses_2", "timestamp": 1, "type": "text"});
        assert_eq!(shape(&run), Some((Shape::Run, true)));
        let export = json!({"messages": [], "info": {"id": "ses_3"}});
        assert_eq!(shape(&export), Some((Shape::Export, true)));
        assert_eq!(session_of(&export).as_deref(), Some("ses_3"));
        for other in [
            json!({"type": "text", "text": "x"}),
            json!({"type": "user", "message": {}, "sessionId": "s"}),
            json!({"event_id": "e", "type": "item.started", "data": {}}),
            json!(["session.status"]),
        ] {
            assert_eq!(shape(&other), None, "{other}");
        }
    }

    #[test]
    fn the_beginning_of_a_sub_agent_belongs_to_the_session_it_works_for() {
        let created = json!({"type": "session.created", "properties":
            {"sessionID": "ses_child", "info": {"id": "ses_child", "parentID": "ses_root"}}});
        assert_eq!(session_of(&created).as_deref(), Some("ses_root"));
    }
}
