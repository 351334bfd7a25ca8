//! What of a block matters for where it is shown; everything else of it may change without moving a row.

use std::hash::{DefaultHasher, Hash, Hasher};

use chat_event::SetBack;

use crate::block::{Block, BlockBody, BlockId, ToolCallBlock};
use crate::feed::Feed;
use crate::retries::RETRY_NOTICE;
use crate::tool::{ToolKind, ToolStatus};

/// What a block is to its neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Run {
    /// Nothing.
    #[default]
    Alone,
    /// A read or a search.
    Explore,
    /// A change of the file whose path has this hash.
    Edit(u64),
    /// An edit that failed; what its tool is called and what it was told have this hash.
    Failed(u64),
    /// Any other call: it may run beside others.
    Call,
}

/// What of a block matters here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Facet {
    pub(super) run: Run,
    /// It runs or failed: no group hides it.
    pub(super) stands_out: bool,
    /// It is a call that is not done: what was answered of it stands beside it.
    pub(super) runs: bool,
    /// It waits for an answer: nothing hides it.
    pub(super) waits: bool,
    /// Its changed file, the plan or the question says it all, or the call that was allowed or denied.
    pub(super) absorbed: bool,
    /// There is nothing to be shown of it.
    pub(super) blank: bool,
    /// A settled turn may fold it away.
    pub(super) foldable: bool,
    /// It is part of an answer, where nothing but answers, marks and notes stands behind it.
    pub(super) answers: bool,
    /// It is no work of the agent's, but said beside it: a hook that ran, a note, what nobody has a rule for.
    pub(super) notes: bool,
    /// It is shown even when little is.
    pub(super) matters: bool,
}

impl Facet {
    pub(super) fn of(feed: &Feed, id: BlockId) -> Facet {
        let block = feed.block(id);
        let mut facet = Facet::default();
        match &block.body {
            BlockBody::ToolCall(call) => {
                facet.runs = call.status.runs();
                // What goes on in the background outlives its turn.
                facet.foldable = !(facet.runs && call.background);
                facet.stands_out =
                    facet.runs || matches!(call.status, ToolStatus::Failed | ToolStatus::Denied);
                facet.absorbed = absorbed_by(feed, id).is_some();
                // Else there is nothing to see of an agent that works.
                facet.matters = block.depth == 0 && facet.runs;
                facet.run = match call.kind {
                    ToolKind::Read | ToolKind::Search => Run::Explore,
                    ToolKind::Edit => match call.failure() {
                        Some(why) if call.status == ToolStatus::Failed => {
                            Run::Failed(hash_of(&(&call.tool_name, &why.message)))
                        }
                        _ => Run::Alone,
                    },
                    ToolKind::Plan | ToolKind::Think => Run::Alone,
                    ToolKind::Execute | ToolKind::Fetch | ToolKind::Agent | ToolKind::Other => {
                        Run::Call
                    }
                };
            }
            BlockBody::FileEdit(edit) => {
                facet.run = Run::Edit(hash_of(&edit.edit.file_path));
                facet.foldable = true;
                // What no call changed is told when all is done: it is no work behind the answer.
                facet.notes = edit.call.is_none();
            }
            BlockBody::Permission(ask) => {
                facet.waits = ask.resolved.is_none() && !ask.expired;
                facet.foldable = !facet.waits;
                facet.absorbed = absorbed_by(feed, id).is_some();
            }
            BlockBody::Question(ask) => {
                facet.waits = ask.resolved.is_none() && !ask.expired;
                facet.foldable = !facet.waits;
            }
            BlockBody::AgentMessage(message) => {
                facet.foldable = message.result.is_some() || !message.wait;
            }
            BlockBody::Notice {
                warning, source, ..
            } => {
                let sets_back = source.as_deref() == Some(SetBack::SOURCE);
                // Why a turn was slow is told also when its work is folded.
                let is_told = sets_back || source.as_deref() == Some(RETRY_NOTICE);
                facet.foldable = !warning && !is_told;
                facet.notes = true;
                facet.matters = *warning || sets_back;
            }
            BlockBody::Text(_) => {
                facet.foldable = true;
                facet.answers = block.depth == 0;
            }
            BlockBody::Audio { .. } => {
                facet.foldable = true;
                facet.answers = block.depth == 0;
            }
            BlockBody::Thinking(_)
            | BlockBody::Plan(_)
            | BlockBody::Progress(_)
            | BlockBody::AgentSwitch(_)
            | BlockBody::Raw { .. } => {
                facet.foldable = true;
                facet.notes = true;
            }
            BlockBody::TurnEnd(end) => {
                facet.matters = block.depth == 0;
                facet.blank = end.says_nothing();
            }
            BlockBody::Prompt(_)
            | BlockBody::Interrupt { .. }
            | BlockBody::Error { .. }
            | BlockBody::Compaction(_)
            | BlockBody::SessionEnd { .. }
            | BlockBody::Gap(_) => facet.matters = block.depth == 0,
            BlockBody::SessionStart(_) => {}
        }
        if feed.turn(block.turn).is_undone() {
            facet.undo(&block.body);
        }
        facet
    }

    /// In a turn that is undone nobody looks for what went wrong.
    fn undo(&mut self, body: &BlockBody) {
        self.foldable |= match body {
            BlockBody::TurnEnd(_) | BlockBody::Interrupt { .. } | BlockBody::Error { .. } => true,
            BlockBody::Notice { source, .. } => source.as_deref() != Some(SetBack::SOURCE),
            _ => false,
        };
    }
}

fn hash_of(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// The call that a changed file stands beside.
pub(super) fn call_of(block: &Block) -> Option<BlockId> {
    match &block.body {
        BlockBody::FileEdit(edit) => edit.call,
        _ => None,
    }
}

/// The block that says what this one has to say: of an edit that was done its changed file, where that stands behind it;
/// of all others the block itself.
pub(crate) fn stands_for(feed: &Feed, id: BlockId) -> BlockId {
    match &feed.block(id).body {
        BlockBody::ToolCall(call)
            if call.kind == ToolKind::Edit && call.status == ToolStatus::Succeeded =>
        {
            let edit = feed.next(id);
            edit.filter(|&next| call_of(feed.block(next)) == Some(id))
                .unwrap_or(id)
        }
        _ => id,
    }
}

/// The row that says what a call has to say: of an edit that was done its changed file, of a list of things to do the plan
/// of its turn, of one that asks the question. Of an answered request it is the call that was asked for, once that is done.
pub(super) fn absorbed_by(feed: &Feed, id: BlockId) -> Option<BlockId> {
    let block = feed.block(id);
    let call = match &block.body {
        BlockBody::ToolCall(call) => call,
        BlockBody::Permission(ask) => {
            let call = ask.call.filter(|&call| feed.contains(call))?;
            let asked_for = feed.block(call);
            let beside = (asked_for.turn, asked_for.parent) == (block.turn, block.parent);
            let done = matches!(&asked_for.body, BlockBody::ToolCall(call) if !call.status.runs());
            return (beside && done).then(|| absorbed_by(feed, call).unwrap_or(call));
        }
        _ => return None,
    };
    let done = call.status == ToolStatus::Succeeded;
    match call.kind {
        ToolKind::Edit => Some(stands_for(feed, id)).filter(|&by| by != id),
        ToolKind::Plan if done && call.lists_steps => {
            let steps = feed.plan_steps.of_agent_in(block.turn, block.parent);
            let mut plans = steps.map(|step| step.block);
            plans.find(|&plan| feed.contains(plan))
        }
        _ if done || call.status.runs() => {
            let behind = feed.next(feed.tail(id));
            // Only beside the call: of a row of another turn or another level it is not told when it stops being the next.
            let beside =
                |by| (feed.block(by).turn, feed.block(by).parent) == (block.turn, block.parent);
            behind.filter(|&behind| beside(behind) && asks_for(feed, behind, call))
        }
        _ => None,
    }
}

/// Whether a row is the question that a call asks.
fn asks_for(feed: &Feed, id: BlockId, call: &ToolCallBlock) -> bool {
    match &feed.block(id).body {
        BlockBody::Question(ask) => {
            ask.request.tool_call_id.as_deref() == Some(&*call.tool_call_id)
        }
        _ => false,
    }
}

/// The call that a row lies in and that hides it when closed. A changed file lies beside its call and not in it.
pub(super) fn container(feed: &Feed, id: BlockId) -> Option<BlockId> {
    let block = feed.block(id);
    let parent = block.parent?;
    match &block.body {
        BlockBody::FileEdit(_) => container(feed, parent),
        _ => Some(parent),
    }
}
