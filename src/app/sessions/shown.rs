//! What the list shows: sections with their sessions, and where each row lies.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;

use chat_feed::sessions::{Arranged, Filter, Row, Section, Stack, Stacks};
use leptos::prelude::*;

use super::super::State;
use super::super::local::LocalSession;
use super::answers::has_answers;
use super::{doing, now};

/// One row of the list.
#[derive(Clone)]
pub(super) enum Item {
    /// A section and how many are in it.
    Heading(&'static str, usize),
    /// A session of dropped files.
    Local(Rc<LocalSession>),
    /// A session of the server.
    Session(Section, Rc<Row>),
}

impl Item {
    fn height_px(&self, is_table: bool, may_answer: bool, now_ms: i64) -> u32 {
        match self {
            Item::Heading(..) if is_table => 56,
            Item::Heading(..) => 36,
            Item::Session(Section::NeedsYou, row) if is_table && has_answers(row, may_answer) => {
                100
            }
            Item::Local(_) | Item::Session(..) if is_table => 64,
            Item::Session(_, session) if doing::has_now(session, now_ms) => 72,
            Item::Local(_) | Item::Session(..) => 52,
        }
    }

    pub(super) fn id(&self) -> Option<&str> {
        match self {
            Item::Heading(..) => None,
            Item::Local(session) => Some(&session.name),
            Item::Session(_, session) => Some(&session.id),
        }
    }
}

/// The sessions below one heading.
enum Listed {
    Local(Vec<Rc<LocalSession>>),
    Sessions(Section, Rc<Vec<Rc<Row>>>),
}

impl Listed {
    fn title(&self) -> &'static str {
        match self {
            Listed::Local(_) => "Your files",
            Listed::Sessions(section, _) => section.title(),
        }
    }

    fn len(&self) -> usize {
        match self {
            Listed::Local(files) => files.len(),
            Listed::Sessions(_, rows) => rows.len(),
        }
    }

    fn item(&self, at: usize) -> Option<Item> {
        match self {
            Listed::Local(files) => files.get(at).cloned().map(Item::Local),
            Listed::Sessions(section, rows) => {
                let row = rows.get(at)?.clone();
                Some(Item::Session(*section, row))
            }
        }
    }

    fn id(&self, at: usize) -> Option<&str> {
        match self {
            Listed::Local(files) => files.get(at).map(|file| file.name.as_str()),
            Listed::Sessions(_, rows) => rows.get(at).map(|row| row.id.as_str()),
        }
    }

    fn ids(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).filter_map(|at| self.id(at))
    }
}

/// A heading with what is below it.
struct Part {
    listed: Listed,
    /// How high they are, the heading first.
    stack: Rc<Stack>,
    /// Some are higher than they need be, so that those below do not move.
    is_held: bool,
    /// Where each session is, once one was looked for among many.
    places: OnceCell<HashMap<String, usize>>,
}

/// So many are looked through one by one.
const FEW: usize = 64;

impl Part {
    fn of(listed: Listed, look: Look, kept_px: &HashMap<&str, u32>) -> Part {
        let mut is_held = false;
        let heading = Item::Heading(listed.title(), listed.len());
        let heading_px = heading.height_px(look.is_table, look.may_answer, look.now_ms);
        let rows = (0..listed.len()).filter_map(|at| listed.item(at));
        let rows_px = rows.map(|item| {
            let height_px = item.height_px(look.is_table, look.may_answer, look.now_ms);
            let kept_px = item.id().and_then(|id| kept_px.get(id));
            let kept_px = kept_px.map_or(height_px, |kept_px| height_px.max(*kept_px));
            is_held |= kept_px > height_px;
            kept_px
        });
        let stack = Stack::of(std::iter::once(heading_px).chain(rows_px));
        Part {
            stack: Rc::new(stack),
            listed,
            is_held,
            places: OnceCell::new(),
        }
    }

    /// The place of a session among its own.
    fn place(&self, id: &str) -> Option<usize> {
        let is_shared = matches!(self.listed, Listed::Sessions(..));
        if !is_shared || self.listed.len() <= FEW {
            return self.listed.ids().position(|one| one == id);
        }
        let places = self.places.get_or_init(|| {
            let ids = self.listed.ids().map(str::to_owned);
            ids.zip(0..).collect()
        });
        places.get(id).copied()
    }
}

/// What heights depend on.
#[derive(Clone, Copy)]
struct Look {
    is_table: bool,
    may_answer: bool,
    now_ms: i64,
}

/// All that is shown, whether it is on the screen or not.
#[derive(Default)]
pub(super) struct Shown {
    parts: Vec<Rc<Part>>,
    pub(super) stack: Stacks,
    pub(super) n_sessions: usize,
    pub(super) is_table: bool,
    may_answer: bool,
    /// The sessions of the server, as this filter shows them.
    arranged: Arranged,
    filter: Filter,
}

impl Shown {
    /// The sessions of the server, in their order.
    pub(super) fn ids(&self) -> Vec<&str> {
        let of_server = |part: &&Rc<Part>| matches!(part.listed, Listed::Sessions(..));
        let parts = self.parts.iter().filter(of_server);
        parts.flat_map(|part| part.listed.ids()).collect()
    }

    /// What the filter shows, in sections; dropped files behind those that wait for an answer. Where the list `holds` still, what
    /// was shown `before` stands where it stood. Sections of which nothing changed are those of before.
    pub(super) fn of(state: State, is_table: bool, before: &Shown, holds: bool) -> Shown {
        let filter = state.filter.with(|text| Filter::parse(text));
        let clock = now(state.now_ms.get());
        let look = Look {
            is_table,
            may_answer: state.may_answer.get(),
            now_ms: clock.now_ms,
        };
        // What was looked at changes what is unread.
        state.seen.track();
        let local: Vec<Rc<LocalSession>> = state.local.with(|sessions| {
            let found = sessions.iter();
            let found = found.filter(|session| session.fits(&filter, clock.now_ms));
            found.cloned().collect()
        });
        let n_local = local.len();
        let mut arranged = state.rows.with(|rows| rows.arrange(&filter, clock));
        let holds = holds && before.filter == filter;
        if holds {
            arranged.hold(&before.arranged);
        }
        let looks_same = (before.is_table, before.may_answer) == (is_table, look.may_answer);
        let is_same = |part: &&Rc<Part>, rows: &Rc<Vec<Rc<Row>>>| {
            matches!(&part.listed, Listed::Sessions(_, others) if Rc::ptr_eq(others, rows))
                && looks_same
                && (holds || !part.is_held)
        };
        let is_shown = |part: &&Rc<Part>| {
            let mut sections = arranged.sections.iter();
            sections.any(|(_, rows)| is_same(part, rows))
        };
        // Of those that move the heights are kept while the list holds still.
        let mut kept_px = HashMap::new();
        if holds && before.is_table == is_table {
            let moved = before.parts.iter().filter(|part| !is_shown(part));
            for part in moved {
                let at = part.listed.ids().zip(1..);
                kept_px.extend(at.map(|(id, at)| {
                    let height_px = part.stack.top_px(at + 1) - part.stack.top_px(at);
                    (id, height_px)
                }));
            }
        }
        let section = |(section, rows): &(Section, Rc<Vec<Rc<Row>>>)| {
            let before = before.parts.iter().find(|part| is_same(part, rows));
            let anew = || {
                let listed = Listed::Sessions(*section, rows.clone());
                Rc::new(Part::of(listed, look, &kept_px))
            };
            before.cloned().unwrap_or_else(anew)
        };
        let mut parts: Vec<Rc<Part>> = arranged.sections.iter().map(section).collect();
        if n_local > 0 {
            let first = arranged.sections.first();
            let is_waiting = first.is_some_and(|(section, _)| *section == Section::NeedsYou);
            let files = Part::of(Listed::Local(local), look, &kept_px);
            parts.insert(usize::from(is_waiting), Rc::new(files));
        }
        Shown {
            stack: Stacks::of(parts.iter().map(|part| part.stack.clone())),
            n_sessions: n_local + arranged.n_shown,
            parts,
            is_table,
            may_answer: look.may_answer,
            arranged,
            filter,
        }
    }

    /// One row of all.
    pub(super) fn item(&self, index: usize) -> Option<Item> {
        let (part, within) = self.stack.part_of(index)?;
        let listed = &self.parts.get(part)?.listed;
        match within.checked_sub(1) {
            None => Some(Item::Heading(listed.title(), listed.len())),
            Some(at) => listed.item(at),
        }
    }

    /// How many sessions stand before a row.
    pub(super) fn n_before(&self, index: usize) -> usize {
        let part = self.stack.part_of(index);
        part.map_or(0, |(part, within)| index - part - usize::from(within > 0))
    }

    fn is_session(&self, index: usize) -> bool {
        let part = self.stack.part_of(index);
        part.is_some_and(|(_, within)| within > 0)
    }

    /// So many sessions on from here; from nowhere, the first or the last.
    pub(super) fn beside(&self, here: Option<usize>, n: usize, is_forward: bool) -> Option<usize> {
        let len = self.stack.len();
        let is_session = |index: &usize| self.is_session(*index);
        let found = match (here, is_forward) {
            (Some(here), true) => (here + 1..len).filter(is_session).take(n).last(),
            (Some(here), false) => (0..here).rev().filter(is_session).take(n).last(),
            (None, true) => (0..len).find(is_session),
            (None, false) => (0..len).rev().find(is_session),
        };
        found.or(here)
    }

    /// Those that wait for an answer: they stand first, below their heading.
    pub(super) fn waiting(&self) -> &[Rc<Row>] {
        match self.parts.first().map(|part| &part.listed) {
            Some(Listed::Sessions(Section::NeedsYou, rows)) => rows,
            _ => &[],
        }
    }

    /// The place of what has this id.
    pub(super) fn index_of(&self, id: &str) -> Option<usize> {
        let mut first = 0;
        for part in &self.parts {
            if let Some(at) = part.place(id) {
                return Some(first + 1 + at);
            }
            first += part.stack.len();
        }
        None
    }

    /// The first session that waits for an answer.
    pub(super) fn first_waiting(&self) -> Option<usize> {
        (!self.waiting().is_empty()).then_some(1)
    }

    /// The session that waits for an answer behind the one of this id, where that does; else the first.
    pub(super) fn next_waiting(&self, at: Option<&str>) -> Option<usize> {
        let first = self.first_waiting()?;
        let waiting = self.waiting();
        let here = waiting.iter().position(|row| Some(row.id.as_str()) == at);
        let next = here.map_or(0, |here| (here + 1) % waiting.len());
        Some(first + next)
    }

    /// Where to scroll a screen of this height that a row is seen, with what is above and below it; `None` where it is.
    pub(super) fn reveal(&self, index: usize, scroll_px: u32, screen_px: u32) -> Option<u32> {
        let around = [index + 1, index.saturating_sub(1), index].into_iter();
        let to_px = around
            .filter(|at| *at < self.stack.len())
            .fold(scroll_px, |px, at| {
                self.stack.reveal(at, px, screen_px).unwrap_or(px)
            });
        (to_px != scroll_px).then_some(to_px)
    }
}
