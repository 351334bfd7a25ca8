//! What readers follow of each session: its newest events. What changed in the list of all is for `list`, what is held of
//! the events for `channel`.
//!
//! Nobody has a queue. A session keeps its newest events in a ring while somebody follows it; each follower keeps a
//! number and takes what lies behind it when it can. One that is too slow finds its number gone from the ring, and reads
//! on from the log: so a stalled reader costs nothing but its socket.
//!
//! Delivery is by tiers (`protocol.md` 5.5); order is the log's, whatever the tier: an urgent event releases all before it.

mod channel;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

use chat_store::{Gap, PageRequest, Session, Summary};
use tokio::sync::watch;

use crate::error::ApiError;
use crate::list::List;
use crate::locked::locked;
use crate::rings::Rings;
use crate::shared_frame::{SharedFrame, SharedFrames};
use crate::tiers::Urgency;
use crate::told::Told;
use channel::{Behind, ChannelState};

pub(crate) use channel::RING_EVENTS;

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

impl Live {
    pub(crate) fn new(session: Arc<Session>, list: &List, rings: &Arc<Rings>) -> Self {
        let (epoch, head) = session.position();
        let summary = session.summary();
        let oldest = session.oldest();
        let state = Arc::new_cyclic(|state: &Weak<Mutex<ChannelState>>| {
            Mutex::new(ChannelState {
                epoch,
                is_removed: false,
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
        let number = list.changed(session.id(), None);
        Live {
            home: Mutex::new(session.home()),
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
            locked(&self.state).is_removed = false;
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
        state.is_removed = is_removed;
        state.clear();
        // Followers are woken, to hear of it.
        self.release(&mut state);
        drop(state);
        let mut row = locked(&self.row);
        row.0 = list.changed(self.session.id(), Some(row.0));
    }

    /// Whether somebody took the log away, and nothing was sent since.
    pub(crate) fn is_removed(&self) -> bool {
        locked(&self.state).is_removed
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

    /// Begins to follow: from now on the ring is filled.
    pub(crate) fn follow(self: &Arc<Self>) -> Following {
        locked(&self.state).followers += 1;
        Following {
            released: self.released.subscribe(),
            live: self.clone(),
        }
    }

    /// The epoch, the last number, and the last one that followers may have.
    pub(crate) fn position(&self) -> (String, u64, u64) {
        let state = locked(&self.state);
        (state.epoch.clone(), state.head, state.released)
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

#[cfg(test)]
mod tests {
    use chat_event::payload::TurnEnd;
    use chat_event::{ChatEvent, Payload};
    use chat_store::{Options, SessionId, Store, SyncPolicy};

    use super::*;

    fn publish(live: &Arc<Live>, list: &List, n_events: u64) {
        let head = live.position().1;
        let events = (head + 1..=head + n_events)
            .map(|n| {
                let payload: Payload = TurnEnd::default().into();
                ChatEvent::new(format!("e{n}"), 1, "s1", payload)
            })
            .collect();
        let appended = live.session.append(events, false, 1).unwrap();
        let stored = appended.stored.into_iter().map(Told::new).collect();
        live.publish(&appended.epoch, stored, appended.summary, list);
    }

    #[test]
    fn a_frame_is_encoded_once_for_all_who_are_sent_it() {
        let dir = tempfile::tempdir().unwrap();
        let sync = SyncPolicy::Never;
        let store = Store::open(
            dir.path(),
            Options {
                sync,
                ..Options::default()
            },
        )
        .unwrap();
        let session = store.session_or_new(&SessionId::parse("s1").unwrap());
        let list = List::default();
        let live = Arc::new(Live::new(session.unwrap(), &list, &Rings::new(1 << 20)));
        let following = live.follow();
        let (epoch, ..) = live.position();
        let frame = |seq| match live.next(&epoch, seq) {
            Next::Events(frame) => frame,
            other => panic!("{other:?}"),
        };
        for batch in 0..3 {
            publish(&live, &list, 5);
            let first = frame(batch * 5);
            let text = first.for_sub(1);
            for _ in 0..1000 {
                let other = frame(batch * 5);
                assert!(Arc::ptr_eq(&first, &other));
                // The bytes are the same ones, not others that are equal.
                assert_eq!(text.as_ptr(), other.for_sub(1).as_ptr());
            }
            assert_ne!(first.for_sub(2), text);
        }
        // One that is behind gets all of it in a frame of its own.
        assert_eq!(frame(4).to, 15);
        drop(following);
        assert!(!live.reaches(4), "nobody follows, and nothing is kept");
    }

    #[test]
    fn all_rings_together_have_one_bound_and_the_quietest_go_first() {
        const MOST: usize = 1 << 20;
        let dir = tempfile::tempdir().unwrap();
        let options = Options {
            sync: SyncPolicy::Never,
            ..Options::default()
        };
        let store = Store::open(dir.path(), options).unwrap();
        let list = List::default();
        let rings = Rings::new(MOST);
        let sessions: Vec<_> = (0..50)
            .map(|n| {
                let session = store.session_or_new(&SessionId::parse(&format!("s{n}")).unwrap());
                let live = Arc::new(Live::new(session.unwrap(), &list, &rings));
                let following = live.follow();
                (live, following)
            })
            .collect();
        let first = |live: &Arc<Live>| live.next(&live.position().0, 0);
        let mut n_shared = 0;
        for (at, (live, _)) in sessions.iter().enumerate() {
            publish(live, &list, 100);
            // Frames count, too.
            assert!(matches!(first(live), Next::Events(_)));
            let (held, most, _) = rings.figures();
            assert!(held <= most, "{held} of {most} after {at}");
            n_shared += usize::from(at > 0 && live.ring().events > 0);
            // One that is never quiet keeps its own.
            publish(&sessions[0].0, &list, 1);
            assert!(matches!(first(&sessions[0].0), Next::Events(_)), "{at}");
        }
        assert_eq!(n_shared, 49, "who is told something has it in memory");
        let kept: Vec<bool> = sessions
            .iter()
            .map(|(live, _)| live.ring().events > 0)
            .collect();
        let n_gone = kept[1..].iter().position(|kept| *kept).unwrap();
        assert!(
            n_gone > 10 && kept[1 + n_gone..].iter().all(|kept| *kept),
            "{kept:?}"
        );
        assert_eq!(rings.figures().2, n_gone as u64);
        // Who is behind reads the log; who is not, notices nothing.
        let (gone, _) = &sessions[1];
        let Next::Lag { head: 100 } = first(gone) else {
            panic!("its ring went");
        };
        assert!(matches!(gone.next(&gone.position().0, 100), Next::Nothing));
        let request = PageRequest {
            after: 0,
            limit: 1000,
            max_bytes: 1 << 20,
        };
        assert_eq!(gone.session.page(request).unwrap().lines.len(), 100);
        publish(gone, &list, 1);
        let epoch = gone.position().0;
        assert!(matches!(gone.next(&epoch, 100), Next::Events(frame) if frame.to == 101));
        drop(sessions);
        assert_eq!(rings.figures().0, 0, "nobody follows, and nothing is held");
    }
}
