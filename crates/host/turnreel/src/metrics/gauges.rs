//! What is looked up when somebody asks: the store, and who follows.

use chat_tiers::Condition;

use super::kinds::{Counted, Text};
use crate::locked::locked;
use crate::state::State;

/// Waits for the disk: a log that is being written holds its lock.
pub(super) fn write(state: &State, text: &mut Text) {
    write_store(state, text);
    write_followers(state, text);
    write_copies(state, text);
}

fn write_store(state: &State, text: &mut Text) {
    let mut n_sessions = 0u64;
    let mut bytes = 0;
    let mut events = 0;
    let mut damaged = 0;
    let mut degraded = 0u64;
    // What was counted of one that is removed stays counted: a sum never falls.
    let mut syncs = *locked(&state.metrics.syncs_of_gone);
    for live in state.all_to_write() {
        let condition = live.session.condition();
        syncs.add(&condition.syncs);
        if live.is_removed() {
            continue;
        }
        n_sessions += 1;
        bytes += condition.bytes;
        events += condition.events;
        damaged += condition.damaged_lines;
        degraded += u64::from(condition.degraded.is_some());
    }
    let gauges = [
        ("turnreel_sessions", "Sessions there are.", n_sessions),
        (
            "turnreel_sessions_packed_away",
            "Sessions whose logs were packed away, and are fetched when somebody asks for them.",
            state.store.packed().len() as u64,
        ),
        ("turnreel_log_bytes", "Bytes of all logs.", bytes),
        ("turnreel_log_events", "Events in all logs.", events),
        (
            "turnreel_log_damaged_lines",
            "Damaged lines that were found in logs.",
            damaged,
        ),
        (
            "turnreel_sessions_degraded",
            "Sessions that take no more events.",
            degraded,
        ),
        (
            "turnreel_logs_unopened",
            "Logs that could not be opened.",
            state.store.unopened_logs(),
        ),
    ];
    for (name, help, value) in gauges {
        text.single(name, "gauge", help, value);
    }
    let name = "turnreel_fsync_duration_seconds";
    text.begin(name, "histogram", "Time to make a log durable.");
    let syncs = Counted {
        buckets: syncs.buckets.to_vec(),
        sum: syncs.sum_us,
    };
    text.histogram(name, &[], chat_store::SYNC_BOUNDS_US, 1_000_000, &syncs);
}

fn write_followers(state: &State, text: &mut Text) {
    let free = state.sockets.available_permits();
    let taken = state.settings.sockets.saturating_sub(free);
    let mut followers = 0;
    let mut ring_events = 0;
    let mut ring_bytes = 0;
    for live in state.all_live() {
        let ring = live.ring();
        followers += ring.followers;
        ring_events += ring.events;
        ring_bytes += ring.bytes;
    }
    let held = state.settings.held_bytes / crate::state::HELD_UNIT_BYTES;
    let held = held.saturating_sub(state.held_units.available_permits());
    let (rings_held, rings_most, n_let_go) = state.rings.figures();
    let gauges = [
        (
            "turnreel_rings_held_bytes",
            "Memory taken by events and frames that are held for followers.",
            rings_held,
        ),
        (
            "turnreel_rings_most_bytes",
            "How much that may be.",
            rings_most,
        ),
        (
            "turnreel_connections",
            "Sockets and event streams that are open.",
            taken,
        ),
        (
            "turnreel_subscriptions",
            "Sessions that are followed, once for each follower.",
            followers,
        ),
        (
            "turnreel_ring_events",
            "Events held in memory for followers.",
            ring_events,
        ),
        (
            "turnreel_ring_bytes",
            "Bytes of events held in memory for followers.",
            ring_bytes,
        ),
        (
            "turnreel_held_body_bytes",
            "Room taken by request bodies in memory.",
            held * crate::state::HELD_UNIT_BYTES,
        ),
    ];
    text.single(
        "turnreel_rings_let_go_total",
        "counter",
        "Times that a quiet session's events were let go for others'.",
        n_let_go,
    );
    for (name, help, value) in gauges {
        text.single(name, "gauge", help, value);
    }
}

/// The stores that the logs are copied to; nothing where there are none.
fn write_copies(state: &State, text: &mut Text) {
    if let Some(fleet) = state.fleet.get() {
        let name = "turnreel_fleet_servers";
        let help = "Other servers of the fleet that are there.";
        text.single(name, "gauge", help, fleet.n_members());
    }
    let copied = state.copied.get().map_or(&[][..], Vec::as_slice);
    let conditions: Vec<_> = copied
        .iter()
        .map(|copied| (copied.tier, copied.health.condition()))
        .collect();
    type Value = fn(&Condition) -> u64;
    let families: [(&str, &str, &str, Value); 4] = [
        (
            "turnreel_tier_up",
            "gauge",
            "Whether a store that the logs are copied to did the last thing it was asked for.",
            |condition| u64::from(condition.is_up),
        ),
        (
            "turnreel_tier_behind_sessions",
            "gauge",
            "Sessions that wait to be copied.",
            |condition| condition.behind,
        ),
        (
            "turnreel_tier_copied_total",
            "counter",
            "Events that a store took; of an object store, sessions.",
            |condition| condition.copied,
        ),
        (
            "turnreel_tier_failures_total",
            "counter",
            "Times that a store was away or refused.",
            |condition| condition.failures,
        ),
    ];
    for (name, kind, help, value) in families {
        if conditions.is_empty() {
            continue;
        }
        text.begin(name, kind, help);
        for (tier, condition) in &conditions {
            text.line(name, &[("tier", tier)], value(condition));
        }
    }
}
