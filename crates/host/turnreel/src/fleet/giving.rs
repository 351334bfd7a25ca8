//! Giving events to the server that numbers a session now: what only this one has is sent there first, as anything is, known
//! by its ids; then the log here is a copy as others are.
//!
//! Numbers that were given twice meanwhile are of different epochs.

use std::sync::Arc;

use chat_store::{Epoch, Error as E, PageRequest, SessionId};
use chat_tiers::Member;

use super::Fleet;
use super::bodies::referred;
use crate::ingest;
use crate::live::Live;
use crate::locked::locked;
use crate::state::State;

/// Events that are sent at once, and the bytes of their lines.
const AT_ONCE: usize = 500;
const BYTES: usize = 4 * 1024 * 1024;

impl Fleet {
    /// Gives a session up to the server that took it over.
    ///
    /// # Errors
    ///
    /// What failed; the session is then at home here as before, and what was sent is known there.
    pub(super) async fn give_up(
        &self,
        state: &State,
        session: &SessionId,
        to: &Member,
    ) -> Result<(), String> {
        let _turn = self.turns.of(session).await;
        let Some(live) = state.live_to_write(session) else {
            return Ok(());
        };
        if live.home().is_some() {
            return Ok(());
        }
        // From here on what is sent goes there.
        locked(&self.giving).insert(session.clone(), to.id.clone());
        let given = self.hand_over(state, session, &live, to).await;
        locked(&self.giving).remove(session);
        given
    }

    /// Makes a log the copy of another server's, whosever it was. What is here and not there is sent there. The caller has
    /// the session's turn.
    ///
    /// # Errors
    ///
    /// What failed; the log is then what it was.
    pub(super) async fn hand_over(
        &self,
        state: &State,
        session: &SessionId,
        live: &Arc<Live>,
        to: &Member,
    ) -> Result<(), String> {
        let epochs = self.epochs_at(to, session).await?;
        match self.copy_from(state, live, &to.id, &epochs).await? {
            Ok(()) => Ok(()),
            Err(shared_up_to) => {
                self.send_and_begin_anew(state, session, live, to, shared_up_to)
                    .await
            }
        }
    }

    /// Sends what is behind that number to the session's home, and begins the copy here anew. What was here is kept beside.
    ///
    /// # Errors
    ///
    /// What failed; the log is then what it was.
    pub(super) async fn send_and_begin_anew(
        &self,
        state: &State,
        session: &SessionId,
        live: &Arc<Live>,
        to: &Member,
        shared_up_to: u64,
    ) -> Result<(), String> {
        let was_of = live.home();
        let mut sent = shared_up_to;
        loop {
            let (epoch, upto) = self.send_behind(state, session, live, to, sent).await?;
            sent = upto;
            let epochs = self.epochs_at(to, session).await?;
            let new_epoch = epochs.last().map(|it| it.epoch.clone());
            let new_epoch = new_epoch.ok_or("its home told of no epoch")?;
            let (home, was_of) = (to.id.clone(), was_of.clone());
            // While nobody writes: what came since the last page is sent as well, first.
            let beginning = ingest::change_log(state, live.clone(), move |log| {
                if log.home() != was_of {
                    return Err(format!("it is a copy of {:?}'s by now", log.home()));
                }
                if log.position() != (epoch, upto) {
                    return Ok(false);
                }
                let begun = log.begin_anew(&home, &new_epoch);
                begun.map(|()| true).map_err(|why| why.to_string())
            });
            if beginning.await.map_err(|why| why.message)?? {
                tracing::warn!(
                    session = session.as_str(),
                    "what only this server had was sent to {}, which is the session's home now",
                    to.url
                );
                return Ok(());
            }
        }
    }

    /// Sends all behind that number, and says under which epoch and up to which number it was read.
    async fn send_behind(
        &self,
        state: &State,
        session: &SessionId,
        live: &Arc<Live>,
        to: &Member,
        mut sent: u64,
    ) -> Result<(String, u64), String> {
        loop {
            let reading = live.session.clone();
            let request = PageRequest {
                after: sent,
                limit: AT_ONCE,
                max_bytes: BYTES,
            };
            let page = tokio::task::spawn_blocking(move || reading.page(request)).await;
            let page = page.map_err(|why| why.to_string())?;
            let page = page.map_err(|why| why.to_string())?;
            let bodies = referred(&page.lines);
            self.send_bodies(to, state, bodies).await?;
            self.send_events(to, session, page.lines).await?;
            sent = page.next;
            if page.next >= page.head {
                return Ok((page.epoch, page.next));
            }
        }
    }

    async fn epochs_at(&self, member: &Member, session: &SessionId) -> Result<Vec<Epoch>, String> {
        let told = self.log(member, session, 0).await?;
        let told = told.ok_or_else(|| format!("{} has not the session", member.url))?;
        Ok(told.epochs)
    }

    /// Makes a log a copy of another server's; the number up to which both have the same where it has more.
    pub(super) async fn copy_from(
        &self,
        state: &State,
        live: &Arc<Live>,
        home: &str,
        epochs: &[Epoch],
    ) -> Result<Result<(), u64>, String> {
        let (of, epochs) = (home.to_owned(), epochs.to_vec());
        let changing =
            ingest::change_log(state, live.clone(), move |log| log.copy_from(&of, &epochs));
        match changing.await.map_err(|why| why.message)? {
            Ok(()) => Ok(Ok(())),
            Err(E::Parted { shared_up_to, .. }) => Ok(Err(shared_up_to)),
            Err(why) => Err(why.to_string()),
        }
    }
}
