//! The task that copies sessions when they end, or were quiet for a day.
//!
//! It asks the store once what it has, and follows what changes. One session after the other that cannot be copied is tried
//! again behind those that never failed, with longer and longer pauses; nothing but the copies waits for them.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chat_store::{SessionId, Summary, now_ms};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::Cold;
use super::put::Put;
use crate::backoff::Backoff;
use crate::copier::{chance, stopped};
use crate::error::Error;
use crate::health::Health;
use crate::logs::Logs;

const NAME: &str = "s3";

/// Sessions that are copied at once; each holds some parts of its packed log.
const AT_ONCE: usize = 2;

/// What changes within it is looked at together: the last events of a session come one after the other.
const PAUSE: Duration = Duration::from_secs(1);

/// A session that nothing comes to is looked at no more often.
const LOOK: Duration = Duration::from_secs(30);

/// What has not ended is copied once it was quiet for so long.
const QUIET_MS: i64 = 24 * 60 * 60 * 1000;

/// After a failure the store may have less than it had; it is asked no more often.
const ASKED_AGAIN: Duration = Duration::from_secs(60);

/// Copies sessions into the store until told to stop.
pub async fn keep(
    cold: Cold,
    logs: Arc<dyn Logs>,
    health: Arc<Health>,
    mut stopping: watch::Receiver<bool>,
) {
    let keeping = Keeping {
        cold,
        logs,
        health,
        backoff: Backoff::default(),
        open: BTreeSet::new(),
        failures: HashMap::new(),
        listed: None,
    };
    tokio::select! {
        () = stopped(&mut stopping) => {}
        () = keeping.run() => {}
    }
}

struct Keeping {
    cold: Cold,
    logs: Arc<dyn Logs>,
    health: Arc<Health>,
    backoff: Backoff,
    /// Those that the store may not have all of.
    open: BTreeSet<SessionId>,
    /// How often those failed that did.
    failures: HashMap<SessionId, u32>,
    /// When the store was asked what it has; `None` where it is to be asked.
    listed: Option<Instant>,
}

impl Keeping {
    async fn run(mut self) {
        let mut changes = self.logs.changes();
        let mut seen = 0;
        loop {
            changes.borrow_and_update();
            let (newest, changed) = self.logs.changed_since(seen);
            seen = newest;
            self.open.extend(changed);
            if let Err(why) = self.round().await {
                self.say(&why);
                self.forget();
                tokio::time::sleep(self.backoff.failed(chance())).await;
                continue;
            }
            self.backoff.worked();
            if self.health.worked() {
                tracing::info!(tier = NAME, "the sessions that are over are copied");
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                changed = changes.changed() => match changed {
                    Ok(()) => tokio::time::sleep(PAUSE).await,
                    Err(_) => tokio::time::sleep(LOOK).await,
                }
            }
        }
    }

    /// Copies what is to be copied now, until something fails.
    async fn round(&mut self) -> Result<(), Error> {
        if self.listed.is_none() {
            self.cold.list().await?;
            self.listed = Some(Instant::now());
        }
        let mut due = self.due();
        let mut copying = JoinSet::new();
        let mut failed = None;
        loop {
            self.health.set_behind(due.len() + copying.len());
            while failed.is_none() && copying.len() < AT_ONCE {
                let Some(id) = due.pop() else { break };
                let Some(session) = self.logs.session(&id) else {
                    continue;
                };
                let cold = self.cold.clone();
                copying.spawn(async move { (id, cold.put(&session).await) });
            }
            let Some(copied) = copying.join_next().await else {
                break;
            };
            let Ok((id, copied)) = copied else {
                failed = failed.or(Some(Error::store("copy a session", "the task failed")));
                continue;
            };
            match copied {
                Ok(Put::Done) => {
                    self.health.took(1);
                    self.failures.remove(&id);
                }
                Ok(Put::Changed) => {}
                // It is tried again when it changes, or the server starts again.
                Err(why @ Error::Log(_)) => {
                    tracing::error!(tier = NAME, session = id.as_str(), "{why}");
                    self.open.remove(&id);
                }
                Err(why) => {
                    *self.failures.entry(id).or_default() += 1;
                    failed = failed.or(Some(why));
                }
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Those that are over and not all there; the last is the next.
    fn due(&mut self) -> Vec<SessionId> {
        let mut due = Vec::new();
        let now_ms = now_ms();
        let (cold, logs, failures) = (&self.cold, &self.logs, &mut self.failures);
        self.open.retain(|id| {
            let Some(session) = logs.session(id) else {
                failures.remove(id);
                return false;
            };
            let (epoch, head) = session.position();
            if cold.covers(id, &epoch, head) {
                return false;
            }
            if is_over(&session.summary(), now_ms) {
                due.push(id.clone());
            }
            true
        });
        let n_failures = |id: &SessionId| self.failures.get(id).copied().unwrap_or(0);
        due.sort_by_key(|id| std::cmp::Reverse(n_failures(id)));
        due
    }

    fn forget(&mut self) {
        if self.listed.is_some_and(|at| at.elapsed() > ASKED_AGAIN) {
            self.listed = None;
        }
    }

    fn say(&self, why: &Error) {
        if self.health.failed(&why.to_string()) {
            tracing::warn!(
                tier = NAME,
                "{why}; it is tried again, and nothing waits for it"
            );
        }
    }
}

fn is_over(summary: &Summary, now_ms: i64) -> bool {
    let last_ms = summary.last_activity_ms.unwrap_or_default();
    let is_quiet = now_ms.saturating_sub(last_ms) >= QUIET_MS;
    summary.head > 0 && (summary.status == "ended" || is_quiet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_over_when_it_ended_or_was_quiet_for_a_day() {
        let summary = |status: &str, head, last_ms| {
            let mut summary = Summary::default();
            status.clone_into(&mut summary.status);
            summary.head = head;
            summary.last_activity_ms = Some(last_ms);
            summary
        };
        let now_ms = 10 * QUIET_MS;
        assert!(is_over(&summary("ended", 1, now_ms), now_ms));
        assert!(is_over(&summary("busy", 1, now_ms - QUIET_MS), now_ms));
        assert!(!is_over(&summary("busy", 1, now_ms - QUIET_MS + 1), now_ms));
        assert!(!is_over(&summary("ended", 0, now_ms), now_ms));
        // Another clock's time may be any.
        assert!(!is_over(&summary("idle", 1, i64::MAX), now_ms));
        assert!(is_over(&summary("idle", 1, i64::MIN), now_ms));
    }
}
