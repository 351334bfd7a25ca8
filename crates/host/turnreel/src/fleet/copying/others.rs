//! Copying a log whose home is away: what Redis still has of it, and what any of the other servers has more than is here.

use chat_store::{Error as E, SessionId};
use chat_tiers::Member;

use super::super::bodies::referred;
use super::super::told::LogTold;
use super::super::{Fleet, PATIENCE};
use super::parts::how_far;
use crate::state::State;

impl Fleet {
    /// Copies all that can be had. The caller has the session's turn.
    ///
    /// # Errors
    ///
    /// What failed; what the others have is here all the same.
    pub(super) async fn copy_from_others(
        &self,
        state: &State,
        session: &SessionId,
        home: &str,
    ) -> Result<(), String> {
        let mut failed = self.copy_from_redis(state, session, home).await;
        for member in self.all_members() {
            let copied = self.copy_from_one(state, session, home, &member).await;
            failed = failed.and(copied);
        }
        failed
    }

    /// What its home told of, and none may have copied.
    async fn copy_from_redis(
        &self,
        state: &State,
        session: &SessionId,
        home: &str,
    ) -> Result<(), String> {
        loop {
            let live = state.live_to_write(session);
            let Some(live) = live.filter(|live| live.home().as_deref() == Some(home)) else {
                return Ok(());
            };
            let (epochs, after) = how_far(state, session).await?;
            let Some(part) = self.part_in_redis(session, &epochs, after).await else {
                return Ok(());
            };
            let bodies = referred(&part.lines);
            self.fetch_bodies(state, None, bodies).await?;
            if let Err(why) = self.store(state, &live, home, part).await? {
                // The others have it as its home had it.
                tracing::debug!(session = session.as_str(), "{why}");
                return Ok(());
            }
        }
    }

    /// What that server has more than is here. One that cannot be reached is waited for as a home is, and then passed over.
    async fn copy_from_one(
        &self,
        state: &State,
        session: &SessionId,
        home: &str,
        member: &Member,
    ) -> Result<(), String> {
        let there = match self.how_far_at(member, session).await {
            Ok(there) => there,
            Err(why) if self.is_waited_for(&member.id) => return Err(why),
            Err(why) => {
                tracing::warn!(
                    session = session.as_str(),
                    "{why}; what it has of a session whose home is away is not waited for"
                );
                return Ok(());
            }
        };
        self.note_heard(&member.id);
        let Some(there) = there else { return Ok(()) };
        loop {
            let (_, after) = how_far(state, session).await?;
            if there.head <= after {
                return Ok(());
            }
            let Some(part) = self.part_at(member, session, after).await? else {
                return Ok(());
            };
            let bodies = referred(&part.lines);
            self.fetch_bodies(state, Some(&member.id), bodies).await?;
            let is_last = part.next >= part.head;
            let stored = match self.live_copy(state, session, home, &part).await? {
                Some(live) => self.store(state, &live, home, part).await?,
                None => return Ok(()),
            };
            match stored {
                Ok(()) if is_last => return Ok(()),
                Ok(()) => {}
                // The two have gone on without each other, or its copy is damaged. It sends what only it has to whoever
                // gives the numbers next.
                Err(
                    why @ (E::Parted { .. }
                    | E::Differs { .. }
                    | E::Lacking { .. }
                    | E::BadLine { .. }),
                ) => {
                    tracing::warn!(
                        session = session.as_str(),
                        "what {} has of it does not go behind what is here: {why}",
                        member.url
                    );
                    return Ok(());
                }
                Err(why) => return Err(why.to_string()),
            }
        }
    }

    /// The epochs and the last number that a server has of a session, and no lines.
    async fn how_far_at(
        &self,
        member: &Member,
        session: &SessionId,
    ) -> Result<Option<LogTold>, String> {
        let asking = self.log(member, session, u64::MAX);
        match tokio::time::timeout(PATIENCE, asking).await {
            Ok(told) => told,
            Err(_) => Err(format!("{} gives no answer", member.url)),
        }
    }
}
