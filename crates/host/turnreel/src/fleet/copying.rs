//! Keeping copies of the logs of sessions that are at home elsewhere.
//!
//! What is new is heard from Redis, which mostly has the events as well; what it has not is asked of the home itself. What was
//! missed, because this server or Redis or the home was away, is found by comparing lists: when a server comes, and once a
//! minute. Bodies that lines refer to are fetched before the lines are stored, so that a copy is whole.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chat_store::{Copied, Epoch, Error as E, Gap, SessionId};
use chat_tiers::{Member, News};
use tokio::sync::Semaphore;

use super::bodies::referred;
use super::told::LogTold;
use super::{Fleet, Home};
use crate::ingest;
use crate::live::Live;
use crate::locked::locked;
use crate::state::{State, stopped};

/// Events that are taken from Redis at once.
const AT_ONCE: usize = 1000;

/// Sessions that are copied beside each other.
const BESIDE: usize = 4;

/// Between two comparisons of all sessions.
const COMPARE: Duration = Duration::from_secs(60);

/// Before Redis is asked again for what is new.
const AGAIN: Duration = Duration::from_secs(1);

/// How long who asks for a session that is not here yet waits for it.
const WAIT: Duration = Duration::from_secs(10);

/// A part of a home's log.
struct Part {
    epochs: Vec<Epoch>,
    /// The copy is to have the session up to this number, and there is more up to `head`.
    next: u64,
    head: u64,
    gaps: Vec<Gap>,
    lines: Vec<String>,
}

/// Copies what is new until the server stops.
pub(super) async fn follow(state: State, fleet: Arc<Fleet>) {
    let mut stopping = state.stopping.subscribe();
    loop {
        let following = follow_news(&state, &fleet);
        tokio::select! {
            () = stopped(&mut stopping) => return,
            why = following => tracing::debug!("{why}"),
        }
        tokio::select! {
            () = stopped(&mut stopping) => return,
            () = tokio::time::sleep(AGAIN) => {}
        }
    }
}

/// Until something fails; what, is given.
async fn follow_news(state: &State, fleet: &Arc<Fleet>) -> chat_tiers::Error {
    let asking = fleet.asking.lock().await.another();
    let mut news = match asking.news().await {
        Ok(news) => news,
        Err(why) => return why,
    };
    // What came before is found by comparing.
    compare_all(state, fleet);
    let mut compared = Instant::now();
    let room = Arc::new(Semaphore::new(BESIDE));
    loop {
        let told = match news.next().await {
            Ok(told) => told,
            Err(why) => return why,
        };
        for told in newest(told) {
            if told.writer == fleet.me.id {
                continue;
            }
            let (state, fleet, room) = (state.clone(), fleet.clone(), room.clone());
            tokio::spawn(async move {
                let _room = room.acquire_owned().await;
                fleet.hear(&state, &told).await;
            });
        }
        if compared.elapsed() >= COMPARE {
            compare_all(state, fleet);
            compared = Instant::now();
        }
    }
}

/// Of the news of one session, the last.
fn newest(told: Vec<News>) -> Vec<News> {
    let mut seen = BTreeSet::new();
    let newest_first = told.into_iter().rev();
    newest_first
        .filter(|news| seen.insert(news.session.as_str().to_owned()))
        .collect()
}

fn compare_all(state: &State, fleet: &Arc<Fleet>) {
    let members: Vec<Member> = locked(&fleet.members).values().cloned().collect();
    for member in members {
        tokio::spawn(catch_up(state.clone(), fleet.clone(), member));
    }
}

/// Brings the copies up to what a server has.
pub(super) async fn catch_up(state: State, fleet: Arc<Fleet>, member: Member) {
    let list = match fleet.list(&member).await {
        Ok(list) => list,
        Err(why) => {
            tracing::warn!("could not compare sessions: {why}");
            return;
        }
    };
    for row in list.sessions {
        let Ok(id) = SessionId::parse(&row.id) else {
            continue;
        };
        if fleet.known_home(&state, &id) == Some(Home::Here) {
            // Both say that they are its home; Redis says which one is.
            if fleet.is_home_of(&member.id, &id).await
                && let Err(why) = fleet.give_up(&state, &id, &member).await
            {
                tracing::warn!(
                    session = id.as_str(),
                    "could not give the session up: {why}"
                );
            }
            continue;
        }
        let here = state.live_to_write(&id).map(|live| live.session.position());
        if here != Some((row.epoch.clone(), row.head)) {
            fleet.copy(&state, &id, &member.id, None).await;
        }
    }
}

impl Fleet {
    async fn hear(&self, state: &State, told: &News) {
        let seen = state.live_to_write(&told.session);
        let is_known = seen.is_some_and(|live| {
            let (epoch, head) = live.session.position();
            epoch == told.epoch && head >= told.head
        });
        if !is_known {
            self.copy(state, &told.session, &told.writer, Some(told))
                .await;
        }
    }

    /// Brings the session here where it is at home elsewhere and was not heard of yet; waits for that, but not for ever.
    pub(crate) async fn fetch(&self, state: &State, session: &SessionId) {
        if let Some(Home::There(home)) = self.home_to_read(state, session).await {
            let _ = tokio::time::timeout(WAIT, self.copy(state, session, &home, None)).await;
        }
    }

    /// Copies what is new in a session of `home`'s. What fails is said, and found again by comparing.
    async fn copy(&self, state: &State, session: &SessionId, home: &str, told: Option<&News>) {
        if self.known_home(state, session) == Some(Home::Here) {
            // That another tells of it is found out when lists are compared.
            return;
        }
        let turn = locked(&self.turns)
            .entry(session.clone())
            .or_default()
            .clone();
        let held = turn.lock().await;
        if let Err(why) = self.copy_in_turn(state, session, home, told).await {
            tracing::warn!(session = session.as_str(), "could not copy: {why}");
        }
        drop(held);
        drop(turn);
        let mut turns = locked(&self.turns);
        if turns
            .get(session)
            .is_some_and(|turn| Arc::strong_count(turn) == 1)
        {
            turns.remove(session);
        }
    }

    async fn copy_in_turn(
        &self,
        state: &State,
        session: &SessionId,
        home: &str,
        told: Option<&News>,
    ) -> Result<(), String> {
        let mut told = told;
        let mut is_anew = false;
        loop {
            let here = state.live_to_write(session);
            let here = here.map(|live| (live.session.epochs(), live.session.position().1));
            let (epochs, after) = here.unwrap_or_default();
            let epoch = epochs.last().map(|epoch| epoch.epoch.as_str());
            if let Some(told) = told
                && epoch == Some(&told.epoch)
                && after >= told.head
            {
                return Ok(());
            }
            let quick = match told {
                Some(told) if epoch == Some(&told.epoch) => {
                    self.part_in_redis(session, &epochs, after).await
                }
                Some(_) | None => None,
            };
            let is_quick = quick.is_some();
            let part = match (quick, self.member(home)) {
                (Some(part), _) => part,
                (None, Some(home)) => self.part_at_home(&home, session, after).await?,
                (None, None) => return Err("its home is away".to_owned()),
            };
            if part.head < after && part.epochs == epochs {
                // It will find out when it gives the same numbers again.
                return Ok(());
            }
            self.fetch_bodies(state, Some(home), referred(&part.lines))
                .await?;
            let (next, head) = (part.next, part.head);
            match self.store(state, session, home, part).await? {
                Ok(()) => {}
                // The home has what Redis has not, or not as it is there.
                Err(_) if is_quick => {
                    told = None;
                    continue;
                }
                // It lost what is here, or went on without it: it is the home that counts. What was here is kept beside.
                Err(E::Parted { .. } | E::Differs { .. }) if !is_anew => {
                    self.begin_anew(state, session, home).await?;
                    (is_anew, told) = (true, None);
                    continue;
                }
                Err(why) => return Err(why.to_string()),
            }
            if next >= head {
                return Ok(());
            }
        }
    }

    /// The line of an event that is not here yet; `None` where Redis has it not, or is away.
    pub(crate) async fn event_in_redis(
        &self,
        session: &SessionId,
        event_id: &str,
    ) -> Option<String> {
        let mut hot = self.hot.lock().await;
        let (_, line) = hot.event(session, event_id).await.ok()??;
        Some(line)
    }

    /// `None` where Redis has it not, or is away.
    async fn part_in_redis(
        &self,
        session: &SessionId,
        epochs: &[Epoch],
        after: u64,
    ) -> Option<Part> {
        let epoch = epochs.last()?;
        let mut hot = self.hot.lock().await;
        let asking = hot.page(session, &epoch.epoch, after, AT_ONCE);
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

    async fn part_at_home(
        &self,
        home: &Member,
        session: &SessionId,
        after: u64,
    ) -> Result<Part, String> {
        let mut told = self.log(home, session, after).await?;
        if told.head < after {
            // It lost its end, or is another one: then what is here is not what is there.
            told = self.log(home, session, 0).await?;
        }
        let LogTold {
            epochs,
            next,
            head,
            gaps,
            lines,
        } = told;
        let gaps = gaps.into_iter().map(|(from, to)| Gap {
            from,
            to,
            why: "disk",
        });
        Ok(Part {
            epochs,
            next,
            head,
            gaps: gaps.collect(),
            lines: lines.iter().map(|line| line.get().to_owned()).collect(),
        })
    }

    /// Stores a part in the copy, and tells those who follow it.
    async fn store(
        &self,
        state: &State,
        session: &SessionId,
        home: &str,
        part: Part,
    ) -> Result<Result<(), E>, String> {
        let Some(epoch) = part.epochs.last().map(|epoch| epoch.epoch.clone()) else {
            return Err("its home told of no epoch".to_owned());
        };
        let (making, id, of) = (state.clone(), session.clone(), home.to_owned());
        let making = move || making.live_or_copy(&id, &of, &epoch);
        let made = tokio::task::spawn_blocking(making).await;
        let live = made.map_err(|why| why.to_string())?;
        let live = live.map_err(|why| why.message)?;
        if let Some(of) = live.session.home()
            && of != home
        {
            self.change_home(state, &live, session, home, &part.epochs)
                .await?;
        }
        locked(&self.homes).insert(session.clone(), home.to_owned());
        let copied = Copied {
            home: home.to_owned(),
            epochs: part.epochs,
            lines: part.lines,
            gaps: part.gaps,
        };
        let stored = ingest::append_copied(state, live, copied).await;
        stored.map_err(|why| why.message)
    }

    /// Another server has taken over the session of which a copy is here.
    async fn change_home(
        &self,
        state: &State,
        live: &Arc<Live>,
        session: &SessionId,
        home: &str,
        epochs: &[Epoch],
    ) -> Result<(), String> {
        let member = self.member(home).ok_or("its home is away")?;
        if !self.is_home_of(home, session).await {
            return Err(format!("{} is not its home", member.url));
        }
        match self.copy_from(state, live, &member, epochs).await? {
            Ok(()) => Ok(()),
            // The copy has what came to the old home at its end, which the old home will send to the new one.
            Err(_) => self.begin_anew(state, session, home).await,
        }
    }

    /// Sets the copy aside, and begins it anew.
    async fn begin_anew(
        &self,
        state: &State,
        session: &SessionId,
        home: &str,
    ) -> Result<(), String> {
        let member = self.member(home).ok_or("its home is away")?;
        let told = self.log(&member, session, 0).await?;
        let epoch = told.epochs.last().ok_or("its home told of no epoch")?;
        let live = state.live_to_write(session).ok_or("it is gone")?;
        tracing::warn!(
            session = session.as_str(),
            "its home has not what the copy here has; it is copied anew, and the copy is set aside"
        );
        let (home, epoch) = (home.to_owned(), epoch.epoch.clone());
        let beginning = ingest::change_log(state, live, move |log| log.begin_anew(&home, &epoch));
        let begun = beginning.await.map_err(|why| why.message)?;
        begun.map_err(|why| why.to_string())
    }
}
