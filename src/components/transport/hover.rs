//! What stood at the place under the pointer: time, turn, event, and what was done.

use std::ops::Range;

use chat_feed::{BlockBody, units};
use leptos::html::{div, span};
use leptos::prelude::*;

use super::chapters::TITLE_CHARS;
use super::words::{self, Said};
use crate::components::{Context, Ctx, seen};

/// Nearer than this share of the bar is at a marker.
const NEAR: f64 = 0.008;

/// The preview at a share of the bar.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
pub(super) fn view(ctx: Ctx, share: f64) -> impl IntoView {
    let (time, event, what, turn) = ctx.with_value(|context| {
        let said = context.transport.said.get_untracked();
        let (time, n_events, counts, near) = context.store.player(|player| {
            let times = player.clock();
            let axis_ms = player.axis_ms() as f64;
            let at_ms = share * axis_ms;
            let n_events = times.n_events_at(at_ms as u64);
            let time = words::moment(times, said, at_ms, n_events);
            let shown_by = |share: f64| times.n_events_at((share * axis_ms) as u64);
            let before = if share > NEAR {
                shown_by(share - NEAR)
            } else {
                0
            };
            let near = before..shown_by(share + NEAR);
            (time, n_events, said.of(times) == Said::Events, near)
        });
        let turn = context.store.whole(|feed, _| {
            let block = feed.block_of_event(n_events.saturating_sub(1))?;
            let turn = feed.turn_of(block);
            let undone = if turn.is_undone() { ", undone" } else { "" };
            (turn.number > 0).then(|| format!("Turn {}{undone}", turn.number))
        });
        // Said once.
        let event = (!counts).then(|| format!("event {}", units::grouped(n_events.into())));
        let what = label(context, near).or_else(|| what(context, n_events));
        (time, event, what, turn)
    });
    let place_words: Vec<String> = [turn, event].into_iter().flatten().collect();
    // Kept on the screen at both ends.
    let place = format!(
        "clamp(0px, calc({:.3}% - 120px), calc(100% - 240px))",
        share * 100.0
    );
    div()
        .class("strip__hover")
        .attr("aria-hidden", "true")
        .style(("inset-inline-start", place))
        .child((
            span().class("strip__hover-time").child(time),
            span()
                .class("strip__hover-where")
                .child(place_words.join(" · ")),
            what.map(|what| span().class("strip__hover-what").child(seen::text(what))),
        ))
}

/// What the page has named among some events; the first of it.
fn label(context: &Context, events: Range<u32>) -> Option<String> {
    context.store.stops(|stops| {
        let mut markers = stops.markers_in(events).iter();
        let label = markers.find_map(|marker| stops.label(marker.kind));
        label.map(|label| units::first_line(label, TITLE_CHARS))
    })
}

/// What the newest of so many events did, in a line, or what the page calls it.
pub(super) fn what(context: &Context, n_events: u32) -> Option<String> {
    if let Some(label) = label(context, n_events.saturating_sub(1)..n_events) {
        return Some(label);
    }
    let line = |text: &str| {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let line = lines.next().unwrap_or_default();
        line.chars().take(120).collect::<String>()
    };
    context.store.whole(|feed, _| {
        let block = feed.block_of_event(n_events.checked_sub(1)?)?;
        // As rows say paths.
        let below = |path: &str| units::below(path, feed.session().cwd.as_deref()).to_owned();
        Some(match &feed.block(block).body {
            BlockBody::ToolCall(call) => {
                let (verb, object) = call.what();
                let object = call.seen_from(feed.session().cwd.as_deref(), &object);
                [&*verb, call.between(), &object].concat()
            }
            BlockBody::FileEdit(edit) => format!("Edit {}", line(&below(&edit.edit.file_path))),
            BlockBody::Prompt(prompt) => {
                let text = prompt.text.as_ref().map(|text| line(&text.preview()));
                format!("Prompt: {}", text.unwrap_or_default())
            }
            BlockBody::Text(_) => line(&feed.text(block)),
            BlockBody::Thinking(_) => "Thinking".to_owned(),
            BlockBody::Error { message, .. } => format!("Error: {}", line(message)),
            BlockBody::Permission(ask) => {
                let title = ask.request.title.as_deref();
                format!("Asks: {}", line(title.unwrap_or(&ask.request.tool_name)))
            }
            BlockBody::Question(_) => "Asks a question".to_owned(),
            BlockBody::Compaction(_) => "Context compacted".to_owned(),
            BlockBody::Plan(_) => "Plan".to_owned(),
            BlockBody::AgentMessage(message) => format!("Message to {}", message.target),
            BlockBody::Progress(progress) => line(&progress.told.message),
            BlockBody::TurnEnd(_) => "End of the turn".to_owned(),
            BlockBody::Interrupt { .. } => "Interrupted".to_owned(),
            BlockBody::SessionStart(_) => "Session begins".to_owned(),
            BlockBody::SessionEnd { .. } => "Session ends".to_owned(),
            BlockBody::AgentSwitch(_)
            | BlockBody::Audio { .. }
            | BlockBody::Notice { .. }
            | BlockBody::Raw { .. }
            | BlockBody::Gap(_) => return None,
        })
    })
}
