//! The chapter that is shown, by its prompt, and a menu of all of them.

use chat_event::gist::gist;
use chat_feed::playback::{Command, Marker, Stops};
use chat_feed::units;
use chat_feed::{BlockBody, Feed};
use leptos::ev;
use leptos::html::{button, div, span};
use leptos::prelude::*;

use super::words;
use crate::components::icon::{Icon, icon};
use crate::components::{Context, Ctx, controls, seen};
use crate::platform::dom;

/// So many chapters are listed on either side of the one that is shown.
const LISTED: usize = 200;

/// A title has no more characters.
pub(super) const TITLE_CHARS: usize = 120;

/// How wide the menu is at most; the style says so too.
const WIDTH_PX: f64 = 400.0;

/// A chapter, as it is shown.
#[derive(Clone, PartialEq)]
struct Chapter {
    /// Which one it is, from 1, and of how many.
    number: usize,
    of: usize,
    title: String,
}

/// The chapter that is shown, which opens the menu; nothing where there are no two of them.
pub(super) fn view(ctx: Ctx) -> impl IntoView {
    let moved = ctx.with_value(|context| context.store.moved());
    let here = Memo::new(move |_| {
        moved.track();
        ctx.with_value(|context| here(context))
    });
    let shown = Memo::new(move |_| here.read().is_some());
    move || {
        shown.get().then(|| {
            let opener = button()
                .attr("type", "button")
                .class("transport__chapter")
                .attr("id", "chapters-opener")
                .attr("popovertarget", "chapters-menu")
                .attr("title", "Chapters")
                .child(move || here.get().map(said));
            span()
                .class("transport__chapters")
                .on(ev::keydown, |event| {
                    controls::move_in_menu(&event, ".transport__chapters");
                })
                .child((opener, menu(ctx)))
        })
    }
}

fn said(chapter: Chapter) -> impl IntoView {
    let Chapter { number, of, title } = chapter;
    (
        icon(Icon::List),
        span()
            .class("visually-hidden")
            .child(format!("Chapter {number} of {of}: ")),
        span()
            .class("transport__chapter-title")
            .child(seen::text(title)),
    )
}

fn here(context: &Context) -> Option<Chapter> {
    let n_events = context.store.player(|player| player.n_events());
    context.store.whole(|feed, _| {
        context.store.stops(|stops| {
            let chapters = stops.chapters();
            // What stands before the first prompt is of its chapter.
            let nth = stops.chapter_at(n_events).unwrap_or(0);
            let shown = chapters.get(nth).filter(|_| chapters.len() > 1)?;
            Some(Chapter {
                number: nth + 1,
                of: chapters.len(),
                title: title(feed, stops, shown),
            })
        })
    })
}

/// What a chapter is called by the page, or what it begins with.
fn title(feed: &Feed, stops: &Stops, chapter: &Marker) -> String {
    if let Some(label) = stops.label(chapter.kind) {
        return units::first_line(label, TITLE_CHARS);
    }
    let block = feed.block(chapter.block);
    let text = match &block.body {
        BlockBody::Prompt(prompt) => prompt.text.as_ref(),
        _ => None,
    };
    let line = text.map(|text| gist(&text.head(), TITLE_CHARS));
    let line = line.filter(|line| !line.is_empty());
    line.unwrap_or_else(|| format!("Turn {}", feed.turn(block.turn).number))
}

fn menu(ctx: Ctx) -> impl IntoView {
    let version = RwSignal::new(0_u32);
    div()
        .class("menu transport__menu")
        .attr("id", "chapters-menu")
        .attr("popover", "auto")
        .attr("role", "group")
        .attr("aria-label", "Chapters")
        // They are listed when they are asked for: there may be thousands, and more come.
        .on(ev::beforetoggle, move |event| {
            if dom::place_above(&event, "#chapters-opener", ".transport", WIDTH_PX) {
                version.update(|version| *version = version.wrapping_add(1));
            }
        })
        .on(ev::toggle, |event| {
            if let Some(menu) = dom::around_event(&event, ".transport__menu")
                && let Some(here) = dom::first_in(&menu, "[aria-current]")
            {
                controls::bring_into_sight(&menu, &here);
            }
        })
        .child(move || (version.get() > 0).then(|| ctx.with_value(|context| list(ctx, context))))
}

fn list(ctx: Ctx, context: &Context) -> impl IntoView + use<> {
    let now = here(context).map_or(0, |chapter| chapter.number - 1);
    let said = context.transport.said.get_untracked();
    let from = now.saturating_sub(LISTED);
    context.store.whole(|feed, clock| {
        context.store.stops(|stops| {
            let chapters = stops.chapters();
            let listed = chapters.iter().enumerate().skip(from).take(2 * LISTED);
            let items: Vec<_> = listed
                .map(|(nth, chapter)| {
                    let n_events = chapter.event + 1;
                    let played_ms = words::exact(clock.played_at(n_events));
                    let mut time = words::moment(clock, said, played_ms, n_events);
                    if feed.turn_of(chapter.block).is_undone() {
                        time.insert_str(0, "undone · ");
                    }
                    let title = title(feed, stops, chapter);
                    item(ctx, nth, nth == now, title, time, n_events)
                })
                .collect();
            let n_behind = chapters.len().saturating_sub(from + items.len());
            (more(from, "earlier"), items, more(n_behind, "later"))
        })
    })
}

/// How many are not listed.
fn more(n_chapters: usize, which: &'static str) -> Option<impl IntoView> {
    let n_chapters = u64::try_from(n_chapters).unwrap_or(u64::MAX);
    (n_chapters > 0).then(|| {
        div()
            .class("transport__more")
            .child(format!("{} {which}", units::grouped(n_chapters)))
    })
}

fn item(
    ctx: Ctx,
    nth: usize,
    is_here: bool,
    title: String,
    time: String,
    n_events: u32,
) -> impl IntoView {
    button()
        .attr("type", "button")
        .class("menu__item transport__item")
        .attr("popovertarget", "chapters-menu")
        .attr("aria-current", is_here.then_some("true"))
        .on(ev::click, move |_| {
            ctx.with_value(|context| context.play(Command::SeekTo(n_events)));
        })
        .child((
            span()
                .class("transport__item-number")
                .child((nth + 1).to_string()),
            span()
                .class("transport__item-title")
                .child(seen::text(title)),
            span().class("transport__item-time").child(time),
        ))
}
