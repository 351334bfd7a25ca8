//! What those who follow a session ask of it: what lies behind the number that they have, and why they cannot go on.

use std::sync::Arc;

use chat_store::{Gap, PageRequest};
use tokio::sync::watch;

use super::Live;
use super::channel::{Behind, ChannelState};
use crate::error::ApiError;
use crate::locked::locked;
use crate::shared_frame::SharedFrame;
use crate::told::Told;

/// What a follower gets next.
#[derive(Debug)]
pub(crate) enum Next {
    /// Nothing yet.
    Nothing,
    /// Events that follow its number.
    Events(Arc<SharedFrame>),
    /// Its number has left the ring.
    Lag { head: u64 },
    /// The log goes on under another epoch.
    Reset { epoch: String },
    /// There is no log any more.
    Gone,
}

/// Why a follower cannot go on from the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missed {
    /// Its number has left the ring.
    Lag,
    /// The log goes on under another epoch.
    Reset,
    /// There is no log any more.
    Gone,
}

/// Somebody follows as long as this is there; the ring goes with the last.
pub(crate) struct Following {
    live: Arc<Live>,
    /// Changes when there is something to send.
    pub(crate) released: watch::Receiver<u64>,
}

impl Drop for Following {
    fn drop(&mut self) {
        let mut state = locked(&self.live.state);
        state.followers -= 1;
        if state.followers == 0 {
            state.clear();
            self.live.release(&mut state);
        }
    }
}

impl Live {
    /// Begins to follow: from now on the ring is filled.
    pub(crate) fn follow(self: &Arc<Self>) -> Following {
        locked(&self.state).followers += 1;
        Following {
            released: self.released.subscribe(),
            live: self.clone(),
        }
    }

    /// Whether the log ends before this number, where followers were told of it up to `head`: pages have events a moment
    /// before followers are told.
    pub(crate) async fn ends_before(
        self: &Arc<Self>,
        seq: u64,
        (epoch, head): (&str, u64),
    ) -> bool {
        if seq <= head {
            return false;
        }
        // The log may be held while the disk works, and others wait for this thread.
        let live = self.clone();
        let stored = tokio::task::spawn_blocking(move || live.session.position()).await;
        !stored.is_ok_and(|(under, stored)| under == epoch && seq <= stored)
    }

    /// Whether all after `seq` can be had from the ring.
    pub(crate) fn reaches(&self, seq: u64) -> bool {
        let state = locked(&self.state);
        seq >= state.head || state.ring.front().is_some_and(|first| first.seq <= seq + 1)
    }

    /// What follows `seq` for a follower that began under `epoch`, as a frame.
    pub(crate) fn next(&self, epoch: &str, seq: u64) -> Next {
        let mut state = locked(&self.state);
        let (skip, n_events) = match state.behind(epoch, seq) {
            Behind::Nothing => return Next::Nothing,
            Behind::Lag => {
                let head = state.released;
                return Next::Lag { head };
            }
            Behind::Reset => {
                let epoch = state.epoch.clone();
                return Next::Reset { epoch };
            }
            Behind::Gone => return Next::Gone,
            Behind::Events { skip, n_events } => (skip, n_events),
        };
        let ChannelState { ring, frames, .. } = &mut *state;
        let lines = || ring.iter().skip(skip).take(n_events);
        let lines = || lines().map(|stored| stored.told_line());
        let frame = frames.get(seq + 1, seq + n_events as u64, lines);
        let before = state.share.bytes();
        state.count(false);
        let is_more = state.share.bytes() > before;
        drop(state);
        if is_more {
            self.rings.make_room();
        }
        Next::Events(frame)
    }

    /// As [`Live::next`], as events; `Err` where they are to be read from the log.
    pub(crate) fn next_events(&self, epoch: &str, seq: u64) -> Result<Vec<Arc<Told>>, Missed> {
        let state = locked(&self.state);
        match state.behind(epoch, seq) {
            Behind::Nothing => Ok(Vec::new()),
            Behind::Lag => Err(Missed::Lag),
            Behind::Reset => Err(Missed::Reset),
            Behind::Gone => Err(Missed::Gone),
            Behind::Events { skip, n_events } => {
                let events = state.ring.iter().skip(skip).take(n_events);
                Ok(events.cloned().collect())
            }
        }
    }

    /// The hole that a reader of `seq` meets next, where all behind the hole can be had from the ring.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub(crate) async fn hole_behind(&self, seq: u64) -> Result<Option<Gap>, ApiError> {
        let session = self.session.clone();
        let request = PageRequest {
            after: seq,
            limit: 1,
            max_bytes: 1,
        };
        let page = tokio::task::spawn_blocking(move || session.page(request)).await??;
        let first = page.gaps.into_iter().next();
        Ok(first.filter(|gap| gap.from == seq + 1 && self.reaches(gap.to)))
    }
}
