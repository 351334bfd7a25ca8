//! Answers that are given in the list, where it is the whole page: buttons on the rows of sessions that wait for one.
//!
//! They lie above the list and not in it, because an option holds nothing that can be pressed. A request whose row cannot
//! show all of it is answered in its session.

use std::rc::Rc;

use chat_feed::choices::Choice;
use chat_feed::marks;
use chat_feed::sessions::{Row, Whole};
use leptos::attr::Attribute;
use leptos::ev;
use leptos::html::{Button, HtmlElement, button, div, span};
use leptos::prelude::*;
use serde_json::{Value, json};

use super::list::{self, List};
use super::shown::Shown;
use crate::element::seen;
use crate::platform::{clock, dom, frame};
use crate::transport::answer::{self, Refusal, Route};

/// Where they lie in a row, in px from its top.
const TOP_PX: u32 = 60;
/// So many sessions can be answered in the list; they stand first in it.
const MOST: usize = 100;
/// A button that was there for less time was not read yet: what is asked may have changed under the pointer.
const UNREAD_MS: f64 = 500.0;

/// How an answer fares.
#[derive(Clone, PartialEq)]
enum Progress {
    /// It is on its way, or what came of it is.
    Sending,
    /// It was not taken; why.
    Unsent(String),
}

/// A session that waits, with what it waits for: its buttons stand for as long as both are the same.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Waiting {
    session: String,
    request: Option<String>,
}

/// The sessions whose rows have room for what is asked and for what can be answered; `None` before that is known.
type Fitting = RwSignal<Option<Vec<String>>>;

/// Whether a row has room for answers, and its reader may give some.
pub(super) fn has_answers(row: &Row, may_answer: bool) -> bool {
    let elsewhere = row.ask.as_ref().and_then(|ask| ask.answerable) == Some(false);
    may_answer && !elsewhere
}

/// The buttons of all rows that wait for an answer.
pub(super) fn view(list: List) -> impl IntoView {
    let fitting: Fitting = RwSignal::new(None);
    measure(list, fitting);
    For(ForProps::builder()
        .each(move || waiting(&list.shown.get(), list.state.may_answer.get()))
        .key(Waiting::clone)
        .children(move |waiting: Waiting| {
            let shown = list.shown.get_untracked();
            let mut rows = shown.waiting().iter();
            let row = rows.find(|row| row.id == waiting.session);
            row.map(|row| group(list, fitting, row))
        })
        .build())
}

fn waiting(shown: &Shown, may_answer: bool) -> Vec<Waiting> {
    if !shown.is_table {
        return Vec::new();
    }
    let rows = shown.waiting().iter();
    let rows = rows.filter(|row| has_answers(row, may_answer));
    let waiting = rows.take(MOST).map(|row| Waiting {
        session: row.id.clone(),
        request: whole_of(row).map(|whole| whole.request_id.clone()),
    });
    waiting.collect()
}

fn whole_of(row: &Row) -> Option<&Whole> {
    row.ask.as_ref()?.whole.as_ref()
}

/// Finds out which rows have room for all of it: nobody is to allow the half of a command. It is known once they are laid out.
fn measure(list: List, fitting: Fitting) {
    Effect::new(move |_| {
        let shown = list.shown.get();
        list.track_window();
        if waiting(&shown, list.state.may_answer.get()).is_empty() {
            return;
        }
        leptos::task::spawn_local(async move {
            // The rows stand with the next tick.
            leptos::task::tick().await;
            let fit = list::uncut_rows();
            if fitting.with_untracked(|before| before.as_ref() != Some(&fit)) {
                fitting.set(Some(fit));
            }
        });
    });
}

/// The buttons of one row.
fn group(list: List, fitting: Fitting, row: &Rc<Row>) -> impl IntoView + use<> {
    let progress = RwSignal::new(None::<Progress>);
    // Since when it stands where it does.
    let placed = StoredValue::new_local((0, frame::now_ms()));
    let (id, whole) = (row.id.clone(), whole_of(row).cloned());
    let is_whole = whole.is_some();
    let kind = row.ask.as_ref().map(|ask| ask.kind.clone());
    let place = {
        let id = id.clone();
        move || {
            let shown = list.shown.get();
            let index = shown.index_of(&id);
            let top_px = index.map_or(0, |index| shown.stack.top_px(index) + TOP_PX);
            // It may have come under a pointer that was about to press another.
            if placed.get_value().0 != top_px {
                placed.set_value((top_px, frame::now_ms()));
            }
            format!("{top_px}px")
        }
    };
    let fits = {
        let id = id.clone();
        move || {
            fitting.with(|fitting| {
                let fits = is_whole && fitting.as_ref()?.contains(&id);
                Some(if fits { "whole" } else { "cut" })
            })
        }
    };
    let answers = whole.map(|whole| {
        let all = answers_of(&whole).into_iter().enumerate();
        let all = all.map(|(nth, answer)| {
            let (id, request_id) = (id.clone(), whole.request_id.clone());
            let (route, body) = (answer.route, answer.body);
            let press = move || {
                if frame::now_ms() - placed.get_value().1 >= UNREAD_MS {
                    send(
                        list,
                        progress,
                        &id,
                        (route, request_id.clone(), body.clone()),
                    );
                }
            };
            press_button(answer.label, nth == 0, progress, press)
                .attr("title", answer.more.as_deref().map(marks::written_out))
        });
        all.collect_view()
    });
    let for_open = id.clone();
    let open = move || list.page.with_value(|page| page.open_session(&for_open));
    let open = press_button("Answer…".to_owned(), false, progress, open);
    let said = move || {
        let (class, role, text) = match progress.get()? {
            Progress::Sending => ("muted", "status", "Sending…".to_owned()),
            Progress::Unsent(why) => ("ask__failed", "alert", format!("Not sent: {why}.")),
        };
        Some(span().class(class).attr("role", role).child(text))
    };
    div()
        .class("answers")
        .attr("data-answers", id.clone())
        .attr("role", "group")
        .attr(
            "aria-label",
            format!(
                "Answer {}",
                marks::written_out(&row.name(&clock::day_and_time))
            ),
        )
        .attr("data-kind", kind)
        .attr("data-fits", fits)
        .style(("inset-block-start", place))
        .on(ev::focusin, move |_| list.hold.focus(true))
        .on(ev::focusout, move |_| list.hold.focus(false))
        .child((answers, span().class("answers__open").child(open), said))
}

/// One answer, as a button.
struct Answer {
    label: String,
    more: Option<String>,
    route: Route,
    body: Value,
}

fn answers_of(whole: &Whole) -> Vec<Answer> {
    let chosen = whole.choose.iter().map(|option| Answer {
        label: option.label.clone(),
        more: option.description.clone(),
        route: Route::Questions,
        body: json!({"outcome": "answered", "answers": [[option.label]]}),
    });
    if !whole.choose.is_empty() {
        return chosen.collect();
    }
    let choices = Choice::all(&whole.permit).into_iter();
    let permits = choices.map(|choice| Answer {
        label: choice.label,
        more: None,
        route: Route::Permissions,
        body: json!({"decision": choice.decision, "scope": choice.scope}),
    });
    permits.collect()
}

fn press_button(
    label: String,
    is_first: bool,
    progress: RwSignal<Option<Progress>>,
    press: impl Fn() + 'static,
) -> HtmlElement<Button, impl Attribute, impl RenderHtml> {
    let class = if is_first {
        "button button--primary"
    } else {
        "button"
    };
    button()
        .attr("type", "button")
        .class(class)
        .attr("aria-disabled", move || {
            (progress.get() == Some(Progress::Sending)).then_some("true")
        })
        .on(ev::click, move |_| {
            if progress.get_untracked() != Some(Progress::Sending) {
                press();
            }
        })
        .child(seen::text(label))
}

/// Whether the focus is at answers, or nowhere, as where the button that had it has gone.
fn is_still_here() -> bool {
    let mut answers = dom::all("[data-answers]").into_iter();
    dom::has_no_focus() || answers.any(|answers| dom::has_focus(&answers))
}

/// Sends an answer, once at a time. What it changes comes back as a row, which has other buttons or none.
fn send(
    list: List,
    progress: RwSignal<Option<Progress>>,
    session: &str,
    (route, request_id, body): (Route, String, Value),
) {
    let Some(server) = list.page.with_value(|page| page.server()) else {
        return;
    };
    progress.set(Some(Progress::Sending));
    let session = session.to_owned();
    leptos::task::spawn_local(async move {
        let sent = answer::send(server, session.clone(), route, request_id, body.to_string());
        match sent.await {
            // Their place goes with the buttons; who has gone elsewhere meanwhile stays there.
            Ok(()) if is_still_here() => list.turn_to(session),
            Ok(()) => {}
            Err(refusal) => {
                let why = match refusal {
                    Refusal::Already(_) => "it was answered before".to_owned(),
                    Refusal::Failed(why) => why,
                };
                // Its group may be gone since, as the row that says who answered does it.
                progress.try_set(Some(Progress::Unsent(why)));
            }
        }
    });
}
