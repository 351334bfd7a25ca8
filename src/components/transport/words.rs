//! What the bar says: the time in three ways, how far behind, and the same for those who listen.

use chat_feed::playback::Player;
use chat_feed::units;

use super::hover;
use crate::components::Context;
use crate::platform::clock;

/// How the time is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Said {
    /// By the clock on the wall.
    #[default]
    Wall,
    /// Since the session began.
    Elapsed,
    /// In events.
    Events,
}

impl Said {
    pub(super) fn next(self) -> Said {
        match self {
            Said::Wall => Said::Elapsed,
            Said::Elapsed => Said::Events,
            Said::Events => Said::Wall,
        }
    }
}

/// How far along the bar the thumb stands.
#[allow(clippy::cast_precision_loss)]
pub(super) fn share(player: &Player) -> f64 {
    let axis_ms = player.axis_ms().max(1) as f64;
    (player.played_ms() / axis_ms).clamp(0.0, 1.0)
}

/// The time of the moment, and that of the end.
#[allow(clippy::cast_precision_loss)]
pub(super) fn time(context: &Context, said: Said) -> (String, String) {
    context.store.player(|player| {
        let times = player.clock();
        let (here, end) = (player.played_ms(), times.length_ms() as f64);
        let wall = |at| times.wall_ms_at(at).map(clock::time_to_the_second);
        // A pace that is made up is no time of any day.
        let wall = |at| wall(at).filter(|_| !times.is_reconstructed());
        match (said, wall(here), wall(end)) {
            (Said::Wall, Some(here), Some(end)) => (here, end),
            (Said::Wall | Said::Elapsed, _, _) => (
                elapsed(times.elapsed_at(here)),
                elapsed(times.elapsed_at(end)),
            ),
            (Said::Events, _, _) => (
                units::grouped(player.n_events().into()),
                units::grouped(times.n_events().into()),
            ),
        }
    })
}

/// "event 264 of 402"
pub(super) fn counted(context: &Context) -> String {
    context.store.player(|player| {
        let (now, of) = (player.n_events(), player.clock().n_events());
        let (now, of) = (units::grouped(now.into()), units::grouped(of.into()));
        format!("event {now} of {of}")
    })
}

/// Whether what is shown is typed at a pace that the log does not tell.
pub(super) fn is_made_up(player: &Player) -> bool {
    player.typed().is_some()
}

/// How far behind the newest, where it is.
pub(super) fn behind(context: &Context) -> Option<String> {
    let looks_back = context.store.looks_back();
    let behind_ms = context.store.player(Player::behind_ms);
    looks_back.then(|| format!("{} behind live", units::duration(behind_ms)))
}

/// The same for those who listen: "3m 5s of 12m 40s, event 41 of 230, Edit src/main.rs".
#[allow(clippy::cast_precision_loss)]
pub(super) fn spoken(context: &Context) -> String {
    let said = context.store.player(|player| {
        let times = player.clock();
        let here = times.elapsed_at(player.played_ms());
        let of = units::duration(times.elapsed_ms());
        format!("{} of {of}", units::duration(whole(here)))
    });
    let n_events = context.store.player(Player::n_events);
    let what = hover::what(context, n_events);
    let what = what.map(|what| format!(", {what}")).unwrap_or_default();
    format!("{said}, {}{what}", counted(context))
}

/// Milliseconds as the clock counts them; no session is so long that it would matter.
#[allow(clippy::cast_precision_loss)]
pub(super) fn exact(ms: u64) -> f64 {
    ms as f64
}

/// `3:05`, `1:03:05`
pub(super) fn elapsed(ms: f64) -> String {
    let seconds = whole(ms) / 1_000;
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    let seconds = seconds % 60;
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(ms: f64) -> u64 {
    ms.max(0.0) as u64
}
