//! The answers to a request: buttons, a denial with words, and what came of the one that was given.

use chat_event::payload::{PermissionRequest, PermissionResolved};
use chat_feed::BlockId;
use chat_feed::choices::Choice;
use leptos::ev;
use leptos::html::{button, details, div, input, p, summary};
use leptos::prelude::*;

use super::{by, decided};
use crate::components::answering::{Answer, Progress, Unsent};
use crate::components::{Ctx, seen};
use crate::platform::dom;

/// The buttons, or a word that the answer is given elsewhere.
pub(super) fn answers(ctx: Ctx, id: BlockId, request: &PermissionRequest) -> AnyView {
    let choices = Choice::all(&request.options);
    let (offered, progress, draft) = ctx.with_value(|context| {
        let answering = &context.answering;
        (
            answering.is_offered() && request.answerable != Some(false),
            answering.progress(id),
            answering.draft(id),
        )
    });
    if !offered {
        let labels: Vec<&str> = request
            .options
            .iter()
            .map(|option| option.label.as_str())
            .filter(|label| !label.is_empty())
            .collect();
        return elsewhere(&labels.join(" · "));
    }
    let sending = progress == Some(Progress::Sending);
    let request_id = request.request_id.clone();
    let send = move |decision: &'static str, scope, with_message: bool| {
        ctx.with_value(|context| {
            let message = context.answering.draft(id).message.trim().to_owned();
            let message = (with_message && !message.is_empty()).then_some(message);
            let request_id = request_id.clone();
            let answer = Answer::Permission {
                request_id,
                decision,
                scope,
                message,
            };
            context.answer(id, answer);
        });
    };
    let first_allow = choices.iter().position(|choice| choice.decision == "allow");
    let buttons: Vec<_> = choices
        .into_iter()
        .enumerate()
        .map(|(at, choice)| {
            let (send, decision, scope) = (send.clone(), choice.decision, choice.scope);
            answer_button(choice.label, first_allow == Some(at), sending, move || {
                send(decision, scope, false)
            })
        })
        .collect();
    let deny = {
        let send = send.clone();
        move || send("deny", None, true)
    };
    let words = input()
        .attr("type", "text")
        .class("field")
        .attr("maxlength", "2000")
        .attr("aria-label", "What the agent is told with the denial")
        .attr("placeholder", "What to do instead")
        .prop("value", draft.message)
        .on(ev::input, move |event| {
            let text = event_target_value(&event);
            ctx.with_value(|context| context.answering.edit(id, |draft| draft.message = text));
        })
        .on(ev::keydown, {
            let deny = deny.clone();
            move |event| {
                if event.key() == "Enter" && !dom::is_composing(&event) {
                    event.prevent_default();
                    deny();
                }
            }
        });
    // Who opens it writes next; elsewhere letters are keys that act.
    let write = |event: ev::Event| {
        let details = event_target::<dom::Element>(&event);
        if dom::attribute(&details, "open").is_some()
            && let Some(field) = dom::first_in(&details, ".field")
        {
            dom::focus(&field);
        }
    };
    let more = details().class("ask__more").on(ev::toggle, write).child((
        summary().class("link").child("Deny with a message…"),
        div().class("ask__row").child((
            words,
            answer_button("Deny".to_owned(), false, sending, deny),
        )),
    ));
    here((
        div()
            .class("ask__row")
            .attr("role", "group")
            .attr("aria-label", "Answer")
            .child(buttons),
        more,
        came_of_it(progress, |first| {
            let resolved: Option<PermissionResolved> = first.parse();
            resolved.map(|resolved| format!("{} {}", decided(&resolved), by(&resolved)))
        }),
    ))
}

/// A button that answers. While an answer is on its way none does, but they keep their place in the order of focus.
pub(in crate::components) fn answer_button(
    label: String,
    primary: bool,
    sending: bool,
    press: impl Fn() + 'static,
) -> impl IntoView {
    button()
        .attr("type", "button")
        .class(if primary {
            "button button--primary"
        } else {
            "button"
        })
        .attr("aria-disabled", sending.then_some("true"))
        .on(ev::click, move |_| {
            if !sending {
                press();
            }
        })
        .child(seen::text(label))
}

/// What depends on who looks, and by which way: it is no part of what the session shows.
pub(in crate::components) fn here(content: impl IntoView) -> AnyView {
    div()
        .class("ask__here")
        .attr("data-here", "")
        .child(content)
        .into_any()
}

/// There is no way for an answer from here.
pub(in crate::components) fn elsewhere(labels: &str) -> AnyView {
    let text = if labels.is_empty() {
        "Answered where the agent runs".to_owned()
    } else {
        format!("{labels} – answered where the agent runs")
    };
    here(p().class("subtle").child(seen::text(text)))
}

/// How far the answer has come, said to everybody. `worded` puts the answer that was first in words.
pub(in crate::components) fn came_of_it(
    progress: Option<Progress>,
    worded: impl FnOnce(&chat_event::Json) -> Option<String>,
) -> Option<AnyView> {
    let (class, role, text) = match progress? {
        Progress::Sending => ("muted", "status", "Sending…".to_owned()),
        Progress::Unsent(Unsent::Already(first)) => {
            let first = worded(&first).unwrap_or_default();
            let text = format!("Already answered: {}", first.trim());
            ("muted", "status", text)
        }
        Progress::Unsent(Unsent::Failed(why)) => {
            let text = format!("Not sent: {why}. Nothing was answered; try again.");
            ("ask__failed", "alert", text)
        }
        Progress::Unsent(Unsent::TakenOver) => return None,
    };
    Some(p().class(class).attr("role", role).child(text).into_any())
}
