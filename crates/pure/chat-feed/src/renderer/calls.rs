//! Tool calls: call, input, output, result and changed files put together by `toolCallId`.

use std::sync::Arc;

use chat_event::payload::{FileEdit, ToolCall, ToolInputChunk, ToolOutputChunk, ToolResult};
use chat_event::{ChatEvent, Json};

use super::ChatRenderer;
use super::place::Place;
use crate::block::{BlockBody, BlockId, FileEditBlock, TextIdx, ToolCallBlock, TurnIdx};
use crate::long_text::{OPEN_BYTES, is_over};
use crate::session::TurnState;
use crate::terminal::Stream;
use crate::took::ran_ms;
use crate::tool::{ToolKind, ToolStatus};

impl ChatRenderer {
    #[inline(never)]
    pub(super) fn tool_call(&mut self, event: &ChatEvent, call: &ToolCall, is_past: bool) {
        let place = self.place(event);
        let known = self.known_call(&call.tool_call_id, place.turn);
        let id = known.unwrap_or_else(|| self.new_call(&call.tool_call_id, &place, false));
        let now_ms = self.now_ms;
        // What another source tells late of the past does not run now, though nobody told how it ended.
        let running = match known {
            None if is_past => ToolStatus::NoResult,
            Some(id) if is_past => self.call(id).status,
            _ => self.running_status(id),
        };
        let is_asked_for = self.is_asked_for(&call.tool_call_id);
        let block = self.call_mut(id);
        block.orphan = false;
        block.tool_name = call.tool_name.as_str().into();
        block.kind = ToolKind::of(call.kind.as_deref(), &call.tool_name);
        block.title = call.title.clone();
        block.args = call.args.clone();
        block.lists_steps = block.kind == ToolKind::Plan && block.plan().is_some();
        block.args_event = Some(event.id.as_str().into());
        block.called_ms = now_ms;
        if block.result.is_none() && block.error.is_none() {
            block.status = running;
        }
        block.waits = is_asked_for && block.status.runs();
        self.update(id);
        self.mark_running(id);
    }

    /// The call that what belongs to `turn` means by an id: a source that counts its calls anew in every turn means another
    /// one than that of an earlier turn, which is done.
    pub(super) fn known_call(&self, call_id: &str, turn: TurnIdx) -> Option<BlockId> {
        let known = self.calls.get(call_id).copied();
        known.filter(|&id| {
            let unfinished = !self.call(id).has_ended() || self.call(id).orphan;
            self.feed.contains(id) && (self.feed.block(id).turn == turn || unfinished)
        })
    }

    #[inline(never)]
    pub(super) fn tool_input_chunk(&mut self, event: &ChatEvent, chunk: &ToolInputChunk) {
        let place = self.place(event);
        let id = match self.known_call(&chunk.tool_call_id, place.turn) {
            Some(id) => id,
            None => self.new_call(&chunk.tool_call_id, &place, false),
        };
        let input = match self.call(id).input {
            Some(input) => input,
            None => self.new_text(),
        };
        let call = self.call(id);
        let named = call.tool_name.is_empty() && !chunk.tool_name.is_empty();
        let prepares = call.status == ToolStatus::Running
            && call.args.is_null()
            && !self.is_over_around(id)
            && !call.background;
        // Most chunks change the text alone.
        if call.input.is_none() || named || prepares {
            let block = self.call_mut(id);
            block.input = Some(input);
            if named {
                block.tool_name = chunk.tool_name.as_str().into();
                block.kind = ToolKind::of(None, &chunk.tool_name);
            }
            if prepares {
                block.status = ToolStatus::Preparing;
            }
        }
        let body = self.feed.body(input);
        let have = body.n_chars;
        let at = chunk.offset.unwrap_or(have);
        // What overlaps was there before; a hole is marked, because nothing will fill it.
        let skipped = usize::try_from(have.saturating_sub(at)).unwrap_or(usize::MAX);
        let n_chars = chunk.chunk.chars().count() as u64;
        body.n_chars = have.max(at.saturating_add(n_chars));
        if at > have {
            body.text.open().push('…');
        }
        let more = chunk.chunk.chars().skip(skipped);
        body.text.open().extend(more);
        self.feed.note_growth(input, self.event);
        self.update(id);
        self.mark_running(id);
    }

    #[inline(never)]
    pub(super) fn tool_output_chunk(&mut self, event: &ChatEvent, chunk: &ToolOutputChunk) {
        let place = self.place(event);
        let id = self.call_or_placeholder(&chunk.tool_call_id, &place);
        let known = self.call(id).output;
        let output = match known {
            Some(output) => output,
            None => self.new_text(),
        };
        if known.is_none() {
            self.call_mut(id).output = Some(output);
        }
        let body = self.feed.body(output);
        let before = body.text.len();
        body.switch(Stream::of(chunk.stream.as_deref()));
        body.text.open().push_str(&chunk.chunk);
        self.feed.note_growth(output, self.event);
        match known {
            Some(_) if !self.says_less_than_printed(id) => self.grew(id, before),
            _ => self.update(id),
        }
    }

    /// A call that was stopped has for its result what it had printed by then: where it prints on, that says more.
    fn says_less_than_printed(&mut self, id: BlockId) -> bool {
        let call = self.call(id);
        if !matches!(call.status, ToolStatus::Interrupted | ToolStatus::NoResult) {
            return false;
        }
        let printed = self.feed.output(id);
        let result = call.result.as_ref().and_then(|result| result.as_str());
        let less = result.is_some_and(|text| !text.is_empty() && printed.text.starts_with(&*text));
        if less {
            self.call_mut(id).result = Some(Json::default());
        }
        less
    }

    #[inline(never)]
    pub(super) fn tool_result(&mut self, event: &ChatEvent, result: &ToolResult) {
        let place = self.place(event);
        let id = self.call_or_placeholder(&result.tool_call_id, &place);
        let (now_ms, event_idx) = (self.now_ms, self.event);
        let call = self.call(id);
        let ends = call.background && !result.goes_on();
        // Who told a plain result before may not have known that the call went on.
        let ends_behind = result.background == Some(false) && !result.is_missing();
        let comes_late = ends
            || (ends_behind && !self.ended_behind.contains(&id))
            || call
                .result
                .as_ref()
                .is_some_and(|first| result.stands_for(first, call.error.as_ref()));
        if let Some(first) = call.result.as_ref().filter(|_| !comes_late) {
            // The first result stands; another one that says something else is counted. That it only began is no news of what
            // is over.
            let is_other =
                (*first != result.result || call.error != result.error) && !result.is_bare();
            if is_other && (call.background || !result.goes_on()) {
                self.call_mut(id).conflicts += 1;
                // It is not what the row shows: the call stays when it is taken back.
                self.touch(id);
                self.update_quietly(id);
            }
            return;
        }
        if result.goes_on() {
            return self.went_to_background(id, event, result);
        }
        let turn = self.feed.turn(self.feed.block(id).turn);
        let interrupted = turn.state == TurnState::Interrupted;
        let slot = match comes_late {
            true => self.feed.slot(id),
            false => self.feed.slot_to_settle(id),
        };
        slot.settled_ms = now_ms;
        if ends_behind {
            self.ended_behind.insert(id);
        }
        if let BlockBody::ToolCall(block) = &mut slot.block.body {
            take_given(block, event, result);
            block.background = false;
            block.error = result.error.clone();
            block.summary = result.summary.clone();
            block.exit_code = result.exit_code;
            block.duration_ms = ran_ms(result, block.called_ms, block.allowed_ms, now_ms);
            block.progress = None;
            // Also where nobody told what was answered.
            block.waits = false;
            block.settled_event.get_or_insert(event_idx);
            block.status = ToolStatus::of_result(result.error.as_ref(), interrupted);
        }
        let call = self.call(id);
        for text in [call.input, call.output].into_iter().flatten() {
            self.feed.body(text).is_seldom_read = true;
        }
        self.update(id);
        self.mark_running(id);
        let how = match self.call(id).status {
            ToolStatus::Interrupted => ToolStatus::Interrupted,
            _ => ToolStatus::NoResult,
        };
        self.leaves_background(id, how);
        self.look_whether_asks_wait(id);
    }

    /// The call gave something, and what it began goes on: it runs until a result says otherwise, whatever turn ends.
    fn went_to_background(&mut self, id: BlockId, event: &ChatEvent, result: &ToolResult) {
        let event_idx = self.event;
        self.feed.slot(id).settled_ms = None;
        let block = self.call_mut(id);
        take_given(block, event, result);
        block.error = None;
        block.summary = result.summary.clone();
        (block.exit_code, block.duration_ms) = (None, None);
        block.background = true;
        block.waits = false;
        // What is called from here on is not called beside it.
        block.settled_event.get_or_insert(event_idx);
        block.status = ToolStatus::Running;
        self.goes_to_background(id);
        self.update(id);
        self.mark_running(id);
        self.look_whether_asks_wait(id);
    }

    #[inline(never)]
    pub(super) fn file_edit(&mut self, event: &ChatEvent, edit: &FileEdit) {
        let mut place = self.place(event);
        let call = self.calls.get(edit.tool_call_id.as_str()).copied();
        let call = call.filter(|&call| self.feed.contains(call));
        if let Some(call) = call {
            place.turn = self.feed.block(call).turn;
            place.response = self.feed.block(call).response;
            place.parent = Some(call);
        }
        self.count_edit(place.turn, edit);
        let edit = edit.clone();
        self.insert(
            &place,
            BlockBody::FileEdit(Box::new(FileEditBlock { edit, call })),
        );
    }

    /// The call `call_id`, or a row that stands for it until it comes.
    pub(super) fn call_or_placeholder(&mut self, call_id: &str, place: &Place) -> BlockId {
        match self.calls.get(call_id) {
            Some(&id) => id,
            None => self.new_call(call_id, place, true),
        }
    }

    fn new_call(&mut self, call_id: &str, place: &Place, orphan: bool) -> BlockId {
        self.close_unnamed_parts(place);
        let mut block = ToolCallBlock::unknown(call_id);
        block.orphan = orphan;
        let id = self.insert(place, BlockBody::ToolCall(Box::new(block)));
        self.calls.insert(call_id.into(), id);
        let status = self.running_status(id);
        self.call_mut(id).status = status;
        self.take_early_answers(id, call_id);
        self.look_whether_it_waits(id);
        self.mark_running(id);
        self.feed.turn_mut(place.turn).steps += 1;
        self.turn_changed(place.turn);
        if let Some(parent) = place.parent {
            self.call_mut(parent).steps += 1;
            self.update_quietly(parent);
        }
        id
    }

    /// The status of a call that has no result.
    fn running_status(&self, id: BlockId) -> ToolStatus {
        match self.is_over_around(id) {
            true => ToolStatus::NoResult,
            false => ToolStatus::Running,
        }
    }

    /// Keeps the list of what runs. What a call left to the background no end of a turn ends.
    fn mark_running(&mut self, id: BlockId) {
        let call = self.call(id);
        let (runs, in_background) = (call.status.runs(), call.background);
        let open = self.open_around(id);
        if runs && !in_background {
            open.calls.insert(id);
        } else {
            open.calls.remove(&id);
        }
    }

    /// The turn is over: the call will have no result.
    pub(super) fn settle_call(&mut self, id: BlockId, how: ToolStatus) {
        let event = self.event;
        let call = self.call_mut(id);
        if call.status.runs() {
            call.status = how;
            call.progress = None;
            call.waits = false;
            call.settled_event.get_or_insert(event);
            self.update_quietly(id);
        }
    }

    pub(super) fn new_text(&mut self) -> TextIdx {
        // Counted like the events that make them.
        #[allow(clippy::cast_possible_truncation)]
        let text = TextIdx(self.feed.texts.len() as u32);
        self.feed.texts.push(Arc::default());
        text
    }

    pub(super) fn call(&self, id: BlockId) -> &ToolCallBlock {
        match &self.feed.block(id).body {
            BlockBody::ToolCall(call) => call,
            // Only rows of calls are kept by a call's id.
            _ => unreachable!("a call's row is one of a call"),
        }
    }

    pub(super) fn call_mut(&mut self, id: BlockId) -> &mut ToolCallBlock {
        match &mut self.feed.slot(id).block.body {
            BlockBody::ToolCall(call) => call,
            _ => unreachable!("a call's row is one of a call"),
        }
    }
}

/// What a call gave comes into its row.
fn take_given(block: &mut ToolCallBlock, event: &ChatEvent, result: &ToolResult) {
    let given = result.given(block.result.as_ref());
    // What stays is still of the event that told it.
    if block.result.is_none() || given == result.result {
        block.result_event = Some(event.id.as_str().into());
        block.attachments = result.extra.get("attachments").cloned();
    }
    block.result_is_large = is_over(&given, OPEN_BYTES as u64);
    block.result = Some(given);
}
