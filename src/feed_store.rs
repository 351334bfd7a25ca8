//! The seam between the pure feed and the page: owns the renderer and the arrangement of its rows, gathers what changed,
//! and lets the page know once a frame. One signal a mounted row; the text of a growing row goes to its text node and
//! past the signals.
//!
//! Which moment of the session is shown is kept in [`moments`]. How a row looks, and which rows are mounted, is for others.

mod moments;

use std::cell::{Cell, Ref, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use chat_event::ChatEvent;
use chat_event::pack::Broken;
use chat_feed::arrangement::{Arrangement, Company, Filter, Mode, Row, RowChange, Work};
use chat_feed::find::Find;
use chat_feed::playback::Moment;
use chat_feed::viewport::RowId;
use chat_feed::{BlockId, ChatRenderer, Feed, FeedPatch, Gathered, Heard, TurnIdx};
use leptos::prelude::*;

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

/// Hears what changed of what is searched.
type TellFind = Box<dyn Fn(&Feed, &[FeedPatch])>;

/// The state of one session's feed.
pub(crate) struct FeedStore {
    renderer: RefCell<ChatRenderer>,
    /// While another renderer tells this one what to show: events that came from elsewhere and wait for it to be done.
    hearing: RefCell<Option<Vec<ChatEvent>>>,
    /// What is shown in place of the newest state, while the reader looks back.
    moment: RefCell<Option<Moment>>,
    playing: moments::Playing,
    arrangement: RefCell<Arrangement>,
    patches: RefCell<Vec<FeedPatch>>,
    /// What the arrangement and the mounted rows have yet to hear of.
    gathered: RefCell<Gathered>,
    /// What the page has yet to hear of, beside what the arrangement will say.
    changes: RefCell<Vec<RowChange>>,
    mounted: RefCell<HashMap<RowId, Mounted>>,
    shown_whole: RefCell<BTreeMap<BlockId, bool>>,
    /// What is looked for, while anything is.
    find: Rc<RefCell<Option<Find>>>,
    tell_find: RefCell<Option<TellFind>>,
    /// Counts up when the session's facts, or a turn's, changed.
    facts: ArcRwSignal<u32>,
    on_dirty: RefCell<Box<dyn Fn()>>,
    on_events: RefCell<Box<dyn Fn()>>,
}

struct Mounted {
    version: ArcRwSignal<u32>,
    sink: Option<Box<dyn TextSink>>,
    /// Whether the sink has shown more than the row's view knows of.
    grown: Cell<bool>,
    /// How much of its text it shows.
    shown_bytes: Cell<usize>,
}

impl FeedStore {
    /// An empty feed.
    pub(crate) fn new() -> FeedStore {
        FeedStore {
            renderer: RefCell::new(ChatRenderer::with_history()),
            hearing: RefCell::default(),
            moment: RefCell::default(),
            playing: moments::Playing::default(),
            arrangement: RefCell::default(),
            patches: RefCell::default(),
            gathered: RefCell::default(),
            changes: RefCell::default(),
            mounted: RefCell::default(),
            shown_whole: RefCell::default(),
            find: Rc::default(),
            tell_find: RefCell::default(),
            facts: ArcRwSignal::new(0),
            on_dirty: RefCell::new(Box::new(|| {})),
            on_events: RefCell::new(Box::new(|| {})),
        }
    }

    /// What to call when there is something to flush: what somebody did, or events that came.
    pub(crate) fn on_dirty(&self, act: impl Fn() + 'static, events: impl Fn() + 'static) {
        *self.on_dirty.borrow_mut() = Box::new(act);
        *self.on_events.borrow_mut() = Box::new(events);
    }

    /// Takes events in the log's order.
    pub(crate) fn apply<'e>(&self, events: impl IntoIterator<Item = &'e ChatEvent>) {
        if let Some(waiting) = &mut *self.hearing.borrow_mut() {
            return waiting.extend(events.into_iter().cloned());
        }
        let mut patches = self.patches.take();
        {
            let mut renderer = self.renderer.borrow_mut();
            for event in events {
                renderer.apply(event, &mut patches);
            }
        }
        self.note_live(patches);
    }

    /// Takes what another renderer made of events that this one has not seen: `hear` takes it.
    pub(crate) fn hear(
        &self,
        hear: impl FnOnce(&mut ChatRenderer, &mut Vec<FeedPatch>) -> Result<Heard, Broken>,
    ) -> Result<(), Broken> {
        let mut patches = self.patches.take();
        let heard = hear(&mut self.renderer.borrow_mut(), &mut patches)?;
        self.note_live(patches);
        match heard {
            Heard::More => {
                self.hearing.borrow_mut().get_or_insert_default();
            }
            Heard::All => {
                let waiting = self.hearing.take();
                self.apply(waiting.iter().flatten());
            }
        }
        Ok(())
    }

    /// The log is at its end: what still waited for its other half is shown as it is.
    pub(crate) fn end_of_log(&self) {
        let mut patches = self.patches.take();
        let mut renderer = self.renderer.borrow_mut();
        renderer.end_of_log(&mut patches);
        renderer.close();
        drop(renderer);
        self.note_live(patches);
    }

    /// Begins again with nothing.
    pub(crate) fn clear(&self) {
        *self.renderer.borrow_mut() = ChatRenderer::with_history();
        self.hearing.take();
        self.forget_moments();
        self.shown_whole.borrow_mut().clear();
        self.note(&mut vec![FeedPatch::Clear]);
    }

    /// Asks for a frame, as if something had changed.
    pub(crate) fn ask_frame(&self) {
        (self.on_dirty.borrow())();
    }

    /// What is shown: the newest state, or that of the moment the reader looks at.
    pub(crate) fn feed(&self) -> Ref<'_, Feed> {
        Ref::filter_map(self.moment.borrow(), |moment| {
            moment.as_ref().map(Moment::feed)
        })
        .unwrap_or_else(|_| Ref::map(self.renderer.borrow(), ChatRenderer::feed))
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
        if let Some(tell) = &*self.tell_find.borrow() {
            tell(&self.feed(), patches);
        }
        self.gathered.borrow_mut().take_from(patches);
        // The buffer is kept: a chunk of a log makes thousands of patches.
        self.patches.replace(std::mem::take(patches));
        (self.on_events.borrow())();
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
                let text = feed.text(block);
                row.shown_bytes.set(text.len());
                if let Some(sink) = row.sink.as_ref().filter(|sink| sink.draws_itself()) {
                    sink.replace(text);
                    return;
                }
                // The view compares with what it wrote itself, and would leave what the sink added.
                if let (true, Some(sink)) = (row.grown.take(), &row.sink) {
                    sink.replace(text);
                }
            }
            row.version.clone()
        };
        version.update(|count| *count = count.wrapping_add(1));
    }

    /// A row is mounted: the signal that counts up when it shows something else.
    pub(crate) fn mount(&self, id: RowId) -> ArcRwSignal<u32> {
        let version = ArcRwSignal::new(0);
        // It shows the row as it is now, so what was gathered before is no news to it.
        let shown_bytes = match self.row(id) {
            Row::Block(block) => self.feed().text(block).len(),
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

    // Rows.

    /// What a row of the list stands for.
    pub(crate) fn row(&self, id: RowId) -> Row {
        self.arrangement.borrow().row(id)
    }

    /// The name of a row that is in the list.
    pub(crate) fn id_of(&self, row: Row) -> Option<RowId> {
        self.arrangement.borrow().id_of(row)
    }

    /// The block a row of the list shows; `None` for headers.
    pub(crate) fn block_at(&self, id: RowId) -> Option<BlockId> {
        match self.row(id) {
            Row::Block(block) => Some(block),
            Row::Work(_) | Row::Company(_) => None,
        }
    }

    /// The turn a row of the list belongs to.
    pub(crate) fn turn_at(&self, id: RowId) -> TurnIdx {
        match self.row(id) {
            Row::Block(block) | Row::Company(block) => self.feed().block(block).turn,
            Row::Work(turn) => turn,
        }
    }

    fn is_shown(&self, id: RowId) -> bool {
        let arrangement = self.arrangement.borrow();
        arrangement.id_of(arrangement.row(id)) == Some(id)
    }

    /// What the line of a turn's work says.
    pub(crate) fn work(&self, turn: TurnIdx) -> Option<Work> {
        self.arrangement.borrow().work(turn).cloned()
    }

    /// What the header of a company says.
    pub(crate) fn company(&self, head: BlockId) -> Option<Company> {
        self.arrangement.borrow().company(&self.feed(), head)
    }

    /// The first of the company a block is shown in; `None` where it stands by itself.
    pub(crate) fn company_of(&self, block: BlockId) -> Option<BlockId> {
        let arrangement = self.arrangement.borrow();
        let head = arrangement.company_of(block)?;
        arrangement.id_of(Row::Company(head)).map(|_| head)
    }

    /// Which one of its company a block is, from 1; `None` where it stands by itself.
    pub(crate) fn number_in_company(&self, block: BlockId) -> Option<usize> {
        let head = self.company_of(block)?;
        let arrangement = self.arrangement.borrow();
        let at = arrangement.members(head).iter().position(|&id| id == block);
        at.map(|at| at + 1)
    }

    /// How the feed is arranged.
    pub(crate) fn mode(&self) -> Mode {
        self.arrangement.borrow().mode()
    }

    /// Arranges the feed in another way.
    pub(crate) fn set_mode(&self, mode: Mode) {
        self.arrange(|arrangement, feed, changes| arrangement.set_mode(feed, mode, changes));
    }

    /// Shows only what the filter lets through; `None` shows everything again.
    pub(crate) fn set_filter(&self, filter: Option<Filter>) {
        self.arrange(|arrangement, feed, changes| arrangement.set_filter(feed, filter, changes));
    }

    /// Opens whatever hides a block; the row that shows it, or else the nearest before it.
    pub(crate) fn reveal(&self, block: BlockId) -> Option<Row> {
        let mut row = None;
        self.arrange(|arrangement, feed, changes| {
            row = arrangement.reveal(feed, block, changes).or_else(|| {
                let nearest = arrangement.nearest(feed, block)?;
                Some(arrangement.row(nearest))
            });
        });
        row
    }

    fn arrange(&self, how: impl FnOnce(&mut Arrangement, &Feed, &mut Vec<RowChange>)) {
        // What the feed has had since the last frame comes first.
        let structure = self.gathered.borrow_mut().structure();
        {
            let mut changes = self.changes.borrow_mut();
            let mut arrangement = self.arrangement.borrow_mut();
            let feed = self.feed();
            arrangement.apply(&feed, &structure, &mut changes);
            how(&mut arrangement, &feed, &mut changes);
        }
        (self.on_dirty.borrow())();
    }

    /// The row that shows a block, or else the nearest before it.
    pub(crate) fn nearest_row(&self, block: BlockId) -> Option<RowId> {
        self.arrangement.borrow().nearest(&self.feed(), block)
    }

    // Finding.

    /// The row that an event came to, by the event's id.
    pub(crate) fn block_of_id(&self, event_id: &str) -> Option<BlockId> {
        let block = self.renderer.borrow().block_of_id(event_id);
        block.filter(|&block| self.feed().contains(block))
    }

    /// Looks for something, or for nothing any more.
    pub(crate) fn set_find(&self, find: Option<Find>) {
        // What finds is in a part of its own: only a search that goes on is told what changes.
        let searched = self.find.clone();
        let tell: TellFind = Box::new(move |feed, patches| {
            if let Some(find) = &mut *searched.borrow_mut() {
                find.note(feed, patches);
            }
        });
        *self.tell_find.borrow_mut() = find.is_some().then_some(tell);
        *self.find.borrow_mut() = find;
    }

    /// What is looked for and was found; `None` where nothing is looked for.
    pub(crate) fn find<T>(&self, read: impl FnOnce(&Find, &Feed) -> T) -> Option<T> {
        self.find
            .borrow()
            .as_ref()
            .map(|find| read(find, &self.feed()))
    }

    /// Changes what is looked for.
    pub(crate) fn change_find(&self, change: impl FnOnce(&mut Find, &Feed)) {
        if let Some(find) = &mut *self.find.borrow_mut() {
            change(find, &self.feed());
        }
    }

    /// Looks through about so many bytes more; false where something is left.
    pub(crate) fn search_on(&self, budget_bytes: usize) -> bool {
        let mut changed = Vec::new();
        let mut done = true;
        self.change_find(|find, feed| done = find.search(feed, budget_bytes, &mut changed));
        if !changed.is_empty() && self.arrangement.borrow().is_filtered() {
            let update = |block| FeedPatch::Update { block };
            let mut updates = changed.into_iter().map(update).collect();
            self.gathered.borrow_mut().take_from(&mut updates);
            (self.on_dirty.borrow())();
        }
        done
    }

    /// Shows only what was found, or everything again.
    pub(crate) fn show_only_found(&self, only: bool) {
        let find = self.find.clone();
        let filter: Filter = Rc::new(move |_, block| {
            find.borrow()
                .as_ref()
                .is_some_and(|find| find.is_hit(block))
        });
        if only || self.arrangement.borrow().is_filtered() {
            self.set_filter(only.then_some(filter));
        }
    }

    // Opened and closed.

    /// Whether a row shows its body, or a header its members.
    pub(crate) fn is_open(&self, row: impl Into<Row>) -> bool {
        self.arrangement.borrow().is_open(&self.feed(), row.into())
    }

    /// Opens or closes a row.
    pub(crate) fn set_open(&self, row: impl Into<Row>, open: bool) {
        let row = row.into();
        self.arrange(|arrangement, feed, changes| arrangement.set_open(feed, row, open, changes));
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

    /// A row is to be drawn again, where it is still in the list.
    pub(crate) fn touch_row(&self, row: RowId) {
        if self.is_shown(row) {
            self.changes.borrow_mut().push(RowChange::Changed(row));
        }
        (self.on_dirty.borrow())();
    }

    /// All mounted rows are to be drawn again.
    pub(crate) fn touch_mounted(&self) {
        let mounted = self.mounted.borrow();
        let changed = mounted.keys().copied().map(RowChange::Changed);
        self.changes.borrow_mut().extend(changed);
        (self.on_dirty.borrow())();
    }

    /// A block is to be drawn again.
    pub(crate) fn touch(&self, id: BlockId) {
        if let Some(row) = self.id_of(Row::Block(id)) {
            self.changes.borrow_mut().push(RowChange::Changed(row));
        }
        (self.on_dirty.borrow())();
    }
}
