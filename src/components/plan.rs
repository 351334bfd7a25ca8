//! The agent's list of things to do.

use chat_event::payload::PlanEntry;
use chat_feed::Block;
use leptos::html::{li, span, ul};
use leptos::prelude::*;

use super::icon::{Icon, icon_with};
use super::line::{self, Line};
use super::{Ctx, seen};

/// A bar is drawn for as many entries; longer plans have the numbers.
const MOST_BARS: usize = 24;

/// The plan: how far it is; opened, its entries.
pub(crate) fn view(ctx: Ctx, block: &Block, entries: &[PlanEntry]) -> AnyView {
    let id = block.id;
    let open = ctx.with_value(|context| context.store.is_open(id));
    let n_done = entries
        .iter()
        .filter(|entry| entry.status == "completed")
        .count();
    let now = entries.iter().find(|entry| entry.status == "in_progress");
    let what = (
        span()
            .class("verb")
            .child(format!("Plan {n_done}/{}", entries.len())),
        now.map(|now| seen::sentence(&format!(" — now: {}", now.content))),
    );
    let bars: Vec<_> = entries
        .iter()
        .take(MOST_BARS)
        .map(|entry| {
            span()
                .class("plan__bar")
                .attr("data-status", entry.status.clone())
        })
        .collect();
    let bars = span()
        .class("plan__bars")
        .attr("aria-hidden", "true")
        .child(bars);
    let line = Line::new(Icon::List, what)
        .icon_class("icon plan__icon")
        .outcome(bars);
    let body = open.then(|| {
        let items: Vec<_> = entries
            .iter()
            .map(|entry| {
                let (icon, class, word) = mark(&entry.status);
                let word = span().class("visually-hidden").child(word);
                li().class(class).child((
                    icon_with(icon, "icon plan__mark"),
                    word,
                    span().child(seen::sentence(&entry.content)),
                ))
            })
            .collect();
        line::body(ul().class("plan__list").child(items))
    });
    (line.toggles(open), body).into_any()
}

/// How an entry of this status looks: its icon, its class, and the word for those who listen.
pub(crate) fn mark(status: &str) -> (Icon, &'static str, &'static str) {
    match status {
        "completed" => (Icon::Check, "plan__item plan__item--done", "done: "),
        "in_progress" => (Icon::Dot, "plan__item plan__item--now", "now: "),
        _ => (Icon::Ring, "plan__item", "to do: "),
    }
}
