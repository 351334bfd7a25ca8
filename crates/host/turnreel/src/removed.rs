//! Sessions whose logs somebody took out of the data folder while the server runs: they are not there any longer, for the
//! list and for those who follow them.
//!
//! The folder is looked through where it has changed. A session that is sent to again has a log again, and is listed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use chat_store::SessionId;

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

/// Looks for logs that were taken away, or brought back, as long as it is not given up.
pub(crate) async fn look(state: State) {
    // Nothing is removed yet: the store has just read the folder.
    let mut pause = EVERY;
    let mut looker = Looker::default();
    loop {
        tokio::time::sleep(pause).await;
        let state = state.clone();
        let looking = tokio::task::spawn_blocking(move || {
            let began = Instant::now();
            looker.look(&state);
            (looker, began.elapsed())
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
    fn look(&mut self, state: &State) {
        let folder = std::fs::metadata(state.store.dir());
        let changed = folder.and_then(|folder| folder.modified()).ok();
        if changed.is_some() && self.changed == changed {
            return;
        }
        self.changed = None;
        match look_through(state) {
            Ok(is_sure) => {
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
    }
}

/// Tells each session whose log went, or came back. `false` where one was just written to, and is to be looked for again.
fn look_through(state: &State) -> Result<bool, chat_store::Error> {
    for id in state.store.packed_that_went() {
        state.packed.remove(&id, &state.list);
    }
    tell(state, state.all_to_write())
}

/// Looks whether the session's log was taken away just now; whether it is. For where what is remembered of the session would
/// decide that something need not be stored.
pub(crate) async fn is_gone(state: &State, id: &SessionId) -> bool {
    // One that was packed away is not gone.
    let Some(live) = state.live_to_write(id) else {
        return false;
    };
    let (state, of) = (state.clone(), live.clone());
    let looking = tokio::task::spawn_blocking(move || tell(&state, vec![of]));
    if let Ok(Err(why)) = looking.await {
        tracing::warn!("{why}");
    }
    live.is_removed()
}

/// Tells those of the sessions whose log went, or came back; `false` as with [`look_through`].
fn tell(state: &State, mut sessions: Vec<Arc<Live>>) -> Result<bool, chat_store::Error> {
    // One that has no event yet may have no file yet.
    sessions.retain(|live| live.row().1.head > 0);
    let ids = sessions.iter().map(|live| live.session.id().clone());
    let missing: BTreeSet<_> = state
        .store
        .without_log(ids.collect())?
        .into_iter()
        .collect();
    sessions.retain(|live| live.is_removed() != missing.contains(live.session.id()));
    let n_sessions = sessions.len();
    // Nobody writes to them until it is told: with what is written the log may be there again.
    let held: Vec<_> = sessions
        .iter()
        .filter_map(|live| Some((live, live.writer.try_lock().ok()?)))
        .collect();
    let ids = held.iter().map(|(live, _)| live.session.id().clone());
    let missing: BTreeSet<_> = state
        .store
        .without_log(ids.collect())?
        .into_iter()
        .collect();
    let n_held = held.len();
    // Each is let go as soon as it is told: a log that is back is read.
    for (live, _writer) in held {
        let is_removed = missing.contains(live.session.id());
        if live.is_removed() != is_removed {
            state.forget_remembered(live.session.id());
            if !is_removed {
                bring_back(state, live);
            }
            live.set_removed(is_removed, &state.list);
        }
    }
    Ok(n_held == n_sessions)
}

/// What was brought back may be another log than went. The caller holds the session's `writer`.
fn bring_back(state: &State, live: &Live) {
    let session = &live.session;
    match session.look_anew() {
        Ok(()) => live.realign(session.position(), session.summary(), false, &state.list),
        // Who reads it hears why.
        Err(why) => tracing::warn!(session = session.id().as_str(), "{why}"),
    }
}
