//! Which sessions a bus tells of: a server has one bus for all that it works on.
//!
//! A session begins with the first event of work in it, or with its own beginning. One that says whose it is, or that a call
//! of the task tool names, is part of that one's. What else is told of a session of which no work was seen, such as its
//! name, is not read.

use serde_json::Value;

use super::next::FAMILY;
use super::shapes::{is_of_server, native_session, properties_of, unwrapped};
use crate::sides::{Route, Router, Sessions};
use crate::value::{str_of, text_of};

/// The sessions of a bus.
#[derive(Debug, Default)]
pub(crate) struct BusSessions(Sessions);

impl Router for BusSessions {
    fn route(&mut self, value: &Value) -> Route {
        let event = unwrapped(value);
        let kind = str_of(event, "type").unwrap_or("");
        let properties = properties_of(event);
        let Some(native_id) = native_session(kind, properties).filter(|_| !is_of_server(kind))
        else {
            return Route::Untold;
        };
        let info = properties.get("info").unwrap_or(&Value::Null);
        let parent = text_of(info, "parentID").filter(|_| kind.starts_with("session."));
        let begins = self.0.is_empty() || begins(kind, properties);
        let route = match (self.0.get(native_id), parent) {
            (Some(number), _) => Route::To(number),
            (None, Some(parent)) => match self.0.begin(parent) {
                Route::To(number) => {
                    self.0.join(native_id, number);
                    Route::To(number)
                }
                other => other,
            },
            (None, None) if begins => self.0.begin(native_id),
            (None, None) => Route::Unread("event of another session"),
        };
        let part = properties.get("part").unwrap_or(&Value::Null);
        if let (Route::To(number), Some("task")) = (route, str_of(part, "tool"))
            && let Some(child) = part.pointer("/state/metadata/sessionId")
            && let Some(child) = child.as_str()
        {
            self.0.join(child, number);
        }
        route
    }

    fn name(&self, number: usize) -> &str {
        self.0.name(number)
    }
}

/// Whether a session is at work, where this is told of it.
fn begins(kind: &str, properties: &Value) -> bool {
    let status = || str_of(properties.get("status")?, "type");
    match kind {
        "session.created" | "session.error" => true,
        "session.status" => status() != Some("idle"),
        _ => [FAMILY, "message.", "permission.", "question."]
            .iter()
            .any(|family| kind.starts_with(family)),
    }
}
