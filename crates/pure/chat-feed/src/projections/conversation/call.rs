//! Calls put together by `toolCallId`: arguments, output, result, changed files, and what sub-agents did within.
//!
//! Which call an event is about, and where it lies, is in `places`.

mod places;

use chat_event::payload::{FileEdit, ToolCall, ToolInputChunk, ToolOutputChunk, ToolResult};
use chat_event::{ChatEvent, Json};

use super::{Conversation, EntryKey, OVERHEAD_BYTES, Owner};
use crate::took::ran_ms;
use crate::tool::{ToolKind, ToolStatus};

/// Names a call; apart from its id, which a source may use again in another turn.
pub(in crate::projections) type CallKey = u64;

/// A file that a call changed.
#[derive(Clone, Debug)]
pub(in crate::projections) struct CallEdit {
    /// Where it stands among entries and edits.
    pub(in crate::projections) at: EntryKey,
    /// `None` where it was taken back.
    pub(in crate::projections) edit: Option<FileEdit>,
}

/// A tool call with all that came of it.
#[derive(Debug)]
pub(in crate::projections) struct Call {
    pub(in crate::projections) id: Box<str>,
    pub(in crate::projections) name: Box<str>,
    pub(in crate::projections) kind: ToolKind,
    pub(in crate::projections) title: Option<String>,
    /// The arguments; `null` where only pieces of them came.
    pub(in crate::projections) args: Json,
    /// The pieces, as far as they came; empty once `args` are there.
    pub(in crate::projections) input: String,
    /// What it printed; empty once a result says it.
    pub(in crate::projections) output: String,
    pub(in crate::projections) result: Option<ToolResult>,
    /// Whether that tells how it ended in the background, which stands.
    pub(super) ended_behind: bool,
    /// How many other results came, that say something else.
    pub(in crate::projections) n_other_results: usize,
    /// The files it changed.
    pub(in crate::projections) edits: Vec<CallEdit>,
    /// Whether the call itself is in the log, or only what came of it.
    pub(in crate::projections) called: bool,
    called_ms: Option<i64>,
    /// When what was asked for it was answered, from where on it runs.
    pub(super) allowed_ms: Option<i64>,
    /// How long it ran, in milliseconds.
    pub(in crate::projections) ran_ms: Option<u64>,
    /// What its sub-agent did.
    pub(in crate::projections) children: Vec<EntryKey>,
    /// The entry that made it.
    pub(in crate::projections) home: EntryKey,
    block_idx: usize,
    turn: u64,
    input_chars: u64,
}

impl Conversation {
    pub(super) fn tool_call(&mut self, event: &ChatEvent, told: &ToolCall) {
        let key = self.call_of(event, &told.tool_call_id);
        let Some(call) = self.calls.get_mut(&key) else {
            return;
        };
        call.name = told.tool_name.as_str().into();
        call.kind = ToolKind::of(told.kind.as_deref(), &told.tool_name);
        call.title = told.title.clone();
        call.args = told.args.clone();
        call.called_ms = event.timestamp;
        if !call.args.is_null() {
            call.input = String::new();
        }
        let home = call.home;
        self.add_bytes(home, told.args.text_len());
        self.own(event, home, Owner::Call(key));
    }

    pub(super) fn tool_input_chunk(&mut self, event: &ChatEvent, chunk: &ToolInputChunk) {
        let key = self.call_of(event, &chunk.tool_call_id);
        let Some(call) = self.calls.get_mut(&key) else {
            return;
        };
        if call.name.is_empty() && !chunk.tool_name.is_empty() {
            call.name = chunk.tool_name.as_str().into();
            call.kind = ToolKind::of(None, &chunk.tool_name);
        }
        if !call.args.is_null() {
            return;
        }
        let fresh = call.input.is_empty();
        let have = call.input_chars;
        let at = chunk.offset.unwrap_or(have);
        // What overlaps was there before; a hole is marked, because nothing will fill it.
        let skipped = usize::try_from(have.saturating_sub(at)).unwrap_or(usize::MAX);
        let n_chars = chunk.chunk.chars().count() as u64;
        call.input_chars = have.max(at.saturating_add(n_chars));
        if at > have {
            call.input.push('…');
        }
        call.input.extend(chunk.chunk.chars().skip(skipped));
        let home = call.home;
        self.add_bytes(home, chunk.chunk.len());
        if fresh {
            self.own(event, home, Owner::Call(key));
        }
    }

    pub(super) fn tool_output_chunk(&mut self, event: &ChatEvent, chunk: &ToolOutputChunk) {
        let key = self.call_or_placeholder(event, &chunk.tool_call_id);
        let Some(call) = self.calls.get_mut(&key) else {
            return;
        };
        if call.result.as_ref().is_some_and(says_something) && !call.was_stopped() {
            return;
        }
        call.output.push_str(&chunk.chunk);
        let home = call.home;
        self.add_bytes(home, chunk.chunk.len());
    }

    pub(super) fn tool_result(&mut self, event: &ChatEvent, result: &ToolResult) {
        let key = self.call_or_placeholder(event, &result.tool_call_id);
        let Some(call) = self.calls.get_mut(&key) else {
            return;
        };
        let before = call.result.as_ref();
        // Who told a plain result before may not have known that the call went on.
        let ends_behind = result.background == Some(false) && !result.is_missing();
        let comes_late = before.is_some_and(|first| {
            result.stands_for(&first.result, first.error.as_ref())
                || (first.goes_on() && !result.goes_on())
                || (ends_behind && !call.ended_behind)
        });
        if let Some(first) = call.result.as_ref().filter(|_| !comes_late) {
            // The first result stands; another one that says something else is counted.
            if (first.result != result.result || first.error != result.error) && !result.is_bare() {
                call.n_other_results += 1;
            }
            return;
        }
        call.result = Some(ToolResult {
            result: result.given(before.map(|before| &before.result)),
            ..result.clone()
        });
        call.ended_behind |= ends_behind;
        // One that was stopped may print on.
        if says_something(result) && !call.was_stopped() {
            call.output = String::new();
        }
        call.ran_ms = ran_ms(result, call.called_ms, call.allowed_ms, event.timestamp);
        let home = call.home;
        let called = call.called;
        self.add_bytes(home, result.result.text_len() + OVERHEAD_BYTES);
        self.own(event, home, Owner::Call(key));
        if called
            && !comes_late
            && let Some(response) = self.response_mut(home)
        {
            response.n_open_calls = response.n_open_calls.saturating_sub(1);
        }
        // What a model says after a result is another message.
        let scope = self.entries.get(&home).and_then(|entry| entry.parent);
        self.newest.remove(&scope);
    }

    pub(super) fn file_edit(&mut self, event: &ChatEvent, edit: &FileEdit) {
        let known = self.call_ids.get(edit.tool_call_id.as_str()).copied();
        let Some((key, call)) = known.and_then(|key| Some((key, self.calls.get_mut(&key)?))) else {
            return self.event(event);
        };
        // Nothing is told of the file before the change but its diff.
        let old_text = None;
        let edit_of_call = FileEdit {
            old_text,
            ..edit.clone()
        };
        call.edits.push(CallEdit {
            at: self.next_key,
            edit: Some(edit_of_call),
        });
        self.next_key += 2;
        let edit_idx = call.edits.len() - 1;
        let home = call.home;
        self.add_bytes(home, cost_of_edit(edit) + OVERHEAD_BYTES);
        self.own(event, home, Owner::Edit(key, edit_idx));
    }
}

impl Call {
    /// The files it changed, in order.
    pub(in crate::projections) fn edits(&self) -> impl Iterator<Item = &FileEdit> {
        self.edits.iter().filter_map(|it| it.edit.as_ref())
    }

    /// What became of it.
    pub(in crate::projections) fn status(&self) -> ToolStatus {
        match &self.result {
            Some(result) => ToolStatus::of_result(result.error.as_ref(), false),
            None => ToolStatus::NoResult,
        }
    }

    /// Whether it was stopped before it gave a result of its own.
    pub(in crate::projections) fn was_stopped(&self) -> bool {
        matches!(
            self.status(),
            ToolStatus::Interrupted | ToolStatus::NoResult
        )
    }

    /// What was printed, where that is more than the result of one that was stopped says.
    pub(in crate::projections) fn printed_more(&self) -> Option<&str> {
        let result = self.result.as_ref().filter(|_| self.was_stopped())?;
        let text = result.result.as_str()?;
        let printed = &*self.output;
        (!printed.is_empty() && printed.starts_with(&*text)).then_some(printed)
    }
}

/// Whether a result has a text of its own, beside what the call printed.
fn says_something(result: &ToolResult) -> bool {
    !matches!(&*result.result.as_text(), "null" | "\"\"")
}

pub(super) fn cost_of_edit(edit: &FileEdit) -> usize {
    let full_diff = edit.full_diff.as_ref();
    let full_diff = full_diff.map_or(0, |diff| diff.preview().len());
    edit.file_path.len() + edit.diff_preview.len() + full_diff
}
