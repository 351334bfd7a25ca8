//! What is wrong with the server of the list, while the list stays.

use leptos::ev;
use leptos::html::{button, div};
use leptos::prelude::*;

use crate::app::{Open, PageRef, State};
use crate::transport::Connection;

/// The server wants its token, while something is shown that needs none.
pub(super) fn refused_note(page: PageRef) -> impl IntoView + use<> {
    let leave = button()
        .attr("type", "button")
        .class("link")
        .on(ev::click, move |_| page.with_value(|page| page.leave()))
        .child("Enter it…");
    div()
        .class("sessions__note")
        .attr("role", "status")
        .child(("The server asks for its token. ", leave))
}

/// What is wrong with the connection to the list, if anything is; the list stays.
pub(super) fn connection_note(state: State) -> Option<impl IntoView + use<>> {
    // It answers, and with a word that stands above what is open.
    if state.refused.get() {
        return None;
    }
    let text = match state.connection.get()? {
        // What is open counts to a next try of its own: two figures would contradict each other.
        Connection::Reconnecting { .. } if state.open.get() != Open::Nothing => {
            "The server does not answer.".to_owned()
        }
        Connection::Reconnecting { seconds, .. } => {
            format!("The server does not answer. Next try in {seconds}\u{a0}s.")
        }
        Connection::Offline => "No network. The list is as it was.".to_owned(),
        Connection::Connecting
        | Connection::CatchingUp(_)
        | Connection::Live
        | Connection::Polling
        | Connection::Ended => return None,
    };
    Some(
        div()
            .class("sessions__note")
            .attr("role", "status")
            .child(text),
    )
}
