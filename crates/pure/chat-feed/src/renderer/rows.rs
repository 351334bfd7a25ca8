//! Rows come, change and go: what the feed has of them, what the history keeps, and the patches that tell it.

use std::sync::Arc;

use chat_event::ChatEvent;

use super::ChatRenderer;
use super::place::Place;
use crate::block::{Block, BlockBody, BlockId, TurnIdx};
use crate::feed::{Link, Slot};
use crate::patch::FeedPatch;

impl ChatRenderer {
    /// Shows an event that needs no other one as a row of its own.
    pub(super) fn row(&mut self, event: &ChatEvent, body: BlockBody) {
        let place = self.place(event);
        self.insert(&place, body);
    }

    /// Makes a row at the end of its place.
    pub(super) fn insert(&mut self, place: &Place, body: BlockBody) -> BlockId {
        self.note_missing_prompt(place, &body);
        let after = self.end_of(place);
        self.insert_after(place, after, body)
    }

    pub(super) fn insert_after(
        &mut self,
        place: &Place,
        after: Option<BlockId>,
        body: BlockBody,
    ) -> BlockId {
        let id = self.insert_quietly(place, after, body);
        let owes_foot = self.turn_works[place.turn.0 as usize].owed.is_some();
        if owes_foot && self.feet_due.last() != Some(&place.turn) {
            self.feet_due.push(place.turn);
        }
        self.touch(id);
        self.remember_row(id);
        id
    }

    /// Makes a row that is not what the event in hand is about: when that is taken back, the row stays.
    pub(super) fn insert_quietly(
        &mut self,
        place: &Place,
        after: Option<BlockId>,
        body: BlockBody,
    ) -> BlockId {
        // A feed has at most one row an event and a few more, and events are counted in 32 bits.
        #[allow(clippy::cast_possible_truncation)]
        let id = BlockId(self.feed.slots.len() as u32);
        let depth = match (place.parent, &body) {
            // A changed file stands beside the call that changed it.
            (Some(parent), BlockBody::FileEdit(_)) => self.feed.block(parent).depth,
            (Some(parent), _) => self.feed.block(parent).depth + 1,
            (None, _) => 0,
        };
        let block = Block {
            id,
            turn: place.turn,
            response: place.response,
            parent: place.parent,
            depth,
            event_id: self.event_id.as_str().into(),
            first_event: self.event,
            at_ms: self.now_ms,
            body,
        };
        self.feed.slots.push(Arc::new(Slot {
            block,
            settled_ms: None,
        }));
        self.feed.links.push(Link {
            prev: None,
            next: None,
            tail: id,
            live: false,
        });
        self.feed.link(id, after);
        self.row_linked(id, after);
        self.patches.push(FeedPatch::Insert { block: id, after });
        let is_beside = |before: &Block| (before.turn, before.parent) == (place.turn, place.parent);
        let before = after.filter(|&before| is_beside(self.feed.block(before)));
        if let Some(before) = before
            && matches!(self.feed.block(before).body, BlockBody::Progress(_))
        {
            self.progress_is_over(before);
        }
        id
    }

    /// Takes a row out of the feed, with all that lies within it.
    pub(super) fn remove(&mut self, id: BlockId) {
        if !self.feed.contains(id) {
            return;
        }
        loop {
            let tail = self.feed.tail(id);
            self.row_unlinking(tail);
            self.feed.unlink(tail);
            self.patches.push(FeedPatch::Remove { block: tail });
            self.uncount(tail);
            if tail == id {
                return;
            }
        }
    }

    /// Notes that the event in hand came to this row.
    pub(super) fn touch(&mut self, id: BlockId) {
        let event = self.event as usize;
        if let Some(row) = self.feed.rows_of_events.get_mut(event) {
            *row = id.0;
        }
    }

    /// Keeps by which event a row was made or changed, in case the source takes it back.
    ///
    /// Chunks that only lengthen a text are not kept: they are most events, and no source takes back one of them.
    fn remember_row(&mut self, id: BlockId) {
        if !self.event_id.is_empty() {
            self.rows_of_ids.insert(self.id_hash, id);
        }
    }

    /// Notes that this row changed.
    pub(super) fn update(&mut self, id: BlockId) {
        self.touch(id);
        self.remember_row(id);
        self.update_quietly(id);
    }

    /// Notes a change that is not what the event in hand is about: when that is taken back, the row stays.
    pub(super) fn update_quietly(&mut self, id: BlockId) {
        let known = |patch: &FeedPatch| matches!(patch, FeedPatch::Insert { block, .. } | FeedPatch::Update { block } if *block == id);
        if self.feed.contains(id) && !self.newest_patches().any(known) {
            self.patches.push(FeedPatch::Update { block: id });
        }
    }

    /// Notes that this row's text grew at its end.
    pub(super) fn grew(&mut self, id: BlockId, from: usize) {
        self.touch(id);
        if self.feed.contains(id) {
            self.patches.push(FeedPatch::AppendText { block: id, from });
        }
    }

    /// Where a patch that says the same is looked for. A repeated patch does no harm, while looking through all would
    /// make the end of a turn with many open calls cost their square.
    fn newest_patches(&self) -> impl Iterator<Item = &FeedPatch> {
        self.patches.iter().rev().take(8)
    }

    pub(super) fn turn_changed(&mut self, turn: TurnIdx) {
        let patch = FeedPatch::Turn { turn };
        if !self.newest_patches().any(|known| *known == patch) {
            self.patches.push(patch);
        }
    }

    pub(super) fn session_changed(&mut self) {
        if !self
            .newest_patches()
            .any(|known| *known == FeedPatch::Session)
        {
            self.patches.push(FeedPatch::Session);
        }
    }
}
