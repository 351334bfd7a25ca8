//! The strip: what happened when, by kind; idle stretches hatched, markers above, sub-agents below.
//!
//! However long the session is, only so many nodes are made: bars are one path a kind, markers one text a kind, idle
//! stretches one path, and those that would touch are one.

use std::fmt::Write;

use chat_feed::playback::{self, Clock, MarkerKind, STRIP_KINDS, Stops};
use chat_feed::{BlockId, Feed};
use leptos::prelude::*;
use leptos::svg;

use crate::components::Context;

/// Bars; a bar and its gap are 4 px where the strip is 1200 px wide.
const N_BARS: usize = 300;
/// Width of the strip in its own units.
const WIDTH: f64 = 1200.0;
/// Height of the bars in the strip's own units; the rest is for what stands below them.
const BARS: f64 = 32.0;
/// Where no more events than these are in a stretch, bars are lower than there is room for.
const LOW: u32 = 4;
/// Sub-agents beside each other that have a lane of their own.
const MOST_LANES: usize = 3;
/// Markers of a kind that are nearer to each other than this share of the bar are one.
const NEAREST: f64 = 0.006;
/// A path of so many bytes is as full as can be seen.
const LONGEST_PATH: usize = 20_000;

const CLASSES: [&str; STRIP_KINDS] = ["talk", "look", "change", "run", "ask", "alarm"];

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
                    cuts(clock, &share),
                    bars(feed, clock, axis_ms),
                    lanes(stops, clock, &share, |call| context.agent_hue(feed, call)),
                ));
            (drawn, markers(stops, clock, &share)).into_any()
        })
    })
}

fn bars(feed: &Feed, clock: &Clock, axis_ms: u64) -> Vec<AnyView> {
    let stretches = playback::strip(feed, clock, axis_ms, N_BARS);
    let sums = || stretches.iter().map(|kinds| kinds.iter().sum::<u32>());
    // A few stretches in which very much happened are as high as the next ones: they must not make all others flat.
    let mut sorted: Vec<u32> = sums().filter(|&sum| sum > 0).collect();
    sorted.sort_unstable();
    let most = sorted.iter().rev().nth(sorted.len() / 20);
    let most = most.map_or(LOW, |&most| most.max(LOW));
    let mut paths: [String; STRIP_KINDS] = Default::default();
    for ((nth, kinds), sum) in stretches.iter().enumerate().zip(sums()) {
        if sum == 0 {
            continue;
        }
        // The square root: a burst of chunks must not make everything else flat.
        let height = BARS * (f64::from(sum) / f64::from(most)).sqrt().clamp(0.08, 1.0);
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

fn lanes(
    stops: &Stops,
    clock: &Clock,
    share: &impl Fn(u64) -> f64,
    hue: impl Fn(BlockId) -> u8,
) -> Vec<AnyView> {
    // A path a hue.
    let mut paths: [String; 3] = Default::default();
    let mut ends = [-1.0; MOST_LANES];
    for span in stops.agents() {
        let from = share(clock.played_at(span.from + 1)) * WIDTH;
        let to = (share(clock.played_at(span.to + 1)) * WIDTH).max(from + 2.0);
        let free = ends.iter_mut().enumerate().find(|(_, end)| **end <= from);
        let of_hue = usize::from(hue(span.block)).checked_sub(1);
        let path = of_hue.and_then(|at| paths.get_mut(at));
        let path = path.filter(|path| path.len() < LONGEST_PATH);
        if let (Some((lane, end)), Some(path)) = (free, path) {
            *end = to;
            let _ = write!(path, "M{from:.1} {}H{to:.1}", 34 + 2 * lane);
        }
    }
    (1..)
        .zip(paths)
        .map(|(hue, path)| {
            let class = format!("strip__lane strip__lane--{hue}");
            svg::path().attr("class", class).attr("d", path).into_any()
        })
        .collect()
}

/// All idle stretches as one path, hatched by the dashes of its stroke. An element a stretch, or one with a shape to be
/// clipped to, would be gone through on every scrolled frame (40 % of a frame's time with 250 stretches).
fn cuts(clock: &Clock, share: &impl Fn(u64) -> f64) -> AnyView {
    let mut end = -1.0;
    let mut path = String::new();
    for cut in clock.cuts() {
        let from = share(cut.played_ms);
        // Too near to be told apart from the one before.
        if from < end + NEAREST / 2.0 {
            continue;
        }
        end = share(cut.played_ms + clock.idle_limit_ms());
        if end <= from {
            break;
        }
        // A string takes whatever is written.
        let _ = write!(path, "M{:.1} 28H{:.1}", from * WIDTH, end * WIDTH);
    }
    svg::path()
        .attr("class", "strip__cuts")
        .attr("d", path)
        .into_any()
}

/// A marker's class and its sign: each kind has a form of its own, as colours alone tell nothing to some.
const MARKERS: [(&str, &str); 5] = [
    ("prompt", "▼"),
    ("error", "◆"),
    ("permission", "■"),
    ("compaction", "┆"),
    ("named", "●"),
];

/// The markers, one text a kind: each of its signs has a place of its own.
fn markers(stops: &Stops, clock: &Clock, share: &impl Fn(u64) -> f64) -> AnyView {
    let mut last = [-1.0; MARKERS.len()];
    let mut places: [String; MARKERS.len()] = Default::default();
    let mut signs: [String; MARKERS.len()] = Default::default();
    for marker in stops.markers() {
        let nth = match marker.kind {
            MarkerKind::Prompt => 0,
            MarkerKind::Error => 1,
            MarkerKind::Permission => 2,
            MarkerKind::Compaction => 3,
            MarkerKind::Named(_) => 4,
            // They show as bars of their colour.
            MarkerKind::Edit => continue,
        };
        let at = share(clock.played_at(marker.event + 1));
        if at >= last[nth] + NEAREST {
            last[nth] = at;
            let _ = write!(places[nth], "{:.2}% ", at * 100.0);
            signs[nth].push_str(MARKERS[nth].1);
        }
    }
    let drawn: Vec<AnyView> = MARKERS
        .into_iter()
        .zip(places.into_iter().zip(signs))
        .map(|((class, _), (places, signs))| {
            svg::text()
                .attr("class", format!("strip__marker strip__marker--{class}"))
                .attr("x", places)
                .attr("y", "10")
                .child(signs)
                .into_any()
        })
        .collect();
    svg::svg()
        .attr("class", "strip__markers")
        .attr("aria-hidden", "true")
        .child(drawn)
        .into_any()
}
