//! Sessions and bodies that are in the object store and not here: fetched when somebody asks for them, once for all who wait.
//!
//! Who reads waits for a while, and is told to come again where it takes longer; the fetching goes on meanwhile. What is not
//! there is not looked for again for a minute, and nothing is looked for while the store is away. Who may see a session was
//! decided before anybody comes here. What is fetched is from then on as if it had never been elsewhere. How it comes here is for
//! `carrying`.

mod carrying;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use chat_store::SessionId;
use chat_tiers::{Cold, Health};
use tokio::sync::{Semaphore, watch};

use crate::error::ApiError;
use crate::fleet;
use crate::live::Live;
use crate::locked::locked;
use crate::removed;
use crate::state::State;

/// A request waits for so long. The client's own patience with a silent socket is longer.
const WAIT: Duration = Duration::from_secs(20);

/// Who was told to come again does so after this.
const COME_AGAIN_MS: u64 = 5000;

/// What is not in the store is not looked for again for so long.
const MISSED: Duration = Duration::from_secs(60);

/// Of more than so many, those that were not there longest ago are forgotten.
const MOST_MISSED: usize = 10_000;

/// What is fetched beside each other, and what may wait for it.
const AT_ONCE: usize = 4;
const MOST_FLIGHTS: usize = 64;

/// A store that was away is left alone for so long; so is what is damaged there, and twice as long with each time that it is.
const AWAY: Duration = Duration::from_secs(2);

/// What may be elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Wanted {
    Session(SessionId),
    /// The body of that hash.
    Body(String),
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Here,
    Nowhere,
    Failed,
    /// Another server has it, and does not give it now.
    NotGiven,
}

/// What is being fetched, and what was not to be had.
pub(crate) struct Fetching {
    cold: Cold,
    health: Arc<Health>,
    flights: Mutex<HashMap<Wanted, watch::Receiver<Option<Outcome>>>>,
    missed: Mutex<HashMap<Wanted, Instant>>,
    /// What came back damaged, or had no place here: how often, and when last. Asking at once would fetch all of it again.
    failed: Mutex<HashMap<Wanted, (u32, Instant)>>,
    away_until: Mutex<Option<Instant>>,
    room: Semaphore,
}

impl Fetching {
    /// Fetches from that store for this server, from now on.
    pub(crate) fn begin(cold: Cold, health: Arc<Health>, state: &State) {
        let fetching = Arc::new(Fetching {
            cold,
            health,
            flights: Mutex::default(),
            missed: Mutex::default(),
            failed: Mutex::default(),
            away_until: Mutex::default(),
            room: Semaphore::new(AT_ONCE),
        });
        // Bodies are asked for off the async threads, by those who read logs.
        let runtime = tokio::runtime::Handle::current();
        let (asked, weak) = (fetching.clone(), state.downgrade());
        let elsewhere = move |sha256: &str| {
            let Some(state) = weak.upgrade() else {
                return Ok(false);
            };
            let wanted = Wanted::Body(sha256.to_owned());
            let (asked, (sender, answer)) = (asked.clone(), std::sync::mpsc::channel());
            runtime.spawn(async move {
                let got = asked.get(&state, wanted).await;
                let _ = sender.send(got.map_err(|why| why.message));
            });
            // Longer than it may take: who asks where nobody is left to fetch it is not held for ever.
            let answer = answer.recv_timeout(2 * WAIT);
            answer.unwrap_or_else(|_| Err("the server is stopping".to_owned()))
        };
        state.store.blobs().look_elsewhere(Box::new(elsewhere));
        // It is only ever set here.
        let _ = state.fetching.set(fetching);
    }

    /// The store that is fetched from.
    pub(crate) fn cold(&self) -> &Cold {
        &self.cold
    }

    /// Whether the store said what it has.
    pub(crate) fn knows(&self) -> bool {
        self.health.is_up()
    }

    /// Whether the store said what it has, and has no copy of the session.
    pub(crate) fn knows_none(&self, id: &SessionId) -> bool {
        self.knows() && !self.cold.has(id)
    }

    /// Fetches the session, where it is to be had; whether it is here now.
    ///
    /// # Errors
    ///
    /// 503 where that takes longer than is waited for, where the store is away, and where too much is being fetched.
    pub(crate) async fn session(
        self: &Arc<Self>,
        state: &State,
        id: &SessionId,
    ) -> Result<bool, ApiError> {
        self.get(state, Wanted::Session(id.clone())).await
    }

    /// Fetches it, where it is to be had; whether it is here now.
    ///
    /// # Errors
    ///
    /// 503 where that takes longer than is waited for, where the store is away, and where too much is being fetched.
    async fn get(self: &Arc<Self>, state: &State, wanted: Wanted) -> Result<bool, ApiError> {
        if self.is_missed(&wanted) {
            return Ok(false);
        }
        let mut flight = self.flight(state, wanted)?;
        let landed = flight.wait_for(Option::is_some);
        let Ok(landed) = tokio::time::timeout(WAIT, landed).await else {
            return Err(fetching());
        };
        match landed.ok().and_then(|outcome| *outcome) {
            Some(Outcome::Here) => Ok(true),
            Some(Outcome::Nowhere) => Ok(false),
            Some(Outcome::NotGiven) => Err(fleet::not_given()),
            Some(Outcome::Failed) | None => Err(away()),
        }
    }

    /// Joins those who wait for it; the first begins to fetch.
    fn flight(
        self: &Arc<Self>,
        state: &State,
        wanted: Wanted,
    ) -> Result<watch::Receiver<Option<Outcome>>, ApiError> {
        let mut flights = locked(&self.flights);
        // One whose task failed has nobody who tells of it.
        flights.retain(|_, flight| flight.has_changed().is_ok());
        if let Some(flight) = flights.get(&wanted) {
            return Ok(flight.clone());
        }
        let rests = |(times, at): &(u32, Instant)| {
            let rest = AWAY.saturating_mul(1 << (times - 1).min(5));
            at.elapsed() < rest
        };
        if locked(&self.away_until).is_some_and(|until| Instant::now() < until)
            || locked(&self.failed).get(&wanted).is_some_and(rests)
        {
            return Err(away());
        }
        if flights.len() >= MOST_FLIGHTS {
            return Err(fetching());
        }
        let (landed, flight) = watch::channel(None);
        flights.insert(wanted.clone(), flight.clone());
        let (fetching, state) = (self.clone(), state.clone());
        tokio::spawn(async move {
            let outcome = fetching.fetch(&state, &wanted).await;
            // Before nobody can join any more: who comes next finds it here, or that it is nowhere.
            if outcome == Outcome::Nowhere {
                fetching.miss(wanted.clone());
            }
            locked(&fetching.flights).remove(&wanted);
            landed.send_replace(Some(outcome));
        });
        Ok(flight)
    }

    fn is_missed(&self, wanted: &Wanted) -> bool {
        let missed = locked(&self.missed);
        missed.get(wanted).is_some_and(|at| at.elapsed() < MISSED)
    }

    fn miss(&self, wanted: Wanted) {
        let mut missed = locked(&self.missed);
        if missed.len() >= MOST_MISSED {
            missed.retain(|_, at| at.elapsed() < MISSED);
        }
        // All are of this minute: the older half may be looked for again.
        if missed.len() >= MOST_MISSED {
            let mut times: Vec<Instant> = missed.values().copied().collect();
            times.sort_unstable();
            let middle = times[times.len() / 2];
            missed.retain(|_, at| *at > middle);
        }
        missed.insert(wanted, Instant::now());
    }
}

impl State {
    /// Fetches the session before something is written to it, where it is known to be elsewhere and not here: what is written
    /// goes on behind what it has. Of others nothing is asked, so no sender waits for the store.
    ///
    /// # Errors
    ///
    /// 503 where it cannot be had now.
    pub(crate) async fn fetch_to_write(&self, id: &SessionId) -> Result<(), ApiError> {
        removed::look_for(self, id).await?;
        if let Some(fetching) = self.fetching.get()
            && self.live(id).is_none()
            && (self.store.is_packed(id) || fetching.cold.has(id))
        {
            // It may have been looked for before there was a copy of it.
            locked(&fetching.missed).remove(&Wanted::Session(id.clone()));
            fetching.session(self, id).await?;
        }
        Ok(())
    }

    /// The session that something goes on with, fetched as [`State::fetch_to_write`] does; `None` where it has no log.
    ///
    /// # Errors
    ///
    /// 503 where it has one that cannot be had now.
    pub(crate) async fn live_to_go_on(
        &self,
        id: &SessionId,
    ) -> Result<Option<Arc<Live>>, ApiError> {
        self.fetch_to_write(id).await?;
        self.live_or_away(id)
    }

    /// Whether the session has a log here, or may have one elsewhere.
    pub(crate) fn may_have_log(&self, id: &SessionId) -> bool {
        let fetching = self.fetching.get();
        self.live(id).is_some()
            || self.store.is_packed(id)
            || fetching.is_some_and(|fetching| !fetching.knows_none(id))
            // It may be at home on another server.
            || (self.fleet.get().is_some() && self.live_to_write(id).is_none())
    }
}

fn fetching() -> ApiError {
    let message = "it is being fetched from the object store; come again in a moment";
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "fetching", message).retry_after(COME_AGAIN_MS)
}

/// The cause names what only operators are to know: it stays in our own log.
pub(crate) fn away() -> ApiError {
    let message =
        "it may be in the object store, which does not give it now; the server's log says why";
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "fetching", message).retry_after(COME_AGAIN_MS)
}
