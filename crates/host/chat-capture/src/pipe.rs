//! An agent's output on its way through.
//!
//! Three threads, so that none waits for what it must not: one passes bytes on, one reads what they mean and writes it to
//! the spool, one sends the spool to the server.

mod delivery;
mod held;
mod left;
mod passing;
mod reading;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use chat_event::ChatEvent;
use chat_normalize::{Context, Dialect, SessionReader};

use crate::client::{Endpoint, Error};
use crate::sources::Words;
use delivery::Shared;
use passing::{PIECE_BYTES, read_some, write_whole};
use reading::{AtEnd, Reading, read};

pub use passing::pass_on;
pub use reading::Rewrite;

/// Looks for the server; asked anew before each try.
pub type FindEndpoint = Box<dyn Fn() -> Result<Endpoint, String> + Send + Sync>;

/// Where the server is now; where it is not found, it may be later.
pub(crate) fn found(find_endpoint: &FindEndpoint) -> Result<Endpoint, Error> {
    find_endpoint().map_err(|why| Error::Later {
        why,
        after_ms: None,
        status: None,
    })
}

/// The longest that the server is waited for after the end of the input: for ever, as far as anybody looks.
pub const LONGEST_WAIT: Duration = Duration::from_hours(24 * 365);

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
    /// What tells this run of the agent from others of its session, where the agent runs now.
    pub run_id: Option<String>,
    /// Where the agent runs, where its output does not say it.
    pub cwd: Option<String>,
    /// Whether somebody waits for the answers to what the agent asks, and hands them to it: no pipe can.
    pub takes_answers: bool,
    /// What changes events before they are kept, or sent.
    pub rewrite: Option<Box<dyn Rewrite>>,
    /// What texts are compared by with what other sources of a session told.
    pub compared_by: Option<Words>,
    /// Where events wait for the server.
    pub spool_dir: PathBuf,
    /// Where else there may be what earlier pipes left for it.
    pub left_in: Option<PathBuf>,
    /// Where the server is.
    pub find_endpoint: FindEndpoint,
    /// How long to wait for the server after the end of the input, [`LONGEST_WAIT`] at most.
    pub wait: Duration,
    /// How often we were asked to stop: at two it ends, whether the input does or not.
    pub stops: Arc<AtomicUsize>,
}

/// How it went.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The events made of the input.
    pub events: u64,
    /// Those that could be kept nowhere, as on a full disk.
    pub lost: u64,
    /// Whether the output could not be written, for another reason than that nobody reads it.
    pub output_failed: bool,
    /// Why the input is no agent's, where it is none.
    pub not_a_session: Option<String>,
    /// The file with the events the server has not taken.
    pub spooled: Option<PathBuf>,
    /// Whether the disk of that file has no locks: then nobody else sends it, for it may still be written to.
    pub unlocked: bool,
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
        let shared = Arc::new(Shared::new(
            self.spool_dir.clone(),
            self.left_in,
            self.find_endpoint,
            self.compared_by,
        ));
        let spool_dir = self.spool_dir;
        let wait = self.wait.min(LONGEST_WAIT);
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
                run: self.run_id,
                cwd: self.cwd,
                ..Context::default()
            };
            let reader = match self.dialect {
                Some(dialect) => SessionReader::with_dialect(context, dialect),
                None => SessionReader::new(context),
            };
            let reading = Reading {
                reader,
                takes_answers: self.takes_answers,
                rewrite: self.rewrite,
            };
            let stops = self.stops.clone();
            move || {
                let mut next = |timeout| shared.queue.pop(timeout);
                let mut keep = |dialect: Option<Dialect>, events: &[ChatEvent]| {
                    let kept = shared.spool.append(dialect, events);
                    kept.map_err(|why| why.to_string())
                };
                let outcome = read(
                    reading,
                    &mut next,
                    &now_ms,
                    &Instant::now,
                    &mut keep,
                    &AtEnd {
                        wait,
                        rest: &std::thread::sleep,
                        is_stopped: &|| stops.load(Ordering::SeqCst) >= 2,
                    },
                );
                shared.spool.finish();
                outcome
            }
        })?;
        spawn("send", {
            let shared = shared.clone();
            move || shared.send()
        })?;
        spawn("leftovers", {
            let shared = shared.clone();
            move || shared.send_leftovers()
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
        shared.wait_for_server(wait, &self.stops);
        shared.settle(&mut outcome);
        Ok(outcome)
    }
}

/// Bytes in, bytes out. Where nothing can be written any more, the rest is recorded all the same: an agent that goes on has
/// its session to the end.
fn pass(mut input: impl Read, output: impl Write, shared: &Shared, spool_dir: &Path) {
    let mut piece = vec![0; PIECE_BYTES];
    let mut output = Some(output);
    loop {
        let n = match read_some(&mut input, &mut piece) {
            Ok(0) => break,
            Ok(n) => n,
            Err(why) => {
                shared.note(format!("could not read the input: {why}"));
                break;
            }
        };
        let arrival_ms = now_ms();
        let passed = match &mut output {
            Some(output) => write_whole(output, &piece[..n]),
            None => Ok(()),
        };
        shared.queue.push(&piece[..n], arrival_ms, spool_dir);
        if let Err(why) = passed {
            shared.lose_output(&why);
            output = None;
        }
    }
    drop(input);
    shared.queue.close();
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

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
