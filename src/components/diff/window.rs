//! The part of a diff that is in the page: chunks around what is looked at, between two spaces as high as the rest.
//!
//! Heights are known until lines wrap; then they are guessed, and measured once a chunk is drawn.

mod colouring;
mod heights;
mod listen;
mod more;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::{Rc, Weak};

use chat_diff::Around;
use chat_feed::diff_list::{DiffList, HunkColours, Numbers, Shown};

use super::{Choices, OldText, Restates};
use crate::components::colours::Told;
use crate::platform::code;
use crate::platform::dom::{self, Element, Listener};
use crate::platform::measure::{self, HeightObserver};

/// As the style sheet has it: a diff is no higher than this.
const MOST_PX: f64 = 640.0;

/// A diff this wide stands in a column of 960 px: less gutters, scrollbar and the edges of the text.
const SPLIT_PX: f64 = 820.0;

/// As the style sheet has them: what a side needs beside its text, and about how wide a character is. Only guesses depend on
/// them.
const SIDE_PX: f64 = 80.0;
const CHAR_PX: f64 = 7.6;

/// How wide a diff has to be to be read side by side: nine in ten of its lines fit into their half.
pub(super) fn split_px(text: &str) -> f64 {
    let mut n_chars: Vec<u32> = text
        .lines()
        .map(|line| u32::try_from(line.chars().count()).unwrap_or(u32::MAX))
        .collect();
    let nth = n_chars.len() * 9 / 10;
    let fits = match nth < n_chars.len() {
        true => *n_chars.select_nth_unstable(nth).1,
        false => 0,
    };
    SPLIT_PX.max(2.0 * (SIDE_PX + f64::from(fits) * CHAR_PX))
}

/// An open diff.
pub(super) struct Window {
    me: Weak<Window>,
    scroller: Element,
    /// The space above, the chunks, the space below.
    lines: Element,
    above: Element,
    below: Element,
    choices: Choices,
    /// How wide it has to be to stand side by side; `None` where it never does by itself.
    split_px: Option<f64>,
    old: Option<OldText>,
    /// Something was asked for of a text that is not here.
    is_asked: Cell<bool>,
    /// What was asked for and is shown.
    widened: RefCell<Vec<Around>>,
    /// The line that is to stay where it is when that comes.
    stays: Cell<Option<Numbers>>,
    list: RefCell<DiffList>,
    /// Where the scroller stands, as it last said: to ask it would lay out the page, which is done for the reader's acts
    /// alone.
    top_px: Cell<f64>,
    /// What the diff before it had, until the browser says what this one has.
    width_px: Cell<f64>,
    laid_out: Cell<bool>,
    /// By chunk, guessed or measured.
    heights: RefCell<Vec<f64>>,
    /// The spaces above and below, as they were written.
    spaces_px: Cell<(f64, f64)>,
    drawn: RefCell<BTreeMap<usize, Element>>,
    colours: RefCell<BTreeMap<(u32, u32), HunkColours>>,
    /// Sides of hunks as they were asked for, by hunk and whether they are old.
    asked: RefCell<BTreeMap<(u32, u32, bool), Rc<str>>>,
    /// Hunks whose colours came and are not drawn yet.
    fresh: RefCell<BTreeSet<(u32, u32)>>,
    told: RefCell<Option<Rc<Told>>>,
    listeners: RefCell<Vec<Listener>>,
    observer: RefCell<Option<HeightObserver>>,
    redraws: Cell<bool>,
}

impl Restates for Window {
    fn restate(&self) {
        Window::restate(self);
    }

    fn update(&self) {
        Window::update(self);
        self.say_rest();
    }

    fn widen(&self) {
        if self.is_asked.get() {
            self.widen_now();
        }
    }

    fn shown_within(&self, within: &Element) -> Option<Shown> {
        let is_within = within.contains(Some(self.scroller.as_ref()));
        is_within.then(|| self.shown())
    }

    fn seek(&self, within: &Element, wanted: &dyn Fn(&str) -> bool) -> bool {
        within.contains(Some(self.scroller.as_ref())) && self.seek_line(wanted)
    }
}

impl Window {
    /// Shows the diff of a path in a scroller.
    pub(super) fn open(
        (scroller, of): (Element, &str),
        list: DiffList,
        (choices, split_px): (Choices, Option<f64>),
        old: Option<OldText>,
    ) -> Rc<Window> {
        let make = |class| {
            let element = dom::create("div");
            dom::write_attribute(&element, "class", class);
            element
        };
        let (lines, above, below) = (
            make("diff__lines"),
            make("diff__space"),
            make("diff__space"),
        );
        // What is drawn again has its elements again, and in them what was drawn before; the same diff stands where it stood.
        let before = dom::attribute(&scroller, "data-of");
        let stands = before.as_deref() == Some(of);
        let top_px = match stands {
            true => measure::scroll_top(&scroller),
            false => 0.0,
        };
        dom::write_attribute(&scroller, "data-of", of);
        dom::write_text(&scroller, "");
        dom::insert_before(&lines, &above, None);
        dom::insert_before(&lines, &below, None);
        dom::insert_before(&scroller, &lines, None);
        let window = Rc::new_cyclic(|me: &Weak<Window>| Window {
            me: me.clone(),
            scroller,
            lines,
            above,
            below,
            choices: choices.clone(),
            split_px,
            old,
            is_asked: Cell::new(false),
            widened: RefCell::default(),
            stays: Cell::default(),
            list: RefCell::new(list),
            top_px: Cell::new(top_px),
            width_px: Cell::new(choices.0.width_px.get()),
            laid_out: Cell::new(false),
            heights: RefCell::default(),
            spaces_px: Cell::default(),
            drawn: RefCell::default(),
            colours: RefCell::default(),
            asked: RefCell::default(),
            fresh: RefCell::default(),
            told: RefCell::new(None),
            listeners: RefCell::default(),
            observer: RefCell::new(None),
            redraws: Cell::new(false),
        });
        window.listen();
        let shown: Weak<dyn Restates> = Rc::<Window>::downgrade(&window);
        choices.0.open.borrow_mut().push(shown);
        // Shown in another way once its width is known, its row would be of another height, a frame late.
        let shown = choices.shown(window.has_room());
        window.list.borrow_mut().show(shown);
        window.widen_again();
        window.begin();
        if before.is_some() {
            measure::set_scroll_top(&window.scroller, top_px);
        }
        window
    }

    /// Whether it is wide enough to stand side by side.
    fn has_room(&self) -> bool {
        let width_px = self.width_px.get();
        self.split_px.is_some_and(|split_px| width_px >= split_px)
    }

    /// How it is shown now.
    pub(super) fn shown(&self) -> Shown {
        self.list.borrow().shown()
    }

    /// The choice, or the room there is, has changed.
    pub(super) fn restate(&self) {
        let shown = self.choices.shown(self.has_room());
        self.look();
        let at = self.first_item();
        let head = self.list.borrow().hunk_at(at);
        if !self.list.borrow_mut().show(shown) {
            return;
        }
        self.begin();
        // The lines above may be more or fewer now: the hunk that was looked at is looked at again.
        let place = head.and_then(|head| self.list.borrow().place_of(head));
        if let Some(place) = place.filter(|_| at > 0) {
            self.go_to(place);
        }
    }

    /// To the next head of a hunk or a file; at the last one it stays.
    fn step(&self, forward: bool, files: bool) {
        let top_px = self.top_px.get();
        let next = {
            let list = self.list.borrow();
            let mut heads = list.heads(files).map(|item| (item, self.top_of(item)));
            match forward {
                true => heads.find(|(_, head_px)| *head_px > top_px + 1.0),
                false => heads.rev().find(|(_, head_px)| *head_px < top_px - 1.0),
            }
        };
        if let Some((item, _)) = next {
            self.go_to(item);
        }
    }

    fn go_to(&self, item: usize) {
        // What wraps is measured on the way, and may move it.
        for _ in 0..2 {
            self.scroll_to(self.top_of(item));
            self.update();
        }
    }

    /// Brings the first line that is wanted into the middle.
    fn seek_line(&self, wanted: &dyn Fn(&str) -> bool) -> bool {
        let n_items = self.list.borrow().items().len();
        let Some(item) = self.list.borrow_mut().seek(wanted) else {
            return false;
        };
        if self.list.borrow().items().len() != n_items {
            self.begin();
        }
        // What wraps is measured on the way, and may move it.
        for _ in 0..2 {
            self.scroll_to(self.top_of(item) - MOST_PX / 2.0);
            self.update();
        }
        true
    }

    /// Asks where the scroller stands: it may have moved and not said so yet, as when a button in it has the focus.
    fn look(&self) {
        self.top_px.set(measure::scroll_top(&self.scroller));
    }

    fn scroll_to(&self, top_px: f64) {
        measure::set_scroll_top(&self.scroller, top_px);
        // It goes no further than its end.
        self.look();
    }

    /// Draws anew from nothing.
    fn begin(&self) {
        for (_, element) in std::mem::take(&mut *self.drawn.borrow_mut()) {
            element.remove();
        }
        {
            let list = self.list.borrow();
            let columns = self.columns();
            let heights = (0..list.n_chunks()).map(|chunk| {
                let items = list.chunk(chunk);
                items.map(|item| list.height_px(item, columns)).sum()
            });
            *self.heights.borrow_mut() = heights.collect();
            let shown = list.shown();
            dom::toggle_attribute(&self.lines, "data-split", shown.split);
            dom::toggle_attribute(&self.lines, "data-wrap", shown.wrap);
            let digits = list.digits().to_string();
            dom::write_attribute(&self.lines, "data-digits", &digits);
            // Its tools change nothing then.
            dom::toggle_attribute(&self.scroller, "data-closed", list.is_closed());
        }
        self.update();
        self.say_rest();
    }

    /// Draws what came into view, and takes out what left it.
    fn update(&self) {
        let top_px = self.top_px.get();
        let wanted = self.chunks_around(top_px);
        self.drawn.borrow_mut().retain(|chunk, element| {
            let stays = wanted.contains(chunk);
            if !stays {
                element.remove();
            }
            stays
        });
        let mut new = Vec::new();
        for chunk in wanted.clone() {
            if self.drawn.borrow().contains_key(&chunk) {
                continue;
            }
            let element = dom::create("div");
            dom::write_attribute(&element, "class", "diff__chunk");
            self.ask_colours(chunk, self.is_on_screen(chunk, top_px));
            self.draw(chunk, &element);
            let next = self
                .drawn
                .borrow()
                .range(chunk..)
                .next()
                .map(|(_, next)| next.clone());
            dom::insert_before(
                &self.lines,
                &element,
                Some(next.as_ref().unwrap_or(&self.below)),
            );
            self.drawn.borrow_mut().insert(chunk, element);
            new.push(chunk);
        }
        if !self.fresh.borrow().is_empty() {
            // Another chunk may have lines of the same hunk.
            self.redraw_soon();
        }
        self.write_spaces(&wanted);
        let shown = self.shown();
        if (shown.wrap || shown.split) && !new.is_empty() {
            self.measure(&new, top_px);
            self.write_spaces(&wanted);
        }
    }

    fn draw(&self, chunk: usize, element: &Element) {
        let strokes = self.list.borrow().draw(chunk, &self.colours.borrow());
        code::draw(element, &strokes.codes, &strokes.words);
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // Listeners first: they hold nothing, but may be called while the rest goes.
        self.listeners.borrow_mut().clear();
        self.observer.borrow_mut().take();
        // It cannot be had by its name any more, which would keep the memory that it was in.
        let mut open = self.choices.0.open.borrow_mut();
        open.retain(|window| window.strong_count() > 0);
    }
}
