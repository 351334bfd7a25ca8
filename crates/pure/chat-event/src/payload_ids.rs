//! Ids that stand in what an event bears.

use crate::Payload;

impl Payload {
    /// The id of the call that this is, or of which it says something.
    pub fn tool_call_id_mut(&mut self) -> Option<&mut String> {
        match self {
            Payload::ToolCall(it) => Some(&mut it.tool_call_id),
            Payload::ToolInputChunk(it) => Some(&mut it.tool_call_id),
            Payload::ToolOutputChunk(it) => Some(&mut it.tool_call_id),
            Payload::ToolResult(it) => Some(&mut it.tool_call_id),
            Payload::FileEdit(it) => Some(&mut it.tool_call_id),
            Payload::Progress(it) => it.tool_call_id.as_mut(),
            Payload::PermissionRequest(it) => it.tool_call_id.as_mut(),
            Payload::QuestionRequest(it) => it.tool_call_id.as_mut(),
            _ => None,
        }
    }
}
