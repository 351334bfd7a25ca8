//! Many rows opened or closed at once: all of them, or all of a kind. In a long session these are thousands, each with a
//! height to be estimated: they are done a slice at a time, the rows that are read first.

use std::rc::Rc;

use chat_feed::arrangement::Row;
use chat_feed::viewport::RowId;
use chat_feed::{Block, BlockBody, BlockId};

use super::Context;
use crate::platform::frame::Slice;

/// Opens all rows, with what hides any, or closes all that can be.
pub(super) async fn open_all(context: &Context, open: bool) {
    let rows_of = |block: &Block| {
        [
            Row::Work(block.turn),
            Row::Company(block.id),
            Row::Block(block.id),
        ]
    };
    let blocks = blocks_of(context, |_| true);
    open_rows(context, &blocks, rows_of, open).await;
}

impl Context {
    /// Opens or closes all rows of the kind of this one as it is itself.
    pub(super) fn open_kind(self: &Rc<Self>, id: RowId) {
        let row = self.store.row(id);
        self.set_kind(id, self.store.is_open(row));
    }

    /// Opens or closes all rows of the kind of this one, which stays where it is.
    pub(super) fn set_kind(self: &Rc<Self>, id: RowId, open: bool) {
        let kind_of = |body: &BlockBody| {
            let tool = match body {
                BlockBody::ToolCall(call) => Some(call.kind),
                _ => None,
            };
            (std::mem::discriminant(body), tool)
        };
        let store = &self.store;
        self.pin(store.row(id));
        let Some(block) = store.block_at(id) else {
            return store.set_open(store.row(id), open);
        };
        let kind = kind_of(&store.feed().block(block).body);
        let blocks = blocks_of(self, |block| kind_of(&block.body) == kind);
        let context = self.clone();
        leptos::task::spawn_local(async move {
            // What is so by itself stays so by itself.
            let is_other = |block: &Block| context.store.is_open(block.id) != open;
            let rows_of = |block: &Block| is_other(block).then_some(Row::Block(block.id));
            open_rows(&context, &blocks, rows_of, open).await;
        });
    }
}

/// The blocks that are meant, from the first on the screen on; those before it come last.
fn blocks_of(context: &Context, is_meant: impl Fn(&Block) -> bool) -> Vec<BlockId> {
    let store = &context.store;
    let list = context.list.borrow();
    let first = list.as_ref().and_then(|list| list.first_on_screen());
    let first = first.and_then(|row| store.block_at(row));
    let mut n_before = 0;
    let mut blocks = Vec::new();
    for block in store.feed().rows() {
        if Some(block.id) == first {
            n_before = blocks.len();
        }
        if is_meant(block) {
            blocks.push(block.id);
        }
    }
    blocks.rotate_left(n_before);
    blocks
}

/// Opens or closes the rows of blocks, unless others are asked for meanwhile, or another session is shown.
async fn open_rows<R: IntoIterator<Item = Row>>(
    context: &Context,
    blocks: &[BlockId],
    rows_of: impl Fn(&Block) -> R,
    open: bool,
) {
    let request = context.many_asked.get().wrapping_add(1);
    context.many_asked.set(request);
    let mut slice = Slice::begin();
    for &id in blocks {
        if context.many_asked.get() != request {
            return;
        }
        // What is shown may be of the past meanwhile, and have fewer rows.
        let rows = {
            let feed = context.store.feed();
            feed.contains(id).then(|| rows_of(feed.block(id)))
        };
        for row in rows.into_iter().flatten() {
            context.store.set_open(row, open);
        }
        slice.give_way().await;
    }
}
