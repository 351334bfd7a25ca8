//! What the list shows: sections with their sessions, and where each row lies.

use std::collections::HashMap;
use std::rc::Rc;

use chat_feed::sessions::{Arranged, Filter, Row, Section, Stack};
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

    fn waits(&self) -> bool {
        matches!(self, Item::Session(Section::NeedsYou, _))
    }

    pub(super) fn id(&self) -> Option<&str> {
        match self {
            Item::Heading(..) => None,
            Item::Local(session) => Some(&session.name),
            Item::Session(_, session) => Some(&session.id),
        }
    }
}

/// All that is shown, whether it is on the screen or not.
#[derive(Default)]
pub(super) struct Shown {
    pub(super) items: Vec<Item>,
    pub(super) stack: Stack,
    pub(super) n_sessions: usize,
    pub(super) is_table: bool,
    /// The sessions of the server, as this filter shows them.
    arranged: Arranged,
    filter: Filter,
}

impl Shown {
    /// The sessions of the server, in their order.
    pub(super) fn ids(&self) -> Vec<&str> {
        let ids = self.items.iter().filter_map(|item| match item {
            Item::Session(_, row) => Some(row.id.as_str()),
            Item::Heading(..) | Item::Local(_) => None,
        });
        ids.collect()
    }

    /// What the filter shows, in sections; dropped files behind those that wait for an answer. Where the list holds still, what was shown `before` stands
    /// where it stood.
    pub(super) fn of(state: State, is_table: bool, before: Option<&Shown>) -> Shown {
        let filter = state.filter.with(|text| Filter::parse(text));
        let clock = now(state.now_ms.get());
        let may_answer = state.may_answer.get();
        // What was looked at changes what is unread.
        state.seen.track();
        let local: Vec<Item> = state.local.with(|sessions| {
            let found = sessions.iter();
            let found = found.filter(|session| session.fits(&filter, clock.now_ms));
            found.cloned().map(Item::Local).collect()
        });
        let n_local = local.len();
        let mut arranged = state.rows.with(|rows| rows.arrange(&filter, clock));
        let before = before.filter(|before| before.filter == filter);
        if let Some(before) = before {
            arranged.hold(&before.arranged);
        }
        let mut items = Vec::new();
        let add = |items: &mut Vec<Item>, (section, rows): &(Section, Vec<Rc<Row>>)| {
            items.push(Item::Heading(section.title(), rows.len()));
            let rows = rows.iter().cloned();
            items.extend(rows.map(|row| Item::Session(*section, row)));
        };
        let first = arranged.sections.first();
        let is_waiting = first.is_some_and(|(section, _)| *section == Section::NeedsYou);
        let (waiting, others) = arranged.sections.split_at(usize::from(is_waiting));
        for section in waiting {
            add(&mut items, section);
        }
        if n_local > 0 {
            items.push(Item::Heading("Your files", n_local));
            items.extend(local);
        }
        for section in others {
            add(&mut items, section);
        }
        let kept = before.filter(|before| before.is_table == is_table);
        let kept = kept.map(Shown::heights_px).unwrap_or_default();
        Shown {
            stack: Stack::of(items.iter().map(|item| {
                let height_px = item.height_px(is_table, may_answer, clock.now_ms);
                let kept_px = item.id().and_then(|id| kept.get(id));
                kept_px.map_or(height_px, |kept_px| height_px.max(*kept_px))
            })),
            n_sessions: n_local + arranged.n_shown,
            items,
            is_table,
            arranged,
            filter,
        }
    }

    /// How high each session is, by its id.
    fn heights_px(&self) -> HashMap<&str, u32> {
        let items = self.items.iter().enumerate();
        let heights = items.filter_map(|(index, item)| {
            let height_px = self.stack.top_px(index + 1) - self.stack.top_px(index);
            Some((item.id()?, height_px))
        });
        heights.collect()
    }

    /// So many sessions on from here; from nowhere, the first or the last.
    pub(super) fn beside(&self, here: Option<usize>, n: usize, is_forward: bool) -> Option<usize> {
        let is_session = |index: &usize| self.items[*index].id().is_some();
        let found = match (here, is_forward) {
            (Some(here), true) => (here + 1..self.items.len())
                .filter(is_session)
                .take(n)
                .last(),
            (Some(here), false) => (0..here).rev().filter(is_session).take(n).last(),
            (None, true) => (0..self.items.len()).find(is_session),
            (None, false) => (0..self.items.len()).rev().find(is_session),
        };
        found.or(here)
    }

    /// The session of the server with this id.
    pub(super) fn session(&self, id: &str) -> Option<&Rc<Row>> {
        self.items.iter().find_map(|item| match item {
            Item::Session(_, row) if row.id == id => Some(row),
            Item::Session(..) | Item::Heading(..) | Item::Local(_) => None,
        })
    }

    /// The place of what has this id.
    pub(super) fn index_of(&self, id: &str) -> Option<usize> {
        self.items.iter().position(|item| item.id() == Some(id))
    }

    /// The first session that waits for an answer.
    pub(super) fn first_waiting(&self) -> Option<usize> {
        self.items.iter().position(Item::waits)
    }

    /// The session that waits for an answer behind the one of this id, where that does; else the first.
    pub(super) fn next_waiting(&self, at: Option<&str>) -> Option<usize> {
        let first = self.first_waiting()?;
        let waiting = self.items[first..].iter().take_while(|item| item.waits());
        let ids: Vec<Option<&str>> = waiting.map(Item::id).collect();
        let here = ids.iter().position(|id| id.is_some() && *id == at);
        let next = here.map_or(0, |here| (here + 1) % ids.len());
        Some(first + next)
    }

    /// Where to scroll a screen of this height that a row is seen, with what is above and below it; `None` where it is.
    pub(super) fn reveal(&self, index: usize, scroll_px: u32, screen_px: u32) -> Option<u32> {
        let around = [index + 1, index.saturating_sub(1), index].into_iter();
        let to_px = around
            .filter(|at| *at < self.items.len())
            .fold(scroll_px, |px, at| {
                self.stack.reveal(at, px, screen_px).unwrap_or(px)
            });
        (to_px != scroll_px).then_some(to_px)
    }
}
