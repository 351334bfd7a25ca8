//! The calls that start agents, and which agents each started.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use chat_event::{ChatEvent, Json, Payload};

use crate::emit::hash;

/// A call that started an agent, with its turn.
pub(super) type CallInTurn = (String, Option<String>);

/// The calls that start agents.
#[derive(Debug, Default)]
pub(super) struct AgentCalls {
    /// With their turns.
    turns: HashMap<String, Option<String>>,
    /// By the hash of their prompt.
    by_prompt: HashMap<u64, VecDeque<String>>,
    /// Those whose agent's file was not read.
    waiting: HashSet<String>,
    /// Calls that are known to have started an agent, from what lies beside its file or from their result.
    agents: BTreeMap<String, Vec<String>>,
}

impl AgentCalls {
    /// Remembers the call that this event is, where it starts an agent.
    pub(super) fn note(&mut self, event: &ChatEvent) {
        if let Payload::ToolCall(call) = &event.payload
            && call.kind.as_deref() == Some("agent")
        {
            let id = call.tool_call_id.clone();
            let prompt = call.args.get("prompt");
            let prompt = prompt.and_then(|prompt| prompt.as_str().map(|text| text.into_owned()));
            let prompt = hash(prompt.unwrap_or_default().as_bytes());
            self.turns.insert(id.clone(), event.turn_id.clone());
            self.waiting.insert(id.clone());
            self.by_prompt.entry(prompt).or_default().push_back(id);
        }
    }

    /// Remembers that `call` started the agent.
    pub(super) fn note_agent(&mut self, call: String, agent_id: String) {
        self.agents.entry(call).or_default().push(agent_id);
    }

    /// Whether a call waits for its agent's file.
    pub(super) fn any_waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes the first call with this prompt that waits for its agent's file.
    pub(super) fn take_with_prompt(&mut self, prompt: &str) -> Option<CallInTurn> {
        let same = self.by_prompt.get_mut(&hash(prompt.as_bytes()))?;
        let waiting = &self.waiting;
        let call = std::iter::from_fn(|| same.pop_front()).find(|call| waiting.contains(call))?;
        Some(self.take(call))
    }

    /// The call, which waits for no file any more, with its turn.
    pub(super) fn take(&mut self, call: String) -> CallInTurn {
        self.waiting.remove(&call);
        let turn = self.turns.get(&call).cloned().flatten();
        (call, turn)
    }

    /// The call that started the agent, where it was shown.
    pub(super) fn of_agent(&self, agent_id: &String) -> Option<String> {
        let mut calls = self.agents.iter();
        let call = calls.find(|(_, agents)| agents.contains(agent_id));
        let call = call.map(|(call, _)| call.clone());
        call.filter(|call| self.turns.contains_key(call))
    }

    /// The call whose agent is over with this event, and the agents it started.
    pub(super) fn over_with(&mut self, event: &ChatEvent) -> Option<(String, &[String])> {
        let text = |value: &Json| value.as_str().map(|text| text.into_owned());
        let call = match &event.payload {
            Payload::ToolResult(result) => {
                let call = &result.tool_call_id;
                let details = result.extra.get("details");
                let detail = |name: &str| {
                    let value = details.and_then(|details| details.get(name));
                    value.as_ref().and_then(text)
                };
                if let Some(agent_id) = detail("agentId") {
                    let agents = self.agents.entry(call.clone()).or_default();
                    if !agents.contains(&agent_id) {
                        agents.insert(0, agent_id);
                    }
                }
                // It only began, and goes on in the background.
                if detail("status").as_deref() == Some("async_launched") {
                    return None;
                }
                call.clone()
            }
            Payload::Notice(notice) => notice.extra.get("toolCallId").and_then(text)?,
            _ => return None,
        };
        let agents = self.agents.get(&call)?;
        Some((call, agents))
    }
}
