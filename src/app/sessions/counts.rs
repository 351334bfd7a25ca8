//! How many sessions wait, work, and have used how much today.

use chat_feed::sessions::{Row, State as Stand};
use chat_feed::units;
use leptos::prelude::*;

use crate::app::{Open, State};
use crate::platform::clock;

/// Whether a row says since when.
pub(in crate::app) fn counts(row: &Row, now_ms: i64) -> bool {
    row.state(now_ms) == Stand::NeedsYou || works(row, now_ms)
}

/// Whether it is at work, heard of or not.
pub(in crate::app) fn works(row: &Row, now_ms: i64) -> bool {
    match row.state(now_ms) {
        Stand::Running | Stand::Quiet => true,
        Stand::NeedsYou | Stand::Idle | Stand::Failed | Stand::Done | Stand::Cancelled => false,
    }
}

/// How many sessions wait for the reader, and how many are at work and heard of: the list has the quiet ones apart.
pub(super) fn at_work(state: State) -> (usize, usize) {
    let now_ms = state.now_ms.get();
    state.rows.with(|rows| {
        let count = |stand| rows.live().filter(|row| row.state(now_ms) == stand).count();
        (count(Stand::NeedsYou), count(Stand::Running))
    })
}

/// How many sessions that are not open wait for the reader.
pub(in crate::app) fn waiting(state: State) -> usize {
    let now_ms = state.now_ms.get();
    state.open.with(|open| {
        let is_open = |id: &str| match open {
            Open::Session(open) => open == id,
            Open::Together(open) => open.iter().any(|open| open == id),
            Open::Nothing | Open::Local(_) | Open::Address(_) => false,
        };
        state.rows.with(|rows| {
            let waiting = rows
                .live()
                .filter(|row| row.state(now_ms) == Stand::NeedsYou);
            waiting.filter(|row| !is_open(&row.id)).count()
        })
    })
}

/// How many of the sessions that are watched together wait: nobody counts what comes in them while the page is hidden.
pub(in crate::app) fn waiting_beside(state: State) -> usize {
    let now_ms = state.now_ms.get();
    state.open.with(|open| {
        let Open::Together(open) = open else { return 0 };
        state.rows.with(|rows| {
            let open = open.iter().filter_map(|id| rows.get(id));
            open.filter(|row| row.state(now_ms) == Stand::NeedsYou)
                .count()
        })
    })
}

/// What the sessions that changed today have used, over all their time.
pub(super) fn spent_today(state: State) -> Option<String> {
    let (today_ms, _) = clock::day_starts();
    let (n_tokens, usd) = state.rows.with(|rows| rows.spent_since(today_ms));
    let tokens = (n_tokens > 0).then(|| format!("{} tokens", units::tokens(n_tokens)));
    let cost = (usd > 0.0).then(|| units::dollars(usd));
    let parts: Vec<String> = [tokens, cost].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("Active today {}", parts.join(" · ")))
}
