//! Sessions that are elsewhere when a client opens them: a task fetches them, so that the socket goes on meanwhile. What is said
//! of the subscription is said once the session is here, or is not to be had.

use std::sync::Arc;

use axum::extract::ws::Message;
use chat_event::frame::Open;
use chat_store::SessionId;
use futures_util::Sink;
use tokio::sync::mpsc;

use super::{End, Follows, SUBS, Socket, Sub};
use crate::error::ApiError;
use crate::live::Live;
use crate::state::State;

/// What came of the fetching for the subscription that was opened as the `opened`th.
pub(super) struct Fetched {
    open: Open,
    opened: u64,
    live: Result<Option<Arc<Live>>, ApiError>,
}

/// What is fetched for one socket.
pub(super) struct Fetches {
    tell: mpsc::Sender<Fetched>,
    told: mpsc::Receiver<Fetched>,
    /// One after the other: who opens many sessions has no more of what is fetched at once than others.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Fetches {
    fn new() -> Self {
        let (tell, told) = mpsc::channel(SUBS);
        Fetches {
            tell,
            told,
            turn: Arc::default(),
        }
    }
}

/// Ready with what came of a fetching.
pub(super) async fn next(fetches: &mut Option<Fetches>) -> Option<Fetched> {
    match fetches {
        Some(fetches) => fetches.told.recv().await,
        None => std::future::pending().await,
    }
}

/// Whether the session is not here, and may be elsewhere.
pub(super) fn is_elsewhere(state: &State, id: &SessionId) -> bool {
    state.live(id).is_none() && (state.fleet.get().is_some() || state.fetching.get().is_some())
}

impl<S: Sink<Message, Error = axum::Error> + Unpin> Socket<S> {
    /// Fetches what is to be opened. The subscription is there meanwhile: who closes it, or opens it anew, has the task end.
    pub(super) fn fetch(&mut self, open: Open, id: SessionId) {
        self.n_opened += 1;
        let (sub, opened) = (open.sub, self.n_opened);
        let fetches = self.fetches.get_or_insert_with(Fetches::new);
        let (tell, turn) = (fetches.tell.clone(), fetches.turn.clone());
        let state = self.state.clone();
        let fetching = tokio::spawn(async move {
            let _turn = turn.lock().await;
            let live = state.live_from_anywhere(&id).await;
            // Where nobody takes it the socket is gone.
            let _ = tell.send(Fetched { open, opened, live }).await;
        });
        let teller = Some(fetching.abort_handle());
        let follows = Follows::Coming { opened };
        self.subs.insert(sub, Sub { follows, teller });
    }

    /// Goes on with the subscription that something was fetched for, where that is still there.
    pub(super) async fn take_fetched(&mut self, fetched: Fetched) -> Result<(), End> {
        self.still_holds()?;
        let sub = fetched.open.sub;
        let is_there = self.subs.get(&sub).is_some_and(
            |sub| matches!(sub.follows, Follows::Coming { opened } if opened == fetched.opened),
        );
        if !is_there {
            return Ok(());
        }
        self.end(sub);
        self.open_found(fetched.open, fetched.live).await
    }
}
