//! Several servers that serve the same sessions, behind one Redis (`chat_tiers::Fleet` has who they are).
//!
//! A session's home gives its numbers; each other server keeps a copy of the log (`copying`) and reads from it as from
//! any log, so that who follows a session may come to any of them, and its cursor is good at all. What is sent to a
//! server that is not the session's home goes on to the one that is (`routes::forward`), and where that is away for too
//! long the server takes its place (`homes`) with all that can be had of it (`bringing`); when it is back it gives the
//! session up (`giving`). Long bodies come to whoever has a line that refers to one (`bodies`), and tokens that are
//! made at one of them are good at all (`tokens::merge`).

pub(crate) mod bodies;
mod bringing;
mod copying;
mod errands;
mod giving;
mod homes;
mod members;
mod removing;
mod sending;
mod told;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use chat_store::SessionId;
use chat_tiers::{HotReader, Member};
use tokio::sync::Notify;

use crate::error::ApiError;
use crate::locked::locked;
use crate::state::State;
use crate::turns::Turns;
use bringing::Bringing;
use copying::Heard;

pub(crate) use bringing::not_given;
pub(crate) use errands::{Errand, SCOPES, SENDER, SERVER};
pub(crate) use homes::{Home, TAKE_OVER_AFTER};
pub(crate) use sending::NotTaken;
pub(crate) use told::{ListTold, LogTold, RowTold};

/// What Redis may take to say whose a session is.
const PATIENCE: Duration = Duration::from_secs(5);

/// When to try again what waits for a server that is away, in milliseconds.
const AGAIN_MS: u64 = 3000;

/// The word for what waits for a session's home.
pub(crate) const HOME_AWAY: &str = "home_away";

/// The servers of this fleet, as one of them sees it.
pub(crate) struct Fleet {
    me: Member,
    asking: chat_tiers::Fleet,
    hot: HotReader,
    /// The others, by their names.
    members: Mutex<BTreeMap<String, Member>>,
    /// Another process goes by this server's name.
    is_doubled: AtomicBool,
    /// Those that are homes of sessions here and not there, and since when.
    away: Mutex<HashMap<String, Instant>>,
    /// For so long; for ever where there is none.
    take_over_after: Option<Duration>,
    /// Sessions that are being given up, and to whom.
    giving: Mutex<HashMap<SessionId, String>>,
    /// Who changes a session's copy, or what it is a copy of, has its turn.
    turns: Turns,
    heard: Heard,
    /// Up to when it was heard which sessions were removed, by the clock of Redis.
    removed_upto_ms: AtomicU64,
    /// Another server made or took back tokens.
    tokens_told: Notify,
    bringing: Bringing,
    client: reqwest::Client,
    /// By which the servers know each other; none before Redis was first reached.
    word: Mutex<Option<String>>,
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
        let fleet = Arc::new(Fleet {
            me: asking.me().clone(),
            asking,
            hot,
            members: Mutex::default(),
            is_doubled: AtomicBool::default(),
            away: Mutex::default(),
            take_over_after,
            giving: Mutex::default(),
            turns: Turns::default(),
            heard: Heard::default(),
            removed_upto_ms: AtomicU64::default(),
            tokens_told: Notify::new(),
            bringing: Bringing::default(),
            client: errands::client().map_err(|why| why.to_string())?,
            word: Mutex::default(),
        });
        tokio::spawn(members::look_after(state.clone(), fleet.clone()));
        tokio::spawn(copying::follow(state.clone(), fleet.clone()));
        Ok(fleet)
    }

    /// What this server is called.
    pub(crate) fn id(&self) -> &str {
        &self.me.id
    }

    /// The server of that name, where it is there.
    pub(crate) fn member(&self, id: &str) -> Option<Member> {
        locked(&self.members).get(id).cloned()
    }

    fn all_members(&self) -> Vec<Member> {
        locked(&self.members).values().cloned().collect()
    }

    /// How many others there are.
    pub(crate) fn n_members(&self) -> usize {
        locked(&self.members).len()
    }
}

/// What Redis says, where it does so soon.
async fn soon<T>(
    asking: impl Future<Output = Result<T, chat_tiers::Error>>,
) -> Result<T, chat_tiers::Error> {
    match tokio::time::timeout(PATIENCE, asking).await {
        Ok(answer) => answer,
        Err(_) => Err(chat_tiers::Error::Store {
            what: "ask Redis",
            why: "no answer".to_owned(),
        }),
    }
}

/// 503: who sends keeps it and sends it again.
fn unsettled(message: &str) -> ApiError {
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, HOME_AWAY, message).retry_after(AGAIN_MS)
}

/// To who sends something to a session whose home is away.
pub(crate) fn away() -> ApiError {
    unsettled(
        "the server that this session is at home on is away; it is read from a copy meanwhile",
    )
}

/// To who sends something to a session whose home gave no answer.
pub(crate) fn unanswered() -> ApiError {
    unsettled(
        "the server that this session is at home on gave no answer: it may have taken this, and knows it again by its id",
    )
}
