//! All lines of a long output behind a scroll bar of its own, of which those in sight are mounted.

use std::rc::Rc;

use chat_feed::BlockId;
use leptos::ev;
use leptos::html::div;
use leptos::prelude::*;

use super::kept::Kept;
use super::lines::line_views;
use crate::components::Ctx;
use crate::platform::{dom, measure};

/// Lines that are mounted of an output that is shown whole: five heights of its window.
pub(super) const MOUNTED_LINES: usize = 120;
/// The window moves by so many lines, so that most scrolling changes nothing.
const STEP_LINES: usize = 40;
/// Height of a line, as the style sheet has it.
const LINE_PX: f64 = 20.0;
/// Height of the window, as the style sheet has it.
const WINDOW_PX: f64 = 480.0;
/// Browsers lay out unreliably above some 33 million pixels; far below it positions are scaled.
const MOST_PX: f64 = 8_000_000.0;

/// All lines behind a scroll bar, of which those in sight are mounted.
pub(super) fn window_view(ctx: Ctx, id: BlockId, kept: Rc<Kept>, n_lines: usize) -> AnyView {
    let all_px = all_px(n_lines);
    let scaled = all_px >= MOST_PX;
    // The first mounted line, and where it stands.
    let place = ArcRwSignal::new((0_usize, 0.0_f64));
    let moved = place.clone();
    let scrolled = move |event: ev::Event| {
        let top_px = measure::scroll_top(&event_target::<dom::Element>(&event));
        // Between no line and all of them.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let next = if scaled {
            let n_above = n_lines as f64 - WINDOW_PX / LINE_PX;
            let first = (top_px / (all_px - WINDOW_PX) * n_above) as usize;
            (first.min(n_lines), top_px)
        } else {
            let step = (top_px / LINE_PX) as usize / STEP_LINES;
            let first = step.saturating_sub(1) * STEP_LINES;
            (first, first as f64 * LINE_PX)
        };
        if moved.get_untracked() != next {
            moved.set(next);
        }
    };
    let kept = StoredValue::new_local(kept);
    let lines = move || {
        let (first, top_px) = place.get();
        let lines = ctx.with_value(|context| {
            // It may have been scrolled in the frame in which it is taken down.
            kept.try_with_value(|kept| {
                let feed = context.store.feed();
                let output = kept.output(&feed, id);
                let printed = output.printed();
                let lines = kept.lines(printed, first, first + MOUNTED_LINES);
                line_views(&kept.terminal.borrow(), lines)
            })
        });
        div()
            .class("terminal__mounted")
            .style(("transform", format!("translateY({top_px}px)")))
            .child(lines)
    };
    let all = div()
        .class("terminal__all")
        .style(("height", format!("{all_px}px")))
        .child(lines);
    div()
        .class("well terminal__lines terminal__window")
        .attr("tabindex", "0")
        .attr("role", "group")
        .attr("aria-label", "Output, all lines")
        .on(ev::scroll, scrolled)
        .child(all)
        .into_any()
}

/// How high all lines are.
fn all_px(n_lines: usize) -> f64 {
    (n_lines as f64 * LINE_PX).min(MOST_PX)
}

/// Where the window stands that has a line in its middle.
pub(super) fn top_of(line: usize, n_lines: usize) -> f64 {
    let (all_px, seen) = (all_px(n_lines), WINDOW_PX / LINE_PX);
    let first = line as f64 - seen / 2.0;
    match all_px >= MOST_PX {
        true => first / (n_lines as f64 - seen) * (all_px - WINDOW_PX),
        false => first * LINE_PX,
    }
}
