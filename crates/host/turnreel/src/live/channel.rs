//! What one session holds in memory for its followers: the ring of its newest events, and what is made of them.
//!
//! When what waits is released is for `live`; what all sessions together may hold, for `rings`.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use chat_event::frame::MAX_SERVER_BYTES;

use crate::locked::locked;
use crate::rings::{self, Share};
use crate::shared_frame::SharedFrames;
use crate::told::Told;

/// Events that are kept for followers.
pub(crate) const RING_EVENTS: usize = 4096;
const RING_BYTES: usize = 8 * 1024 * 1024;

/// The events of one `ev` frame, which has some words of its own; but always one event.
const FRAME_BYTES: usize = MAX_SERVER_BYTES - 256;

/// What a session holds for its followers, and how far they may go.
pub(super) struct ChannelState {
    pub(super) epoch: String,
    /// When somebody took the log away.
    pub(super) removed: Option<Instant>,
    /// Events that were released or wait.
    pub(super) ring: VecDeque<Arc<Told>>,
    pub(super) ring_bytes: usize,
    /// Frames of what is in the ring.
    pub(super) frames: SharedFrames,
    /// Of what all sessions may hold.
    pub(super) share: Share,
    pub(super) followers: usize,
    pub(super) head: u64,
    pub(super) released: u64,
    pub(super) waiting_bytes: usize,
    /// When what waits is released at the latest.
    pub(super) deadline: Option<Instant>,
}

/// What lies behind a follower's number in the ring.
pub(super) enum Behind {
    Nothing,
    Lag,
    Reset,
    Gone,
    Events { skip: usize, n_events: usize },
}

impl ChannelState {
    pub(super) fn clear(&mut self) {
        self.ring = VecDeque::new();
        self.ring_bytes = 0;
        self.frames.clear();
        self.count(false);
    }

    /// Counts what is held; `is_new` where something new came.
    pub(super) fn count(&mut self, is_new: bool) {
        // An event is held as its line and as what was read of it, which says as much.
        let events = self.ring_bytes * 2 + self.ring.len() * size_of::<Told>();
        self.share.set(events + self.frames.bytes(), is_new);
    }

    pub(super) fn behind(&self, epoch: &str, seq: u64) -> Behind {
        if self.removed.is_some() {
            return Behind::Gone;
        }
        if self.epoch != epoch {
            return Behind::Reset;
        }
        if seq >= self.released {
            return Behind::Nothing;
        }
        let Some(first) = self.ring.front().filter(|first| first.seq <= seq + 1) else {
            return Behind::Lag;
        };
        // The ring's numbers follow each other, so the place of one is its distance from the first.
        let skip = usize::try_from(seq + 1 - first.seq).unwrap_or(usize::MAX);
        let mut bytes = 0;
        let mut n_events = 0;
        for stored in self.ring.iter().skip(skip) {
            let line = stored.told_line();
            let over = bytes + line.len() > FRAME_BYTES && bytes > 0;
            if over || stored.seq > self.released {
                break;
            }
            bytes += line.len() + 1;
            n_events += 1;
        }
        Behind::Events { skip, n_events }
    }

    pub(super) fn push(&mut self, stored: Arc<Told>) {
        let follows = self
            .ring
            .back()
            .is_none_or(|last| last.seq + 1 == stored.seq);
        if !follows {
            self.clear();
        }
        self.ring_bytes += stored.line.len();
        self.ring.push_back(stored);
        while self.ring.len() > RING_EVENTS || (self.ring_bytes > RING_BYTES && self.ring.len() > 1)
        {
            if let Some(oldest) = self.ring.pop_front() {
                self.ring_bytes -= oldest.line.len();
            }
        }
    }
}

impl rings::Ring for Mutex<ChannelState> {
    fn let_go(&self, turn: u64) {
        let mut state = locked(self);
        if state.share.turn() == turn {
            state.clear();
        }
    }
}
