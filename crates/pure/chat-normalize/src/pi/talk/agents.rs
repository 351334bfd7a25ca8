//! Agents that a call runs. Pi has none of its own; its example extension runs further Pis and hands their messages on, with
//! each update of the call and with its result (`details.results[].messages`), and others are made after it.
//!
//! Ids are made of the call and of where a message stands: a message is told once, whichever line brings it. Their calls bear
//! the agent's place before the model's own id, which another agent's model may give as well.

use std::collections::HashMap;

use chat_event::Extra;
use chat_event::payload::ErrorEvent;
use serde_json::Value;

use super::{Blocks, Talk, said, usage};
use crate::emit::{Emitter, clean_id};
use crate::value::{list_of, millis, str_of, text_of};

/// How many messages of each of its agents were told, by the call's own id.
#[derive(Debug, Default)]
pub(super) struct Agents(HashMap<String, Vec<usize>>);

impl Agents {
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}

impl Talk {
    /// What the agents said that the call waiting under `id` runs.
    pub(crate) fn agents(&mut self, emitter: &mut Emitter, id: &str, details: &Value) {
        let runs = list_of(details, "results");
        let Some(call) = self.track.waiting(id) else {
            return;
        };
        let call_id = call.id.clone();
        let has_messages = |run: &Value| list_of(run, "messages").iter().any(Value::is_object);
        if !runs.iter().any(has_messages) {
            return;
        }
        let mut n_told = self.agents.0.remove(id).unwrap_or_default();
        n_told.resize(n_told.len().max(runs.len()), 0);
        let mut news = Vec::new();
        for (nth, run) in runs.iter().enumerate() {
            let messages = list_of(run, "messages").iter().enumerate();
            news.extend(messages.skip(n_told[nth]).map(|(at, message)| {
                let time_ms = message.get("timestamp").and_then(millis);
                (time_ms, nth, at, message)
            }));
            n_told[nth] = n_told[nth].max(list_of(run, "messages").len());
        }
        self.agents.0.insert(id.to_owned(), n_told);
        // Those of several agents stand as they came.
        news.sort_by_key(|(time_ms, ..)| *time_ms);
        let now_ms = emitter.time_ms;
        self.track.enter(id);
        for (time_ms, nth, at, message) in news {
            self.at_of_agent(emitter, time_ms, now_ms);
            let name = text_of(&runs[nth], "agent").unwrap_or("agent");
            let agent_id = match nth {
                0 => clean_id(name),
                _ => clean_id(&format!("{name}-{}", nth + 1)),
            };
            let n_before = emitter.out.len();
            let agent = format!("{call_id}.{nth}");
            let message = with_own_calls(message, &agent);
            self.message_of_agent(emitter, &format!("{agent}.{at}"), &message);
            for event in &mut emitter.out[n_before..] {
                if event.parent_tool_call_id.is_some() && event.agent_id.is_none() {
                    event.agent_id = Some(agent_id.clone());
                }
            }
        }
        self.track.leave(id);
        if !self.is_stream {
            emitter.time_ms = now_ms;
        }
    }

    /// Sets the time of what an agent said then: in a file that was before the result that brings it.
    fn at_of_agent(&mut self, emitter: &mut Emitter, time_ms: Option<i64>, now_ms: i64) {
        match self.is_stream {
            true => self.at(emitter, time_ms.max(self.last_ms)),
            false => emitter.time_ms = time_ms.unwrap_or(now_ms).min(now_ms),
        }
    }

    /// The call is over; whether it ran agents.
    pub(super) fn agents_end(&mut self, emitter: &mut Emitter, id: &str, details: &Value) -> bool {
        self.agents(emitter, id, details);
        self.agents.0.remove(id).is_some()
    }

    fn message_of_agent(&mut self, emitter: &mut Emitter, id: &str, message: &Value) {
        match str_of(message, "role").unwrap_or("") {
            "user" => {
                let said = said(message.get("content"));
                self.track.user(emitter, &format!("{id}:user"), said);
            }
            "assistant" => {
                let mut blocks = Blocks::default();
                for (index, block) in list_of(message, "content").iter().enumerate() {
                    self.block(emitter, id, &mut blocks, index as u64, block);
                }
                let place = self.track.place().in_response(id);
                if let Some(usage) = usage(message) {
                    emitter.add_as(&format!("{id}:usage"), &place, usage);
                }
                if let Some(why) = text_of(message, "errorMessage") {
                    let payload = ErrorEvent {
                        code: "error".to_owned(),
                        message: why.to_owned(),
                        extra: Extra::default(),
                    };
                    emitter.add_as(&format!("{id}:error"), &place, payload);
                }
            }
            "toolResult" => self.result(emitter, message, false),
            role @ ("system" | "custom" | "bashExecution") => emitter.pass_over(role),
            role => emitter.raw(&self.track.place(), self.format, role, message),
        }
    }
}

/// A message of an agent, the calls in which bear the agent's place.
fn with_own_calls(message: &Value, agent: &str) -> Value {
    let mut message = message.clone();
    let mark = |holder: &mut Value, member: &str| {
        if let Some(Value::String(id)) = holder.get_mut(member) {
            id.insert_str(0, &format!("{agent}."));
        }
    };
    mark(&mut message, "toolCallId");
    if let Some(Value::Array(blocks)) = message.get_mut("content") {
        let calls = blocks
            .iter_mut()
            .filter(|block| str_of(block, "type") == Some("toolCall"));
        calls.for_each(|call| mark(call, "id"));
    }
    message
}
