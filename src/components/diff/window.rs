//! The part of a diff that is in the page: chunks around what is looked at, between two spaces as high as the rest.
//!
//! Heights are known until lines wrap; then they are guessed, and measured once a chunk is drawn.

mod colouring;
mod more;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::{Rc, Weak};

use chat_feed::diff_list::{DiffList, HunkColours, Numbers, Shown, Widening};

use super::{Choices, OldText, Restates};
use crate::components::colours::Told;
use crate::components::keys::{self, Command, Within};
use crate::platform::code;
use crate::platform::dom::{self, Element, Listener};
use crate::platform::measure::{self, HeightObserver};

/// Drawn above and below what is seen, in px: what one turn of a wheel shows.
const MARGIN_PX: f64 = 500.0;

/// As the style sheet has it: a diff is no higher than this.
const MOST_PX: f64 = 640.0;

/// Of a longer diff only the beginning is put into the page where all of it is asked for: about 4,000 lines.
const WHOLE_CHUNKS: usize = 128;

/// A diff this wide stands in a column of 960 px: less gutters, scrollbar and the edges of the text.
const SPLIT_PX: f64 = 820.0;

/// Width of a character and of what stands before the code, in px; only guesses depend on them.
const CHAR_PX: f64 = 7.5;
const EDGE_PX: f64 = 80.0;

/// An open diff.
pub(super) struct Window {
    me: Weak<Window>,
    scroller: Element,
    /// The space above, the chunks, the space below.
    lines: Element,
    above: Element,
    below: Element,
    choices: Choices,
    pairs: bool,
    old: Option<OldText>,
    /// Something was asked for of a text that is not here.
    is_asked: Cell<bool>,
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
    /// Shows a diff in a scroller.
    pub(super) fn open(
        scroller: Element,
        list: DiffList,
        (choices, pairs): (Choices, bool),
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
        // A row that is drawn again has its elements again, and in them what was drawn before.
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
            pairs,
            old,
            is_asked: Cell::new(false),
            stays: Cell::default(),
            list: RefCell::new(list),
            top_px: Cell::new(0.0),
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
        let room = window.width_px.get() >= SPLIT_PX;
        let shown = choices.shown(room, pairs);
        window.list.borrow_mut().show(shown);
        window.widen_again();
        window.begin();
        window
    }

    /// How it is shown now.
    pub(super) fn shown(&self) -> Shown {
        self.list.borrow().shown()
    }

    /// The choice, or the room there is, has changed.
    pub(super) fn restate(&self) {
        let room = self.width_px.get() >= SPLIT_PX;
        let shown = self.choices.shown(room, self.pairs);
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

    fn listen(self: &Rc<Self>) {
        let (for_told, for_scroll) = (self.me.clone(), self.me.clone());
        *self.told.borrow_mut() = Some(Rc::new(move || {
            if let Some(me) = for_told.upgrade() {
                me.redraw_soon();
            }
        }));
        let scrolled = dom::listen_passive(&self.scroller, "scroll", move |_| {
            if let Some(me) = for_scroll.upgrade() {
                me.look();
                me.update();
            }
        });
        let (for_keys, for_clicks, for_select) =
            (self.me.clone(), self.me.clone(), self.me.clone());
        let keys = dom::listen(&self.scroller, "keydown", move |event| {
            let Some(me) = for_keys.upgrade() else { return };
            if dom::key_of(&event).is_some_and(|key| !key.control && me.on_key(&key.name)) {
                event.prevent_default();
                event.stop_propagation();
            }
        });
        let clicks = dom::listen(&self.scroller, "click", move |event| {
            let Some(me) = for_clicks.upgrade() else {
                return;
            };
            me.look();
            let file = dom::attribute_at(&event, "data-file").and_then(|file| file.parse().ok());
            if let Some(file) = file {
                me.list.borrow_mut().toggle(file);
                me.begin();
            }
            let widening = dom::attribute_at(&event, "data-widen");
            if let Some(what) = widening.as_deref().and_then(Widening::of_name) {
                // The button goes: who pressed it by a key goes on from here.
                dom::focus(&me.scroller);
                me.ask(what);
            }
        });
        // Side by side, a selection stays on the side it began on.
        let selects = dom::listen(&self.scroller, "pointerdown", move |event| {
            let Some(me) = for_select.upgrade() else {
                return;
            };
            let side = dom::child_at(&event, ".diff__pair > .diff__line");
            match side {
                Some(0) => dom::write_attribute(&me.scroller, "data-side", "old"),
                Some(_) => dom::write_attribute(&me.scroller, "data-side", "new"),
                None => dom::remove_attribute(&me.scroller, "data-side"),
            }
        });
        *self.listeners.borrow_mut() = vec![scrolled, keys, clicks, selects];
        let for_size = self.me.clone();
        let observer = HeightObserver::new(move |sizes| {
            if let (Some(me), Some((_, width_px, _))) = (for_size.upgrade(), sizes.last()) {
                me.on_width(*width_px);
            }
        });
        if let Some(observer) = &observer {
            observer.watch(&self.scroller);
        }
        *self.observer.borrow_mut() = observer;
    }

    fn on_width(&self, width_px: f64) {
        let before_px = self.width_px.replace(width_px);
        self.choices.0.width_px.set(width_px);
        let laid_out = self.laid_out.replace(true);
        if (before_px - width_px).abs() < 0.5 {
            let shown = self.shown();
            if !laid_out && (shown.wrap || shown.split) {
                // What was drawn before it had a place could not be measured.
                let drawn = self.drawn_range();
                let top_px = self.top_px.get();
                self.measure(&drawn.clone().collect::<Vec<_>>(), top_px);
                self.write_spaces(&drawn);
            }
            return;
        }
        self.restate();
        let shown = self.shown();
        if shown.wrap || shown.split {
            self.begin();
        }
        self.choices.tell();
    }

    fn on_key(&self, name: &str) -> bool {
        self.look();
        let command =
            keys::asked_in(Within::Diff, name).or_else(|| keys::asked_in(Within::Feed, name));
        match command {
            Some(Command::NextHunk) => self.step(true, false),
            Some(Command::PreviousHunk) => self.step(false, false),
            Some(Command::NextFile) => self.step(true, true),
            Some(Command::PreviousFile) => self.step(false, true),
            Some(Command::Sides) => self.choices.toggle_split(self.shown()),
            Some(Command::Wrap) => self.choices.toggle_wrap(self.shown()),
            Some(Command::Viewed) => {
                let file = self.list.borrow().file_of(self.first_item());
                if let Some(file) = file {
                    self.list.borrow_mut().toggle(file);
                    self.begin();
                }
            }
            _ => return false,
        }
        true
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

    /// The item at the top edge.
    fn first_item(&self) -> usize {
        let top_px = self.top_px.get();
        let (mut item_px, mut chunk_idx) = (0.0, 0);
        let heights = self.heights.borrow();
        while let Some(height_px) = heights.get(chunk_idx)
            && item_px + height_px <= top_px
        {
            item_px += height_px;
            chunk_idx += 1;
        }
        let list = self.list.borrow();
        let columns = self.columns();
        let chunk = list.chunk(chunk_idx);
        for item in chunk.clone() {
            item_px += list.height_px(item, columns);
            if item_px > top_px {
                return item;
            }
        }
        chunk.end.saturating_sub(1)
    }

    fn columns(&self) -> usize {
        let width_px = match self.width_px.get() {
            0.0 => SPLIT_PX,
            width_px => width_px,
        };
        let width_px = if self.shown().split {
            width_px / 2.0
        } else {
            width_px
        };
        // Rounded down; a width is some thousands of px.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let columns = ((width_px - EDGE_PX) / CHAR_PX).max(1.0) as usize;
        columns
    }

    fn top_of(&self, item: usize) -> f64 {
        let list = self.list.borrow();
        let (chunk, columns) = (item / chat_feed::diff_list::CHUNK_ITEMS, self.columns());
        let above: f64 = self.heights.borrow().iter().take(chunk).sum();
        let within = list.chunk(chunk).take_while(|before| *before < item);
        above
            + within
                .map(|before| list.height_px(before, columns))
                .sum::<f64>()
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
        }
        self.update();
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

    /// Reads the heights of chunks that were drawn; what is looked at stays where it is.
    fn measure(&self, chunks: &[usize], top_px: f64) {
        let mut shift_px = 0.0;
        let mut above_px: f64 = {
            let heights = self.heights.borrow();
            heights
                .iter()
                .take(chunks.first().copied().unwrap_or(0))
                .sum()
        };
        for &chunk in chunks {
            let Some(element) = self.drawn.borrow().get(&chunk).cloned() else {
                continue;
            };
            let height_px = measure::height(&element);
            if let Some(known_px) = self.heights.borrow_mut().get_mut(chunk)
                && height_px > 0.0
            {
                above_px += *known_px;
                if above_px <= top_px {
                    shift_px += height_px - *known_px;
                }
                *known_px = height_px;
            }
        }
        if f64::abs(shift_px) >= 1.0 {
            self.write_spaces(&self.drawn_range());
            self.scroll_to(top_px + shift_px);
        }
    }

    fn drawn_range(&self) -> Range<usize> {
        let drawn = self.drawn.borrow();
        let first = drawn.keys().next().copied().unwrap_or(0);
        first..drawn.keys().next_back().map_or(first, |last| last + 1)
    }

    fn write_spaces(&self, drawn: &Range<usize>) {
        let heights = self.heights.borrow();
        let above_px: f64 = heights.iter().take(drawn.start).sum();
        let below_px: f64 = heights.iter().skip(drawn.end).sum();
        if self.spaces_px.replace((above_px, below_px)) != (above_px, below_px) {
            dom::set_style(&self.above, "block-size", &format!("{above_px}px"));
            dom::set_style(&self.below, "block-size", &format!("{below_px}px"));
        }
    }

    fn chunks_around(&self, top_px: f64) -> Range<usize> {
        let heights = self.heights.borrow();
        if self.choices.0.whole.get() {
            return 0..heights.len().min(WHOLE_CHUNKS);
        }
        let (from_px, to_px) = (top_px - MARGIN_PX, top_px + MOST_PX + MARGIN_PX);
        let (mut bottom_px, mut range) = (0.0, heights.len()..heights.len());
        for (chunk, height_px) in heights.iter().enumerate() {
            let chunk_px = bottom_px;
            bottom_px += height_px;
            if bottom_px >= from_px {
                range.start = range.start.min(chunk);
            }
            if chunk_px > to_px {
                range.end = chunk;
                break;
            }
        }
        range
    }

    fn draw(&self, chunk: usize, element: &Element) {
        let strokes = self.list.borrow().draw(chunk, &self.colours.borrow());
        code::draw(element, &strokes.codes, &strokes.words);
    }

    fn is_on_screen(&self, chunk: usize, top_px: f64) -> bool {
        let heights = self.heights.borrow();
        let chunk_px: f64 = heights.iter().take(chunk).sum();
        let end_px = chunk_px + heights.get(chunk).copied().unwrap_or(0.0);
        end_px > top_px && chunk_px < top_px + MOST_PX
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // Listeners first: they hold nothing, but may be called while the rest goes.
        self.listeners.borrow_mut().clear();
        self.observer.borrow_mut().take();
    }
}
