//! The rows that are mounted: once a frame they hear that they show something else, and growing text goes into their text
//! nodes.

use std::cell::Cell;
use std::collections::BTreeSet;

use chat_feed::arrangement::{Row, RowChange};
use chat_feed::viewport::RowId;
use chat_feed::{BlockId, FeedPatch};
use leptos::prelude::*;

use super::FeedStore;

/// What shows the text of a mounted row.
pub(crate) trait TextSink {
    /// More text at the end; false where no text node shows it now.
    fn append(&self, text: &str) -> bool;
    /// Another text in its place.
    fn replace(&self, text: &str);
    /// Whether the row has no other view, and [`replace`](TextSink::replace) shows all that changed of it.
    fn draws_itself(&self) -> bool {
        false
    }
}

pub(super) struct Mounted {
    version: ArcRwSignal<u32>,
    sink: Option<Box<dyn TextSink>>,
    /// Whether the sink has shown more than the row's view knows of.
    grown: Cell<bool>,
    /// How much of its text it shows.
    shown_bytes: Cell<usize>,
}

impl FeedStore {
    /// A row is mounted: the signal that counts up when it shows something else.
    pub(crate) fn mount(&self, id: RowId) -> ArcRwSignal<u32> {
        let version = ArcRwSignal::new(0);
        // It shows the row as it is now, so what was gathered before is no news to it.
        let shown_bytes = match self.row(id) {
            Row::Block(block) => self.feed().text_len(block),
            Row::Work(_) | Row::Company(_) => 0,
        };
        let row = Mounted {
            version: version.clone(),
            sink: None,
            grown: Cell::new(false),
            shown_bytes: Cell::new(shown_bytes),
        };
        self.mounted.borrow_mut().insert(id, row);
        version
    }

    /// A mounted row's text node, to which growing text goes directly.
    pub(crate) fn set_sink(&self, id: RowId, sink: Option<Box<dyn TextSink>>) {
        if let Some(row) = self.mounted.borrow_mut().get_mut(&id) {
            row.sink = sink;
        }
    }

    /// A row is no longer mounted.
    pub(crate) fn unmount(&self, id: RowId) {
        self.mounted.borrow_mut().remove(&id);
    }

    /// Once a frame: tells `change` what became of the rows, and the mounted rows that they show something else.
    pub(crate) fn flush(&self, mut change: impl FnMut(RowChange)) {
        let (mut structure, grown, facts) = {
            let mut gathered = self.gathered.borrow_mut();
            (gathered.structure(), gathered.grown(), gathered.facts())
        };
        let mut changes = self.changes.take();
        if self.arrangement.borrow().is_filtered() {
            let of = |(&block, &from): (&BlockId, &usize)| FeedPatch::AppendText { block, from };
            structure.extend(grown.iter().map(of));
        }
        self.arrangement
            .borrow_mut()
            .apply(&self.feed(), &structure, &mut changes);
        // Names from before everything went stand for nothing now.
        let cleared = changes.iter().rposition(|c| *c == RowChange::Cleared);
        changes.drain(..cleared.unwrap_or(0));
        // Which rows stand where is known before any of them is looked at.
        let mut changed = BTreeSet::new();
        for row_change in changes {
            match row_change {
                RowChange::Changed(id) => {
                    changed.insert(id);
                }
                RowChange::Inserted(..) | RowChange::Removed(_) | RowChange::Cleared => {
                    change(row_change);
                }
            }
        }
        for id in changed {
            if self.is_shown(id) {
                change(RowChange::Changed(id));
                self.show_anew(id);
            }
        }
        for (block, from) in grown {
            let row = self.arrangement.borrow().id_of(Row::Block(block));
            if let Some(id) = row
                && self.feed().contains(block)
            {
                change(RowChange::Changed(id));
                self.show_growth(id, block, from);
            }
        }
        if facts {
            self.facts.update(|count| *count = count.wrapping_add(1));
        }
    }

    /// More text at the end of a mounted row: straight into its text node, where there is one.
    fn show_growth(&self, id: RowId, block: BlockId, from: usize) {
        {
            let mounted = self.mounted.borrow();
            let Some(row) = mounted.get(&id) else { return };
            // A row that shows more already was mounted, or drawn anew, within this frame.
            let feed = self.feed();
            let text = feed.text(block);
            let from = from.max(row.shown_bytes.get());
            if from >= text.len() {
                return;
            }
            if let Some(sink) = &row.sink
                && sink.append(text.get(from..).unwrap_or_default())
            {
                row.grown.set(true);
                row.shown_bytes.set(text.len());
                return;
            }
        }
        self.show_anew(id);
    }

    /// A mounted row is drawn again.
    fn show_anew(&self, id: RowId) {
        let version = {
            let mounted = self.mounted.borrow();
            let Some(row) = mounted.get(&id) else { return };
            if let Row::Block(block) = self.row(id) {
                let feed = self.feed();
                row.shown_bytes.set(feed.text_len(block));
                if let Some(sink) = row.sink.as_ref().filter(|sink| sink.draws_itself()) {
                    sink.replace(&feed.text(block));
                    return;
                }
                // The view compares with what it wrote itself, and would leave what the sink added.
                if let (true, Some(sink)) = (row.grown.take(), &row.sink) {
                    sink.replace(&feed.text(block));
                }
            }
            row.version.clone()
        };
        version.update(|count| *count = count.wrapping_add(1));
    }

    /// Whether the row of a block is mounted.
    pub(crate) fn is_mounted(&self, block: BlockId) -> bool {
        let id = self.id_of(Row::Block(block));
        id.is_some_and(|id| self.mounted.borrow().contains_key(&id))
    }

    /// All mounted rows are to be drawn again.
    pub(crate) fn touch_mounted(&self) {
        let mounted = self.mounted.borrow();
        let changed = mounted.keys().copied().map(RowChange::Changed);
        self.changes.borrow_mut().extend(changed);
        (self.on_dirty.borrow())();
    }
}
