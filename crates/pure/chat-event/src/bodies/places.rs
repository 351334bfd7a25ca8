//! Where a body may stand in an event.

use crate::{Body, ChatEvent, Json, Payload};

/// The types of events that have a place for a body.
pub const TYPES: &[&str] = &[
    "user_message",
    "tool_call",
    "tool_result",
    "agent_message",
    "agent_callback",
    "file_edit",
    "raw",
];

/// Where a body may stand.
pub(super) enum Place<'a> {
    Body(&'a mut Body),
    /// A file before a change: its reference needs no beginning.
    OldText(&'a mut Body),
    Json(&'a mut Json),
}

/// Visits them in the order of the event's text.
pub(super) fn for_each_place<E>(
    event: &mut ChatEvent,
    visit: &mut dyn FnMut(Place<'_>) -> Result<(), E>,
) -> Result<(), E> {
    match &mut event.payload {
        Payload::UserMessage(payload) => {
            visit(Place::Body(&mut payload.text))?;
            payload
                .attachments
                .as_mut()
                .map_or(Ok(()), |json| visit(Place::Json(json)))
        }
        Payload::ToolCall(payload) => visit(Place::Json(&mut payload.args)),
        Payload::ToolResult(payload) => visit(Place::Json(&mut payload.result)),
        Payload::AgentMessage(payload) => visit(Place::Body(&mut payload.message)),
        Payload::AgentCallback(payload) => visit(Place::Body(&mut payload.result)),
        Payload::FileEdit(payload) => {
            let diff = payload.full_diff.iter_mut().map(Place::Body);
            let old_text = payload.old_text.iter_mut().map(Place::OldText);
            diff.chain(old_text).try_for_each(visit)
        }
        Payload::Raw(payload) => visit(Place::Json(&mut payload.value)),
        _ => Ok(()),
    }
}
