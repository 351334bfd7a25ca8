//! The plan: its newest state, and how it came to be.
//!
//! Of a turn that is undone no plan holds: the one that was made before it is the plan again.

use chat_event::payload::PlanEntry;

use crate::block::{BlockBody, BlockId};
use crate::feed::Feed;
use crate::session::PlanStep;

/// The plan as it is, and its steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanView {
    /// The newest call that asks for leave to do as it plans, and the plan in its words, where there is any; of a long
    /// one the beginning.
    pub proposed: Option<(BlockId, String)>,
    /// The row of the newest plan.
    pub block: Option<BlockId>,
    /// Its entries.
    pub entries: Vec<PlanEntry>,
    /// How many of them are done.
    pub n_done: usize,
    /// What changed, the newest first.
    pub steps: Vec<PlanStep>,
    /// Steps before those.
    pub n_older_steps: usize,
}

/// The plan of the session: its own where it has one, else its sub-agents'. `most_steps` bounds the steps it has.
pub fn plan(feed: &Feed, most_steps: usize) -> PlanView {
    let here = |step: &&PlanStep| feed.holds_plan(step.block);
    let proposed = proposed(feed);
    let newest = feed.plan_steps.of_agent(None).find(here);
    let Some(newest) = newest.or_else(|| feed.plan_steps().iter().rev().find(here)) else {
        return PlanView {
            proposed,
            ..PlanView::default()
        };
    };
    let mut shown = Vec::new();
    let mut n_steps = 0;
    let says = |step: &&PlanStep| !step.changes.is_empty();
    let steps = feed.plan_steps.of_agent(newest.parent);
    for step in steps.filter(here).filter(says) {
        if n_steps < most_steps {
            shown.push(step.clone());
        }
        n_steps += 1;
    }
    let entries = match &feed.block(newest.block).body {
        BlockBody::Plan(entries) => entries.clone(),
        _ => Vec::new(),
    };
    let is_done = |entry: &&PlanEntry| entry.status == "completed";
    PlanView {
        proposed,
        block: Some(newest.block),
        n_done: entries.iter().filter(is_done).count(),
        entries,
        n_older_steps: n_steps - shown.len(),
        steps: shown,
    }
}

fn proposed(feed: &Feed) -> Option<(BlockId, String)> {
    let mut rows = std::iter::successors(feed.last(), |block| feed.prev(*block));
    rows.find_map(|block| match &feed.block(block).body {
        BlockBody::ToolCall(call) if !feed.turn_of(block).is_undone() => {
            let (words, is_all) = call.proposed_plan()?;
            let words = if is_all { words } else { words + "…" };
            Some((block, words))
        }
        _ => None,
    })
}
