//! What floats over the rows: the pill that leads to the newest.

use chat_feed::units;
use leptos::ev;
use leptos::html::{button, div, span};
use leptos::prelude::*;

use crate::components::Ctx;
use crate::components::icon::{Icon, icon};
use crate::virtual_list::View;

/// What came while the reader was elsewhere, and the way to it.
pub(super) fn pill(ctx: Ctx, view: ArcRwSignal<View>, needed: ArcRwSignal<usize>) -> impl IntoView {
    let hidden = {
        let view = view.clone();
        move || view.read().following || view.read().at_end
    };
    let label = move || {
        let unseen = view.read().unseen;
        let new = (unseen > 0).then(|| format!("{} new", units::grouped(unseen as u64)));
        let needed = match needed.get() {
            0 => None,
            1 => Some("1 needs you".to_owned()),
            n => Some(format!("{n} need you")),
        };
        let parts: Vec<String> = [new, needed].into_iter().flatten().collect();
        if parts.is_empty() {
            "To the end".to_owned()
        } else {
            parts.join(" · ")
        }
    };
    button()
        .attr("type", "button")
        .class("pill")
        .attr("hidden", hidden)
        .on(ev::click, move |_| {
            ctx.with_value(|context| {
                if let Some(list) = &*context.list.borrow() {
                    list.follow_end();
                }
            });
        })
        .child((
            icon(Icon::Down),
            span().child(label),
            div().class("visually-hidden").child(": go to the newest"),
        ))
}
