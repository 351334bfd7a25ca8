//! What readers follow: of each session the newest events, and of all the list.
//!
//! Nobody has a queue. A session keeps its newest events in a ring while somebody follows it; each follower keeps a
//! number and takes what lies behind it when it can. One that is too slow finds its number gone from the ring, and reads
//! on from the log: so a stalled reader costs nothing but its socket.
//!
//! Delivery is by tiers (`protocol.md` 5.5); order is the log's, whatever the tier: an urgent event releases all before it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use chat_event::frame::{EvText, MAX_SERVER_BYTES};
use chat_event::{ChatEvent, Payload};
use chat_store::{Session, Stored, Summary};
use tokio::sync::watch;

/// Events that are kept for followers.
pub(crate) const RING_EVENTS: usize = 4096;
const RING_BYTES: usize = 8 * 1024 * 1024;

/// The events of one `ev` frame, which has some words of its own; but always one event.
const FRAME_BYTES: usize = MAX_SERVER_BYTES - 256;

/// A frame leaves when this many events wait.
const BATCH_EVENTS: u64 = 100;
const BATCH_BYTES: usize = 128 * 1024;

/// How long events of tier 2 wait for company.
const WINDOW: Duration = Duration::from_millis(500);
/// How long message chunks do: two frames of a 60 Hz screen.
const CHUNK_WINDOW: Duration = Duration::from_millis(33);

/// One session and those who follow it.
pub(crate) struct Live {
    pub(crate) session: Arc<Session>,
    /// Held over append and publish, so that events are published in their order.
    pub(crate) writer: tokio::sync::Mutex<()>,
    state: Mutex<ChannelState>,
    /// The last released number; waking is all it is for.
    released: watch::Sender<u64>,
    row: Mutex<(u64, Summary)>,
    /// The number of the first event there is, or will be.
    pub(crate) oldest: u64,
}

struct ChannelState {
    epoch: String,
    /// Events that were released or wait.
    ring: VecDeque<Arc<Stored>>,
    ring_bytes: usize,
    head: u64,
    released: u64,
    waiting_bytes: usize,
    /// When what waits is released at the latest.
    deadline: Option<Instant>,
}

/// What a follower gets next.
#[derive(Debug)]
pub(crate) enum Next {
    /// Nothing yet.
    Nothing,
    /// Events that follow its number, up to `to`.
    Events { to: u64, text: EvText },
    /// Its number has left the ring.
    Lag { head: u64 },
    /// The log goes on under another epoch.
    Reset { epoch: String },
}

impl Live {
    pub(crate) fn new(session: Arc<Session>, list: &List) -> Self {
        let (epoch, head) = session.position();
        let summary = session.summary();
        let oldest = session.oldest();
        Live {
            session,
            writer: tokio::sync::Mutex::default(),
            state: Mutex::new(ChannelState {
                epoch,
                ring: VecDeque::new(),
                ring_bytes: 0,
                head,
                released: head,
                waiting_bytes: 0,
                deadline: None,
            }),
            released: watch::Sender::new(head),
            row: Mutex::new((list.changed(), summary)),
            oldest,
        }
    }

    /// Tells the followers of what was stored. The caller holds `writer`.
    pub(crate) fn publish(
        self: &Arc<Self>,
        epoch: &str,
        stored: Vec<Stored>,
        summary: Summary,
        list: &List,
    ) {
        // Counted while the row is held: who is woken by the count waits for the row.
        let mut row = locked(&self.row);
        *row = (list.changed(), summary);
        drop(row);
        let mut state = locked(&self.state);
        if state.epoch != epoch {
            epoch.clone_into(&mut state.epoch);
            state.ring.clear();
            state.ring_bytes = 0;
        }
        let mut urgency = None;
        for stored in stored {
            urgency = urgency.max(Some(Urgency::of(&stored.event)));
            state.head = stored.seq;
            state.waiting_bytes += stored.line.len();
            state.push(Arc::new(stored));
        }
        if self.released.receiver_count() == 0 {
            state.ring.clear();
            state.ring_bytes = 0;
            self.release(&mut state);
            return;
        }
        let Some(urgency) = urgency else { return };
        let crowded =
            state.head - state.released >= BATCH_EVENTS || state.waiting_bytes >= BATCH_BYTES;
        let window = match urgency {
            Urgency::Now => Duration::ZERO,
            Urgency::Chunk => CHUNK_WINDOW,
            Urgency::Batched => WINDOW,
        };
        if crowded || window.is_zero() {
            self.release(&mut state);
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

    /// Begins to follow: from now on the ring is filled.
    pub(crate) fn follow(&self) -> watch::Receiver<u64> {
        self.released.subscribe()
    }

    /// The epoch, the last number, and the last one that followers may have.
    pub(crate) fn position(&self) -> (String, u64, u64) {
        let state = locked(&self.state);
        (state.epoch.clone(), state.head, state.released)
    }

    /// Whether all after `seq` can be had from the ring.
    pub(crate) fn reaches(&self, seq: u64) -> bool {
        let state = locked(&self.state);
        seq >= state.head || state.ring.front().is_some_and(|first| first.seq <= seq + 1)
    }

    /// What follows `seq` for a follower that began under `epoch`.
    pub(crate) fn next(&self, epoch: &str, seq: u64) -> Next {
        let state = locked(&self.state);
        if state.epoch != epoch {
            return Next::Reset {
                epoch: state.epoch.clone(),
            };
        }
        if seq >= state.released {
            return Next::Nothing;
        }
        let Some(first) = state.ring.front().filter(|first| first.seq <= seq + 1) else {
            return Next::Lag {
                head: state.released,
            };
        };
        // The ring's numbers follow each other, so the place of one is its distance from the first.
        let skip = usize::try_from(seq + 1 - first.seq).unwrap_or(usize::MAX);
        let mut bytes = 0;
        let mut lines = Vec::new();
        for stored in state.ring.iter().skip(skip) {
            let over = bytes + stored.line.len() > FRAME_BYTES && bytes > 0;
            if over || stored.seq > state.released {
                break;
            }
            bytes += stored.line.len() + 1;
            lines.push(stored.line.as_str());
        }
        let to = seq + lines.len() as u64;
        Next::Events {
            to,
            text: EvText::new(seq + 1, to, lines),
        }
    }

    /// The row of the list, and when it changed.
    pub(crate) fn row(&self) -> (u64, Summary) {
        locked(&self.row).clone()
    }
}

impl ChannelState {
    fn push(&mut self, stored: Arc<Stored>) {
        let follows = self
            .ring
            .back()
            .is_none_or(|last| last.seq + 1 == stored.seq);
        if !follows {
            self.ring.clear();
            self.ring_bytes = 0;
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

/// How long an event may wait, the least urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    Batched,
    Chunk,
    Now,
}

impl Urgency {
    fn of(event: &ChatEvent) -> Self {
        match &event.payload {
            Payload::ToolResult(result) if result.error.is_some() => Urgency::Now,
            Payload::ToolCall(_)
            | Payload::ToolInputChunk(_)
            | Payload::ToolOutputChunk(_)
            | Payload::ToolResult(_)
            | Payload::Progress(_)
            | Payload::Usage(_)
            | Payload::Notice(_)
            | Payload::Raw(_)
            | Payload::Unknown { .. } => Urgency::Batched,
            Payload::AssistantChunk(_) | Payload::ThinkingChunk(_) | Payload::AudioChunk(_) => {
                Urgency::Chunk
            }
            _ => Urgency::Now,
        }
    }
}

/// What changed in the list of sessions, as a number that rises with each change.
#[derive(Debug, Default)]
pub(crate) struct List {
    version: AtomicU64,
    changed: watch::Sender<u64>,
}

impl List {
    /// Counts a change and wakes those who follow the list.
    fn changed(&self) -> u64 {
        let version = self.version.fetch_add(1, Ordering::SeqCst) + 1;
        self.changed
            .send_modify(|newest| *newest = version.max(*newest));
        version
    }

    pub(crate) fn follow(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
