//! Several servers that serve the same sessions, behind one Redis (`chat_tiers::Fleet` has who they are).
//!
//! A session's home gives its numbers; each other server keeps a copy of the log (`copying`) and reads from it as from any
//! log, so that who follows a session may come to any of them, and its cursor is good at all. What is sent to a server that
//! is not the session's home goes on to the one that is (`routes::forward`), and where that is away for too long the server
//! takes its place (`homes`). Tokens that are made at one of them are good at
//! all (`tokens`).

pub(crate) mod bodies;
mod copying;
mod errands;
mod homes;
mod members;
mod told;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use chat_store::SessionId;
use chat_tiers::{HotReader, Member};

use crate::error::ApiError;
use crate::locked::locked;
use crate::state::State;

pub(crate) use errands::{Errand, SCOPES, SENDER};
pub(crate) use homes::TAKE_OVER_AFTER;
pub(crate) use told::{ListTold, LogTold, RowTold};

/// What Redis may take to say whose a session is.
const PATIENCE: Duration = Duration::from_secs(5);

/// When to try again what waits for a server that is away, in milliseconds.
const AGAIN_MS: u64 = 3000;

/// The servers of this fleet, as one of them sees it.
pub(crate) struct Fleet {
    me: Member,
    asking: tokio::sync::Mutex<chat_tiers::Fleet>,
    hot: tokio::sync::Mutex<HotReader>,
    /// The others, by their names.
    members: Mutex<BTreeMap<String, Member>>,
    /// Those that are homes of sessions here and not there, and since when.
    away: Mutex<HashMap<String, Instant>>,
    /// For so long; for ever where there is none.
    take_over_after: Option<Duration>,
    /// The homes of the sessions of which a copy is here.
    homes: Mutex<HashMap<SessionId, String>>,
    /// Held by who copies a session.
    turns: Mutex<HashMap<SessionId, Arc<tokio::sync::Mutex<()>>>>,
    client: reqwest::Client,
    /// By which the servers know each other; none before Redis was first reached.
    word: Mutex<Option<String>>,
}

/// Where a session's numbers are given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    Here,
    There(String),
}

impl Fleet {
    /// Joins the servers behind the Redis at `redis`, as `id`, which they reach at `url`. What goes on beside serving ends
    /// with the server.
    ///
    /// # Errors
    ///
    /// Where the address is none, and where the system lacks what connections need.
    pub(crate) fn join(
        state: &State,
        redis: &str,
        id: &str,
        url: &str,
        take_over_after: Option<Duration>,
        hot: HotReader,
    ) -> Result<Arc<Self>, String> {
        let asking =
            chat_tiers::Fleet::new(redis, id, url).map_err(|why| format!("--redis: {why}"))?;
        let copies = state.store.sessions().into_iter();
        let homes = copies.filter_map(|copy| Some((copy.id().clone(), copy.home()?)));
        let fleet = Arc::new(Fleet {
            me: asking.me().clone(),
            asking: asking.another().into(),
            hot: hot.into(),
            members: Mutex::default(),
            away: Mutex::default(),
            take_over_after,
            homes: Mutex::new(homes.collect()),
            turns: Mutex::default(),
            client: errands::client().map_err(|why| why.to_string())?,
            word: Mutex::default(),
        });
        tokio::spawn(members::look_after(state.clone(), fleet.clone(), asking));
        tokio::spawn(copying::follow(state.clone(), fleet.clone()));
        Ok(fleet)
    }

    /// Where the session's numbers are given, where somebody gives it any.
    async fn home_to_read(&self, state: &State, session: &SessionId) -> Option<Home> {
        if let Some(home) = self.known_home(state, session) {
            return Some(home);
        }
        let mut asking = self.asking.lock().await;
        match tokio::time::timeout(PATIENCE, asking.home(session)).await {
            Ok(Ok(home)) => home.map(|home| self.home_of_name(home)),
            Ok(Err(_)) | Err(_) => {
                asking.disconnect();
                None
            }
        }
    }

    fn home_of_name(&self, home: String) -> Home {
        if home == self.me.id {
            Home::Here
        } else {
            Home::There(home)
        }
    }

    /// What is known without asking: each copy knows whose it is.
    fn known_home(&self, state: &State, session: &SessionId) -> Option<Home> {
        if let Some(home) = locked(&self.homes).get(session) {
            return Some(Home::There(home.clone()));
        }
        state.live_to_write(session).map(|_| Home::Here)
    }

    /// The server of that name, where it is there.
    pub(crate) fn member(&self, id: &str) -> Option<Member> {
        locked(&self.members).get(id).cloned()
    }

    /// How many others there are.
    pub(crate) fn n_members(&self) -> usize {
        locked(&self.members).len()
    }
}

/// 503: nothing was stored, and who sends keeps it and sends it again.
fn unsettled(message: &str) -> ApiError {
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "home_away", message).retry_after(AGAIN_MS)
}

/// To who sends something to a session whose home is away.
pub(crate) fn away() -> ApiError {
    unsettled(
        "the server that this session is at home on is away; it is read from a copy meanwhile",
    )
}
