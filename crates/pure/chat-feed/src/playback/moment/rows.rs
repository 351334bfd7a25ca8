//! The rows of another moment: which come, which go, and what the others are then.

use std::sync::Arc;

use super::Moment;
use super::cut::cut_row;
use super::links::FEW_ROWS;
use super::way::Way;
use crate::block::{Block, BlockBody, BlockId, TextIdx};
use crate::feed::Feed;
use crate::patch::FeedPatch;

impl Moment {
    pub(super) fn go_rows(&mut self, way: &Way<'_>, patches: &mut Vec<FeedPatch>) {
        let (mut going, mut coming) = (Vec::new(), Vec::new());
        for id in way.rows_concerned() {
            let will = way.is_there(id);
            match (self.feed.contains(id), will) {
                (false, false) => {}
                (true, false) => going.push(id),
                (false, true) => {
                    self.take_row(way, id);
                    coming.push(id);
                }
                (true, true) => patches.extend(self.mend_row(way, id)),
            }
        }
        if going.len() + coming.len() <= FEW_ROWS {
            self.link_few(way, going, coming, patches);
        } else {
            self.link_many(way, &going, &coming, patches);
        }
    }

    /// Takes a row and its texts as they are at this moment.
    fn take_row(&mut self, way: &Way<'_>, id: BlockId) {
        let asked = way.to.asked();
        let (changed, number) = way.history.changed(id);
        let number = if changed < asked { number } else { 0 };
        let cut = way.to.cut_of(&way.live.slots[id.0 as usize].block);
        // What is cut off is another in the next frame.
        let number = if cut.is_some() { 0 } else { number };
        // A row that changes no more is taken once.
        if std::mem::replace(&mut self.kept[id.0 as usize], number) == number && number > 0 {
            return;
        }
        let mut slot = way.history.row_after(&way.live.slots[id.0 as usize], asked);
        for text in texts_of(&slot.block) {
            let live = &way.live.texts[text.0 as usize];
            // The start of a text is shared, however long it is.
            let (body, end) = match live.end_after(asked) {
                Some(end) => (live.clone(), Some(end)),
                None => (live.after(asked), None),
            };
            self.feed.texts[text.0 as usize] = body;
            self.feed.end_text(text, end);
        }
        if let Some(cut) = cut {
            cut_row(&mut Arc::make_mut(&mut slot).block.body, cut);
            if let BlockBody::Thinking(_) = slot.block.body {
                self.feed.end_text(cut.text, Some(cut.end));
            }
        }
        self.feed.slots[id.0 as usize] = slot;
    }

    /// As [`Moment::take_row`], of a row that was there before; what became of it.
    fn mend_row(&mut self, way: &Way<'_>, id: BlockId) -> Option<FeedPatch> {
        let old = self.feed.slots[id.0 as usize].clone();
        let lens = |feed: &Feed, block: &Block| {
            texts_of(block)
                .map(|text| feed.stream_len(text))
                .collect::<Vec<_>>()
        };
        let (old_lens, from) = (lens(&self.feed, &old.block), self.feed.text_len(id));
        self.take_row(way, id);
        let now = &self.feed.slots[id.0 as usize];
        let rewritten = texts_of(&now.block).any(|text| way.is_rewritten(text));
        let same_face = Arc::ptr_eq(&old, now) || same_but_longer(&old.block, &now.block);
        let now_lens = lens(&self.feed, &now.block);
        let input_is_same = match &now.block.body {
            // A text's whole body may be there before its rows are.
            BlockBody::Text(_) => true,
            BlockBody::ToolCall(call) if call.input.is_some() => {
                old_lens.first() == now_lens.first()
            }
            _ => true,
        };
        let now_len = self.feed.text_len(id);
        if !same_face || rewritten || !input_is_same || now_len < from {
            Some(FeedPatch::Update { block: id })
        } else {
            (now_len > from).then_some(FeedPatch::AppendText { block: id, from })
        }
    }
}

/// The texts a row shows: of a call its input, then its output; of a spoken answer its pieces.
pub(super) fn texts_of(block: &Block) -> impl Iterator<Item = TextIdx> + use<> {
    let texts = match &block.body {
        BlockBody::Text(text) => [Some(text.text), None],
        BlockBody::Thinking(thinking) => [Some(thinking.text), None],
        BlockBody::ToolCall(call) => [call.input, call.output],
        BlockBody::Audio { sound, .. } => [*sound, None],
        _ => [None, None],
    };
    texts.into_iter().flatten()
}

/// Whether two faces of a row are the same but for where its text ends.
fn same_but_longer(old: &Block, now: &Block) -> bool {
    match (&old.body, &now.body) {
        (BlockBody::Text(old_text), BlockBody::Text(now_text)) => {
            old_text.start == now_text.start
                && old_text.kind == now_text.kind
                && old_text.streaming == now_text.streaming
                && old.event_id == now.event_id
        }
        _ => old == now,
    }
}
