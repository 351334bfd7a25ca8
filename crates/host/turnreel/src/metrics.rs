//! What the server counts of itself, at its doors: in, stored, sent, dropped.
//!
//! Counters are fed where things happen; what can be looked up is looked up when somebody asks (`gauges`). Labels are words of
//! ours, but for the ids of sandboxes, of which a bounded number is kept apart. No payload, token, path or session id is ever
//! a label.

mod gauges;
mod kinds;

use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant};

use axum::extract::ws::Message;
use chat_store::{ItemResult, SyncTimes, now_ms};

use kinds::{BATCH_EVENTS, Counter, Family, Histogram, MESSAGE_BYTES, TIMES_US, Text};

use crate::state::State;

/// Sandboxes that have lines of their own; the others share one.
const SANDBOXES: usize = 100;
/// What the others are called.
const OTHER: &str = "other";

/// What workers call their reports; others share a line.
const REPORTS: &[&str] = &[
    "TOOL_STARTED",
    "TOOL_COMPLETED",
    "TOOL_FAILED",
    "FILE_CREATED",
    "FILE_EDITED",
    "FILE_DELETED",
    "AGENT_MESSAGE_CHUNK",
    "TOOL_EVENTS_BATCH",
    "agent.tool_use",
    "agent.tool_started",
    "agent.tool_completed",
    "agent.tool_failed",
    "agent.file_created",
    "agent.file_edited",
    "agent.file_deleted",
    "agent.message_chunk",
    "agent.tool_events_batch",
    "file_modified",
];

/// The frames of a socket, by their `op`; others share a line.
const FRAMES: &[&str] = &[
    "ev",
    "hb",
    "hello",
    "sessions",
    "lag",
    "gap",
    "reset",
    "err",
    "pong",
    "bye",
    "TOOL_EVENTS_BATCH",
    OTHER,
];

/// One process, one start.
static STARTED: LazyLock<(i64, Instant)> = LazyLock::new(|| (now_ms(), Instant::now()));

/// Method, route and status of an answer.
type Answered = (&'static str, &'static str, u16);
/// Sandbox and report.
type Reported = (String, &'static str);

/// All that is counted.
#[derive(Debug)]
pub(crate) struct Metrics {
    requests: Family<Answered, u64>,
    request_us: Histogram,
    pub(crate) body_bytes: Counter,
    stored: Counter,
    duplicates: Counter,
    conflicts: Counter,
    rejected: Counter,
    stored_bytes: Counter,
    append_us: Histogram,
    reports: Family<Reported, u64>,
    report_events: Family<String, Histogram>,
    frames: Vec<Histogram>,
    pub(crate) lags: Counter,
    pub(crate) stalls: Counter,
    /// Of logs that are not known any more.
    pub(crate) syncs_of_gone: Mutex<SyncTimes>,
}

impl Default for Metrics {
    fn default() -> Self {
        LazyLock::force(&STARTED);
        Metrics {
            // The table has some dozen routes with a dozen statuses each.
            requests: Family::of_at_most(2000),
            request_us: Histogram::new(TIMES_US),
            body_bytes: Counter::default(),
            stored: Counter::default(),
            duplicates: Counter::default(),
            conflicts: Counter::default(),
            rejected: Counter::default(),
            stored_bytes: Counter::default(),
            append_us: Histogram::new(TIMES_US),
            reports: Family::of_at_most(SANDBOXES * 4),
            report_events: Family::of_at_most(SANDBOXES),
            frames: FRAMES
                .iter()
                .map(|_| Histogram::new(MESSAGE_BYTES))
                .collect(),
            lags: Counter::default(),
            stalls: Counter::default(),
            syncs_of_gone: Mutex::default(),
        }
    }
}

impl Metrics {
    pub(crate) fn answered(
        &self,
        method: &'static str,
        route: &'static str,
        status: u16,
        took: Duration,
    ) {
        let other = |_: &Answered| (OTHER, OTHER, 0);
        let labels = (method, route, status);
        self.requests.with(labels, other, || 0, |n| *n += 1);
        self.request_us.observe(micros(took));
    }

    /// Counts a batch that was appended, and its items; `bytes` are those of the stored lines.
    pub(crate) fn appended(&self, results: &[ItemResult], bytes: u64, took: Duration) {
        self.append_us.observe(micros(took));
        self.stored_bytes.add(bytes);
        for result in results {
            let counter = match result {
                ItemResult::Stored { .. } => &self.stored,
                ItemResult::Duplicate { .. } => &self.duplicates,
                ItemResult::Conflict { .. } => &self.conflicts,
            };
            counter.add(1);
        }
    }

    pub(crate) fn rejected(&self, n_events: usize) {
        self.rejected.add(n_events as u64);
    }

    /// Counts what a sandbox's worker reported, by the name the worker has for it.
    pub(crate) fn reported(&self, sandbox: &str, report: &str, n_events: usize) {
        let known = REPORTS.iter().find(|known| **known == report);
        let report = known.copied().unwrap_or(OTHER);
        let other = |_: &Reported| (OTHER.to_owned(), report);
        let labels = (sandbox.to_owned(), report);
        self.reports.with(labels, other, || 0, |n| *n += 1);
        let other = |_: &String| OTHER.to_owned();
        let new = || Histogram::new(BATCH_EVENTS);
        let observe = |histogram: &mut Histogram| histogram.observe(n_events as u64);
        let labels = sandbox.to_owned();
        self.report_events.with(labels, other, new, observe);
    }

    /// Counts a message that a socket took.
    pub(crate) fn sent(&self, message: &Message) {
        let Message::Text(text) = message else { return };
        let op = op_of(text);
        let at = FRAMES.iter().position(|known| *known == op);
        if let Some(frames) = at.and_then(|at| self.frames.get(at)) {
            frames.observe(text.len() as u64);
        }
    }

    /// All of it as text, with what the state has to say now. Waits for the disk.
    pub(crate) fn text(&self, state: &State) -> String {
        let mut text = Text::default();
        let (started_ms, _) = *STARTED;
        #[allow(clippy::cast_precision_loss)] // It has some 13 digits.
        let started = started_ms as f64 / 1000.0;
        text.single(
            "process_start_time_seconds",
            "gauge",
            "Start of the process, Unix epoch.",
            started,
        );
        text.begin("turnreel_build_info", "gauge", "The program.");
        let version = ("version", env!("CARGO_PKG_VERSION"));
        text.line("turnreel_build_info", &[version], 1);
        self.write_sandboxes(&mut text);
        self.write_intake(&mut text);
        if let Some(masking) = state.masking.get() {
            let name = "turnreel_masked_total";
            text.begin(
                name,
                "counter",
                "Secrets that were masked before they were stored.",
            );
            for (kind, n) in masking.masked() {
                text.line(name, &[("kind", kind)], n);
            }
        }
        gauges::write(state, &mut text);
        self.write_delivery(&mut text);
        text.finish()
    }

    fn write_sandboxes(&self, text: &mut Text) {
        let name = "sandbox_tool_events_total";
        text.begin(name, "counter", "Reports of sandbox workers.");
        for ((sandbox, report), n) in &*self.reports.locked() {
            let labels = [("sandbox_id", sandbox.as_str()), ("event_type", report)];
            text.line(name, &labels, n);
        }
        let name = "sandbox_event_batch_size";
        text.begin(name, "histogram", "Events in a report of a sandbox worker.");
        for (sandbox, events) in &*self.report_events.locked() {
            let labels = [("sandbox_id", sandbox.as_str())];
            text.histogram(name, &labels, events.bounds(), 1, &events.counted());
        }
    }

    fn write_intake(&self, text: &mut Text) {
        let name = "turnreel_http_requests_total";
        text.begin(name, "counter", "Requests answered.");
        for ((method, route, status), n) in &*self.requests.locked() {
            let status = status.to_string();
            let labels = [("method", *method), ("route", *route), ("status", &status)];
            text.line(name, &labels, n);
        }
        let name = "turnreel_http_request_duration_seconds";
        text.begin(name, "histogram", "Time to the head of an answer.");
        text.histogram(name, &[], TIMES_US, 1_000_000, &self.request_us.counted());
        let name = "turnreel_ingest_events_total";
        text.begin(
            name,
            "counter",
            "Events that were sent, by what became of them.",
        );
        let results = [
            ("stored", &self.stored),
            ("duplicate", &self.duplicates),
            ("conflict", &self.conflicts),
            ("rejected", &self.rejected),
        ];
        for (result, counter) in results {
            text.line(name, &[("result", result)], counter.get());
        }
        text.single(
            "turnreel_ingest_body_bytes_total",
            "counter",
            "Bytes of request bodies that were read into memory.",
            self.body_bytes.get(),
        );
        text.single(
            "turnreel_log_appended_bytes_total",
            "counter",
            "Bytes of lines that were appended to logs.",
            self.stored_bytes.get(),
        );
        let name = "turnreel_append_duration_seconds";
        text.begin(name, "histogram", "Time to append a batch to its log.");
        text.histogram(name, &[], TIMES_US, 1_000_000, &self.append_us.counted());
    }

    fn write_delivery(&self, text: &mut Text) {
        let name = "websocket_message_bytes";
        text.begin(name, "histogram", "Frames that sockets took, by their op.");
        for (op, frames) in FRAMES.iter().zip(&self.frames) {
            let labels = [("event_type", *op)];
            text.histogram(name, &labels, MESSAGE_BYTES, 1, &frames.counted());
        }
        text.single(
            "turnreel_lags_total",
            "counter",
            "Followers that were too slow for the ring and read on from the log.",
            self.lags.get(),
        );
        text.single(
            "turnreel_stalled_sockets_total",
            "counter",
            "Sockets that were closed because they took nothing.",
            self.stalls.get(),
        );
    }
}

/// The word that a frame begins with.
fn op_of(text: &str) -> &str {
    let rest = text
        .strip_prefix(r#"{"op":""#)
        .or_else(|| text.strip_prefix(r#"{"type":""#));
    let op = rest.and_then(|rest| rest.split('"').next());
    op.filter(|op| FRAMES.contains(op)).unwrap_or(OTHER)
}

fn micros(took: Duration) -> u64 {
    u64::try_from(took.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_counted_by_its_op() {
        assert_eq!(op_of(r#"{"op":"ev","sub":1}"#), "ev");
        assert_eq!(op_of(r#"{"op":"invented","sub":1}"#), OTHER);
        assert_eq!(op_of("{}"), OTHER);
    }
}
