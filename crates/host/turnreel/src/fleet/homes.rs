//! Where a session's numbers are given, and how a server that something is sent to takes the place of one that is away.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use chat_store::SessionId;

use super::{Fleet, PATIENCE, away, soon, unsettled};
use crate::error::ApiError;
use crate::ingest;
use crate::locked::locked;
use crate::state::State;

/// How long a home may be away before its sessions are taken over, where nothing else is asked for.
pub(crate) const TAKE_OVER_AFTER: Duration = Duration::from_secs(60);

/// Where a session's numbers are given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    Here,
    There(String),
}

impl Fleet {
    /// Where the session's numbers are given. Nobody's becomes ours, and so does that of a server which is away for too long.
    ///
    /// # Errors
    ///
    /// 503 where that cannot be told now.
    pub(crate) async fn home_to_write(
        self: &Arc<Self>,
        state: &State,
        session: &SessionId,
    ) -> Result<Home, ApiError> {
        match self.home_or_claim(state, session).await? {
            Home::There(home) if self.member(&home).is_none() => {
                self.home_for_one_away(state, session, &home).await
            }
            home => Ok(home),
        }
    }

    /// Where the session's numbers are given, be it there or away. Nobody's becomes ours.
    ///
    /// # Errors
    ///
    /// 503 where that cannot be told now.
    pub(crate) async fn home_or_claim(
        &self,
        state: &State,
        session: &SessionId,
    ) -> Result<Home, ApiError> {
        if self.is_doubled.load(Ordering::Relaxed) {
            return Err(unsettled(
                "another server has this one's name: the file server-id was copied with its data folder",
            ));
        }
        if let Some(home) = self.known_home(state, session) {
            return Ok(home);
        }
        match within(self.asking.claim(session)).await? {
            Some(home) => Ok(self.home_of_name(home)),
            None => Err(unsettled(SETTLING)),
        }
    }

    /// The home that was known is not there: another may be by now, or this server becomes it.
    async fn home_for_one_away(
        self: &Arc<Self>,
        state: &State,
        session: &SessionId,
        home: &str,
    ) -> Result<Home, ApiError> {
        let now = match self.is_away_for_too_long(home) {
            false => within(self.asking.home(session)).await?,
            true => {
                // Another one may have more of it than is here: numbers go on behind all that can be had.
                self.bring(state, session, home).await.map_err(|why| {
                    tracing::debug!(session = session.as_str(), "{why}");
                    away()
                })?;
                within(self.asking.take(session, home)).await?
            }
        };
        let now = self.home_of_name(now.unwrap_or_else(|| home.to_owned()));
        match &now {
            Home::Here => self.take_over(state, session, home).await?,
            Home::There(other) if self.member(other).is_none() => return Err(away()),
            Home::There(_) => {}
        }
        Ok(now)
    }

    /// The copy gives numbers from now on.
    async fn take_over(
        &self,
        state: &State,
        session: &SessionId,
        from: &str,
    ) -> Result<(), ApiError> {
        let turn = tokio::time::timeout(PATIENCE, self.turns.of(session)).await;
        let _turn = turn.map_err(|_| away())?;
        let Some(live) = state.live_to_write(session) else {
            // Nobody that is there has anything of it: it begins here.
            return Ok(());
        };
        if live.home().is_none() {
            return Ok(());
        }
        tracing::warn!(
            session = session.as_str(),
            "its home ({from}) is away; this server takes the session over"
        );
        ingest::change_log(state, live, |log| log.take_over()).await??;
        Ok(())
    }

    fn is_away_for_too_long(&self, home: &str) -> bool {
        let Some(patience) = self.take_over_after else {
            return false;
        };
        let mut away = locked(&self.away);
        let since = away.entry(home.to_owned()).or_insert_with(Instant::now);
        since.elapsed() >= patience
    }

    /// Who is there is away no longer, and who is not may be since now.
    pub(super) fn note_members(&self, state: &State) {
        let members = locked(&self.members);
        let mut away = locked(&self.away);
        away.retain(|id, _| !members.contains_key(id));
        for live in state.all_to_write() {
            if let Some(home) = live.home()
                && !members.contains_key(&home)
            {
                away.entry(home).or_insert_with(Instant::now);
            }
        }
    }

    /// Where the session's numbers are given, where somebody gives it any. Of one that is here it is known.
    pub(super) async fn home_to_read(&self, session: &SessionId) -> Option<Home> {
        let home = within(self.asking.home(session)).await.ok()?;
        home.map(|home| self.home_of_name(home))
    }

    /// Whether Redis says that this server is the session's home.
    ///
    /// # Errors
    ///
    /// Where it cannot be asked.
    pub(super) async fn is_home_of(&self, home: &str, session: &SessionId) -> Result<bool, String> {
        let now = within(self.asking.home(session)).await;
        let now = now.map_err(|why| why.message)?;
        Ok(now.as_deref() == Some(home))
    }

    /// The home of a session that another server said it is not the home of.
    pub(crate) async fn home_now(&self, session: &SessionId) -> Option<String> {
        within(self.asking.home(session)).await.ok()?
    }

    fn home_of_name(&self, home: String) -> Home {
        if home == self.me.id {
            Home::Here
        } else {
            Home::There(home)
        }
    }

    /// What is known without asking: each copy knows whose it is.
    pub(super) fn known_home(&self, state: &State, session: &SessionId) -> Option<Home> {
        if let Some(to) = locked(&self.giving).get(session) {
            return Some(Home::There(to.clone()));
        }
        match state.live_to_write(session) {
            Some(live) => Some(live.home().map_or(Home::Here, Home::There)),
            // What was packed away here was at home here.
            None => state.store.is_packed(session).then_some(Home::Here),
        }
    }
}

const SETTLING: &str = "the servers have yet to say which sessions they have";

/// What Redis says, for who sends or reads.
async fn within<T>(
    asking: impl Future<Output = Result<T, chat_tiers::Error>>,
) -> Result<T, ApiError> {
    soon(asking).await.map_err(|_| {
        unsettled("whose the session is cannot be told: the Redis of this server is away")
    })
}
