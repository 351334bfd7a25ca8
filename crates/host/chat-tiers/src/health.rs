//! What an operator is told of a store.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

/// How a store is, as the task that copies to it sees it, and who reads from it. Read by whoever asks, whenever they ask.
#[derive(Debug, Default)]
pub struct Health {
    is_up: AtomicBool,
    copied: AtomicU64,
    failures: AtomicU64,
    behind: AtomicU64,
    why: Mutex<Option<String>>,
    failed_reader: Notify,
}

/// A [`Health`] at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Whether the last thing asked of it was done.
    pub is_up: bool,
    /// Events (of an object store: sessions) that it took since the process began.
    pub copied: u64,
    /// How often it failed since.
    pub failures: u64,
    /// Sessions that wait to be copied.
    pub behind: u64,
}

impl Health {
    /// How it is now.
    pub fn condition(&self) -> Condition {
        Condition {
            is_up: self.is_up.load(Ordering::Relaxed),
            copied: self.copied.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
            behind: self.behind.load(Ordering::Relaxed),
        }
    }

    /// Whether the last thing asked of it was done.
    pub fn is_up(&self) -> bool {
        self.is_up.load(Ordering::Relaxed)
    }

    /// It works. Whether that is news.
    pub(crate) fn worked(&self) -> bool {
        !self.is_up.swap(true, Ordering::Relaxed)
    }

    /// Who reads from it got nothing. Whether that is for one object alone is found by the task that copies: it asks the store.
    pub fn failed_reader(&self) {
        self.failed_one();
        self.failed_reader.notify_one();
    }

    /// One thing was not done, which says nothing of all others.
    pub(crate) fn failed_one(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// Ready when a reader got nothing.
    pub(crate) async fn reader_fails(&self) {
        self.failed_reader.notified().await;
    }

    /// It does not. Whether that is news: a store that is away is said once, and again when it says something else.
    pub(crate) fn failed(&self, why: &str) -> bool {
        let was_up = self.is_up.swap(false, Ordering::Relaxed);
        self.failed_one();
        let mut known = self.why();
        let is_news = was_up || known.as_deref() != Some(why);
        *known = Some(why.to_owned());
        is_news
    }

    pub(crate) fn took(&self, n: usize) {
        self.copied.fetch_add(n as u64, Ordering::Relaxed);
    }

    pub(crate) fn set_behind(&self, n_sessions: usize) {
        self.behind.store(n_sessions as u64, Ordering::Relaxed);
    }

    fn why(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.why.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
