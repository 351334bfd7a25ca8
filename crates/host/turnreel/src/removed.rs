//! Sessions whose logs somebody took out of the data folder while the server runs: they are not there any longer, for the
//! list and for those who follow them.
//!
//! Those that are removed by the server itself are for `removal`. The folder is looked through where it has changed. A
//! session that is sent to again has a log again, and is listed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use chat_store::{SessionId, beside_each_other};

use crate::error::ApiError;
use crate::live::Live;
use crate::state::State;

/// The folder is looked at no more often.
const EVERY: Duration = Duration::from_secs(1);

/// Of a folder of many logs that changes all the time a look takes as long as their list: this part of the time is
/// spent on looking, and more only where that would ask for a longer pause than the longest.
const PART_OF_TIME: u32 = 50;

/// The longest pause between two looks: a disk may have been slow once.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// What changes within this time of a look may leave the folder with the same time.
const SETTLED: Duration = Duration::from_secs(2);

/// A session that was removed is known for so long; then little more than its id is kept, for who has not heard of it.
const KNOWN_FOR: Duration = Duration::from_secs(60);

/// Logs that are brought back beside each other: each may be read from its beginning.
const BACK_AT_ONCE: usize = 4;

/// Looks for logs that were taken away, or brought back, as long as it is not given up.
pub(crate) async fn look(state: State) {
    // Nothing is removed yet: the store has just read the folder.
    let mut pause = EVERY;
    let mut looker = Looker::default();
    loop {
        tokio::time::sleep(pause).await;
        let state = state.clone();
        let looking = tokio::task::spawn_blocking(move || {
            let took = looker.look(&state);
            (looker, took)
        });
        let Ok((back, took)) = looking.await else {
            return;
        };
        looker = back;
        pause = (took * PART_OF_TIME).clamp(EVERY, LONGEST_PAUSE);
    }
}

/// What is known of the folder.
#[derive(Default)]
struct Looker {
    /// When it had changed when it was looked through last; `None` where it may have changed since without another time.
    changed: Option<SystemTime>,
    /// It could not be listed, which was said.
    failed: bool,
}

impl Looker {
    /// Looks through the folder where it has changed; how long that took, without what was read of logs that are back.
    fn look(&mut self, state: &State) -> Duration {
        let began = Instant::now();
        let folder = std::fs::metadata(state.store.dir());
        let changed = folder.and_then(|folder| folder.modified()).ok();
        if changed.is_some() && self.changed == changed {
            return began.elapsed();
        }
        self.changed = None;
        let looked = look_through(state, KNOWN_FOR);
        let took = began.elapsed();
        match looked {
            Ok((is_sure, returned)) => {
                let is_sure = bring_all_back(state, returned) && is_sure;
                let is_settled = |at: &SystemTime| at.elapsed().is_ok_and(|ago| ago > SETTLED);
                self.changed = changed.filter(|at| is_sure && is_settled(at));
                self.failed = false;
            }
            // A folder that is away is as it was: nothing was taken out of it.
            Err(why) if !self.failed => {
                tracing::warn!("{why}");
                self.failed = true;
            }
            Err(_) => {}
        }
        took
    }
}

/// Tells each session whose log went, and gives those whose log is back. `false` where one was just written to, and is to be
/// looked for again. Those that went so long ago are forgotten.
fn look_through(
    state: &State,
    known_for: Duration,
) -> Result<(bool, Vec<Arc<Live>>), chat_store::Error> {
    for id in state.store.packed_that_went() {
        state.packed.remove(&id, &state.list);
    }
    let mut sessions = state.all_to_write();
    // One that has no event yet may have no file yet.
    sessions.retain(|live| live.row().1.head > 0);
    let forgotten = state.packed.gone(&state.list);
    let known = sessions.iter().map(|live| live.session.id());
    let missing = without_log(state, known.chain(&forgotten).cloned())?;
    for id in forgotten.iter().filter(|id| !missing.contains(*id)) {
        begin_again(state, id);
    }
    for live in &sessions {
        if missing.contains(live.session.id()) && live.is_removed_for(known_for) {
            state.forget_removed(live);
        }
    }
    sessions.retain(|live| live.is_removed() != missing.contains(live.session.id()));
    let (returned, went): (Vec<_>, Vec<_>) =
        sessions.into_iter().partition(|live| live.is_removed());
    Ok((tell_gone(state, &went)?, returned))
}

/// The log of a session is back that was forgotten.
fn begin_again(state: &State, id: &SessionId) {
    // Who begins it meanwhile opens that log as well.
    if let Err(why) = state.live_or_new(id) {
        tracing::warn!(session = id.as_str(), "{}", why.message);
    }
}

/// Those of the sessions that have no file.
fn missing(
    state: &State,
    sessions: &[Arc<Live>],
) -> Result<BTreeSet<SessionId>, chat_store::Error> {
    without_log(state, sessions.iter().map(|live| live.session.id().clone()))
}

fn without_log(
    state: &State,
    ids: impl Iterator<Item = SessionId>,
) -> Result<BTreeSet<SessionId>, chat_store::Error> {
    let missing = state.store.without_log(ids.collect())?;
    Ok(missing.into_iter().collect())
}

/// Tells those of the sessions whose log went; `false` as with [`look_through`].
fn tell_gone(state: &State, sessions: &[Arc<Live>]) -> Result<bool, chat_store::Error> {
    // Nobody writes to them until it is told: with what is written the log may be there again.
    let mut held = Vec::new();
    let mut writers = Vec::new();
    for live in sessions {
        if let Ok(writer) = live.writer.try_lock() {
            held.push(live.clone());
            writers.push(writer);
        }
    }
    let missing = missing(state, &held)?;
    for live in held.iter().filter(|it| missing.contains(it.session.id())) {
        turn(state, live, true);
    }
    Ok(held.len() == sessions.len())
}

/// Brings back those whose logs are there again; `false` as with [`look_through`]. A log is read while its own session alone
/// is held.
fn bring_all_back(state: &State, sessions: Vec<Arc<Live>>) -> bool {
    let n_threads = sessions.len().min(BACK_AT_ONCE);
    let is_sure = AtomicBool::new(true);
    beside_each_other(n_threads, sessions, &|live| {
        let is_told = live
            .writer
            .try_lock()
            .is_ok_and(|_writer| turn(state, &live, false));
        if !is_told {
            is_sure.store(false, Ordering::Relaxed);
        }
    });
    is_sure.into_inner()
}

/// Tells that the session's log went, or is back; `false` where it went again. The caller holds the session's `writer`.
fn turn(state: &State, live: &Live, is_missing: bool) -> bool {
    if live.is_removed() == is_missing {
        return true;
    }
    state.forget_remembered(live.session.id());
    if !is_missing {
        let session = &live.session;
        // What was brought back may be another log than went.
        match session.look_anew() {
            Ok(()) => live.realign(session.position(), session.summary(), false, &state.list),
            Err(chat_store::Error::Gone { .. }) => return false,
            // Who reads it hears why.
            Err(why) => tracing::warn!(session = session.id().as_str(), "{why}"),
        }
    }
    live.set_removed(is_missing, &state.list);
    true
}

/// Tells that the session's log was removed by us. The caller holds the session's `writer`.
pub(crate) fn tell_removed(state: &State, live: &Live) {
    turn(state, live, true);
}

/// Looks whether the session's log was taken away just now; whether it is. For where what is remembered of the session would
/// decide that something need not be stored. The caller does not hold the session's `writer`.
pub(crate) async fn is_gone(state: &State, id: &SessionId) -> bool {
    // One that was packed away is not gone; and one that has no event yet may have no file yet.
    let live = state.live_to_write(id);
    let Some(live) = live.filter(|live| live.row().1.head > 0) else {
        return false;
    };
    let (state, of) = (state.clone(), live.clone());
    // On a task of its own: the writer is held until it is told, also where nobody waits for that any more. No thread waits for it.
    let looking = tokio::spawn(async move {
        let _writer = of.writer.lock().await;
        let looked = of.clone();
        let looking = move || {
            let missing = missing(&state, std::slice::from_ref(&looked))?;
            turn(&state, &looked, !missing.is_empty());
            Ok::<_, chat_store::Error>(())
        };
        if let Ok(Err(why)) = tokio::task::spawn_blocking(looking).await {
            tracing::warn!("{why}");
        }
    });
    let _ = looking.await;
    live.is_removed()
}

/// Sees whether the session's log was taken away, and tells of it where it was: at the price of a look at one file.
///
/// # Errors
///
/// Where the server stops.
pub(crate) async fn look_for(state: &State, id: &SessionId) -> Result<(), ApiError> {
    let Some(live) = state.live(id).filter(|live| live.row().1.head > 0) else {
        return Ok(());
    };
    let path = state.store.log_path(live.session.id());
    let looking = tokio::task::spawn_blocking(move || path.symlink_metadata());
    // Whether it is elsewhere is asked only where it is not here, and what cannot be looked at is said by who writes to it.
    if let Err(why) = looking.await?
        && why.kind() == std::io::ErrorKind::NotFound
    {
        is_gone(state, id).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
