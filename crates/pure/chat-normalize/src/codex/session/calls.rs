//! The tool calls of a session: written, or held until more is known of them; and closed where no result comes.

use chat_event::payload::{ToolCall, ToolError, ToolResult};
use chat_event::{Extra, Json};

use super::{Scope, Session};
use crate::codex::given::Given;
use crate::codex::items::agent_ended;
use crate::codex::tools::Spec;
use crate::emit::{Emitter, Place};

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Its result came.
    Told,
    /// Its turn ended before.
    Closed,
}

/// A tool call without its result.
#[derive(Debug)]
pub(crate) struct Call {
    order: u64,
    pub(crate) spec: Spec,
    pub(crate) place: Place,
    turn: String,
    /// The thread of the sub-agent that it started.
    pub(crate) agent: Option<String>,
    /// What its output chunks said.
    pub(crate) printed: String,
    pub(crate) n_chunks: u64,
    /// What it gave, though it runs on.
    pub(crate) so_far: Option<Given>,
}

/// A call that is not written yet.
#[derive(Debug)]
pub(super) struct Held {
    order: u64,
    scope: Scope,
    spec: Spec,
    /// How many calls of a script stand there by themselves.
    n_inside: u32,
}

impl Call {
    /// Whether it was called in the turn.
    pub(super) fn is_of(&self, turn: &str) -> bool {
        self.turn == turn
    }

    /// The turn in which it was called.
    pub(super) fn turn(&self) -> &str {
        &self.turn
    }
}

impl Session {
    /// How the call ended, where it did.
    pub(crate) fn ended(&self, id: &str) -> Option<Ended> {
        self.ended.get(id).copied()
    }

    /// Whether the call stands.
    pub(crate) fn is_called(&self, id: &str) -> bool {
        self.calls.contains_key(id) || self.ended.contains(id) || self.held.contains_key(id)
    }

    /// Keeps a call until more is known of it.
    pub(crate) fn hold(&mut self, scope: &Scope, id: &str, spec: Spec) {
        self.n_calls += 1;
        if spec.is_script() {
            self.scripts.insert(self.n_calls, id.to_owned());
        }
        let held = Held {
            order: self.n_calls,
            scope: scope.clone(),
            spec,
            n_inside: 0,
        };
        self.held.insert(id.to_owned(), held);
    }

    /// Writes the call that was kept, with what is known of it now.
    pub(crate) fn tell_held(
        &mut self,
        emitter: &mut Emitter,
        id: &str,
        learn: impl FnOnce(Spec) -> Spec,
    ) {
        if let Some(Held { scope, spec, .. }) = self.take_held(id) {
            self.call(emitter, &scope, id, learn(spec));
        }
    }

    fn take_held(&mut self, id: &str) -> Option<Held> {
        let held = self.held.remove(id)?;
        self.scripts.remove(&held.order);
        Some(held)
    }

    /// A call came that the newest script made.
    pub(crate) fn called_by_script(&mut self) {
        let newest = self.scripts.last_key_value();
        if let Some(script) = newest.and_then(|(_, id)| self.held.get_mut(id)) {
            script.n_inside += 1;
        }
    }

    /// Whether the call is a script that did nothing but calls which stand there by themselves; then it is told by them.
    pub(crate) fn is_told_by_its_calls(&mut self, id: &str) -> bool {
        let told = self.held.get(id).is_some_and(|held| held.n_inside > 0);
        if told {
            self.take_held(id);
            self.ended.insert(id, Ended::Told);
        }
        told
    }

    fn tell_all_held(&mut self, emitter: &mut Emitter, turn: Option<&str>) {
        let mut held: Vec<(u64, String)> = self
            .held
            .iter()
            .filter(|(_, held)| turn.is_none_or(|turn| held.scope.turn == turn))
            .map(|(id, held)| (held.order, id.clone()))
            .collect();
        held.sort();
        for (_, id) in held {
            self.tell_held(emitter, &id, |spec| spec);
        }
    }

    /// Writes a call.
    pub(crate) fn call(&mut self, emitter: &mut Emitter, scope: &Scope, id: &str, mut spec: Spec) {
        if spec.kind == "edit"
            && let (Some(title), Some(cwd)) = (&mut spec.title, self.facts.cwd())
        {
            // Patches name files both ways.
            *title = title.replace(&format!("{}/", cwd.trim_end_matches('/')), "");
        }
        let payload = ToolCall {
            tool_call_id: id.to_owned(),
            tool_name: spec.name.clone(),
            args: Json::from(&spec.args),
            title: spec.title.clone(),
            kind: Some(spec.kind.to_owned()),
            extra: Extra::default(),
        };
        emitter.add_as(&format!("{id}:call"), &scope.place, payload);
        self.n_calls += 1;
        let call = Call {
            order: self.n_calls,
            spec,
            place: scope.place.clone(),
            turn: scope.turn.clone(),
            agent: None,
            printed: String::new(),
            n_chunks: 0,
            so_far: None,
        };
        self.calls.insert(id.to_owned(), call);
    }

    /// Takes an open call, whose result comes.
    pub(crate) fn take_call(&mut self, id: &str) -> Option<Call> {
        let call = self.calls.remove(id)?;
        self.ended.insert(id, Ended::Told);
        Some(call)
    }

    /// Closes the open calls of a turn, or all. Those of sub-agents that work on get their result when they are done. Where
    /// the turn was over by itself, its commands run on.
    pub(super) fn close_calls(
        &mut self,
        emitter: &mut Emitter,
        turn: Option<&str>,
        is_completed: bool,
    ) {
        self.tell_all_held(emitter, turn);
        let works_on = |call: &Call| {
            let agent = call.agent.as_ref().filter(|_| turn.is_some());
            agent.is_some_and(|agent| self.at_work.contains(agent))
        };
        let mut open: Vec<(u64, String)> = self
            .calls
            .iter()
            .filter(|(_, call)| turn.is_none_or(|turn| call.is_of(turn)))
            .filter(|(_, call)| !works_on(call))
            .map(|(id, call)| (call.order, id.clone()))
            .collect();
        open.sort();
        for (_, id) in open {
            let Some(call) = self.calls.remove(&id) else {
                continue;
            };
            let agent = call.agent.as_ref();
            let rests = agent.and_then(|agent| self.threads.get(agent)?.rests.clone());
            if let Some(outcome) = rests {
                self.ended.insert(&id, Ended::Told);
                agent_ended(emitter, &id, &call, &outcome);
                continue;
            }
            self.ended.insert(&id, Ended::Closed);
            self.asks.settle(emitter, &id, None);
            let is_of_shell = call.spec.kind == "execute" || call.spec.name == "write_stdin";
            let runs_on = call.so_far.is_some() || (is_completed && is_of_shell);
            let printed = call.so_far.map_or(call.printed, |so_far| so_far.text);
            let mut result = ToolResult {
                tool_call_id: id.clone(),
                result: Json::string(&printed),
                ..ToolResult::default()
            };
            if runs_on {
                result.summary = Some("still running when the turn ended".to_owned());
            } else {
                result.error = Some(ToolError {
                    code: Some("no_result".to_owned()),
                    message: "no result recorded".to_owned(),
                    extra: Extra::default(),
                });
            }
            emitter.add_as(&format!("{id}:closed"), &call.place, result);
        }
    }
}
