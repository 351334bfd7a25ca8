//! What is asked of whatever an event bears: the call it is of, and whether its agent works.

use crate::Payload;

impl Payload {
    /// Whether an agent works while it says this; what a command gives may come after all is over.
    pub fn is_agents_work(&self) -> bool {
        matches!(
            self,
            Payload::AssistantChunk(_)
                | Payload::AssistantDone(_)
                | Payload::ThinkingChunk(_)
                | Payload::ThinkingDone(_)
                | Payload::ToolCall(_)
                | Payload::ToolInputChunk(_)
        )
    }

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
