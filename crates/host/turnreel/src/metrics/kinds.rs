//! Counters and histograms, and how they are printed for Prometheus (text format 0.0.4).

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use crate::locked::locked;

/// Bounds for times in microseconds: from a write into the page cache to a disk that hangs.
pub(super) const TIMES_US: &[u64] = &[
    100, 500, 1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000,
];
/// Bounds for messages in bytes; a frame is at most 256 KiB but for one event.
pub(super) const MESSAGE_BYTES: &[u64] = &[128, 512, 2048, 8192, 32_768, 131_072, 262_144];
/// Bounds for events of a batch.
pub(super) const BATCH_EVENTS: &[u64] = &[1, 2, 5, 10, 20, 50, 100, 500, 1000];

/// A number that only rises.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How often values fell below each bound. Values are whole numbers of a small unit.
#[derive(Debug)]
pub(crate) struct Histogram {
    bounds: &'static [u64],
    /// One for each bound, and one for what is above all; not summed up.
    buckets: Vec<AtomicU64>,
    sum: AtomicU64,
}

impl Histogram {
    pub(super) fn new(bounds: &'static [u64]) -> Self {
        Histogram {
            bounds,
            buckets: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
        }
    }

    pub(crate) fn observe(&self, value: u64) {
        let at = self.bounds.partition_point(|&bound| bound < value);
        if let Some(bucket) = self.buckets.get(at) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// What it holds, as plain numbers.
    pub(super) fn counted(&self) -> Counted {
        let load = |bucket: &AtomicU64| bucket.load(Ordering::Relaxed);
        Counted {
            buckets: self.buckets.iter().map(load).collect(),
            sum: self.sum.load(Ordering::Relaxed),
        }
    }

    pub(super) fn bounds(&self) -> &'static [u64] {
        self.bounds
    }
}

/// A histogram's numbers at one time.
pub(super) struct Counted {
    pub(super) buckets: Vec<u64>,
    pub(super) sum: u64,
}

/// One thing for each set of labels, for at most so many sets.
#[derive(Debug)]
pub(super) struct Family<K, V> {
    by_labels: Mutex<BTreeMap<K, V>>,
    most: usize,
}

impl<K: Ord + Clone, V> Family<K, V> {
    pub(super) fn of_at_most(most: usize) -> Self {
        Family {
            by_labels: Mutex::default(),
            most,
        }
    }

    /// Changes what stands under `labels`; under `other` once there are too many.
    pub(super) fn with(
        &self,
        labels: K,
        other: impl FnOnce(&K) -> K,
        new: impl FnOnce() -> V,
        change: impl FnOnce(&mut V),
    ) {
        let mut map = self.locked();
        let full = map.len() >= self.most && !map.contains_key(&labels);
        let labels = if full { other(&labels) } else { labels };
        change(map.entry(labels).or_insert_with(new));
    }

    pub(super) fn locked(&self) -> MutexGuard<'_, BTreeMap<K, V>> {
        locked(&self.by_labels)
    }
}

/// The text of an answer.
#[derive(Default)]
pub(super) struct Text(String);

type Labels<'a> = &'a [(&'static str, &'a str)];

impl Text {
    /// Begins a metric; its lines follow.
    pub(super) fn begin(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    pub(super) fn line(&mut self, name: &str, labels: Labels<'_>, value: impl std::fmt::Display) {
        self.0.push_str(name);
        for (nth, (label, text)) in labels.iter().enumerate() {
            let open = if nth == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{open}{label}=\"");
            for character in text.chars() {
                match character {
                    '\\' => self.0.push_str("\\\\"),
                    '"' => self.0.push_str("\\\""),
                    '\n' => self.0.push_str("\\n"),
                    other => self.0.push(other),
                }
            }
            self.0.push('"');
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        let _ = writeln!(self.0, " {value}");
    }

    /// A metric of one number.
    pub(super) fn single(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        value: impl std::fmt::Display,
    ) {
        self.begin(name, kind, help);
        self.line(name, &[], value);
    }

    /// A histogram's lines; `scale` is the printed unit in units of its values.
    pub(super) fn histogram(
        &mut self,
        name: &str,
        labels: Labels<'_>,
        bounds: &[u64],
        scale: u32,
        counted: &Counted,
    ) {
        #[allow(clippy::cast_precision_loss)] // What is lost of a sum is below its unit.
        let scaled = |value: u64| value as f64 / f64::from(scale);
        let mut below = 0;
        let name_of_bucket = format!("{name}_bucket");
        for (nth, in_bucket) in counted.buckets.iter().enumerate() {
            below += in_bucket;
            let bound = bounds.get(nth).map(|&bound| scaled(bound).to_string());
            let mut labels = labels.to_vec();
            let bound = bound.as_deref().unwrap_or("+Inf");
            labels.push(("le", bound));
            self.line(&name_of_bucket, &labels, below);
        }
        self.line(&format!("{name}_sum"), labels, scaled(counted.sum));
        self.line(&format!("{name}_count"), labels, below);
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_counts_what_is_at_most_its_bound() {
        let histogram = Histogram::new(&[10, 20]);
        for value in [1, 10, 11, 20, 21] {
            histogram.observe(value);
        }
        let mut text = Text::default();
        text.histogram("x", &[("a", "b")], &[10, 20], 10, &histogram.counted());
        let expected = "x_bucket{a=\"b\",le=\"1\"} 2\nx_bucket{a=\"b\",le=\"2\"} 4\n\
            x_bucket{a=\"b\",le=\"+Inf\"} 5\nx_sum{a=\"b\"} 6.3\nx_count{a=\"b\"} 5\n";
        assert_eq!(text.finish(), expected);
    }

    #[test]
    fn a_label_cannot_end_its_line() {
        let mut text = Text::default();
        text.line("x", &[("a", "b\"} 1\nx{a=\"\\")], 2);
        assert_eq!(text.finish(), "x{a=\"b\\\"} 1\\nx{a=\\\"\\\\\"} 2\n");
    }

    #[test]
    fn too_many_labels_are_counted_as_others() {
        let family = Family::of_at_most(2);
        for label in ["a", "b", "c", "a", "d"] {
            family.with(label, |_| "other", || 0, |n| *n += 1);
        }
        let counted: Vec<_> = family.locked().clone().into_iter().collect();
        assert_eq!(counted, [("a", 2), ("b", 1), ("other", 2)]);
    }
}
