//! Recorded sessions: what an agent wrote, and when each line came.
#![allow(
    clippy::expect_used,
    reason = "a recording that cannot be read fails the test"
)]

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chat_normalize::{Context, SessionReader};

use crate::server::Pipe;

/// A recorded session.
pub(crate) struct Story {
    /// The file, as the agent wrote it.
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
    /// Its lines, each with its end and its arrival in milliseconds.
    lines: Vec<(Vec<u8>, u64)>,
}

impl Story {
    /// Reads `tests/sessions/<name>`.
    pub(crate) fn read(name: &'static str) -> Story {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/sessions")
            .join(name);
        let path = folder.join("input.stream.jsonl");
        let bytes = std::fs::read(&path)
            .unwrap_or_else(|why| panic!("could not read {}: {why}", path.display()));
        let times_path = folder.join("input.stream.jsonl.times");
        let times = std::fs::read_to_string(&times_path)
            .unwrap_or_else(|why| panic!("could not read {}: {why}", times_path.display()));
        let times: Vec<u64> = times
            .split_whitespace()
            .map(|time| time.parse().expect("a time in ms"))
            .collect();
        let lines: Vec<Vec<u8>> = bytes
            .split_inclusive(|byte| *byte == b'\n')
            .map(<[u8]>::to_vec)
            .collect();
        assert_eq!(lines.len(), times.len(), "{name}: each line has its time");
        Story {
            path,
            bytes,
            lines: lines.into_iter().zip(times).collect(),
        }
    }

    /// How many events it is, and the id of its session.
    pub(crate) fn events(&self) -> (usize, String) {
        let mut reader = SessionReader::new(Context::default());
        let mut events = Vec::new();
        reader.push(&self.bytes, 1, &mut events).expect("a session");
        reader.finish(1, &mut events).expect("a session");
        let session = events
            .first()
            .expect("a session has events")
            .session_id
            .clone();
        (events.len(), session)
    }

    /// Feeds the lines in the rhythm in which they came, all of it stretched or squeezed to `length`.
    pub(crate) async fn play(&self, pipe: &mut Pipe, length: Duration) {
        self.play_first(self.lines.len(), pipe, length).await;
    }

    /// The same, but the last line waits for something beside it, however long that takes.
    pub(crate) async fn play_beside(
        &self,
        beside: impl Future<Output = ()>,
        pipe: &mut Pipe,
        length: Duration,
    ) {
        let (last, _) = self.lines.last().expect("a session has lines");
        let before_it = self.play_first(self.lines.len() - 1, pipe, length);
        let ((), ()) = futures::join!(before_it, beside);
        pipe.feed(last).await;
    }

    /// Feeds so many lines of it.
    async fn play_first(&self, n_lines: usize, pipe: &mut Pipe, length: Duration) {
        let first = self.lines.first().map_or(0, |(_, at_ms)| *at_ms);
        let last = self.lines.last().map_or(0, |(_, at_ms)| *at_ms);
        let recorded_ms = last.saturating_sub(first).max(1) as f64;
        let began = Instant::now();
        for (line, at_ms) in self.lines.iter().take(n_lines) {
            let share = at_ms.saturating_sub(first) as f64 / recorded_ms;
            let due = length.mul_f64(share);
            if let Some(pause) = due.checked_sub(began.elapsed()) {
                tokio::time::sleep(pause).await;
            }
            pipe.feed(line).await;
        }
    }
}
