//! Storing, and telling those who follow, as one: whatever fails in between, they are brought to where the log is.

use std::sync::Arc;
use std::time::Instant;

use chat_event::ChatEvent;
use chat_store::{Appended, Copied, ItemResult, Session, now_ms};

use crate::error::ApiError;
use crate::live::Live;
use crate::state::State;
use crate::told::Told;

/// What is left of [`Appended`] once its events are published.
pub(crate) struct Published {
    pub(super) epoch: String,
    pub(crate) first: Option<u64>,
    pub(super) last: Option<u64>,
    pub(crate) results: Vec<ItemResult>,
    pub(super) synced: bool,
    pub(super) refused: bool,
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

/// As [`append_as_writer`], of what arrived at `recv_ms`.
pub(super) async fn append_as_writer_at(
    state: &State,
    live: &Arc<Live>,
    events: Vec<ChatEvent>,
    atomic: bool,
    recv_ms: i64,
) -> Result<Published, ApiError> {
    let (own, session) = (state.clone(), live.session.clone());
    let appending = move || match own.masking.get() {
        Some(masking) => {
            let blobs = own.store.blobs();
            masking.append(&session, blobs, events, (atomic, recv_ms))
        }
        None => session.append(events, atomic, recv_ms),
    };
    Ok(store_as_writer(state, live, appending).await??)
}

/// Publishes what `appending` stores, where it does. The caller holds the session's `writer`.
///
/// # Errors
///
/// Where the server stops, and what `appending` says.
pub(crate) async fn publish_as_writer(
    state: &State,
    live: &Arc<Live>,
    appending: impl FnOnce() -> Result<Appended, chat_store::Error> + Send + 'static,
) -> Result<(), ApiError> {
    store_as_writer(state, live, appending).await??;
    Ok(())
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
        state.forget_masker(live.session.id());
        let session = live.session.clone();
        let appending = move || session.append_copied(copied);
        let stored = store_as_writer(&state, &live, appending).await?;
        // Numbers that cannot be had may be the last; there is no event to tell of them.
        let session = live.session.clone();
        let looking = tokio::task::spawn_blocking(move || session.position());
        let (epoch, head, _) = live.position();
        if (epoch, head) != looking.await? {
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
        state.forget_masker(live.session.id());
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
    let goes_on_anew = live.position().0 != published.epoch;
    if goes_on_anew {
        // Not all that was asked or numbered before stands in the log that goes on under another one.
        let id = live.session.id();
        state.requests.forget(id);
        state.producers.forget_resting(id);
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
    // Under another epoch the log's last number need not be one of these.
    untold.is_told = !goes_on_anew;
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
    use chat_store::{Options, SessionId, Store};

    use super::super::append;
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
