//! What a script asks of a feed beyond reading it, and what it is told while it watches: finding, opening, links, and the
//! events of media elements while a session is played. What readers do by hand and by keys does the same.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use chat_feed::playback::{Marker, Player};
use leptos::prelude::GetUntracked;

use super::feed::FeedView;
use super::{Context, find, later, many};
use crate::platform::dom::{self, Member};
use crate::platform::{clock, frame, location};

/// What is answered: a number or an address, as text.
pub(crate) type Answered = Pin<Box<dyn Future<Output = Result<String, String>>>>;

/// `timeupdate` is told so often at most, in milliseconds.
const TIME_TOLD_MS: i64 = 250;

/// Does what a script asks for.
pub(crate) fn perform(view: &Rc<FeedView>, what: &str, text: &str) -> Answered {
    let (view, text) = (view.clone(), text.to_owned());
    match what {
        "search" => Box::pin(async move { search(&view, &text, false).await }),
        "filter" => Box::pin(async move { search(&view, &text, true).await }),
        "expand" | "collapse" => {
            let open = what == "expand";
            Box::pin(async move {
                many::open_all(&view.context, open).await;
                view.settle();
                Ok(String::new())
            })
        }
        "whole" => Box::pin(async move {
            whole(&view).await?;
            Ok(String::new())
        }),
        "link" => Box::pin(async move { link(&view, &text) }),
        "focus" => Box::pin(async move {
            view.focus();
            Ok(String::new())
        }),
        other => {
            let why = format!("could not do what is asked for: no such thing: {other}");
            Box::pin(async move { Err(why) })
        }
    }
}

/// Waits for all that it takes to print the session.
async fn whole(view: &FeedView) -> Result<(), String> {
    later::here(&view.context).await;
    while !view.context.surrounded.get_untracked() {
        if view.is_closed() {
            return Err("the element is in no page".to_owned());
        }
        frame::yield_now().await;
    }
    Ok(())
}

/// Finds as the bar does, with the bar shown; how much fits, once all of the session was looked at. Nothing asked for ends
/// it.
async fn search(view: &FeedView, question: &str, only: bool) -> Result<String, String> {
    let context = &view.context;
    if question.trim().is_empty() {
        // Who asks is elsewhere: the focus stays there, unless it is in what goes.
        if context.finds() {
            context.hand_focus_on(".find", None);
            context.end_find();
        }
        return Ok("0".to_owned());
    }
    context.look_for(question, only);
    loop {
        // Another question may be asked meanwhile; this one is then over.
        if context.question() != question || !context.finds() {
            return Err("could not search: something else is looked for".to_owned());
        }
        if let Some(found) = context.search_to_end() {
            return found.map(|n_hits| n_hits.to_string());
        }
        frame::yield_now().await;
    }
}

/// Copies the link to an event, or to the row that has the focus, as its button does; its address.
fn link(view: &FeedView, event_id: &str) -> Result<String, String> {
    let context = &view.context;
    let row = match event_id {
        "" => view.focused_row(),
        id => {
            let block = context.store.block_named(id);
            block.and_then(|block| context.store.nearest_row(block))
        }
    };
    let row = row.ok_or_else(|| match event_id {
        "" => "could not copy a link: no row has the focus".to_owned(),
        id => format!("could not copy a link: no such event is here: {id}"),
    })?;
    let of_row = || context.event_of(row).unwrap_or_default();
    let (event_id, name) = match event_id {
        "" => (of_row(), context.name_of(row).unwrap_or_default()),
        id if context.store.block_of_id(id).is_some() => (id.to_owned(), id.to_owned()),
        name => (of_row(), name.to_owned()),
    };
    context.copy_link_to(&event_id, &name);
    Ok(location::with_fragment("e", &name))
}

/// What listeners were told last.
#[derive(Default)]
pub(crate) struct Told {
    playing: Cell<bool>,
    rate: Cell<f64>,
    time_ms: Cell<f64>,
    told_at_ms: Cell<i64>,
    n_seeks: Cell<u32>,
    /// Whether the end is followed, and whether what is shown is of the past.
    shown: Cell<(bool, bool)>,
    n_events: Cell<u32>,
    found: RefCell<Option<(usize, usize)>>,
    asked: RefCell<find::Asked>,
}

/// What is shown is taken away: it plays no more, and has not ended. What is looked for is so in what comes, too.
pub(super) fn leave(context: &Context) {
    context.told.asked.take();
    if context.told.playing.replace(false)
        && let Some(host) = &*context.links.host.borrow()
    {
        dom::dispatch(host, "pause", &dom::object_of(&[]));
    }
}

/// Once a frame: tells what has changed since the last.
pub(super) fn tell(context: &Context) {
    let Some(host) = context.links.host.borrow().clone() else {
        return;
    };
    let told = &context.told;
    let say = |name: &str, detail: &[(&str, Member<'_>)]| {
        dom::dispatch(&host, name, &dom::object_of(detail));
    };
    let n_events = context.store.event_count();
    if told.n_events.replace(n_events) != n_events {
        say("af-event", &[("count", Member::Number(n_events.into()))]);
    }
    let list = context.list.borrow().clone();
    if let Some(list) = list {
        let shown = (list.view().following, context.store.looks_back());
        if told.shown.replace(shown) != shown {
            let (following, replay) = (Member::Is(shown.0), Member::Is(shown.1));
            say("af-follow", &[("following", following), ("replay", replay)]);
        }
    }
    let found = context.found();
    let asked = context.asked();
    if *told.found.borrow() != found || *told.asked.borrow() != asked {
        let (n_hits, n_hidden) = found.unwrap_or_default();
        told.found.replace(found);
        say(
            "af-filter",
            &[
                ("hits", Member::Number(n_hits as u64)),
                ("hidden", Member::Number(n_hidden as u64)),
                ("question", Member::Text(&asked.question)),
                ("only", Member::Text(&asked.only)),
            ],
        );
        told.asked.replace(asked);
    }
    let (playing, rate, time_ms, at_newest) = context.store.player(|player| {
        let (playing, at_newest) = (player.moves(), player.at_newest());
        (playing, player.speed(), player.played_ms(), at_newest)
    });
    let was_playing = told.playing.replace(playing);
    if playing && !was_playing {
        say("play", &[]);
    }
    let rate_before = told.rate.replace(rate);
    if rate_before != 0.0 && (rate_before - rate).abs() > f64::EPSILON {
        say("ratechange", &[]);
    }
    let moved = (told.time_ms.get() - time_ms).abs() > f64::EPSILON;
    let now_ms = clock::epoch_ms();
    let is_due = now_ms - told.told_at_ms.get() >= TIME_TOLD_MS;
    let n_seeks = context.store.seek_count();
    let sought = told.n_seeks.replace(n_seeks) != n_seeks;
    if sought || (moved && (!playing || at_newest || is_due)) {
        told.time_ms.set(time_ms);
        told.told_at_ms.set(now_ms);
        if sought {
            say("seeked", &[]);
        }
        say("timeupdate", &[]);
    }
    tell_markers(context, &say);
    if was_playing && !playing {
        let has_ended = context.store.player(Player::has_ended);
        say(if has_ended { "ended" } else { "pause" }, &[]);
    }
}

/// The markers that playing has passed in this frame.
fn tell_markers(context: &Context, say: &impl Fn(&str, &[(&str, Member<'_>)])) {
    let passed = context.store.player(Player::passed);
    if passed.is_empty() {
        return;
    }
    let markers: Vec<(Marker, String)> = context.store.stops(|stops| {
        let label = |marker: &Marker| stops.label(marker.kind).unwrap_or_default().to_owned();
        let passed = stops.markers_in(passed).iter();
        passed.map(|marker| (*marker, label(marker))).collect()
    });
    for (marker, label) in markers {
        let event_id = context
            .store
            .whole(|feed, _| feed.block(marker.block).event_id.to_string());
        let kind = Member::Text(marker.kind.as_str());
        let (event_id, label) = (Member::Text(&event_id), Member::Text(&label));
        let detail = [("kind", kind), ("eventId", event_id), ("label", label)];
        say("af-marker", &detail);
    }
}
