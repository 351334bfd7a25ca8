//! Nothing open: where a file can be dropped, and which commands bring sessions here.

use chat_normalize::NotASession;
use leptos::ev;
use leptos::html::{button, code, details, div, h2, input, label, p, span, summary};
use leptos::prelude::*;

use super::{Open, PageRef, State};
use crate::platform::{dom, folder};

/// Finds and follows the sessions of the agents on a machine.
const WATCH: &str = "turnreel";
/// Sends what an agent prints.
const PIPE: &str = "claude -p \"…\" --output-format stream-json --verbose --include-partial-messages | turnreel pipe --prompt \"…\"";

/// The same may be chosen again: of a choice that is no other browsers tell nothing.
fn forget_choice(event: &dom::Event) {
    if let Some(field) = dom::target(event) {
        dom::set_text_property(&field, "value", Some(""));
    }
}

/// The page while nothing is open, or what was to be open is none that can be read.
pub(super) fn view(page: PageRef, state: State) -> impl IntoView {
    let choose = input()
        .attr("type", "file")
        .attr("multiple", "")
        .class("drop__input")
        .on(ev::click, |event| forget_choice(&event))
        .on(ev::change, move |event| {
            page.with_value(|page| page.take_files(folder::take(&event)));
        });
    let choose_folder = input()
        .attr("type", "file")
        .attr("webkitdirectory", "")
        .class("drop__input")
        .on(ev::click, |event| forget_choice(&event))
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
    let agents = move || {
        let agents = state.follows.with(|agents| agents.join(", "));
        match agents.is_empty() {
            true => (
                p().class("muted")
                    .child("To watch the agents on a machine, run this there:"),
                command(WATCH),
            )
                .into_any(),
            false => p()
                .class("muted empty__follows")
                .child((
                    format!("Followed on this machine: {agents}"),
                    span().child(". What they do comes into the list by itself."),
                ))
                .into_any(),
        }
    };
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
        agents,
        p().class("muted")
            .child("To see an agent's text as it is written, send what it prints:"),
        command(PIPE),
        hint,
    ))
}

/// A command, and a button that copies it.
fn command(text: &'static str) -> impl IntoView {
    let copy = button()
        .attr("type", "button")
        .class("link")
        .on(ev::click, move |_| dom::copy_text(text))
        .child("Copy");
    // Lines break between words: a hyphen is part of an option's name.
    let words: Vec<_> = text
        .split_inclusive(' ')
        .map(|word| span().child(word))
        .collect();
    div()
        .class("command")
        .child((code().class("command__text").child(words), copy))
}
