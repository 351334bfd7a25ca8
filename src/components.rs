//! What rows and the frame around them look like: one component a file, its style in `style/` under the same name.
//!
//! A component gets the data of one block and the [`Context`]; it keeps nothing. Markup never comes from content: text
//! goes in as text nodes, and views are built by functions, not from templates. Where events come from, and which
//! rows are mounted, is for others.

pub(crate) mod announce;
pub(crate) mod answering;
pub(crate) mod around;
pub(crate) mod ask;
mod attachments;
pub(crate) mod bar;
pub(crate) mod colours;
pub(crate) mod company;
pub(crate) mod controls;
mod css_parts;
pub(crate) mod diff;
pub(crate) mod elapsed;
pub(crate) mod exchange;
pub(crate) mod export;
pub(crate) mod feed;
mod few;
pub(crate) mod file_edit;
pub(crate) mod find;
pub(crate) mod help;
mod hues;
pub(crate) mod icon;
pub(crate) mod keys;
mod lacks;
pub(crate) mod later;
pub(crate) mod line;
pub(crate) mod links;
mod low;
mod many;
pub(crate) mod mark;
pub(crate) mod markup;
mod needs;
mod opened;
pub(crate) mod output;
pub(crate) mod panel;
pub(crate) mod place;
mod plan;
mod print;
pub(crate) mod prompt;
pub(crate) mod question;
pub(crate) mod raw;
pub(crate) mod reading;
pub(crate) mod rows;
mod said;
pub(crate) mod script;
pub(crate) mod seen;
mod selecting;
pub(crate) mod terminal;
pub(crate) mod text;
pub(crate) mod thinking;
pub(crate) mod tool_call;
pub(crate) mod transport;
pub(crate) mod turn_end;
pub(crate) mod unread;
pub(crate) mod whole;
mod width;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use chat_feed::arrangement::Row;
use chat_feed::viewport::RowId;
use chat_feed::{Block, BlockBody, BlockId, Feed};
use leptos::prelude::*;

use crate::feed_store::FeedStore;
use crate::platform::dom::{self, Element};
use crate::platform::frame;
use crate::virtual_list::VirtualList;

/// So many rows are drawn again in one frame, and so long until the next.
const DRAWN_AT_ONCE: usize = 6;
const FRAME_MS: u32 = 16;

/// What rows need beyond their block.
pub(crate) struct Context {
    /// The feed.
    pub(crate) store: Rc<FeedStore>,
    /// The list the rows are in; there is none while the element is being built.
    pub(crate) list: RefCell<Option<Rc<VirtualList>>>,
    /// What the reader has their hand on.
    hand: selecting::Hand,
    /// Whether keys without a modifier act; else they are the page's around.
    pub(crate) shortcuts: Rc<Cell<bool>>,
    /// Whether the session goes on while it is shown.
    pub(crate) live: Cell<bool>,
    /// Whether the rows are still coming in.
    pub(crate) busy: Cell<bool>,
    /// Until when no rows are shown, since the end of the log will be here first.
    pub(crate) held_until_ms: Cell<f64>,
    /// What commands printed, as far as it was read.
    pub(crate) terminals: terminal::Terminals,
    /// Long texts that readers asked to see whole.
    pub(crate) wholes: whole::Wholes,
    /// Pictures that are shown large.
    large: RefCell<BTreeSet<(BlockId, usize)>>,
    /// Sound that is to play once it is here: the reader has asked.
    sound_due: Cell<Option<(BlockId, usize)>>,
    /// How wide the feed is.
    width: width::Width,
    /// How diffs are shown.
    pub(crate) diffs: diff::Choices,
    /// What waits for an answer, and where it stands.
    pub(crate) waiting: RefCell<BTreeMap<BlockId, needs::Waiting>>,
    /// What is being answered here.
    pub(crate) answering: answering::Answering,
    /// What came while the page was hidden.
    pub(crate) unread: unread::Unread,
    /// Who says what comes, how many events there were when a frame was drawn last, and whether the reader looked back.
    speaker: RefCell<Option<Rc<announce::Announcer>>>,
    drawn_events: Cell<u32>,
    looked_back: Cell<bool>,
    /// What is looked for.
    pub(crate) find: find::Finding,
    /// Links to events, and the element whose listeners hear of them.
    pub(crate) links: links::Links,
    /// The dialog that shows the keys.
    help: RefCell<Option<Element>>,
    /// Where the reader was before the page was loaded anew.
    place_due: place::Due,
    /// What the reader opened and closed.
    pub(crate) opened: opened::Opened,
    /// The first row that came while the page was away, and since when it was.
    pub(crate) new_since: Cell<Option<(RowId, i64)>>,
    /// What scripts were told.
    told: script::Told,
    /// What is handed to others.
    pub(crate) export: export::ExportState,
    /// Parts of the page that did not come.
    pub(crate) lacks: lacks::Lacks,
    /// Whether what stands around the rows is here.
    surrounded: ArcRwSignal<bool>,
    /// Whether what rows hold is to be drawn when it comes.
    bodies_due: Cell<bool>,
    /// Whether the rows have the styles of what waits for an answer.
    asks_dressed: Cell<bool>,
    /// Whether texts are to be drawn when what reads markup comes.
    markup_due: Cell<bool>,
    hues: hues::Hues,
    /// Counts how often many rows were asked to open or close at once.
    many_asked: Cell<u32>,
    /// What the side panel shows.
    pub(crate) panel: panel::PanelState,
    /// What the bar of the replay shows.
    pub(crate) transport: transport::TransportState,
}

/// A handle on the context: signals and views may hold it.
pub(crate) type Ctx = StoredValue<Rc<Context>, LocalStorage>;

impl Context {
    /// The context of one element.
    pub(crate) fn new(store: Rc<FeedStore>) -> Context {
        let shortcuts = Rc::new(Cell::new(true));
        Context {
            store,
            list: RefCell::new(None),
            hand: selecting::Hand::default(),
            shortcuts: shortcuts.clone(),
            live: Cell::new(false),
            busy: Cell::new(false),
            held_until_ms: Cell::new(0.0),
            terminals: terminal::Terminals::default(),
            wholes: whole::Wholes::default(),
            large: RefCell::default(),
            sound_due: Cell::new(None),
            width: width::Width::default(),
            diffs: diff::Choices::new(shortcuts),
            waiting: RefCell::default(),
            answering: answering::Answering::default(),
            unread: unread::Unread::default(),
            speaker: RefCell::new(None),
            drawn_events: Cell::new(0),
            looked_back: Cell::new(false),
            find: find::Finding::default(),
            links: links::Links::default(),
            help: RefCell::new(None),
            place_due: place::Due::default(),
            opened: opened::Opened::default(),
            new_since: Cell::new(None),
            told: script::Told::default(),
            export: export::ExportState::default(),
            lacks: lacks::Lacks::default(),
            surrounded: ArcRwSignal::new(false),
            bodies_due: Cell::new(false),
            asks_dressed: Cell::new(false),
            markup_due: Cell::new(false),
            hues: hues::Hues::default(),
            many_asked: Cell::new(0),
            panel: panel::PanelState::default(),
            transport: transport::TransportState::default(),
        }
    }

    /// Shows the keys.
    pub(crate) fn show_help(&self) {
        if let Some(dialog) = &*self.help.borrow() {
            help::show(dialog);
        }
    }

    /// Where what has the focus is about to go, within `from`, keys go on in `to`, or else in the rows: with none that has
    /// it, no key would act.
    fn hand_focus_on(&self, from: &str, to: Option<&str>) {
        let list = self.list.borrow();
        let Some(scroller) = list.as_ref().map(|list| list.scroller()) else {
            return;
        };
        let Some(frame) = scroller.parent_element() else {
            return;
        };
        if dom::first_in(&frame, from).is_some_and(|place| dom::has_focus(&place)) {
            let to = to.and_then(|to| dom::first_in(&frame, to));
            dom::focus(to.as_ref().unwrap_or(scroller));
        }
    }

    /// Whether the element is in no page any more: what is drawn from is gone.
    fn is_taken_down(&self) -> bool {
        self.list.borrow().is_none()
    }

    /// What has the focus within a row is about to go: the row itself keeps the reader's place.
    fn hand_focus_to_row(&self, row: Row) {
        let list = self.list.borrow();
        let element = list.as_ref().zip(self.store.id_of(row));
        let element = element.and_then(|(list, id)| list.element_of(id));
        if let Some(element) = element
            && dom::focused_in(&element).is_some_and(|focused| dom::is(&focused, ".body *"))
        {
            dom::focus(&element);
        }
    }

    /// Opens or closes a row; its header stays where it is.
    pub(crate) fn toggle(&self, row: impl Into<Row>) {
        let row = row.into();
        self.pin(row);
        let open = !self.store.is_open(row);
        if !open {
            self.hand_focus_to_row(row);
        }
        if let (false, Row::Block(block)) = (open, row) {
            later::stop(&self.wholes, block);
        }
        self.store.set_open(row, open);
    }

    /// Shows all of a row's long output, or its ends.
    pub(crate) fn toggle_whole(&self, id: BlockId) {
        self.pin_block(id);
        self.store.set_shows_whole(id, !self.store.shows_whole(id));
    }

    /// Whether a picture of a row is shown large.
    fn is_large(&self, id: BlockId, nth: usize) -> bool {
        self.large.borrow().contains(&(id, nth))
    }

    /// Shows a picture of a row large, or small again.
    fn toggle_large(&self, id: BlockId, nth: usize) {
        self.pin_block(id);
        let mut large = self.large.borrow_mut();
        if !large.remove(&(id, nth)) {
            large.insert((id, nth));
        }
        self.store.touch(id);
    }

    /// Draws the mounted rows again that hold an element of this selector: what they lacked is here. A few in a frame:
    /// it is the first time that they are drawn so, and their code is compiled as it is called.
    async fn draw_again(&self, lacking: &str) {
        let list = self.list.borrow().clone();
        let mut rows = list.map_or_else(Vec::new, |list| list.mounted_rows());
        rows.retain(|(_, element)| dom::first_in(element, lacking).is_some());
        for (nth, (id, _)) in rows.iter().enumerate() {
            if nth > 0 && nth % DRAWN_AT_ONCE == 0 {
                frame::sleep(FRAME_MS).await;
            }
            self.store.touch_row(*id);
        }
    }

    /// A row's header stays where it is while the row changes.
    pub(crate) fn pin_block(&self, id: BlockId) {
        self.pin(Row::Block(id));
    }

    /// What is looked at in a row stays where it is while the row grows by so much above it.
    pub(crate) fn raise(&self, id: BlockId, by_px: f64) {
        if let (Some(list), Some(id)) = (&*self.list.borrow(), self.store.id_of(Row::Block(id))) {
            list.raise(id, by_px);
        }
    }

    fn pin(&self, row: Row) {
        if let (Some(list), Some(id)) = (&*self.list.borrow(), self.store.id_of(row)) {
            list.pin(id);
        }
    }

    /// Forgets what belongs to the session that is going.
    pub(crate) fn forget(&self) {
        script::leave(self);
        self.terminals.clear();
        self.wholes.forget();
        self.large.borrow_mut().clear();
        self.diffs.forget();
        self.sound_due.set(None);
        self.drawn_events.set(0);
        if let Some(speaker) = &*self.speaker.borrow() {
            speaker.forget();
        }
        self.waiting.borrow_mut().clear();
        self.answering.forget();
        self.new_since.set(None);
        self.unread.forget();
        self.forget_found();
        self.forget_links();
        self.hues.forget();
        // What opens many rows ends with the session they are of.
        self.many_asked.update(|request| request.wrapping_add(1));
        self.export.leave();
        self.panel.forget();
        self.transport.forget();
    }
}

/// The content of one row.
pub(crate) fn block_view(ctx: Ctx, feed: &Feed, block: &Block) -> AnyView {
    match &block.body {
        BlockBody::Prompt(prompt) => prompt::view(ctx, block, prompt),
        // A row of text is mounted by itself, past this: see `rows`.
        BlockBody::Text(_) => ().into_any(),
        BlockBody::Thinking(thinking) => thinking::view(ctx, feed, block, thinking),
        BlockBody::ToolCall(call) => tool_call::view(ctx, feed, block, call),
        BlockBody::FileEdit(edit) => file_edit::view(ctx, feed, block, edit),
        BlockBody::TurnEnd(end) => turn_end::view(feed, block, end),
        _ => later::row(ctx, feed, block),
    }
}
