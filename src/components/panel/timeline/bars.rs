//! The bars of the chart: one for each call, in lanes.

use std::rc::Rc;

use chat_feed::panel::{Bar, Timeline};
use chat_feed::{BlockBody, Feed, ToolKind, ToolStatus};
use leptos::ev;
use leptos::html::{div, span};
use leptos::prelude::*;

use super::scale::{NARROWEST_PX, Scale};
use super::{LANE_PX, MOST_LANES, MOST_NODES, px, times};
use crate::components::panel::go_to;
use crate::components::{Context, Ctx, seen};
use crate::platform::style;

pub(super) fn bars(ctx: Ctx, scale: Scale<'_>) -> Vec<AnyView> {
    let mut views: Vec<AnyView> = Vec::new();
    // Where each lane is drawn up to.
    let mut drawn_px = vec![f64::NEG_INFINITY; MOST_LANES as usize];
    for bar in &scale.line.bars {
        let Some(lane) = drawn_px.get_mut(bar.lane as usize) else {
            continue;
        };
        let Some((from, to)) = scale.stretch_px(bar.start_ms, bar.end_ms) else {
            continue;
        };
        if to < *lane + 1.0 || views.len() >= MOST_NODES {
            continue;
        }
        // What would lie upon the bar before begins behind it.
        let from = from.max(*lane + 1.0);
        let to = to.max(from + NARROWEST_PX);
        *lane = to;
        let run = scale.x_px(bar.run_ms).clamp(from, to);
        views.push(bar_view(ctx, bar, from, run, to));
    }
    views
}

fn bar_view(ctx: Ctx, bar: &Bar, from: f64, run: f64, to: f64) -> AnyView {
    let block = bar.block;
    let hue = (bar.kind == ToolKind::Agent).then(|| {
        ctx.with_value(|context| context.agent_hue(&context.store.feed(), block))
            .to_string()
    });
    let wait = (run - from >= 1.0).then(|| {
        span()
            .class("timeline__wait")
            .style(("inline-size", px(run - from)))
    });
    let failed = bar.status == ToolStatus::Failed;
    div()
        .class("timeline__bar")
        .attr("data-kind", bar.kind.as_str())
        .attr("data-hue", hue)
        .attr("data-failed", failed.then_some(""))
        .attr("data-running", bar.status.runs().then_some(""))
        .attr("data-undone", bar.undone.then_some(""))
        .style(("inset-inline-start", px(from)))
        .style(("inline-size", px(to - from)))
        .style((
            "inset-block-start",
            format!("{}px", bar.lane * LANE_PX + 22),
        ))
        .on(ev::mouseenter, move |_| {
            ctx.with_value(|context| context.panel.hovered.set(Some(block)))
        })
        .on(ev::click, move |_| {
            ctx.with_value(|context| go_to(context, block))
        })
        .child(wait)
        .into_any()
}

/// The call the pointer was on last.
pub(super) fn detail(context: &Rc<Context>, feed: &Feed, line: &Timeline) -> impl IntoView + use<> {
    let hovered = context.panel.hovered.get();
    let bar = hovered.and_then(|block| line.bars.iter().find(|bar| bar.block == block));
    let (call, times) = match bar {
        Some(bar) => (call_line(feed, bar).0, times(feed, line, bar)),
        None => (
            String::new(),
            match style::can_hover() {
                true => "Point at a call to see it; click to go there.".to_owned(),
                false => "Tap a call to go there.".to_owned(),
            },
        ),
    };
    let said = (
        div().class("timeline__call").child(seen::text(call)),
        div().class("subtle").child(times),
    );
    div().class("timeline__detail").child(said)
}

/// What a call says, as it is seen from the session's folder and with whole paths.
pub(super) fn call_line(feed: &Feed, bar: &Bar) -> (String, String) {
    match &feed.block(bar.block).body {
        BlockBody::ToolCall(call) => {
            let (verb, object) = call.what();
            let seen = call.seen_from(feed.session().cwd.as_deref(), &object);
            let line = |object: &str| [&*verb, call.between(), object].concat();
            (line(&seen), line(&object))
        }
        _ => Default::default(),
    }
}

pub(super) fn between(from_ms: i64, to_ms: i64) -> u64 {
    u64::try_from(to_ms.saturating_sub(from_ms)).unwrap_or(0)
}
