//! What was read of outputs, kept while their rows are away.

use std::cell::{Cell, RefCell, RefMut};
use std::collections::BTreeMap;
use std::rc::Rc;

use chat_feed::terminal::screen::Screen;
use chat_feed::terminal::{Line, Output, Printed, Terminal};
use chat_feed::{BlockId, Feed};
use leptos::prelude::AnyView;

use super::lines;
use super::window::top_of;
use crate::platform::{dom, measure};

/// So many lines are drawn at a time to look for one among them.
const SOUGHT_LINES: usize = 1_000;
/// Read outputs that are kept while their rows are away; each is small beside its text.
const MOST_KEPT: usize = 24;

/// Outputs that were read, by row.
#[derive(Default)]
pub(crate) struct Terminals {
    all: RefCell<BTreeMap<BlockId, Rc<Kept>>>,
    /// Counts up with each that is drawn.
    n_drawn: Cell<u64>,
}

/// One output, as far as it was read.
pub(super) struct Kept {
    pub(super) terminal: RefCell<Terminal>,
    /// The result, where that is shown and not what streamed.
    result: Option<Rc<str>>,
    /// The screen, for a program that drew on one.
    pub(super) screen: RefCell<Screen>,
    pub(super) as_printed: Cell<bool>,
    pub(super) wraps: Cell<bool>,
    /// Rises with each that is drawn.
    drawn: Cell<u64>,
}

impl Terminals {
    /// Forgets all of them.
    pub(crate) fn clear(&self) {
        self.all.borrow_mut().clear();
    }

    /// Brings the first line that is wanted into the window that a row has all of its lines behind. Whether there is such a
    /// line, or may be: not all of it is read yet.
    pub(crate) fn seek(
        &self,
        feed: &Feed,
        id: BlockId,
        row: &dom::Element,
        wanted: &dyn Fn(&str) -> bool,
    ) -> bool {
        let kept = self.all.borrow().get(&id).cloned();
        let window = dom::first_in(row, ".terminal__window");
        let (Some(kept), Some(window)) = (kept, window) else {
            return false;
        };
        let output = kept.output(feed, id);
        let printed = output.printed();
        let n_lines = kept.n_lines(printed);
        let from = (0..n_lines).step_by(SOUGHT_LINES);
        let mut lines = from.filter_map(|from| {
            let lines = kept.lines(printed, from, (from + SOUGHT_LINES).min(n_lines));
            let at = lines.iter().position(|line| wanted(&line.text))?;
            Some(from + at)
        });
        match lines.next() {
            Some(line) => measure::set_scroll_top(&window, top_of(line, n_lines)),
            None => return kept.terminal.borrow().n_read() < printed.bytes.len(),
        }
        true
    }

    /// The output of a row; begun anew where it is another text than before, and shown as that was.
    pub(super) fn of(&self, id: BlockId, result: Option<String>, n_bytes: usize) -> Rc<Kept> {
        let mut all = self.all.borrow_mut();
        self.n_drawn.set(self.n_drawn.get() + 1);
        let before = all.get(&id);
        if let Some(kept) = before {
            let same = kept.result.as_deref() == result.as_deref();
            if same && kept.terminal.borrow().n_read() <= n_bytes {
                kept.drawn.set(self.n_drawn.get());
                return kept.clone();
            }
        }
        let shown = |which: fn(&Kept) -> &Cell<bool>| {
            Cell::new(before.is_some_and(|kept| which(kept).get()))
        };
        let kept = Rc::new(Kept {
            terminal: RefCell::default(),
            result: result.map(Rc::from),
            screen: RefCell::default(),
            as_printed: shown(|kept| &kept.as_printed),
            wraps: shown(|kept| &kept.wraps),
            drawn: Cell::new(self.n_drawn.get()),
        });
        all.insert(id, kept.clone());
        if all.len() > MOST_KEPT {
            // Not one that a row holds: it would begin anew with the next frame.
            let away = all.iter().filter(|(_, kept)| Rc::strong_count(kept) == 1);
            let oldest = away.min_by_key(|(_, kept)| kept.drawn.get());
            let oldest = oldest.map(|(id, _)| *id);
            oldest.and_then(|id| all.remove(&id));
        }
        kept
    }
}

impl Kept {
    /// What was printed: the result, or what the feed has of the output.
    pub(super) fn output<'f>(&'f self, feed: &'f Feed, id: BlockId) -> Output<'f> {
        match &self.result {
            Some(result) => Output::text(result),
            None => feed.output(id),
        }
    }

    /// Lines of it in a frame of their own.
    pub(super) fn well(&self, lines: Vec<Line>) -> AnyView {
        lines::well(&self.terminal.borrow(), lines)
    }

    /// Whether the screen is shown that a program drew on.
    pub(super) fn shows_screen(&self) -> bool {
        self.terminal.borrow().is_screen() && !self.as_printed.get()
    }

    fn screen_lines(&self, printed: Printed<'_>) -> Rc<[Line]> {
        self.read_screen(printed).lines()
    }

    fn read_screen(&self, printed: Printed<'_>) -> RefMut<'_, Screen> {
        let terminal = self.terminal.borrow();
        let mut screen = self.screen.borrow_mut();
        // Of what comes behind it is not known how large a screen it needs.
        let bytes = &printed.bytes[..terminal.n_read().min(printed.bytes.len())];
        screen.read(Printed { bytes, ..printed }, terminal.screen_size());
        screen
    }

    /// How many lines there are of what is shown.
    pub(super) fn n_lines(&self, printed: Printed<'_>) -> usize {
        match self.shows_screen() {
            true => self.screen_lines(printed).len(),
            false => self.terminal.borrow().n_lines(),
        }
    }

    /// Some of the lines of what is shown.
    pub(super) fn lines(&self, printed: Printed<'_>, from: usize, to: usize) -> Vec<Line> {
        if self.shows_screen() {
            let lines = self.screen_lines(printed);
            let to = to.min(lines.len());
            return lines.get(from..to).unwrap_or_default().to_vec();
        }
        self.terminal.borrow().lines(printed, from..to)
    }

    /// The last so many of them.
    pub(super) fn last_lines(&self, printed: Printed<'_>, most: usize) -> Vec<Line> {
        if self.shows_screen() {
            return self.read_screen(printed).last_lines(most);
        }
        let n_lines = self.terminal.borrow().n_lines();
        self.lines(printed, n_lines.saturating_sub(most), n_lines)
    }
}
