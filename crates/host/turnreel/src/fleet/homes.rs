//! Where a session's numbers are given, and how that changes: a server takes over what is sent to it for one that is away, and
//! one that comes back gives up what was taken over.
//!
//! Numbers that were given twice meanwhile are of different epochs. What only the old home has is sent to the new one as
//! anything is, known by its ids; then the old home has a copy like the others.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chat_store::{Epoch, Error as E, PageRequest, SessionId};
use chat_tiers::Member;

use super::bodies::referred;
use super::{Fleet, Home, PATIENCE, away, unsettled};
use crate::error::ApiError;
use crate::ingest;
use crate::live::Live;
use crate::locked::locked;
use crate::state::State;

/// Events that are sent to a new home at once.
const AT_ONCE: usize = 500;
/// And the bytes of their lines: what a server takes at once.
const BYTES: usize = 4 * 1024 * 1024;

impl Fleet {
    /// Where the session's numbers are given. Nobody's becomes ours, and so does that of a server which is away for too long.
    ///
    /// # Errors
    ///
    /// 503 where that cannot be told now.
    pub(crate) async fn home_to_write(
        &self,
        state: &State,
        session: &SessionId,
    ) -> Result<Home, ApiError> {
        match self.known_home(state, session) {
            Some(Home::There(home)) if self.member(&home).is_none() => {
                self.home_for_one_away(state, session, &home).await
            }
            Some(home) => Ok(home),
            None => {
                let mut asking = self.asking.lock().await;
                let claimed = tokio::time::timeout(PATIENCE, asking.claim(session)).await;
                match claimed {
                    Ok(Ok(Some(home))) => Ok(self.home_of_name(home)),
                    Ok(Ok(None)) => Err(unsettled(
                        "the servers have yet to say which sessions they have",
                    )),
                    Ok(Err(_)) | Err(_) => {
                        asking.disconnect();
                        Err(redis_is_away())
                    }
                }
            }
        }
    }

    /// The home that was known is not there: another may be by now, or this server becomes it.
    async fn home_for_one_away(
        &self,
        state: &State,
        session: &SessionId,
        home: &str,
    ) -> Result<Home, ApiError> {
        let is_over = self.is_away_for_too_long(home);
        let mut asking = self.asking.lock().await;
        let answer = tokio::time::timeout(PATIENCE, async {
            match is_over {
                true => asking.take(session, home).await.map(Some),
                false => asking.home(session).await,
            }
        });
        let now = match answer.await {
            Ok(Ok(now)) => now.unwrap_or_else(|| home.to_owned()),
            Ok(Err(_)) | Err(_) => {
                asking.disconnect();
                return Err(redis_is_away());
            }
        };
        drop(asking);
        let now = self.home_of_name(now);
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
        let live = state.live_to_write(session);
        let live = live.ok_or_else(ApiError::not_found)?;
        tracing::warn!(
            session = session.as_str(),
            "its home ({from}) is away; this server takes the session over"
        );
        ingest::change_log(state, live, |log| log.take_over()).await??;
        locked(&self.homes).remove(session);
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
    pub(super) fn note_members(&self) {
        let members = locked(&self.members);
        let homes: Vec<String> = locked(&self.homes).values().cloned().collect();
        let mut away = locked(&self.away);
        away.retain(|id, _| !members.contains_key(id));
        for home in homes {
            if !members.contains_key(&home) {
                away.entry(home).or_insert_with(Instant::now);
            }
        }
    }

    /// Whether Redis says that this server is the session's home.
    pub(super) async fn is_home_of(&self, home: &str, session: &SessionId) -> bool {
        let mut asking = self.asking.lock().await;
        let asked = tokio::time::timeout(PATIENCE, asking.home(session)).await;
        matches!(asked, Ok(Ok(Some(now))) if now == home)
    }

    /// Gives a session up to the server that took it over: what only this one has is sent there first.
    pub(super) async fn give_up(
        &self,
        state: &State,
        session: &SessionId,
        to: &Member,
    ) -> Result<(), String> {
        let Some(live) = state.live_to_write(session) else {
            return Ok(());
        };
        // From here on what is sent goes there.
        locked(&self.homes).insert(session.clone(), to.id.clone());
        let given = self.give(state, session, &live, to).await;
        if given.is_err() {
            locked(&self.homes).remove(session);
        }
        given
    }

    async fn give(
        &self,
        state: &State,
        session: &SessionId,
        live: &Arc<Live>,
        to: &Member,
    ) -> Result<(), String> {
        let epochs = self.log(to, session, 0).await?.epochs;
        let mut shared = match self.copy_from(state, live, to, &epochs).await? {
            Ok(()) => return Ok(()),
            Err(shared_up_to) => shared_up_to,
        };
        tracing::warn!(
            session = session.as_str(),
            "{} took the session over while this server was away; what only this one has is sent there",
            to.url
        );
        loop {
            let reading = live.session.clone();
            let request = PageRequest {
                after: shared,
                limit: AT_ONCE,
                max_bytes: BYTES,
            };
            let page = tokio::task::spawn_blocking(move || reading.page(request)).await;
            let page = page.map_err(|why| why.to_string())?;
            let page = page.map_err(|why| why.to_string())?;
            if !page.lines.is_empty() {
                let bodies = referred(&page.lines);
                self.send_bodies(to, &state.store, bodies).await?;
                self.send_events(to, session, &page.lines).await?;
            }
            shared = page.next;
            if page.next >= page.head {
                break;
            }
        }
        let (home, epoch) = (to.id.clone(), epochs.last().map(|it| it.epoch.clone()));
        let epoch = epoch.ok_or("its new home told of no epoch")?;
        let beginning = ingest::change_log(state, live.clone(), move |log| {
            log.begin_anew(&home, &epoch)
        });
        let begun = beginning.await.map_err(|why| why.message)?;
        begun.map_err(|why| why.to_string())
    }

    /// Makes a log a copy of another server's; the number up to which both have the same where it has more.
    pub(super) async fn copy_from(
        &self,
        state: &State,
        live: &Arc<Live>,
        home: &Member,
        epochs: &[Epoch],
    ) -> Result<Result<(), u64>, String> {
        let (of, epochs) = (home.id.clone(), epochs.to_vec());
        let changing =
            ingest::change_log(state, live.clone(), move |log| log.copy_from(&of, &epochs));
        match changing.await.map_err(|why| why.message)? {
            Ok(()) => Ok(Ok(())),
            Err(E::Parted { shared_up_to, .. }) => Ok(Err(shared_up_to)),
            Err(why) => Err(why.to_string()),
        }
    }
}

fn redis_is_away() -> ApiError {
    unsettled("whose the session is cannot be told: the Redis of this server is away")
}

/// How long a home may be away before its sessions are taken over, where nothing else is asked for.
pub(crate) const TAKE_OVER_AFTER: Duration = Duration::from_secs(60);
