//! The sub-agents of a session, in the order they began.

use std::collections::HashMap;

use crate::block::{Block, BlockBody, BlockId, ToolCallBlock};
use crate::feed::Feed;
use crate::projections::TokenCounts;
use crate::tool::{ToolKind, ToolStatus};

/// Where a sub-agent stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentState {
    /// It works.
    Running,
    /// Something of it waits for an answer.
    NeedsYou,
    /// It is done.
    Done,
    /// It failed.
    Failed,
    /// It was stopped, or its end is not known.
    Stopped,
}

impl AgentState {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            AgentState::Running => "running",
            AgentState::NeedsYou => "needs you",
            AgentState::Done => "done",
            AgentState::Failed => "failed",
            AgentState::Stopped => "stopped",
        }
    }
}

/// A sub-agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentRow {
    /// The tool call that began it.
    pub block: BlockId,
    /// What it is called: its kind, else the tool.
    pub name: String,
    /// What it was asked to do.
    pub task: String,
    /// How many agents it was begun by.
    pub depth: u16,
    /// Where it stands.
    pub state: AgentState,
    /// Whether it is of a turn that is undone.
    pub undone: bool,
    /// Tool calls it made, with those of its own sub-agents.
    pub steps: u32,
    /// When it began, Unix epoch in milliseconds.
    pub started_ms: Option<i64>,
    /// How long it took.
    pub duration_ms: Option<u64>,
    /// What it used, its own sub-agents left out.
    pub tokens: Option<TokenCounts>,
    /// What it cost.
    pub cost_usd: Option<f64>,
}

/// The sub-agents: calls of that kind, and calls that rows lie within.
pub fn agents(feed: &Feed) -> Vec<AgentRow> {
    let mut rows: Vec<AgentRow> = Vec::new();
    let mut known: HashMap<BlockId, usize> = HashMap::new();
    for block in feed.rows() {
        if let BlockBody::ToolCall(call) = &block.body
            && is_agent(call)
        {
            let host = host_of(&known, block);
            let depth = host.map_or(0, |host| rows[host].depth + 1);
            known.insert(block.id, rows.len());
            rows.push(agent(feed, block, call, depth));
        }
        let waits = match &block.body {
            BlockBody::Permission(ask) => ask.resolved.is_none() && !ask.expired,
            BlockBody::Question(ask) => ask.resolved.is_none() && !ask.expired,
            _ => false,
        };
        let counts = matches!(block.body, BlockBody::ToolCall(_));
        let mut host = host_of(&known, block);
        // Depth is bounded where rows are placed.
        while let Some(at) = host.filter(|_| waits || counts) {
            let row = &mut rows[at];
            row.steps += u32::from(counts);
            if waits && row.state == AgentState::Running {
                row.state = AgentState::NeedsYou;
            }
            host = host_of(&known, feed.block(row.block));
        }
    }
    rows
}

/// The calls that began them, in that order.
pub fn agent_calls(feed: &Feed) -> impl Iterator<Item = BlockId> + '_ {
    let is_one =
        |block: &&Block| matches!(&block.body, BlockBody::ToolCall(call) if is_agent(call));
    feed.rows().filter(is_one).map(|block| block.id)
}

fn is_agent(call: &ToolCallBlock) -> bool {
    call.kind == ToolKind::Agent || call.steps > 0
}

/// The agent whose call the block lies in.
fn host_of(known: &HashMap<BlockId, usize>, block: &Block) -> Option<usize> {
    block.parent.and_then(|parent| known.get(&parent)).copied()
}

fn agent(feed: &Feed, block: &Block, call: &ToolCallBlock, depth: u16) -> AgentRow {
    let (name, task) = call.what();
    let (tokens, cost_usd) = feed.spent_by(block.id);
    AgentRow {
        block: block.id,
        name,
        task,
        depth,
        state: match call.status {
            ToolStatus::Preparing | ToolStatus::Running => AgentState::Running,
            ToolStatus::Succeeded => AgentState::Done,
            ToolStatus::Failed => AgentState::Failed,
            ToolStatus::Denied | ToolStatus::Interrupted | ToolStatus::NoResult => {
                AgentState::Stopped
            }
        },
        undone: feed.turn(block.turn).is_undone(),
        steps: 0,
        started_ms: call.called_ms.or(block.at_ms),
        duration_ms: call.duration_ms,
        tokens,
        cost_usd,
    }
}
