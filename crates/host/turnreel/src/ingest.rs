//! Taking events in: read, refuse what is none, append, publish.

mod answers;
mod batch;
mod items;

use std::sync::Arc;
use std::time::Instant;

use axum::http::StatusCode;
use chat_event::ChatEvent;
use chat_store::{Appended, Copied, ItemResult, Session, SessionId, now_ms};
use serde::Serialize;

use crate::error::ApiError;
use crate::fleet::{self, Home};
use crate::live::Live;
use crate::scope::Grant;
use crate::state::State;
use crate::told::Told;
use answers::Hold;
use items::{Items, refuse_batch};

pub(crate) use batch::{Rejected, is_event_id, n_events, read_batch};

/// What a batch is answered.
#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    epoch: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<u64>,
    dups: usize,
    results: Vec<Item>,
    durable: &'static str,
}

impl Answer {
    /// Which items were not stored, and are not in the session.
    pub(crate) fn refused(&self) -> Vec<usize> {
        let items = self.results.iter().enumerate();
        let refused =
            items.filter(|(_, item)| matches!(item, Item::Conflict { .. } | Item::Rejected(_)));
        refused.map(|(at, _)| at).collect()
    }

    /// The first item that is no event to be kept, with what is wrong with it, and how many there are.
    pub(crate) fn rejected(&self) -> Option<(&Rejected, usize)> {
        let mut rejected = self.results.iter().filter_map(|item| match item {
            Item::Rejected(why) => Some(why),
            _ => None,
        });
        let first = rejected.next()?;
        Some((first, 1 + rejected.count()))
    }

    /// To a numbered batch that was stored before, and to one that another server stored.
    pub(crate) fn repeated(epoch: String, n_items: usize) -> Self {
        Answer {
            epoch,
            first: None,
            last: None,
            dups: n_items,
            results: Vec::new(),
            durable: "written",
        }
    }
}

/// What became of one item of a batch.
#[derive(Debug, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub(crate) enum Item {
    Stored {
        seq: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// Present, and false, where the event came without an id.
        #[serde(skip_serializing_if = "Option::is_none")]
        idempotent: Option<bool>,
    },
    Duplicate {
        seq: u64,
    },
    Conflict {
        index: usize,
        code: &'static str,
        id: String,
        seq: u64,
    },
    Rejected(Rejected),
}

/// Whose share of what may be sent a batch is taken from.
pub(crate) fn sender_of(grant: &Grant, id: &SessionId) -> String {
    if grant.is_startup() {
        // All agents of this machine send with it: each of their sessions has a share.
        format!("session {id}")
    } else {
        format!("token {}", grant.id)
    }
}

/// Stores a batch and tells those who follow. The answer comes after the events are in the log, and they are followed
/// only after that too.
///
/// # Errors
///
/// Where the disk refuses, where the whole batch is bad, and with `atomic` where any of it is.
pub(crate) async fn ingest(
    state: &State,
    id: SessionId,
    items: Vec<Result<ChatEvent, Rejected>>,
    atomic: bool,
) -> Result<Answer, ApiError> {
    ingest_at(state, id, items, atomic, now_ms()).await
}

/// The same for what arrived at `recv_ms`, Unix epoch in milliseconds: what was told elsewhere long ago is as old as it says.
///
/// # Errors
///
/// As [`ingest`].
pub(crate) async fn ingest_at(
    state: &State,
    id: SessionId,
    items: Vec<Result<ChatEvent, Rejected>>,
    atomic: bool,
    recv_ms: i64,
) -> Result<Answer, ApiError> {
    let terms = Terms {
        atomic,
        recv_ms,
        may_answer: true,
    };
    ingest_on(state, id, items, terms).await
}

/// As [`ingest`], from who may only send where it may not answer: what answers what others are asked is refused.
///
/// # Errors
///
/// As [`ingest`].
pub(crate) async fn ingest_from(
    state: &State,
    id: SessionId,
    items: Vec<Result<ChatEvent, Rejected>>,
    atomic: bool,
    may_answer: bool,
) -> Result<Answer, ApiError> {
    let terms = Terms {
        atomic,
        recv_ms: now_ms(),
        may_answer,
    };
    ingest_on(state, id, items, terms).await
}

/// How a batch is taken.
#[derive(Clone, Copy, Debug)]
struct Terms {
    /// All of it or nothing.
    atomic: bool,
    /// When it arrived.
    recv_ms: i64,
    /// Whether its sender may answer what others are asked.
    may_answer: bool,
}

async fn ingest_on(
    state: &State,
    id: SessionId,
    items: Vec<Result<ChatEvent, Rejected>>,
    terms: Terms,
) -> Result<Answer, ApiError> {
    let mut items = Items::of(items);
    if !terms.may_answer {
        // A long log is read before others have to wait for it, and what is refused begins no session.
        let live = state.live(&id);
        let of_others = answers::of_others(state, live.as_ref(), &items.events, Hold::None).await?;
        items.refuse(of_others);
    }
    items.check(state, terms.atomic)?;
    let n_items = items.n_items;
    if let Some(fleet) = state.fleet.get() {
        if let Home::There(home) = fleet.home_to_write(state, &id).await? {
            // From a file or a spool that is read here: who asks the server is led there before.
            fleet.send_on(&home, &id, &items.events).await?;
            return Ok(Answer::repeated(String::new(), n_items));
        }
        fleet.fetch_bodies_of(state, &items.events).await;
    }
    let (appended, rejected) = append_on(state, id, items, terms).await?;
    let first = appended.first;
    let last = appended.last;
    let mut rejected = rejected.into_iter().peekable();
    let mut results = Vec::with_capacity(n_items);
    let mut stored = appended.results.into_iter();
    let mut dups = 0;
    let mut conflicts = 0;
    for index in 0..n_items {
        if let Some(why) = rejected.next_if(|why| why.index == index) {
            results.push(Item::Rejected(why));
            continue;
        }
        let Some(result) = stored.next() else { break };
        results.push(match result {
            ItemResult::Stored {
                seq,
                id,
                idempotent,
            } => Item::Stored {
                seq,
                id: (!idempotent).then_some(id),
                idempotent: (!idempotent).then_some(false),
            },
            ItemResult::Duplicate { seq } => {
                dups += 1;
                Item::Duplicate { seq }
            }
            ItemResult::Conflict { id, seq } => {
                conflicts += 1;
                Item::Conflict {
                    index,
                    code: "id_conflict",
                    id,
                    seq,
                }
            }
        });
    }
    if appended.refused {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        let conflicts = results
            .into_iter()
            .filter(|item| matches!(item, Item::Conflict { .. }));
        return Err(refuse_batch(status, "id_conflict", conflicts));
    }
    if conflicts > 0 && conflicts == n_items {
        return Err(refuse_batch(
            StatusCode::CONFLICT,
            "id_conflict",
            results.into_iter(),
        ));
    }
    Ok(Answer {
        epoch: appended.epoch,
        first,
        last,
        dups,
        results,
        durable: if appended.synced { "synced" } else { "written" },
    })
}

/// What is left of [`Appended`] once its events are published.
pub(crate) struct Published {
    epoch: String,
    pub(crate) first: Option<u64>,
    last: Option<u64>,
    pub(crate) results: Vec<ItemResult>,
    synced: bool,
    refused: bool,
}

/// Appends and publishes. The session is made where there is none.
///
/// # Errors
///
/// Where the disk refuses.
pub(crate) async fn append(
    state: &State,
    id: SessionId,
    events: Vec<ChatEvent>,
    atomic: bool,
) -> Result<Published, ApiError> {
    let items = Items::of(events.into_iter().map(Ok).collect());
    let terms = Terms {
        atomic,
        recv_ms: now_ms(),
        may_answer: true,
    };
    let (published, _) = append_on(state, id, items, terms).await?;
    Ok(published)
}

/// Appends what of the items is to be stored; what is not comes back.
async fn append_on(
    state: &State,
    id: SessionId,
    mut items: Items,
    terms: Terms,
) -> Result<(Published, Vec<Rejected>), ApiError> {
    let live = live_to_append(state, &id).await?;
    // On a task of its own: a client that goes away must not leave events that are stored but never told of.
    let state = state.clone();
    let storing = tokio::spawn(async move {
        let _writer = live.writer.lock().await;
        if !terms.may_answer {
            // Others may have asked since it was looked at.
            let there = Some(&live).filter(|live| !live.is_removed());
            let of_others = answers::of_others(&state, there, &items.events, Hold::Writer).await?;
            items.refuse(of_others);
            items.check(&state, terms.atomic)?;
        }
        state.metrics.rejected(items.rejected.len());
        let Terms {
            atomic, recv_ms, ..
        } = terms;
        let appended = append_as_writer_at(&state, &live, items.events, atomic, recv_ms).await?;
        Ok((appended, items.rejected))
    });
    storing.await?
}

/// The session that is sent to. One that is elsewhere, and has no log here any more, is fetched first.
async fn live_to_append(state: &State, id: &SessionId) -> Result<Arc<Live>, ApiError> {
    let is_here = |live: &Arc<Live>| !live.is_removed() || state.fetching.get().is_none();
    let live = match state.live_to_write(id).filter(is_here) {
        Some(live) => live,
        // Making one waits for the disk.
        None => {
            if let Some(fleet) = state.fleet.get()
                && fleet.home_to_write(state, id).await? != Home::Here
            {
                return Err(fleet::away());
            }
            state.fetch_to_write(id).await?;
            let (making, id) = (state.clone(), id.clone());
            tokio::task::spawn_blocking(move || making.live_or_new(&id)).await??
        }
    };
    if state.fleet.get().is_none() && live.home().is_some() {
        // It was copied when this server had others beside it.
        change_log(state, live.clone(), |log| log.take_over()).await??;
    }
    Ok(live)
}

/// Stores and publishes. The caller holds the session's `writer`, and is on a task that is not given up half way.
pub(crate) async fn append_as_writer(
    state: &State,
    live: &Arc<Live>,
    events: Vec<ChatEvent>,
    atomic: bool,
) -> Result<Published, ApiError> {
    append_as_writer_at(state, live, events, atomic, now_ms()).await
}

async fn append_as_writer_at(
    state: &State,
    live: &Arc<Live>,
    events: Vec<ChatEvent>,
    atomic: bool,
    recv_ms: i64,
) -> Result<Published, ApiError> {
    let session = live.session.clone();
    let appending = move || session.append(events, atomic, recv_ms);
    Ok(store_as_writer(state, live, appending).await??)
}

/// Stores a part of the log of a session that is at home elsewhere, and tells those who follow the copy of it here. The inner
/// result is what the store says: what cannot be copied may be copied in another way.
///
/// # Errors
///
/// Where the server stops.
pub(crate) async fn append_copied(
    state: &State,
    live: Arc<Live>,
    copied: Copied,
) -> Result<Result<(), chat_store::Error>, ApiError> {
    // On a task of its own, as what is appended.
    let state = state.clone();
    let storing = tokio::spawn(async move {
        let _writer = live.writer.lock().await;
        let session = live.session.clone();
        let appending = move || session.append_copied(copied);
        let stored = store_as_writer(&state, &live, appending).await?;
        // Numbers that cannot be had may be the last; there is no event to tell of them.
        let (epoch, head, _) = live.position();
        if (epoch, head) != live.session.position() {
            drop(Untold::new(&state, &live));
        }
        Ok::<_, ApiError>(stored)
    });
    Ok(storing.await??.map(|_| ()))
}

/// Changes what a log is, without an event, and tells those who follow it under which epoch it goes on. What `change` gives is
/// given.
///
/// # Errors
///
/// Where the server stops.
pub(crate) async fn change_log<T: Send + 'static>(
    state: &State,
    live: Arc<Live>,
    change: impl FnOnce(&Session) -> T + Send + 'static,
) -> Result<T, ApiError> {
    let state = state.clone();
    let changing = tokio::spawn(async move {
        let _writer = live.writer.lock().await;
        // Told of when it goes: whatever became of it.
        let _untold = Untold::new(&state, &live);
        let changed = live.clone();
        let changing = move || {
            let given = change(&changed.session);
            changed.look_whose();
            given
        };
        tokio::task::spawn_blocking(changing).await
    });
    Ok(changing.await??)
}

/// Stores by `storing`, and publishes. The caller holds the session's `writer`.
async fn store_as_writer(
    state: &State,
    live: &Arc<Live>,
    storing: impl FnOnce() -> Result<Appended, chat_store::Error> + Send + 'static,
) -> Result<Result<Published, chat_store::Error>, ApiError> {
    let mut untold = Untold::new(state, live);
    let began = Instant::now();
    let appending = tokio::task::spawn_blocking(storing);
    let Appended {
        epoch,
        results,
        stored,
        summary,
        synced,
        refused,
    } = match appending.await? {
        Ok(appended) => appended,
        Err(why) => return Ok(Err(why)),
    };
    let bytes = stored.iter().map(|stored| stored.line.len() as u64 + 1);
    state
        .metrics
        .appended(&results, bytes.sum(), began.elapsed());
    let published = Published {
        first: stored.first().map(|stored| stored.seq),
        last: stored.last().map(|stored| stored.seq),
        epoch,
        results,
        synced,
        refused,
    };
    if live.position().0 != published.epoch {
        // Not all that was asked before stands in the log that goes on under another one.
        state.requests.forget(live.session.id());
    }
    state.requests.note(live.session.id(), &stored);
    let mut stored: Vec<Told> = stored.into_iter().map(Told::new).collect();
    if live.is_followed() && stored.iter().any(Told::may_be_shortened) {
        // Long bodies are hashed off this thread, and before the session's followers wait for it.
        let telling = move || {
            for told in &stored {
                told.told_line();
            }
            stored
        };
        stored = tokio::task::spawn_blocking(telling).await?;
    }
    live.publish(&published.epoch, stored, summary, &state.list);
    untold.is_told = true;
    Ok(Ok(published))
}

/// While this is there, something may be stored that nobody was told of. Where it goes without that, because something failed
/// or panicked, the session's followers are brought to where its log is.
struct Untold {
    state: State,
    live: Arc<Live>,
    is_told: bool,
}

impl Untold {
    fn new(state: &State, live: &Arc<Live>) -> Self {
        Untold {
            state: state.clone(),
            live: live.clone(),
            is_told: false,
        }
    }
}

impl Drop for Untold {
    fn drop(&mut self) {
        if self.is_told {
            return;
        }
        let is_doubtful = std::thread::panicking();
        let (state, live) = (self.state.clone(), self.live.clone());
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        runtime.spawn(async move {
            // Whoever holds it now has the session in hand until it lets go.
            let _writer = live.writer.lock().await;
            let session = live.session.clone();
            let looking = move || (session.position(), session.summary());
            if let Ok((position, summary)) = tokio::task::spawn_blocking(looking).await {
                state.requests.forget(live.session.id());
                live.realign(position, summary, is_doubtful, &state.list);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use chat_event::payload::TurnEnd;
    use chat_store::{Options, Store};

    use super::*;
    use crate::live::Next;
    use crate::state::Settings;

    #[tokio::test]
    async fn followers_are_brought_to_the_log_after_a_panic_and_other_sessions_go_on() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Options::default()).unwrap();
        let state = State::new(store, "t", 1, &[], Settings::default());
        let event = |n: u64| {
            let payload = TurnEnd::default();
            ChatEvent::new(format!("e{n}"), 1, "s1", payload)
        };
        let [id, other] = ["s1", "s2"].map(|id| SessionId::parse(id).unwrap());
        for id in [&id, &other] {
            append(&state, id.clone(), vec![event(1)], false)
                .await
                .unwrap();
        }
        let live = state.live(&id).unwrap();
        let mut following = live.follow();
        let (epoch, ..) = live.position();
        assert!(matches!(live.next(&epoch, 1), Next::Nothing));
        let failing = {
            let (state, live) = (state.clone(), live.clone());
            async move {
                let _writer = live.writer.lock().await;
                let _untold = Untold::new(&state, &live);
                live.session.append(vec![event(2)], false, 1).unwrap();
                panic!("between the log and those who follow");
            }
        };
        assert!(tokio::spawn(failing).await.unwrap_err().is_panic());
        // They are woken, and told that they are behind.
        following.released.changed().await.unwrap();
        assert!(matches!(live.next(&epoch, 1), Next::Lag { head: 2 }));
        assert_eq!(live.row().1.events, 2);
        for id in [id, other] {
            let next = state.live(&id).unwrap().position().1 + 1;
            let stored = append(&state, id, vec![event(9)], false).await.unwrap();
            assert_eq!(stored.first, Some(next));
        }
        assert!(matches!(live.next(&epoch, 2), Next::Events(frame) if frame.to == 3));
    }
}
