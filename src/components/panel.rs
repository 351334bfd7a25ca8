//! The side panel: changed files, plan, sub-agents, timeline, figures and JSON, each in a tab.
//!
//! Wide elements show it beside the feed, narrow ones as a sheet over it. What a tab says is `chat_feed::panel`'s; it is
//! made anew when the feed changed, at most once a second, and only while it is seen.
//!
//! What it shows is kept in `state`.

mod agents;
mod files;
mod plan;
mod raw;
mod state;
mod statistics;
mod tabs;
mod timeline;

use std::rc::Rc;

use chat_feed::playback::Player;
use chat_feed::viewport::Align;
use chat_feed::{BlockId, Feed, marks, units};
use leptos::ev;
use leptos::html::{button, div, span};
use leptos::prelude::*;

use super::icon::{Icon, icon};
use super::{Context, Ctx, seen};
use crate::platform::dom::{self, Element};
use crate::platform::frame;
pub(crate) use state::PanelState;
use state::REFRESH_MS;
pub(crate) use tabs::Tab;
use tabs::{TABS, tabs};

/// The feed may have changed: what is seen of it is made anew, soon.
pub(crate) fn note_change(context: &Rc<Context>, rows_changed: bool) {
    let panel = &context.panel;
    // How many there are, and after how many the feed is shown: a script moves through the past outside of frames.
    let n_shown = context.store.player(Player::n_events);
    let n_events = (context.store.event_count(), n_shown);
    let changed = panel.n_events.replace(n_events) != n_events || rows_changed;
    if !changed || !panel.open.get_untracked() || panel.due.replace(true) {
        return;
    }
    let passed_ms = frame::now_ms() - panel.made_ms.get();
    let context = Rc::downgrade(context);
    leptos::task::spawn_local(async move {
        // A wait of a second at most fits.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let delay_ms = (REFRESH_MS - passed_ms).clamp(0.0, REFRESH_MS) as u32;
        frame::sleep(delay_ms).await;
        if let Some(context) = context.upgrade() {
            context.panel.due.set(false);
            context.panel.refresh();
        }
    });
}

/// Opens the panel, or closes it.
pub(crate) fn toggle(context: &Rc<Context>) {
    let panel = &context.panel;
    let covers = panel.covers_the_feed();
    if panel.open.get_untracked() {
        let has_focus = || panel.part(".panel").is_some_and(|it| dom::has_focus(&it));
        if !has_focus() {
            // What opened it is no place to go back to from the next time.
            panel.before.take();
        }
        return close(context);
    }
    panel.refresh();
    panel.open.set(true);
    if covers {
        take_focus(context);
    }
}

/// The panel lies over what has the focus: that goes to its tab, and comes back.
fn take_focus(context: &Rc<Context>) {
    let panel = &context.panel;
    if panel.before.borrow().is_none() {
        let frame = panel.frame.borrow();
        *panel.before.borrow_mut() = frame.as_ref().and_then(dom::focused_in);
    }
    // Behind the effect that shows it.
    let context = context.clone();
    leptos::task::spawn_local(async move {
        let tab = context.panel.part(".panel__name[aria-selected=true]");
        if let Some(tab) = tab {
            dom::focus(&tab);
        }
    });
}

/// The button of the bar that opens the panel.
pub(crate) fn toggle_button(ctx: Ctx) -> impl IntoView {
    let open = ctx.with_value(|context| context.panel.open.clone());
    button()
        .attr("type", "button")
        .class("panel-toggle")
        .attr("title", "Panel (r)")
        .attr("aria-label", "Panel")
        .attr(
            "aria-expanded",
            move || if open.get() { "true" } else { "false" },
        )
        .on(ev::click, move |event| {
            ctx.with_value(|context| {
                // Beside the feed the rows go on.
                let opener = dom::origin(&event).filter(|_| context.panel.covers_the_feed());
                *context.panel.before.borrow_mut() = opener;
                toggle(context);
            });
        })
        .child(icon(Icon::PanelRight))
}

/// The panel; `frame` is told that it is open, so that the feed makes room.
pub(crate) fn view(ctx: Ctx, (frame, place): (Element, Element)) -> impl IntoView {
    let open = ctx.with_value(|context| context.panel.open.clone());
    dom::write_attribute(&place, "aria-label", "Panel");
    ctx.with_value(|context| *context.panel.frame.borrow_mut() = Some(frame.clone()));
    move || {
        let open = open.get();
        dom::toggle_attribute(&frame, "data-panel", open);
        dom::toggle_attribute(&place, "hidden", !open);
        open.then(|| panel(ctx))
    }
}

fn panel(ctx: Ctx) -> impl IntoView {
    let tab = ctx.with_value(|context| context.panel.tab.clone());
    let shown = tab.clone();
    let content = move || {
        let tab = shown.get();
        let name = TABS
            .iter()
            .find(|(other, _)| *other == tab)
            .map(|(_, name)| *name);
        div()
            .class("panel__tab")
            .attr("role", "tabpanel")
            .attr("aria-label", name)
            .attr("data-tab", name)
            .child(match tab {
                Tab::Files => files::view(ctx),
                Tab::Plan => plan::view(ctx),
                Tab::Agents => agents::view(ctx),
                Tab::Timeline => timeline::view(ctx),
                Tab::Statistics => statistics::view(ctx),
                Tab::Raw => raw::view(ctx),
            })
    };
    div()
        .class("panel")
        .attr("part", "panel")
        // Beside the feed it is the reader who goes into it, and out of it again where it is closed from within.
        .on(ev::focusin, move |event| {
            let from = dom::focus_came_from(&event);
            ctx.with_value(|context| {
                let panel = &context.panel;
                let frame = panel.frame.borrow();
                let is_of_feed = |from: &Element| {
                    let frame = frame.as_ref();
                    frame.is_some_and(|frame| frame.contains(Some(from)))
                        && !dom::is(from, ".panel *")
                };
                if let Some(from) = from.filter(is_of_feed) {
                    *panel.before.borrow_mut() = Some(from);
                }
            });
        })
        .on(ev::keydown, move |event| {
            if event.key() == "Escape" {
                event.stop_propagation();
                ctx.with_value(close);
            }
        })
        .child((tabs(ctx, tab), content))
}

fn close(context: &Rc<Context>) {
    context.hand_focus_on(".panel", None);
    context.panel.open.set(false);
    if let Some(before) = context.panel.before.borrow_mut().take() {
        dom::focus(&before);
    }
}

/// Shows a row in the feed and gives it the focus.
fn go_to(context: &Rc<Context>, block: BlockId) {
    let Some((id, list)) = context.bring_out(block) else {
        return;
    };
    if context.panel.covers_the_feed() {
        context.panel.before.take();
        context.panel.open.set(false);
    }
    list.stop_following();
    list.go_to(id, Align::Center);
    list.update_now();
    if let Some(element) = list.element_of(id) {
        dom::focus(&element);
    }
}

/// A line of text that goes to its row.
fn go_button(
    ctx: Ctx,
    block: BlockId,
    class: &'static str,
    what: impl IntoView + 'static,
) -> impl IntoView {
    button()
        .attr("type", "button")
        .class(class)
        .on(ev::click, move |_| {
            ctx.with_value(|context| go_to(context, block))
        })
        .child(what)
}

/// A path that the style cuts at its start where it has no room: the name of the file stays. Each part keeps its own order.
fn path_parts(path: &str) -> impl IntoView + use<> {
    let (folders, name) = units::folders_and_name(path);
    let folder = |folder: &str| span().class("path__folder").child(seen::text(folder));
    let folders: Vec<_> = folders.into_iter().map(folder).collect();
    (folders, span().class("path__name").child(seen::text(name)))
}

/// What a call says in a list; pointed at, all of it, also what is left out of a path seen from the session's folder.
fn call_words(line: String, whole: &str) -> impl IntoView + use<> {
    let of_file = line.split_once(' ').filter(|(_, object)| {
        // What is looked for stands in quotes.
        // Behind a path may stand which of its lines are read.
        let of_lines = |rest: &str| rest.chars().all(|c| c == '–' || c.is_ascii_digit());
        let path = object.rsplit_once(' ').filter(|(_, rest)| of_lines(rest));
        let path = path.map_or(*object, |(path, _)| path);
        let is_other = path.contains("://") || path.contains(' ') || path.starts_with('"');
        object.contains('/') && !is_other
    });
    let (class, words) = match of_file {
        Some((verb, path)) => {
            let path = span().class("path").child(path_parts(path));
            let words = (span().child(seen::text(verb)), " ", path).into_any();
            ("calls__line calls__line--file", words)
        }
        None => ("calls__line", seen::text(line)),
    };
    let title = marks::written_out(whole);
    span().class(class).attr("title", title).child(words)
}

/// What stands in a tab that has nothing to show.
fn empty(what: &'static str, why: &'static str) -> AnyView {
    div()
        .class("panel__empty")
        .child((
            div().class("panel__empty-what").child(what),
            div().class("subtle").child(why),
        ))
        .into_any()
}

/// What a tab shows of the feed as it is, made anew with it.
fn of_feed(
    ctx: Ctx,
    make: impl Fn(&Rc<Context>, &Feed) -> AnyView + Send + Sync + 'static,
) -> AnyView {
    let version = ctx.with_value(|context| context.panel.version.clone());
    (move || {
        version.track();
        ctx.with_value(|context| make(context, &context.store.feed()))
    })
    .into_any()
}

fn counts(added: u64, removed: u64) -> impl IntoView {
    span().class("counts").child((
        (added > 0).then(|| {
            span()
                .class("plus")
                .child(format!("+{}", units::grouped(added)))
        }),
        (removed > 0).then(|| {
            span()
                .class("minus")
                .child(format!("−{}", units::grouped(removed)))
        }),
    ))
}
