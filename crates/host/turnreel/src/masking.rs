//! Secrets are masked before they are stored, where the server is told to (`--mask`): what is masked is nowhere on its disk, nor
//! in what it hands on.
//!
//! What is a secret, and what of a text has to wait, is `chat_feed`'s ([`LiveMasker`]). Here each session has its masker, under
//! its writer: what comes again is known, and is not looked at again. What waits and is not followed by more is told
//! after a while, and when the server stops.

mod bodies;
mod passed_on;

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use chat_event::ChatEvent;
use chat_feed::mask::{self, LiveMasker, TextMasker};
use chat_store::{Appended, Blobs, Error, Rewrite, Session, SessionId, now_ms};

use crate::ingest;
use crate::locked::locked;
use crate::removed;
use crate::state::{State, stopped};

pub(crate) use bodies::MaskedUpload;
pub(crate) use passed_on::{masked_lines, prepare, refer_all, refer_batch};

/// How often it is looked for texts that nothing follows; after so many looks their end is told.
const LOOK_EVERY: Duration = Duration::from_secs(2);
const LOOKS: u64 = 5;

/// What a session's secrets are is forgotten where nothing comes for so long.
const MEMORY: Duration = Duration::from_secs(24 * 60 * 60);

/// Of a session that goes on after a start, so many of its last events are looked at: who asked for secrets.
const ASKED_EVENTS: u64 = 20_000;
/// And which texts are not whole.
const OPEN_EVENTS: u64 = 2_000;

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
        let place = of_session.masker.place();
        let mut rewriting = Rewriting {
            masker: &mut of_session.masker,
            masking: self,
            blobs,
        };
        let appended = session.append_rewritten(events, atomic, recv_ms, &mut rewriting);
        self.count(of_session.masker.take_masked());
        if appended.as_ref().map_or(true, |appended| appended.refused) {
            of_session.masker.go_back(place);
        }
        appended
    }

    /// Stores what waits of the session and was looked at so often. The caller holds its writer, off the async threads.
    fn append_waiting(&self, session: &Arc<Session>, often: u64) -> Result<Appended, Error> {
        let Some(of_session) = self.known(session.id()) else {
            return session.append(Vec::new(), false, now_ms());
        };
        let mut of_session = locked(&of_session);
        let place = of_session.masker.place();
        let events = of_session.masker.pause(often);
        let appended = session.append(events, false, now_ms());
        if appended.is_err() {
            of_session.masker.go_back(place);
        }
        self.count(of_session.masker.take_masked());
        appended
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
        let walked = session.walk(head.saturating_sub(ASKED_EVENTS), &mut |seq, line| {
            let may_ask = line.contains(r#""type":"question_"#);
            if (may_ask || seq + OPEN_EVENTS > head)
                && let Ok(event) = ChatEvent::from_json(line)
            {
                masker.resume(&event);
            }
            ControlFlow::Continue(())
        });
        match walked {
            // What follows begins another log.
            Ok(()) | Err(Error::Gone { .. }) => {}
            Err(why) => return Err(why),
        }
        let of_session = OfSession {
            masker,
            sent: Instant::now(),
        };
        let of_session = Arc::new(Mutex::new(of_session));
        locked(&self.sessions).insert(session.id().clone(), of_session.clone());
        Ok(of_session)
    }

    /// The sessions of which something was looked at for so often. Others that are quiet for long are forgotten.
    fn waiting(&self, often: u64) -> Vec<SessionId> {
        let mut sessions = locked(&self.sessions);
        let mut waiting = Vec::new();
        sessions.retain(|id, of_session| {
            // Who holds it is sending to it.
            let Ok(mut held) = of_session.try_lock() else {
                return true;
            };
            if held.masker.look(often) {
                waiting.push(id.clone());
            }
            let is_quiet = held.sent.elapsed() >= MEMORY && !held.masker.holds();
            drop(held);
            !is_quiet || Arc::strong_count(of_session) > 1
        });
        waiting
    }

    /// All sessions of which something waits, or may.
    fn all_waiting(&self) -> Vec<SessionId> {
        let sessions = locked(&self.sessions);
        let may_wait = sessions.iter().filter(|(_, of_session)| {
            let held = of_session.try_lock();
            held.map_or(true, |held| held.masker.holds())
        });
        may_wait.map(|(id, _)| id.clone()).collect()
    }
}

/// What a text is compared by where one source of a session may have it masked, and another not: what its own words tell of
/// secrets, and not what was told before, so that it is the same for both.
pub(crate) fn words(text: &str) -> String {
    let mut masker = TextMasker::default();
    masker.push(text) + &masker.finish()
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

    fn rewrite(&mut self, mut event: ChatEvent) -> Result<Vec<ChatEvent>, Error> {
        self.masking.refer(self.blobs, &mut event)?;
        Ok(self.masker.push(event))
    }
}

/// Tells what waits for too long, until the server stops.
pub(crate) async fn tell_waiting(state: State) {
    let mut stopping = state.stopping.subscribe();
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = stopped(&mut stopping) => return,
        }
        let waiting = state.masking.get().map(|masking| masking.waiting(LOOKS));
        for id in waiting.unwrap_or_default() {
            tell(&state, &id, LOOKS).await;
        }
    }
}

/// Tells all that waits: nothing is sent any more.
pub(crate) async fn tell_all(state: &State) {
    let all = state.masking.get().map(Masking::all_waiting);
    for id in all.unwrap_or_default() {
        tell(state, &id, 0).await;
    }
}

/// Tells what waits of a session and was looked at so often.
async fn tell(state: &State, id: &SessionId, often: u64) {
    // The end of a text would begin another log where this one was taken away just now. What waits is forgotten then.
    let _ = removed::look_for(state, id).await;
    let (Some(live), Some(masking)) = (state.live(id), state.masking.get()) else {
        return;
    };
    if live.home().is_some() {
        // It is told where its log goes on.
        masking.forget(id);
        return;
    }
    let _writer = live.writer.lock().await;
    let (own, session) = (state.clone(), live.session.clone());
    let appending = move || match own.masking.get() {
        Some(masking) => masking.append_waiting(&session, often),
        None => session.append(Vec::new(), false, now_ms()),
    };
    if let Err(why) = ingest::publish_as_writer(state, &live, appending).await {
        tracing::warn!(
            session = id.as_str(),
            "could not store the end of a text: {}",
            why.message
        );
    }
}
