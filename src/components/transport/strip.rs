//! The strip: what happened when, by kind; idle stretches hatched, markers above, sub-agents below.
//!
//! However long the session is, only so many nodes are made: bars are one path a kind, markers that would touch are one.

use std::fmt::Write;

use chat_feed::Feed;
use chat_feed::playback::{self, Clock, MarkerKind, STRIP_KINDS, Stops};
use leptos::html::{div, span};
use leptos::prelude::*;
use leptos::svg;

use crate::components::Context;

/// Bars; a bar and its gap are 4 px where the strip is 1200 px wide.
const N_BARS: usize = 300;
/// Height of the bars in the strip's own units; the rest is for what stands below them.
const BARS: f64 = 32.0;
/// Sub-agents beside each other that have a lane of their own.
const MOST_LANES: usize = 3;
/// Markers of a kind that are nearer to each other than this share of the bar are one.
const NEAREST: f64 = 0.006;
/// A path of so many bytes is as full as can be seen.
const LONGEST_PATH: usize = 20_000;

const CLASSES: [&str; STRIP_KINDS] = ["talk", "look", "change", "run", "alarm"];

/// The strip of the whole session.
pub(super) fn view(context: &Context) -> AnyView {
    let axis_ms = context.store.player(|player| player.axis_ms()).max(1);
    #[allow(clippy::cast_precision_loss)]
    let share = |ms: u64| (ms as f64 / axis_ms as f64).clamp(0.0, 1.0);
    context.store.whole(|feed, clock| {
        context.store.stops(|stops| {
            let base = svg::path()
                .attr("class", "strip__base")
                .attr("d", "M0 32H1200");
            let drawn = svg::svg()
                .attr("class", "strip__bars")
                .attr("viewBox", "0 0 1200 40")
                .attr("preserveAspectRatio", "none")
                .attr("aria-hidden", "true")
                .child((
                    base,
                    bars(feed, clock, axis_ms),
                    lanes(stops, clock, &share),
                ));
            (drawn, cuts(clock, &share), markers(stops, clock, &share)).into_any()
        })
    })
}

fn bars(feed: &Feed, clock: &Clock, axis_ms: u64) -> Vec<AnyView> {
    let stretches = playback::strip(feed, clock, axis_ms, N_BARS);
    let sums = || stretches.iter().map(|kinds| kinds.iter().sum::<u32>());
    let most = sums().max().unwrap_or(0).max(1);
    let mut paths: [String; STRIP_KINDS] = Default::default();
    for ((nth, kinds), sum) in stretches.iter().enumerate().zip(sums()) {
        if sum == 0 {
            continue;
        }
        // The square root: a burst of chunks must not make everything else flat.
        let height = BARS * (f64::from(sum) / f64::from(most)).sqrt().max(0.08);
        let mut foot = BARS;
        for (path, &n_events) in paths.iter_mut().zip(kinds) {
            if n_events > 0 {
                let part = height * f64::from(n_events) / f64::from(sum);
                foot -= part;
                // A string takes whatever is written.
                let _ = write!(path, "M{} {foot:.1}h3v{part:.1}h-3z", nth * 4);
            }
        }
    }
    let drawn = paths.into_iter().zip(CLASSES);
    drawn
        .map(|(path, class)| {
            let class = format!("strip__{class}");
            svg::path().attr("class", class).attr("d", path).into_any()
        })
        .collect()
}

fn lanes(stops: &Stops, clock: &Clock, share: &impl Fn(u64) -> f64) -> Vec<AnyView> {
    let mut paths: [String; MOST_LANES] = Default::default();
    let mut ends = [-1.0; MOST_LANES];
    for span in stops.agents() {
        let from = share(clock.played_at(span.from + 1)) * 1200.0;
        let to = (share(clock.played_at(span.to + 1)) * 1200.0).max(from + 2.0);
        let mut lanes = paths.iter_mut().zip(&mut ends).enumerate();
        let free = lanes.find(|(_, (_, end))| **end <= from);
        if let Some((lane, (path, end))) = free.filter(|(_, (path, _))| path.len() < LONGEST_PATH) {
            *end = to;
            let _ = write!(path, "M{from:.1} {}H{to:.1}", 34 + 2 * lane);
        }
    }
    (1..)
        .zip(paths)
        .map(|(nth, path)| {
            let class = format!("strip__lane strip__lane--{nth}");
            svg::path().attr("class", class).attr("d", path).into_any()
        })
        .collect()
}

fn cuts(clock: &Clock, share: &impl Fn(u64) -> f64) -> Vec<AnyView> {
    let mut end = -1.0;
    let mut shown = Vec::new();
    for cut in clock.cuts() {
        let from = share(cut.played_ms);
        // Too near to be told apart from the one before.
        if from < end + NEAREST / 2.0 {
            continue;
        }
        end = share(cut.played_ms + playback::IDLE_LIMIT_MS);
        if end <= from {
            break;
        }
        let width = format!("{:.3}%", (end - from) * 100.0);
        let place = format!("{:.3}%", from * 100.0);
        let cut = div()
            .class("strip__cut")
            .style(("inset-inline-start", place))
            .style(("inline-size", width));
        shown.push(cut.into_any());
    }
    shown
}

fn markers(stops: &Stops, clock: &Clock, share: &impl Fn(u64) -> f64) -> Vec<AnyView> {
    let mut last = [-1.0; 4];
    let mut shown = Vec::new();
    for marker in stops.markers() {
        let (nth, class, sign) = match marker.kind {
            MarkerKind::Prompt => (0, "prompt", "▼"),
            MarkerKind::Error => (1, "error", "◆"),
            MarkerKind::Permission => (2, "permission", "■"),
            MarkerKind::Compaction => (3, "compaction", "┆"),
            // They show as bars of their colour.
            MarkerKind::Edit => continue,
        };
        let at = share(clock.played_at(marker.event + 1));
        let Some(last) = last.get_mut(nth).filter(|last| at >= **last + NEAREST) else {
            continue;
        };
        *last = at;
        let sign = span()
            .class(format!("strip__marker strip__marker--{class}"))
            .attr("aria-hidden", "true")
            .style(("inset-inline-start", format!("{:.3}%", at * 100.0)))
            .child(sign);
        shown.push(sign.into_any());
    }
    shown
}
