//! The calls that start agents, and which agents each started.

use std::collections::{HashMap, HashSet, VecDeque};

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
    /// Calls that are known to have started an agent, from what lies beside its file or from their result; with the agents
    /// whose files were not asked for.
    agents: HashMap<String, VecDeque<String>>,
    /// The first call that is known to have started an agent.
    starts: HashMap<String, String>,
    /// The event that was looked at last, and the call that is over with it: it comes again behind each agent of it.
    last: Option<(String, Option<String>)>,
}

impl AgentCalls {
    /// Remembers the call that this event is, where it starts an agent, and which agent a call started, where it says that.
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
        if let Payload::Progress(progress) = &event.payload
            && let Some(call) = &progress.tool_call_id
            && let Some(agent) = progress.extra.get("agentId")
            && let Some(agent) = agent.as_str()
        {
            self.note_agent(call.clone(), agent.into_owned());
        }
    }

    /// Remembers that `call` started the agent.
    pub(super) fn note_agent(&mut self, call: String, agent_id: String) {
        self.starts
            .entry(agent_id.clone())
            .or_insert_with(|| call.clone());
        self.agents.entry(call).or_default().push_back(agent_id);
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
    pub(super) fn of_agent(&self, agent_id: &str) -> Option<String> {
        let call = self.starts.get(agent_id)?;
        self.turns.contains_key(call).then(|| call.clone())
    }

    /// The call whose agent is over with this event, and the next agent it started of those that `is_left` says are left.
    pub(super) fn over_with(
        &mut self,
        event: &ChatEvent,
        is_left: impl Fn(&str) -> bool,
    ) -> Option<(String, String)> {
        if self.last.as_ref().is_none_or(|(id, _)| *id != event.id) {
            self.last = Some((event.id.clone(), self.ends(event)));
        }
        let (_, call) = self.last.as_ref()?;
        let call = call.clone()?;
        let agents = self.agents.get_mut(&call)?;
        let next = std::iter::from_fn(|| agents.pop_front()).find(|id| is_left(id))?;
        Some((call, next))
    }

    /// The call that is over with this event, as far as it started agents.
    fn ends(&mut self, event: &ChatEvent) -> Option<String> {
        let text = |value: &Json| value.as_str().map(|text| text.into_owned());
        let result = match &event.payload {
            Payload::ToolResult(result) => result,
            Payload::Notice(notice) => return notice.extra.get("toolCallId").and_then(text),
            _ => return None,
        };
        let call = &result.tool_call_id;
        let details = result.extra.get("details");
        let detail = |name: &str| {
            let value = details.and_then(|details| details.get(name));
            value.as_ref().and_then(text)
        };
        if let Some(agent_id) = detail("agentId") {
            self.starts
                .entry(agent_id.clone())
                .or_insert_with(|| call.clone());
            let agents = self.agents.entry(call.clone()).or_default();
            if !agents.contains(&agent_id) {
                agents.push_front(agent_id);
            }
        }
        // It only began, and goes on in the background.
        if detail("status").as_deref() == Some("async_launched") || result.background == Some(true)
        {
            return None;
        }
        Some(call.clone())
    }
}
