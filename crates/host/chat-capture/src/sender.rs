//! Sending what is in a spool, until the server has it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chat_event::{BodyRef, ChatEvent, bodies};

use crate::client::{Client, Endpoint, Error};
use crate::leftover::Leftover;
use crate::pipe::{FindEndpoint, found};
use crate::sources::{Entered, Sources, Words, log_after};
use crate::spool::{Batch, Reader, Spool, keep_refused};

/// Between the starts of two batches: a chunk leaves at once, and a flood in few requests.
const PACE: Duration = Duration::from_millis(50);

/// The longest that a server is waited for because it asks.
const LONGEST_ASKED: Duration = Duration::from_secs(3600);

/// The longest that it is waited for with what an earlier pipe left, and how often in a row: that is kept from others.
const LONGEST_HELD: Duration = Duration::from_secs(60);
const MOST_HELD: u32 = 5;

/// The longest wait between two tries.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Lines over this are sent with their bodies beside them; the server takes requests of 8 MiB.
const LINE_BYTES: usize = 7 * 1024 * 1024;

/// Bodies over this go beside such a line.
const BODY_BYTES: usize = 128 * 1024;

/// What the operator should know at the end, at most so many lines of it.
const MAX_NOTES: usize = 10;

pub(crate) struct Sender<'a> {
    find_endpoint: &'a FindEndpoint,
    client: Client,
    /// Beside what is kept of what the server refuses.
    spool_dir: PathBuf,
    /// What others tell of the sessions of the spool that is sent.
    sources: Option<Sources>,
    /// What texts are compared by with what those told.
    words: Option<Words>,
    /// Whether it waits where another source tells of a session now.
    waits: bool,
    tries: u32,
    notes: Vec<String>,
    /// How many events were refused, and where they are kept.
    n_refused: usize,
    /// How many of them have ids of events that stand there, by their session.
    n_told: BTreeMap<String, usize>,
    /// How many events were there already, at another time, by their session.
    n_there: BTreeMap<String, usize>,
    kept: Option<PathBuf>,
    /// The last reason for which the server has not taken something.
    pub(crate) last_refusal: Option<String>,
}

/// Why a batch was not sent.
enum Unsent {
    /// Another source tells of the session now: the file of its notes.
    Held(PathBuf),
    /// It is not tried again.
    GivenUp(Error),
}

/// What became of what an earlier pipe left.
pub(crate) enum Sent {
    /// The server has it; what is to be said of it.
    All(Option<String>),
    /// Another source tells of one of its sessions now, or was stopped in the middle of that; so it is said. The file stays
    /// for the next.
    Held(String),
    /// It is not known whether a session goes on that it left open. The file stays for the next.
    Untold,
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
            spool_dir: spool_dir.to_owned(),
            sources: None,
            waits: true,
            tries: 0,
            notes: Vec::new(),
            n_refused: 0,
            n_told: BTreeMap::new(),
            n_there: BTreeMap::new(),
            kept: None,
            last_refusal: None,
        }
    }

    /// Sends the spool up to its end, as it grows; `sent` is told how far the server has it.
    pub(crate) fn run(
        &mut self,
        spool: &Spool,
        sent: &dyn Fn(u64),
        note_refusal: &dyn Fn(&str, Option<Duration>),
    ) -> Result<(), Error> {
        let mut at = 0;
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
                // Who waits for the others is held by none of them.
                let _ = self.send(&batch, false, &mut rest);
                at = batch.end;
                // What is held back is not there before its end.
                sent(at.saturating_sub(u64::from(self.holds_back())));
            }
            at = end;
            sent(at.saturating_sub(u64::from(self.holds_back())));
            if let Some(pause) = PACE.checked_sub(started.elapsed()) {
                spool.rest(pause);
            }
        }
        let _ = self.end(at, &mut rest);
        sent(at);
        Ok(())
    }

    /// Sends what an earlier pipe left. Of sessions that it left open it is known once `told` says yes whether they go on.
    ///
    /// # Errors
    ///
    /// Where the server does not take it now, or the disk refuses: it is held from whoever else could send it, and so not
    /// tried again. A server that takes it at its own pace does take it.
    pub(crate) fn send_leftover(
        &mut self,
        path: &Path,
        mut leftover: Leftover,
        told: &dyn Fn() -> bool,
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
        self.waits = false;
        self.tries = 0;
        let unsent = |why: Unsent| match why {
            Unsent::Held(notes) => Ok(Sent::Held(format!(
                "not sent yet: another process holds the session's notes {}, as a `turnreel pipe` does that was stopped; the next pipe or the server sends it: {}",
                notes.display(),
                path.display()
            ))),
            Unsent::GivenUp(why) => Err(why),
        };
        let mut end = 0;
        while let Some(batch) = leftover.next_batch()? {
            if let Err(why) = self.send(&batch, false, &mut rest) {
                return unsent(why);
            }
            end = batch.end;
        }
        if leftover.has_open() && !told() {
            return Ok(Sent::Untold);
        }
        for batch in leftover.cut_off() {
            if let Err(why) = self.send(&batch, false, &mut rest) {
                return unsent(why);
            }
        }
        match self.end(end, &mut rest) {
            Ok(()) => leftover.remove().map(Sent::All),
            Err(why) => unsent(why),
        }
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

    /// Sends one batch, however long the server takes for that, as long as `rest` goes on.
    fn send(&mut self, batch: &Batch, is_end: bool, rest: &mut Rest<'_>) -> Result<(), Unsent> {
        loop {
            let why = match self.send_once(batch, is_end) {
                Ok(sent) => {
                    self.tries = 0;
                    self.last_refusal = None;
                    return sent.map_err(Unsent::Held);
                }
                Err(why) => why,
            };
            self.tries = self.tries.saturating_add(1);
            let (asked, is_pace) = match &why {
                Error::Later {
                    after_ms, status, ..
                } => (
                    after_ms.map(Duration::from_millis),
                    after_ms.is_some() && *status == Some(429),
                ),
                _ => (None, false),
            };
            let pause = Pause {
                wait: backoff(self.tries, asked),
                is_pace,
                why: why.to_string(),
                tries: self.tries,
            };
            let goes_on = rest(&pause);
            self.last_refusal = Some(pause.why);
            if !goes_on {
                return Err(Unsent::GivenUp(why));
            }
        }
    }

    /// Sends what of a batch is new. Where another source tells of the session now: the file of its notes.
    fn send_once(&mut self, batch: &Batch, is_end: bool) -> Result<Result<(), PathBuf>, Error> {
        let endpoint = found(self.find_endpoint)?;
        let Some(sources) = &mut self.sources else {
            return self.send_lines(batch, &endpoint).map(Ok);
        };
        let entered = match self.waits {
            true => sources.enter(&batch.session_id),
            false => sources.try_enter(&batch.session_id),
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
        let sent = match sources.new_of(&turn, batch, is_end, &mut log) {
            Ok(Some(new)) => self.send_lines(&new, &endpoint),
            // Who may not read the log sends all.
            Ok(None) | Err(Error::Unauthorized { .. }) => self.send_lines(batch, &endpoint),
            Err(why) => Err(why),
        };
        if let (Err(_), Some(sources)) = (&sent, &mut self.sources) {
            sources.forget(&batch.session_id);
        }
        sent.map(Ok)
    }

    /// Sends lines, in smaller batches where they are too much for one; what would be refused each time, and hold up all
    /// that follows, is kept.
    fn send_lines(&mut self, batch: &Batch, endpoint: &Endpoint) -> Result<(), Error> {
        if batch.lines.is_empty() {
            return Ok(());
        }
        match self.post(batch, endpoint) {
            Err(Error::TooLarge) if batch.lines.len() > 1 => {
                let (first, second) = halves(batch);
                self.send_lines(&first, endpoint)?;
                return self.send_lines(&second, endpoint);
            }
            Err(Error::IdsTaken { there, .. }) => {
                self.there_before(batch, there.len());
                self.told_before(batch, batch.lines.len() - there.len());
                let lines = batch.lines.iter().enumerate();
                let others = lines.filter(|(at, _)| !there.contains(at));
                let others: Vec<&str> = others.map(|(_, line)| line.as_str()).collect();
                if !others.is_empty() {
                    self.keep_refused(batch, &others);
                }
                return Ok(());
            }
            Err(why @ (Error::TooLarge | Error::Refused { .. })) => self.note(why.to_string()),
            sent => return sent,
        }
        let lines: Vec<&str> = batch.lines.iter().map(String::as_str).collect();
        self.keep_refused(batch, &lines);
        Ok(())
    }

    fn post(&mut self, batch: &Batch, endpoint: &Endpoint) -> Result<(), Error> {
        let taken = if batch.lines.iter().any(|line| line.len() > LINE_BYTES) {
            let small = self.with_bodies_beside(batch, endpoint)?;
            self.client.post(endpoint, &small)?
        } else {
            self.client.post(endpoint, batch)?
        };
        let mut lines = Vec::new();
        for (at, why) in taken.refused {
            self.note(format!("the server refused an event: {why}"));
            lines.extend(batch.lines.get(at).map(String::as_str));
        }
        self.there_before(batch, taken.there.len());
        self.told_before(batch, taken.ids_taken.len());
        let told_before = taken.ids_taken.iter().filter_map(|at| batch.lines.get(*at));
        lines.extend(told_before.map(String::as_str));
        if !lines.is_empty() {
            self.keep_refused(batch, &lines);
        }
        Ok(())
    }

    /// The same was told before; what has no time of its own had another one then.
    fn there_before(&mut self, batch: &Batch, n_events: usize) {
        if n_events > 0 {
            *self.n_there.entry(batch.session_id.clone()).or_default() += n_events;
        }
    }

    /// Ids come from the agent: where other events have them, the agent told the same by another way.
    fn told_before(&mut self, batch: &Batch, n_events: usize) {
        if n_events > 0 {
            *self.n_told.entry(batch.session_id.clone()).or_default() += n_events;
        }
    }

    /// What the server does not take is kept where it is no longer in the way.
    fn keep_refused(&mut self, batch: &Batch, lines: &[&str]) {
        match keep_refused(&self.spool_dir, &batch.session_id, lines) {
            Ok(path) => {
                self.n_refused += lines.len();
                self.kept = Some(path);
            }
            Err(why) => self.note(format!("{} events are lost: {why}", lines.len())),
        }
    }

    /// The batch with its large bodies uploaded and referred to.
    fn with_bodies_beside(&self, batch: &Batch, endpoint: &Endpoint) -> Result<Batch, Error> {
        let mut small = batch.clone();
        for line in &mut small.lines {
            let Ok(mut event) = ChatEvent::from_json(line) else {
                continue;
            };
            bodies::take_out(&mut event, BODY_BYTES, &mut |body| {
                let sha256 = self.client.put(endpoint, body)?;
                Ok::<_, Error>(BodyRef::to(body, sha256))
            })?;
            *line = event.to_line();
        }
        Ok(small)
    }

    fn note(&mut self, note: String) {
        if self.notes.len() < MAX_NOTES && self.notes.last() != Some(&note) {
            self.notes.push(note);
        }
    }

    pub(crate) fn take_notes(&mut self) -> Vec<String> {
        let mut notes = std::mem::take(&mut self.notes);
        for (session_id, n) in std::mem::take(&mut self.n_there) {
            let events = if n == 1 { "event" } else { "events" };
            notes.push(format!(
                "{n} {events} of {session_id} were there already, and stay as they are: only their times differ"
            ));
        }
        for (session_id, n) in std::mem::take(&mut self.n_told) {
            let events = if n == 1 { "event" } else { "events" };
            notes.push(format!(
                "{n} {events} of {session_id} stood there in other words: another source tells of this session too, and its turns may stand twice; one source is enough"
            ));
        }
        if let Some(path) = self.kept.take() {
            let n = std::mem::take(&mut self.n_refused);
            let events = if n == 1 { "event is" } else { "events are" };
            let path = path.display();
            notes.push(format!(
                "{n} {events} not in the session, for the server refused them; kept in {path}"
            ));
        }
        notes
    }
}

fn halves(batch: &Batch) -> (Batch, Batch) {
    let (first, second) = batch.lines.split_at(batch.lines.len() / 2);
    let half = |lines: &[String]| Batch {
        session_id: batch.session_id.clone(),
        lines: lines.to_vec(),
        end: batch.end,
    };
    (half(first), half(second))
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
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_bound_and_are_at_least_what_was_asked_within_reason() {
        for tries in 1..40 {
            assert!(backoff(tries, None) <= LONGEST_WAIT);
            assert!(backoff(tries, Some(Duration::from_secs(9))) >= Duration::from_secs(9));
            assert!(backoff(tries, Some(Duration::MAX)) <= LONGEST_ASKED + LONGEST_WAIT);
        }
    }
}
