//! Sub-agents: within which call each works, and which work on while the main agent rests.
//!
//! Lines of a sub-agent bear its `agentId`, and most the `parentToolCallId` of the call that started it. One in the background
//! works on after that call's result.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Copilot;
use crate::emit::Emitter;
use crate::value::{str_of, text_of};

/// More than a session has; of those beyond, their lines' own words count.
const MOST: usize = 10_000;

/// By their ids.
#[derive(Debug, Default)]
pub(super) struct Agents(BTreeMap<String, Agent>);

#[derive(Debug)]
struct Agent {
    /// The call that started it, by its id in the events.
    call: String,
    works: bool,
    in_background: bool,
}

impl Agents {
    /// Whether one works that no call waits for.
    pub(super) fn any_work(&self) -> bool {
        self.0.values().any(|it| it.works && it.in_background)
    }

    /// The program is gone, or begins anew: none works on.
    pub(super) fn all_rest(&mut self, emitter: &mut Emitter) {
        if self.any_work() {
            self.0.values_mut().for_each(|it| it.works = false);
            emitter.in_background(false);
        }
    }
}

impl Copilot {
    /// What comes next is within the call that a line is of; whether it is a sub-agent's.
    pub(super) fn enter(&mut self, event: &Value, data: &Value) -> bool {
        let agent = text_of(event, "agentId");
        let known = agent.and_then(|agent| self.agents.0.get(agent));
        let of_usage = data
            .get("usage")
            .and_then(|it| text_of(it, "parentToolCallId"));
        let said = text_of(data, "parentToolCallId").or(of_usage);
        let parent = known.map(|agent| agent.call.as_str()).or(said);
        self.track.within(parent);
        agent.is_some() || parent.is_some()
    }

    /// `subagent.…`.
    pub(super) fn agent(&mut self, emitter: &mut Emitter, kind: &str, event: &Value) {
        emitter.pass_over(kind);
        let data = event.get("data").unwrap_or(&Value::Null);
        let Some(id) = text_of(event, "agentId") else {
            return;
        };
        match kind {
            "subagent.started" => {
                let call = text_of(data, "toolCallId").unwrap_or("");
                let call = (self.track.waiting(call))
                    .map_or(call, |call| &call.id)
                    .to_owned();
                if call.is_empty() || self.agents.0.len() >= MOST {
                    return;
                }
                let agent = Agent {
                    call,
                    works: true,
                    in_background: str_of(data, "executionMode") == Some("background"),
                };
                self.agents.0.insert(id.to_owned(), agent);
            }
            "subagent.completed" | "subagent.failed" => {
                if let Some(agent) = self.agents.0.get_mut(id) {
                    agent.works = false;
                }
            }
            _ => return,
        }
        emitter.in_background(self.agents.any_work());
        self.end_where_answered(emitter);
    }
}
