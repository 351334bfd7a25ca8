//! Which sessions a connection carries, and which of them a message is of.
//!
//! | message | session |
//! |---|---|
//! | before any session is known | the one that the source begins with |
//! | a request for a further session | held till it is answered, or something is told of that session; then told in it |
//! | … that is refused | told in the first session, with what was asked |
//! | … that is too long, or one too many | let go: a notice in the first session says so |
//! | names a session | that one; where it is not known it begins, unless a call is said to have started it |
//! | an answer | the one that the request was about; of a turn's end without its request, the one that was told of last |
//!
//! A session that begins later has to know who the agent is: it is told what the connection began with.

use std::collections::BTreeMap;

use serde_json::Value;

use super::openings::asks_for_old;
use super::wire::{Asked, Said, Side, Wire};
use crate::recent::Recent;
use crate::sides::{Route, Router, Sessions};
use crate::value::text_of;

/// Requests for sessions that wait at once, and their bytes in all; one more is not held.
const MAX_HELD: usize = 100;
const MAX_HELD_BYTES: usize = 4 * 1024 * 1024;

/// The sessions of a connection.
#[derive(Debug, Default)]
pub(crate) struct AcpSessions {
    wire: Wire,
    sessions: Sessions,
    /// `initialize` and its answer.
    greeting: Vec<Value>,
    /// Requests for sessions, by their ids.
    held: BTreeMap<String, Request>,
    held_bytes: usize,
    /// The requests for sessions that were there before, by those.
    wanted: BTreeMap<String, String>,
    /// What is told before the message.
    early: Vec<Value>,
    /// The sessions of forms that are filled in elsewhere.
    elicited: Recent<usize>,
    last: usize,
}

/// A request that waits for its answer.
#[derive(Debug)]
struct Request {
    value: Value,
    bytes: usize,
}

/// Whether a request opens a session.
fn opens(method: &str) -> bool {
    method == "session/new" || asks_for_old(method)
}

impl AcpSessions {
    /// The session of this name, which is there.
    fn meet(&mut self, native: &str) -> Route {
        let is_known = self.sessions.get(native).is_some();
        let is_first = self.sessions.is_empty();
        let route = self.sessions.begin(native);
        if !is_known && !is_first {
            let wanted = self.wanted.remove(native);
            let request = wanted.and_then(|id| self.take_held(&id));
            self.early = self.greeting.iter().cloned().chain(request).collect();
        }
        route
    }

    /// The request of this id, which is held no more.
    fn take_held(&mut self, id: &str) -> Option<Value> {
        let request = self.held.remove(id)?;
        self.held_bytes = self.held_bytes.saturating_sub(request.bytes);
        Some(request.value)
    }

    fn known(&self, native: &str) -> Route {
        self.sessions.get(native).map_or(Route::Untold, Route::To)
    }

    fn asks(&mut self, id: Option<&str>, method: &str, params: &Value, value: &Value) -> Route {
        let native = text_of(params, "sessionId").unwrap_or("");
        match (method, id) {
            ("initialize", _) => {
                self.greeting = vec![value.clone()];
                Route::Untold
            }
            (_, Some(id)) if opens(method) && !self.sessions.is_empty() => {
                let is_known = self.sessions.get(native).is_some();
                if is_known && method != "session/fork" {
                    return self.known(native);
                }
                // An id that is used again is of this request alone.
                self.wanted.retain(|_, of| of != id);
                self.take_held(id);
                let bytes = value.to_string().len() + id.len();
                let all = self.held_bytes.saturating_add(bytes);
                if self.held.len() >= MAX_HELD || all > MAX_HELD_BYTES {
                    return Route::LetGo(
                        "requests for other sessions are kept until their answers, and too many wait, or too long ones",
                    );
                }
                self.held_bytes = all;
                let value = value.clone();
                self.held.insert(id.to_owned(), Request { value, bytes });
                if method != "session/fork" && !native.is_empty() {
                    self.wanted.insert(native.to_owned(), id.to_owned());
                }
                Route::Unread("request for another session")
            }
            _ if opens(method) => Route::Untold,
            ("elicitation/complete", _) => {
                let form = text_of(params, "elicitationId").unwrap_or("");
                self.elicited
                    .get(form)
                    .map_or(Route::Untold, |number| Route::To(*number))
            }
            ("session/list" | "session/close" | "session/delete", _) => self.known(native),
            _ if native.is_empty() => Route::Untold,
            _ => self.tells(native, params),
        }
    }

    /// Something is told of a session, or asked in it.
    fn tells(&mut self, native: &str, params: &Value) -> Route {
        let route = self.meet(native);
        if let Route::To(number) = route {
            self.last = number;
            if let Some(form) = text_of(params, "elicitationId") {
                self.elicited.insert(form, number);
            }
            let child = params.pointer("/update/rawOutput/metadata/sessionId");
            if let Some(child) = child.and_then(Value::as_str) {
                self.sessions.join(child, number);
            }
        }
        route
    }

    fn answers(
        &mut self,
        side: Side,
        id: &str,
        asked: &Asked,
        result: Option<&Value>,
        value: &Value,
    ) -> Route {
        let is_agents = side == Side::Agent;
        match (asked.method.as_str(), result) {
            ("initialize", Some(_)) if is_agents => {
                self.greeting.truncate(1);
                self.greeting.push(value.clone());
                Route::Untold
            }
            (method, Some(result)) if is_agents && opens(method) => {
                let native = text_of(result, "sessionId").unwrap_or(&asked.session);
                let request = self.take_held(id);
                self.wanted.retain(|_, of| of != id);
                if native.is_empty() {
                    return Route::Untold;
                }
                let route = self.meet(native);
                self.early.extend(request);
                route
            }
            (method, None) if is_agents && opens(method) && self.held.contains_key(id) => {
                self.wanted.retain(|_, of| of != id);
                let request = self.take_held(id);
                self.early.extend(request);
                Route::To(0)
            }
            ("session/prompt", _) if asked.session.is_empty() => Route::To(self.last),
            _ => self.known(&asked.session),
        }
    }
}

impl Router for AcpSessions {
    fn route(&mut self, value: &Value) -> Route {
        match self.wire.read(value) {
            Said::Request {
                side,
                id,
                method,
                params,
            } => {
                if let Some(id) = &id {
                    let asked = Asked {
                        method: method.to_owned(),
                        session: text_of(params, "sessionId").unwrap_or("").to_owned(),
                        about: String::new(),
                    };
                    self.wire.asked(side, id, asked);
                }
                self.asks(id.as_deref(), method, params, value)
            }
            Said::Answer {
                side,
                id,
                asked,
                result,
                ..
            } => self.answers(side, &id, &asked, result, value),
            Said::Unknown => Route::Untold,
        }
    }

    fn name(&self, number: usize) -> &str {
        self.sessions.name(number)
    }

    fn before(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.early)
    }
}
