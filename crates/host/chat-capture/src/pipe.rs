//! An agent's output on its way through.
//!
//! Three threads, so that none waits for what it must not: one passes bytes on, one reads what they mean and writes it to
//! the spool, one sends the spool to the server.

use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use chat_event::ChatEvent;
use chat_normalize::{Context, Dialect, SessionReader};

use crate::client::Endpoint;
use crate::queue::{Popped, Queue};
use crate::sender::Sender;
use crate::spool::{Leftover, Spool, leftovers};

/// Looks for the server; asked anew before each try.
pub type FindEndpoint = Box<dyn Fn() -> Result<Endpoint, String> + Send + Sync>;

/// What is passed on at once.
const PIECE_BYTES: usize = 64 * 1024;

/// How often the end and the signals are looked for.
const TICK: Duration = Duration::from_millis(20);

/// One run of an agent.
pub struct Pipe {
    /// The session the events shall belong to.
    pub session_id: Option<String>,
    /// What the agent was asked.
    pub prompt: Option<String>,
    /// The format, where it shall not be told from the input.
    pub dialect: Option<Dialect>,
    /// Where events wait for the server.
    pub spool_dir: PathBuf,
    /// Where the server is.
    pub find_endpoint: FindEndpoint,
    /// How long to wait for the server after the end of the input.
    pub wait: Duration,
    /// How often we were asked to stop: at two it ends, whether the input does or not.
    pub stops: Arc<AtomicUsize>,
}

/// How it went.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The events made of the input.
    pub events: u64,
    /// Why the input is no agent's, where it is none.
    pub not_a_session: Option<String>,
    /// The file with the events the server has not taken.
    pub spooled: Option<PathBuf>,
    /// What the operator should know.
    pub notes: Vec<String>,
}

impl Pipe {
    /// Passes `input` on to `output` until its end, and sends what it says.
    ///
    /// # Errors
    ///
    /// Where no thread can be started. Trouble with the server or the spool is no error: the output goes on.
    pub fn run(
        self,
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
    ) -> Result<Outcome, String> {
        let shared = Arc::new(Shared {
            queue: Queue::new(),
            spool: Spool::new(self.spool_dir.clone()),
            find_endpoint: self.find_endpoint,
            sent: AtomicU64::new(0),
            sender_ended: AtomicBool::new(false),
            notes: Mutex::default(),
            refusal: Mutex::default(),
            asked_until: Mutex::default(),
        });
        let spool_dir = self.spool_dir.clone();
        // Not joined: where we are told to stop, it may wait for input for ever.
        spawn("pass", {
            let shared = shared.clone();
            move || pass(input, output, &shared, &spool_dir)
        })?;
        let reading = spawn("read", {
            let shared = shared.clone();
            let context = Context {
                session_id: self.session_id,
                prompt: self.prompt,
            };
            let reader = match self.dialect {
                Some(dialect) => SessionReader::with_dialect(context, dialect),
                None => SessionReader::new(context),
            };
            move || read(reader, &shared)
        })?;
        spawn("send", {
            let shared = shared.clone();
            move || shared.send()
        })?;
        spawn("leftovers", {
            let shared = shared.clone();
            let spool_dir = self.spool_dir;
            move || shared.send_leftovers(&spool_dir)
        })?;
        while !reading.is_finished() {
            if self.stops.load(Ordering::SeqCst) >= 2 {
                shared.queue.close();
            }
            std::thread::sleep(TICK);
        }
        let mut outcome = reading
            .join()
            .map_err(|_| "the reading thread failed".to_owned())?;
        shared.wait_for_server(self.wait, &self.stops);
        shared.settle(&mut outcome);
        Ok(outcome)
    }
}

/// What the threads share.
struct Shared {
    queue: Queue,
    spool: Spool,
    find_endpoint: FindEndpoint,
    /// Bytes of the spool that the server has.
    sent: AtomicU64,
    sender_ended: AtomicBool,
    notes: Mutex<Vec<String>>,
    refusal: Mutex<Option<String>>,
    /// Until when the server asks to wait.
    asked_until: Mutex<Option<Instant>>,
}

impl Shared {
    fn send(&self) {
        let mut sender = Sender::new(&self.find_endpoint);
        let sent = |bytes| self.sent.store(bytes, Ordering::SeqCst);
        let note_refusal = |why: &str, asked: Option<Duration>| {
            *locked(&self.refusal) = Some(why.to_owned());
            *locked(&self.asked_until) = asked.map(|wait| Instant::now() + wait);
        };
        let ended = sender.run(&self.spool, &sent, &note_refusal);
        if let Err(why) = ended {
            self.note(why.to_string());
        }
        locked(&self.notes).append(&mut sender.take_notes());
        self.sender_ended.store(true, Ordering::SeqCst);
    }

    /// Waits until all is sent, or `wait` long for a server that takes nothing. One that takes what we have at its own
    /// pace is not left in the middle.
    fn wait_for_server(&self, wait: Duration, stops: &AtomicUsize) {
        let mut sent = self.sent.load(Ordering::SeqCst);
        let mut deadline = Instant::now() + wait;
        while !self.sender_ended.load(Ordering::SeqCst) && stops.load(Ordering::SeqCst) < 2 {
            let now = Instant::now();
            let sent_now = self.sent.load(Ordering::SeqCst);
            if sent_now > sent {
                sent = sent_now;
                deadline = now + wait;
            }
            let asked = locked(&self.asked_until).filter(|_| !wait.is_zero());
            if now >= asked.map_or(deadline, |until| deadline.max(until + wait)) {
                return;
            }
            std::thread::sleep(TICK);
        }
    }

    /// What earlier pipes could not send. It is tried once: the next one tries again.
    fn send_leftovers(&self, dir: &Path) {
        let ours = || self.spool.path();
        let mut sender = Sender::new(&self.find_endpoint);
        for path in leftovers(dir) {
            if ours().is_some_and(|ours| ours == path) {
                continue;
            }
            let Ok(Some(mut leftover)) = Leftover::open(&path) else {
                continue;
            };
            while let Ok(Some(batch)) = leftover.next_batch() {
                sender.send(&batch, &mut |pause| std::thread::sleep(pause.wait));
            }
            if let Err(why) = leftover.remove() {
                self.note(why.to_string());
            }
        }
    }

    fn note(&self, note: String) {
        locked(&self.notes).push(note);
    }

    /// What is left to say and to tidy at the end.
    fn settle(&self, outcome: &mut Outcome) {
        let delivered = self.sent.load(Ordering::SeqCst) >= self.spool.written();
        if delivered {
            if let Err(why) = self.spool.remove() {
                self.note(why.to_string());
            }
        } else {
            outcome.spooled = self.spool.path();
            if let Some(why) = locked(&self.refusal).take() {
                outcome.notes.push(why);
            }
        }
        let lost = self.queue.lost_bytes();
        if lost > 0 {
            self.note(format!("{lost} bytes were passed on but could not be read"));
        }
        outcome.notes.append(&mut locked(&self.notes));
    }
}

/// Bytes in, bytes out.
fn pass(mut input: impl Read, mut output: impl Write, shared: &Shared, spool_dir: &Path) {
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let n = match input.read(&mut piece) {
            Ok(0) => break,
            Ok(n) => n,
            Err(why) if why.kind() == ErrorKind::Interrupted => continue,
            Err(why) => {
                shared.note(format!("could not read the input: {why}"));
                break;
            }
        };
        let arrival_ms = now_ms();
        let passed = output.write_all(&piece[..n]).and_then(|()| output.flush());
        shared.queue.push(&piece[..n], arrival_ms, spool_dir);
        if let Err(why) = passed {
            // Nobody reads on: the agent must hear of it, as it would without us. It does when we stop reading.
            if why.kind() != ErrorKind::BrokenPipe {
                shared.note(format!("could not write the output: {why}"));
            }
            break;
        }
    }
    drop(input);
    shared.queue.close();
}

/// Bytes to events, events to the spool.
fn read(mut reader: SessionReader, shared: &Shared) -> Outcome {
    let mut outcome = Outcome::default();
    let mut spool_failed = false;
    let mut events: Vec<ChatEvent> = Vec::new();
    loop {
        let popped = shared.queue.pop(Duration::from_secs(3600));
        let result = match popped {
            Ok(Popped::Nothing) => continue,
            Ok(Popped::Closed) => None,
            Ok(Popped::Piece { bytes, arrival_ms }) => {
                if outcome.not_a_session.is_some() {
                    continue;
                }
                Some(reader.push(&bytes, arrival_ms, &mut events))
            }
            Err(why) => {
                outcome
                    .notes
                    .push(format!("could not read what was set aside: {why}"));
                None
            }
        };
        let at_end = result.is_none();
        let result = match result {
            Some(result) => result,
            None if outcome.not_a_session.is_some() => Ok(()),
            None => reader.finish(now_ms(), &mut events),
        };
        if let Err(why) = result {
            outcome.not_a_session = Some(why.to_string());
        }
        outcome.events += events.len() as u64;
        if !spool_failed && let Err(why) = shared.spool.append(&events) {
            outcome.notes.push(why.to_string());
            spool_failed = true;
        }
        events.clear();
        if at_end {
            break;
        }
    }
    shared.spool.finish();
    outcome
}

fn spawn<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> Result<std::thread::JoinHandle<T>, String> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(run)
        .map_err(|why| format!("could not start a thread: {why}"))
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
