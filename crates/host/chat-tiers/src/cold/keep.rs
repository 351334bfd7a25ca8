//! The task that copies sessions when they end, or were quiet for a day.
//!
//! It asks the store once what it has, and follows what changes. One session after the other that cannot be copied is tried
//! again behind those that never failed, with longer and longer pauses; nothing but the copies waits for them.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chat_store::{SessionId, Summary, now_ms};
use tokio::sync::watch;
use tokio::task::{self, JoinSet};

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
const PAUSE: Duration = Duration::from_millis(500);

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
        resumes: Instant::now(),
        open: BTreeSet::new(),
        failures: HashMap::new(),
        copying: JoinSet::new(),
        under_way: HashMap::new(),
        listed: None,
    };
    tokio::select! {
        () = stopped(&mut stopping) => {}
        () = keeping.run() => {}
    }
}

type Copied = (SessionId, Result<Put, Error>);

struct Keeping {
    cold: Cold,
    logs: Arc<dyn Logs>,
    health: Arc<Health>,
    backoff: Backoff,
    /// After a failure nothing is begun before.
    resumes: Instant,
    /// Those that the store may not have all of.
    open: BTreeSet<SessionId>,
    /// How often those failed that did.
    failures: HashMap<SessionId, u32>,
    copying: JoinSet<Copied>,
    /// Which session each task copies.
    under_way: HashMap<task::Id, SessionId>,
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
            if self.resumes <= Instant::now() {
                self.begin().await;
            }
            let pause = self.resumes.saturating_duration_since(Instant::now());
            let pause = if pause.is_zero() { LOOK } else { pause };
            tokio::select! {
                Some(copied) = self.copying.join_next_with_id() => self.end(copied),
                () = tokio::time::sleep(pause) => {}
                changed = changes.changed() => match changed {
                    Ok(()) => tokio::time::sleep(PAUSE).await,
                    // Nothing changes any more; whoever stops the process stops this, too.
                    Err(_) => std::future::pending().await,
                }
            }
        }
    }

    /// Begins to copy what is to be copied now, as far as there is room for it.
    async fn begin(&mut self) {
        if self.listed.is_none() {
            match self.cold.list().await {
                Ok(()) => self.listed = Some(Instant::now()),
                Err(why) => return self.failed(&why, None),
            }
            self.worked();
        }
        let mut due = match self.due().await {
            Ok(due) => due,
            Err(why) => return self.failed(&why, None),
        };
        self.health.set_behind(due.len() + self.copying.len());
        while self.copying.len() < AT_ONCE {
            let Some(id) = due.pop() else { break };
            let Some(session) = self.logs.session(&id) else {
                continue;
            };
            let (cold, of) = (self.cold.clone(), id.clone());
            let task = self
                .copying
                .spawn(async move { (of, cold.put(&session).await) });
            self.under_way.insert(task.id(), id);
        }
    }

    fn end(&mut self, copied: Result<(task::Id, Copied), task::JoinError>) {
        let task = copied.as_ref().map_or_else(task::JoinError::id, |it| it.0);
        let Some(id) = self.under_way.remove(&task) else {
            return;
        };
        match copied {
            Ok((_, (_, Ok(Put::Done(_))))) => {
                self.health.took(1);
                self.failures.remove(&id);
                self.worked();
            }
            Ok((_, (_, Ok(Put::Changed)))) => self.resumes = Instant::now() + PAUSE,
            // It is tried again when it changes, or the server starts again.
            Ok((_, (_, Err(why @ Error::Log(_))))) => {
                tracing::error!(tier = NAME, session = id.as_str(), "{why}");
                self.open.remove(&id);
            }
            Ok((_, (_, Err(why)))) => {
                self.failed(&why, Some(&id));
                *self.failures.entry(id).or_default() += 1;
            }
            Err(_) => {
                let why = Error::store("copy a session", "the task failed");
                self.failed(&why, Some(&id));
                *self.failures.entry(id).or_default() += 1;
            }
        }
    }

    /// Those that are over and not all there, nor on their way; the last is the next.
    async fn due(&mut self) -> Result<Vec<SessionId>, Error> {
        let (open, logs, cold) = (self.open.clone(), self.logs.clone(), self.cold.clone());
        // Who has a log may be waited for.
        let looking = task::spawn_blocking(move || look(open, &*logs, &cold, now_ms()));
        let looked = looking.await;
        let looked = looked.map_err(|why| Error::store("look at the logs", why))?;
        let mut due = Vec::new();
        for (id, open) in looked {
            if open == Open::Gone {
                self.failures.remove(&id);
            }
            if open == Open::Over && !self.under_way.values().any(|it| *it == id) {
                due.push(id);
            } else if matches!(open, Open::Gone | Open::Copied) {
                self.open.remove(&id);
            }
        }
        let n_failures = |id: &SessionId| self.failures.get(id).copied().unwrap_or(0);
        due.sort_by_key(|id| std::cmp::Reverse(n_failures(id)));
        Ok(due)
    }

    fn worked(&mut self) {
        self.backoff.worked();
        if self.health.worked() {
            tracing::info!(tier = NAME, "the object store takes sessions");
        }
    }

    fn failed(&mut self, why: &Error, of: Option<&SessionId>) {
        // Those that were under way together fail together, of one cause.
        if self.resumes <= Instant::now() {
            self.resumes = Instant::now() + self.backoff.failed(chance());
        }
        if self.listed.is_some_and(|at| at.elapsed() > ASKED_AGAIN) {
            self.listed = None;
        }
        if self.health.failed(&why.to_string()) {
            tracing::warn!(
                tier = NAME,
                session = of.map(SessionId::as_str),
                "{why}; it is tried again, and nothing waits for it"
            );
        }
    }
}

/// How a session stands that the store may not have all of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    /// It is not here, or is not to be copied from here.
    Gone,
    /// The store has all of it.
    Copied,
    /// More may come.
    Going,
    Over,
}

fn look(
    open: BTreeSet<SessionId>,
    logs: &dyn Logs,
    cold: &Cold,
    now_ms: i64,
) -> Vec<(SessionId, Open)> {
    let looked = open.into_iter().map(|id| {
        let Some(session) = logs.session(&id) else {
            return (id, Open::Gone);
        };
        let (epoch, head) = session.position();
        let open = if cold.covers(&id, &epoch, head) {
            Open::Copied
        } else if is_over(&session.summary(), now_ms) {
            Open::Over
        } else {
            Open::Going
        };
        (id, open)
    });
    looked.collect()
}

fn is_over(summary: &Summary, now_ms: i64) -> bool {
    let last_ms = summary.last_activity_ms.unwrap_or_default();
    let is_quiet = now_ms.saturating_sub(last_ms) >= QUIET_MS;
    // Samples came with the program, and each server has its own.
    summary.head > 0 && !summary.sample && (summary.status == "ended" || is_quiet)
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, mpsc};

    use chat_store::Session;

    use super::*;
    use crate::logs::Removed;

    /// Logs that somebody has in hand.
    struct InHand(Mutex<mpsc::Receiver<()>>);

    impl Logs for InHand {
        fn changed_since(&self, seen: u64) -> (u64, Vec<SessionId>) {
            (seen, Vec::new())
        }

        fn changes(&self) -> watch::Receiver<u64> {
            watch::Sender::new(0).subscribe()
        }

        fn session(&self, _: &SessionId) -> Option<Arc<Session>> {
            let let_go = self.0.lock().unwrap();
            let_go.recv_timeout(Duration::from_secs(10)).unwrap();
            None
        }

        fn removed(&self, _: &SessionId) -> Removed {
            Removed::No
        }
    }

    #[tokio::test]
    async fn a_log_that_somebody_has_in_hand_is_waited_for_by_no_other_task() {
        let (let_go, had) = mpsc::channel();
        let mut keeping = Keeping {
            cold: Cold::new("s3://bucket?region=us-east-1").unwrap(),
            logs: Arc::new(InHand(Mutex::new(had))),
            health: Arc::default(),
            backoff: Backoff::default(),
            resumes: Instant::now(),
            open: BTreeSet::from([SessionId::parse("s1").unwrap()]),
            failures: HashMap::new(),
            copying: JoinSet::new(),
            under_way: HashMap::new(),
            listed: None,
        };
        let others = async { let_go.send(()).unwrap() };
        let (due, ()) = tokio::join!(keeping.due(), others);
        assert!(due.unwrap().is_empty());
        assert!(keeping.open.is_empty(), "it is not here");
    }

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
