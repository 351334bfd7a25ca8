//! Sessions are removed from the server: what goes is said first, and the reader confirms it in a dialog.

mod dialog;

use chat_feed::sessions::Row;
use chat_feed::units;
use leptos::prelude::*;

use super::{Open, Page, PageRef, State, sessions};
use crate::element;
use crate::platform::{clock, dom};
use crate::transport::link::Server;
use crate::transport::removal::{Removed, remove};

pub(super) use dialog::view;

/// Sessions that are asked about.
#[derive(Clone, PartialEq)]
pub(super) struct Asked {
    /// Those that are still there.
    sessions: Vec<Named>,
    step: Step,
    /// The row of the list that keys go on at then.
    beside: Option<String>,
}

/// A session as it is called.
#[derive(Clone, PartialEq)]
struct Named {
    id: String,
    name: String,
    /// Whose it is, where, and how much.
    by: String,
}

impl Named {
    fn of(row: &Row) -> Named {
        let events = units::count(row.events, "event", "events");
        let by = [row.agent_name(), row.project(), Some(&events)];
        let by: Vec<&str> = by.into_iter().flatten().collect();
        Named {
            id: row.id.clone(),
            name: row.name(&clock::day_and_time),
            by: by.join(" · "),
        }
    }
}

/// How far it is.
#[derive(Clone, PartialEq)]
enum Step {
    /// The reader decides.
    Asking,
    /// So many are at work, and stay unless the reader wants them gone all the same.
    Working,
    /// The server removes them.
    Removing,
    /// It could not be done; why.
    Failed(String),
}

impl Page {
    /// Asks whether sessions are to be removed; keys go on at the row `beside` them.
    pub(super) fn ask_to_remove(&self, ids: &[String], beside: Option<String>) {
        let named: Vec<Named> = self.state.rows.with_untracked(|rows| {
            let known = ids.iter().filter_map(|id| rows.get(id));
            known.map(|row| Named::of(row)).collect()
        });
        self.ask_about(named, beside);
    }

    /// The same of the session that is open; the list may not have it, or not yet.
    pub(super) fn ask_to_remove_open(&self) {
        if let Open::Session(id) = self.state.open.get_untracked() {
            let rows = self.state.rows;
            let named = rows.with_untracked(|rows| rows.get(&id).map(|row| Named::of(row)));
            let named = named.unwrap_or_else(|| Named {
                name: id.clone(),
                id,
                by: String::new(),
            });
            self.ask_about(vec![named], None);
        }
    }

    fn ask_about(&self, named: Vec<Named>, beside: Option<String>) {
        let state = self.state;
        if state.may_remove.get_untracked() && !named.is_empty() {
            // What is said next is said also where it is the same.
            state.removed.set(String::new());
            state.removing.set(Some(Asked {
                sessions: named,
                step: Step::Asking,
                beside,
            }));
        }
    }

    /// Says that they are gone.
    fn note_removed(&self, gone: &[Named]) {
        let is_there = |id: &String| gone.iter().all(|gone| gone.id != *id);
        self.state.chosen.update(|chosen| chosen.retain(is_there));
        self.state.removed.set(match gone {
            [one] => format!("Removed: {}", one.name),
            gone => {
                let n = gone.len() as u64;
                format!("Removed: {}", units::count(n, "session", "sessions"))
            }
        });
    }

    /// Keys go on in the list, also where one of those that are gone was open.
    fn go_on_without(&self, gone: &[Named], beside: Option<String>) {
        if beside.is_some() {
            self.state.at.set(beside);
        }
        let is_gone = |id: &String| gone.iter().any(|gone| gone.id == *id);
        let is_open = self
            .state
            .open
            .with_untracked(|open| matches!(open, Open::Session(id) if is_gone(id)));
        match is_open {
            true => self.go_back_to_list(),
            false => sessions::focus_list(),
        }
    }
}

/// The reader wants none of it. Where what was pressed to come here is gone, keys go on in what is there.
fn leave(page: PageRef, state: State) {
    if state.removing.with_untracked(Option::is_none) {
        return;
    }
    state.removing.set(None);
    leptos::task::spawn_local(async move {
        // Until the dialog is gone nothing around it takes the focus.
        leptos::task::tick().await;
        if !dom::has_no_focus() {
            return;
        }
        let is_session = |open: &Open| matches!(open, Open::Session(_));
        let scroller = page.with_value(|page| dom::element_property(&page.feed, "scroller"));
        match scroller.filter(|_| state.open.with_untracked(is_session)) {
            Some(scroller) => dom::focus(&scroller),
            None => sessions::focus_list(),
        }
    });
}

/// What became of the sessions that were to be removed.
#[derive(Default)]
struct Outcome {
    gone: Vec<Named>,
    stay: Vec<Named>,
    /// What is left of those that are gone.
    left: Vec<String>,
    /// Why not all could be removed.
    failure: Option<String>,
}

async fn remove_all(server: &Server, sessions: Vec<Named>, force: bool) -> Outcome {
    let mut outcome = Outcome::default();
    for one in sessions {
        // What hinders one hinders all.
        let removed = match &outcome.failure {
            Some(_) => Ok(Removed::Works),
            None => remove(server, &one.id, force).await,
        };
        match removed {
            Ok(Removed::Gone(left)) => {
                let left = left.iter().map(|left| format!("{}: {left}", one.name));
                outcome.left.extend(left);
                outcome.gone.push(one);
            }
            Ok(Removed::Works) => outcome.stay.push(one),
            Err(why) => {
                outcome.failure = Some(why);
                outcome.stay.push(one);
            }
        }
    }
    outcome
}

/// Removes what is asked about, one after the other.
fn begin(page: PageRef, state: State, force: bool) {
    let asked = state.removing.get_untracked();
    let Some(mut asked) = asked.filter(|asked| asked.step != Step::Removing) else {
        return;
    };
    let Some(server) = page.with_value(|page| page.server()) else {
        return;
    };
    asked.step = Step::Removing;
    state.removing.set(Some(asked.clone()));
    leptos::task::spawn_local(async move {
        let outcome = remove_all(&server, asked.sessions.clone(), force).await;
        // The reader may have left, and been asked something else.
        let waits = state
            .removing
            .with_untracked(|now| now.as_ref() == Some(&asked));
        let is_done = outcome.stay.is_empty();
        if waits {
            let step = outcome.failure.map_or(Step::Working, Step::Failed);
            let asks_again = !is_done && step == Step::Working;
            let sessions = outcome.stay;
            state.removing.set((!is_done).then(|| Asked {
                sessions,
                step,
                beside: asked.beside.clone(),
            }));
            // The dialog is gone, or says so, with the next tick.
            leptos::task::tick().await;
            if asks_again {
                dialog::focus_cancel();
            }
        } else if let Some(why) = outcome.failure {
            state.problem.set(Some(format!("Not removed: {why}.")));
        }
        if !outcome.gone.is_empty() {
            page.with_value(|page| page.note_removed(&outcome.gone));
        }
        if waits && is_done {
            page.with_value(|page| page.go_on_without(&outcome.gone, asked.beside));
        } else if !waits {
            // What gave the focus back may have gone with those that were chosen.
            leptos::task::tick().await;
            if dom::has_no_focus() {
                sessions::focus_list();
            }
        }
        if !outcome.left.is_empty() {
            let words = format!("Not all of it is removed. {}.", outcome.left.join(". "));
            state.problem.set(Some(words));
        }
    });
}

/// Lets the feed offer it for the session that is open, where its reader may.
pub(super) fn offer(page: &Page) {
    let (state, feed) = (page.state, page.feed.clone());
    let owner = Owner::current().unwrap_or_default();
    owner.with(|| {
        Effect::new(move |_| {
            let is_session = state.open.with(|open| matches!(open, Open::Session(_)));
            let may = is_session && state.may_remove.get();
            dom::toggle_attribute(&feed, element::MAY_REMOVE, may);
        });
    });
}
