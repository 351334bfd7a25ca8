//! Times for events that have none. What lies at rest in a file has no arrival: when it was written says nothing of when
//! its first lines happened, where others say that themselves.

use std::path::PathBuf;

use chat_event::{ChatEvent, Payload};

use super::reading::{Failed, Session};

/// So many events wait for the first that has a time, and no more bytes than that; a source without one in so many has none
/// of its own. It is as for who follows the file.
const MAX_WAITING: usize = 10_000;
const MAX_WAITING_BYTES: usize = 64 * 1024 * 1024;

/// A session each of whose events has a time: its own, else that of the one before it, at the beginning that of the first
/// one that has one. Where none has, the file's stands for them, so that the same file gives the same events whenever it
/// is read.
pub(crate) struct Timed {
    session: Box<dyn Session>,
    written_ms: i64,
    last_ms: Option<i64>,
    waiting: Vec<ChatEvent>,
    waiting_bytes: usize,
    /// Whether the file's time stands for all.
    is_untimed: bool,
}

impl Timed {
    pub(super) fn new(session: Box<dyn Session>, written_ms: i64) -> Self {
        Timed {
            session,
            written_ms,
            last_ms: None,
            waiting: Vec::new(),
            waiting_bytes: 0,
            is_untimed: false,
        }
    }

    /// Gives `events` their times; those that wait come out before them.
    fn time(&mut self, events: Vec<ChatEvent>, out: &mut Vec<ChatEvent>) {
        let is_log = self.session.is_log();
        for mut event in events {
            // A log says its times itself, but for what is found wrong with it.
            let is_found = matches!(&event.payload, Payload::Notice(notice) if notice.source.as_deref() == Some("reader"));
            self.last_ms = event.timestamp.or(self.last_ms);
            if is_log && !is_found {
                self.release(out);
                out.push(event);
                continue;
            }
            if self.last_ms.is_none() {
                self.waiting_bytes += event.to_line().len();
                self.waiting.push(event);
                let is_long = self.waiting_bytes >= MAX_WAITING_BYTES;
                if is_long || self.waiting.len() == MAX_WAITING {
                    self.last_ms = Some(self.written_ms);
                    self.is_untimed = true;
                    self.release(out);
                }
                continue;
            }
            self.release(out);
            event.timestamp = self.last_ms;
            out.push(event);
        }
    }

    fn release(&mut self, out: &mut Vec<ChatEvent>) {
        self.is_untimed |= self.last_ms.is_none() && !self.waiting.is_empty();
        self.waiting_bytes = 0;
        for mut event in self.waiting.drain(..) {
            event.timestamp = self.last_ms.or(Some(self.written_ms));
            out.push(event);
        }
    }
}

impl Session for Timed {
    fn read(&mut self, events: &mut Vec<ChatEvent>) -> Result<bool, Failed> {
        let mut read = Vec::new();
        let more = self.session.read(&mut read);
        self.time(read, events);
        if !matches!(more, Ok(true)) {
            self.release(events);
        }
        more
    }

    fn n_bytes(&self) -> u64 {
        self.session.n_bytes()
    }

    fn n_events(&self) -> u64 {
        self.session.n_events()
    }

    fn faults(&self) -> Vec<String> {
        self.session.faults()
    }

    fn n_skipped(&self) -> usize {
        self.session.n_skipped()
    }

    fn unread(&self) -> Vec<PathBuf> {
        self.session.unread()
    }

    fn is_log(&self) -> bool {
        self.session.is_log()
    }

    fn is_untimed(&self) -> bool {
        self.is_untimed
    }
}
