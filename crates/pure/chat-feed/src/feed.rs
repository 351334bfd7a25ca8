//! The feed: all rows in order, with their turns, responses and texts.
//!
//! Rows are a linked list over an arena, so that one can be put anywhere at the same cost. Where a row stands in pixels
//! or in numbers is for [`crate::viewport`]. Only [`crate::ChatRenderer`] changes a feed.

use crate::block::{Block, BlockBody, BlockId, EventIdx, ResponseIdx, TextIdx, TurnIdx};
use crate::session::{Response, SessionFacts, Turn};

/// Everything that is shown of a session.
#[derive(Clone, Debug, Default)]
pub struct Feed {
    pub(crate) slots: Vec<Slot>,
    pub(crate) first: Option<BlockId>,
    pub(crate) last: Option<BlockId>,
    pub(crate) n_rows: usize,
    pub(crate) turns: Vec<Turn>,
    pub(crate) responses: Vec<Response>,
    pub(crate) texts: Vec<TextBody>,
    pub(crate) session: SessionFacts,
    /// The row each event came to, by event index.
    pub(crate) rows_of_events: Vec<Option<BlockId>>,
}

/// A block and its neighbours.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) block: Block,
    pub(crate) prev: Option<BlockId>,
    pub(crate) next: Option<BlockId>,
    /// The last row that lies within this one; itself where there is none.
    pub(crate) tail: BlockId,
    /// Whether it is in the list.
    pub(crate) live: bool,
}

/// A text that grew event by event.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextBody {
    pub(crate) text: String,
    /// How long it was after each event that changed it: what time travel needs, without a copy of the text.
    pub(crate) growth: Vec<(EventIdx, usize)>,
}

impl TextBody {
    pub(crate) fn grew(&mut self, event: EventIdx) {
        let len = self.text.len();
        match self.growth.last_mut() {
            Some((last, last_len)) if *last == event => *last_len = len,
            _ => self.growth.push((event, len)),
        }
    }
}

impl Feed {
    /// A block by its name, whether it is still in the feed or was taken back.
    ///
    /// # Panics
    ///
    /// Where the name is of another feed.
    pub fn block(&self, id: BlockId) -> &Block {
        &self.slots[id.0 as usize].block
    }

    /// Whether the row is in the feed.
    pub fn contains(&self, id: BlockId) -> bool {
        self.slots.get(id.0 as usize).is_some_and(|slot| slot.live)
    }

    /// The text of a text or thinking block, what a tool call has printed so far; empty for all others.
    pub fn text(&self, id: BlockId) -> &str {
        match &self.block(id).body {
            // A row that was taken out keeps its name but not its text.
            BlockBody::Text(text) => self
                .stream(text.text)
                .get(text.start..text.end)
                .unwrap_or(""),
            BlockBody::Thinking(thinking) => self.stream(thinking.text),
            BlockBody::ToolCall(call) => call.output.map_or("", |output| self.stream(output)),
            _ => "",
        }
    }

    /// A streamed text as far as it came: a tool's output or input.
    pub fn stream(&self, text: TextIdx) -> &str {
        &self.texts[text.0 as usize].text
    }

    /// How long a streamed text was after each event that changed it: `(event, bytes)`, ascending.
    pub fn growth(&self, text: TextIdx) -> &[(EventIdx, usize)] {
        &self.texts[text.0 as usize].growth
    }

    /// The first row.
    pub fn first(&self) -> Option<BlockId> {
        self.first
    }

    /// The last row.
    pub fn last(&self) -> Option<BlockId> {
        self.last
    }

    /// The row after `id`.
    pub fn next(&self, id: BlockId) -> Option<BlockId> {
        self.slots[id.0 as usize].next
    }

    /// The row before `id`.
    pub fn prev(&self, id: BlockId) -> Option<BlockId> {
        self.slots[id.0 as usize].prev
    }

    /// The rows in order.
    pub fn rows(&self) -> impl Iterator<Item = &Block> {
        std::iter::successors(self.first, |&id| self.next(id)).map(|id| self.block(id))
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.n_rows
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.n_rows == 0
    }

    /// The turns in order.
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// A turn by its name.
    pub fn turn(&self, turn: TurnIdx) -> &Turn {
        &self.turns[turn.0 as usize]
    }

    /// A response by its name.
    pub fn response(&self, response: ResponseIdx) -> &Response {
        &self.responses[response.0 as usize]
    }

    /// The session's facts.
    pub fn session(&self) -> &SessionFacts {
        &self.session
    }

    /// The row that shows an event, or the nearest before it that shows anything.
    pub fn block_of_event(&self, event: EventIdx) -> Option<BlockId> {
        let upto = self.rows_of_events.len().min(event as usize + 1);
        let mut rows = self.rows_of_events[..upto].iter().rev().flatten();
        rows.find(|&&id| self.contains(id)).copied().or(self.first)
    }

    pub(crate) fn slot(&mut self, id: BlockId) -> &mut Slot {
        &mut self.slots[id.0 as usize]
    }

    /// Puts a slot that is in no list behind `after`, or at the very top.
    pub(crate) fn link(&mut self, id: BlockId, after: Option<BlockId>) {
        let next = match after {
            Some(after) => self.slot(after).next.replace(id),
            None => self.first.replace(id),
        };
        match next {
            Some(next) => self.slot(next).prev = Some(id),
            None => self.last = Some(id),
        }
        let slot = self.slot(id);
        slot.prev = after;
        slot.next = next;
        slot.live = true;
        self.n_rows += 1;
    }

    /// Takes a slot out of the list.
    pub(crate) fn unlink(&mut self, id: BlockId) {
        let slot = self.slot(id);
        slot.live = false;
        let (prev, next) = (slot.prev.take(), slot.next.take());
        match prev {
            Some(prev) => self.slot(prev).next = next,
            None => self.first = next,
        }
        match next {
            Some(next) => self.slot(next).prev = prev,
            None => self.last = prev,
        }
        self.n_rows -= 1;
    }
}
