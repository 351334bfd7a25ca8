//! Which rows of a feed are shown, and in what company.
//!
//! A feed holds every block; a reader wants less: the work of a settled turn on one line, ten reads in a row as one
//! group, a sub-agent's steps only when its call is open. An [`Arrangement`] stands between the feed and the list: it
//! takes the feed's patches and says which rows came, went or changed. Heights and pixels are for [`crate::viewport`].
//!
//! A row is a block, or a header in front of one. Headers are named by what they stand for and never by their place, so
//! a new member neither renames nor moves the header of its group.
//!
//! What an event costs: a row at the end of a running turn is put in place by itself. Whatever else changes — a turn
//! settles, a row comes into the middle or goes — has its turn arranged anew, once however many events there were.

mod changed;
mod companies;
mod facets;
mod folds;
mod kept;
mod neighbours;
mod opened;
mod shown;
mod weighed;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::block::{BlockBody, BlockId, TurnIdx};
use crate::feed::Feed;
use crate::patch::FeedPatch;
use crate::viewport::RowId;

pub use crate::verbosity::Verbosity;
pub use companies::{Company, CompanyKind};
pub use folds::Work;

pub(crate) use facets::stands_for;

use kept::{Kept, TurnKept};

/// What a row of the list stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    /// The line that stands for the work of a settled turn.
    Work(TurnIdx),
    /// The header of a company of like rows, which begins with this block.
    Company(BlockId),
    /// A block.
    Block(BlockId),
}

impl From<BlockId> for Row {
    fn from(block: BlockId) -> Row {
        Row::Block(block)
    }
}

/// How a feed is arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// How much is shown.
    pub verbosity: Verbosity,
    /// Whether the work of settled turns folds to one line.
    pub fold: bool,
    /// Whether like rows in a row are shown as one company.
    pub group: bool,
    /// How what agents think is shown.
    pub thinking: Thinking,
}

/// How what agents think is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Thinking {
    /// One line, as [`Mode::verbosity`] has it.
    #[default]
    Collapsed,
    /// All of it.
    Expanded,
    /// Not at all, unless a filter lets it through.
    Hidden,
}

impl Default for Mode {
    fn default() -> Self {
        Mode {
            verbosity: Verbosity::Normal,
            fold: true,
            group: true,
            thinking: Thinking::Collapsed,
        }
    }
}

/// Which blocks a filter lets through.
pub type Filter = Rc<dyn Fn(&Feed, BlockId) -> bool>;

/// One change of the list of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowChange {
    /// A row came behind another; at the very top where that is `None`.
    Inserted(RowId, Option<RowId>),
    /// A row went.
    Removed(RowId),
    /// A row shows something else.
    Changed(RowId),
    /// All rows went.
    Cleared,
}

/// The rows of one feed.
#[derive(Clone, Default)]
pub struct Arrangement {
    mode: Mode,
    filter: Option<Filter>,
    /// What the reader opened and closed.
    opened: BTreeMap<Row, bool>,
    /// The first and the last turn that the reader is in.
    read: Option<(TurnIdx, TurnIdx)>,
    /// By block.
    kept: Vec<Kept>,
    /// By turn.
    turns: Vec<TurnKept>,
    /// The members of each company by its first, in the feed's order; two at least.
    companies: BTreeMap<BlockId, Vec<BlockId>>,
    /// The answered requests for each call.
    asks: BTreeMap<BlockId, BTreeSet<BlockId>>,
    /// What each name stands for.
    rows: Vec<Row>,
    /// The names of headers; those of blocks stand with the blocks.
    header_ids: BTreeMap<Row, RowId>,
    /// Turns to be arranged anew before anybody looks.
    due: BTreeSet<TurnIdx>,
    /// Turns whose first row went.
    headless: BTreeSet<TurnIdx>,
}

impl Arrangement {
    /// The rows of an empty feed.
    pub fn new(mode: Mode) -> Arrangement {
        Arrangement {
            mode,
            ..Arrangement::default()
        }
    }

    /// How it is arranged.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The turns that the reader is in, from the first to the last, where the end is not followed. The work of one that ends
    /// meanwhile stays open: what is read is not taken away.
    pub fn set_read(&mut self, turns: Option<(TurnIdx, TurnIdx)>) {
        self.read = turns;
    }

    /// What a row stands for.
    ///
    /// # Panics
    ///
    /// Where the name is of another arrangement.
    pub fn row(&self, id: RowId) -> Row {
        self.rows[id.0 as usize]
    }

    /// Whether a name is of a row that is in the list. Names that were kept while the feed was cleared are of none, as long
    /// as they are not given again.
    pub fn is_shown(&self, id: RowId) -> bool {
        let row = self.rows.get(id.0 as usize);
        row.is_some_and(|row| self.id_of(*row) == Some(id))
    }

    /// The name of a row that is in the list.
    pub fn id_of(&self, row: Row) -> Option<RowId> {
        let kept = self.kept.get(self.block_of(row)?.0 as usize)?;
        if !kept.shown.has(row) {
            return None;
        }
        match row {
            Row::Block(_) => kept.row,
            Row::Work(_) | Row::Company(_) => self.header_ids.get(&row).copied(),
        }
    }

    /// Takes the patches since the last time and says what became of the rows. The feed is as it is after all of them.
    pub fn apply(&mut self, feed: &Feed, patches: &[FeedPatch], changes: &mut Vec<RowChange>) {
        self.make_room(feed);
        let mut plans_changed = false;
        let is_insert = |patch: &&FeedPatch| matches!(patch, FeedPatch::Insert { .. });
        let alone = patches.iter().filter(is_insert).nth(1).is_none();
        for patch in patches {
            match *patch {
                FeedPatch::Insert { block, .. } => self.block_came(feed, block, alone, changes),
                FeedPatch::Remove { block } => {
                    // Of a feed that was cleared behind it nothing is there any more.
                    let slot = feed.slots.get(block.0 as usize);
                    let is_plan = |body: &BlockBody| matches!(body, BlockBody::Plan(_));
                    plans_changed |= slot.is_some_and(|slot| is_plan(&slot.block.body));
                    self.block_went(block, changes);
                }
                FeedPatch::Update { block } => self.block_changed(feed, block, changes),
                FeedPatch::AppendText { block, .. } => {
                    // A longer text may be what the filter looks for.
                    if self.filter.is_some() && feed.contains(block) {
                        self.refresh(feed, block, changes);
                    }
                }
                FeedPatch::Turn { turn } => self.turn_changed(feed, turn, changes),
                FeedPatch::Session => {}
                FeedPatch::Clear => {
                    *self = Arrangement {
                        mode: self.mode,
                        filter: self.filter.take(),
                        ..Arrangement::default()
                    };
                    self.make_room(feed);
                    changes.push(RowChange::Cleared);
                }
            }
        }
        self.find_heads(feed);
        for turn in std::mem::take(&mut self.due) {
            if (turn.0 as usize) < feed.turns.len() {
                plans_changed |= self.arrange_turn(feed, turn, changes);
            } else {
                self.turns[turn.0 as usize] = TurnKept::default();
            }
        }
        if plans_changed {
            // Another plan than before may be the newest that holds, and open.
            let plans = feed.plan_steps().iter().map(|step| Row::Block(step.block));
            let rows = plans.filter_map(|plan| self.id_of(plan));
            changes.extend(rows.map(RowChange::Changed));
        }
    }

    /// Arranges everything in another way. What the reader opened stays so.
    pub fn set_mode(&mut self, feed: &Feed, mode: Mode, changes: &mut Vec<RowChange>) {
        if self.mode == mode {
            return;
        }
        let looked = self.looks(feed);
        self.mode = mode;
        self.arrange_all(feed, changes);
        // What stays in the list may be open now, or stand by itself.
        for (id, before) in looked {
            if let Some(row) = self.id_of(Row::Block(id))
                && self.look(feed, id) != before
            {
                changes.push(RowChange::Changed(row));
            }
        }
    }

    /// Whether a filter decides what is shown.
    pub fn is_filtered(&self) -> bool {
        self.filter.is_some()
    }

    /// Shows only what the filter lets through, each row by itself; `None` shows everything again.
    pub fn set_filter(
        &mut self,
        feed: &Feed,
        filter: Option<Filter>,
        changes: &mut Vec<RowChange>,
    ) {
        self.filter = filter;
        self.arrange_all(feed, changes);
    }

    fn arrange_all(&mut self, feed: &Feed, changes: &mut Vec<RowChange>) {
        for turn in 0..feed.turns.len() {
            // Counted by the feed in 32 bits.
            #[allow(clippy::cast_possible_truncation)]
            self.arrange_turn(feed, TurnIdx(turn as u32), changes);
        }
        self.due.clear();
    }

    fn make_room(&mut self, feed: &Feed) {
        let new = feed.slots.get(self.kept.len()..).unwrap_or_default();
        // A feed that went back has blocks of turns that it has no more.
        let of_new = new.iter().map(|slot| slot.block.turn.0 as usize + 1).max();
        let n_turns = self
            .turns
            .len()
            .max(feed.turns.len())
            .max(of_new.unwrap_or(0));
        self.kept
            .extend(new.iter().map(|slot| Kept::of(&slot.block)));
        self.turns.resize_with(n_turns, TurnKept::default);
    }

    fn kept(&self, block: BlockId) -> &Kept {
        &self.kept[block.0 as usize]
    }

    /// The block a row stands at.
    fn block_of(&self, row: Row) -> Option<BlockId> {
        match row {
            Row::Block(block) | Row::Company(block) => Some(block),
            Row::Work(turn) => {
                let work = self.turns.get(turn.0 as usize)?.work.as_ref()?;
                Some(work.first)
            }
        }
    }
}
