//! Copying a log, part by part: mostly from Redis, which has what is new, and else from the session's home. Bodies that lines
//! refer to are fetched before the lines are stored, so that a copy is whole.

use std::sync::Arc;

use chat_store::{Copied, Epoch, Error as E, Gap, SessionId};
use chat_tiers::{Member, News};

use super::super::Fleet;
use super::super::bodies::referred;
use super::super::told::LogTold;
use crate::ingest;
use crate::live::Live;
use crate::state::State;

/// Events that are taken from Redis at once.
const AT_ONCE: usize = 1000;

/// A part of a home's log.
pub(super) struct Part {
    pub(super) epochs: Vec<Epoch>,
    /// The copy is to have the session up to this number, and there is more up to `head`.
    pub(super) next: u64,
    pub(super) head: u64,
    pub(super) gaps: Vec<Gap>,
    pub(super) lines: Vec<String>,
}

/// The epochs of the log that is here, and its last number, looked at where a writer that has it may be waited for.
pub(in crate::fleet) async fn how_far(
    state: &State,
    session: &SessionId,
) -> Result<(Vec<Epoch>, u64), String> {
    let Some(live) = state.live_to_write(session) else {
        return Ok(Default::default());
    };
    let session = live.session.clone();
    let looking = move || (session.epochs(), session.position().1);
    let looking = tokio::task::spawn_blocking(looking).await;
    looking.map_err(|why| why.to_string())
}

impl Fleet {
    /// Copies what the session's home has. The caller has the session's turn.
    ///
    /// # Errors
    ///
    /// What failed.
    pub(super) async fn copy_from_home(
        &self,
        state: &State,
        session: &SessionId,
        member: &Member,
        mut told: Option<&News>,
    ) -> Result<(), String> {
        let home = member.id.as_str();
        let (mut is_anew, mut is_gone) = (false, false);
        loop {
            let (epochs, after) = how_far(state, session).await?;
            let epoch = epochs.last().map(|epoch| epoch.epoch.as_str());
            let mut quick = None;
            if let Some(told) = told
                && epoch == Some(&told.epoch)
            {
                if after >= told.head {
                    return Ok(());
                }
                quick = self.part_in_redis(session, &epochs, after).await;
            }
            let is_quick = quick.is_some();
            let part = match quick {
                Some(part) => part,
                None => match self.part_at(member, session, after).await? {
                    Some(part) => part,
                    // Somebody took it away there.
                    None => return Ok(()),
                },
            };
            if part.head < after && part.epochs == epochs {
                // It will find out when it gives the same numbers again.
                return Ok(());
            }
            self.fetch_bodies(state, Some(home), referred(&part.lines))
                .await?;
            let (next, head) = (part.next, part.head);
            let live = self.live_copy(state, session, home, &part).await?;
            let live = live.ok_or("its home is away")?;
            let shared_up_to = match self.store(state, &live, home, part).await? {
                Ok(()) if next >= head => return Ok(()),
                Ok(()) => continue,
                Err(_) if is_quick => {
                    // The home has what Redis has not, or not as it is there.
                    told = None;
                    continue;
                }
                // The copy was removed, which was found just now: it has nothing of what it was known to have.
                Err(E::Lacking { .. }) if !is_gone => {
                    (is_gone, told) = (true, None);
                    continue;
                }
                Err(E::Parted { shared_up_to, .. }) => shared_up_to,
                Err(E::Differs { seq }) => seq - 1,
                Err(why) => return Err(why.to_string()),
            };
            // It lost what is here, or went on without it: it is the home that counts, and is sent what it has not.
            if is_anew {
                return Err(format!("{} tells of its log in two ways", member.url));
            }
            self.send_and_begin_anew(state, session, &live, member, shared_up_to)
                .await?;
            (is_anew, told) = (true, None);
        }
    }

    /// The line of an event that is not here yet; `None` where Redis has it not, or is away.
    pub(crate) async fn event_in_redis(
        &self,
        session: &SessionId,
        event_id: &str,
    ) -> Option<String> {
        let (_, line) = self.hot.event(session, event_id).await.ok()??;
        Some(line)
    }

    /// `None` where Redis has it not, or is away.
    pub(super) async fn part_in_redis(
        &self,
        session: &SessionId,
        epochs: &[Epoch],
        after: u64,
    ) -> Option<Part> {
        let epoch = epochs.last()?;
        let asking = self.hot.page(session, &epoch.epoch, after, AT_ONCE);
        let page = asking.await.ok()??;
        let (next, _) = page.lines.last()?;
        Some(Part {
            epochs: epochs.to_vec(),
            next: *next,
            head: page.head,
            gaps: Vec::new(),
            lines: page.lines.into_iter().map(|(_, line)| line).collect(),
        })
    }

    /// A part of the log there; `None` where there is nothing of it.
    pub(super) async fn part_at(
        &self,
        member: &Member,
        session: &SessionId,
        after: u64,
    ) -> Result<Option<Part>, String> {
        let mut told = self.log(member, session, after).await?;
        if told.as_ref().is_some_and(|told| told.head < after) {
            // It lost its end, or is another one: then what is here is not what is there.
            told = self.log(member, session, 0).await?;
        }
        let Some(LogTold {
            epochs,
            next,
            head,
            gaps,
            lines,
        }) = told
        else {
            return Ok(None);
        };
        let why = "disk";
        let gaps = gaps.into_iter().map(|(from, to)| Gap { from, to, why });
        Ok(Some(Part {
            epochs,
            next,
            head,
            gaps: gaps.collect(),
            lines: lines.iter().map(|line| line.get().to_owned()).collect(),
        }))
    }

    /// The copy of that home's log here, begun where there is none. One of another home's becomes one of this; `None` where
    /// it has what that home has not, which is away.
    pub(super) async fn live_copy(
        &self,
        state: &State,
        session: &SessionId,
        home: &str,
        part: &Part,
    ) -> Result<Option<Arc<Live>>, String> {
        let epoch = part.epochs.last().ok_or("its home told of no epoch")?;
        let (making, id) = (state.clone(), session.clone());
        let (of, epoch) = (home.to_owned(), epoch.epoch.clone());
        let making = move || making.live_or_copy(&id, &of, &epoch);
        let made = tokio::task::spawn_blocking(making).await;
        let live = made.map_err(|why| why.to_string())?;
        let live = live.map_err(|why| why.message)?;
        match live.home() {
            None => Err("it is at home here".to_owned()),
            Some(of) if of == home => Ok(Some(live)),
            Some(_) if !self.is_home_of(home, session).await? => {
                Err(format!("{home} is not its home"))
            }
            Some(_) => {
                let is_copy = match self.member(home) {
                    Some(member) => {
                        self.hand_over(state, session, &live, &member).await?;
                        true
                    }
                    None => {
                        let copying = self.copy_from(state, &live, home, &part.epochs);
                        copying.await?.is_ok()
                    }
                };
                Ok(is_copy.then_some(live))
            }
        }
    }

    /// Stores a part in the copy, and tells those who follow it.
    pub(super) async fn store(
        &self,
        state: &State,
        live: &Arc<Live>,
        home: &str,
        part: Part,
    ) -> Result<Result<(), E>, String> {
        let copied = Copied {
            home: home.to_owned(),
            epochs: part.epochs,
            lines: part.lines,
            gaps: part.gaps,
        };
        let stored = ingest::append_copied(state, live.clone(), copied).await;
        stored.map_err(|why| why.message)
    }
}
