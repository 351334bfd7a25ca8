//! Logs that go on under another epoch, as where somebody put an older one in the place of one that was put away, and logs
//! that somebody removed: who opens one finds that, and those who follow are told.

use std::sync::Arc;

use chat_store::{LogFound, SessionId};
use tokio::runtime::Handle;

use crate::error::ApiError;
use crate::live::Live;
use crate::removed;
use crate::state::State;

/// Tells those who follow a session, from now on, what somebody finds of its log.
pub(crate) fn follow_found(state: &State) {
    let weak = state.downgrade();
    let runtime = Handle::try_current().ok();
    let told = move |id: &SessionId, found| {
        let runtime = runtime.clone().or_else(|| Handle::try_current().ok());
        let (Some(state), Some(runtime)) = (weak.upgrade(), runtime) else {
            return;
        };
        let Some(live) = state.live_to_write(id) else {
            return;
        };
        runtime.spawn(async move {
            match found {
                LogFound::Anew => {
                    if let Err(why) = bring_up(&state, &live).await {
                        tracing::warn!("could not look at a log: {}", why.message);
                    }
                }
                LogFound::Gone if live.is_removed() => {}
                LogFound::Gone => {
                    removed::is_gone(&state, live.session.id()).await;
                }
            }
        });
    };
    state.store.tell_of_found(Box::new(told));
}

/// Whether another log stands in the place of a session's than was known; all that was remembered of the other one is
/// forgotten then.
///
/// # Errors
///
/// Where the server stops.
pub(crate) async fn is_another(state: &State, id: &SessionId) -> Result<bool, ApiError> {
    let Some(live) = state.live(id) else {
        return Ok(false);
    };
    let known = live.position().0;
    let session = live.session.clone();
    let looked = tokio::task::spawn_blocking(move || session.look_anew()).await?;
    if let Err(why) = looked {
        // Who writes to it hears why.
        tracing::warn!(session = id.as_str(), "{why}");
    }
    bring_up(state, &live).await?;
    Ok(live.position().0 != known)
}

/// Brings those who follow the session to where its log is, where that goes on under another epoch than they were told.
///
/// # Errors
///
/// Where the server stops.
pub(crate) async fn bring_up(state: &State, live: &Arc<Live>) -> Result<(), ApiError> {
    // Who wrote to it tells of it before it lets go.
    let _writer = live.writer.lock().await;
    let session = live.session.clone();
    let looking = move || (session.position(), session.summary());
    let (position, summary) = tokio::task::spawn_blocking(looking).await?;
    if position.0 != live.position().0 {
        state.forget_remembered(live.session.id());
        live.realign(position, summary, false, &state.list);
    }
    Ok(())
}
