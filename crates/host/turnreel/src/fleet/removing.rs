//! Having the other servers remove a session: its home first, for the others would copy it from there again. Those that are away
//! hear of it when they are back, by a mark in Redis.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::body::to_bytes;
use axum::http::StatusCode;
use axum::response::Response;
use chat_store::SessionId;
use chat_tiers::Member;

use super::copying::how_far;
use super::errands::Errand;
use super::homes::Home;
use super::{Fleet, PATIENCE, away, soon, unanswered};
use crate::error::ApiError;
use crate::removal::{self, Removed, Terms};
use crate::state::State;

/// What a server says of what it removed is short.
const ANSWER_BYTES: usize = 64 * 1024;

impl Fleet {
    /// Removes what is here of a session, and tells those who are away of it. A copy that is being made ends before. It goes on
    /// where nobody waits for it any more.
    ///
    /// # Errors
    ///
    /// As [`removal::remove`].
    pub(crate) async fn remove_here(
        self: &Arc<Self>,
        state: &State,
        session: &SessionId,
        terms: Terms,
    ) -> Result<Removed, ApiError> {
        let (fleet, state, session) = (self.clone(), state.clone(), session.clone());
        let removing = async move { fleet.remove_and_tell(&state, &session, terms).await };
        tokio::spawn(removing).await?
    }

    async fn remove_and_tell(
        &self,
        state: &State,
        session: &SessionId,
        terms: Terms,
    ) -> Result<Removed, ApiError> {
        let _turn = self.turns.of(session).await;
        let (epochs, _) = how_far(state, session).await.unwrap_or_default();
        let mut epochs: Vec<String> = epochs.into_iter().map(|it| it.epoch).collect();
        let packed = state.store.packed();
        let of_it = packed.iter().filter(|it| it.session == session.as_str());
        epochs.extend(of_it.map(|it| it.epoch.clone()));
        let mut removed = removal::remove(state, session, terms).await?;
        // Where its copies stay it is fetched under the same epoch, and would be removed again.
        if terms.keeps_copies {
            return Ok(removed);
        }
        if let Err(why) = soon(self.asking.tell_removed(session, &epochs)).await {
            tracing::warn!(session = session.as_str(), "{why}");
            let left = "the copies of servers that are away: Redis refuses the mark by which they would hear of it";
            removed.left.push(left.to_owned());
        }
        Ok(removed)
    }

    /// Removes what is here of sessions that were removed while this server, or its way to Redis, was away.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub(super) async fn hear_of_removed(&self, state: &State) -> Result<(), chat_tiers::Error> {
        let upto_ms = self.removed_upto_ms.load(Ordering::Relaxed);
        let removed = soon(self.asking.removed_since(upto_ms)).await?;
        for (session, epoch) in removed.sessions {
            if !self.remove_late(state, &session, &epoch).await {
                // The next beat hears of them again.
                return Ok(());
            }
        }
        self.removed_upto_ms
            .store(removed.since_ms, Ordering::Relaxed);
        Ok(())
    }

    /// Removes what is here of a session whose log had that epoch. Under another one it is there again. Whether it is done with:
    /// who has its turn for long holds up no beat.
    async fn remove_late(&self, state: &State, session: &SessionId, epoch: &str) -> bool {
        let is_packed = || {
            let packed = state.store.packed();
            let mut of_it = packed.iter().filter(|it| it.session == session.as_str());
            of_it.any(|it| it.epoch == epoch)
        };
        let is_it = || match state.live(session) {
            Some(live) => live.position().0 == epoch,
            None => state.store.is_packed(session) && is_packed(),
        };
        if !is_it() {
            return true;
        }
        let Ok(_turn) = tokio::time::timeout(PATIENCE, self.turns.of(session)).await else {
            return false;
        };
        if !is_it() {
            return true;
        }
        let terms = Terms {
            force: true,
            // Who was asked to remove it has done with them as was wished.
            keeps_copies: true,
        };
        match removal::remove(state, session, terms).await {
            Ok(_) => tracing::info!(
                session = session.as_str(),
                "it was removed at another server while this one was away"
            ),
            Err(why) => tracing::warn!(
                session = session.as_str(),
                "it was removed at another server, and stays here: {}",
                why.message
            ),
        }
        true
    }

    /// The server that is to be asked first; `None` where that is this one, or nobody knows the session.
    ///
    /// # Errors
    ///
    /// 503 where that server is away: what is removed elsewhere would be back with it.
    pub(crate) async fn home_to_remove(
        &self,
        state: &State,
        session: &SessionId,
    ) -> Result<Option<Member>, ApiError> {
        let home = match self.known_home(state, session) {
            None => self.home_to_read(session).await,
            home => home,
        };
        match home {
            Some(Home::There(home)) => self.member(&home).map(Some).ok_or_else(away),
            Some(Home::Here) | None => Ok(None),
        }
    }

    /// Has the home remove the session; `None` where it has nothing of it, and its answer where it does not.
    ///
    /// # Errors
    ///
    /// 503 where it gives no answer.
    pub(crate) async fn remove_at_home(
        &self,
        home: &Member,
        errand: &Errand<'_>,
    ) -> Result<Result<Option<Removed>, Response>, ApiError> {
        let answer = self.hand_on(home, errand).await.map_err(|why| {
            tracing::warn!("could not hand a request on: {why}");
            unanswered()
        })?;
        match answer.status() {
            StatusCode::NOT_FOUND => Ok(Ok(None)),
            status if status.is_success() => Ok(Ok(Some(read(answer).await))),
            _ => Ok(Err(answer)),
        }
    }

    /// Has all servers but the home remove the session; what they removed, and what they left. Whether any had something.
    pub(crate) async fn remove_at_others(
        &self,
        home: Option<&Member>,
        errand: &Errand<'_>,
        removed: &mut Removed,
    ) -> bool {
        let mut any = false;
        for member in self.all_members() {
            if home.is_some_and(|home| home.id == member.id) {
                continue;
            }
            match self.hand_on(&member, errand).await {
                Ok(answer) if answer.status().is_success() => {
                    any = true;
                    removed.add(read(answer).await);
                }
                Ok(answer) if answer.status() == StatusCode::NOT_FOUND => {}
                Ok(answer) => {
                    let (url, status) = (&member.url, answer.status());
                    let left = format!("the copy of {url}: it answers {status}");
                    removed.left.push(left);
                }
                Err(why) => removed
                    .left
                    .push(format!("the copy of another server: {why}")),
            }
        }
        any
    }
}

/// What it says; where that cannot be read, it was removed all the same.
async fn read(answer: Response) -> Removed {
    let bytes = to_bytes(answer.into_body(), ANSWER_BYTES).await;
    let read = bytes
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok());
    read.unwrap_or_default()
}
