//! How a log is: what an operator asks of it.

use std::time::Duration;

use super::Log;

/// Bounds of [`SyncTimes::buckets`], in microseconds: from a disk with a battery to one that hangs.
pub const SYNC_BOUNDS_US: &[u64] = &[
    100, 500, 1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000,
];

const N_BUCKETS: usize = SYNC_BOUNDS_US.len() + 1;

/// How long it took to make a log durable, since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncTimes {
    /// How many took at most as long as the bound of that place and longer than the one before; the last has no bound.
    pub buckets: [u64; N_BUCKETS],
    /// All together, in microseconds.
    pub sum_us: u64,
}

impl SyncTimes {
    /// Counts those of another log as well.
    pub fn add(&mut self, other: &SyncTimes) {
        for (sum, n) in self.buckets.iter_mut().zip(other.buckets) {
            *sum += n;
        }
        self.sum_us = self.sum_us.saturating_add(other.sum_us);
    }

    pub(super) fn note(&mut self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let at = SYNC_BOUNDS_US.partition_point(|&bound| bound < us);
        if let Some(bucket) = self.buckets.get_mut(at) {
            *bucket += 1;
        }
        self.sum_us = self.sum_us.saturating_add(us);
    }
}

/// How a log is.
#[derive(Clone, Debug)]
pub struct Condition {
    /// The epoch.
    pub epoch: String,
    /// The last number.
    pub head: u64,
    /// The first number there is.
    pub oldest: u64,
    /// Events that are stored.
    pub events: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Damaged lines that were found on opening.
    pub damaged_lines: u64,
    /// Why it takes no more events, where that is so. It may name paths of this machine.
    pub degraded: Option<String>,
    /// Whether all that was written is durable.
    pub synced: bool,
    /// How long it took to make it so.
    pub syncs: SyncTimes,
}

impl Log {
    pub(crate) fn condition(&self) -> Condition {
        Condition {
            epoch: self.epochs.now().to_owned(),
            head: self.head,
            oldest: self.oldest,
            events: self.summing.row.events,
            bytes: self.end,
            damaged_lines: self.damaged,
            degraded: self.failed.clone(),
            synced: !self.unsynced && !self.is_syncing(),
            syncs: self.syncs,
        }
    }
}
