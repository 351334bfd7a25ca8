//! The seam between the pure feed and the page: owns the renderer, gathers what its patches touch, and lets the page
//! know once a frame. One signal a mounted row; the text of a growing row goes to its text node and past the signals.
//!
//! What was opened and closed is kept here by row, so it outlives the row's place on the screen. How a row looks, and
//! which rows are mounted, is for others.

use std::cell::{Cell, Ref, RefCell};
use std::collections::{BTreeMap, HashMap};

use chat_event::ChatEvent;
use chat_feed::{BlockBody, BlockId, ChatRenderer, Feed, FeedPatch, ToolStatus};
use leptos::prelude::*;

/// Edits up to so many changed lines are open by themselves.
const OPEN_EDIT_LINES: u32 = 25;
/// Nothing larger opens by itself.
const OPEN_BYTES: usize = 64 * 1024;

/// What shows the text of a mounted row.
pub(crate) trait TextSink {
    /// More text at the end; false where no text node shows it now.
    fn append(&self, text: &str) -> bool;
    /// Another text in its place.
    fn replace(&self, text: &str);
}

/// A change of the list of rows, or of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowChange {
    /// A row came behind another, or at the top.
    Inserted(BlockId, Option<BlockId>),
    /// A row went.
    Removed(BlockId),
    /// A row shows something else.
    Changed(BlockId),
    /// All rows went.
    Cleared,
}

/// The state of one session's feed.
pub(crate) struct FeedStore {
    renderer: RefCell<ChatRenderer>,
    patches: RefCell<Vec<FeedPatch>>,
    structure: RefCell<Vec<RowChange>>,
    dirty: RefCell<BTreeMap<BlockId, Dirty>>,
    mounted: RefCell<HashMap<BlockId, Mounted>>,
    opened: RefCell<BTreeMap<BlockId, bool>>,
    shown_whole: RefCell<BTreeMap<BlockId, bool>>,
    facts_dirty: Cell<bool>,
    /// Counts up when the session's facts, or a turn's, changed.
    facts: ArcRwSignal<u32>,
    on_dirty: RefCell<Box<dyn Fn()>>,
}

#[derive(Clone, Copy)]
enum Dirty {
    /// Only text was added, behind so many bytes.
    Appended(usize),
    Changed,
}

struct Mounted {
    version: ArcRwSignal<u32>,
    sink: Option<Box<dyn TextSink>>,
    /// Whether the sink has shown more than the row's view knows of.
    grown: Cell<bool>,
}

impl FeedStore {
    /// An empty feed.
    pub(crate) fn new() -> FeedStore {
        FeedStore {
            renderer: RefCell::default(),
            patches: RefCell::default(),
            structure: RefCell::default(),
            dirty: RefCell::default(),
            mounted: RefCell::default(),
            opened: RefCell::default(),
            shown_whole: RefCell::default(),
            facts_dirty: Cell::new(false),
            facts: ArcRwSignal::new(0),
            on_dirty: RefCell::new(Box::new(|| {})),
        }
    }

    /// What to call when there is something to flush.
    pub(crate) fn on_dirty(&self, ask: impl Fn() + 'static) {
        *self.on_dirty.borrow_mut() = Box::new(ask);
    }

    /// Takes events in the log's order.
    pub(crate) fn apply<'e>(&self, events: impl IntoIterator<Item = &'e ChatEvent>) {
        let mut patches = self.patches.take();
        {
            let mut renderer = self.renderer.borrow_mut();
            for event in events {
                renderer.apply(event, &mut patches);
            }
        }
        self.note(&mut patches);
    }

    /// The log is at its end: what still waited for its other half is shown as it is.
    pub(crate) fn end_of_log(&self) {
        let mut patches = self.patches.take();
        self.renderer.borrow_mut().end_of_log(&mut patches);
        self.note(&mut patches);
    }

    /// Begins again with nothing.
    pub(crate) fn clear(&self) {
        *self.renderer.borrow_mut() = ChatRenderer::new();
        self.opened.borrow_mut().clear();
        self.shown_whole.borrow_mut().clear();
        self.note(&mut vec![FeedPatch::Clear]);
    }

    /// What is shown.
    pub(crate) fn feed(&self) -> Ref<'_, Feed> {
        Ref::map(self.renderer.borrow(), ChatRenderer::feed)
    }

    /// Events taken so far.
    pub(crate) fn event_count(&self) -> u32 {
        self.renderer.borrow().event_count()
    }

    /// Counts up when the session's facts, or a turn's, changed.
    pub(crate) fn facts(&self) -> ArcRwSignal<u32> {
        self.facts.clone()
    }

    fn note(&self, patches: &mut Vec<FeedPatch>) {
        {
            let mut structure = self.structure.borrow_mut();
            let mut dirty = self.dirty.borrow_mut();
            for patch in patches.drain(..) {
                match patch {
                    FeedPatch::Insert { block, after } => {
                        structure.push(RowChange::Inserted(block, after))
                    }
                    FeedPatch::Remove { block } => {
                        dirty.remove(&block);
                        structure.push(RowChange::Removed(block));
                    }
                    FeedPatch::AppendText { block, from } => {
                        dirty.entry(block).or_insert(Dirty::Appended(from));
                    }
                    FeedPatch::Update { block } => {
                        dirty.insert(block, Dirty::Changed);
                    }
                    FeedPatch::Turn { .. } | FeedPatch::Session => self.facts_dirty.set(true),
                    FeedPatch::Clear => {
                        structure.clear();
                        dirty.clear();
                        structure.push(RowChange::Cleared);
                        self.facts_dirty.set(true);
                    }
                }
            }
        }
        // The buffer is kept: a chunk of a log makes thousands of patches.
        self.patches.replace(std::mem::take(patches));
        (self.on_dirty.borrow())();
    }

    /// Once a frame: tells `change` what became of the rows, and the mounted rows that they show something else.
    pub(crate) fn flush(&self, mut change: impl FnMut(RowChange)) {
        let structure = self.structure.take();
        for row_change in structure {
            change(row_change);
        }
        let dirty = std::mem::take(&mut *self.dirty.borrow_mut());
        for (id, how) in dirty {
            if !self.feed().contains(id) {
                continue;
            }
            change(RowChange::Changed(id));
            self.tell(id, how);
        }
        if self.facts_dirty.replace(false) {
            self.facts.update(|count| *count = count.wrapping_add(1));
        }
    }

    fn tell(&self, id: BlockId, how: Dirty) {
        let version = {
            let mounted = self.mounted.borrow();
            let Some(row) = mounted.get(&id) else { return };
            match (how, &row.sink) {
                (Dirty::Appended(from), Some(sink))
                    if sink.append(self.feed().text(id).get(from..).unwrap_or_default()) =>
                {
                    row.grown.set(true);
                    return;
                }
                (Dirty::Appended(_) | Dirty::Changed, sink) => {
                    // The view compares with what it wrote itself, and would leave what the sink added.
                    if let (true, Some(sink)) = (row.grown.take(), sink) {
                        sink.replace(self.feed().text(id));
                    }
                    row.version.clone()
                }
            }
        };
        version.update(|count| *count = count.wrapping_add(1));
    }

    /// A row is mounted: the signal that counts up when it shows something else.
    pub(crate) fn mount(&self, id: BlockId) -> ArcRwSignal<u32> {
        let version = ArcRwSignal::new(0);
        // It shows the row as it is now, so nothing that was gathered before is news to it.
        self.dirty.borrow_mut().remove(&id);
        let row = Mounted {
            version: version.clone(),
            sink: None,
            grown: Cell::new(false),
        };
        self.mounted.borrow_mut().insert(id, row);
        version
    }

    /// A mounted row's text node, to which growing text goes directly.
    pub(crate) fn set_sink(&self, id: BlockId, sink: Option<Box<dyn TextSink>>) {
        if let Some(row) = self.mounted.borrow_mut().get_mut(&id) {
            row.sink = sink;
        }
    }

    /// A row is no longer mounted.
    pub(crate) fn unmount(&self, id: BlockId) {
        self.mounted.borrow_mut().remove(&id);
    }

    // Opened and closed.

    /// Whether a row shows its body.
    pub(crate) fn is_open(&self, id: BlockId) -> bool {
        self.opened
            .borrow()
            .get(&id)
            .copied()
            .unwrap_or_else(|| opens_by_itself(&self.feed(), id))
    }

    /// Opens or closes a row.
    pub(crate) fn set_open(&self, id: BlockId, open: bool) {
        self.opened.borrow_mut().insert(id, open);
        self.touch(id);
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

    /// A row is to be drawn again.
    pub(crate) fn touch(&self, id: BlockId) {
        self.dirty.borrow_mut().insert(id, Dirty::Changed);
        (self.on_dirty.borrow())();
    }
}

/// Which rows are open until the reader says otherwise: what fails, what runs, what waits, and small edits.
fn opens_by_itself(feed: &Feed, id: BlockId) -> bool {
    match &feed.block(id).body {
        BlockBody::ToolCall(call) => match call.status {
            ToolStatus::Failed => body_bytes(feed, id) <= OPEN_BYTES,
            ToolStatus::Running => call.output.is_some(),
            ToolStatus::Preparing
            | ToolStatus::Succeeded
            | ToolStatus::Interrupted
            | ToolStatus::NoResult => false,
        },
        BlockBody::FileEdit(edit) => {
            let facts = &edit.edit;
            facts.lines_added.saturating_add(facts.lines_removed) <= OPEN_EDIT_LINES
                && facts.diff_preview.len() <= OPEN_BYTES
                && !facts.diff_preview.is_empty()
        }
        BlockBody::Permission(ask) => ask.resolved.is_none() && !ask.expired,
        BlockBody::Question(ask) => ask.resolved.is_none() && !ask.expired,
        BlockBody::Plan(entries) => entries.iter().any(|entry| entry.status != "completed"),
        BlockBody::Error { .. } | BlockBody::AgentMessage(_) => true,
        BlockBody::Prompt(_)
        | BlockBody::Text(_)
        | BlockBody::Thinking(_)
        | BlockBody::Progress(_)
        | BlockBody::AgentSwitch(_)
        | BlockBody::Interrupt { .. }
        | BlockBody::Audio { .. }
        | BlockBody::Compaction(_)
        | BlockBody::Notice { .. }
        | BlockBody::Raw { .. }
        | BlockBody::SessionStart(_)
        | BlockBody::SessionEnd { .. }
        | BlockBody::Gap(_)
        | BlockBody::TurnEnd(_) => false,
    }
}

fn body_bytes(feed: &Feed, id: BlockId) -> usize {
    let BlockBody::ToolCall(call) = &feed.block(id).body else {
        return 0;
    };
    let result = call
        .result
        .as_ref()
        .map_or(0, |result| result.as_text().len());
    feed.text(id).len().max(result)
}
