//! The rows of the list: what each stands for, how they are arranged, and which are open.

use chat_feed::arrangement::{Arrangement, Company, Filter, Mode, Row, RowChange, Work};
use chat_feed::viewport::RowId;
use chat_feed::{BlockId, Feed, TurnIdx};

use super::FeedStore;

impl FeedStore {
    /// What a row of the list stands for.
    pub(crate) fn row(&self, id: RowId) -> Row {
        self.arrangement.borrow().row(id)
    }

    /// The name of a row that is in the list.
    pub(crate) fn id_of(&self, row: Row) -> Option<RowId> {
        self.arrangement.borrow().id_of(row)
    }

    /// The block a row of the list shows; `None` for headers.
    pub(crate) fn block_at(&self, id: RowId) -> Option<BlockId> {
        match self.row(id) {
            Row::Block(block) => Some(block),
            Row::Work(_) | Row::Company(_) => None,
        }
    }

    /// The turn a row of the list belongs to.
    pub(crate) fn turn_at(&self, id: RowId) -> TurnIdx {
        match self.row(id) {
            Row::Block(block) | Row::Company(block) => self.feed().block(block).turn,
            Row::Work(turn) => turn,
        }
    }

    /// See [`Arrangement::set_read`].
    pub(crate) fn set_read(&self, rows: Option<(RowId, RowId)>) {
        // What the list has may be of a feed that was cleared since.
        let turn_at = |id: RowId| {
            let shown = self.is_shown(id).then(|| self.row(id))?;
            match shown {
                Row::Work(turn) => Some(turn),
                Row::Block(block) | Row::Company(block) => {
                    let feed = self.feed();
                    feed.contains(block).then(|| feed.block(block).turn)
                }
            }
        };
        let turns = rows.and_then(|(first, last)| Some((turn_at(first)?, turn_at(last)?)));
        self.arrangement.borrow_mut().set_read(turns);
    }

    pub(super) fn is_shown(&self, id: RowId) -> bool {
        self.arrangement.borrow().is_shown(id)
    }

    /// The row that shows a block, or else the nearest before it.
    pub(crate) fn nearest_row(&self, block: BlockId) -> Option<RowId> {
        self.arrangement.borrow().nearest(&self.feed(), block)
    }

    /// The same of each of these blocks, which stand in the feed's order.
    pub(crate) fn nearest_rows(&self, blocks: &[BlockId]) -> Vec<Option<RowId>> {
        let arrangement = self.arrangement.borrow();
        arrangement.nearest_of_each(&self.feed(), blocks)
    }

    /// What the line of a turn's work says.
    pub(crate) fn work(&self, turn: TurnIdx) -> Option<Work> {
        self.arrangement.borrow().work(turn).cloned()
    }

    /// What the header of a company says.
    pub(crate) fn company(&self, head: BlockId) -> Option<Company> {
        self.arrangement.borrow().company(&self.feed(), head)
    }

    /// The members of a company, in their order.
    pub(crate) fn members(&self, head: BlockId) -> Vec<BlockId> {
        self.arrangement.borrow().members(head).to_vec()
    }

    /// The first of the company a block is shown in; `None` where it stands by itself.
    pub(crate) fn company_of(&self, block: BlockId) -> Option<BlockId> {
        let arrangement = self.arrangement.borrow();
        let head = arrangement.company_of(block)?;
        arrangement.id_of(Row::Company(head)).map(|_| head)
    }

    /// Which one of its company a block is, from 1; `None` where it stands by itself.
    pub(crate) fn number_in_company(&self, block: BlockId) -> Option<usize> {
        let head = self.company_of(block)?;
        let arrangement = self.arrangement.borrow();
        let at = arrangement.members(head).iter().position(|&id| id == block);
        at.map(|at| at + 1)
    }

    /// How the feed is arranged.
    pub(crate) fn mode(&self) -> Mode {
        self.arrangement.borrow().mode()
    }

    /// Arranges the feed in another way.
    pub(crate) fn set_mode(&self, mode: Mode) {
        self.arrange(|arrangement, feed, changes| arrangement.set_mode(feed, mode, changes));
    }

    /// Shows only what the filter lets through; `None` shows everything again.
    pub(crate) fn set_filter(&self, filter: Option<Filter>) {
        self.arrange(|arrangement, feed, changes| arrangement.set_filter(feed, filter, changes));
    }

    /// Opens whatever hides a block; the row that shows it, or else the nearest before it.
    pub(crate) fn reveal(&self, block: BlockId) -> Option<Row> {
        let mut row = None;
        self.arrange(|arrangement, feed, changes| {
            row = arrangement.reveal(feed, block, changes).or_else(|| {
                let nearest = arrangement.nearest(feed, block)?;
                Some(arrangement.row(nearest))
            });
        });
        row
    }

    fn arrange(&self, how: impl FnOnce(&mut Arrangement, &Feed, &mut Vec<RowChange>)) {
        // What the feed has had since the last frame comes first.
        let structure = self.gathered.borrow_mut().structure();
        {
            let mut changes = self.changes.borrow_mut();
            let mut arrangement = self.arrangement.borrow_mut();
            let feed = self.feed();
            arrangement.apply(&feed, &structure, &mut changes);
            how(&mut arrangement, &feed, &mut changes);
        }
        (self.on_dirty.borrow())();
    }

    /// Whether a row shows its body, or a header its members.
    pub(crate) fn is_open(&self, row: impl Into<Row>) -> bool {
        self.arrangement.borrow().is_open(&self.feed(), row.into())
    }

    /// Opens or closes a row.
    pub(crate) fn set_open(&self, row: impl Into<Row>, open: bool) {
        let row = row.into();
        self.arrange(|arrangement, feed, changes| arrangement.set_open(feed, row, open, changes));
    }

    /// Which rows were opened and closed, of so many the last.
    pub(crate) fn opened_rows(&self, most: usize) -> Vec<(Row, bool)> {
        let arrangement = self.arrangement.borrow();
        arrangement.opened().rev().take(most).collect()
    }

    /// Of which rows all of a long body is shown, or no more, of so many the last.
    pub(crate) fn shown_wholes(&self, most: usize) -> Vec<(BlockId, bool)> {
        let wholes = self.shown_whole.borrow();
        wholes
            .iter()
            .rev()
            .take(most)
            .map(|(id, whole)| (*id, *whole))
            .collect()
    }

    /// Whether a row shows all of a body that is long.
    pub(crate) fn shows_whole(&self, id: BlockId) -> bool {
        self.shown_whole.borrow().get(&id).copied().unwrap_or(false)
    }

    /// Shows all of a long body, or its two ends again.
    pub(crate) fn set_shows_whole(&self, id: BlockId, whole: bool) {
        self.shown_whole.borrow_mut().insert(id, whole);
        self.touch(id);
    }

    /// A row is to be drawn again, where it is still in the list.
    pub(crate) fn touch_row(&self, row: RowId) {
        if self.is_shown(row) {
            self.changes.borrow_mut().push(RowChange::Changed(row));
        }
        (self.on_dirty.borrow())();
    }

    /// A block is to be drawn again.
    pub(crate) fn touch(&self, id: BlockId) {
        if let Some(row) = self.id_of(Row::Block(id)) {
            self.changes.borrow_mut().push(RowChange::Changed(row));
        }
        (self.on_dirty.borrow())();
    }
}
