//! The bar above a feed: title, agent and model, connection, tokens and cost; below it the turn the reader is in.

mod notes;
mod session;
mod state;
mod turn;

use leptos::html::{div, slot};
use leptos::prelude::*;

use super::around::AROUND;
use super::reading::READING;
use super::{Ctx, lacks};
use notes::{away_view, newer_view, note_view};
use session::bar;
pub(crate) use state::{BarState, Connection, Note, Reading, Stop};
use turn::turn_header;

/// The bar and the turn header.
pub(crate) fn view(ctx: Ctx, state: BarState) -> impl IntoView {
    let facts = ctx.with_value(|context| context.store.facts());
    let (for_bar, facts_for_newer) = (facts.clone(), facts.clone());
    let bar = {
        let state = state.clone();
        move || {
            for_bar.track();
            state
                .shown
                .get()
                .then(|| ctx.with_value(|context| bar(ctx, context, &state)))
        }
    };
    let turn = {
        let view = state.view.clone();
        let shown = state.shown.clone();
        let facts_for_turn = facts.clone();
        // Of the rows that pass by the top edge few begin a turn.
        let top = Memo::new(move |_| {
            facts_for_turn.track();
            let top = view.read().top?;
            Some(ctx.with_value(|context| context.store.turn_at(top)))
        });
        move || {
            facts.track();
            let top = top.get();
            shown
                .get()
                .then(|| {
                    ctx.with_value(|context| {
                        let header = turn_header(ctx, context, top);
                        // Who steps through hits finds the buttons where they were.
                        let room = || div().class("turn-header").attr("aria-hidden", "true");
                        header.or_else(|| context.finds_now().then(|| room().into_any()))
                    })
                })
                .flatten()
        }
    };
    let progress = {
        let (progress, stop) = (state.progress.clone(), state.stop);
        move || {
            progress.get().map(|reading| {
                let told = READING.get().filter(|_| reading.n_read > 0);
                div().class("loading").child((
                    div()
                        .class("loading__done")
                        .attr("role", "progressbar")
                        .attr("aria-label", "Reading the session")
                        .attr("aria-valuenow", reading.percent.to_string())
                        .style(("inline-size", format!("{}%", reading.percent))),
                    told.map(|view| view(&reading, stop)),
                ))
            })
        }
    };
    let note = {
        let note = state.note.clone();
        move || note.get().map(note_view)
    };
    let away = {
        let (away, retry) = (state.away.clone(), state.retry);
        move || {
            let note = away.get();
            if note.is_none() {
                ctx.with_value(|context| context.hand_focus_on(".note--away > .button", None));
            }
            note.map(|note| away_view(note, retry))
        }
    };
    let newer = {
        let schema = Memo::new(move |_| {
            facts_for_newer.track();
            ctx.with_value(|context| context.store.feed().session().newer_schema)
        });
        move || schema.get().map(newer_view)
    };
    let lacks = lacks::view(&state.lacks);
    let controls = {
        let shown = state.shown.clone();
        let view = state.view.clone();
        let surrounded = ctx.with_value(|context| context.surrounded.clone());
        let connection = state.connection.clone();
        move || {
            let is_here = surrounded.get() && shown.get();
            is_here.then(|| match AROUND.get() {
                Some(around) => (around.controls)(ctx, view.clone()),
                // They are on their way: what stands beside them is where it will stay.
                None => {
                    let is_live = connection.read().state == "live";
                    let class = match is_live {
                        true => "controls-room controls-room--live",
                        false => "controls-room",
                    };
                    div().class(class).into_any()
                }
            })
        }
    };
    let of_page = |name: &'static str| {
        let shown = state.shown.clone();
        move || shown.get().then(|| slot().attr("name", name))
    };
    let bar = div().class("bar-row").attr("part", "toolbar").child((
        of_page("toolbar-start"),
        bar,
        controls,
        of_page("toolbar-end"),
    ));
    (bar, turn, progress, away, lacks, note, newer)
}

/// Whether it is the name of a model; some agents write `<synthetic>` where none answered.
pub(super) fn names_model(model: &str) -> bool {
    !model.starts_with('<')
}
