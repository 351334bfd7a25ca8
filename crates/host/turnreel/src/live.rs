//! What readers follow of each session: its newest events. What changed in the list of all is for `list`, what is held of
//! the events for `channel`, what a follower asks for `following`.
//!
//! Nobody has a queue. A session keeps its newest events in a ring while somebody follows it; each follower keeps a
//! number and takes what lies behind it when it can. One that is too slow finds its number gone from the ring, and reads
//! on from the log: so a stalled reader costs nothing but its socket.
//!
//! Delivery is by tiers (`protocol.md` 5.5); order is the log's, whatever the tier: an urgent event releases all before it.

mod channel;
mod following;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use chat_store::{Known, Session, Summary};
use tokio::sync::watch;

use crate::list::List;
use crate::locked::locked;
use crate::rings::Rings;
use crate::shared_frame::SharedFrames;
use crate::tiers::Urgency;
use crate::told::Told;
use channel::ChannelState;

pub(crate) use channel::RING_EVENTS;
pub(crate) use following::{Following, Missed, Next};

/// A frame leaves when this many events wait.
const BATCH_EVENTS: u64 = 100;
const BATCH_BYTES: usize = 128 * 1024;

/// One session and those who follow it.
pub(crate) struct Live {
    pub(crate) session: Arc<Session>,
    /// Held over append and publish, so that events are published in their order.
    pub(crate) writer: tokio::sync::Mutex<()>,
    state: Arc<Mutex<ChannelState>>,
    rings: Arc<Rings>,
    /// The last released number; waking is all it is for.
    released: watch::Sender<u64>,
    row: Mutex<(u64, Arc<Summary>)>,
    /// Whose copy the log is; see [`Session::home`].
    home: Mutex<Option<String>>,
    /// The number of the first event there is, or will be.
    pub(crate) oldest: u64,
}

impl Live {
    pub(crate) fn new(session: Arc<Session>, list: &List, rings: &Arc<Rings>) -> Self {
        let number = list.changed(session.id(), None);
        Self::numbered(session, number, rings)
    }

    /// One that stands in the list already, with the number of its change.
    pub(crate) fn numbered(session: Arc<Session>, number: u64, rings: &Arc<Rings>) -> Self {
        let Known {
            epoch,
            head,
            oldest,
            home,
            summary,
        } = session.known();
        let state = Arc::new_cyclic(|state: &Weak<Mutex<ChannelState>>| {
            Mutex::new(ChannelState {
                epoch,
                removed: None,
                ring: VecDeque::new(),
                ring_bytes: 0,
                frames: SharedFrames::default(),
                share: rings.share(state.clone()),
                followers: 0,
                head,
                released: head,
                waiting_bytes: 0,
                deadline: None,
            })
        });
        Live {
            home: Mutex::new(home),
            session,
            writer: tokio::sync::Mutex::default(),
            state,
            rings: rings.clone(),
            released: watch::Sender::new(head),
            row: Mutex::new((number, summary)),
            oldest,
        }
    }

    /// Tells the followers of what was stored. The caller holds `writer`.
    pub(crate) fn publish(
        self: &Arc<Self>,
        epoch: &str,
        stored: Vec<Told>,
        summary: Summary,
        list: &List,
    ) {
        if !stored.is_empty() {
            // Where the log was taken away, it is there again.
            locked(&self.state).removed = None;
        }
        let last = summary.head;
        // Counted while the row is held: who is woken by the count waits for the row.
        let mut row = locked(&self.row);
        let number = list.changed(self.session.id(), Some(row.0));
        *row = (number, Arc::new(summary));
        drop(row);
        let mut state = locked(&self.state);
        if state.epoch != epoch {
            epoch.clone_into(&mut state.epoch);
            state.clear();
            state.head = last;
            // Followers hear of it at once, also where nothing is stored, as of what comes again.
            self.release(&mut state);
        }
        let mut urgency = None;
        for stored in stored {
            urgency = urgency.max(Some(Urgency::of(&stored.event)));
            state.head = stored.seq;
            state.waiting_bytes += stored.line.len();
            state.push(Arc::new(stored));
        }
        if state.followers == 0 {
            state.clear();
            self.release(&mut state);
            return;
        }
        let Some(urgency) = urgency else { return };
        state.count(true);
        self.schedule(&mut state, urgency);
        drop(state);
        self.rings.make_room();
    }

    /// What is stored under our eyes and was not told of is told of now: something failed between. The caller holds `writer`.
    ///
    /// With `is_doubtful` what is held may be half changed, and goes.
    pub(crate) fn realign(
        &self,
        (epoch, head): (String, u64),
        summary: Arc<Summary>,
        is_doubtful: bool,
        list: &List,
    ) {
        let mut row = locked(&self.row);
        let mut state = locked(&self.state);
        if !is_doubtful && (&state.epoch, state.head) == (&epoch, head) {
            return;
        }
        let number = list.changed(self.session.id(), Some(row.0));
        *row = (number, summary);
        drop(row);
        state.epoch = epoch;
        state.head = head;
        // Followers are behind it then, and read on from the log.
        state.clear();
        self.release(&mut state);
    }

    /// Somebody took the log away, or brought it back. The caller holds `writer`.
    pub(crate) fn set_removed(&self, is_removed: bool, list: &List) {
        let mut state = locked(&self.state);
        state.removed = is_removed.then(Instant::now);
        state.clear();
        // Followers are woken, to hear of it.
        self.release(&mut state);
        drop(state);
        let mut row = locked(&self.row);
        row.0 = list.changed(self.session.id(), Some(row.0));
    }

    /// Whether somebody took the log away, and nothing was sent since.
    pub(crate) fn is_removed(&self) -> bool {
        locked(&self.state).removed.is_some()
    }

    /// Whether that is so long ago, and nobody follows.
    pub(crate) fn is_removed_for(&self, time: Duration) -> bool {
        let state = locked(&self.state);
        state.followers == 0 && state.removed.is_some_and(|at| at.elapsed() >= time)
    }

    /// Releases what waits, now or when its window ends.
    fn schedule(self: &Arc<Self>, state: &mut ChannelState, urgency: Urgency) {
        let crowded =
            state.head - state.released >= BATCH_EVENTS || state.waiting_bytes >= BATCH_BYTES;
        let window = urgency.window();
        if crowded || window.is_zero() {
            self.release(state);
            return;
        }
        let deadline = Instant::now() + window;
        if state.deadline.is_none_or(|earlier| deadline < earlier) {
            state.deadline = Some(deadline);
            let live = self.clone();
            tokio::spawn(async move {
                tokio::time::sleep_until(deadline.into()).await;
                let mut state = locked(&live.state);
                if state.deadline.is_some_and(|due| due <= deadline) {
                    live.release(&mut state);
                }
            });
        }
    }

    fn release(&self, state: &mut ChannelState) {
        state.released = state.head;
        state.waiting_bytes = 0;
        state.deadline = None;
        let head = state.head;
        self.released.send_modify(|released| *released = head);
    }

    /// The server that gives the session its numbers; `None` where this one does. It waits for no disk.
    pub(crate) fn home(&self) -> Option<String> {
        locked(&self.home).clone()
    }

    /// Looks whose copy the log is now. The caller holds `writer`.
    pub(crate) fn look_whose(&self) {
        *locked(&self.home) = self.session.home();
    }

    /// Whether somebody follows, and will be sent what is stored now.
    pub(crate) fn is_followed(&self) -> bool {
        locked(&self.state).followers > 0
    }

    /// The epoch, the last number, and the last one that followers may have.
    pub(crate) fn position(&self) -> (String, u64, u64) {
        let state = locked(&self.state);
        (state.epoch.clone(), state.head, state.released)
    }

    /// What is held for those who follow.
    pub(crate) fn ring(&self) -> Ring {
        let state = locked(&self.state);
        Ring {
            followers: state.followers,
            events: state.ring.len(),
            bytes: state.ring_bytes,
        }
    }

    /// The row of the list, and when it changed.
    pub(crate) fn row(&self) -> (u64, Arc<Summary>) {
        locked(&self.row).clone()
    }
}

/// What a session holds in memory for its followers.
pub(crate) struct Ring {
    pub(crate) followers: usize,
    pub(crate) events: usize,
    pub(crate) bytes: usize,
}

#[cfg(test)]
mod tests;
