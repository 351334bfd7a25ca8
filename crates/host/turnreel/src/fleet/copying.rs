//! Keeping copies of the logs of sessions that are at home elsewhere: when.
//!
//! What is new is heard from Redis. What was missed, because this server or Redis or a home was away, is found by comparing
//! lists: when a server comes, and once a minute. How a log is copied is for `parts`, and where its home is away for `others`.

mod others;
mod parts;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chat_store::SessionId;
use chat_tiers::{Member, News};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::homes::Home;
use super::{Fleet, ListTold};
use crate::locked::locked;
use crate::state::{State, stopped};
pub(super) use parts::how_far;

/// Sessions that are copied beside each other.
const BESIDE: usize = 4;

/// Between two comparisons of all sessions.
const COMPARE: Duration = Duration::from_secs(60);

/// Before Redis is asked again for what is new.
const AGAIN: Duration = Duration::from_secs(1);

/// What was heard and is not copied yet.
pub(super) struct Heard {
    /// Sessions that a task copies, and the newest that was heard of each since it began.
    sessions: Mutex<HashMap<SessionId, Option<News>>>,
    room: Semaphore,
    /// Servers whose lists are being compared.
    comparing: Mutex<BTreeSet<String>>,
}

impl Default for Heard {
    fn default() -> Self {
        Heard {
            sessions: Mutex::default(),
            room: Semaphore::new(BESIDE),
            comparing: Mutex::default(),
        }
    }
}

/// Copies what is new until the server stops.
pub(super) async fn follow(state: State, fleet: Arc<Fleet>) {
    let mut stopping = state.stopping.subscribe();
    let comparing = async {
        loop {
            tokio::time::sleep(COMPARE).await;
            fleet.compare_all(&state);
        }
    };
    let following = async {
        loop {
            let why = follow_news(&state, &fleet).await;
            tracing::debug!("{why}");
            tokio::time::sleep(AGAIN).await;
        }
    };
    tokio::select! {
        () = stopped(&mut stopping) => {}
        () = comparing => {}
        () = following => {}
    }
}

/// Until something fails; what, is given.
async fn follow_news(state: &State, fleet: &Arc<Fleet>) -> chat_tiers::Error {
    let mut news = match fleet.asking.news().await {
        Ok(news) => news,
        Err(why) => return why,
    };
    // What came before is found by comparing.
    fleet.compare_all(state);
    loop {
        match news.next().await {
            Ok(told) => {
                if told.tokens {
                    fleet.tokens_told.notify_one();
                }
                for told in told
                    .news
                    .into_iter()
                    .filter(|told| told.writer != fleet.me.id)
                {
                    fleet.hear(state, told);
                }
            }
            Err(why) => return why,
        }
    }
}

impl Fleet {
    /// Copies what was told of, soon; each session has one task at most.
    fn hear(self: &Arc<Self>, state: &State, told: News) {
        let session = told.session.clone();
        if !self.heard.is_first(told) {
            return;
        }
        let (state, fleet) = (state.clone(), self.clone());
        tokio::spawn(async move {
            let copying = Copying {
                heard: &fleet.heard,
                session: &session,
            };
            while let Some((told, _room)) = copying.next().await {
                // What fails is found again by comparing.
                let _ = fleet
                    .copy(&state, &session, &told.writer, Some(&told))
                    .await;
            }
        });
    }

    fn compare_all(self: &Arc<Self>, state: &State) {
        for member in self.all_members() {
            self.compare(state, &member);
        }
    }

    /// Brings the copies up to what a server has, soon.
    pub(super) fn compare(self: &Arc<Self>, state: &State, member: &Member) {
        if !locked(&self.heard.comparing).insert(member.id.clone()) {
            return;
        }
        let (state, fleet, member) = (state.clone(), self.clone(), member.clone());
        tokio::spawn(async move {
            match fleet.list(&member).await {
                Ok(list) => fleet.compare_with(&state, &member, list).await,
                Err(why) => tracing::warn!("could not compare sessions: {why}"),
            }
            locked(&fleet.heard.comparing).remove(&member.id);
        });
    }

    async fn compare_with(&self, state: &State, member: &Member, list: ListTold) {
        for row in list.sessions {
            let Ok(id) = SessionId::parse(&row.id) else {
                continue;
            };
            // What it has a copy of is asked for there only where the home cannot be asked.
            let home = row.home.as_deref().unwrap_or(&member.id);
            if home == self.me.id || home != member.id && self.member(home).is_some() {
                continue;
            }
            if self.known_home(state, &id) == Some(Home::Here) {
                if home == member.id {
                    self.settle(state, &id, member).await;
                }
                // One that was given up is an empty copy, and nobody tells of what was known there before.
                if self.known_home(state, &id) == Some(Home::Here) {
                    continue;
                }
            }
            let here = state.live_to_write(&id).map(|live| live.position());
            let has_all = here.is_some_and(|(epoch, head, _)| {
                epoch == row.epoch && (head == row.head || home != member.id && head > row.head)
            });
            if !has_all {
                let _ = self.copy(state, &id, home, None).await;
            }
        }
    }

    /// Two servers say that they are a session's home; Redis says which one is.
    async fn settle(&self, state: &State, session: &SessionId, member: &Member) {
        let settled = match self.is_home_of(&member.id, session).await {
            Ok(true) => self.give_up(state, session, member).await,
            Ok(false) => Ok(()),
            Err(why) => Err(why),
        };
        if let Err(why) = settled {
            tracing::warn!(
                session = session.as_str(),
                "could not give the session up: {why}"
            );
        }
    }

    /// Copies what is new in a session of `home`'s. What fails is said, also here.
    pub(super) async fn copy(
        &self,
        state: &State,
        session: &SessionId,
        home: &str,
        told: Option<&News>,
    ) -> Result<(), String> {
        let _turn = self.turns.of(session).await;
        if self.known_home(state, session) == Some(Home::Here) {
            // That another tells of it is found out when lists are compared.
            return Ok(());
        }
        let copied = match self.member(home) {
            Some(member) => self.copy_from_home(state, session, &member, told).await,
            None => self.copy_from_others(state, session, home).await,
        };
        copied.inspect_err(|why| {
            tracing::warn!(session = session.as_str(), "could not copy: {why}");
        })
    }
}

impl Heard {
    /// Takes note of what was heard; whether a task is to begin for it.
    fn is_first(&self, told: News) -> bool {
        let mut sessions = locked(&self.sessions);
        let is_copied = sessions.contains_key(&told.session);
        sessions.insert(told.session.clone(), Some(told));
        !is_copied
    }
}

/// The one task that copies a session; where it ends, however it ends, another may begin.
struct Copying<'h> {
    heard: &'h Heard,
    session: &'h SessionId,
}

impl Copying<'_> {
    /// What was heard since the last time, and room to copy it; where it is nothing, the next to hear begins another task.
    /// There is room for one copy, not for the task: a session that is never quiet keeps no other waiting for longer.
    async fn next(&self) -> Option<(News, SemaphorePermit<'_>)> {
        // It is never closed.
        let room = self.heard.room.acquire().await.ok();
        let mut sessions = locked(&self.heard.sessions);
        let told = sessions.get_mut(self.session).and_then(Option::take);
        if told.is_none() {
            sessions.remove(self.session);
        }
        told.zip(room)
    }
}

impl Drop for Copying<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            locked(&self.heard.sessions).remove(self.session);
        }
    }
}

#[cfg(test)]
mod tests;
