//! The plan as it is, and how it came to be.

use chat_feed::panel::plan;
use chat_feed::{PlanChange, PlanStep, units};
use leptos::html::{div, li, ol, span, ul};
use leptos::prelude::*;

use super::{empty, go_button, of_feed};
use crate::components::icon::icon_with;
use crate::components::plan::mark;
use crate::components::{Ctx, seen, text};
use crate::platform::clock;

/// Steps of the history; the newest.
const MOST_STEPS: usize = 100;

/// Entries, and changes of a step, that are shown.
const MOST_ENTRIES: usize = 300;

/// The tab.
pub(super) fn view(ctx: Ctx) -> AnyView {
    of_feed(ctx, move |_, feed| {
        let plan = plan(feed, MOST_STEPS);
        let proposed = plan.proposed.map(|(block, words)| {
            let head = div().class("panel__line").child((
                span().child("Proposed"),
                go_button(ctx, block, "link panel__end", "Go to it"),
            ));
            (head, text::whole(&words, "prose panel__proposed"))
        });
        let Some(block) = plan.block else {
            if proposed.is_some() {
                return proposed.into_any();
            }
            return empty(
                "No plan yet",
                "What the agent sets out to do is listed here once it makes a plan.",
            );
        };
        let done = format!("{} of {} done", plan.n_done, plan.entries.len());
        let head = div().class("panel__line").child((
            span().child(done),
            go_button(ctx, block, "link panel__end", "Go to it"),
        ));
        let entries: Vec<_> = plan
            .entries
            .iter()
            .take(MOST_ENTRIES)
            .map(|entry| {
                let (icon, class, word) = mark(&entry.status);
                li().class(class).child((
                    icon_with(icon, "icon plan__mark"),
                    span().child((
                        span().class("visually-hidden").child(word),
                        seen::sentence(&entry.content),
                    )),
                ))
            })
            .collect();
        let n_more = plan.entries.len().saturating_sub(MOST_ENTRIES);
        let more = (n_more > 0).then(|| {
            div()
                .class("panel__note")
                .child(format!("{} more", units::grouped(n_more as u64)))
        });
        let at_ms = |step: &PlanStep| {
            let arrival = feed.session().arrival_times;
            step.at_ms.filter(|at_ms| *at_ms > 0 && !arrival)
        };
        // A log without times has no column for them.
        let timed = plan.steps.iter().any(|step| at_ms(step).is_some());
        let mut day = None;
        let steps: Vec<_> = plan
            .steps
            .iter()
            .map(|step| {
                let time = at_ms(step).map(|at_ms| {
                    let above = day.replace(clock::day_of(at_ms));
                    // The day is said once.
                    match above == day {
                        true => clock::time_of_day(at_ms),
                        false => clock::dated(at_ms),
                    }
                });
                step_view(ctx, step, timed.then(|| time.unwrap_or_default()))
            })
            .collect();
        let older = (plan.n_older_steps > 0).then(|| {
            let steps = units::count(plan.n_older_steps as u64, "earlier step", "earlier steps");
            div().class("panel__note").child(steps)
        });
        let history = (plan.steps.len() + plan.n_older_steps > 1).then(|| {
            (
                div().class("panel__title").child("History"),
                ol().class(match timed {
                    true => "history history--timed",
                    false => "history",
                })
                .child(steps),
                older,
            )
        });
        (
            head,
            ul().class("plan__list panel__plan").child(entries),
            more,
            proposed,
            history,
        )
            .into_any()
    })
}

fn step_view(ctx: Ctx, step: &PlanStep, time: Option<String>) -> impl IntoView + use<> {
    // The first step is the plan itself, which stands above or below in full.
    let made = step.changes.iter().all(|change| change.before.is_none()) && step.changes.len() > 2;
    let made = made.then(|| {
        let entries = units::count(step.changes.len() as u64, "entry", "entries");
        div()
            .class("history__change")
            .child((span().class("subtle").child("Added"), format!(" {entries}")))
    });
    let n_shown = if made.is_some() { 0 } else { MOST_ENTRIES };
    let changes: Vec<_> = step
        .changes
        .iter()
        .take(n_shown)
        .map(|change| {
            div().class("history__change").child((
                span().class("subtle").child(verb(change)),
                " ",
                seen::sentence(&units::first_line(&change.content, 300)),
            ))
        })
        .collect();
    li().class("history__step").child((
        time.map(|time| span().class("history__time").child(time)),
        go_button(ctx, step.block, "history__what", (made, changes)),
    ))
}

fn verb(change: &PlanChange) -> &'static str {
    match (change.before.as_deref(), change.now.as_deref()) {
        (_, None) => "Dropped",
        (_, Some("completed")) => "Done",
        (_, Some("in_progress")) => "Began",
        (None, Some(_)) => "Added",
        (Some(_), Some(_)) => "Put back",
    }
}
