//! What is held in memory for all who follow all sessions: one bound over their rings and the frames made of them.
//!
//! Where more comes than there is room for, the rings are let go that had no new event for longest. Who follows such a session
//! and has all of it does not notice; who is behind is told so, and reads on from the log.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use crate::locked::locked;

/// Something whose memory is counted here, and that can do without it.
pub(crate) trait Ring: Send + Sync {
    /// Lets go what it holds, unless something new came since it was given `turn`.
    fn let_go(&self, turn: u64);
}

/// The rings of all sessions.
pub(crate) struct Rings {
    most_bytes: usize,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    bytes: usize,
    last_turn: u64,
    /// By when something new came last.
    by_turn: BTreeMap<u64, Weak<dyn Ring>>,
    n_let_go: u64,
}

/// What one ring holds of it. To be changed while the ring is held; the ring is never taken while this is.
pub(crate) struct Share {
    rings: Arc<Rings>,
    ring: Weak<dyn Ring>,
    bytes: usize,
    /// 0 where nothing is held.
    turn: u64,
}

impl Rings {
    /// For so many bytes.
    pub(crate) fn new(most_bytes: usize) -> Arc<Self> {
        Arc::new(Rings {
            most_bytes,
            held: Mutex::default(),
        })
    }

    /// The share of a ring that holds nothing yet.
    pub(crate) fn share(self: &Arc<Self>, ring: Weak<dyn Ring>) -> Share {
        Share {
            rings: self.clone(),
            ring,
            bytes: 0,
            turn: 0,
        }
    }

    /// Lets the oldest go until the others have room. The caller holds no ring.
    pub(crate) fn make_room(&self) {
        loop {
            let mut held = self.locked();
            if held.bytes <= self.most_bytes {
                return;
            }
            let Some((turn, ring)) = held.by_turn.pop_first() else {
                return;
            };
            held.n_let_go += 1;
            drop(held);
            // One that is gone has given back its share, or is about to.
            if let Some(ring) = ring.upgrade() {
                ring.let_go(turn);
            }
        }
    }

    /// Bytes that are held, how many may be, and how often a ring was let go.
    pub(crate) fn figures(&self) -> (usize, usize, u64) {
        let held = self.locked();
        (held.bytes, self.most_bytes, held.n_let_go)
    }

    fn locked(&self) -> MutexGuard<'_, Held> {
        locked(&self.held)
    }
}

impl Share {
    /// The ring holds so much now; `is_new` where something new came.
    pub(crate) fn set(&mut self, bytes: usize, is_new: bool) {
        if bytes == self.bytes && !is_new {
            return;
        }
        let mut held = self.rings.locked();
        held.bytes = held.bytes - self.bytes + bytes;
        self.bytes = bytes;
        if bytes == 0 {
            held.by_turn.remove(&self.turn);
            self.turn = 0;
        } else if is_new || self.turn == 0 {
            held.by_turn.remove(&self.turn);
            held.last_turn += 1;
            self.turn = held.last_turn;
            held.by_turn.insert(self.turn, self.ring.clone());
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn turn(&self) -> u64 {
        self.turn
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.set(0, false);
    }
}
