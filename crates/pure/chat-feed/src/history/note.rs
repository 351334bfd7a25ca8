//! While an event is applied: what it is about to change is held, and what came of that is noted once it was.

use std::sync::Arc;

use super::row_marks::RowMarks;
use super::{History, NEVER, NONE, WholeText};
use crate::block::{BlockId, EventIdx, TextIdx, TurnIdx};
use crate::feed::{Feed, NO_ROW, Slot, UsageCounted};
use crate::patch::FeedPatch;
use crate::session::Turn;

impl Feed {
    /// The event in hand was applied: what it changed is kept, as little of it as will do.
    pub(crate) fn note_history(&mut self, patches: &[FeedPatch]) {
        let Some(mut history) = self.history.take() else {
            return;
        };
        history.finish(self, patches);
        self.history = Some(history);
    }
}

impl History {
    /// An event is about to be applied, with its time.
    pub(crate) fn begin(&mut self, event: EventIdx, at_ms: Option<i64>) {
        self.event = event;
        self.at_ms = at_ms;
        self.n_changes = self.n_changes.wrapping_add(1);
    }

    /// A row is about to be changed.
    pub(crate) fn hold(&mut self, slot: &Arc<Slot>) {
        let marks = &mut self.rows[slot.block.id.0 as usize];
        // What it is halfway through its first event is shown by nobody.
        if slot.block.first_event < self.event && marks.held != self.event {
            marks.held = self.event;
            self.held_rows.push(slot.clone());
        }
    }

    /// A turn is about to be changed.
    pub(crate) fn hold_turn(&mut self, turn: TurnIdx, facts: &Turn) {
        let is_new = self.turns_began[turn.0 as usize] == self.event;
        // A session's end may be that of very many turns.
        let held = std::mem::replace(&mut self.turns_held[turn.0 as usize], self.event);
        if !is_new && held != self.event {
            self.held_turns.push((turn, facts.clone()));
        }
    }

    /// A row of text ended here and goes on now.
    pub(crate) fn note_end(&mut self, row: BlockId, end: usize) {
        let ends = self.rows[row.0 as usize].ends.get_or_insert_default();
        if ends.last_event() != Some(self.event) {
            ends.set(self.event, end);
        }
    }

    /// A row is in the list, behind another.
    pub(crate) fn row_came(&mut self, row: BlockId, after: Option<BlockId>) {
        self.order.insert(row, after);
        self.rows.push(RowMarks {
            came: self.event,
            changed: self.event,
            stamp: self.n_changes,
            newest: NONE,
            gone: NEVER,
            held: NEVER,
            ends: None,
        });
    }

    /// A row is out of the list.
    pub(crate) fn row_went(&mut self, row: BlockId) {
        let marks = &mut self.rows[row.0 as usize];
        marks.gone = self.event;
        // It grows no more.
        if let Some(ends) = &mut marks.ends {
            ends.shrink_to_fit();
        }
        self.gone.push((self.event, row));
    }

    /// A turn began.
    pub(crate) fn turn_came(&mut self) {
        self.turns_began.push(self.event);
        self.newest_of_turns.push(NONE);
        self.turns_held.push(NEVER);
    }

    /// What a usage event said was counted.
    pub(crate) fn note_usage(&mut self, note: UsageCounted) {
        self.usage.push((self.event, note));
    }

    /// The event in hand brought a whole text.
    pub(crate) fn note_whole_text(&mut self, text: TextIdx, len: usize) {
        self.whole_texts.push(WholeText {
            event: self.event,
            text,
            len,
        });
    }

    fn finish(&mut self, feed: &Feed, patches: &[FeedPatch]) {
        let event = self.event;
        for old in std::mem::take(&mut self.held_rows) {
            self.mark_changed(old.block.id);
            self.record_row(feed, &old);
        }
        for (turn, old) in std::mem::take(&mut self.held_turns) {
            self.record_turn(feed, turn, old);
        }
        let came_to = feed.rows_of_events.get(event as usize);
        let came_to = came_to.copied().unwrap_or(NO_ROW);
        self.mark_changed(BlockId(came_to));
        for patch in patches {
            if let FeedPatch::AppendText { block, .. } | FeedPatch::Update { block } = *patch {
                self.mark_changed(block);
            }
            if let FeedPatch::AppendText { block, .. } | FeedPatch::Update { block } = *patch
                && block.0 != came_to
                && !self.has_record(block, event)
            {
                self.beside.push((event, block));
            }
        }
        if patches.contains(&FeedPatch::Session) {
            let mut now = feed.session.clone();
            (now.first_ms, now.last_ms) = (None, None);
            if now != self.session {
                let before = std::mem::replace(&mut self.session, now);
                self.sessions.push((event, Box::new(before)));
            }
        }
        if feed.context != self.context {
            self.contexts.push((event, self.context));
            self.context = feed.context;
        }
        // At the end of a log nothing more is said, and no event counted.
        if self.times.len() < feed.rows_of_events.len() {
            self.times.push(self.at_ms.take());
        }
    }

    fn mark_changed(&mut self, row: BlockId) {
        if let Some(marks) = self.rows.get_mut(row.0 as usize) {
            marks.changed = self.event;
            marks.stamp = self.n_changes;
        }
    }

    fn has_record(&self, row: BlockId, event: EventIdx) -> bool {
        let newest = self.rows[row.0 as usize].newest;
        let record = self.row_records.get(newest as usize);
        record.is_some_and(|record| record.event == event)
    }
}
