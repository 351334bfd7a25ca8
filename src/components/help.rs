//! The help sheet: all keys, drawn from the table that binds them, and what can be written into the find bar.

use leptos::ev;
use leptos::html::{button, code, div, h2, h3, kbd, section, span};
use leptos::prelude::*;

use super::icon::{Icon, icon};
use super::keys::{self, TABLE};
use crate::platform::dom::{self, Element};

/// What can be asked, and what it means.
const QUESTIONS: &[(&str, &str)] = &[
    ("two words", "Both words; small letters find capitals"),
    ("\"a phrase\"", "Just this phrase"),
    ("/pattern/", "A regular expression"),
    ("-word", "Without this word"),
    ("tool:bash", "Calls of a tool"),
    ("file:src/**", "A file, by name or path"),
    (
        "is:error",
        "Errors; also edit, command, prompt, undone and more",
    ),
    ("agent:explore", "By an agent, or within it"),
];

/// Of more keys for one thing, the first and the last are shown.
const MOST_KEYS: usize = 5;

/// Shows the sheet in a dialog element. What can be done with a row is drawn only while the focus is in it: a focus that
/// was there comes back to the row.
pub(crate) fn show(dialog: &Element) {
    let around = dialog.parent_element();
    let active = around.and_then(|around| dom::focused_in(&around));
    let actions = active.and_then(|active| active.closest(".row-actions").ok().flatten());
    if let Some(row) = actions.and_then(|actions| actions.parent_element()) {
        dom::focus(&row);
    }
    dom::call_method(dialog, "showModal");
}

/// What the sheet says; `dialog` is what it stands in.
pub(crate) fn view(dialog: Element) -> impl IntoView {
    let close = button()
        .attr("type", "button")
        .class("icon-button")
        .attr("aria-label", "Close")
        .on(ev::click, move |_| dom::call_method(&dialog, "close"))
        .child(icon(Icon::Cross));
    let sections: Vec<_> = TABLE
        .iter()
        .map(|part| {
            let lines: Vec<_> = part
                .bindings
                .iter()
                .map(|binding| {
                    let keys: Vec<_> = match binding.keys {
                        // The digits, say.
                        [first, .., last] if binding.keys.len() > MOST_KEYS => vec![
                            key_caps(first).into_any(),
                            span().class("subtle").child("to").into_any(),
                            key_caps(last).into_any(),
                        ],
                        keys => keys.iter().map(|key| key_caps(key).into_any()).collect(),
                    };
                    let words = span().class("help__words").child(binding.words);
                    div()
                        .class("help__line")
                        .child((words, span().class("help__keys").child(keys)))
                })
                .collect();
            section()
                .class("help__section")
                .child((h3().child(part.title), lines))
        })
        .collect();
    let questions: Vec<_> = QUESTIONS
        .iter()
        .map(|(question, meaning)| {
            div().class("help__line").child((
                span().class("help__words").child(*meaning),
                code().class("help__question").child(*question),
            ))
        })
        .collect();
    let questions = section()
        .class("help__section")
        .child((h3().child("What to write into find"), questions));
    (
        div()
            .class("help__head")
            .child((h2().attr("id", "help-title").child("Keys"), close)),
        div().class("help__sections").child((sections, questions)),
    )
}

fn key_caps(key: &'static str) -> impl IntoView {
    let caps: Vec<_> = keys::caps(key)
        .into_iter()
        .map(|cap| kbd().child(cap))
        .collect();
    span().class("help__key").child(caps)
}
