//! Tool calls that have no result yet: whatever a source leaves out, each is told how it ended.
//!
//! Dialects close their calls where they know why; what is left at the end of the source is closed here, also a call
//! of which only output came.

use std::collections::BTreeMap;

use chat_event::payload::{ToolError, ToolResult};
use chat_event::{Extra, Payload};

use crate::emit::{Emitter, Place};
use crate::recent::Recent;

/// Calls by their id.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls {
    open: BTreeMap<String, Place>,
    /// Those that had a result last: what comes later does not open them again.
    settled: Recent<()>,
}

impl OpenCalls {
    /// Whether no call runs.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Takes note of an event.
    pub(crate) fn note(&mut self, payload: &Payload, place: &Place) {
        match payload {
            Payload::ToolCall(call) => {
                self.settled.remove(&call.tool_call_id);
                self.open.insert(call.tool_call_id.clone(), place.clone());
            }
            Payload::ToolInputChunk(chunk) => self.shown(&chunk.tool_call_id, place),
            Payload::ToolOutputChunk(chunk) => self.shown(&chunk.tool_call_id, place),
            Payload::ToolResult(result) => {
                self.open.remove(&result.tool_call_id);
                self.settled.insert(&result.tool_call_id, ());
            }
            _ => {}
        }
    }

    fn shown(&mut self, call_id: &str, place: &Place) {
        if !self.open.contains_key(call_id) && !self.settled.contains(call_id) {
            self.open.insert(call_id.to_owned(), place.clone());
        }
    }
}

impl Emitter {
    /// The source ended: calls without a result get one that says so.
    pub(crate) fn close_open_calls(&mut self) {
        for (call_id, place) in std::mem::take(&mut self.open_calls.open) {
            let result = ToolResult {
                tool_call_id: call_id.clone(),
                error: Some(ToolError {
                    code: Some("no_result".to_owned()),
                    message: "the source ended without a result".to_owned(),
                    extra: Extra::default(),
                }),
                ..ToolResult::default()
            };
            self.add_as(&format!("{call_id}:no-result"), &place, result);
        }
    }
}
