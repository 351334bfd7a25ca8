//! Where agents' files are read: before what ends their call, or at the end by their first words.

use chat_event::{ChatEvent, Payload};

use super::FolderReader;
use crate::folder::source::{Agent, Source, first_words};
use crate::reader::Context;

/// How deep agents' files are read within each other; the rest is read after the session's file.
const MAX_DEPTH: usize = 32;

impl FolderReader {
    /// Whether an event of an agent's file has its place; the file may turn out to be another session's.
    pub(super) fn has_place(&mut self, event: &ChatEvent) -> bool {
        let Some(source) = self.sources.last_mut() else {
            return false;
        };
        let Some(agent) = &mut source.agent else {
            return true;
        };
        if let Payload::SessionStart(start) = &event.payload
            && let (Some(own), Some(other)) = (agent.of_session.take(), &start.native_id)
            && own != *other
        {
            self.unread.push(source.path.clone());
            source.events.clear();
            source.ended = true;
            return false;
        }
        if !agent.looks_for_call {
            return true;
        }
        let Some(words) = first_words(event) else {
            // Nothing but what a file says of itself comes before the first words.
            agent.looks_for_call = is_of_file(event);
            return true;
        };
        agent.looks_for_call = false;
        if let Some(call) = self.calls.take_with_prompt(&words) {
            agent.call = Some(call);
        } else if words == "Warmup" {
            self.left_out.push(source.path.clone());
            source.events.clear();
            source.ended = true;
            return false;
        }
        true
    }

    /// The agent whose file is to be read before this event, and the call that started it.
    pub(super) fn agent_before(&mut self, event: &ChatEvent) -> Option<(String, String)> {
        if self.sources.len() >= MAX_DEPTH {
            return None;
        }
        let agents = &self.agents;
        let over = self.calls.over_with(event, |id| agents.contains_key(id));
        over.map(|(call, agent_id)| (agent_id, call))
    }

    /// Goes on with the agent's file.
    pub(super) fn open_agent(&mut self, agent_id: &str, call: Option<String>) {
        let Some(part) = self.agents.remove(agent_id) else {
            return;
        };
        let context = Context {
            session_id: self
                .session_id
                .clone()
                .or_else(|| self.context.session_id.clone()),
            ..Context::default()
        };
        let call = call.map(|call| self.calls.take(call));
        let agent = Agent {
            id: part.agent_id,
            looks_for_call: call.is_none(),
            call,
            of_session: self.native_id.clone().filter(|_| part.flat),
            said_prompt: false,
        };
        self.sources
            .push(Source::new(&part.path, context, Some(agent)));
    }

    /// Opens the next agent's file that no result named.
    pub(super) fn next_left(&mut self) {
        while let Some((agent_id, part)) = self.agents.iter().next() {
            let agent_id = agent_id.clone();
            // Beside the session lie the files of others too; one is looked for where a call waits for it.
            let not_ours = part.flat && !self.calls.any_waits();
            if self.unnamed.contains(&agent_id) {
                self.left_out.push(part.path.clone());
            }
            if not_ours {
                self.unread.push(part.path.clone());
            }
            if not_ours || self.unnamed.contains(&agent_id) {
                self.agents.remove(&agent_id);
                continue;
            }
            // One in the background of which nobody said that it is over.
            let call = self.calls.of_agent(&agent_id);
            self.open_agent(&agent_id, call);
            return;
        }
    }
}

/// Whether an event says something of the file only.
fn is_of_file(event: &ChatEvent) -> bool {
    matches!(
        event.payload,
        Payload::TurnStart(_) | Payload::SessionStart(_) | Payload::SessionStatus(_)
    )
}
