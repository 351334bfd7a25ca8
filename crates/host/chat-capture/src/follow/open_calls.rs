//! The calls of a session that wait for their results: while there are some, its files may rest for long.

use std::collections::HashSet;

use chat_event::{ChatEvent, Payload};

/// By the calls' ids.
#[derive(Debug, Default)]
pub(super) struct OpenCalls(HashSet<String>);

impl OpenCalls {
    /// Takes note of what an event begins or ends.
    pub(super) fn note(&mut self, event: &ChatEvent) {
        match &event.payload {
            Payload::ToolCall(call) => {
                self.0.insert(call.tool_call_id.clone());
            }
            Payload::ToolResult(result) => {
                self.0.remove(&result.tool_call_id);
            }
            _ => {}
        }
    }

    /// Whether none waits.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
