//! Nothing open: where a file can be dropped, and which command sends events.

use chat_normalize::NotASession;
use leptos::ev;
use leptos::html::{button, code, details, div, h2, input, label, p, span, summary};
use leptos::prelude::*;

use super::{Open, PageRef, State};
use crate::platform::{dom, folder};

const COMMAND: &str = "claude -p \"…\" --output-format stream-json --verbose --include-partial-messages | turnreel pipe --prompt \"…\"";

/// The page while nothing is open, or what was to be open is none that can be read.
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
    let formats = details().class("muted").child((
        summary().class("link").child("All formats"),
        p().child(NotASession::formats()),
    ));
    let copy = button()
        .attr("type", "button")
        .class("link")
        .on(ev::click, |_| dom::copy_text(COMMAND))
        .child("Copy");
    // Lines break between words: a hyphen is part of an option's name.
    let words: Vec<_> = COMMAND
        .split_inclusive(' ')
        .map(|word| span().child(word))
        .collect();
    let command = div()
        .class("command")
        .child((code().class("command__text").child(words), copy));
    let hint = move || {
        let n_rows = state.rows.with(|rows| rows.len());
        let hints = n_rows > 0 && state.open.get() == Open::Nothing;
        hints.then(|| p().class("muted").child("Or choose one from the list."))
    };
    // The note on what was opened says what is read.
    let failed = state.failed.get_untracked();
    let read = (!failed).then_some("Sessions of Claude Code, Codex, OpenCode, Gemini CLI, Pi and others are read, streams of model APIs and agent protocols, and ChatEvent logs. ");
    let title = match failed {
        true => "Open another session",
        false => "Open a session",
    };
    div().class("empty").child((
        h2().class("empty__title").child(title),
        p().class("muted")
            .child((read, "What you open stays on this machine.")),
        drop,
        formats,
        p().class("muted")
            .child("To watch an agent at work, send its output here as it comes:"),
        command,
        hint,
    ))
}
