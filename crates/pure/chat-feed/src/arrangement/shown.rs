//! Which rows of a block are in the list, and the changes that put them there or take them out.

use super::facets::{Run, container};
use super::{Arrangement, Row, RowChange, Thinking, Verbosity};
use crate::block::{BlockBody, BlockId, TurnIdx};
use crate::feed::Feed;
use crate::viewport::RowId;

/// The rows that stand at a block, in their order: the line of the turn's work, the header of a company, the block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rows {
    work: bool,
    company: bool,
    block: bool,
}

impl Rows {
    pub(super) fn has(self, row: Row) -> bool {
        match row {
            Row::Work(_) => self.work,
            Row::Company(_) => self.company,
            Row::Block(_) => self.block,
        }
    }

    fn set(&mut self, row: Row, shown: bool) {
        match row {
            Row::Work(_) => self.work = shown,
            Row::Company(_) => self.company = shown,
            Row::Block(_) => self.block = shown,
        }
    }
}

impl Arrangement {
    /// All rows in order.
    pub fn shown<'a>(&'a self, feed: &'a Feed) -> impl Iterator<Item = Row> + 'a {
        feed.rows().flat_map(move |block| {
            let shown = self
                .kept
                .get(block.id.0 as usize)
                .map_or(Rows::default(), |kept| kept.shown);
            rows_at(block.id, block.turn).filter(move |&row| shown.has(row))
        })
    }

    /// The row that shows a block, or else the nearest before it that is in the list.
    pub fn nearest(&self, feed: &Feed, block: BlockId) -> Option<RowId> {
        let at = std::iter::successors(Some(block), |&id| feed.prev(id));
        at.take(feed.len()).find_map(|id| self.last_row_at(id))
    }

    /// The same of each of these blocks, which stand in the feed's order: what lies between two of them is gone through
    /// once, however much is hidden there.
    pub fn nearest_of_each(&self, feed: &Feed, blocks: &[BlockId]) -> Vec<Option<RowId>> {
        let mut nearest: Vec<Option<RowId>> = Vec::with_capacity(blocks.len());
        for &block in blocks {
            let before = blocks.get(nearest.len().wrapping_sub(1)).copied();
            let mut at = std::iter::successors(Some(block), |&id| feed.prev(id)).take(feed.len());
            let row = at.find_map(|id| match before == Some(id) {
                true => nearest.last().copied(),
                false => self.last_row_at(id).map(Some),
            });
            nearest.push(row.flatten());
        }
        nearest
    }

    /// Finds everything of a turn anew and puts its rows as they should be; says whether it is undone now and was not, or
    /// the other way round.
    pub(super) fn arrange_turn(
        &mut self,
        feed: &Feed,
        turn: TurnIdx,
        changes: &mut Vec<RowChange>,
    ) -> bool {
        let is_undone = feed.turn(turn).is_undone();
        let was_undone = std::mem::replace(&mut self.turns[turn.0 as usize].undone, is_undone);
        self.find_companies(feed, turn);
        self.find_work(feed, turn, changes);
        self.refresh_turn(feed, turn, changes);
        self.tell_headers(feed, turn, is_undone != was_undone, changes);
        is_undone != was_undone
    }

    /// What headers say is of all their rows. Where it is `all`, what each row says is another, too.
    fn tell_headers(&self, feed: &Feed, turn: TurnIdx, all: bool, changes: &mut Vec<RowChange>) {
        changes.extend(self.id_of(Row::Work(turn)).map(RowChange::Changed));
        let mut next = self.turns[turn.0 as usize].first;
        while let Some(id) = next
            && self.kept(id).turn == turn
        {
            changes.extend(self.id_of(Row::Company(id)).map(RowChange::Changed));
            let row = self.id_of(Row::Block(id)).filter(|_| all);
            changes.extend(row.map(RowChange::Changed));
            next = feed.next(id);
        }
    }

    /// Puts all rows of a turn as they should be.
    pub(super) fn refresh_turn(
        &mut self,
        feed: &Feed,
        turn: TurnIdx,
        changes: &mut Vec<RowChange>,
    ) {
        let n_before = changes.len();
        let mut next = self.turns[turn.0 as usize].first;
        while let Some(id) = next
            && self.kept(id).turn == turn
        {
            self.refresh(feed, id, changes);
            next = feed.next(id);
        }
        // From the last to the first: who reads one of those that go is at what comes behind them all then, and not as far down
        // as they were high.
        let mut gone = Vec::new();
        let of_turn = changes.split_off(n_before);
        for change in of_turn {
            match change {
                RowChange::Removed(_) => gone.push(change),
                _ => changes.push(change),
            }
        }
        changes.extend(gone.into_iter().rev());
    }

    /// Puts the rows that lie within a call as they should be.
    pub(super) fn refresh_within(
        &mut self,
        feed: &Feed,
        call: BlockId,
        changes: &mut Vec<RowChange>,
    ) {
        for id in feed.rows_within(call) {
            if self.kept(id).placed {
                self.refresh(feed, id, changes);
            }
        }
    }

    /// Puts the rows of one block as they should be.
    pub(super) fn refresh(&mut self, feed: &Feed, id: BlockId, changes: &mut Vec<RowChange>) {
        let turn = self.kept(id).turn;
        let wanted = self.wanted(feed, id);
        let mut after = None;
        for row in rows_at(id, turn) {
            let (is, should) = (self.kept(id).shown.has(row), wanted.has(row));
            if is && !should {
                self.hide_row(id, row, changes);
            }
            if should && !is {
                let after = after.or_else(|| self.row_before(feed, id));
                let name = self.name(row);
                self.kept[id.0 as usize].shown.set(row, true);
                changes.push(RowChange::Inserted(name, after));
            }
            if should {
                after = self.id_of_at(id, row);
            }
        }
    }

    /// Takes all rows of a block out of the list.
    pub(super) fn hide(&mut self, id: BlockId, turn: TurnIdx, changes: &mut Vec<RowChange>) {
        for row in rows_at(id, turn) {
            self.hide_row(id, row, changes);
        }
    }

    /// Takes one row that stands at a block out of the list.
    pub(super) fn hide_row(&mut self, id: BlockId, row: Row, changes: &mut Vec<RowChange>) {
        if !self.kept(id).shown.has(row) {
            return;
        }
        if let Some(name) = self.id_of_at(id, row) {
            changes.push(RowChange::Removed(name));
        }
        self.kept[id.0 as usize].shown.set(row, false);
    }

    /// Which of its rows a block should have in the list.
    fn wanted(&self, feed: &Feed, id: BlockId) -> Rows {
        let kept = self.kept(id);
        if let Some(filter) = &self.filter {
            return Rows {
                block: filter(feed, id),
                ..Rows::default()
            };
        }
        let turn = kept.turn;
        let work = self.work(turn);
        let folded = kept.work && work.is_some() && !self.is_open(feed, Row::Work(turn));
        let inside = kept.facet.waits || self.containers_open(feed, id);
        let told = match self.mode.verbosity {
            // What its line stands for is shown once that is open.
            Verbosity::Quiet => {
                let folds = kept.work && work.is_some();
                folds || kept.facet.matters || kept.facet.answers || kept.facet.waits
            }
            Verbosity::Normal | Verbosity::Verbose => true,
        };
        let visible = told && inside && !folded;
        let company = kept.company.filter(|_| self.groups());
        let hidden_in_company = company.is_some_and(|head| {
            self.hides_members(head)
                && (!kept.facet.stands_out || matches!(kept.facet.run, Run::Failed(_)))
                && !self.is_open(feed, Row::Company(head))
        });
        let absorbed = kept.facet.absorbed && self.mode.verbosity != Verbosity::Verbose;
        Rows {
            work: work.is_some_and(|work| work.first == id),
            company: visible && company == Some(id),
            block: visible && !hidden_in_company && !absorbed && !self.is_blank(feed, id),
        }
    }

    /// Whether nothing is to be shown of a block.
    pub(super) fn is_blank(&self, feed: &Feed, id: BlockId) -> bool {
        let hides = self.mode.thinking == Thinking::Hidden;
        let is_hidden = hides && matches!(feed.block(id).body, BlockBody::Thinking(_));
        is_hidden || self.kept(id).facet.blank
    }

    /// Whether every call the row lies in is open.
    fn containers_open(&self, feed: &Feed, id: BlockId) -> bool {
        let mut around = std::iter::successors(container(feed, id), |&id| container(feed, id));
        around.all(|call| self.shows_inside(call))
    }

    pub(super) fn groups(&self) -> bool {
        self.mode.group && self.mode.verbosity != Verbosity::Verbose && self.filter.is_none()
    }

    pub(super) fn folds(&self) -> bool {
        self.mode.fold && self.mode.verbosity != Verbosity::Verbose
    }

    /// The row in the list behind which the first row of a block goes.
    fn row_before(&self, feed: &Feed, id: BlockId) -> Option<RowId> {
        self.nearest(feed, feed.prev(id)?)
    }

    fn last_row_at(&self, id: BlockId) -> Option<RowId> {
        let kept = self.kept.get(id.0 as usize)?;
        let rows = [Row::Block(id), Row::Company(id), Row::Work(kept.turn)];
        let last = rows.into_iter().find(|&row| kept.shown.has(row))?;
        self.id_of_at(id, last)
    }

    fn id_of_at(&self, id: BlockId, row: Row) -> Option<RowId> {
        match row {
            Row::Block(_) => self.kept(id).row,
            Row::Work(_) | Row::Company(_) => self.header_ids.get(&row).copied(),
        }
    }

    /// The name of a row; it is given once and stays.
    fn name(&mut self, row: Row) -> RowId {
        let known = match row {
            Row::Block(block) => self.kept(block).row,
            Row::Work(_) | Row::Company(_) => self.header_ids.get(&row).copied(),
        };
        if let Some(name) = known {
            return name;
        }
        // Two headers a block at most, and blocks are counted in 32 bits; nobody has a billion of them.
        #[allow(clippy::cast_possible_truncation)]
        let name = RowId(self.rows.len() as u32);
        self.rows.push(row);
        match row {
            Row::Block(block) => self.kept[block.0 as usize].row = Some(name),
            Row::Work(_) | Row::Company(_) => {
                self.header_ids.insert(row, name);
            }
        }
        name
    }
}

fn rows_at(id: BlockId, turn: TurnIdx) -> impl Iterator<Item = Row> {
    [Row::Work(turn), Row::Company(id), Row::Block(id)].into_iter()
}
