//! Which sessions rows are of: a database has all of a project. One that works for another is part of that one's, as its own
//! row says, or the call that started it.

use serde_json::Value;

use super::message;
use super::shapes::{is_session_row, starting_call};
use super::tools;
use crate::sides::{Route, Router, Sessions};
use crate::value::{str_of, text_of};

/// The sessions of the rows that came.
#[derive(Debug, Default)]
pub(crate) struct RowSessions(Sessions);

impl Router for RowSessions {
    fn route(&mut self, value: &Value) -> Route {
        if is_session_row(value) {
            let id = str_of(value, "id").unwrap_or("");
            let Some(parent) = text_of(value, "parent_session_id") else {
                return self.0.begin(id);
            };
            let route = self.0.begin(parent);
            if let Route::To(number) = route {
                self.0.join(id, number);
            }
            return route;
        }
        let Some(session) = text_of(value, "session_id") else {
            return Route::Untold;
        };
        let route = match (self.0.get(session), starting_call(session)) {
            (Some(number), _) => Route::To(number),
            // Who started it is not among the rows that came.
            (None, Some(_)) if !self.0.is_empty() => Route::Unread("message of an unknown agent"),
            (None, _) => self.0.begin(session),
        };
        if let Route::To(number) = route {
            self.note_agents(value, number);
        }
        route
    }

    fn name(&self, number: usize) -> &str {
        self.0.name(number)
    }
}

impl RowSessions {
    /// The sessions of agents that a message starts are of its own session.
    fn note_agents(&mut self, row: &Value, number: usize) {
        let parts = str_of(row, "parts").unwrap_or("");
        let is_start = |name: &&str| parts.contains(&format!("\"{name}\""));
        if !tools::AGENTS.iter().any(is_start) {
            return;
        }
        let (Some(id), Ok(parts)) = (text_of(row, "id"), super::shapes::parts_of(row)) else {
            return;
        };
        for part in parts.iter() {
            let (_, call) = message::part(part);
            let starts = str_of(call, "name").is_some_and(|name| tools::AGENTS.contains(&name));
            if let Some(call) = text_of(call, "id").filter(|_| starts) {
                self.0.join(&format!("{id}$${call}"), number);
            }
        }
    }
}
