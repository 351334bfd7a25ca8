//! Tool calls that have no result yet: whatever a source leaves out, each is told how it ended.
//!
//! Dialects close their calls where they know why; what is left at the end of the source is closed here, also a call
//! of which only output came. And of commands, that they failed where they ended with another code than 0.

use std::collections::BTreeMap;

use chat_event::payload::{ToolError, ToolResult};
use chat_event::{Extra, Payload};

use crate::emit::{Emitter, Place};
use crate::recent::Recent;

/// Calls by their id.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls {
    open: BTreeMap<String, Open>,
    /// Those that had a result last: what comes later does not open them again.
    settled: Recent<()>,
}

/// A call without a result.
#[derive(Debug)]
struct Open {
    place: Place,
    /// It runs a command.
    executes: bool,
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
                let open = Open {
                    place: place.clone(),
                    executes: call.kind.as_deref() == Some("execute"),
                };
                self.open.insert(call.tool_call_id.clone(), open);
            }
            Payload::ToolInputChunk(chunk) => self.shown(&chunk.tool_call_id, place),
            Payload::ToolOutputChunk(chunk) => self.shown(&chunk.tool_call_id, place),
            Payload::ToolResult(result) => self.forget(&result.tool_call_id),
            _ => {}
        }
    }

    /// A call has its result, or was taken back: it needs none any more.
    pub(crate) fn forget(&mut self, call_id: &str) {
        self.open.remove(call_id);
        self.settled.insert(call_id, ());
    }

    /// A command that ended with another code than 0 failed. Some programs say so, others call each command that ran to
    /// its end a success; in the log it is the same whose command it was.
    pub(crate) fn fail_by_exit_code(&self, result: &mut ToolResult) {
        let executes = |call: &Open| call.executes;
        if result.error.is_none()
            && let Some(code) = result.exit_code.filter(|code| *code != 0)
            && self.open.get(&result.tool_call_id).is_some_and(executes)
        {
            result.error = Some(ToolError {
                code: Some("exit_code".to_owned()),
                message: format!("exit code {code}"),
                extra: Extra::default(),
            });
        }
    }

    fn shown(&mut self, call_id: &str, place: &Place) {
        if !self.open.contains_key(call_id) && !self.settled.contains(call_id) {
            let open = Open {
                place: place.clone(),
                executes: false,
            };
            self.open.insert(call_id.to_owned(), open);
        }
    }
}

impl Emitter {
    /// The source ended: calls without a result get one that says so.
    pub(crate) fn close_open_calls(&mut self) {
        for (call_id, Open { place, .. }) in std::mem::take(&mut self.open_calls.open) {
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
