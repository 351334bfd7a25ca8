//! Sending what is in a spool, until the server has it.

mod account;
mod lines;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chat_event::session_id;

use self::account::{Account, held_by_another, not_sent_yet};
use crate::client::{Client, Error};
use crate::leftover::Leftover;
use crate::pipe::{FindEndpoint, found};
use crate::sources::{Entered, Sources, Words, log_after};
use crate::spool::{Batch, Reader, Spool};

/// Between the starts of two batches: a chunk leaves at once, and a flood in few requests.
const PACE: Duration = Duration::from_millis(50);

/// The longest that a server is waited for because it asks.
const LONGEST_ASKED: Duration = Duration::from_secs(3600);

/// The longest that it is waited for with what an earlier pipe left, and how often in a row: that is kept from others.
const LONGEST_HELD: Duration = Duration::from_secs(60);
const MOST_HELD: u32 = 5;

/// The longest wait between two tries.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

pub(crate) struct Sender<'a> {
    find_endpoint: &'a FindEndpoint,
    client: Client,
    /// What the server did not take.
    account: Account,
    /// Sessions of the spool that this token may not write to, and how that was said: what is theirs stays for one that may.
    left: BTreeMap<String, String>,
    /// What others tell of the sessions of the spool that is sent.
    sources: Option<Sources>,
    /// What texts are compared by with what those told.
    words: Option<Words>,
    /// Whether it waits where another source tells of a session now.
    waits: bool,
    tries: u32,
}

/// Why a batch was not sent.
enum Unsent {
    /// Another source tells of the session now: the file of its notes.
    Held(PathBuf),
    /// It is not tried again; and the session of what was sent.
    GivenUp(Error, String),
}

/// What became of what an earlier pipe left.
pub(crate) enum Sent {
    /// The server has it; what is to be said of it.
    All(Option<String>),
    /// Another source tells of one of its sessions now, or was stopped in the middle of that; so it is said. The file stays
    /// for the next.
    Held {
        /// The file of the session's notes.
        notes: PathBuf,
        said: String,
    },
    /// The token may not write to all of its sessions; so it is said. The file stays for one that may.
    Left(String),
    /// It is not known whether a session goes on that it left open, or somebody else is to send it. The file stays for that one.
    Untold,
    /// The server does not take it now. The file stays for the next.
    NotNow {
        /// Of what it did not take.
        session_id: String,
        why: Error,
    },
}

/// Rests between two tries; false where it is not tried again.
type Rest<'r> = dyn FnMut(&Pause) -> bool + 'r;

/// Between two tries.
pub(crate) struct Pause {
    pub(crate) wait: Duration,
    /// Whether the server takes what we have at a pace of its own: any other that asks to wait can take nothing.
    pub(crate) is_pace: bool,
    pub(crate) why: String,
    /// How often in a row it was tried.
    pub(crate) tries: u32,
}

impl<'a> Sender<'a> {
    pub(crate) fn new(
        find_endpoint: &'a FindEndpoint,
        spool_dir: &Path,
        words: Option<Words>,
    ) -> Self {
        Sender {
            find_endpoint,
            words,
            client: Client::new(),
            account: Account::new(spool_dir),
            left: BTreeMap::new(),
            sources: None,
            waits: true,
            tries: 0,
        }
    }

    /// Sends the spool up to its end, as it grows; `sent` is told how far the server has it. Before the first events of a
    /// session `begin` is called with its id, and again as long as it says why nothing can be sent now.
    pub(crate) fn run(
        &mut self,
        spool: &Spool,
        begin: &mut dyn FnMut(&str) -> Result<(), Error>,
        sent: &dyn Fn(u64),
        note_refusal: &dyn Fn(&str, Option<Duration>),
    ) -> Result<(), Error> {
        let mut at = 0;
        let mut begun = BTreeSet::new();
        let mut reader: Option<Reader> = None;
        let mut rest = |pause: &Pause| {
            note_refusal(&pause.why, pause.is_pace.then_some(pause.wait));
            spool.rest(pause.wait);
            true
        };
        while spool.wait_beyond(at) {
            let started = Instant::now();
            let Some(path) = spool.path() else {
                return Ok(());
            };
            let reader = match &mut reader {
                Some(reader) => reader,
                None => {
                    self.sources = Some(Sources::new(&path).compared_by(self.words));
                    reader.insert(Reader::open(&path)?)
                }
            };
            let end = spool.written();
            while let Some(batch) = reader.next_batch(end)? {
                if !begun.contains(&batch.session_id) {
                    begun.insert(batch.session_id.clone());
                    while let Err(why) = begin(&batch.session_id) {
                        let pause = self.pause_after(&why);
                        rest(&pause);
                    }
                    self.tries = 0;
                    if let Some(sources) = &self.sources {
                        sources.let_file_begin(&batch.session_id, &mut |wait| spool.rest(wait));
                    }
                }
                // Who waits for the others is held by none of them.
                let _ = self.send(&batch, false, &mut rest);
                at = batch.end;
                sent(self.sent_upto(at));
            }
            at = end;
            sent(self.sent_upto(at));
            if let Some(pause) = PACE.checked_sub(started.elapsed()) {
                spool.rest(pause);
            }
        }
        let _ = self.end(at, &mut rest);
        for (session_id, why) in &self.left {
            let note = format!("{why}: {session_id}; it waits for a token that may send to it");
            self.account.note_last(note);
        }
        // Of a spool that stays, what was refused comes again with it.
        let kept = match self.left.is_empty() {
            true => self.account.keep(),
            false => Ok(()),
        };
        let stays = kept.is_err() || !self.left.is_empty();
        sent(at.saturating_sub(u64::from(stays)));
        kept
    }

    /// How far the server has the spool. What is held back, or not taken, is not done with before its end.
    fn sent_upto(&self, at: u64) -> u64 {
        let waits = self.holds_back() || self.account.n_parts() > 0 || !self.left.is_empty();
        at.saturating_sub(u64::from(waits))
    }

    /// Sends what an earlier pipe left; `moved` is called for each part that the server has, with the bytes of the file up to its
    /// end, and says whether to go on. Of sessions that it left open it is known once `told` says yes whether they go on.
    ///
    /// What the server does not take now is not tried again: it is held from whoever else could send it. A server that takes
    /// it at its own pace does take it.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub(crate) fn send_leftover(
        &mut self,
        path: &Path,
        mut leftover: Leftover,
        told: &dyn Fn() -> bool,
        moved: &dyn Fn(u64) -> bool,
    ) -> Result<Sent, Error> {
        let mut rest = |pause: &Pause| {
            let is_short = pause.wait <= LONGEST_HELD && pause.tries <= MOST_HELD;
            let goes_on = pause.is_pace && is_short;
            if goes_on {
                std::thread::sleep(pause.wait);
            }
            goes_on
        };
        self.sources = Some(Sources::of_leftover(path).compared_by(self.words));
        self.account.begin();
        self.left.clear();
        self.waits = false;
        self.tries = 0;
        let unsent = |why: Unsent| match why {
            Unsent::Held(notes) => {
                let said = not_sent_yet(&notes, path);
                Ok(Sent::Held { notes, said })
            }
            Unsent::GivenUp(why @ Error::Spool { .. }, _) => Err(why),
            Unsent::GivenUp(why, session_id) => Ok(Sent::NotNow { session_id, why }),
        };
        let mut end = 0;
        while let Some(batch) = leftover.next_batch()? {
            if let Err(why) = self.send(&batch, false, &mut rest) {
                return unsent(why);
            }
            end = batch.end;
            if !moved(end) {
                return Ok(Sent::Untold);
            }
        }
        if leftover.has_open() && !told() {
            return Ok(Sent::Untold);
        }
        for batch in leftover.cut_off() {
            if let Err(why) = self.send(&batch, false, &mut rest) {
                return unsent(why);
            }
        }
        if let Err(why) = self.end(end, &mut rest) {
            return unsent(why);
        }
        if let Some((session_id, why)) = self.left.pop_first() {
            return Ok(Sent::Left(format!(
                "{why}: {session_id}; left for a token that may send to it: {}",
                path.display()
            )));
        }
        self.account.keep()?;
        leftover.remove().map(Sent::All)
    }

    fn holds_back(&self) -> bool {
        let sources = self.sources.as_ref();
        sources.is_some_and(|sources| !sources.shared().is_empty())
    }

    /// Sends what was held back for what other sources might tell.
    fn end(&mut self, end: u64, rest: &mut Rest<'_>) -> Result<(), Unsent> {
        let shared = self.sources.as_ref().map(Sources::shared);
        for session_id in shared.unwrap_or_default() {
            let nothing = Batch {
                session_id,
                lines: Vec::new(),
                end,
            };
            self.send(&nothing, true, rest)?;
        }
        Ok(())
    }

    /// Sends one batch, however long the server takes for that, as long as `rest` goes on. What this token may not send is
    /// left, and all that follows of its session: the others do not wait for it.
    fn send(&mut self, batch: &Batch, is_end: bool, rest: &mut Rest<'_>) -> Result<(), Unsent> {
        if self.left.contains_key(&batch.session_id) {
            return Ok(());
        }
        let mark = self.account.mark();
        loop {
            let why = match self.send_once(batch, is_end, rest) {
                Ok(sent) => {
                    self.tries = 0;
                    return sent.map_err(Unsent::Held);
                }
                Err(why) => why,
            };
            self.account.go_back(&mark);
            if let Error::NotFound { .. } = why {
                self.tries = 0;
                self.left.insert(batch.session_id.clone(), why.to_string());
                return Ok(());
            }
            let pause = self.pause_after(&why);
            if !rest(&pause) {
                return Err(Unsent::GivenUp(why, batch.session_id.clone()));
            }
        }
    }

    /// What is waited for after one more try that came to nothing.
    fn pause_after(&mut self, why: &Error) -> Pause {
        self.tries = self.tries.saturating_add(1);
        let (asked, is_pace) = match why {
            Error::Later {
                after_ms, status, ..
            } => (
                after_ms.map(Duration::from_millis),
                after_ms.is_some() && *status == Some(429),
            ),
            _ => (None, false),
        };
        Pause {
            wait: backoff(self.tries, asked),
            is_pace,
            why: why.to_string(),
            tries: self.tries,
        }
    }

    /// Sends what of a batch is new. Where another source tells of the session now: the file of its notes, unless that is
    /// waited for.
    fn send_once(
        &mut self,
        batch: &Batch,
        is_end: bool,
        rest: &mut Rest<'_>,
    ) -> Result<Result<(), PathBuf>, Error> {
        let endpoint = found(self.find_endpoint)?;
        // What is no session's id has no log, and nobody else tells of it.
        let sources = self.sources.as_mut();
        let Some(sources) = sources.filter(|_| session_id::fits(&batch.session_id)) else {
            return self.send_lines(batch, &endpoint).map(Ok);
        };
        let entered = match sources.try_enter(&batch.session_id) {
            Ok(Entered::Held { notes }) if self.waits => {
                // It may be for ever: who asks at the end why nothing was sent is told.
                rest(&Pause {
                    wait: Duration::ZERO,
                    is_pace: false,
                    why: format!("could not send yet: {}", held_by_another(&notes)),
                    tries: self.tries,
                });
                sources.enter(&batch.session_id)
            }
            entered => entered,
        };
        let turn = match entered {
            Ok(Entered::Turn(turn)) => turn,
            Ok(Entered::Held { notes }) => return Ok(Err(notes)),
            // Where nothing can be noted, nobody is known of.
            Ok(Entered::Alone) | Err(_) => return self.send_lines(batch, &endpoint).map(Ok),
        };
        let client = &self.client;
        let mut log =
            |session_id: &str, after: &str| log_after(client, &endpoint, session_id, after);
        let (sent, new) = match sources.new_of(&turn, batch, is_end, &mut log) {
            Ok(Some(new)) => (self.send_lines(&new, &endpoint), Some(new)),
            // Who may not read the log sends all.
            Ok(None) | Err(Error::Unauthorized { .. }) => (self.send_lines(batch, &endpoint), None),
            Err(why) => (Err(why), None),
        };
        if let (Err(why), Some(sources)) = (&sent, &mut self.sources) {
            match new {
                Some(new) if takes_nothing_now(why) => sources.keep(new),
                // The log could not be read on, and what was read of it stands.
                None if takes_nothing_now(why) => {}
                _ => sources.forget(&batch.session_id),
            }
        }
        sent.map(Ok)
    }

    pub(crate) fn take_notes(&mut self) -> Vec<String> {
        self.account.take_notes()
    }
}

/// Whether a server that takes nothing for now says so: another has the log, it is asked too often, the log is away, the disk is
/// full. To read a long log anew with each try would take ever longer, just when it is in trouble. Where lines were sent in
/// parts it may have taken the first of them: those come again with their ids, and are known by them.
fn takes_nothing_now(why: &Error) -> bool {
    matches!(
        why,
        Error::Later {
            status: Some(423 | 429 | 503 | 507),
            ..
        }
    )
}

/// A random part of a time that doubles with each try, so that many clients do not come back together; what the server
/// asks for is waited at least.
fn backoff(tries: u32, asked: Option<Duration>) -> Duration {
    let most = Duration::from_millis(250)
        .saturating_mul(1 << tries.min(10))
        .min(LONGEST_WAIT);
    let mut random = [0; 2];
    // Without randomness they come back together, which is only less even.
    let _ = getrandom::fill(&mut random);
    let part = most.mul_f64(f64::from(u16::from_le_bytes(random)) / f64::from(u16::MAX));
    asked.unwrap_or_default().min(LONGEST_ASKED) + part.max(Duration::from_millis(20))
}

#[cfg(test)]
mod tests;
