//! The JSON of the row the reader was in last.

use std::collections::BTreeMap;
use std::rc::Rc;

use chat_event::BodyRef;
use chat_feed::loads::Spot;
use chat_feed::panel::{RawEvent, raw_events};
use chat_feed::{BlockId, marks, units};
use leptos::ev;
use leptos::html::{button, div, span};
use leptos::prelude::*;

use super::{empty, go_button, of_feed};
use crate::components::icon::{Icon, icon};
use crate::components::{Context, Ctx, output};

/// Brings the bodies that this browser keeps, and has the tab drawn anew with them.
fn fill(context: &Rc<Context>, block: BlockId, events: &[RawEvent]) {
    let event_id = context.store.feed().block(block).event_id.to_string();
    let coming: Vec<_> = events
        .iter()
        .flat_map(RawEvent::references)
        .filter_map(|body| Some((context.wholes.body_here(&event_id, &body)?, body.sha256)))
        .collect();
    if coming.is_empty() {
        return;
    }
    let (filled, events) = (context.panel.filled.clone(), events.to_vec());
    leptos::task::spawn_local(async move {
        let mut bodies = BTreeMap::new();
        for (body, name) in coming {
            // What does not come stays a reference.
            if let Ok(text) = body.await {
                bodies.insert(name, text);
            }
        }
        let find = &mut |body: &BodyRef| bodies.get(&body.sha256).cloned();
        let whole = |event: &RawEvent| event.with_bodies(find).unwrap_or_else(|| event.clone());
        let whole = events.iter().map(whole).collect();
        filled.set(Some((block, events, whole)));
    });
}

/// The tab.
pub(super) fn view(ctx: Ctx) -> AnyView {
    of_feed(ctx, move |context, feed| {
        let selected = context.panel.selected.get();
        let Some(block) = selected.filter(|&block| feed.contains(block)) else {
            return empty(
                "No row selected",
                "Click a row of the feed, or go to it by j and k, to see its events as JSON.",
            );
        };
        let mut events = raw_events(feed, block);
        let filled = context.panel.filled.get();
        match filled.filter(|(of, read, _)| *of == block && *read == events) {
            Some((_, _, filled)) => events = filled,
            None => fill(context, block, &events),
        }
        if events.is_empty() {
            return empty(
                "This row has no JSON",
                "Its events were sound, or have not come yet.",
            );
        }
        let n_events = units::count(events.len() as u64, "event", "events");
        let all: Vec<&str> = events.iter().map(|event| event.text.as_str()).collect();
        // It may be pasted into a terminal.
        let all = marks::escaped(&all.join("\n"));
        let copy = button()
            .attr("type", "button")
            .class("link panel__end")
            .on(ev::click, move |_| {
                ctx.with_value(|context| context.copy(&all, "JSON copied"));
            })
            .child((icon(Icon::Copy), "Copy"));
        let head = div().class("panel__line").child((
            span().child(n_events),
            go_button(ctx, block, "link", "Go to the row"),
            copy,
        ));
        let views: Vec<_> = events
            .into_iter()
            .map(|event| {
                let shown = Spot::Text.shown(&event.text);
                let cut = (shown.len() < event.text.len()).then(|| {
                    let rest = units::bytes((event.text.len() - shown.len()) as u64);
                    div()
                        .class("panel__note")
                        .child(format!("{rest} more: copy to have all of it"))
                });
                (
                    div().class("panel__title mono").child(event.event_type),
                    div()
                        .class("panel__json")
                        .child((output::well("well", "JSON", shown.to_owned()), cut)),
                )
            })
            .collect();
        let note = div().class("panel__note").child(
            "Put together from what the feed keeps of each event: a text that came in pieces is shown as one, and fields of tool calls and texts that no rule knows are left out.",
        );
        (head, views, note).into_any()
    })
}
