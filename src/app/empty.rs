//! Nothing open: where a file can be dropped, and which command sends events.

use leptos::ev;
use leptos::html::{button, code, div, h2, input, label, p, span};
use leptos::prelude::*;

use super::{PageRef, State};
use crate::platform::{dom, stream};

const COMMAND: &str = "claude -p \"…\" --output-format stream-json --verbose --include-partial-messages | turnreel pipe";

/// The page while nothing is open.
pub(super) fn view(page: PageRef, state: State) -> impl IntoView {
    let choose = input()
        .attr("type", "file")
        .attr("accept", ".jsonl,.json,.ndjson,.log,.txt")
        .class("drop__input")
        .on(ev::change, move |event| {
            if let Some(file) = stream::file_of(&event) {
                page.with_value(|page| page.open_file(&file));
            }
        });
    let drop = label().class("drop").child((
        span()
            .class("drop__what")
            .child("Drop a session’s file anywhere on this page"),
        span().class("button").child("Choose a file…"),
        choose,
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
        let n_rows = state.rows.with(Vec::len);
        (n_rows > 0).then(|| p().class("muted").child("Or choose one from the list."))
    };
    div().class("empty").child((
        h2().class("empty__title").child("Open a session"),
        p().class("muted").child("Drop a log here, or send events from an agent that is running. A dropped file stays on this machine."),
        drop,
        p().class("muted").child("Sessions of Claude Code, Codex and OpenCode are read, and ChatEvent logs."),
        command,
        hint,
    ))
}
