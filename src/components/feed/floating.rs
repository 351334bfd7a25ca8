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
        let hidden = Memo::new(move |_| view.read().following || view.read().at_end);
        move || {
            let hidden = hidden.get();
            // Pressed, or by a key that leads to the end.
            if hidden {
                ctx.with_value(|context| context.hand_focus_on(".pill", None));
            }
            hidden
        }
    };
    let (mut n_seen, mut was_read) = (0, false);
    let label = move || {
        let (
            View {
                unseen, following, ..
            },
            needed,
        ) = (*view.read(), needed.get());
        let (n_events, is_read) =
            ctx.with_value(|context| (context.store.event_count(), context.busy.get()));
        // Of a log that is being read nothing is new.
        let is_read = std::mem::replace(&mut was_read, is_read) || is_read;
        if unseen == 0 || following || is_read {
            n_seen = n_events;
        }
        // Rows that a filter has brought back are not new.
        let unseen = unseen.min(n_events.saturating_sub(n_seen) as usize);
        let new = match (unseen, needed) {
            (0, 0) => "To the end".to_owned(),
            (0, _) => String::new(),
            (unseen, 0) => format!("{} new", units::grouped(unseen as u64)),
            (unseen, _) => format!("{} new · ", units::grouped(unseen as u64)),
        };
        let needed = (needed > 0).then(|| {
            let words = units::count(needed as u64, "needs you", "need you");
            span()
                .class("pill__needs")
                .child((icon(Icon::Shield), words))
        });
        (new, needed)
    };
    button()
        .attr("type", "button")
        .class("pill")
        .attr("part", "jump")
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
            span().class("pill__what").child(label),
            div().class("visually-hidden").child(": go to the newest"),
        ))
}
