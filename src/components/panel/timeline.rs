//! The calls over time: a chart of bars in lanes, and the calls that are in view as a list.
//!
//! However many calls there are, only so many nodes are made: bars too near to tell apart are one, and what is scrolled
//! out of the chart is left out. The chart is for the eye; all of it can be reached by the list.
//!
//! Where a time lies is known by `scale`; the bars of calls are in `bars`.

mod bars;
mod scale;

use std::rc::Rc;

use chat_feed::panel::{Bar, Timeline};
use chat_feed::{Feed, ToolStatus, units};
use leptos::ev;
use leptos::html::{button, div, span};
use leptos::prelude::*;

use super::{call_words, empty, go_button, of_feed};
use crate::components::icon::icon;
use crate::components::tool_call::kind_icon;
use crate::components::{Context, Ctx};
use crate::platform::{clock, dom, frame, measure};
use bars::{bars, between, call_line, detail};
pub(crate) use scale::Window;
use scale::{NARROWEST_PX, Scale, WIDEST_PX};

/// Height of a lane.
const LANE_PX: u32 = 16;

/// Lanes that are drawn; what runs beside so many others is in the list.
const MOST_LANES: u32 = 24;

/// Nodes of bars, and of what stands behind them, at most.
const MOST_NODES: usize = 600;

/// Calls of the list.
const MOST_LISTED: usize = 100;

/// The tab.
pub(super) fn view(ctx: Ctx) -> AnyView {
    of_feed(ctx, move |context, feed| {
        let line = context.panel.timeline(feed);
        if line.bars.is_empty() {
            return match line.n_untimed {
                0 => empty("No calls yet", "Tool calls are drawn here over time."),
                _ => empty(
                    "No times",
                    "This session does not say when its calls were made.",
                ),
            };
        }
        if line.length_ms() == 0 {
            return empty("No times", "All of this session bears the same time.");
        }
        let window = context.panel.window.get();
        let scale = Scale::new(&line, window);
        place_chart(ctx);
        (
            head(ctx, feed, &line),
            chart(ctx, scale),
            detail(context, feed, &line),
            list(ctx, feed, scale),
        )
            .into_any()
    })
}

fn head(ctx: Ctx, feed: &Feed, line: &Timeline) -> impl IntoView + use<> {
    let calls = units::count(line.bars.len() as u64, "call", "calls");
    let beside = (line.n_lanes > 1)
        .then(|| format!(" · up to {} at once", units::grouped(line.n_lanes.into())));
    let untimed = (line.n_untimed > 0).then(|| {
        format!(
            " · {} without a time",
            units::grouped(line.n_untimed as u64)
        )
    });
    let arrival = feed
        .session()
        .arrival_times
        .then_some(" · times of arrival");
    let zoom = |label: &'static str, sign: &'static str, by: f64| {
        button()
            .attr("type", "button")
            .class("timeline__zoom")
            .attr("aria-label", label)
            .attr("title", label)
            .on(ev::click, move |_| {
                ctx.with_value(|context| zoom_by(context, by))
            })
            .child(sign)
    };
    div().class("panel__line").child((
        span()
            .class("timeline__said")
            .child((calls, beside, untimed, arrival)),
        span()
            .class("timeline__zooms panel__end")
            .child((zoom("Zoom out", "−", 0.5), zoom("Zoom in", "+", 2.0))),
    ))
}

/// Zooms about the middle of what is seen.
fn zoom_by(context: &Rc<Context>, by: f64) {
    context.panel.window.update(|window| {
        let before = window.chart_px();
        let middle = (window.left_px + window.width_px / 2.0) / before;
        window.zoom = (window.zoom * by).clamp(1.0, WIDEST_PX / window.width_px);
        let right = (window.chart_px() - window.width_px).max(0.0);
        window.left_px = (middle * window.chart_px() - window.width_px / 2.0).clamp(0.0, right);
    });
}

fn chart(ctx: Ctx, scale: Scale<'_>) -> impl IntoView + use<> {
    let lanes = scale.line.n_lanes.min(MOST_LANES);
    let inner = div()
        .class("timeline__inner")
        .style(("inline-size", px(scale.window.chart_px())))
        .style(("block-size", format!("{}px", lanes * LANE_PX + 24)))
        .child((behind(scale), bars(ctx, scale)));
    div()
        .class("timeline__chart")
        .attr("aria-hidden", "true")
        .on(ev::scroll, move |event| {
            if let Some((left_px, width_px)) = dom::scrolled(&event) {
                ctx.with_value(|context| {
                    let known = context.panel.window.get_untracked();
                    if (known.left_px - left_px).abs() >= 1.0
                        || (known.width_px - width_px).abs() >= 1.0
                    {
                        context.panel.window.update(|window| {
                            window.left_px = left_px;
                            window.width_px = width_px.max(1.0);
                        });
                    }
                });
            }
        })
        .child(inner)
}

/// Scrolls the chart to what is in view, and learns how wide it is, once it is there: what is not as wide yet cannot be
/// scrolled so far.
fn place_chart(ctx: Ctx) {
    leptos::task::spawn_local(async move {
        frame::yield_now().await;
        ctx.try_with_value(|context| {
            let Some(chart) = context.panel.part(".timeline__chart") else {
                return;
            };
            let known = context.panel.window.get_untracked();
            measure::set_scroll_left(&chart, known.left_px);
            let width_px = f64::from(dom::width_px(&chart));
            if width_px > 0.0 && (known.width_px - width_px).abs() >= 1.0 {
                context
                    .panel
                    .window
                    .update(|window| window.width_px = width_px);
            }
        });
    });
}

fn px(length: f64) -> String {
    format!("{length:.1}px")
}

/// Turns, and what was cut out between.
fn behind(scale: Scale<'_>) -> Vec<AnyView> {
    let mut views: Vec<AnyView> = Vec::new();
    let mut drawn_px = f64::NEG_INFINITY;
    for turn in &scale.line.turns {
        let Some((from, to)) = scale.stretch_px(turn.start_ms, turn.end_ms) else {
            continue;
        };
        // Turns too near to tell apart are one.
        if to < drawn_px + NARROWEST_PX || views.len() >= MOST_NODES / 4 {
            continue;
        }
        drawn_px = to;
        let name = (to - from >= 16.0).then(|| turn.number.to_string());
        views.push(
            div()
                .class("timeline__turn")
                .style(("inset-inline-start", px(from)))
                .style(("inline-size", px((to - from).max(1.0))))
                .child(name)
                .into_any(),
        );
    }
    let n_turns = views.len();
    for cut in &scale.line.cuts {
        let Some((from, to)) = scale.stretch_px(cut.start_ms, cut.end_ms) else {
            continue;
        };
        if to - from < NARROWEST_PX || views.len() - n_turns >= MOST_NODES / 4 {
            continue;
        }
        let passed = u64::try_from(cut.end_ms.saturating_sub(cut.start_ms)).unwrap_or(0);
        views.push(
            div()
                .class("timeline__cut")
                .attr("title", format!("Nothing for {}", units::duration(passed)))
                .style(("inset-inline-start", px(from)))
                .style(("inline-size", px(to - from)))
                .into_any(),
        );
    }
    views
}

/// When it began, and how it went.
fn times(feed: &Feed, line: &Timeline, bar: &Bar) -> String {
    let began = match feed.session().arrival_times {
        true => format!(
            "after {}",
            units::duration(between(line.start_ms, bar.start_ms))
        ),
        false => clock::dated(bar.start_ms),
    };
    let took = took(bar);
    match took.is_empty() {
        true => began,
        false => format!("{began} · {took}"),
    }
}

/// How long it waited, ran, and how it ended.
fn took(bar: &Bar) -> String {
    let waited = between(bar.start_ms, bar.run_ms);
    let waited = (waited >= 50).then(|| format!("waited {}", units::duration(waited)));
    let so_far = || {
        let runs = bar.status.runs() && bar.run_ms < bar.end_ms;
        runs.then(|| between(bar.run_ms, bar.end_ms))
    };
    let ran = bar.took_ms.or_else(so_far).and_then(units::told_duration);
    let word = match bar.status {
        ToolStatus::Succeeded => None,
        ToolStatus::Failed => Some("failed".to_owned()),
        ToolStatus::Preparing
        | ToolStatus::Running
        | ToolStatus::Denied
        | ToolStatus::Interrupted
        | ToolStatus::NoResult => Some(bar.status.as_str().to_owned()),
    };
    let undone = bar.undone.then(|| "undone".to_owned());
    let parts = [waited, ran, word, undone].into_iter();
    let parts: Vec<String> = parts.flatten().collect();
    parts.join(" · ")
}

/// The calls in view, for the keyboard and for those who listen.
fn list(ctx: Ctx, feed: &Feed, scale: Scale<'_>) -> impl IntoView + use<> {
    let mut n_seen = 0usize;
    let mut rows: Vec<AnyView> = Vec::new();
    for bar in scale.line.bars.iter().filter(|bar| scale.is_seen(bar)) {
        n_seen += 1;
        if rows.len() < MOST_LISTED {
            let (line, whole) = call_line(feed, bar);
            let what = (
                icon(kind_icon(bar.kind)),
                call_words(line, &whole),
                span().class("calls__time").child(took(bar)),
            );
            let class = match bar.status {
                ToolStatus::Failed => "calls__row calls__row--timed calls__row--failed",
                _ => "calls__row calls__row--timed",
            };
            rows.push(go_button(ctx, bar.block, class, what).into_any());
        }
    }
    let more = (n_seen > rows.len()).then(|| {
        let rest = units::grouped((n_seen - rows.len()) as u64);
        div()
            .class("panel__note")
            .child(format!("{rest} more in view: zoom in to list them"))
    });
    let head = match n_seen == scale.line.bars.len() {
        true => "All calls".to_owned(),
        false => format!("{} in view", units::count(n_seen as u64, "call", "calls")),
    };
    (
        div().class("panel__title").child(head),
        div().class("calls").child(rows),
        more,
    )
}
