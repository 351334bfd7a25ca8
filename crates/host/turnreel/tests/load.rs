//! What many readers and much writing cost. Minutes long: only with `TURNREEL_FULL=1`.
//!
//! Counts and memory hold always; times and the processor's only in a release build, and times of the clock only on a
//! machine that has nothing else to do.

#![cfg(target_os = "linux")]

mod sockets;
mod stalled;
mod taking;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::support::Server;

/// They measure, so they run one after the other.
static ALONE: Mutex<()> = Mutex::new(());

/// Held by the one that measures. One that failed is no reason for the next to fail.
fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn full() -> bool {
    let full = std::env::var_os("TURNREEL_FULL").is_some_and(|value| value == "1");
    if !full {
        eprintln!("skipped: takes minutes (set TURNREEL_FULL=1)");
    }
    full
}

/// Whether times can be held against their bars here and now; says why not.
fn quiet() -> bool {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap();
    let load: f64 = load.split(' ').next().unwrap().parse().unwrap();
    let cores = std::thread::available_parallelism().unwrap().get() as f64;
    if cfg!(debug_assertions) {
        eprintln!("times are not held: this is no release build");
        return false;
    }
    if load > 2.0 * cores {
        eprintln!("times are not held: the load is {load} on {cores} cores");
        return false;
    }
    true
}

fn rss_kib(server: &Server) -> u64 {
    server.memory_kib("VmRSS:")
}

fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    sorted[(sorted.len() - 1) * percent / 100]
}
