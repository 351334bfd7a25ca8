//! What a feed was before each event changed it: enough to show any earlier moment, and no copy of it.
//!
//! A row, a turn and the session are kept as they are now; where an event changed one, a record says what it was before
//! that event, as little as will do. Texts only grow, so an earlier text is a length. The order of rows never changes
//! either, only which of them are there: rows that were taken out keep their place in it. So what was shown after *n*
//! events is found row by row, at a cost that has nothing to do with *n*.
//!
//! Who asks for a moment, and what became of the rows in between, is for [`crate::playback`].

mod lengths;
mod note;
mod order;
mod replica;
mod row;
mod row_marks;
mod text;
mod times;
mod turn;

use std::sync::Arc;

use crate::block::{BlockId, EventIdx, TextIdx, TurnIdx};
use crate::feed::{Slot, UsageCounted};
use crate::session::{ContextUse, SessionFacts, Turn};

pub(crate) use lengths::Lengths;
use order::Order;
use row::RowRecord;
use row_marks::RowMarks;
pub(crate) use text::Rewrite;
use times::Times;
use turn::TurnRecord;

/// No record.
const NONE: u32 = u32::MAX;
/// No event: it has not happened.
const NEVER: EventIdx = EventIdx::MAX;
/// Stands for no time.
pub(crate) const NO_TIME: i64 = i64::MIN;

/// What a feed was before each event.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    /// The event in hand.
    event: EventIdx,
    at_ms: Option<i64>,
    /// How often anything was applied: once an event, and at the log's end.
    n_changes: u32,
    /// Rows and turns that it changed, as they were before it.
    held_rows: Vec<Arc<Slot>>,
    held_turns: Vec<(TurnIdx, Turn)>,

    order: Order,
    rows: Vec<RowMarks>,
    row_records: Vec<RowRecord>,
    /// Rows that were taken out, in the order of events.
    gone: Vec<(EventIdx, BlockId)>,
    /// Rows whose text an event changed beside the row that it came to.
    beside: Vec<(EventIdx, BlockId)>,

    /// The event that held each turn last.
    turns_held: Vec<EventIdx>,
    /// The event that began each turn.
    turns_began: Vec<EventIdx>,
    newest_of_turns: Vec<u32>,
    turn_records: Vec<TurnRecord>,

    /// The session after the newest event, without its times, and what it was before those that changed it.
    session: SessionFacts,
    sessions: Vec<(EventIdx, Box<SessionFacts>)>,
    context: ContextUse,
    contexts: Vec<(EventIdx, ContextUse)>,
    usage: Vec<(EventIdx, UsageCounted)>,
    /// When each event happened.
    times: Times,
    /// Texts that came whole, with one event.
    whole_texts: Vec<WholeText>,
}

/// A text that was not typed before our eyes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WholeText {
    /// The event that brought it.
    pub(crate) event: EventIdx,
    pub(crate) text: TextIdx,
    /// Its length in bytes.
    pub(crate) len: usize,
}
chat_event::pack_fields!(WholeText { event, text, len });

impl History {
    /// The texts that came whole from one on.
    pub(crate) fn whole_texts_from(&self, nth: usize) -> &[WholeText] {
        self.whole_texts.get(nth..).unwrap_or_default()
    }

    /// The whole text that an event brought.
    pub(crate) fn whole_text_of(&self, event: EventIdx) -> Option<WholeText> {
        let at = self
            .whole_texts
            .binary_search_by_key(&event, |whole| whole.event);
        self.whole_texts.get(at.ok()?).copied()
    }

    /// The nearest row before one, in the order of the feed, that `is_there`.
    pub(crate) fn row_before(
        &self,
        row: BlockId,
        is_there: impl Fn(BlockId) -> bool,
    ) -> Option<BlockId> {
        self.order.before(row).find(|&before| is_there(before))
    }

    /// The time of each event from one on, or of the one before where it has none; [`NO_TIME`] before the first that is told.
    pub(crate) fn times_from(&self, event: usize) -> impl Iterator<Item = i64> {
        self.times.from(event)
    }

    /// How many changes of rows were kept.
    pub(crate) fn n_changes(&self) -> usize {
        self.row_records.len()
    }

    /// The events that changed rows, from one change on.
    pub(crate) fn changes(&self, from: usize) -> impl Iterator<Item = EventIdx> {
        let records = self.row_records.get(from..).unwrap_or_default();
        records.iter().map(|record| record.event)
    }

    /// Whether a row was in the list after so many events.
    pub(crate) fn is_there(&self, row: BlockId, n_events: EventIdx) -> bool {
        let marks = &self.rows[row.0 as usize];
        marks.came < n_events && marks.gone >= n_events
    }

    /// The newest event that changed a row or its texts, and a number that no other change bears.
    pub(crate) fn changed(&self, row: BlockId) -> (EventIdx, u32) {
        let marks = &self.rows[row.0 as usize];
        (marks.changed, marks.stamp)
    }

    /// The rows that came from one event up to another, whether they are still there or not.
    pub(crate) fn rows_come(&self, events: std::ops::Range<EventIdx>) -> std::ops::Range<u32> {
        // Rows are counted in 32 bits.
        #[allow(clippy::cast_possible_truncation)]
        let upto = |event| self.rows.partition_point(|row| row.came < event) as u32;
        upto(events.start)..upto(events.end)
    }

    /// All rows that ever were, in the order of the feed.
    pub(crate) fn rows_ever(&self) -> impl Iterator<Item = BlockId> {
        self.order.iter()
    }

    /// Rows that went, or had another face or text, from one event up to another.
    pub(crate) fn rows_changed(
        &self,
        events: std::ops::Range<EventIdx>,
    ) -> impl Iterator<Item = BlockId> {
        let went = within(&self.gone, &events, |(event, _)| *event);
        let beside = within(&self.beside, &events, |(event, _)| *event);
        let records = within(&self.row_records, &events, |record| record.event);
        let named = went.iter().chain(beside).map(|(_, row)| *row);
        named.chain(records.iter().map(|record| record.row))
    }

    /// How many turns there were after so many events.
    pub(crate) fn n_turns(&self, n_events: EventIdx) -> usize {
        self.turns_began.partition_point(|began| *began < n_events)
    }

    /// The session after so many events, with `now` that of the newest.
    pub(crate) fn session_after(&self, now: &SessionFacts, n_events: EventIdx) -> SessionFacts {
        let first = self
            .sessions
            .partition_point(|(event, _)| *event < n_events);
        let mut session = match self.sessions.get(first) {
            Some((_, before)) => SessionFacts::clone(before),
            None => now.clone(),
        };
        let last = (n_events as usize).min(self.times.len()).checked_sub(1);
        let extent = last.and_then(|last| self.times.extent(last));
        (session.first_ms, session.last_ms) = extent.unzip();
        session
    }

    /// How full the context was after so many events.
    pub(crate) fn context_after(&self, now: ContextUse, n_events: EventIdx) -> ContextUse {
        let first = self
            .contexts
            .partition_point(|(event, _)| *event < n_events);
        self.contexts.get(first).map_or(now, |(_, before)| *before)
    }

    /// What was counted from `n_known` notes on up to so many events.
    pub(crate) fn usage_notes(
        &self,
        n_known: usize,
        n_events: EventIdx,
    ) -> &[(EventIdx, UsageCounted)] {
        let n_now = self.usage.partition_point(|(event, _)| *event < n_events);
        self.usage.get(n_known..n_now).unwrap_or_default()
    }

    /// How many notes were counted after so many events.
    pub(crate) fn n_usage_notes(&self, n_events: EventIdx) -> usize {
        self.usage.partition_point(|(event, _)| *event < n_events)
    }

    /// What all this takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let of_rows: usize = self.rows.iter().map(RowMarks::bytes).sum();
        let of_records: usize = self.row_records.iter().map(RowRecord::bytes).sum();
        let of_turns: usize = self.turn_records.iter().map(TurnRecord::bytes).sum();
        of_rows
            + of_records
            + of_turns
            + self.order.bytes()
            + (self.gone.capacity() + self.beside.capacity()) * size_of::<(EventIdx, BlockId)>()
            + (self.turns_began.capacity() + self.newest_of_turns.capacity()) * size_of::<u32>()
            + self.turns_held.capacity() * size_of::<EventIdx>()
            + self.sessions.len() * 2 * size_of::<SessionFacts>()
            + self.contexts.capacity() * size_of::<(EventIdx, ContextUse)>()
            + self.usage.capacity() * size_of::<(EventIdx, UsageCounted)>()
            + self.times.bytes()
            + self.whole_texts.capacity() * size_of::<WholeText>()
    }
}

/// What of a list in the order of events lies within a stretch of them.
fn within<'l, T>(
    list: &'l [T],
    events: &std::ops::Range<EventIdx>,
    event_of: impl Fn(&T) -> EventIdx,
) -> &'l [T] {
    let from = list.partition_point(|it| event_of(it) < events.start);
    let to = list.partition_point(|it| event_of(it) < events.end);
    list.get(from..to).unwrap_or_default()
}
