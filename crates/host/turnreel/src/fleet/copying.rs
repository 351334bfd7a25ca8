//! Keeping copies of the logs of sessions that are at home elsewhere: when.
//!
//! What is new is heard from Redis. What was missed, because this server or Redis or a home was away, is found by comparing
//! lists: when a server comes, and once a minute. How a log is copied is for `parts`.

mod parts;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chat_store::SessionId;
use chat_tiers::{Member, News};
use tokio::sync::Semaphore;

use super::homes::Home;
use super::{Fleet, ListTold};
use crate::locked::locked;
use crate::state::{State, stopped};

/// Sessions that are copied beside each other.
const BESIDE: usize = 4;

/// Between two comparisons of all sessions.
const COMPARE: Duration = Duration::from_secs(60);

/// Before Redis is asked again for what is new.
const AGAIN: Duration = Duration::from_secs(1);

/// How long who asks for a session that is not here yet waits for it.
const WAIT: Duration = Duration::from_secs(10);

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
                for told in told.into_iter().filter(|told| told.writer != fleet.me.id) {
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
        let mut sessions = locked(&self.heard.sessions);
        let is_copied = sessions.contains_key(&session);
        sessions.insert(session.clone(), Some(told));
        drop(sessions);
        if is_copied {
            return;
        }
        let (state, fleet) = (state.clone(), self.clone());
        tokio::spawn(async move {
            let copying = Copying {
                fleet: &fleet,
                session: &session,
            };
            let _room = fleet.heard.room.acquire().await;
            while let Some(told) = copying.next() {
                fleet
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
                continue;
            }
            let here = state.live_to_write(&id).map(|live| live.session.position());
            let has_all = here.is_some_and(|(epoch, head)| {
                epoch == row.epoch && (head == row.head || home != member.id && head > row.head)
            });
            if !has_all {
                self.copy(state, &id, home, None).await;
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

    /// Brings the session here where it is elsewhere and was not heard of yet; waits for that, but not for ever.
    pub(crate) async fn fetch(&self, state: &State, session: &SessionId) {
        if state.live_to_write(session).is_some() {
            return;
        }
        if let Some(Home::There(home)) = self.home_to_read(session).await {
            let _ = tokio::time::timeout(WAIT, self.copy(state, session, &home, None)).await;
        }
    }

    /// Copies what is new in a session of `home`'s. What fails is said, and found again by comparing.
    async fn copy(&self, state: &State, session: &SessionId, home: &str, told: Option<&News>) {
        let _turn = self.turns.of(session).await;
        if self.known_home(state, session) == Some(Home::Here) {
            // That another tells of it is found out when lists are compared.
            return;
        }
        if let Err(why) = self.copy_in_turn(state, session, home, told).await {
            tracing::warn!(session = session.as_str(), "could not copy: {why}");
        }
    }
}

/// The one task that copies a session; where it ends, however it ends, another may begin.
struct Copying<'f> {
    fleet: &'f Fleet,
    session: &'f SessionId,
}

impl Copying<'_> {
    /// What was heard since the last time; where it is nothing, the next to hear begins another task.
    fn next(&self) -> Option<News> {
        let mut sessions = locked(&self.fleet.heard.sessions);
        let told = sessions.get_mut(self.session).and_then(Option::take);
        if told.is_none() {
            sessions.remove(self.session);
        }
        told
    }
}

impl Drop for Copying<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            locked(&self.fleet.heard.sessions).remove(self.session);
        }
    }
}
