//! Secrets are masked before they are stored, where the server is told to (`--mask`): what is masked is nowhere on its disk, nor
//! in what it hands on.
//!
//! What is a secret, and what of a text has to wait, is `chat_feed`'s ([`LiveMasker`]). Here each session has its masker, under
//! its writer: what comes again is known, and is not looked at again. What waits and is not followed by more is told
//! after a while, and when the server stops.

mod bodies;

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use chat_event::ChatEvent;
use chat_feed::mask::{self, LiveMasker};
use chat_store::{Appended, Blobs, Error, Rewrite, Session, SessionId, now_ms};

use crate::error::ApiError;
use crate::ingest;
use crate::locked::locked;
use crate::state::{State, stopped};

pub(crate) use bodies::MaskedUpload;

/// The end of a text that nothing follows is told after so long.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often that is looked for.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// What a session's secrets are is forgotten where nothing comes for so long.
const MEMORY: Duration = Duration::from_secs(30 * 60);

/// Of a session that goes on after a start, so many of its last events are looked at: who asked for secrets.
const ASKED_EVENTS: u64 = 20_000;
/// And which texts are not whole.
const OPEN_EVENTS: u64 = 200;

/// The maskers of all sessions that are sent to.
#[derive(Default)]
pub(crate) struct Masking {
    sessions: Mutex<HashMap<SessionId, Arc<Mutex<OfSession>>>>,
    masked: Mutex<BTreeMap<&'static str, u64>>,
}

struct OfSession {
    masker: LiveMasker,
    /// When something was last sent to it.
    sent: Instant,
}

impl Masking {
    /// Stores events masked, as [`Session::append`] stores them. The caller holds the session's writer, off the async threads.
    pub(crate) fn append(
        &self,
        session: &Arc<Session>,
        blobs: &Blobs,
        events: Vec<ChatEvent>,
        (atomic, recv_ms): (bool, i64),
    ) -> Result<Appended, Error> {
        let of_session = self.of(session)?;
        let mut of_session = locked(&of_session);
        of_session.sent = Instant::now();
        let mut rewriting = Rewriting {
            masker: &mut of_session.masker,
            masking: self,
            blobs,
        };
        let appended = session.append_rewritten(events, atomic, recv_ms, &mut rewriting);
        self.count(of_session.masker.take_masked());
        if appended.is_err() {
            // It has seen what is not stored.
            self.forget(session.id());
        }
        appended
    }

    /// Stores what waits of the session. The caller holds its writer, off the async threads.
    fn append_waiting(&self, session: &Arc<Session>) -> Result<Appended, Error> {
        let mut events = Vec::new();
        if let Some(of_session) = self.known(session.id()) {
            let mut of_session = locked(&of_session);
            events = of_session.masker.pause();
            self.count(of_session.masker.take_masked());
        }
        session.append(events, false, now_ms())
    }

    /// The session's log is another one, or none any more.
    pub(crate) fn forget(&self, session: &SessionId) {
        locked(&self.sessions).remove(session);
    }

    /// How often something was masked, by its kind.
    pub(crate) fn masked(&self) -> BTreeMap<&'static str, u64> {
        locked(&self.masked).clone()
    }

    fn count(&self, masked: BTreeMap<&'static str, u64>) {
        let mut all = locked(&self.masked);
        for (kind, n) in masked {
            *all.entry(kind).or_insert(0) += n;
        }
    }

    fn known(&self, id: &SessionId) -> Option<Arc<Mutex<OfSession>>> {
        locked(&self.sessions).get(id).cloned()
    }

    /// The session's masker; a new one has looked at the end of the log.
    fn of(&self, session: &Session) -> Result<Arc<Mutex<OfSession>>, Error> {
        if let Some(known) = self.known(session.id()) {
            return Ok(known);
        }
        let mut masker = LiveMasker::new();
        let (_, head) = session.position();
        session.walk(head.saturating_sub(ASKED_EVENTS), &mut |seq, line| {
            let may_ask = line.contains(r#""type":"question_"#);
            if (may_ask || seq + OPEN_EVENTS > head)
                && let Ok(event) = ChatEvent::from_json(line)
            {
                masker.resume(&event);
            }
            ControlFlow::Continue(())
        })?;
        let of_session = OfSession {
            masker,
            sent: Instant::now(),
        };
        let of_session = Arc::new(Mutex::new(of_session));
        locked(&self.sessions).insert(session.id().clone(), of_session.clone());
        Ok(of_session)
    }

    /// The sessions of which something waits for longer than that. Others that are quiet for long are forgotten.
    fn waiting(&self, longer_than: Duration) -> Vec<SessionId> {
        let all: Vec<_> = locked(&self.sessions)
            .iter()
            .map(|(id, of_session)| (id.clone(), of_session.clone()))
            .collect();
        let mut waiting = Vec::new();
        for (id, of_session) in all {
            // Who holds it is sending to it.
            let Ok(of_session) = of_session.try_lock() else {
                continue;
            };
            let quiet = of_session.sent.elapsed();
            if !of_session.masker.holds() {
                if quiet >= MEMORY {
                    self.forget(&id);
                }
            } else if quiet >= longer_than {
                waiting.push(id);
            }
        }
        waiting
    }
}

/// Masks what a batch brings that is new.
struct Rewriting<'m> {
    masker: &'m mut LiveMasker,
    masking: &'m Masking,
    blobs: &'m Blobs,
}

impl Rewrite for Rewriting<'_> {
    fn id(&self, id: &str) -> Option<String> {
        self.masker.id(id)
    }

    fn is_of(&self, stored: &ChatEvent, sent: &ChatEvent) -> bool {
        mask::is_masked_of(stored, sent)
    }

    fn rewrite(&mut self, mut event: ChatEvent) -> Vec<ChatEvent> {
        self.masking.refer(self.blobs, &mut event);
        self.masker.push(event)
    }
}

/// Tells what waits for too long, until the server stops; then all that waits.
pub(crate) async fn tell_waiting(state: State) {
    let mut stopping = state.stopping.subscribe();
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = stopped(&mut stopping) => return,
        }
        tell_all(&state, PATIENCE).await;
    }
}

/// Tells what waits for longer than that.
pub(crate) async fn tell_all(state: &State, longer_than: Duration) {
    let Some(masking) = state.masking.get() else {
        return;
    };
    for id in masking.waiting(longer_than) {
        if let Err(why) = tell(state, &id).await {
            tracing::warn!(
                session = id.as_str(),
                "could not store the end of a text: {}",
                why.message
            );
        }
    }
}

async fn tell(state: &State, id: &SessionId) -> Result<(), ApiError> {
    let Some(live) = state.live(id) else {
        return Ok(());
    };
    let _writer = live.writer.lock().await;
    let (own, session) = (state.clone(), live.session.clone());
    let appending = move || match own.masking.get() {
        Some(masking) => masking.append_waiting(&session),
        None => session.append(Vec::new(), false, now_ms()),
    };
    ingest::publish_as_writer(state, &live, appending).await
}
