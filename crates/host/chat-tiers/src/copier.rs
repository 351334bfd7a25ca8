//! The task that brings one store up to the logs, and keeps it there.
//!
//! It asks the store how far it has a session, reads the log on from there, and gives it batch by batch. What it knows of the
//! store's marks it forgets when anything fails: a store may come back with less than it had. A session whose log cannot be
//! read is left out, said, and tried again later; the others go on.

mod copying;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use chat_store::{Session, SessionId, Summary};
use tokio::sync::watch;

use crate::backoff::{Backoff, Unread};
use crate::error::Error;
use crate::health::Health;
use crate::logs::Logs;
use copying::Copying;

/// A store that gives no answer for so long is taken to be away.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// Events of one session, in the order of its log.
#[derive(Debug)]
pub struct Batch {
    /// The session.
    pub session: SessionId,
    /// The epoch of its log.
    pub epoch: String,
    /// The store has the session up to this number.
    pub after: u64,
    /// The number that it is to have it up to.
    pub upto: u64,
    /// Numbers and lines. Numbers that are not among them cannot be had.
    pub lines: Vec<(u64, String)>,
    /// The session as of now, which may be later than the batch.
    pub summary: Arc<Summary>,
}

/// A store that takes events.
pub trait Tier: Send + 'static {
    /// Its name, for operators.
    const NAME: &'static str;
    /// Between two looks at what changed: what comes within it goes into one batch.
    const PAUSE: Duration;

    /// Connects, and makes what the store lacks to take events.
    fn connect(&mut self) -> impl Future<Output = Result<(), Error>> + Send;

    /// Whether it has sessions like this one.
    fn wants(&self, summary: &Summary, now_ms: i64) -> bool;

    /// How far it has the session under that epoch, whose last number is `head`.
    fn mark(
        &mut self,
        session: &SessionId,
        epoch: &str,
        head: u64,
    ) -> impl Future<Output = Result<u64, Error>> + Send;

    /// Takes a batch, together with its mark, and says how far it has the session now. Where it has it up to another number
    /// than the batch is behind of, it takes nothing.
    fn take(&mut self, batch: &Batch) -> impl Future<Output = Result<u64, Error>> + Send;

    /// The session was removed, whose log was at that epoch: what the store has of it is to go. Whether all of it went; else
    /// it is called again, and others have their turn.
    fn forget(
        &mut self,
        session: &SessionId,
        epoch: &str,
    ) -> impl Future<Output = Result<bool, Error>> + Send;

    /// Called about once a second: whether it still has what it took. It may put away what is too old.
    fn look(&mut self, now_ms: i64) -> impl Future<Output = Result<(), Error>> + Send;
}

/// Copies what is in the logs, and what comes, until told to stop.
pub async fn copy<T: Tier>(
    mut tier: T,
    logs: Arc<dyn Logs>,
    health: Arc<Health>,
    mut stopping: watch::Receiver<bool>,
) {
    let mut backoff = Backoff::default();
    let mut refused = HashSet::new();
    loop {
        let mut at = None;
        let copying = Copying {
            tier: &mut tier,
            logs: &*logs,
            health: &health,
            backoff: &mut backoff,
            marks: HashMap::new(),
            refused: &mut refused,
            at: &mut at,
            unsure: BTreeSet::new(),
            unread: Unread::default(),
        };
        let why = tokio::select! {
            () = stopped(&mut stopping) => return,
            why = copying.run() => why,
        };
        if health.failed(&why.to_string()) {
            tracing::warn!(
                tier = T::NAME,
                session = at.as_ref().map(SessionId::as_str),
                "{why}; it is tried again, and nothing waits for it"
            );
        }
        refused.extend(at);
        tokio::select! {
            () = stopped(&mut stopping) => return,
            () = tokio::time::sleep(backoff.failed(chance())) => {}
        }
    }
}

/// Ready once the process is to stop.
pub(crate) async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // A sender that is gone has stopped too.
    let _ = stopping.wait_for(|stopping| *stopping).await;
}

/// A number in 0 to 1.
pub(crate) fn chance() -> f64 {
    let nanos = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.subsec_nanos());
    f64::from(nanos % 1000) / 1000.0
}

/// The same, or an error where the store gives no answer.
pub(crate) async fn patiently<V>(
    what: &'static str,
    asking: impl Future<Output = Result<V, Error>>,
) -> Result<V, Error> {
    match tokio::time::timeout(PATIENCE, asking).await {
        Ok(answer) => answer,
        Err(_) => {
            let seconds = PATIENCE.as_secs();
            Err(Error::store(what, format!("no answer for {seconds} s")))
        }
    }
}

/// Looks at a log where who has it may be waited for.
pub(crate) async fn off_thread<V: Send + 'static>(
    session: &Arc<Session>,
    looking: impl FnOnce(&Session) -> V + Send + 'static,
) -> Result<V, Error> {
    let session = session.clone();
    let looking = tokio::task::spawn_blocking(move || looking(&session)).await;
    looking.map_err(|why| Error::local("read a log", why))
}
