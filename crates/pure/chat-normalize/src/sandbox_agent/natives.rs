//! Whose an event is: the agent's own session, or that of a sub-agent, which tells its events among those of its parent.
//!
//! | event of a session that is not the turn's | what it means |
//! |---|---|
//! | `session.started` without a parent | the agent came back under another id: its turn is over |
//! | `turn.started` of a sub-agent | passed over where a turn runs, and a turn beside the agent's own where none does |
//! | `turn.started` of the agent | the turn of the sub-agent is over |
//! | `turn.ended` | passed over |
//! | an item that the agent begins, or the user's words to it | the turn is its own |
//!
//! What a sub-agent does stands in the call that started it: of those that run, the first that no other session works for.
//!
//! A sub-agent's session is one that names its parent, or whose first event came while a call of an agent ran. Of any
//! other it is taken that the agent goes on in it, where it begins a turn while none runs; an item of the session
//! before tells that it does not.

use serde_json::Value;

use super::events::SandboxAgent;
use crate::emit::Emitter;
use crate::recent::Recent;
use crate::value::{str_of, text_of};

/// The sessions that the agents' own ids name.
#[derive(Debug, Default)]
pub(crate) struct Natives {
    /// The agent's own.
    own: Option<String>,
    /// What was taken to be its own before.
    before: Option<String>,
    /// Whose turn runs; the agent's own where none does.
    of_turn: Option<String>,
    /// Whose event is read; `None` where it is not said.
    now: Option<String>,
    /// All that are known: whether it is a sub-agent's.
    are_children: Recent<bool>,
    /// The calls that started the sub-agents, by their sessions, and the calls for which one works.
    calls: Recent<String>,
    worked_for: Recent<()>,
}

impl Natives {
    /// An event is read. `agents`: the calls of agents that are open, in their order; `in_turn`: whether a turn is.
    pub(super) fn read(
        &mut self,
        event: &Value,
        data: &Value,
        agents: impl FnOnce() -> Vec<String>,
        in_turn: bool,
    ) {
        self.now = text_of(event, "native_session_id").map(str::to_owned);
        let Some(now) = &self.now else {
            return;
        };
        let own = self.own.get_or_insert_with(|| now.clone());
        self.of_turn.get_or_insert_with(|| now.clone());
        let kind = str_of(event, "type").unwrap_or("");
        let is_own = own == now;
        if !self.are_children.contains(now) {
            let agents = if is_own { Vec::new() } else { agents() };
            self.are_children.insert(now, !agents.is_empty());
            let mut free = agents.iter().filter(|call| !self.worked_for.contains(call));
            if let Some(call) = free.next() {
                self.worked_for.insert(call, ());
                self.calls.insert(now, call.clone());
            }
        }
        if kind == "session.started" && !is_own {
            let held = data.get("metadata").unwrap_or(&Value::Null);
            let is_child = ["parentID", "parent_id", "parentId"]
                .iter()
                .any(|key| text_of(held, key).is_some());
            self.are_children.insert(now, is_child);
        }
        // What is completed may be of a turn before.
        let of_user = |item: &Value| str_of(item, "role") == Some("user");
        let begins = kind == "item.started" || data.get("item").is_some_and(of_user);
        if in_turn && begins {
            self.go_on();
        }
    }

    /// The agent does something in its own session: the turn that runs is its own.
    fn go_on(&mut self) {
        if self.now == self.before {
            let child = std::mem::replace(&mut self.own, self.before.take());
            if let Some(child) = child {
                self.are_children.insert(&child, true);
            }
        }
        if self.now == self.own {
            self.of_turn.clone_from(&self.own);
        }
    }

    /// Whether what is read is of a sub-agent's session.
    pub(super) fn is_child(&self) -> bool {
        let known = self.now.as_ref().and_then(|now| self.are_children.get(now));
        known == Some(&true)
    }

    /// The call that started the sub-agent whose event is read.
    pub(super) fn parent(&self) -> Option<&String> {
        let now = self.now.as_ref().filter(|_| self.is_child())?;
        self.calls.get(now)
    }

    /// Whether what is read is of another session than the turn.
    pub(super) fn of_other(&self) -> bool {
        self.now.is_some() && self.now != self.of_turn
    }

    /// The agent came back in the session that is read; whether that is another one.
    pub(super) fn take_over(&mut self) -> bool {
        if self.now.is_none() || self.now == self.own {
            return false;
        }
        self.own.clone_from(&self.now);
        self.before = None;
        true
    }

    /// Whether the session that is read is the agent's own, or was before.
    fn is_own(&self) -> bool {
        self.now == self.own || self.now == self.before
    }

    /// A turn begins with what is read.
    pub(super) fn begin_turn(&mut self) {
        if self.now.is_none() {
            self.of_turn.clone_from(&self.own);
            return;
        }
        if self.is_own() {
            self.go_on();
        } else if !self.is_child() {
            self.before = std::mem::replace(&mut self.own, self.now.clone());
        }
        self.of_turn.clone_from(&self.now);
    }

    /// No turn runs, and no call.
    pub(super) fn end_turn(&mut self) {
        self.of_turn.clone_from(&self.own);
        self.calls = Recent::default();
    }
}

impl SandboxAgent {
    /// `turn.started`. OpenCode is busy anew with each of its steps, and the user's words may have begun the turn.
    pub(super) fn turn_started(&mut self, emitter: &mut Emitter, named: Option<&str>) {
        if self.in_turn() {
            if !self.natives.of_other() {
                let is_other =
                    |named: &str| self.named.as_deref().is_some_and(|known| known != named);
                if !named.is_some_and(is_other) {
                    self.named = named.map(str::to_owned).or(self.named.take());
                    return emitter.pass_over("a turn that runs");
                }
            } else if !self.natives.is_own() {
                return emitter.pass_over("a turn of another session");
            }
            self.close_turn(emitter, "completed");
        }
        self.open_turn(emitter, named);
        self.named = named.map(str::to_owned);
    }
}
