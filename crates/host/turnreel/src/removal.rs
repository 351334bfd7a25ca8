//! Removing a session on purpose: its log and all beside it, its copies in stores of others, the links that show it, and what
//! waits to be sent of it. The long bodies that only it named follow (`bodies`).
//!
//! What is found to be removed by somebody else is for `removed`; where several servers have the session, the others are asked
//! by the route. What is sent to the session later begins it anew.

mod bodies;
mod waiting;

use std::collections::BTreeSet;
use std::path::Path;

use axum::http::StatusCode;
use chat_store::{Removal, SessionId, Summary};
use chat_tiers::Cold;
use serde::{Deserialize, Serialize};

use crate::error::ApiError;
use crate::fetched;
use crate::removed;
use crate::state::State;
use crate::tokens::{self, Record, Refusal};

pub(crate) use bodies::{Freed, REST_OF_ALL, UnnamedBodies, go_on, sweep};
pub(crate) use waiting::remove_waiting;

/// How a session is removed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Terms {
    /// Also where it works: it is back with what is sent to it next.
    pub(crate) force: bool,
    /// Its copies in the object store stay, and are fetched when somebody asks for it.
    pub(crate) keeps_copies: bool,
}

/// What was removed of a session.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Removed {
    pub(crate) session: String,
    /// Files of data folders, and their length.
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    /// Bodies that it named: those that nobody else names go soon.
    pub(crate) bodies: u64,
    /// Objects of the object store, and their length.
    pub(crate) objects: u64,
    pub(crate) object_bytes: u64,
    /// Links that showed it.
    pub(crate) links: u64,
    /// What is left of it, where, and why.
    pub(crate) left: Vec<String>,
}

impl Removed {
    /// With what another server removed of it.
    pub(crate) fn add(&mut self, other: Removed) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.bodies = self.bodies.max(other.bodies);
        self.objects += other.objects;
        self.object_bytes += other.object_bytes;
        self.links += other.links;
        self.left.extend(other.left);
    }
}

/// Whether something may come of it any moment.
pub(crate) fn works(row: &Summary) -> bool {
    !row.packed && matches!(&*row.status, "busy" | "retrying")
}

/// Removes what this server has of a session. It goes on where nobody waits for it any more.
///
/// # Errors
///
/// 404 where there is nothing of it, 409 where it works and is not to be removed then, 503 where the object store cannot be
/// asked what it has of it, and where the disk refuses.
pub(crate) async fn remove(
    state: &State,
    id: &SessionId,
    terms: Terms,
) -> Result<Removed, ApiError> {
    let (state, id) = (state.clone(), id.clone());
    tokio::spawn(async move { remove_whole(&state, &id, terms).await }).await?
}

async fn remove_whole(state: &State, id: &SessionId, terms: Terms) -> Result<Removed, ApiError> {
    let fetching = state.fetching.get().filter(|_| !terms.keeps_copies);
    let cold = fetching.map(|fetching| fetching.cold().clone());
    let has_copies = match &cold {
        // Before anything goes: where the store is away, all stays, and not one half.
        Some(cold) => cold.has_any(id).await.map_err(|why| {
            tracing::warn!(session = id.as_str(), "it is not removed: {why}");
            fetched::away()
        })?,
        None => false,
    };
    let hidden = cold.as_ref().map(|cold| cold.hide(id));
    let here = remove_here(state, id, terms).await?;
    if let Some(following) = state.following.get() {
        following.note().await;
    }
    if here.is_none() && !has_copies {
        return Err(ApiError::no_session());
    }
    let Removal { freed, bodies } = here.unwrap_or_default();
    let mut removed = Removed {
        session: id.as_str().to_owned(),
        files: freed.files,
        bytes: freed.bytes,
        bodies: bodies.len() as u64,
        ..Removed::default()
    };
    let in_store = match &cold {
        Some(cold) => remove_copies(state, id, cold, &mut removed).await,
        None => BTreeSet::new(),
    };
    drop(hidden);
    remove_links(state, id, &mut removed).await;
    // A body of a log that was packed away may be here, too.
    let bodies: BTreeSet<String> = bodies.union(&in_store).cloned().collect();
    let own = state.clone();
    tokio::task::spawn_blocking(move || own.unnamed_are(bodies, in_store)).await?;
    tracing::info!(
        session = id.as_str(),
        files = removed.files,
        bytes = removed.bytes,
        objects = removed.objects,
        "a session was removed"
    );
    Ok(removed)
}

/// Removes what is in the data folder; `None` where there is nothing.
async fn remove_here(
    state: &State,
    id: &SessionId,
    terms: Terms,
) -> Result<Option<Removal>, ApiError> {
    let live = state.live_to_write(id);
    // Nobody writes to it until it is told that it is gone: with what is written its log would be there again.
    let _writer = match &live {
        Some(live) => Some(live.writer.lock().await),
        None => None,
    };
    if let Some(row) = state.row(id).filter(|row| works(row) && !terms.force) {
        return Err(it_works(&row.status));
    }
    let (own, of, live) = (state.clone(), id.clone(), live.clone());
    let removing = move || {
        let n_waiting = remove_waiting(own.store.dir(), &of);
        let is_known = own.live(&of).is_some() || own.store.is_packed(&of);
        if !is_known && n_waiting == 0 && !own.store.has_files(&of)? {
            return Ok(None);
        }
        let removal = own.store.remove(&of)?;
        if let Some(live) = &live {
            removed::tell_removed(&own, live);
        }
        own.packed.remove(&of, &own.list);
        Ok::<_, chat_store::Error>(Some(removal))
    };
    Ok(tokio::task::spawn_blocking(removing).await??)
}

/// Removes its copies from the object store; the bodies that they named.
async fn remove_copies(
    state: &State,
    id: &SessionId,
    cold: &Cold,
    removed: &mut Removed,
) -> BTreeSet<String> {
    let copies = match cold.remove(id).await {
        Ok(copies) => copies,
        Err(why) => {
            tracing::warn!(session = id.as_str(), "{why}");
            let left = "copies in the object store, which refuses: the server's log says why; remove it again";
            removed.left.push(left.to_owned());
            return BTreeSet::new();
        }
    };
    removed.objects = copies.objects;
    removed.object_bytes = copies.bytes;
    // Stores that were told that it is elsewhere hear that it is nowhere.
    match state.live_to_write(id) {
        Some(live) => {
            let _writer = live.writer.lock().await;
            if live.is_removed() {
                live.set_removed(true, &state.list);
            }
        }
        None => state.packed.remove(id, &state.list),
    }
    copies.bodies
}

/// Takes back the links that show it. Tokens for it stay: who made them has a list of them.
async fn remove_links(state: &State, id: &SessionId, removed: &mut Removed) {
    let (dir, of) = (state.store.dir().to_owned(), id.clone());
    let revoking = tokio::task::spawn_blocking(move || revoke_links(&dir, &of));
    let revoked = revoking.await.map_err(|why| why.to_string());
    match revoked.and_then(|revoked| revoked.map_err(String::from)) {
        Ok(n_links) => removed.links = n_links as u64,
        Err(why) => {
            tracing::warn!(session = id.as_str(), "its links stay: {why}");
            let left = "links that show it: the server's log says why";
            removed.left.push(left.to_owned());
        }
    }
}

/// Takes back the links that show a session; how many.
///
/// # Errors
///
/// Where the file of tokens refuses.
pub(crate) fn revoke_links(dir: &Path, id: &SessionId) -> Result<usize, Refusal> {
    let is_of_it = |record: &Record| record.share && record.session.as_deref() == Some(id.as_str());
    // Most sessions have none, and the file is not written for nothing.
    match tokens::list(dir)?.iter().any(is_of_it) {
        true => tokens::revoke(dir, is_of_it),
        false => Ok(0),
    }
}

fn it_works(status: &str) -> ApiError {
    let message = format!("the session is {status}; with `force=1` it is removed all the same");
    ApiError::new(StatusCode::CONFLICT, "working", message)
}
