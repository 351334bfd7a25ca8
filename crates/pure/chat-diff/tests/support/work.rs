//! How long this thread works at something, and not how long it waits for a machine that is busy; where the system does not
//! tell that, how long it takes.

use std::time::{Duration, Instant};

/// The work of one thing, and what came of it.
pub(crate) fn work_of<T>(act: impl FnOnce() -> T) -> (Duration, T) {
    let began = Instant::now();
    let before = worked(began);
    let result = act();
    (worked(began).saturating_sub(before), result)
}

fn worked(began: Instant) -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let worked_ns = told.and_then(|told| told.split_whitespace().next()?.parse().ok());
    worked_ns.map_or_else(|| began.elapsed(), Duration::from_nanos)
}
