//! What the reader opened and closed: kept by the names of rows while another session is looked at, or the page is loaded
//! anew, and done again once the rows are here.

use std::cell::{Cell, RefCell};

use chat_feed::arrangement::Row;

use super::Context;

/// The attribute that says what was opened before the page was loaded anew.
const OPENED: &str = "data-opened";

/// Of so many sessions, the newest, it is known.
const MOST_SESSIONS: usize = 20;
/// And of each so many rows, the last of the feed, and as many long outputs.
const MOST_ROWS: usize = 200;
const MOST_NAMED: usize = 2 * MOST_ROWS;

/// What was opened, and where.
#[derive(Default)]
pub(crate) struct Opened {
    /// The session that is shown, where it can be shown again.
    of: RefCell<Option<String>>,
    /// By the session, the one that was left last at the end.
    kept: RefCell<Vec<(String, Vec<Named>)>>,
    /// What is to be opened once its row is here, and how many events there were when that was looked at last.
    due: RefCell<Vec<Named>>,
    looked_at: Cell<u32>,
}

/// What a name leads to, and whether that was opened or closed.
#[derive(Clone)]
struct Named {
    /// One of [`BLOCK`], [`COMPANY`], [`WORK`] and [`WHOLE`].
    kind: char,
    open: bool,
    name: String,
}

const BLOCK: char = 'b';
const COMPANY: char = 'c';
const WORK: char = 'w';
/// All of a long output.
const WHOLE: char = 'a';

impl Opened {
    /// Another session begins: what was opened in it before is due.
    pub(crate) fn begin(&self, session: String) {
        let mut kept = self.kept.borrow_mut();
        if let Some(at) = kept.iter().position(|(of, _)| *of == session) {
            self.due.borrow_mut().extend(kept.remove(at).1);
        }
        *self.of.borrow_mut() = Some(session);
    }

    /// The session is left: what was opened in it is kept.
    pub(crate) fn end(&self) {
        let Some(session) = self.of.take() else {
            return;
        };
        let due = self.due.take();
        if !due.is_empty() {
            let mut kept = self.kept.borrow_mut();
            if kept.len() >= MOST_SESSIONS {
                kept.remove(0);
            }
            kept.push((session, due));
        }
    }
}

/// The rows are about to go: what is open among them is due, should the same session begin anew.
pub(super) fn keep(context: &Context) {
    let opened = &context.opened;
    opened.looked_at.set(0);
    // What cannot be named is not looked at again, and what the page kept may be of what comes.
    if opened.of.borrow().is_some() {
        *opened.due.borrow_mut() = all(context);
    }
}

/// What was opened and closed so far, and what is still due: a line each, for the page to keep.
pub(super) fn told(context: &Context) -> String {
    let lines: Vec<String> = all(context).iter().map(Named::line).collect();
    lines.join("\n")
}

/// Takes up what the page kept.
pub(super) fn take_up(context: &Context) {
    let Some(lines) = context.take_attribute(OPENED) else {
        return;
    };
    let named = lines.lines().filter_map(Named::of_line).take(MOST_NAMED);
    context.opened.due.borrow_mut().extend(named);
    context.opened.looked_at.set(0);
    context.store.ask_frame();
}

/// Opens what is due and here. Once a frame, and what it does not find it looks for when more events are here.
pub(super) fn look(context: &Context) {
    let opened = &context.opened;
    let n_events = context.store.event_count();
    if opened.due.borrow().is_empty() || opened.looked_at.replace(n_events) == n_events {
        return;
    }
    let mut due = opened.due.take();
    due.retain(|named| !named.is_done(context));
    *opened.due.borrow_mut() = due;
}

fn all(context: &Context) -> Vec<Named> {
    let store = &context.store;
    let rows = store.opened_rows(MOST_ROWS).into_iter().map(|(row, open)| {
        let kind = match row {
            Row::Block(_) => BLOCK,
            Row::Company(_) => COMPANY,
            Row::Work(_) => WORK,
        };
        (kind, row, open)
    });
    let wholes = store.shown_wholes(MOST_ROWS).into_iter();
    let wholes = wholes.map(|(block, open)| (WHOLE, Row::Block(block), open));
    let named = rows.chain(wholes).filter_map(|(kind, row, open)| {
        let name = context.name_of_row(row)?;
        Some(Named { kind, open, name })
    });
    let due = context.opened.due.borrow();
    named.chain(due.iter().cloned()).take(MOST_NAMED).collect()
}

impl Named {
    fn line(&self) -> String {
        let sign = if self.open { '+' } else { '-' };
        format!("{}{sign}{}", self.kind, self.name)
    }

    fn of_line(line: &str) -> Option<Named> {
        let mut letters = line.chars();
        let kind = letters.next()?;
        let open = letters.next()? == '+';
        let name = letters.as_str().to_owned();
        Some(Named { kind, open, name })
    }

    /// Opens or closes it, where its row is here.
    fn is_done(&self, context: &Context) -> bool {
        let store = &context.store;
        let Some(block) = store.block_named(&self.name) else {
            return false;
        };
        let row = match self.kind {
            COMPANY => Row::Company(block),
            WORK => Row::Work(store.feed().block(block).turn),
            WHOLE => {
                store.set_shows_whole(block, self.open);
                return true;
            }
            _ => Row::Block(block),
        };
        store.set_open(row, self.open);
        true
    }
}
