//! What a row was before a change, and how the change is undone.

use std::sync::Arc;

use chat_event::{Json, payload};

use super::Had;
use super::settled::{is_unsettled, same_but_body, same_but_settled};
use crate::block::{Block, BlockBody, BlockId, EventIdx, TextIdx, ThinkingBlock, ToolCallBlock};
use crate::feed::Slot;
use crate::tool::{ToolKind, ToolStatus};

#[derive(Clone, Debug)]
pub(super) enum Was {
    /// A call without its result.
    Unsettled,
    /// A call whose args, texts and result are those of now, or none.
    Call(Box<CallWas>),
    /// A row of text of the same kind.
    Text { end: u32, streaming: bool },
    /// Thinking.
    Thinking(Box<ThinkingBlock>),
    /// Anything else.
    Whole(Arc<Slot>),
}
chat_event::pack_variants!(Was { 0 => Unsettled, 1 => Call(call), 2 => Text { end, streaming }, 3 => Thinking(thinking), 4 => Whole(slot) });

#[derive(Clone, Debug)]
pub(super) struct CallWas {
    pub(super) status: ToolStatus,
    pub(super) kind: ToolKind,
    pub(super) input: Option<TextIdx>,
    pub(super) output: Option<TextIdx>,
    pub(super) exit_code: Option<i64>,
    pub(super) background: bool,
    pub(super) waits: bool,
    pub(super) denied: bool,
    pub(super) called_ms: Option<i64>,
    pub(super) allowed_ms: Option<i64>,
    pub(super) asked: Option<BlockId>,
    pub(super) duration_ms: Option<u64>,
    pub(super) settled_ms: Option<i64>,
    pub(super) settled_event: Option<EventIdx>,
    pub(super) progress: Option<Box<payload::Progress>>,
    pub(super) steps: u32,
    pub(super) conflicts: u32,
    pub(super) orphan: bool,
    /// What it had already of what is kept of it now.
    had: Had,
}
chat_event::pack_fields!(CallWas {
    status,
    kind,
    input,
    output,
    exit_code,
    background,
    waits,
    denied,
    called_ms,
    allowed_ms,
    asked,
    duration_ms,
    settled_ms,
    settled_event,
    progress,
    steps,
    conflicts,
    orphan,
    had
});

impl Was {
    /// How the call stood that the row was.
    pub(super) fn status(&self) -> Option<ToolStatus> {
        match self {
            Was::Unsettled => Some(ToolStatus::Running),
            Was::Call(call) => Some(call.status),
            Was::Whole(slot) => status_of(&slot.block),
            Was::Text { .. } | Was::Thinking(_) => None,
        }
    }
}

/// How a call stands.
pub(super) fn status_of(block: &Block) -> Option<ToolStatus> {
    match &block.body {
        BlockBody::ToolCall(call) => Some(call.status),
        _ => None,
    }
}

/// The short word that gives back what was.
pub(super) fn was_of(old: &Slot, now: &Slot) -> Option<Was> {
    if !same_but_body(&old.block, &now.block) {
        return None;
    }
    let same_time = old.settled_ms == now.settled_ms;
    match (&old.block.body, &now.block.body) {
        (BlockBody::Text(old), BlockBody::Text(now)) => {
            let same_place = (old.text, old.start) == (now.text, now.start);
            (same_time && same_place && old.kind == now.kind).then_some(Was::Text {
                end: u32::try_from(old.end).ok()?,
                streaming: old.streaming,
            })
        }
        (BlockBody::Thinking(old), BlockBody::Thinking(_)) => {
            same_time.then(|| Was::Thinking(Box::new(old.clone())))
        }
        (BlockBody::ToolCall(call), BlockBody::ToolCall(settled)) => {
            if is_unsettled(old) && same_but_settled(call, settled) {
                return Some(Was::Unsettled);
            }
            let was = Was::Call(Box::new(CallWas::of(call, old.settled_ms)));
            gives_back(&was, old, now).then_some(was)
        }
        _ => None,
    }
}

fn gives_back(was: &Was, old: &Slot, now: &Slot) -> bool {
    let mut slot = Arc::new(now.clone());
    undo(&mut slot, was);
    slot.settled_ms == old.settled_ms && slot.block == old.block
}

pub(super) fn undo(slot: &mut Arc<Slot>, was: &Was) {
    if let Was::Whole(whole) = was {
        *slot = whole.clone();
        return;
    }
    let slot = Arc::make_mut(slot);
    match (was, &mut slot.block.body) {
        (Was::Unsettled, BlockBody::ToolCall(call)) => {
            slot.settled_ms = None;
            call.status = ToolStatus::Running;
            call.result = None;
            call.result_is_large = false;
            call.result_event = None;
            call.attachments = None;
            call.error = None;
            call.summary = None;
            call.exit_code = None;
            call.duration_ms = None;
            call.settled_event = None;
        }
        (Was::Call(was), BlockBody::ToolCall(call)) => {
            slot.settled_ms = was.settled_ms;
            was.put_into(call);
        }
        (Was::Text { end, streaming }, BlockBody::Text(text)) => {
            text.end = *end as usize;
            text.streaming = *streaming;
        }
        (Was::Thinking(was), BlockBody::Thinking(thinking)) => *thinking = (**was).clone(),
        // A word is kept only for a row of its kind.
        _ => {}
    }
}

impl CallWas {
    fn of(call: &ToolCallBlock, settled_ms: Option<i64>) -> CallWas {
        CallWas {
            status: call.status,
            kind: call.kind,
            input: call.input,
            output: call.output,
            exit_code: call.exit_code,
            background: call.background,
            waits: call.waits,
            denied: call.denied,
            called_ms: call.called_ms,
            allowed_ms: call.allowed_ms,
            asked: call.asked,
            duration_ms: call.duration_ms,
            settled_ms,
            settled_event: call.settled_event,
            progress: call.progress.clone().map(Box::new),
            steps: call.steps,
            conflicts: call.conflicts,
            orphan: call.orphan,
            had: Had {
                name: !call.tool_name.is_empty(),
                title: call.title.is_some(),
                args: call.args_event.is_some(),
                result: call.result_event.is_some(),
                error: call.error.is_some(),
                summary: call.summary.is_some(),
            },
        }
    }

    fn put_into(&self, call: &mut ToolCallBlock) {
        call.status = self.status;
        call.kind = self.kind;
        call.input = self.input;
        call.output = self.output;
        call.exit_code = self.exit_code;
        call.background = self.background;
        call.waits = self.waits;
        call.denied = self.denied;
        call.called_ms = self.called_ms;
        call.allowed_ms = self.allowed_ms;
        call.asked = self.asked;
        call.duration_ms = self.duration_ms;
        call.settled_event = self.settled_event;
        call.progress = self.progress.as_deref().cloned();
        call.steps = self.steps;
        call.conflicts = self.conflicts;
        call.orphan = self.orphan;
        if !self.had.name {
            call.tool_name = "".into();
        }
        if !self.had.title {
            call.title = None;
        }
        if !self.had.args {
            call.args = Json::default();
            call.lists_steps = false;
            call.args_event = None;
        }
        if !self.had.result {
            call.result = None;
            call.result_is_large = false;
            call.result_event = None;
            call.attachments = None;
        }
        if !self.had.error {
            call.error = None;
        }
        if !self.had.summary {
            call.summary = None;
        }
    }
}
