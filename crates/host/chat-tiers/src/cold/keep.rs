//! The task that copies sessions when they end, or were quiet for a day.
//!
//! It asks the store once what it has, and follows what changes. While there is nothing to copy it asks now and then whether
//! the store is still there: what was packed away can be had from nowhere else. Which are to be copied is for `look`. A session that cannot be copied is tried
//! again behind those that never failed, with longer and longer pauses; nothing but the copies waits for them.

mod look;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chat_store::{SessionId, now_ms};
use tokio::sync::watch;
use tokio::task::{self, JoinSet};

use super::Cold;
use super::put::Put;
use crate::backoff::{Backoff, Unread};
use crate::copier::{chance, stopped};
use crate::error::Error;
use crate::health::Health;
use crate::logs::Logs;
use look::{Open, look};

const NAME: &str = "s3";

/// Sessions that are copied at once; each holds some parts of its packed log.
const AT_ONCE: usize = 2;

/// What changes within it is looked at together: the last events of a session come one after the other.
const PAUSE: Duration = Duration::from_millis(500);

/// All that are open are looked at so often: one that nothing comes to is over only by the time that goes by.
const LOOK: Duration = Duration::from_secs(30);

/// After a copy that failed the store may have less than it had; it is asked no more often.
const ASKED_AGAIN: Duration = Duration::from_secs(60);

/// A store of which nothing was wanted for so long is asked whether it is there.
const PROBED: Duration = Duration::from_secs(60);

/// One that gave a reader nothing is asked sooner.
const PROBED_AWAY: Duration = Duration::from_secs(5);

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
        looked: None,
        fresh: BTreeSet::new(),
        due: BTreeSet::new(),
        failures: HashMap::new(),
        unread: Unread::default(),
        not_taken: BTreeSet::new(),
        copying: JoinSet::new(),
        under_way: HashMap::new(),
        listed: None,
        asked_at: Instant::now(),
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
    /// When all of those were looked at; `None` where they are to be now.
    looked: Option<Instant>,
    /// Those of them that are looked at before that: something came to them, or their copy ended.
    fresh: BTreeSet<SessionId>,
    /// Those that are to be copied as of the last look, by how often they failed: one that never did comes first.
    due: BTreeSet<(u32, SessionId)>,
    /// How often those failed that did.
    failures: HashMap<SessionId, u32>,
    /// Those whose logs, or bodies, could not be read here, or which the store refuses and no others.
    unread: Unread,
    /// Those that were not taken since the store last took one.
    not_taken: BTreeSet<SessionId>,
    copying: JoinSet<Copied>,
    /// Which session each task copies.
    under_way: HashMap<task::Id, SessionId>,
    /// When the store was asked what it has; `None` where it is to be asked.
    listed: Option<Instant>,
    /// When it last did what it was asked, or was probed.
    asked_at: Instant,
}

impl Keeping {
    async fn run(mut self) {
        let mut changes = self.logs.changes();
        let mut seen = 0;
        loop {
            changes.borrow_and_update();
            let (newest, changed) = self.logs.changed_since(seen);
            seen = newest;
            self.open.extend(changed.iter().cloned());
            self.fresh.extend(changed);
            if self.resumes <= Instant::now() {
                self.begin().await;
            }
            let pause = self.resumes.saturating_duration_since(Instant::now());
            // One that is tried again now is under way, and not to be waited for at every turn.
            let look = if self.health.is_up() {
                LOOK
            } else {
                PROBED_AWAY
            };
            let look = self.unread.pause().map_or(look, |it| it.clamp(PAUSE, look));
            let pause = if pause.is_zero() { look } else { pause };
            tokio::select! {
                Some(copied) = self.copying.join_next_with_id() => self.end(copied).await,
                () = tokio::time::sleep(pause) => {}
                () = self.health.reader_fails() => {
                    // It may be refused one object, and others not.
                    if let Err(why) = self.cold.probe().await {
                        self.failed(&why, None);
                    }
                }
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
                Ok(()) => {
                    self.listed = Some(Instant::now());
                    self.looked = None;
                }
                Err(why) => return self.failed(&why, None),
            }
            self.worked();
        }
        if let Err(why) = self.look().await {
            return self.failed(&why, None);
        }
        let n_waiting = self.due.len() + self.copying.len() + self.unread.n_resting();
        self.health.set_behind(n_waiting);
        if self.due.is_empty() && self.copying.is_empty() && self.is_to_be_probed() {
            self.asked_at = Instant::now();
            match self.cold.probe().await {
                Ok(()) => self.worked(),
                Err(why) => return self.failed(&why, None),
            }
        }
        while self.copying.len() < AT_ONCE {
            let Some((_, id)) = self.due.pop_first() else {
                break;
            };
            let Some(session) = self.logs.session(&id) else {
                self.fresh.insert(id);
                continue;
            };
            let (cold, of) = (self.cold.clone(), id.clone());
            let task = self
                .copying
                .spawn(async move { (of, cold.put(&session).await) });
            self.under_way.insert(task.id(), id);
        }
    }

    fn is_to_be_probed(&self) -> bool {
        let rest = if self.health.is_up() {
            PROBED
        } else {
            PROBED_AWAY
        };
        self.asked_at.elapsed() >= rest
    }

    async fn end(&mut self, copied: Result<(task::Id, Copied), task::JoinError>) {
        let task = copied.as_ref().map_or_else(task::JoinError::id, |it| it.0);
        let Some(id) = self.under_way.remove(&task) else {
            return;
        };
        self.fresh.insert(id.clone());
        match copied {
            Ok((_, (_, Ok(Put::Done(_))))) => {
                self.health.took(1);
                self.failures.remove(&id);
                self.unread.forget(&id);
                self.not_taken.clear();
                self.worked();
            }
            Ok((_, (_, Ok(Put::Changed)))) => self.resumes = Instant::now() + PAUSE,
            Ok((_, (_, Err(why)))) if !why.is_local() => self.is_not_taken(id, &why).await,
            // The others go on.
            Ok((_, (_, Err(why)))) => self.say_unread(&id, &why),
            Err(_) => self.say_unread(&id, &Error::local("copy a session", "the task failed")),
        }
    }

    /// The store did not take a session. Where it answers, and took all others, that is this one's alone: it rests, and they go
    /// on.
    async fn is_not_taken(&mut self, id: SessionId, why: &Error) {
        *self.failures.entry(id.clone()).or_default() += 1;
        self.not_taken.insert(id.clone());
        if self.not_taken.len() > 1 || self.cold.probe().await.is_err() {
            return self.failed(why, Some(&id));
        }
        self.list_again();
        self.health.failed_one();
        if self.unread.failed(&id) {
            tracing::warn!(
                tier = NAME,
                session = id.as_str(),
                "{why}; it is tried again, and others are copied meanwhile"
            );
        }
    }

    /// The store may have less than it had.
    fn list_again(&mut self) {
        if self.listed.is_some_and(|at| at.elapsed() > ASKED_AGAIN) {
            self.listed = None;
        }
    }

    /// Looks which of them are to be copied: those that are over and not all there, nor on their way. With each copy that ends
    /// only few are looked at, so that very many are not each compared with each.
    async fn look(&mut self) -> Result<(), Error> {
        let of_all = self.looked.is_none_or(|at| at.elapsed() >= LOOK);
        let mut fresh = std::mem::take(&mut self.fresh);
        fresh.extend(self.unread.due());
        let at = if of_all { self.open.clone() } else { fresh };
        let at = at.intersection(&self.open).cloned().collect();
        let (logs, cold) = (self.logs.clone(), self.cold.clone());
        // Who has a log may be waited for.
        let looking = task::spawn_blocking(move || look(at, &*logs, &cold, now_ms()));
        let looked = looking.await.map_err(|why| {
            self.looked = None;
            Error::store("look at the logs", why)
        })?;
        if of_all {
            self.looked = Some(Instant::now());
        }
        for (id, open) in looked {
            let n_failures = self.failures.get(&id).copied().unwrap_or(0);
            let place = (n_failures, id);
            self.due.remove(&place);
            let (_, id) = &place;
            if open == Open::Gone {
                self.failures.remove(id);
            }
            if open != Open::Over {
                self.unread.forget(id);
            }
            if self.unread.rests(id) {
                continue;
            }
            if open == Open::Over && !self.under_way.values().any(|it| it == id) {
                self.due.insert(place);
            } else if matches!(open, Open::Gone | Open::Copied) {
                self.open.remove(id);
            }
        }
        Ok(())
    }

    fn say_unread(&mut self, id: &SessionId, why: &Error) {
        if self.unread.failed(id) {
            tracing::error!(
                tier = NAME,
                session = id.as_str(),
                "{why}; it is tried again, and copied as soon as it can be read"
            );
        }
    }

    fn worked(&mut self) {
        self.asked_at = Instant::now();
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
        // A probe takes nothing there, so it says nothing of what is there; all of it is long to list.
        if of.is_some() {
            self.list_again();
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

#[cfg(test)]
mod tests;
