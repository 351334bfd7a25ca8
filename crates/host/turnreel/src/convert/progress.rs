//! How far the reading is, in one line that is overwritten; only where a person looks on.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// The line changes no more often.
const EVERY: Duration = Duration::from_millis(100);

/// What takes no longer needs no line.
const AFTER: Duration = Duration::from_millis(400);

/// The line of progress.
#[derive(Debug)]
pub(super) struct Progress {
    shown: bool,
    drawn: bool,
    begun: Instant,
    last: Instant,
    name: String,
    length: Option<u64>,
}

impl Progress {
    /// Shown on a terminal, and only where no output goes there as well.
    pub(super) fn new(alone: bool) -> Self {
        let now = Instant::now();
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Progress {
            shown: alone && !dumb && io::stderr().is_terminal(),
            drawn: false,
            begun: now,
            last: now,
            name: String::new(),
            length: None,
        }
    }

    /// Another input is read.
    pub(super) fn begin(&mut self, name: &str, length: Option<u64>) {
        self.name = name.chars().take(40).collect();
        self.length = length;
    }

    /// So much of it was read.
    pub(super) fn step(&mut self, n_bytes: u64, n_events: u64) {
        let now = Instant::now();
        if !self.shown || now - self.last < EVERY || now - self.begun < AFTER {
            return;
        }
        self.last = now;
        self.drawn = true;
        let read = n_bytes / 1_000_000;
        let of = self
            .length
            .map(|length| format!(" of {}", length / 1_000_000));
        let of = of.unwrap_or_default();
        let line = format!("{read}{of} MB, {n_events} events, {}", self.name);
        // What cannot be drawn is no loss.
        let _ = write!(io::stderr(), "\r\u{1b}[2K{line}");
    }

    /// Takes the line away.
    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let _ = write!(io::stderr(), "\r\u{1b}[2K");
        }
    }
}
