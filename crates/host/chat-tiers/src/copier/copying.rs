//! Copying for as long as a store takes what it is given: which sessions, how far each is, and what comes next.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chat_store::{PageRequest, Session, SessionId};

use super::{Batch, Tier, off_thread, patiently};
use crate::backoff::{Backoff, Unread};
use crate::error::Error;
use crate::health::Health;
use crate::logs::{Logs, Removed};

/// What is read of a log, and given to a store, at once.
const BATCH_EVENTS: usize = 1000;
const BATCH_BYTES: usize = 1024 * 1024;

/// Batches of one session before others have their turn.
const BATCHES_IN_A_ROW: usize = 8;

/// From a connection to its end.
pub(super) struct Copying<'c, T> {
    pub(super) tier: &'c mut T,
    pub(super) logs: &'c dyn Logs,
    pub(super) health: &'c Health,
    pub(super) backoff: &'c mut Backoff,
    /// How far the store has each session, and under which epoch.
    pub(super) marks: HashMap<SessionId, (String, u64)>,
    /// Those at which it failed, since they were brought up last. They wait behind the others: it may be what is in one of
    /// them that the store refuses each time.
    pub(super) refused: &'c mut HashSet<SessionId>,
    /// The one that is brought up now.
    pub(super) at: &'c mut Option<SessionId>,
    /// Those that are looked at again with the next look at the store.
    pub(super) unsure: BTreeSet<SessionId>,
    /// Those whose logs could not be read.
    pub(super) unread: Unread,
}

impl<T: Tier> Copying<'_, T> {
    /// Runs until something fails.
    pub(super) async fn run(mut self) -> Error {
        match self.try_run().await {
            Ok(never) => match never {},
            Err(why) => why,
        }
    }

    async fn try_run(&mut self) -> Result<std::convert::Infallible, Error> {
        patiently("connect", self.tier.connect()).await?;
        let mut changes = self.logs.changes();
        let mut seen = 0;
        let mut looked = Instant::now();
        let mut left = VecDeque::new();
        loop {
            changes.borrow_and_update();
            let (newest, changed) = self.logs.changed_since(seen);
            seen = newest;
            queue(&mut left, changed, self.refused);
            // Those that are there now: what changes meanwhile is behind them. What is refused ends the connection, so it is
            // tried once all others are there.
            let is_refused = |id: &&SessionId| self.refused.contains(*id);
            let n_others = left.len() - left.iter().filter(is_refused).count();
            let n_tried = if n_others > 0 { n_others } else { left.len() };
            for _ in 0..n_tried {
                self.health.set_behind(left.len());
                let Some(id) = left.pop_front() else { break };
                *self.at = Some(id.clone());
                let is_up = match self.bring_up(&id).await {
                    // The store is asked for the others meanwhile.
                    Err(why) if why.is_local() => {
                        self.say_unread(&id, &why);
                        true
                    }
                    is_up => is_up?,
                };
                *self.at = None;
                match is_up {
                    true => drop(self.refused.remove(&id)),
                    false => left.push_back(id),
                }
            }
            self.health.set_behind(left.len());
            if looked.elapsed() >= LOOK || !self.health.is_up() {
                patiently("look", self.tier.look(chat_store::now_ms())).await?;
                looked = Instant::now();
                let mut unsure = std::mem::take(&mut self.unsure);
                unsure.extend(self.unread.due());
                queue(&mut left, unsure.into_iter().collect(), self.refused);
            }
            // Those that are refused are yet to be tried.
            let is_refused = |id: &SessionId| self.refused.contains(id);
            if !left.iter().any(is_refused) {
                self.backoff.worked();
                if self.health.worked() {
                    tracing::info!(tier = T::NAME, "the copies are up to the logs");
                }
            }
            if left.is_empty() {
                tokio::select! {
                    () = tokio::time::sleep(LOOK.saturating_sub(looked.elapsed())) => {}
                    changed = changes.changed() => match changed {
                        Ok(()) => tokio::time::sleep(T::PAUSE).await,
                        // Nothing changes any more; whoever stops the process stops this, too.
                        Err(_) => std::future::pending().await,
                    }
                }
            }
        }
    }

    /// Brings the store up to a session's log. Whether it is there; else there is more, and others have their turn.
    async fn bring_up(&mut self, id: &SessionId) -> Result<bool, Error> {
        let Some(session) = self.logs.session(id) else {
            self.marks.remove(id);
            self.unread.forget(id);
            match self.logs.removed(id) {
                Removed::No => {}
                Removed::Yes(epoch) => {
                    let forgetting = self.tier.forget(id, &epoch);
                    return patiently("remove a session", forgetting).await;
                }
                Removed::Unsure => {
                    self.unsure.insert(id.clone());
                }
            }
            return Ok(true);
        };
        let summary = off_thread(&session, Session::summary).await?;
        if !self.tier.wants(&summary, chat_store::now_ms()) {
            self.marks.remove(id);
            self.unread.forget(id);
            return Ok(true);
        }
        for _ in 0..BATCHES_IN_A_ROW {
            let (epoch, head) = off_thread(&session, Session::position).await?;
            let known = self.marks.get(id).filter(|(of, _)| *of == epoch);
            let mark = match known {
                Some((_, mark)) => *mark,
                None => {
                    let asking = self.tier.mark(id, &epoch, head);
                    patiently("ask how far it is", asking).await?
                }
            };
            if mark >= head {
                self.unread.forget(id);
                self.marks.insert(id.clone(), (epoch, mark));
                return Ok(true);
            }
            // Where there is none it goes on under another epoch.
            let Some(batch) = read(&session, epoch, mark).await? else {
                continue;
            };
            self.unread.forget(id);
            let n_events = batch.lines.len();
            let mark = patiently("take events", self.tier.take(&batch)).await?;
            if mark == batch.upto {
                self.health.took(n_events);
            }
            self.marks.insert(id.clone(), (batch.epoch, mark));
        }
        Ok(false)
    }

    fn say_unread(&mut self, id: &SessionId, why: &Error) {
        if self.unread.failed(id) {
            tracing::error!(
                tier = T::NAME,
                session = id.as_str(),
                "{why}; it is tried again, and copied as soon as it can be read"
            );
        }
    }
}

/// Puts those that changed behind those that wait, each once, and behind all of these those that were refused.
fn queue(left: &mut VecDeque<SessionId>, changed: Vec<SessionId>, refused: &HashSet<SessionId>) {
    let waiting: HashSet<SessionId> = left.iter().cloned().collect();
    left.extend(changed.into_iter().filter(|id| !waiting.contains(id)));
    if !refused.is_empty() {
        let all = left.make_contiguous();
        all.sort_by_key(|id| refused.contains(id));
    }
}

/// Between two looks at the store itself.
const LOOK: Duration = Duration::from_secs(1);

/// The events behind `after`; `None` where the log goes on under another epoch by now.
pub(super) async fn read(
    session: &Arc<Session>,
    epoch: String,
    after: u64,
) -> Result<Option<Batch>, Error> {
    let request = PageRequest {
        after,
        limit: BATCH_EVENTS,
        max_bytes: BATCH_BYTES,
    };
    let reading =
        move |session: &Session| Ok::<_, Error>((session.page(request)?, session.summary()));
    let (page, summary) = off_thread(session, reading).await??;
    if page.epoch != epoch {
        return Ok(None);
    }
    Ok(Some(Batch {
        session: session.id().clone(),
        epoch,
        after,
        upto: page.next,
        lines: page.numbers.into_iter().zip(page.lines).collect(),
        summary,
    }))
}
