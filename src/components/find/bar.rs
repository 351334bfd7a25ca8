//! The find bar: the field, "3 of 41", ways on and back, and a chip for each kind with how many fit.

use chat_feed::find::Kinds;
use chat_feed::units;
use leptos::ev;
use leptos::html::{button, div, input, label, span};
use leptos::prelude::*;

use super::Told;
use crate::components::Ctx;
use crate::components::icon::{Icon, icon};
use crate::platform::dom;

/// The bar, while it is there.
pub(crate) fn view(ctx: Ctx) -> impl IntoView {
    let shown = ctx.with_value(|context| context.find.shown.clone());
    move || shown.get().then(|| bar(ctx))
}

fn bar(ctx: Ctx) -> impl IntoView {
    let told = ctx.with_value(|context| context.find.told.clone());
    let chips: Vec<_> = (0..Kinds::CHIPS.len())
        .map(|nth| chip(ctx, nth, &told))
        .collect();
    let problem = problem_of(&told);
    div()
        .class("find")
        .attr("role", "search")
        .attr("part", "find")
        .child((
            div().class("find__line").child((
                label()
                    .class("find__box")
                    .child((icon(Icon::Search), field(ctx, &told, problem))),
                how_many(&told),
                step(ctx, "Previous hit", "Shift+Enter", false),
                step(ctx, "Next hit", "Enter", true),
                close(ctx),
            )),
            div()
                .class("find__problem")
                .attr("id", "find-problem")
                .attr("role", "status")
                .child(move || problem.get()),
            div()
                .class("find__chips")
                .attr("role", "group")
                .attr("aria-label", "Show only")
                .child((only(ctx, &told), chips, hidden(ctx, &told), partly(&told))),
            progress(&told),
        ))
}

/// What is wrong with the question.
fn problem_of(told: &ArcRwSignal<Told>) -> Memo<Option<String>> {
    let told = told.clone();
    Memo::new(move |_| told.read().problem.clone())
}

fn field(
    ctx: Ctx,
    told: &ArcRwSignal<Told>,
    problem: Memo<Option<String>>,
) -> impl IntoView + use<> {
    let written = ctx.with_value(|context| context.find.question.borrow().clone());
    let told = told.clone();
    let looks_back = Memo::new(move |_| told.read().looks_back);
    input()
        .attr("type", "text")
        .attr("value", written)
        .attr("placeholder", move || match looks_back.get() {
            true => "Find up to this moment",
            false => "Find in the session",
        })
        .attr("aria-label", "Find in the session")
        .attr("aria-describedby", "find-status find-problem")
        .attr("aria-invalid", move || {
            problem.read().is_some().then_some("true")
        })
        .attr("aria-keyshortcuts", "Enter Shift+Enter")
        .attr("autocomplete", "off")
        .attr("autocapitalize", "off")
        .attr("enterkeyhint", "search")
        .attr("spellcheck", "false")
        .class("find__field")
        .on(ev::input, move |event| {
            let text = event_target_value(&event);
            ctx.with_value(|context| context.ask_for(&text));
        })
        .on(ev::keydown, move |event| {
            match event.key().as_str() {
                _ if dom::is_composing(&event) => return,
                "Enter" => {
                    let forward = !dom::has_shift(&event);
                    ctx.with_value(|context| context.go_to_hit(forward));
                }
                "Escape" => ctx.with_value(|context| context.close_find()),
                _ => return,
            }
            event.prevent_default();
            event.stop_propagation();
        })
}

/// Which hit of how many it is at.
fn how_many(told: &ArcRwSignal<Told>) -> impl IntoView + use<> {
    let (told, counts) = (told.clone(), told.clone());
    let counts = Memo::new(move |_| counts.read().percent.is_some());
    span()
        .class("find__status")
        .attr("id", "find-status")
        .attr("role", "status")
        // It is heard once all was looked through, and not with each hit on the way.
        .attr("aria-busy", move || counts.get().then_some("true"))
        .child(move || status(&told.read()))
}

/// How much of the session was looked through, while that goes on.
fn progress(told: &ArcRwSignal<Told>) -> impl IntoView + use<> {
    let told = told.clone();
    move || {
        let percent = told.read().percent?;
        let done = div()
            .class("loading__done")
            .style(("inline-size", format!("{percent}%")));
        Some(
            div()
                .class("find__progress")
                .attr("aria-hidden", "true")
                .child(done),
        )
    }
}

fn step(ctx: Ctx, name: &'static str, key: &'static str, forward: bool) -> impl IntoView {
    button()
        .attr("type", "button")
        .class(if forward {
            "icon-button"
        } else {
            "icon-button icon-button--up"
        })
        .attr("aria-label", name)
        .attr("title", format!("{name} ({key})"))
        .on(ev::click, move |_| {
            ctx.with_value(|context| context.go_to_hit(forward));
        })
        .child(icon(Icon::Down))
}

fn close(ctx: Ctx) -> impl IntoView {
    button()
        .attr("type", "button")
        .class("icon-button")
        .attr("aria-label", "Close find")
        .attr("title", "Close find (Esc)")
        .on(ev::click, move |_| {
            ctx.with_value(|context| context.close_find());
        })
        .child(icon(Icon::Cross))
}

/// Pressed, only what was found is shown.
fn only(ctx: Ctx, told: &ArcRwSignal<Told>) -> impl IntoView + use<> {
    let (pressed, asks) = (told.clone(), told.clone());
    button()
        .attr("type", "button")
        .class("find__chip")
        .attr("aria-pressed", move || {
            if pressed.read().only { "true" } else { "false" }
        })
        .attr("disabled", move || !asks.read().asks)
        .on(ev::click, move |_| {
            ctx.with_value(|context| {
                if context.find.told.with_untracked(|told| told.only) {
                    context.clear_filters();
                } else {
                    context.set_only(true);
                }
            });
        })
        .child("Only hits")
}

/// How many rows are hidden, and a button that shows them again.
fn hidden(ctx: Ctx, told: &ArcRwSignal<Told>) -> impl IntoView + use<> {
    let told = told.clone();
    let n_hidden = Memo::new(move |_| told.read().n_hidden);
    let clear = move || {
        button()
            .attr("type", "button")
            .class("link")
            .on(ev::click, move |_| {
                ctx.with_value(|context| context.clear_filters());
            })
            .child("clear")
    };
    move || {
        let n_hidden = n_hidden.get();
        if n_hidden == 0 {
            ctx.with_value(|context| {
                context.hand_focus_on(".find__hidden", Some(".find__field"));
            });
        }
        (n_hidden > 0).then(|| {
            span().class("find__hidden").child((
                format!("{} hidden · ", units::grouped(n_hidden as u64)),
                clear(),
            ))
        })
    }
}

/// What was looked through at its ends only.
fn partly(told: &ArcRwSignal<Told>) -> impl IntoView + use<> {
    let told = told.clone();
    let partly = Memo::new(move |_| told.read().n_partly);
    move || {
        let n = partly.get();
        (n > 0).then(|| {
            let bodies = units::count(n as u64, "long body", "long bodies");
            span()
                .class("find__partly")
                .attr(
                    "title",
                    "The rest of them is on the server, which has not looked through it",
                )
                .child(format!("{bodies} looked through at the ends only"))
        })
    }
}

/// A kind and how many fit; pressed, only those of its kind are shown.
fn chip(ctx: Ctx, nth: usize, told: &ArcRwSignal<Told>) -> impl IntoView + use<> {
    let chip = Kinds::CHIPS[nth];
    let (count, pressed, none) = (told.clone(), told.clone(), told.clone());
    button()
        .attr("type", "button")
        .class("find__chip")
        .attr("aria-pressed", move || {
            if pressed.read().chosen[nth] {
                "true"
            } else {
                "false"
            }
        })
        .attr("data-none", move || {
            let told = none.read();
            (told.by_chip[nth] == 0).then_some("")
        })
        .on(ev::click, move |_| {
            ctx.with_value(|context| context.toggle_chip(chip.kinds));
        })
        .child((
            chip.label,
            span()
                .class("find__count")
                .child(move || units::grouped(count.read().by_chip[nth] as u64)),
        ))
}

fn status(told: &Told) -> String {
    let found = match (told.asks, told.number, told.n_hits) {
        (false, _, _) => return String::new(),
        (true, _, 0) if told.percent.is_some() => String::new(),
        (true, _, 0) if told.looks_back => "Nothing found up to this moment".to_owned(),
        (true, _, 0) => "Nothing found".to_owned(),
        (true, Some(number), n_hits) => {
            let number = units::grouped(number as u64);
            let unseen = if told.unseen {
                ", beyond what is shown"
            } else {
                ""
            };
            format!("{number} of {}{unseen}", units::grouped(n_hits as u64))
        }
        (true, None, n_hits) => format!("{} found", units::grouped(n_hits as u64)),
    };
    match told.percent {
        Some(_) => format!("{found} …").trim_start().to_owned(),
        None => found,
    }
}
