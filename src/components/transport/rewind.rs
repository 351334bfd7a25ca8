//! The way back in time while a session goes on: a button in the bar above, which brings the bar below and its strip.

use leptos::ev;
use leptos::html;
use leptos::prelude::*;

use crate::components::Ctx;
use crate::components::icon::{Icon, icon};
use crate::platform::dom::{self, Element};

/// The button; none where the session is over, for then its bar is there anyway.
pub(crate) fn button(ctx: Ctx) -> impl IntoView {
    let moved = ctx.with_value(|context| context.store.moved());
    let opened = ctx.with_value(|context| context.transport.opened);
    let for_open = moved.clone();
    let shown = Memo::new(move |_| {
        moved.track();
        ctx.with_value(|context| {
            let plain = context.attribute("controls").as_deref() == Some("none");
            context.live.get() && context.has_moments() && !plain
        })
    });
    let is_open = Memo::new(move |_| {
        for_open.track();
        opened.track();
        ctx.with_value(|context| context.has_transport())
    });
    move || {
        shown.get().then(|| {
            html::button()
                .attr("type", "button")
                .class("icon-button")
                .attr("id", "rewind")
                .attr("aria-label", "Rewind")
                .attr(
                    "aria-pressed",
                    move || if is_open.get() { "true" } else { "false" },
                )
                .attr("title", "Rewind: look back while it goes on (←)")
                .on(ev::click, move |event| {
                    let frame = dom::around_event(&event, ".frame");
                    ctx.with_value(|context| {
                        if context.has_transport() {
                            context.go_to_newest();
                        } else {
                            opened.set(true);
                            focus_strip(frame);
                        }
                    });
                })
                .child(icon(Icon::Rewind))
        })
    }
}

/// Keys move the thumb from here on.
fn focus_strip(frame: Option<Element>) {
    let Some(frame) = frame else { return };
    // It is made when the signals have told.
    wasm_bindgen_futures::spawn_local(async move {
        crate::platform::frame::yield_now().await;
        if let Some(strip) = dom::first_in(&frame, ".strip") {
            dom::focus(&strip);
        }
    });
}
