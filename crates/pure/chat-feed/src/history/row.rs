//! What a row was before an event changed it, said by what it became.
//!
//! Most changes are of few kinds: a call has its result, a text its end. A short word for one is kept only where it
//! gives back exactly what was; else the row is kept whole.
//!
//! What a row was is kept in `was`; `settled` knows what settles.

mod settled;
mod was;

use std::sync::Arc;

use super::{History, NONE};
use crate::block::{BlockBody, BlockId, EventIdx, FileEditBlock, ThinkingBlock, ToolCallBlock};
use crate::feed::{Feed, Slot};
use crate::tool::ToolStatus;
use settled::is_unsettled;
use was::{CallWas, Was, status_of, undo, was_of};

/// What a row was before an event.
#[derive(Clone, Debug)]
pub(super) struct RowRecord {
    pub(super) event: EventIdx,
    pub(super) row: BlockId,
    /// The record of the same row before this one.
    before: u32,
    was: Was,
}
chat_event::pack_fields!(RowRecord {
    event,
    row,
    before,
    was
});

#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each stands for a field")]
struct Had {
    name: bool,
    title: bool,
    args: bool,
    result: bool,
    error: bool,
    summary: bool,
}
chat_event::pack_fields!(Had {
    name,
    title,
    args,
    result,
    error,
    summary
});

impl RowRecord {
    pub(super) fn bytes(&self) -> usize {
        let kept = match &self.was {
            Was::Unsettled | Was::Text { .. } => 0,
            Was::Call(_) => size_of::<CallWas>(),
            Was::Thinking(_) => size_of::<ThinkingBlock>(),
            Was::Whole(slot) => {
                let body = match &slot.block.body {
                    BlockBody::ToolCall(_) => size_of::<ToolCallBlock>(),
                    BlockBody::FileEdit(_) => size_of::<FileEditBlock>(),
                    _ => 0,
                };
                size_of::<Slot>() + body + slot.block.event_id.len()
            }
        };
        size_of::<RowRecord>() + kept
    }
}

impl History {
    /// A call is about to have its result, and nothing else of it changes.
    pub(crate) fn hold_until_settled(&mut self, slot: &Arc<Slot>) {
        let marks = &self.rows[slot.block.id.0 as usize];
        let as_it_was = slot.block.first_event < self.event && marks.held != self.event;
        // How far it was, and that it waited, goes with the result.
        let loses_more = match &slot.block.body {
            BlockBody::ToolCall(call) => call.progress.is_some() || call.waits,
            _ => true,
        };
        if as_it_was && !loses_more && is_unsettled(slot) {
            self.push_record(slot.block.id, Was::Unsettled);
            self.rows[slot.block.id.0 as usize].held = self.event;
        } else {
            self.hold(slot);
        }
    }

    /// Keeps what a row was before the event in hand, where that is not what it is now.
    pub(super) fn record_row(&mut self, feed: &Feed, old: &Arc<Slot>) {
        let row = old.block.id;
        let now = &feed.slots[row.0 as usize];
        if old.settled_ms == now.settled_ms && old.block == now.block {
            return;
        }
        let was = was_of(old, now).unwrap_or_else(|| Was::Whole(old.clone()));
        self.push_record(row, was);
    }

    fn push_record(&mut self, row: BlockId, was: Was) {
        // A list of records longer than this would not fit any memory.
        let nth = u32::try_from(self.row_records.len()).unwrap_or(NONE);
        let marks = &mut self.rows[row.0 as usize];
        let before = std::mem::replace(&mut marks.newest, nth);
        self.row_records.push(RowRecord {
            event: self.event,
            row,
            before,
            was,
        });
    }

    /// The rows that changed from one change on, each once.
    pub(crate) fn rows_changed_last(&self, from: usize) -> impl Iterator<Item = BlockId> {
        let newest = |row: BlockId| self.rows[row.0 as usize].newest as usize;
        let records = self.row_records.iter().enumerate().skip(from);
        records
            .filter(move |(nth, record)| newest(record.row) == *nth)
            .map(|(_, record)| record.row)
    }

    /// The events with which a call came to stand so, newest first: its changes from one on, and that of its row.
    pub(crate) fn came_to(&self, now: &Slot, status: ToolStatus, from: usize) -> Vec<EventIdx> {
        let mut events = Vec::new();
        let mut after = status_of(&now.block);
        if after.is_none() {
            return events;
        }
        let mut at = self.rows[now.block.id.0 as usize].newest;
        while let Some(record) = self.row_records.get(at as usize) {
            if (at as usize) < from {
                return events;
            }
            let before = record.was.status();
            if after == Some(status) && before != after {
                events.push(record.event);
            }
            (after, at) = (before, record.before);
        }
        if after == Some(status) {
            events.push(now.block.first_event);
        }
        events
    }

    /// A row as it was after so many events; shared with `now` where it is the same.
    pub(crate) fn row_after(&self, now: &Arc<Slot>, n_events: EventIdx) -> Arc<Slot> {
        let marks = &self.rows[now.block.id.0 as usize];
        let ends = marks.ends.as_ref();
        let end = ends.and_then(|ends| ends.first_from(n_events));
        let mut undone: Vec<&RowRecord> = Vec::new();
        let mut at = marks.newest;
        while let Some(record) = self.row_records.get(at as usize)
            && record.event >= n_events
        {
            // What came later does not matter where the whole row is kept.
            if let Was::Whole(_) = record.was {
                undone.clear();
            }
            undone.push(record);
            at = record.before;
        }
        if undone.is_empty() && end.is_none() {
            return now.clone();
        }
        let oldest = undone.last().map(|record| record.event);
        let mut slot = now.clone();
        for record in undone {
            undo(&mut slot, &record.was);
        }
        // Whichever happened first says where it ended before.
        if let Some((event, end)) = end
            && oldest.is_none_or(|oldest| event < oldest)
            && let BlockBody::Text(text) = &mut Arc::make_mut(&mut slot).block.body
        {
            text.end = end as usize;
        }
        slot
    }
}
