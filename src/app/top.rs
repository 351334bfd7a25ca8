//! What stands above the feed, or in its place: the way back, what is wrong, the form that asks for the token.

use std::rc::Rc;

use leptos::ev;
use leptos::html::{button, code, div, form, h1, h2, input, p, span};
use leptos::prelude::*;

use super::{Open, Page, PageRef, State, empty, first, sessions, together};
use crate::element;
use crate::platform::{dom, tab_storage};
use crate::transport::link::Server;

/// What stands above the feed, or in its place.
pub(super) fn view(page: PageRef, state: State) -> impl IntoView {
    // It is not put before what is read without the server: the list says it then.
    let asks = Memo::new(move |_| {
        let elsewhere = matches!(state.open.get(), Open::Local(_) | Open::Address(_));
        state.refused.get() && !elsewhere
    });
    // The list and the feed are refused each for itself: what was typed after the first stays.
    let trouble = move || asks.get().then(|| token_form(page));
    let problem = move || {
        let text = state.problem.get()?;
        let close = button()
            .attr("type", "button")
            .class("link")
            .on(ev::click, move |_| state.problem.set(None))
            .child("Close");
        let said = span().child((text, " ", close));
        Some(p().class("refused").attr("role", "alert").child(said))
    };
    let looking = move || {
        let told = state.looking.get()?;
        let told = p().class("refused refused--plain").child(told);
        Some(told.attr("role", "status"))
    };
    let ways = move || {
        let failed = state.failed.get();
        match state.open.get() {
            Open::Nothing => Some(empty::view(page, state).into_any()),
            Open::Local(_) | Open::Address(_) if failed => {
                Some(empty::view(page, state).into_any())
            }
            Open::Session(_) if failed => Some(all_sessions(page).into_any()),
            Open::Session(_) | Open::Together(_) | Open::Local(_) | Open::Address(_) => None,
        }
    };
    (
        h1().class("visually-hidden").child("Turnreel"),
        back_button(page, state),
        sessions::list_button(state, true),
        trouble,
        problem,
        looking,
        ways,
        together::view(page, state),
    )
}

/// On narrow pages the list and the feed take turns.
fn back_button(page: PageRef, state: State) -> impl IntoView {
    let way = move || match state.is_alone() {
        true => "Open another",
        false => "Sessions",
    };
    let n_waiting = Memo::new(move |_| sessions::waiting(state));
    button()
        .attr("type", "button")
        .class("back")
        .on(ev::click, move |_| {
            page.with_value(|page| page.go_back_to_list());
        })
        .attr("title", way)
        .attr("aria-label", move || {
            sessions::named(way(), n_waiting.get())
        })
        .child((sessions::back(), move || sessions::badge(n_waiting.get())))
}

/// The way on from a session that is not there.
fn all_sessions(page: PageRef) -> impl IntoView {
    button()
        .attr("type", "button")
        .class("button onward")
        .on(ev::click, move |_| {
            page.with_value(|page| page.go_back_to_list())
        })
        .child("All sessions")
}

/// Asks for the token that the server wants.
fn token_form(page: PageRef) -> impl IntoView {
    let typed = RwSignal::new(String::new());
    let connect = move |event: ev::SubmitEvent| {
        event.prevent_default();
        let token = typed.get_untracked().trim().to_owned();
        if !token.is_empty() {
            page.with_value(|page| page.connect_with(token));
        }
    };
    let field = input()
        .attr("type", "password")
        .attr("autocomplete", "off")
        .attr("placeholder", "Paste the token")
        .attr("aria-label", "Token")
        .class("field")
        .on(ev::input, move |event| {
            typed.set(event_target_value(&event))
        });
    let submit = button()
        .attr("type", "submit")
        .class("button button--primary")
        .child("Connect");
    let server = Server::new(None, None).map(|server| server.name().to_owned());
    let server = server.unwrap_or_default();
    let why = match page.with_value(|page| page.token.borrow().is_some()) {
        true => format!(" — {server} does not take this token"),
        false => format!(" — {server} asks for its token"),
    };
    let explained = (
        "It is in the address that ",
        code().child("turnreel serve"),
        " prints, and in the file ",
        code().child("token"),
        " in its data folder. Dropped files open without it.",
    );
    let title = h2()
        .class("refused__title")
        .child(("Refused", span().class("refused__why").child(why)));
    form().class("refused").on(ev::submit, connect).child((
        div()
            .class("refused__head")
            .attr("role", "alert")
            .child((sessions::lock(), title)),
        p().class("muted").child(explained),
        div().class("refused__row").child((field, submit)),
    ))
}

impl Page {
    pub(super) fn connect_with(self: &Rc<Self>, token: String) {
        self.state.refused.set(false);
        self.state.connection.set(None);
        self.set_token(Some(token));
        self.follow_list();
    }

    fn set_token(&self, token: Option<String>) {
        // Those that are watched together stand beside it.
        for feed in dom::all(element::NAME) {
            dom::set_text_property(&feed, "token", token.as_deref());
        }
        tab_storage::set(first::TOKEN_KEY, token.as_deref());
        *self.token.borrow_mut() = token;
    }

    /// The server does not take the token: it is not offered again, and asked for.
    pub(super) fn refuse(&self) {
        tab_storage::set(first::TOKEN_KEY, None);
        self.state.refused.set(true);
    }
}
