//! Which threads of a connection are sessions, and which of them a message is of.
//!
//! | thread | what it is |
//! |---|---|
//! | the first that something is told of | the session that the source begins with |
//! | one that is started, taken up or forked here, and says of no other that it works for it | a session of its own |
//! | one that is only looked at, as a client does for its list | nothing, before something happens in it |
//! | one that names its parent, or that an item starts | part of the session which that is of |
//! | one of which nothing else is known yet | part of the session that the line before was of |

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::wire::{id_text, parent_of, unwrap};
use crate::codex::items::member;
use crate::recent::Recent;
use crate::sides::{Route, Router, Sessions};
use crate::value::{str_of, text_of};

/// The threads of a connection.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    sessions: Sessions,
    looked_at: BTreeSet<String>,
    /// The sessions that threads are taken to be of, before something says whose they are.
    guessed: BTreeMap<String, usize>,
    /// The session that a request is about, by who asked and the request's id.
    asked: Recent<usize>,
    last: usize,
}

impl Threads {
    /// What the server says of a thread; `begins`, because it works with it from now on.
    fn told(&mut self, thread: &Value, begins: bool) -> Route {
        let Some(id) = text_of(thread, "id") else {
            return Route::Untold;
        };
        if let Some(number) = self.sessions.get(id) {
            return Route::To(number);
        }
        match parent_of(thread) {
            Some(parent) => {
                let of = parent.map_or(Route::To(self.last), |parent| self.of(parent));
                self.join(id, of)
            }
            None if begins || self.sessions.is_empty() => self.sessions.begin(id),
            None => {
                self.looked_at.insert(id.to_owned());
                Route::Unread("thread that is only looked at")
            }
        }
    }

    /// Something of a thread.
    fn of(&mut self, thread: &str) -> Route {
        match self.sessions.get(thread) {
            Some(number) => Route::To(number),
            None if self.sessions.is_empty() || self.looked_at.remove(thread) => {
                self.sessions.begin(thread)
            }
            None => {
                let guess = self.guessed.entry(thread.to_owned());
                Route::To(*guess.or_insert(self.last))
            }
        }
    }

    fn join(&mut self, thread: &str, of: Route) -> Route {
        if let Route::To(number) = of {
            // Where its parent was not known, that is the first.
            if self.sessions.is_empty() {
                return self.sessions.begin(thread);
            }
            self.sessions.join(thread, number);
        }
        of
    }

    fn asks_or_tells(&mut self, params: &Value) -> Route {
        if let Some(thread) = params.get("thread").filter(|thread| thread.is_object()) {
            return self.told(thread, true);
        }
        let named = text_of(params, "threadId").or_else(|| text_of(params, "conversationId"));
        let Some(thread) = named else {
            return Route::Untold;
        };
        let route = self.of(thread);
        if let (Route::To(number), Some(item)) = (route, params.get("item")) {
            let started = member(item, "receiver_thread_ids", "receiverThreadIds");
            let started = started.and_then(Value::as_array).into_iter().flatten();
            let agent = member(item, "agent_thread_id", "agentThreadId");
            for child in started.chain(agent).filter_map(Value::as_str) {
                self.sessions.join(child, number);
            }
        }
        route
    }

    fn answers(&mut self, message: &Value, id: &str, by_client: bool) -> Route {
        let result = message.get("result").unwrap_or(&Value::Null);
        if !by_client && let Some(thread) = result.get("thread").filter(|thread| thread.is_object())
        {
            let begins = text_of(result, "model").is_some() || text_of(result, "cwd").is_some();
            return self.told(thread, begins);
        }
        let asked = |by_client| self.asked.get(&key(id, by_client)).copied();
        // A line does not always say which side wrote it.
        let number = asked(!by_client).or_else(|| asked(by_client));
        number.map_or(Route::Untold, Route::To)
    }
}

fn key(id: &str, by_client: bool) -> String {
    format!("{}{id}", if by_client { "client " } else { "server " })
}

impl Router for Threads {
    fn route(&mut self, value: &Value) -> Route {
        let (message, by_client) = unwrap(value);
        let id = message.get("id").map(id_text);
        let is_method = str_of(message, "method").is_some();
        let route = match &id {
            Some(id) if !is_method => self.answers(message, id, by_client),
            _ => self.asks_or_tells(message.get("params").unwrap_or(&Value::Null)),
        };
        if let Route::To(number) = route {
            self.last = number;
            if let Some(id) = id.filter(|_| is_method) {
                self.asked.insert(&key(&id, by_client), number);
            }
        }
        route
    }

    fn name(&self, number: usize) -> &str {
        self.sessions.name(number)
    }
}
