//! What the bar says: the time in three ways, how far behind, and the same for those who listen.

use chat_feed::playback::{Clock, Player};
use chat_feed::units;

use super::hover;
use crate::components::Context;
use crate::platform::clock;

/// What is shown of a moment is said in no more characters.
const SPOKEN_CHARS: usize = 80;

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

    /// A pace that is made up is no time of any day, and none that passed.
    pub(super) fn of(self, times: &Clock) -> Said {
        match times.is_reconstructed() {
            true => Said::Events,
            false => self,
        }
    }
}

/// How far along the bar the thumb stands.
#[allow(clippy::cast_precision_loss)]
pub(super) fn share(player: &Player) -> f64 {
    let axis_ms = player.axis_ms().max(1) as f64;
    (player.played_ms() / axis_ms).clamp(0.0, 1.0)
}

/// A moment in this way of saying it: so far into the replay, and so many events shown.
pub(super) fn moment(times: &Clock, said: Said, played_ms: f64, n_events: u32) -> String {
    let day = day(times, said, played_ms);
    behind_day(day, moment_of_day(times, said, played_ms, n_events))
}

/// The same without its day.
fn moment_of_day(times: &Clock, said: Said, played_ms: f64, n_events: u32) -> String {
    match said.of(times) {
        Said::Wall => {
            let wall_ms = times.wall_ms_at(played_ms);
            wall_ms.map(clock::time_to_the_second).unwrap_or_default()
        }
        Said::Elapsed => units::on_a_clock(whole(times.elapsed_at(played_ms))),
        Said::Events => format!("event {}", units::grouped(n_events.into())),
    }
}

/// The day of a moment, where the time on the wall is said of a session that goes on over midnight.
fn day(times: &Clock, said: Said, played_ms: f64) -> Option<String> {
    let day_at = |played_ms| times.wall_ms_at(played_ms).map(clock::day_of);
    let is_said = said.of(times) == Said::Wall && day_at(0.0) != day_at(exact(times.length_ms()));
    times
        .wall_ms_at(played_ms)
        .filter(|_| is_said)
        .map(clock::day)
}

fn behind_day(day: Option<String>, time: String) -> String {
    match day {
        Some(day) => format!("{day}, {time}"),
        None => time,
    }
}

/// The time of the moment, and that of the end.
pub(super) struct Time {
    /// The day of the moment, where there are several.
    pub(super) day: Option<String>,
    /// The moment.
    pub(super) now: String,
    /// The end, with its day where that is another.
    pub(super) of: String,
}

/// The time of the moment, and that of the end.
pub(super) fn time(context: &Context, said: Said) -> Time {
    context.store.player(|player| {
        let times = player.clock();
        let length_ms = exact(times.length_ms());
        let here = day(times, said, player.played_ms());
        let of = match said.of(times) {
            Said::Events => units::grouped(times.n_events().into()),
            said => {
                let day = day(times, said, length_ms).filter(|day| here.as_ref() != Some(day));
                behind_day(day, moment_of_day(times, said, length_ms, times.n_events()))
            }
        };
        Time {
            day: here,
            now: moment_of_day(times, said, player.played_ms(), player.n_events()),
            of,
        }
    })
}

/// A moment as an address says it, to the millisecond: `1:23.5`, `1:02:03`
pub(super) fn in_address(player: &Player) -> String {
    let elapsed_ms = player.clock().elapsed_at(player.played_ms());
    // What a fraction of a millisecond leaves out is not to be of the moment before.
    let elapsed_ms = whole(elapsed_ms.ceil());
    let seconds = elapsed_ms / 1_000;
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    let clock = match minutes / 60 {
        0 => format!("{minutes}:{seconds:02}"),
        hours => format!("{hours}:{:02}:{seconds:02}", minutes % 60),
    };
    match elapsed_ms % 1_000 {
        0 => clock,
        ms => format!("{clock}.{ms:03}").trim_end_matches('0').to_owned(),
    }
}

/// "event 264 of 402"
pub(super) fn counted(context: &Context) -> String {
    context.store.player(|player| {
        let (now, of) = (player.n_events(), player.clock().n_events());
        let (now, of) = (units::grouped(now.into()), units::grouped(of.into()));
        format!("event {now} of {of}")
    })
}

/// The same beside the time, which may say it already.
pub(super) fn counted_beside(context: &Context, said: Said) -> Option<String> {
    let said = context.store.player(|player| said.of(player.clock()));
    (said != Said::Events).then(|| counted(context))
}

/// Whether what is shown is typed at a pace that the log does not tell.
pub(super) fn is_made_up(player: &Player) -> bool {
    player.typed().is_some()
}

/// How far behind the newest, where it is.
pub(super) fn behind(context: &Context) -> Option<String> {
    let behind = context.store.player(|player| {
        let times = player.clock();
        // Stepped up to it it stays there, and what comes is behind it again; played it waits for that.
        if player.n_events() >= times.n_events() {
            return None;
        }
        Some(match times.is_reconstructed() {
            true => {
                let n_events = times.n_events().saturating_sub(player.n_events());
                units::count(n_events.into(), "event", "events")
            }
            false => units::duration(player.behind_ms()),
        })
    });
    let looks_back = context.store.looks_back();
    // The agent stands still, and its question is not on the screen.
    let waits = match context.store.waiting_now() {
        0 => String::new(),
        n => format!(" · {}", units::count(n as u64, "needs you", "need you")),
    };
    looks_back.then(|| match behind {
        Some(behind) => format!("{behind} behind live{waits}"),
        None if context.store.player(Player::moves) => "At the newest".to_owned(),
        None => "Paused at the newest".to_owned(),
    })
}

/// The same for those who listen: "3m 5s of 12m 40s, event 41 of 230, Edit src/main.rs".
pub(super) fn spoken(context: &Context) -> String {
    let said = context.store.player(|player| {
        let times = player.clock();
        if times.is_reconstructed() {
            return String::new();
        }
        let here = times.elapsed_at(player.played_ms());
        // As far as the clocks beside it have them.
        let words = |ms| units::passed(ms).unwrap_or_else(|| "0 s".to_owned());
        let (here, of) = (words(whole(here)), words(times.elapsed_ms()));
        // Of days that passed no hours are said.
        let (played_ms, n_events) = (player.played_ms(), player.n_events());
        match day(times, Said::Wall, played_ms) {
            Some(_) => {
                let when = moment(times, Said::Wall, played_ms, n_events);
                format!("{here} of {of}, {when}, ")
            }
            None => format!("{here} of {of}, "),
        }
    });
    let n_events = context.store.player(Player::n_events);
    let what = hover::what(context, n_events);
    // It is heard with each step.
    let what = what.map(|what| format!(", {}", units::first_line(&what, SPOKEN_CHARS)));
    let what = what.unwrap_or_default();
    format!("{said}{}{what}", counted(context))
}

/// Milliseconds as the clock counts them; no session is so long that it would matter.
#[allow(clippy::cast_precision_loss)]
pub(super) fn exact(ms: u64) -> f64 {
    ms as f64
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(ms: f64) -> u64 {
    ms.max(0.0) as u64
}
