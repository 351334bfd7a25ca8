//! Finding in the session: what is asked for, how far the search is, and going from hit to hit, whatever hides them.
//!
//! What fits is decided by `chat_feed::find`; the bar is drawn by `bar`, hits are marked and brought to the eye by `marks`.

mod asked;
mod bar;
mod elsewhere;
mod going;
mod marks;
mod told;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use chat_feed::BlockId;
use chat_feed::arrangement::Row;
use chat_feed::find::{Find, Kinds, Query};
use chat_feed::viewport::RowId;
use leptos::prelude::*;

use super::{Context, feed};
use crate::platform::dom::{self, Element};

pub(super) use asked::Asked;
pub(crate) use bar::view;
pub(crate) use elsewhere::{AskServer, Elsewhere, Page};
pub(crate) use marks::ticks;
pub(crate) use told::Told;

/// So many bytes are looked through in a frame: about a millisecond where texts are plain.
const BYTES_PER_FRAME: usize = 512 * 1024;

/// What the reader looks for in one feed.
pub(crate) struct Finding {
    /// Whether the bar is there.
    pub(crate) shown: ArcRwSignal<bool>,
    /// What the bar says.
    pub(crate) told: ArcRwSignal<Told>,
    /// What is written in it.
    question: RefCell<String>,
    chosen: Cell<Kinds>,
    /// Whether only hits are shown, without a chip that says so.
    only: Cell<bool>,
    /// The hit that was gone to.
    current: Cell<Option<BlockId>>,
    /// The row whose long texts are drawn whole, since what was gone to is in none of what they show.
    sought: Cell<Option<BlockId>>,
    /// Whether nothing of what was gone to can be shown.
    unseen: Cell<bool>,
    /// Whether the field is to have the focus once it is there.
    focus_due: Cell<bool>,
    /// The row that had the focus before.
    came_from: Cell<Option<RowId>>,
    marks: marks::Marking,
    asking: elsewhere::Asking,
}

impl Default for Finding {
    fn default() -> Finding {
        Finding {
            shown: ArcRwSignal::new(false),
            told: ArcRwSignal::new(Told::default()),
            question: RefCell::default(),
            chosen: Cell::default(),
            only: Cell::new(false),
            current: Cell::new(None),
            sought: Cell::new(None),
            unseen: Cell::new(false),
            focus_due: Cell::new(false),
            came_from: Cell::new(None),
            marks: marks::Marking::default(),
            asking: elsewhere::Asking::default(),
        }
    }
}

impl Finding {
    /// Whether all of a row's long texts are to be shown.
    pub(crate) fn seeks(&self, block: BlockId) -> bool {
        self.sought.get() == Some(block)
    }
}

impl Context {
    /// Shows the find bar, and gives its field the focus.
    pub(crate) fn open_find(self: &Rc<Self>) {
        self.panel.make_way();
        let finding = &self.find;
        finding.focus_due.set(true);
        let here = self.list.borrow().as_ref().and_then(|list| list.focused());
        finding.came_from.set(here.or(finding.came_from.get()));
        if !finding.shown.get_untracked() {
            finding.shown.set(true);
            self.ask();
        }
        self.store.ask_frame();
        // Behind the effect that shows it, and before the next key: what is written at once is meant for it.
        let context = Rc::downgrade(self);
        leptos::task::spawn_local(async move {
            if let Some(context) = context.upgrade()
                && let Some(list) = &*context.list.borrow()
                && let Some(root) = list.scroller().parent_element()
            {
                context.focus_field(&root);
            }
        });
    }

    /// Gives the field the focus, where it is due and the field is there.
    fn focus_field(&self, root: &Element) {
        if self.find.focus_due.get()
            && let Some(field) = dom::first_in(root, ".find__field")
        {
            self.find.focus_due.set(false);
            dom::focus(&field);
            dom::call_method(&field, "select");
        }
    }

    /// Looks for something as if it had been written into the bar; the focus stays where it is.
    pub(super) fn look_for(&self, question: &str, only: bool) {
        let finding = &self.find;
        finding.only.set(only);
        self.ask_for(question);
        finding.shown.set(true);
        let list = self.list.borrow();
        let root = list
            .as_ref()
            .and_then(|list| list.scroller().parent_element());
        if let Some(field) = root.and_then(|root| dom::first_in(&root, ".find__field")) {
            dom::set_text_property(&field, "value", Some(question));
        }
        drop(list);
        self.filter();
    }

    /// What is looked for.
    pub(super) fn question(&self) -> String {
        self.find.question.borrow().clone()
    }

    /// Looks on; how many hits there are once all was looked at, or why nothing can be looked for.
    pub(super) fn search_to_end(self: &Rc<Self>) -> Option<Result<usize, String>> {
        let problem = self.find.told.with_untracked(|told| told.problem.clone());
        if let Some(why) = problem {
            return Some(Err(format!("could not search: {why}")));
        }
        if !self.store.search_on(BYTES_PER_FRAME) {
            return None;
        }
        self.ask_elsewhere();
        if self.find.asking.is_busy() {
            return None;
        }
        self.store.ask_frame();
        Some(Ok(self.store.find(|find, _| find.len()).unwrap_or(0)))
    }

    /// How many hits there are and how many rows are hidden, while anything is looked for.
    pub(super) fn found(&self) -> Option<(usize, usize)> {
        let told = &self.find.told;
        let found = told.with_untracked(|told| told.asks.then_some((told.n_hits, told.n_hidden)));
        found.filter(|_| self.finds())
    }

    /// Whether the find bar is there.
    pub(crate) fn finds(&self) -> bool {
        self.find.shown.get_untracked()
    }

    /// The same, for what is drawn by it.
    pub(crate) fn finds_now(&self) -> bool {
        self.find.shown.get()
    }

    /// Takes the find bar away and shows everything again; the focus goes to the hit that was gone to, or
    /// else back to where it was.
    pub(crate) fn close_find(&self) {
        let row = self.end_find();
        if let Some(list) = &*self.list.borrow() {
            let element = row.and_then(|row| list.element_of(row));
            dom::focus(element.as_ref().unwrap_or(list.scroller()));
        }
    }

    /// Takes the find bar away and shows everything again; the row that it leads back to.
    pub(super) fn end_find(&self) -> Option<RowId> {
        let finding = &self.find;
        finding.shown.set(false);
        self.store.show_only_found(false);
        self.store.set_find(None);
        finding.only.set(false);
        finding.chosen.set(Kinds::default());
        finding.sought.set(None);
        finding.marks.clear();
        let came_from = finding.came_from.take();
        let row = self.current_hit_row().or(came_from);
        finding.current.set(None);
        if let Some(list) = &*self.list.borrow() {
            feed::settle(self, list);
        }
        row
    }

    /// The row of the hit that was gone to.
    pub(crate) fn current_hit_row(&self) -> Option<RowId> {
        let hit = self.find.current.get()?;
        self.store
            .id_of(Row::Block(hit))
            .or_else(|| self.store.nearest_row(hit))
    }

    /// A row shows something else.
    pub(super) fn mark_anew(&self) {
        if self.finds() {
            self.find.marks.note_change();
        }
    }

    /// Another session: its blocks have names of their own.
    pub(super) fn forget_found(&self) {
        self.find.current.set(None);
        self.find.came_from.set(None);
        self.find.sought.set(None);
        self.find.unseen.set(false);
        self.find.marks.clear();
        // What is elsewhere is another log, however few events it has yet.
        self.forget_asked();
        // The next may have as many rows, and as much to be found.
        self.find.marks.ask_anew();
    }

    /// The question was written anew.
    fn ask_for(&self, question: &str) {
        self.find.question.replace(question.to_owned());
        self.find.current.set(None);
        self.find.unseen.set(false);
        self.ask();
    }

    /// Looks for what is written now.
    fn ask(&self) {
        let finding = &self.find;
        let read = Query::parse(&finding.question.borrow());
        let (query, problem) = match read {
            Ok(query) => (query, None),
            Err(why) => (Query::default(), Some(why.to_string())),
        };
        let mut find = Find::new(query);
        find.choose(&self.store.feed(), finding.chosen.get());
        self.forget_asked();
        self.store.set_find(Some(find));
        finding.told.update(|told| told.problem = problem);
        finding.marks.ask_anew();
        // What is found at once is not shown as nothing first.
        self.store.search_on(BYTES_PER_FRAME);
        self.filter();
    }

    /// Shows only hits, or everything, as the reader has it.
    fn filter(&self) {
        let finding = &self.find;
        let asks = self.store.find(|find, _| !find.is_idle()).unwrap_or(false);
        let only = finding.only.get() || !finding.chosen.get().is_empty();
        self.store.show_only_found(only && asks);
        self.store.ask_frame();
    }

    fn set_only(&self, only: bool) {
        self.find.only.set(only);
        self.filter();
    }

    fn toggle_chip(&self, kinds: Kinds) {
        let finding = &self.find;
        let chosen = finding.chosen.get();
        let chosen = if chosen.meets(kinds) {
            chosen.without(kinds)
        } else {
            chosen.with(kinds)
        };
        finding.chosen.set(chosen);
        self.store
            .change_find(|find, feed| find.choose(feed, chosen));
        finding.marks.ask_anew();
        self.filter();
    }

    /// Shows everything again; what is written stays.
    fn clear_filters(&self) {
        self.find.chosen.set(Kinds::default());
        self.find.only.set(false);
        self.store
            .change_find(|find, feed| find.choose(feed, Kinds::default()));
        self.filter();
    }

    /// Once a frame: looks on, marks what is mounted, and says how far it is. `root` is what the bar stands in.
    pub(super) fn find_on(self: &Rc<Self>, root: &Element) {
        let finding = &self.find;
        if !finding.shown.get_untracked() {
            return;
        }
        self.focus_field(root);
        let done = self.store.search_on(BYTES_PER_FRAME);
        if done {
            self.ask_elsewhere();
        }
        let list = self.list.borrow().clone();
        let told = self.tell(done);
        if finding.told.with_untracked(|before| *before != told) {
            finding.told.set(told);
            finding.marks.ask_anew();
        }
        let rests = list.is_none_or(|list| finding.marks.frame(self, &list, root));
        if !done || !rests || finding.focus_due.get() {
            self.store.ask_frame();
        }
    }
}
