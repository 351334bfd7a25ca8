//! Sessions whose logs somebody took out of the data folder while the server runs: they are listed no longer.
//!
//! The folder is looked through where it has changed. A session that is sent to again has a log again, and is listed.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use chat_store::SessionId;

use crate::locked::locked;
use crate::state::State;

/// The folder is looked at no more often: of ten thousand sessions a look takes as long as their list.
const EVERY: Duration = Duration::from_secs(1);

/// What changes within this time of a look may leave the folder with the same time.
const SETTLED: Duration = Duration::from_secs(2);

/// What was found when the folder was looked through last.
#[derive(Debug, Default)]
pub(crate) struct Removed(Mutex<Found>);

#[derive(Debug)]
struct Found {
    looked: Instant,
    /// When the folder had changed then; `None` where it may have changed since without another time.
    changed: Option<SystemTime>,
    sessions: Arc<BTreeSet<SessionId>>,
}

impl Default for Found {
    /// Nothing is removed yet: the store has just read the folder.
    fn default() -> Self {
        Found {
            looked: Instant::now(),
            changed: None,
            sessions: Arc::default(),
        }
    }
}

impl State {
    /// The sessions whose logs are gone.
    pub(crate) async fn removed(&self) -> Arc<BTreeSet<SessionId>> {
        let state = self.clone();
        let looked = tokio::task::spawn_blocking(move || state.look_for_removed());
        looked.await.unwrap_or_default()
    }

    fn look_for_removed(&self) -> Arc<BTreeSet<SessionId>> {
        let mut found = locked(&self.removed.0);
        if found.looked.elapsed() < EVERY {
            return found.sessions.clone();
        }
        found.looked = Instant::now();
        let folder = std::fs::metadata(self.store.dir());
        let changed = folder.and_then(|folder| folder.modified()).ok();
        if changed.is_some() && found.changed == changed {
            return found.sessions.clone();
        }
        // One that has no event yet may have no file yet.
        let with_events = self.all_live().into_iter().filter_map(|live| {
            let has_events = live.row().1.head > 0;
            has_events.then(|| live.session.id().clone())
        });
        match self.store.without_log(with_events.collect()) {
            Ok(sessions) => {
                let is_settled = |at: &SystemTime| at.elapsed().is_ok_and(|ago| ago > SETTLED);
                found.changed = changed.filter(is_settled);
                found.sessions = Arc::new(sessions.into_iter().collect());
            }
            Err(why) => tracing::warn!("{why}"),
        }
        found.sessions.clone()
    }
}
