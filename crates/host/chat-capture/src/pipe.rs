//! An agent's output on its way through.
//!
//! Three threads, so that none waits for what it must not: one passes bytes on, one reads what they mean and writes it to
//! the spool, one sends the spool to the server.

use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Dialect, SessionReader};

use crate::client::{Endpoint, Error};
use crate::leftover::{Leftover, leftovers};
use crate::queue::{Popped, Queue};
use crate::sender::Sender;
use crate::sources::forget_old;
use crate::spool::Spool;

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

/// What is passed on at once.
const PIECE_BYTES: usize = 64 * 1024;

/// How often the end and the signals are looked for.
const TICK: Duration = Duration::from_millis(20);

/// After this long without input, a session whose format does not say when a turn ends is taken to be idle.
const QUIET: Duration = Duration::from_secs(10);

/// So much longer than it is told to wait, it waits at the end for a server that asks it to, and takes nothing.
const LONGEST_PACED: Duration = Duration::from_secs(60);

/// A first event older than this was not made just now.
const RECENT_MS: i64 = 60_000;

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
                run: self.run_id,
                cwd: self.cwd,
            };
            let reader = match self.dialect {
                Some(dialect) => SessionReader::with_dialect(context, dialect),
                None => SessionReader::new(context),
            };
            let takes_answers = self.takes_answers;
            move || {
                let mut next = |timeout| shared.queue.pop(timeout);
                let mut keep = |dialect: Option<Dialect>, events: &[ChatEvent]| {
                    let kept = shared.spool.append(dialect, events);
                    kept.map_err(|why| why.to_string())
                };
                let outcome = read(reader, takes_answers, &mut next, &now_ms, &mut keep);
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
    /// Until when the server asks to wait, where it takes what we have at its own pace.
    asked_until: Mutex<Option<Instant>>,
}

impl Shared {
    fn send(&self) {
        let mut sender = Sender::new(&self.find_endpoint, self.spool.dir());
        let sent = |bytes| self.sent.store(bytes, Ordering::SeqCst);
        let note_refusal = |why: &str, paced: Option<Duration>| {
            *locked(&self.refusal) = Some(why.to_owned());
            *locked(&self.asked_until) = paced.map(|wait| Instant::now() + wait);
        };
        let ended = sender.run(&self.spool, &sent, &note_refusal);
        if let Err(why) = ended {
            self.note(why.to_string());
        }
        locked(&self.notes).append(&mut sender.take_notes());
        self.sender_ended.store(true, Ordering::SeqCst);
    }

    /// Waits until all is sent, or `wait` long for a server that takes nothing. One that takes what we have at its own
    /// pace is not left in the middle, within reason.
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
            if now >= given_up_at(deadline, asked.map(|until| until + wait)) {
                return;
            }
            std::thread::sleep(TICK);
        }
    }

    /// What earlier pipes could not send. It is tried once: the next one tries again.
    fn send_leftovers(&self, dir: &Path) {
        let ours = || self.spool.path();
        let mut sender = Sender::new(&self.find_endpoint, dir);
        for path in leftovers(dir) {
            if ours().is_some_and(|ours| ours == path) {
                continue;
            }
            let Ok(Some(leftover)) = Leftover::open(&path) else {
                continue;
            };
            // What could not be read is left for the next.
            let told = || {
                // Ours may be what goes on with it: it is noted with its first events.
                self.spool.wait_beyond(0);
                while self.sent.load(Ordering::SeqCst) == 0
                    && !self.sender_ended.load(Ordering::SeqCst)
                {
                    std::thread::sleep(TICK);
                }
            };
            match sender.send_leftover(&path, leftover, &told) {
                Ok(said) => said.into_iter().for_each(|said| self.note(said)),
                Err(why) => self.note(why.to_string()),
            }
        }
        locked(&self.notes).append(&mut sender.take_notes());
        forget_old(dir, SystemTime::now());
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

/// Keeps events that a source of a dialect tells.
type Keep<'a> = dyn FnMut(Option<Dialect>, &[ChatEvent]) -> Result<(), String> + 'a;

/// Bytes to events, events to where they are kept.
fn read(
    mut reader: SessionReader,
    takes_answers: bool,
    next: &mut dyn FnMut(Duration) -> std::io::Result<Popped>,
    now_ms: &dyn Fn() -> i64,
    keep: &mut Keep<'_>,
) -> Outcome {
    let mut outcome = Outcome::default();
    let mut spool_failed = false;
    let mut came = false;
    let mut timed = false;
    let mut events: Vec<ChatEvent> = Vec::new();
    loop {
        let result = match next(QUIET) {
            Ok(Popped::Nothing) => {
                reader.quiet(now_ms(), &mut events);
                Some(Ok(()))
            }
            Ok(Popped::Closed) => None,
            Ok(Popped::Piece { bytes, arrival_ms }) => {
                came = true;
                if outcome.not_a_session.is_some() {
                    continue;
                }
                let pushed = reader.push(&bytes, arrival_ms, &mut events);
                if !timed {
                    timed = time_the_first(&mut events, arrival_ms);
                }
                Some(pushed)
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
            None if !came => {
                outcome.not_a_session = Some("the input ended before anything came".to_owned());
                Ok(())
            }
            None => reader.finish(now_ms(), &mut events),
        };
        if let Err(why) = result {
            outcome.not_a_session = Some(why.to_string());
        }
        outcome.events += events.len() as u64;
        // Who writes ChatEvents says by itself what can be answered.
        if !takes_answers && reader.dialect() != Some(Dialect::ChatEvents) {
            events.iter_mut().for_each(is_answered_elsewhere);
        }
        if !events.is_empty()
            && !spool_failed
            && let Err(why) = keep(reader.dialect(), &events)
        {
            outcome.notes.push(why);
            spool_failed = true;
        }
        events.clear();
        if at_end {
            break;
        }
    }
    outcome
}

/// The first lines of a file may have no time, as the names of Claude Code's sessions: they bear that of their arrival
/// then, and the session would go on from now to long ago. They get the time of the first that has one. Whether one had.
fn time_the_first(events: &mut [ChatEvent], arrival_ms: i64) -> bool {
    let own = |event: &ChatEvent| event.timestamp.filter(|&at_ms| at_ms != arrival_ms);
    let Some((at, first_ms)) = events
        .iter()
        .enumerate()
        .find_map(|(at, event)| Some((at, own(event)?)))
    else {
        return false;
    };
    // What is new has its arrival for its time, near enough.
    if first_ms < arrival_ms - RECENT_MS {
        for event in &mut events[..at] {
            event.timestamp = Some(first_ms);
        }
    }
    true
}

/// Answers go against the stream: what asks here would wait for ever for one that is given anywhere else.
fn is_answered_elsewhere(event: &mut ChatEvent) {
    match &mut event.payload {
        Payload::PermissionRequest(it) => it.answerable = Some(false),
        Payload::QuestionRequest(it) => it.answerable = Some(false),
        _ => {}
    }
}

/// A server that says when it takes more is waited for until then, but not for ever.
fn given_up_at(deadline: Instant, paced: Option<Instant>) -> Instant {
    paced.map_or(deadline, |paced| {
        paced.clamp(deadline, deadline + LONGEST_PACED)
    })
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

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    reason = "a promise that is not kept fails its test"
)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const STEP: &str = r#"{"type":"step_start","timestamp":1000,"sessionID":"ses_1","part":{"id":"prt_1","messageID":"msg_1","sessionID":"ses_1","type":"step-start"}}
{"type":"text","timestamp":1001,"sessionID":"ses_1","part":{"id":"prt_2","messageID":"msg_1","sessionID":"ses_1","type":"text","text":"Done.","time":{"start":1000,"end":1001}}}
"#;

    /// What is said of busy and idle, and when, for pieces of input and quiet periods (`None`).
    fn said(dialect: Dialect, input: &[Option<&str>]) -> Vec<(i64, String, bool)> {
        let clock = Cell::new(5_000);
        let mut input = input.iter();
        let mut next = |timeout: Duration| {
            Ok(match input.next() {
                Some(Some(text)) => Popped::Piece {
                    bytes: text.as_bytes().to_vec(),
                    arrival_ms: clock.get(),
                },
                Some(None) => {
                    clock.set(clock.get() + i64::try_from(timeout.as_millis()).unwrap());
                    Popped::Nothing
                }
                None => Popped::Closed,
            })
        };
        let mut said = Vec::new();
        let mut keep = |_: Option<Dialect>, events: &[ChatEvent]| {
            for event in events {
                if let Payload::SessionStatus(status) = &event.payload {
                    let guessed = status.guessed == Some(true);
                    let at = event.timestamp.unwrap_or(0);
                    said.push((at, status.status.clone(), guessed));
                }
            }
            Ok(())
        };
        let reader = SessionReader::with_dialect(Context::default(), dialect);
        read(reader, false, &mut next, &|| clock.get(), &mut keep);
        said
    }

    /// The end of the step, and why it ended.
    fn finished(reason: &str, at_ms: i64) -> String {
        format!(
            r#"{{"type":"step_finish","timestamp":{at_ms},"sessionID":"ses_1","part":{{"id":"prt_9","messageID":"msg_1","sessionID":"ses_1","type":"step-finish","reason":"{reason}","cost":0,"tokens":{{"input":1,"output":1}}}}}}"#
        ) + "\n"
    }

    #[test]
    fn a_quiet_period_tells_the_end_of_a_turn_where_nothing_else_does() {
        let step = format!("{STEP}{}", finished("stop", 1_002));
        let more = STEP.replace("prt_2", "prt_3").replace("1001", "30000");
        let more = format!(
            "{more}{}",
            finished("stop", 30_001).replace("prt_9", "prt_8")
        );
        let input = [Some(step.as_str()), None, None, None, Some(&more)];
        assert_eq!(
            said(Dialect::OpenCodeRun, &input),
            [
                (1000, "busy".to_owned(), false),
                (15_000, "idle".to_owned(), true),
                (30_000, "busy".to_owned(), false),
                (30_001, "idle".to_owned(), false),
            ]
        );
    }

    #[test]
    fn a_step_that_has_begun_or_ended_with_calls_goes_on() {
        let calls = format!("{STEP}{}", finished("tool-calls", 1_002));
        for input in [STEP, &calls] {
            let said = said(Dialect::OpenCodeRun, &[Some(input), None, None]);
            let said: Vec<&str> = said.iter().map(|(_, status, _)| status.as_str()).collect();
            assert_eq!(said, ["busy", "idle"], "only at its end");
        }
    }

    #[test]
    fn a_server_that_asks_to_wait_is_waited_for_within_reason() {
        let deadline = Instant::now();
        let at = |seconds| deadline + Duration::from_secs(seconds);
        assert_eq!(given_up_at(at(5), None), at(5));
        assert_eq!(given_up_at(at(5), Some(at(2))), at(5));
        assert_eq!(given_up_at(at(5), Some(at(9))), at(9));
        assert_eq!(given_up_at(at(5), Some(at(3600))), at(5) + LONGEST_PACED);
    }

    #[test]
    fn first_lines_without_a_time_get_that_of_the_first_that_has_one() {
        let named = r#"{"type":"summary","summary":"A name","leafUuid":"u1"}"#;
        let asked = r#"{"type":"user","uuid":"u1","sessionId":"s","timestamp":"2025-09-03T00:52:31.217Z","message":{"role":"user","content":"Hello"}}"#;
        let mut pieces = vec![format!("{named}\n{asked}\n").into_bytes()].into_iter();
        let mut next = |_: Duration| {
            Ok(match pieces.next() {
                Some(bytes) => Popped::Piece {
                    bytes,
                    arrival_ms: 1_795_697_824_523,
                },
                None => Popped::Closed,
            })
        };
        let mut times = Vec::new();
        let mut keep = |_: Option<Dialect>, events: &[ChatEvent]| {
            times.extend(events.iter().map(|event| event.timestamp));
            Ok(())
        };
        let reader = SessionReader::new(Context::default());
        read(reader, false, &mut next, &|| 1_795_697_824_523, &mut keep);
        assert!(times.len() > 3, "{times:?}");
        assert!(
            times.iter().all(|at| *at == Some(1_756_860_751_217)),
            "{times:?}"
        );
    }

    #[test]
    fn a_format_that_says_when_a_turn_ends_is_waited_for() {
        let begun =
            "{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n{\"type\":\"turn.started\"}\n";
        let said = said(Dialect::CodexExec, &[Some(begun), None, None]);
        let said: Vec<&str> = said.iter().map(|(_, status, _)| status.as_str()).collect();
        assert_eq!(said, ["busy", "idle"]);
    }
}
