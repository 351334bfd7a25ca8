//! `agent.*` events of sandbox workers.

use chat_event::payload::SessionEnd;
use serde_json::Value;

use crate::emit::{Emitter, Place};
use crate::value::str_of;

pub(crate) fn is_agent_event(value: &Value) -> bool {
    str_of(value, "event_type").is_some_and(|kind| !kind.is_empty())
}

pub(crate) fn session_of(value: &Value) -> Option<String> {
    is_agent_event(value)
        .then(|| str_of(value, "entity_id").map(str::to_owned))
        .flatten()
}

#[derive(Debug)]
pub(crate) struct AgentEvents;

impl AgentEvents {
    pub(crate) fn new() -> Self {
        AgentEvents
    }

    pub(crate) fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        emitter.raw(
            &Place::default(),
            "agent-events",
            str_of(line, "event_type").unwrap_or(""),
            line,
        );
    }

    pub(crate) fn finish(&mut self, emitter: &mut Emitter) {
        emitter.add(
            "session-end",
            &Place::default(),
            SessionEnd {
                reason: "end of stream".to_owned(),
                ..SessionEnd::default()
            },
        );
    }
}
