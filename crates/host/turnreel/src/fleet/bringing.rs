//! Bringing a session here for who waits for it: once for all who do, and it goes on where they wait no longer.
//!
//! From its home; or where that is away, from whoever has more of it than is here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use chat_store::SessionId;
use tokio::sync::watch;

use super::homes::Home;
use super::{Fleet, unsettled};
use crate::error::ApiError;
use crate::locked::locked;
use crate::state::State;

/// How long who asks for a session waits for it.
const WAIT: Duration = Duration::from_secs(10);

/// Ready with what came of it.
type Flight = watch::Receiver<Option<Result<(), String>>>;

/// What is being brought.
#[derive(Default)]
pub(super) struct Bringing {
    flights: Mutex<HashMap<SessionId, Flight>>,
    /// Servers that say they are there and cannot be reached, and since when.
    unheard: Mutex<HashMap<String, Instant>>,
}

impl Fleet {
    /// Brings the session here where it is elsewhere and was not heard of yet; waits for that, but not for ever.
    ///
    /// # Errors
    ///
    /// 503 where it is not brought in time, or could not be; not where there is nothing of it.
    pub(crate) async fn fetch(
        self: &Arc<Self>,
        state: &State,
        session: &SessionId,
    ) -> Result<(), ApiError> {
        if state.live_to_write(session).is_some() {
            return Ok(());
        }
        let Some(Home::There(home)) = self.home_to_read(session).await else {
            return Ok(());
        };
        self.bring(state, session, &home).await.map_err(|why| {
            tracing::debug!(session = session.as_str(), "{why}");
            not_given()
        })
    }

    /// Brings the copy of that home's log up to all that the servers have that are there.
    ///
    /// # Errors
    ///
    /// What failed, or that it takes longer than is waited for: it goes on then.
    pub(super) async fn bring(
        self: &Arc<Self>,
        state: &State,
        session: &SessionId,
        home: &str,
    ) -> Result<(), String> {
        let mut flight = self.flight(state, session, home);
        let landed = flight.wait_for(Option::is_some);
        match tokio::time::timeout(WAIT, landed).await {
            Ok(Ok(brought)) => brought.clone().unwrap_or(Ok(())),
            Ok(Err(_)) => Err("what brought the session here failed".to_owned()),
            Err(_) => Err("the session is not all here yet".to_owned()),
        }
    }

    /// Joins those who wait for it; the first begins.
    fn flight(self: &Arc<Self>, state: &State, session: &SessionId, home: &str) -> Flight {
        let mut flights = locked(&self.bringing.flights);
        // One whose task failed has nobody who tells of it.
        flights.retain(|_, flight| flight.has_changed().is_ok());
        if let Some(flight) = flights.get(session) {
            return flight.clone();
        }
        let (landed, flight) = watch::channel(None);
        flights.insert(session.clone(), flight.clone());
        let (fleet, state) = (self.clone(), state.clone());
        let (session, home) = (session.clone(), home.to_owned());
        tokio::spawn(async move {
            let brought = fleet.copy(&state, &session, &home, None).await;
            locked(&fleet.bringing.flights).remove(&session);
            landed.send_replace(Some(brought));
        });
        flight
    }

    /// That server was heard.
    pub(super) fn note_heard(&self, id: &str) {
        locked(&self.bringing.unheard).remove(id);
    }

    /// Whether a server that says it is there, and was just not heard, is to be waited for: for as long as a home is.
    pub(super) fn is_waited_for(&self, id: &str) -> bool {
        let mut unheard = locked(&self.bringing.unheard);
        let since = unheard.entry(id.to_owned()).or_insert_with(Instant::now);
        self.take_over_after
            .is_none_or(|patience| since.elapsed() < patience)
    }
}

/// To who reads a session that another server has, and does not give.
pub(crate) fn not_given() -> ApiError {
    unsettled(
        "the session is on another server, which does not give it now; come again in a moment",
    )
}
