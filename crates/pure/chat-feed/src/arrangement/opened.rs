//! Opened and closed: what opens by itself, and what the reader said instead.

use super::{Arrangement, Row, RowChange, Thinking, Verbosity};
use crate::block::{BlockBody, BlockId};
use crate::feed::Feed;
use crate::long_text::OPEN_BYTES;
use crate::session::MOST_STEPS_BACK;
use crate::tool::ToolStatus;

/// Edits up to so many changed lines are open by themselves.
const OPEN_EDIT_LINES: u32 = 25;

impl Arrangement {
    /// Whether a row shows its body, or a header its members.
    pub fn is_open(&self, feed: &Feed, row: Row) -> bool {
        let said = self.opened.get(&row).copied();
        said.unwrap_or_else(|| self.opens_by_itself(feed, row))
    }

    /// Whether the rows that lie within a call are shown. A call whose own body opens by itself keeps them to itself: they
    /// may be thousands.
    pub(super) fn shows_inside(&self, call: BlockId) -> bool {
        let said = self.opened.get(&Row::Block(call)).copied();
        said.unwrap_or(self.mode.verbosity == Verbosity::Verbose)
    }

    /// Opens or closes a row, for good.
    pub fn set_open(&mut self, feed: &Feed, row: Row, open: bool, changes: &mut Vec<RowChange>) {
        if self.opened.insert(row, open) == Some(open) {
            return;
        }
        match row {
            Row::Block(block) => self.refresh_within(feed, block, changes),
            Row::Company(head) => {
                for member in self.members(head).to_vec() {
                    self.refresh(feed, member, changes);
                }
            }
            Row::Work(turn) => self.refresh_turn(feed, turn, changes),
        }
        if let Some(id) = self.id_of(row) {
            changes.push(RowChange::Changed(id));
        }
    }

    /// What was opened and closed, in the feed's order within each kind of row. It may be of rows that are gone.
    pub fn opened(&self) -> impl DoubleEndedIterator<Item = (Row, bool)> {
        self.opened.iter().map(|(row, open)| (*row, *open))
    }

    /// Opens whatever hides a block, and says which row shows it; `None` where nothing does in this mode.
    pub fn reveal(
        &mut self,
        feed: &Feed,
        block: BlockId,
        changes: &mut Vec<RowChange>,
    ) -> Option<Row> {
        let block = self.stand_in(feed, block);
        let kept = self.kept.get(block.0 as usize)?;
        let (work, company) = (kept.work, kept.company);
        let turn = feed.block(block).turn;
        if work && self.work(turn).is_some() {
            self.set_open(feed, Row::Work(turn), true, changes);
        }
        let mut container = super::facets::container(feed, block);
        while let Some(id) = container {
            self.set_open(feed, Row::Block(id), true, changes);
            let company = self.company_of(id).filter(|&head| self.hides_members(head));
            if let Some(head) = company {
                self.set_open(feed, Row::Company(head), true, changes);
            }
            container = super::facets::container(feed, id);
        }
        if let Some(head) = company.filter(|&head| self.hides_members(head)) {
            self.set_open(feed, Row::Company(head), true, changes);
        }
        let row = Row::Block(block);
        self.id_of(row).map(|_| row)
    }

    /// The row that says what an absorbed call has to say.
    fn stand_in(&self, feed: &Feed, block: BlockId) -> BlockId {
        let absorbed = self
            .kept
            .get(block.0 as usize)
            .is_some_and(|kept| kept.facet.absorbed);
        match absorbed && self.mode.verbosity != Verbosity::Verbose {
            true => super::facets::absorbed_by(feed, block).unwrap_or(block),
            false => block,
        }
    }

    /// How each row of a block that is in the list looks.
    pub(super) fn looks(&self, feed: &Feed) -> Vec<(BlockId, (bool, Option<BlockId>))> {
        let shown = self.shown(feed).filter_map(|row| match row {
            Row::Block(id) => Some((id, self.look(feed, id))),
            Row::Work(_) | Row::Company(_) => None,
        });
        shown.collect()
    }

    /// Whether a block's row is open, and the first of the company it is shown in.
    pub(super) fn look(&self, feed: &Feed, id: BlockId) -> (bool, Option<BlockId>) {
        let company = self.company_of(id).filter(|_| self.groups());
        (self.is_open(feed, Row::Block(id)), company)
    }

    fn opens_by_itself(&self, feed: &Feed, row: Row) -> bool {
        match row {
            Row::Work(_) => false,
            // A group of edits is there for its diffs, one of reads to be passed over.
            Row::Company(head) => !matches!(feed.block(head).body, BlockBody::ToolCall(_)),
            Row::Block(block) => self.block_opens_by_itself(feed, block),
        }
    }

    /// Which blocks are open until the reader says otherwise: what fails, what runs, what waits, and small edits.
    fn block_opens_by_itself(&self, feed: &Feed, id: BlockId) -> bool {
        let verbose = self.mode.verbosity == Verbosity::Verbose;
        match &feed.block(id).body {
            BlockBody::ToolCall(call) if call.proposes_plan() => is_of_a_size_to_open(feed, id),
            BlockBody::ToolCall(call) => match call.status {
                ToolStatus::Failed => is_of_a_size_to_open(feed, id),
                ToolStatus::Running => {
                    call.output.is_some() || (verbose && is_of_a_size_to_open(feed, id))
                }
                ToolStatus::Preparing
                | ToolStatus::Succeeded
                | ToolStatus::Denied
                | ToolStatus::Interrupted
                | ToolStatus::NoResult => verbose && is_of_a_size_to_open(feed, id),
            },
            BlockBody::FileEdit(edit) => {
                let facts = &edit.edit;
                let lines = facts.lines_added.saturating_add(facts.lines_removed);
                (verbose || lines <= OPEN_EDIT_LINES)
                    && facts.diff_preview.len() <= OPEN_BYTES
                    && !facts.diff_preview.is_empty()
            }
            BlockBody::Permission(ask) => ask.resolved.is_none() && !ask.expired,
            BlockBody::Question(ask) => ask.resolved.is_none() && !ask.expired,
            // One that another took the place of is no list of what is to be done.
            BlockBody::Plan(entries) => {
                entries.iter().any(|entry| entry.status != "completed")
                    && newest_plans(feed, id).next() == Some(id)
            }
            BlockBody::Error { .. } | BlockBody::AgentMessage(_) => true,
            BlockBody::Thinking(_) => {
                let expanded = verbose || self.mode.thinking == Thinking::Expanded;
                expanded && feed.text(id).len() <= OPEN_BYTES
            }
            BlockBody::Prompt(_)
            | BlockBody::Text(_)
            | BlockBody::Progress(_)
            | BlockBody::AgentSwitch(_)
            | BlockBody::Interrupt { .. }
            | BlockBody::Audio { .. }
            | BlockBody::Compaction(_)
            | BlockBody::Notice { .. }
            | BlockBody::Raw { .. }
            | BlockBody::SessionStart(_)
            | BlockBody::SessionEnd { .. }
            | BlockBody::Gap(_)
            | BlockBody::TurnEnd(_) => false,
        }
    }
}

/// The rows of the plans that were made where this one was and hold, the newest first; of the newest [`MOST_STEPS_BACK`]
/// that were made there.
pub(super) fn newest_plans(feed: &Feed, plan: BlockId) -> impl Iterator<Item = BlockId> {
    let steps = feed.plan_steps.of_agent(feed.block(plan).parent);
    let newest = steps.take(MOST_STEPS_BACK).map(|step| step.block);
    newest.filter(|&step| feed.holds_plan(step))
}

/// The same whether what it gave is here or elsewhere.
fn is_of_a_size_to_open(feed: &Feed, id: BlockId) -> bool {
    let BlockBody::ToolCall(call) = &feed.block(id).body else {
        return true;
    };
    feed.text_len(id) <= OPEN_BYTES && !call.result_is_large
}
