//! What stands over the rows until it plays: the session in a line, and a large button. For demonstrations, where the
//! page asks for it; who came to read closes it.

use chat_feed::playback::Command;
use chat_feed::units;
use leptos::ev;
use leptos::html::{button, div, span};
use leptos::prelude::*;

use crate::components::icon::{Icon, icon};
use crate::components::{Context, Ctx, seen};
use crate::platform::dom;

/// A poster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Poster {
    /// Where it plays from, in milliseconds of playing.
    pub(crate) start_ms: f64,
}

impl Context {
    /// Shows the poster over the moment that is shown.
    pub(crate) fn show_poster(&self, poster: Poster) {
        self.transport.poster.set(Some(poster));
    }

    /// What moves the player away from its moment takes the poster down; what plays begins where the poster says.
    pub(super) fn leave_poster(&self, command: Command) {
        let poster = self.transport.poster.get_untracked();
        let Some(poster) = poster.filter(|_| command.moves()) else {
            return;
        };
        self.close_poster();
        if matches!(command, Command::Play | Command::Toggle) {
            self.store.place(Command::SeekNear(poster.start_ms));
        }
    }

    /// Takes the poster down for who came to read: as a log that has none opens at its end.
    pub(crate) fn read_instead(&self) {
        if self.transport.poster.get_untracked().is_some() {
            self.play(Command::Live);
        }
    }

    /// Takes the poster down, and leaves all else as it is.
    pub(crate) fn close_poster(&self) {
        if self.transport.poster.get_untracked().is_some() {
            self.transport.poster.set(None);
        }
    }
}

/// The poster, while there is one.
pub(super) fn view(ctx: Ctx) -> impl IntoView {
    let poster = ctx.with_value(|context| context.transport.poster);
    move || {
        let poster = poster.get();
        if poster.is_none() {
            ctx.with_value(|context| context.hand_focus_on(".poster", None));
        }
        poster.map(|_| {
            let facts = ctx.with_value(|context| facts(context));
            let play = button()
                .attr("type", "button")
                .class("poster__play")
                .on(ev::click, move |_| {
                    ctx.with_value(|context| context.play(Command::Play));
                })
                .child((icon(Icon::Play), span().child("Play")));
            let read = button()
                .attr("type", "button")
                .class("button poster__read")
                .on(ev::click, move |_| {
                    ctx.with_value(|context| context.read_instead())
                })
                .child("Read it instead");
            let card = div().class("poster__card").child((
                div().class("poster__title").child(seen::text(facts.title)),
                div().class("poster__facts").child(facts.line),
                play,
                read,
            ));
            div()
                .class("poster")
                .attr("part", "poster")
                .attr("role", "group")
                .attr("aria-label", "Replay of this session")
                .on(ev::keydown, move |event| {
                    if dom::key_of(&event).is_some_and(|key| key.name == "Escape") {
                        event.prevent_default();
                        event.stop_propagation();
                        ctx.with_value(|context| context.read_instead());
                    }
                })
                .child(card)
        })
    }
}

/// What a poster says.
struct Facts {
    title: String,
    line: String,
}

fn facts(context: &Context) -> Facts {
    let n_prompts = context.store.stops(|stops| stops.chapters().len());
    // A pace that is made up tells nothing of how long it took.
    let took_ms = context.store.player(|player| match player.clock() {
        times if times.is_reconstructed() => 0,
        times => times.elapsed_ms(),
    });
    context.store.whole(|feed, _| {
        let session = feed.session();
        let title = session.title.clone().filter(|title| !title.is_empty());
        let title = title.unwrap_or_else(|| session.session_id.clone());
        let (mut edits, mut added, mut removed) = (0_u64, 0_u64, 0_u64);
        for turn in feed.turns().iter().filter(|turn| !turn.is_put_back()) {
            edits += u64::from(turn.edits);
            added += u64::from(turn.lines_added);
            removed += u64::from(turn.lines_removed);
        }
        let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        let prompts = (n_prompts > 0).then(|| units::count(count(n_prompts), "prompt", "prompts"));
        let edits = (edits > 0).then(|| {
            let edits = units::count(edits, "edit", "edits");
            format!("{edits} +{added} −{removed}")
        });
        let events = units::count(u64::from(context.store.event_count()), "event", "events");
        // As far as the clock of the replay has it.
        let parts = [prompts, edits, Some(events), units::passed(took_ms)];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        Facts {
            title: units::first_line(&title, 200),
            line: parts.join(" · "),
        }
    })
}
