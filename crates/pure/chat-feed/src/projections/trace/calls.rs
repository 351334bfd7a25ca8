//! The tool calls of a session that are not done, and the lines that are told of them.
//!
//! Their figures and words are those of [`ToolCallBlock`], so that a terminal says what the page says.
//!
//! What is known of one call is in `call`.

mod call;

use std::collections::{BTreeMap, VecDeque};

use chat_event::Json;
use chat_event::payload::{Progress, ToolCall, ToolResult};

use super::clean::one_line;
use crate::block::ToolCallBlock;
use crate::projections::early_answers::EarlyAnswers;
use crate::renderer::hash;
use crate::tool::{ToolKind, ToolStatus};
pub(super) use call::{OpenCall, target_of};
use call::{note_result, size, target};

/// So many calls may be open in a session; beyond them the oldest is told as it stands.
const MAX_OPEN: usize = 1024;

/// So many finished calls are remembered, for results that come late or twice.
const MAX_FINISHED: usize = 256;

/// As much of what a tool prints is kept until its result is there, in case there will be none.
const MAX_OUTPUT_BYTES: usize = 16 * 1024;

/// As much of results that wait for their call is kept.
const MAX_WAITING_BYTES: usize = 4 * 1024 * 1024;

/// Names a turn of the session for as long as it is traced.
pub(super) type TurnNth = u64;

#[derive(Debug)]
struct Finished {
    /// The hash of its id.
    id: u64,
    turn: Option<TurnNth>,
    /// What is needed to tell a late result; `None` where the result came, and did not say that more comes.
    late: Option<OpenCall>,
}

/// The open calls of a session.
#[derive(Debug, Default)]
pub(super) struct Calls {
    open: BTreeMap<u64, OpenCall>,
    /// By the hash of the id.
    by_id: BTreeMap<u64, u64>,
    n_calls: u64,
    /// Results that wait for their call, in bytes.
    waiting_bytes: usize,
    finished: VecDeque<Finished>,
    early_answers: EarlyAnswers,
}

/// What a call needs to know of its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallPlace<'a> {
    pub(super) turn: Option<TurnNth>,
    pub(super) parent: Option<&'a str>,
    pub(super) cwd: Option<&'a str>,
    pub(super) now_ms: Option<i64>,
}

/// What became of an event about a call.
#[derive(Debug)]
pub(super) enum CallStep {
    /// Nothing to tell.
    Nothing,
    /// It goes on: this call.
    Began(u64),
    /// It is done.
    Done(Box<OpenCall>),
}

impl Calls {
    /// A call that is still open.
    pub(super) fn get(&self, nth: u64) -> Option<&OpenCall> {
        self.open.get(&nth)
    }

    /// The calls that go on, in their order; results that wait for their call are none.
    pub(super) fn running(&self) -> impl Iterator<Item = &OpenCall> {
        self.open
            .values()
            .filter(|call| call.block.result.is_none())
    }

    /// How deep what a call's sub-agent does is shown.
    pub(super) fn depth_in(&self, parent: Option<&str>) -> usize {
        let Some(parent) = parent else { return 0 };
        let host = self
            .by_id
            .get(&hash(parent))
            .and_then(|nth| self.open.get(nth));
        host.map_or(1, |host| (host.depth + 1).min(8))
    }

    /// Takes a call.
    pub(super) fn called(&mut self, call: &ToolCall, place: CallPlace<'_>) -> CallStep {
        let id = hash(&call.tool_call_id);
        let again = self
            .finished
            .iter()
            .any(|finished| finished.id == id && finished.turn == place.turn);
        if again && !self.by_id.contains_key(&id) {
            return CallStep::Nothing;
        }
        let nth = self.open(&call.tool_call_id, place);
        let Some(open) = self.open.get_mut(&nth) else {
            return CallStep::Nothing;
        };
        let block = &mut open.block;
        block.tool_name = one_line(&call.tool_name).into();
        block.kind = ToolKind::of(call.kind.as_deref(), &call.tool_name);
        block.title.clone_from(&call.title);
        block.args = call.args.clone();
        open.target = target(block, place.cwd);
        block.args = Json::default();
        block.title = None;
        let told_before = std::mem::replace(&mut open.called, true);
        block.called_ms = place.now_ms;
        if block.status == ToolStatus::Preparing {
            block.status = ToolStatus::Running;
        }
        if block.result.is_some() {
            return self
                .take(nth)
                .map_or(CallStep::Nothing, |call| CallStep::Done(Box::new(call)));
        }
        if told_before {
            return CallStep::Nothing;
        }
        CallStep::Began(nth)
    }

    /// Notes that a call's arguments are being written.
    pub(super) fn prepares(&mut self, call_id: &str, tool_name: &str, place: CallPlace<'_>) {
        let finished = self.finished.iter().any(|known| known.id == hash(call_id));
        if finished && !self.by_id.contains_key(&hash(call_id)) {
            return;
        }
        let nth = self.open(call_id, place);
        if let Some(open) = self.open.get_mut(&nth)
            && !open.called
            && open.block.result.is_none()
        {
            open.block.status = ToolStatus::Preparing;
            if open.block.tool_name.is_empty() {
                open.block.tool_name = one_line(tool_name).into();
                open.block.kind = ToolKind::of(None, tool_name);
            }
        }
    }

    /// A call has to wait for an answer.
    pub(super) fn waits(&mut self, call_id: &str) {
        let open = self.by_id.get(&hash(call_id));
        if let Some(open) = open.and_then(|nth| self.open.get_mut(nth)) {
            open.block.waits = true;
        }
    }

    /// A call of a turn was given its answer, and runs, or will once it comes.
    pub(super) fn answered(&mut self, call_id: &str, turn: Option<TurnNth>, now_ms: Option<i64>) {
        let open = self.by_id.get(&hash(call_id));
        let Some(open) = open.and_then(|nth| self.open.get_mut(nth)) else {
            return self.early_answers.note(call_id, turn, now_ms);
        };
        let block = &mut open.block;
        block.waits = false;
        block.allowed_ms = now_ms.max(block.allowed_ms);
    }

    /// Notes what a running call printed.
    pub(super) fn printed(&mut self, call_id: &str, chunk: &str) {
        let open = self
            .by_id
            .get(&hash(call_id))
            .and_then(|nth| self.open.get_mut(nth));
        let Some(open) = open else { return };
        open.output.push_str(chunk);
        if open.output.len() > 2 * MAX_OUTPUT_BYTES {
            let mut from = open.output.len() - MAX_OUTPUT_BYTES;
            while !open.output.is_char_boundary(from) {
                from += 1;
            }
            open.output.drain(..from);
        }
    }

    /// Takes the progress of a call; true where it is one that goes on.
    pub(super) fn progressed(&mut self, progress: &Progress) -> Option<u64> {
        let nth = *self.by_id.get(&hash(progress.tool_call_id.as_deref()?))?;
        let open = self.open.get_mut(&nth)?;
        if open.block.result.is_some() {
            return None;
        }
        open.block.progress = Some(Progress {
            message: one_line(&progress.message),
            percent: progress.percent,
            ..Progress::default()
        });
        Some(nth)
    }

    /// Takes a result. One without a call waits for it, unless its turn is over.
    pub(super) fn finished(&mut self, result: &ToolResult, place: CallPlace<'_>) -> CallStep {
        let id = hash(&result.tool_call_id);
        let known = self.by_id.get(&id).copied();
        // A source that counts its calls anew in every turn means the newest.
        let mut newest_first = self.finished.iter_mut().rev();
        let late = newest_first.find(|finished| finished.id == id);
        let nth = match (known, late) {
            (Some(nth), _) => nth,
            (None, Some(finished)) => {
                // The first result stands.
                let status = ToolStatus::of_result(result.error.as_ref(), false);
                let has_none = matches!(status, ToolStatus::Interrupted | ToolStatus::NoResult);
                if has_none && result.background.is_none() || result.goes_on() {
                    return CallStep::Nothing;
                }
                let Some(mut call) = finished.late.take() else {
                    return CallStep::Nothing;
                };
                note_result(&mut call.block, result, place.now_ms);
                return CallStep::Done(Box::new(call));
            }
            (None, None) => self.open(&result.tool_call_id, place),
        };
        let Some(open) = self.open.get_mut(&nth) else {
            return CallStep::Nothing;
        };
        if open.block.result.is_some() {
            return CallStep::Nothing;
        }
        note_result(&mut open.block, result, place.now_ms);
        if !open.called && open.turn.is_some() {
            open.waiting_bytes = size(&open.block);
            self.waiting_bytes += open.waiting_bytes;
            return CallStep::Nothing;
        }
        let taken = self.take(nth);
        if let Some(call) = taken.as_ref().filter(|_| result.goes_on()) {
            self.keep_for_late(call);
        }
        taken.map_or(CallStep::Nothing, |call| CallStep::Done(Box::new(call)))
    }

    /// Ends the calls of a turn, but for those that go on behind it; or all of them.
    pub(super) fn settle(&mut self, turn: Option<TurnNth>, how: ToolStatus) -> Vec<OpenCall> {
        let is_over =
            |call: &OpenCall| turn.is_none() || (call.turn == turn && !self.is_in_background(call));
        let ended = self
            .open
            .iter()
            .filter(|(_, call)| is_over(call))
            .map(|(&nth, _)| nth);
        let ended: Vec<_> = ended.collect();
        ended
            .into_iter()
            .filter_map(|nth| self.settle_one(nth, how))
            .collect()
    }

    /// Whether it is of an agent that works in the background: the call that started that had its result.
    fn is_in_background(&self, call: &OpenCall) -> bool {
        let mut parent = call.parent;
        for _ in 0..call.depth {
            let Some(id) = parent else {
                break;
            };
            match self.by_id.get(&id).and_then(|nth| self.open.get(nth)) {
                Some(host) => parent = host.parent,
                None => return self.finished.iter().any(|known| known.id == id),
            }
        }
        false
    }

    /// Ends the oldest call where there are too many.
    pub(super) fn overflow(&mut self) -> Option<OpenCall> {
        if self.waiting_bytes > MAX_WAITING_BYTES {
            let mut calls = self.open.iter();
            let waiting = calls.find(|(_, call)| call.block.result.is_some());
            let oldest = waiting.map(|(&nth, _)| nth)?;
            return self.settle_one(oldest, ToolStatus::NoResult);
        }
        if self.open.len() <= MAX_OPEN {
            return None;
        }
        let oldest = self.open.keys().next().copied()?;
        self.settle_one(oldest, ToolStatus::NoResult)
    }

    fn settle_one(&mut self, nth: u64, how: ToolStatus) -> Option<OpenCall> {
        let mut call = self.take(nth)?;
        if call.block.result.is_none() {
            call.block.status = how;
            call.block.progress = None;
            self.keep_for_late(&call);
        }
        Some(call)
    }

    /// Keeps of the call that was taken last what is needed to tell a result that comes yet.
    fn keep_for_late(&mut self, call: &OpenCall) {
        if let Some(finished) = self.finished.back_mut() {
            finished.late = Some(OpenCall {
                id: call.id,
                turn: call.turn,
                parent: call.parent,
                depth: call.depth,
                block: call.block.clone(),
                target: call.target.clone(),
                called: call.called,
                waiting_bytes: 0,
                output: String::new(),
            });
        }
    }

    /// The call of that id, a new one where there is none.
    fn open(&mut self, call_id: &str, place: CallPlace<'_>) -> u64 {
        if let Some(&nth) = self.by_id.get(&hash(call_id)) {
            return nth;
        }
        self.n_calls += 1;
        let nth = self.n_calls;
        let mut block = ToolCallBlock::unknown(&one_line(call_id));
        block.allowed_ms = self.early_answers.take(call_id, place.turn);
        let call = OpenCall {
            id: hash(call_id),
            turn: place.turn,
            parent: place.parent.map(hash),
            depth: self.depth_in(place.parent),
            block,
            target: String::new(),
            called: false,
            waiting_bytes: 0,
            output: String::new(),
        };
        self.open.insert(nth, call);
        self.by_id.insert(hash(call_id), nth);
        nth
    }

    fn take(&mut self, nth: u64) -> Option<OpenCall> {
        let call = self.open.remove(&nth)?;
        self.waiting_bytes = self.waiting_bytes.saturating_sub(call.waiting_bytes);
        self.by_id.remove(&call.id);
        if self.finished.len() == MAX_FINISHED {
            self.finished.pop_front();
        }
        self.finished.push_back(Finished {
            id: call.id,
            turn: call.turn,
            late: None,
        });
        Some(call)
    }
}
