//! The page's title: how much is new or waits, and what is open.

use std::rc::Rc;

use leptos::prelude::*;

use super::state::{Open, State};
use super::{Page, sessions};
use crate::platform::{clock, frame, location};

impl Page {
    /// Lets the title say how many sessions wait.
    pub(super) fn follow_waiting(self: &Rc<Self>) {
        let (page, state) = (self.clone(), self.state);
        let owner = Owner::current().unwrap_or_default();
        owner.with(|| {
            Effect::new(move |_| {
                let beside = sessions::waiting_beside(state);
                let beside = if frame::is_hidden() { beside } else { 0 };
                let n_waiting = sessions::waiting(state) + beside;
                let n_waiting = u32::try_from(n_waiting).unwrap_or(u32::MAX);
                if page.n_waiting.replace(n_waiting) != n_waiting {
                    page.write_title();
                }
            });
        });
    }

    /// Writes it anew.
    pub(super) fn write_title(&self) {
        let title = self.title.borrow().clone().filter(|it| !it.is_empty());
        let named = || {
            let State {
                open, rows, local, ..
            } = self.state;
            match open.get_untracked() {
                Open::Nothing => None,
                Open::Session(id) => rows.with_untracked(|rows| {
                    let row = rows.get(&id)?;
                    Some(row.name(&clock::day_and_time))
                }),
                Open::Together(ids) => Some(format!("{} sessions", ids.len())),
                Open::Local(name) => local.with_untracked(|local| {
                    let found = local.iter().find(|session| session.name == name)?;
                    Some(found.title())
                }),
                Open::Address(address) => address
                    .rsplit('/')
                    .find(|part| !part.is_empty())
                    .map(str::to_owned),
            }
        };
        let mut text = match title.or_else(named) {
            Some(title) => format!("{title} · Turnreel"),
            None => "Turnreel".to_owned(),
        };
        let n_news = self.n_new.get().saturating_add(self.n_waiting.get());
        if n_news > 0 {
            text = format!("({n_news}) {text}");
        }
        location::set_title(&text);
    }
}
