//! The tabs of the panel: which there are, and the list of their names.

use chat_feed::units;
use leptos::ev;
use leptos::html::{button, div, span};
use leptos::prelude::*;

use super::close;
use crate::components::Ctx;
use crate::components::icon::{Icon, icon};
use crate::platform::dom;

/// A tab.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tab {
    #[default]
    Files,
    Plan,
    Agents,
    Timeline,
    Statistics,
    Raw,
}

pub(super) const TABS: [(Tab, &str); 6] = [
    (Tab::Files, "Files"),
    (Tab::Plan, "Plan"),
    (Tab::Agents, "Agents"),
    (Tab::Timeline, "Timeline"),
    (Tab::Statistics, "Stats"),
    (Tab::Raw, "Raw"),
];

/// The tabs. Arrow keys go from one to the next, as in all lists of tabs.
pub(super) fn tabs(ctx: Ctx, tab: ArcRwSignal<Tab>) -> impl IntoView {
    let version = ctx.with_value(|context| context.panel.version.clone());
    // Counts stand beside names; a walk over the rows gives both.
    let counts = ArcMemo::new(move |_| {
        version.track();
        ctx.with_value(|context| {
            let feed = context.store.feed();
            let plan = chat_feed::panel::plan(&feed, 0);
            let n_agents = chat_feed::panel::agents(&feed).len();
            (plan.n_done, plan.entries.len(), n_agents)
        })
    });
    let one = move |(this, name): (Tab, &'static str)| {
        let (is_this, tab_index) = (tab.clone(), tab.clone());
        let counts = counts.clone();
        let count = move || match (this, counts.get()) {
            (Tab::Plan, (n_done, n_entries @ 1.., _)) => format!(" {n_done}/{n_entries}"),
            (Tab::Agents, (_, _, n_agents @ 1..)) => {
                format!(" {}", units::grouped(n_agents as u64))
            }
            _ => String::new(),
        };
        button()
            .attr("type", "button")
            .class("panel__name")
            .attr("role", "tab")
            .attr("aria-selected", move || {
                if is_this.get() == this {
                    "true"
                } else {
                    "false"
                }
            })
            .attr(
                "tabindex",
                move || if tab_index.get() == this { "0" } else { "-1" },
            )
            .on(ev::click, move |_| {
                ctx.with_value(|context| context.panel.show_tab(this))
            })
            .child((name, span().class("panel__count").child(count)))
    };
    let names: Vec<_> = TABS.into_iter().map(one).collect();
    let list = div()
        .class("panel__names")
        .attr("role", "tablist")
        .attr("aria-label", "Panel")
        .on(ev::keydown, move |event| {
            let here = ctx.with_value(|context| context.panel.tab.get_untracked());
            let at = TABS.iter().position(|(tab, _)| *tab == here).unwrap_or(0);
            let last = TABS.len() - 1;
            let to = match event.key().as_str() {
                "ArrowRight" if at == last => 0,
                "ArrowRight" => at + 1,
                "ArrowLeft" if at == 0 => last,
                "ArrowLeft" => at - 1,
                "Home" => 0,
                "End" => last,
                _ => return,
            };
            event.prevent_default();
            event.stop_propagation();
            ctx.with_value(|context| context.panel.show_tab(TABS[to].0));
            dom::focus_child(&event, to);
        })
        .child(names);
    let close_button = button()
        .attr("type", "button")
        .class("panel__close")
        .attr("aria-label", "Close panel")
        .on(ev::click, move |_| ctx.with_value(close))
        .child(icon(Icon::Cross));
    div().class("panel__head").child((list, close_button))
}
