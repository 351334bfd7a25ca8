//! Nothing open: where a file can be dropped, and which command sends events.

use leptos::ev;
use leptos::html::{button, code, div, h2, input, label, p, span};
use leptos::prelude::*;

use super::{PageRef, State};
use crate::platform::{dom, folder};

const COMMAND: &str = "claude -p \"…\" --output-format stream-json --verbose --include-partial-messages | turnreel pipe";

/// The page while nothing is open.
pub(super) fn view(page: PageRef, state: State) -> impl IntoView {
    let choose = input()
        .attr("type", "file")
        .attr("multiple", "")
        .class("drop__input")
        .on(ev::change, move |event| {
            page.with_value(|page| page.take_files(folder::take(&event)));
        });
    let choose_folder = input()
        .attr("type", "file")
        .attr("webkitdirectory", "")
        .class("drop__input")
        .on(ev::change, move |event| {
            page.with_value(|page| page.take_files(folder::take(&event)));
        });
    let drop = div().class("drop").child((
        span()
            .class("drop__what")
            .child("Drop files or a folder anywhere on this page"),
        div().class("drop__ways").child((
            label().class("button").child(("Choose files…", choose)),
            label()
                .class("button")
                .child(("Choose a folder…", choose_folder)),
        )),
    ));
    let copy = button()
        .attr("type", "button")
        .class("link")
        .on(ev::click, |_| dom::copy_text(COMMAND))
        .child("Copy");
    let command = div()
        .class("command")
        .child((code().class("command__text").child(COMMAND), copy));
    let hint = move || {
        let n_rows = state.rows.with(|rows| rows.len());
        (n_rows > 0).then(|| p().class("muted").child("Or choose one from the list."))
    };
    div().class("empty").child((
        h2().class("empty__title").child("Open a session"),
        p().class("muted").child("Drop a log here, or send events from an agent that is running. What you drop stays on this machine."),
        drop,
        p().class("muted").child("It reads sessions of Claude Code, Codex, OpenCode, Gemini CLI, Pi and others, streams of model APIs and agent protocols, and ChatEvent logs."),
        command,
        hint,
    ))
}
