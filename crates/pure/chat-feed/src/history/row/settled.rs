//! Whether rows differ only in what is settled once, as when a call is over.

use crate::block::{Block, BlockBody, ToolCallBlock};
use crate::feed::Slot;
use crate::tool::ToolStatus;

/// Whether two states of a row differ at most in what they show.
pub(super) fn same_but_body(old: &Block, now: &Block) -> bool {
    let Block {
        id,
        turn,
        response,
        parent,
        depth,
        event_id,
        first_event,
        at_ms,
        body: _,
    } = old;
    (id, turn, response, parent) == (&now.id, &now.turn, &now.response, &now.parent)
        && (depth, first_event, at_ms) == (&now.depth, &now.first_event, &now.at_ms)
        && *event_id == now.event_id
}

/// Whether a row is what [`undo`](super::was::undo) makes of a call whose result is taken back.
pub(super) fn is_unsettled(slot: &Slot) -> bool {
    let BlockBody::ToolCall(call) = &slot.block.body else {
        return false;
    };
    slot.settled_ms.is_none()
        && call.status == ToolStatus::Running
        && call.result.is_none()
        && call.result_event.is_none()
        && call.attachments.is_none()
        && call.error.is_none()
        && call.summary.is_none()
        && call.exit_code.is_none()
        && call.duration_ms.is_none()
        && call.settled_event.is_none()
}

/// Whether two states of a call differ at most in how it ended.
pub(super) fn same_but_settled(old: &ToolCallBlock, now: &ToolCallBlock) -> bool {
    let ToolCallBlock {
        tool_call_id,
        tool_name,
        kind,
        title,
        args,
        // It is said by the arguments.
        lists_steps: _,
        args_event,
        input,
        output,
        result: _,
        result_is_large: _,
        result_event: _,
        attachments: _,
        error: _,
        summary: _,
        exit_code: _,
        progress,
        status: _,
        background,
        waits,
        denied,
        called_ms,
        allowed_ms,
        asked,
        duration_ms: _,
        settled_event: _,
        steps,
        orphan,
        conflicts,
    } = old;
    (tool_call_id, tool_name, kind) == (&now.tool_call_id, &now.tool_name, &now.kind)
        && (title, args, args_event) == (&now.title, &now.args, &now.args_event)
        && (input, output, called_ms) == (&now.input, &now.output, &now.called_ms)
        && (waits, denied, allowed_ms) == (&now.waits, &now.denied, &now.allowed_ms)
        && (asked, background) == (&now.asked, &now.background)
        && (progress, steps) == (&now.progress, &now.steps)
        && (orphan, conflicts) == (&now.orphan, &now.conflicts)
}
