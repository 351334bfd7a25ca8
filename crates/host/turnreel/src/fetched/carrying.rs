//! Bringing here what is elsewhere: a session from the object store, or from the server that gives its numbers; a body. What is
//! in the way is remembered, so that it is not asked for at once again.

use std::time::Instant;

use chat_store::{Error as StoreError, SessionId};
use chat_tiers::{Error, Manifest};

use super::{AWAY, Fetching, MISSED, Outcome, Wanted};
use crate::fleet::Home;
use crate::locked::locked;
use crate::state::State;

/// Why nothing came of it.
enum Failure {
    /// The object store, or what was to be written here.
    Fetch(Error),
    /// The session's home, or who was to say which that is: no reason to fetch nothing else.
    Home(String),
}

impl From<Error> for Failure {
    fn from(why: Error) -> Self {
        Failure::Fetch(why)
    }
}

impl From<StoreError> for Failure {
    fn from(why: StoreError) -> Self {
        Failure::Fetch(why.into())
    }
}

impl Fetching {
    pub(super) async fn fetch(&self, state: &State, wanted: &Wanted) -> Outcome {
        let fetched = match wanted {
            Wanted::Session(id) => self.fetch_session(state, id).await,
            Wanted::Body(sha256) => {
                // It is never closed.
                let _room = self.room.acquire().await.ok();
                let fetched = self.cold.fetch_blob(sha256, state.store.blobs()).await;
                fetched.or_else(|why| match why {
                    // What is no hash is nowhere.
                    Error::Log(StoreError::BadHash) => Ok(false),
                    why => Err(why.into()),
                })
            }
        };
        match fetched {
            Ok(true) => {
                locked(&self.failed).remove(wanted);
                Outcome::Here
            }
            Ok(false) => Outcome::Nowhere,
            Err(Failure::Home(why)) => {
                // Who was asked in vain has said why.
                tracing::debug!(?wanted, "it is not fetched from its home: {why}");
                Outcome::NotGiven
            }
            Err(Failure::Fetch(why)) => {
                match wanted {
                    Wanted::Session(id) => tracing::warn!(session = id.as_str(), "{why}"),
                    Wanted::Body(sha256) => tracing::warn!(sha256, "{why}"),
                }
                // What is damaged there, or finds no place here, is no reason to fetch nothing else.
                if matches!(why, Error::Store { .. }) {
                    // It is said above, and the operator's figures tell of it.
                    self.health.failed_reader();
                    *locked(&self.away_until) = Some(Instant::now() + AWAY);
                } else {
                    let mut failed = locked(&self.failed);
                    // Longer ago than the longest rest.
                    failed.retain(|_, (_, at)| at.elapsed() < 2 * MISSED);
                    let times = failed.get(wanted).map_or(0, |(times, _)| *times);
                    failed.insert(wanted.clone(), (times + 1, Instant::now()));
                }
                Outcome::Failed
            }
        }
    }

    async fn fetch_session(&self, state: &State, id: &SessionId) -> Result<bool, Failure> {
        let n_removals = self.cold.n_removals(id);
        let Some(copy) = self.cold.find(id).await? else {
            return Ok(false);
        };
        let mut copy_of = None;
        if let Some(fleet) = state.fleet.get() {
            let home = fleet.home_or_claim(state, id).await;
            match home.map_err(|why| Failure::Home(why.message))? {
                Home::Here => {}
                // It gives the numbers, and is asked for them. Of what it has not there may be more than there is in the store.
                Home::There(home) if fleet.member(&home).is_some() => {
                    let fetched = fleet.fetch(state, id).await;
                    fetched.map_err(|why| Failure::Home(why.message))?;
                    return match state.live(id) {
                        Some(_) => Ok(true),
                        None => Err(Failure::Home("it has not the session".to_owned())),
                    };
                }
                // It is read meanwhile, and the home tells of the rest when it is back.
                Home::There(home) => copy_of = Some(home),
            }
        }
        // A home that is slow keeps no room from others.
        let _room = self.room.acquire().await.ok();
        let (preparing, of) = (state.clone(), id.clone());
        // What was fetched by half goes with it.
        let restoring = off_thread(move || preparing.store.restoring(&of)).await??;
        // Who removes it from here on removes that file, too.
        if self.cold.n_removals(id) != n_removals {
            return Ok(false);
        }
        self.cold.fetch(&copy, restoring.file()).await?;
        let (taking, of) = (state.clone(), id.clone());
        let taking_in = move || taking.take_in(&of, &restoring, copy_of.as_deref());
        let restored = off_thread(taking_in).await?;
        match restored {
            Ok(()) => say_restored(&copy),
            // Somebody sent to it meanwhile, or brought the log.
            Err(StoreError::Exists { .. }) => {}
            Err(why) => return Err(why.into()),
        }
        Ok(true)
    }
}

async fn off_thread<V: Send + 'static>(
    work: impl FnOnce() -> V + Send + 'static,
) -> Result<V, Error> {
    let working = tokio::task::spawn_blocking(work).await;
    working.map_err(|why| Error::Local {
        what: "take in a session",
        why: why.to_string(),
    })
}

fn say_restored(copy: &Manifest) {
    tracing::info!(
        session = copy.session,
        bytes = copy.bytes,
        "a session was fetched from the object store"
    );
}
