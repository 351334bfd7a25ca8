//! Taking events in: read, refuse what is none, append, publish.

mod anew;
mod answers;
mod batch;
mod items;
mod reply;
mod storing;

use std::sync::Arc;

use chat_event::ChatEvent;
use chat_store::{SessionId, now_ms};

use crate::error::ApiError;
use crate::fleet::{self, Home};
use crate::live::Live;
use crate::masking;
use crate::removed;
use crate::scope::Grant;
use crate::state::State;
use answers::Hold;
use items::Items;
use storing::append_as_writer_at;

pub(crate) use anew::{bring_up, follow_found, is_another};
pub(crate) use batch::{Rejected, is_event_id, n_events, read_batch};
pub(crate) use reply::{Answer, Item};
pub(crate) use storing::{
    Published, append_as_writer, append_copied, change_log, publish_as_writer,
};

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
        removed::look_for(state, &id).await?;
        // A long log is read before others have to wait for it, and what is refused begins no session.
        let live = state.live(&id);
        let of_others = answers::of_others(state, live.as_ref(), &items.events, Hold::None).await?;
        items.refuse(of_others);
    }
    items.check(state, terms.atomic)?;
    let n_items = items.n_items;
    if n_items == 0 {
        // It makes no session: its id may be misspelt.
        let epoch = state.live(&id).map(|live| live.position().0);
        return Ok(Answer::repeated(epoch.unwrap_or_default(), 0));
    }
    if let Some(fleet) = state.fleet.get() {
        if let Home::There(home) = fleet.home_to_write(state, &id).await? {
            // From a file or a spool that is read here: who asks the server is led there before.
            masking::refer_all(state, &mut items.events).await?;
            let not_taken = fleet.send_on(&home, &id, &items.events).await?;
            items.refuse(not_taken.into_iter().map(Rejected::from).collect());
            // What was taken is there, so that nothing of it is undone.
            items.check(state, false)?;
            return Ok(Answer::elsewhere(items.rejected, n_items));
        }
        fleet.fetch_bodies_of(state, &items.events).await;
    }
    masking::prepare(state, &items.events).await?;
    let (appended, rejected) = append_on(state, id, items, terms).await?;
    reply::of(appended, rejected, n_items)
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
    removed::look_for(state, id).await?;
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
