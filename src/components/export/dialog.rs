//! The review: how far it is, what was found, and what the reader lets be masked.

use chat_feed::mask::KindFound;
use chat_feed::units;
use leptos::ev;
use leptos::html::{button, dialog, div, h2, input, label, li, p, progress, span, ul};
use leptos::prelude::*;

use super::{Step, words};
use crate::components::Ctx;
use crate::platform::dom;

/// The review, while there is one.
pub(in crate::components) fn review(ctx: Ctx) -> impl IntoView {
    let review = ctx.with_value(|context| context.export.review.clone());
    let shown = {
        let review = review.clone();
        Memo::new(move |_| review.read().is_some())
    };
    move || {
        let review = review.clone();
        shown.get().then(move || {
            let form = review.read_untracked().as_ref().map(|(_, form, _)| *form);
            let form = form.map_or("", words);
            let step = move || review.get().map(|(_, _, step)| step_view(ctx, step));
            let place = NodeRef::<leptos::html::Dialog>::new();
            place.on_load(|dialog| dom::call_method(&dialog, "showModal"));
            // What is asked changes under the reader; the title stays, and has the focus.
            let title = h2()
                .attr("id", "export-title")
                .attr("tabindex", "-1")
                .attr("autofocus", "")
                .child(format!("Export — {form}"));
            dialog()
                .class("help export")
                .attr("aria-labelledby", "export-title")
                .node_ref(place)
                .on(ev::close, move |_| leave(ctx))
                .child((
                    div().class("help__head").child(title),
                    div().class("export__body").child(step),
                ))
        })
    }
}

fn leave(ctx: Ctx) {
    ctx.with_value(|context| context.export.leave());
}

fn step_view(ctx: Ctx, step: Step) -> AnyView {
    match step {
        Step::Looking => works(ctx, "Looking for secrets").into_any(),
        Step::Writing => works(ctx, "Writing the file").into_any(),
        Step::Failed(why) => said(ctx, format!("Could not export: {why}"), ()).into_any(),
        Step::Asking { found, cut_off } => asking(ctx, found, cut_off).into_any(),
    }
}

/// What takes its time, and how much of it is done. The number is beside the words, so that these are spoken once.
fn works(ctx: Ctx, words: &'static str) -> impl IntoView {
    let done = ctx.with_value(|context| context.export.done.clone());
    let bar = move || {
        done.get().map(|percent| {
            let bar = progress().attr("max", "100").attr("aria-label", words);
            let number = span().class("subtle").attr("aria-hidden", "true");
            let number = number.child(format!("{percent} %"));
            (bar.prop("value", percent.to_string()), number)
        })
    };
    let bar = div().class("export__done").child(bar);
    said(ctx, format!("{words} …"), bar)
}

fn said(ctx: Ctx, words: String, more: impl IntoView) -> impl IntoView {
    let said = p().attr("role", "status").child(words);
    let buttons = div().class("export__buttons").child(cancel(ctx));
    (said, more, buttons)
}

fn cancel(ctx: Ctx) -> impl IntoView {
    button()
        .attr("type", "button")
        .class("button")
        .on(ev::click, move |_| leave(ctx))
        .child("Cancel")
}

fn asking(ctx: Ctx, found: Vec<KindFound>, cut_off: Option<String>) -> impl IntoView {
    let cut_off = cut_off.map(|why| {
        p().child(format!(
            "The file will have what could be read of the session: {why}."
        ))
    });
    let n_places: u64 = found.iter().map(|kind| kind.n_places).sum();
    let told = match n_places {
        0 => "Nothing was found to mask.".to_owned(),
        1 => "This place will be masked.".to_owned(),
        n => format!("These {} places will be masked.", units::grouped(n)),
    };
    let told =
        format!("{told} Look at the file before you hand it on: not every secret can be told.");
    let kinds: Vec<_> = found.into_iter().map(|kind| kind_view(ctx, kind)).collect();
    let save = button()
        .attr("type", "button")
        .class("button button--primary")
        .on(ev::click, move |_| {
            ctx.with_value(|context| context.export.save())
        })
        .child("Save");
    (
        cut_off,
        p().child(told),
        ul().class("export__kinds").child(kinds),
        div().class("export__buttons").child((cancel(ctx), save)),
    )
}

/// A kind of what was found, and whether it is masked.
fn kind_view(ctx: Ctx, found: KindFound) -> impl IntoView {
    let kind = found.kind;
    let masked =
        input()
            .attr("type", "checkbox")
            .attr("checked", true)
            .on(ev::change, move |event| {
                let kept = !event_target_checked(&event);
                ctx.with_value(|context| context.export.keep(kind, kept));
            });
    let counts = format!(
        "{} · {}",
        units::count(found.n_places, "place", "places"),
        units::count(found.n_values, "value", "values")
    );
    let places: Vec<_> = found
        .places
        .into_iter()
        .map(|place| {
            let shown = place.shown;
            let (event, event_type) = (units::grouped(place.event), place.event_type);
            let place = match place.n_places {
                1 => format!(" in {event_type}, event {event}"),
                n => format!(
                    " in {} places, first in {event_type}, event {event}",
                    units::grouped(n)
                ),
            };
            li().child((span().class("export__shown").child(shown), place))
        })
        .collect();
    let n_more = found.n_values.saturating_sub(places.len() as u64);
    let more = (n_more > 0).then(|| li().child(format!("and {} more", units::grouped(n_more))));
    let head = (
        masked,
        span().child(kind),
        span().class("subtle").child(counts),
    );
    li().class("export__kind").child((
        label().class("menu__option").child(head),
        ul().class("export__places").child((places, more)),
    ))
}
