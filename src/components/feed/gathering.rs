//! The way of what came from the store into the list, and to what is kept beside it. When that is done is for `drawing`.

use chat_feed::arrangement::RowChange;
use chat_feed::{Block, BlockBody};

use crate::components::Context;
use crate::virtual_list::VirtualList;

/// A row came while the reader looks back.
pub(super) fn unseen(context: &Context, block: &Block) {
    if !context.live.get() {
        return;
    }
    if let Some(speaker) = &*context.speaker.borrow() {
        speaker.alert(block);
    }
    // Whatever is shown of the rest, they are.
    let is_told = matches!(
        block.body,
        BlockBody::Prompt(_)
            | BlockBody::Text(_)
            | BlockBody::Permission(_)
            | BlockBody::Question(_)
    );
    if is_told && block.parent.is_none() {
        context.unread.unseen();
    }
}

/// Takes what the store has gathered into the list now, as a frame would.
pub(in crate::components) fn settle(context: &Context, list: &VirtualList) {
    gather(context, list);
    list.update();
}

/// The same, before the list goes elsewhere.
pub(super) fn gather(context: &Context, list: &VirtualList) {
    if !context.is_taken_down() {
        flush(context, list);
    }
}

/// Hands what the store has gathered to the list; whether that was anything.
pub(super) fn flush(context: &Context, list: &VirtualList) -> bool {
    // A replay is looked at in silence, and what differs at its end has long been so.
    let back = context.store.looks_back();
    let silent = context.looked_back.replace(back) || back;
    let mut changed = false;
    context.store.set_read(list.read());
    context.store.flush(|change| {
        changed = true;
        take(context, list, change, silent);
    });
    context.unread.tell();
    changed
}

/// Hands a change of the store to the list, and to what is kept beside it.
fn take(context: &Context, list: &VirtualList, change: RowChange, silent: bool) {
    let live = context.live.get() && !context.store.looks_back();
    if let Some(speaker) = &*context.speaker.borrow() {
        let speaks = [live, live && !silent && list.view().following];
        speaker.note(&context.store, change, speaks, context.drawn_events.get());
    }
    context.note_waiting(change);
    if live {
        context.unread.note(context, change, silent);
    }
    match change {
        RowChange::Inserted(id, after) => list.insert(id, after),
        RowChange::Removed(id) => list.remove(id),
        RowChange::Changed(id) => {
            context.mark_anew();
            list.changed(id);
        }
        RowChange::Cleared => list.clear(),
    }
}
