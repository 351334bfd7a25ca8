//! What a row was before an event changed it, said by what it became.
//!
//! Most changes are of few kinds: a call has its result, a text its end. A short word for one is kept only where it
//! gives back exactly what was; else the row is kept whole.

use std::sync::Arc;

use chat_event::{Json, payload};

use super::{History, NONE};
use crate::block::{
    Block, BlockBody, BlockId, EventIdx, FileEditBlock, TextIdx, ThinkingBlock, ToolCallBlock,
};
use crate::feed::{Feed, Slot};
use crate::tool::{ToolKind, ToolStatus};

/// What a row was before an event.
#[derive(Clone, Debug)]
pub(super) struct RowRecord {
    pub(super) event: EventIdx,
    pub(super) row: BlockId,
    /// The record of the same row before this one.
    before: u32,
    was: Was,
}
chat_event::pack_fields!(RowRecord {
    event,
    row,
    before,
    was
});

#[derive(Clone, Debug)]
enum Was {
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
struct CallWas {
    status: ToolStatus,
    kind: ToolKind,
    input: Option<TextIdx>,
    output: Option<TextIdx>,
    exit_code: Option<i64>,
    background: bool,
    waits: bool,
    denied: bool,
    called_ms: Option<i64>,
    allowed_ms: Option<i64>,
    asked: Option<BlockId>,
    duration_ms: Option<u64>,
    settled_ms: Option<i64>,
    settled_event: Option<EventIdx>,
    progress: Option<Box<payload::Progress>>,
    steps: u32,
    conflicts: u32,
    orphan: bool,
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

#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each stands for a field")]
struct Had {
    name: bool,
    title: bool,
    args: bool,
    result: bool,
    error: bool,
    summary: bool,
}
chat_event::pack_fields!(Had {
    name,
    title,
    args,
    result,
    error,
    summary
});

impl RowRecord {
    pub(super) fn bytes(&self) -> usize {
        let kept = match &self.was {
            Was::Unsettled | Was::Text { .. } => 0,
            Was::Call(_) => size_of::<CallWas>(),
            Was::Thinking(_) => size_of::<ThinkingBlock>(),
            Was::Whole(slot) => {
                let body = match &slot.block.body {
                    BlockBody::ToolCall(_) => size_of::<ToolCallBlock>(),
                    BlockBody::FileEdit(_) => size_of::<FileEditBlock>(),
                    _ => 0,
                };
                size_of::<Slot>() + body + slot.block.event_id.len()
            }
        };
        size_of::<RowRecord>() + kept
    }
}

impl History {
    /// A call is about to have its result, and nothing else of it changes.
    pub(crate) fn hold_until_settled(&mut self, slot: &Arc<Slot>) {
        let marks = &self.rows[slot.block.id.0 as usize];
        let as_it_was = slot.block.first_event < self.event && marks.held != self.event;
        // How far it was, and that it waited, goes with the result.
        let loses_more = match &slot.block.body {
            BlockBody::ToolCall(call) => call.progress.is_some() || call.waits,
            _ => true,
        };
        if as_it_was && !loses_more && is_unsettled(slot) {
            self.push_record(slot.block.id, Was::Unsettled);
            self.rows[slot.block.id.0 as usize].held = self.event;
        } else {
            self.hold(slot);
        }
    }

    /// Keeps what a row was before the event in hand, where that is not what it is now.
    pub(super) fn record_row(&mut self, feed: &Feed, old: &Arc<Slot>) {
        let row = old.block.id;
        let now = &feed.slots[row.0 as usize];
        if old.settled_ms == now.settled_ms && old.block == now.block {
            return;
        }
        let was = was_of(old, now).unwrap_or_else(|| Was::Whole(old.clone()));
        self.push_record(row, was);
    }

    fn push_record(&mut self, row: BlockId, was: Was) {
        // A list of records longer than this would not fit any memory.
        let nth = u32::try_from(self.row_records.len()).unwrap_or(NONE);
        let marks = &mut self.rows[row.0 as usize];
        let before = std::mem::replace(&mut marks.newest, nth);
        self.row_records.push(RowRecord {
            event: self.event,
            row,
            before,
            was,
        });
    }

    /// A row as it was after so many events; shared with `now` where it is the same.
    pub(crate) fn row_after(&self, now: &Arc<Slot>, n_events: EventIdx) -> Arc<Slot> {
        let marks = &self.rows[now.block.id.0 as usize];
        let ends = marks.ends.as_ref();
        let end = ends.and_then(|ends| ends.first_from(n_events));
        let mut undone: Vec<&RowRecord> = Vec::new();
        let mut at = marks.newest;
        while let Some(record) = self.row_records.get(at as usize)
            && record.event >= n_events
        {
            // What came later does not matter where the whole row is kept.
            if let Was::Whole(_) = record.was {
                undone.clear();
            }
            undone.push(record);
            at = record.before;
        }
        if undone.is_empty() && end.is_none() {
            return now.clone();
        }
        let oldest = undone.last().map(|record| record.event);
        let mut slot = now.clone();
        for record in undone {
            undo(&mut slot, &record.was);
        }
        // Whichever happened first says where it ended before.
        if let Some((event, end)) = end
            && oldest.is_none_or(|oldest| event < oldest)
            && let BlockBody::Text(text) = &mut Arc::make_mut(&mut slot).block.body
        {
            text.end = end as usize;
        }
        slot
    }
}

/// The short word that gives back what was.
fn was_of(old: &Slot, now: &Slot) -> Option<Was> {
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

/// Whether two states of a row differ at most in what they show.
fn same_but_body(old: &Block, now: &Block) -> bool {
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

/// Whether a row is what [`undo`] makes of a call whose result is taken back.
fn is_unsettled(slot: &Slot) -> bool {
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
fn same_but_settled(old: &ToolCallBlock, now: &ToolCallBlock) -> bool {
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

fn gives_back(was: &Was, old: &Slot, now: &Slot) -> bool {
    let mut slot = Arc::new(now.clone());
    undo(&mut slot, was);
    slot.settled_ms == old.settled_ms && slot.block == old.block
}

fn undo(slot: &mut Arc<Slot>, was: &Was) {
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
