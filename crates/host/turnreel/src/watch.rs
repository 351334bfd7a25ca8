//! `turnreel`, or `turnreel watch`: serves the page, finds the sessions that agents keep on this machine, follows them, and
//! opens the page.
//!
//! Finding and reading is `chat_capture::Follow`'s, on a thread of its own; what it tells is stored and published here as
//! what is sent, by `ingest`. How the browser is led to the page is for `browser`.

mod browser;
mod handover;
mod said;
mod taker;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use chat_capture::{Agent, Follow, FollowSettings, Found, Place, places};
use clap::builder::BoolishValueParser;
use tokio::sync::oneshot;

use crate::masking;
use crate::serve::{self, spool_dir};
use crate::state::State;
use taker::Store;

/// How far back sessions are read, where nothing else is asked for.
const DAYS: u32 = 7;

/// A stop waits no longer for the slice that is read: a pipe that somebody paused may hold up what is told.
const MOST_HALT: Duration = Duration::from_secs(3);

/// Who removes a session waits for its place in its agent's files, which a disk that is busy may hold up for seconds: killed
/// before that, a server would read it again.
const MOST_NOTE: Duration = Duration::from_secs(60);

/// What `turnreel watch` is told.
#[derive(Debug, clap::Args)]
#[group(id = "watch")]
pub(crate) struct Args {
    /// Read sessions that changed within so many days; older ones are read when they go on. 0 reads only what changes from
    /// now on.
    #[arg(long, value_name = "N", env = "TURNREEL_DAYS", default_value_t = DAYS)]
    days: u32,

    /// Leave these agents' sessions alone: claude, codex, opencode, gemini, pi, qwen, droid, grok, kimi,
    /// copilot, vibe, openhands, goose, crush, cline, roo, kilo; more than one by commas, or given more than once.
    #[arg(long, value_name = "AGENT", env = "TURNREEL_SKIP", value_delimiter = ',', value_parser = parse_agent)]
    skip: Vec<Agent>,

    /// Do not open the page in a browser.
    #[arg(long, env = "TURNREEL_NO_OPEN", value_parser = BoolishValueParser::new())]
    no_open: bool,

    #[command(flatten)]
    serve: serve::Args,
}

/// What is followed beside serving.
#[derive(Debug)]
pub(crate) struct Watch {
    places: Vec<Place>,
    newer_than: Duration,
    /// Whether the page is to be opened, once it is there.
    pub(crate) open: bool,
}

fn parse_agent(text: &str) -> Result<Agent, String> {
    Agent::from_word(text)
        .ok_or_else(|| "expected claude, codex, opencode, gemini, pi, qwen, droid, grok, kimi, copilot, vibe, openhands, goose, crush, cline, roo or kilo".to_owned())
}

/// Runs the command until the process is told to stop.
pub(crate) fn command(args: Args) -> ExitCode {
    let mut places = places(&|name| std::env::var_os(name));
    places.retain(|place| !args.skip.contains(&place.agent));
    let watch = Watch {
        places,
        newer_than: Duration::from_hours(24 * u64::from(args.days)),
        open: !args.no_open,
    };
    serve::run(args.serve, Some(watch))
}

/// What the thread that follows is asked for.
#[derive(Debug)]
enum Asked {
    /// To note how far all was told, so that it counts whatever comes next; and to say so.
    Note(oneshot::Sender<()>),
    Stop,
}

/// Asks the thread that follows.
#[derive(Debug)]
pub(crate) struct Asking(mpsc::Sender<Asked>);

impl Asking {
    /// Has it noted how far all was told, also where all is killed behind that: what was removed by then is not read again.
    /// Where it takes too long, nobody waits for it, which is said.
    pub(crate) async fn note(&self) {
        let (done, noted) = oneshot::channel();
        let is_asked = self.0.send(Asked::Note(done)).is_ok();
        if is_asked && tokio::time::timeout(MOST_NOTE, noted).await.is_err() {
            tracing::warn!(
                "how far agents' files are read is not noted yet: killed now, the server would read again what was removed"
            );
        }
    }
}

/// The thread that follows.
pub(crate) struct Watching {
    asking: mpsc::Sender<Asked>,
    thread: std::thread::JoinHandle<Option<Follow>>,
}

impl Watch {
    /// Looks around once, and follows from then on; what was found. The first look is quick, whatever lies there: nothing is
    /// read for it.
    pub(crate) fn begin(
        self,
        state: &State,
        data: &Path,
    ) -> Result<(Watching, Vec<Found>), String> {
        let names = self.places.iter().map(|place| place.agent.name());
        let mut names: Vec<_> = names.collect();
        names.dedup();
        // There is one `watch` a server.
        let _ = state.followed.set(names);
        let settings = FollowSettings {
            places: self.places,
            newer_than: self.newer_than,
            spool_dir: spool_dir(data),
            kept: data.join("following.json"),
            compared_by: Some(masking::words),
        };
        let mut follow = Follow::new(settings);
        let mut store = Store::new(state.clone(), tokio::runtime::Handle::current());
        let found = follow.look(&mut store);
        let (asking, asked) = mpsc::channel();
        let _ = state.following.set(Asking(asking.clone()));
        let of_logs = state.clone();
        let work = move || {
            loop {
                let step = AssertUnwindSafe(|| follow.step(&mut store));
                let Ok(pause) = catch_unwind(step) else {
                    tracing::error!("agents' sessions are no longer followed; a new start goes on");
                    return None;
                };
                match asked.recv_timeout(pause) {
                    Err(mpsc::RecvTimeoutError::Timeout) => {}
                    Ok(Asked::Note(done)) => {
                        // It must not say that more was told than stands there after a power failure.
                        of_logs.store.sync();
                        follow.close();
                        let _ = done.send(());
                    }
                    Ok(Asked::Stop) | Err(mpsc::RecvTimeoutError::Disconnected) => {
                        return Some(follow);
                    }
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("follow".to_owned())
            .spawn(work)
            .map_err(|why| format!("could not start a thread: {why}"))?;
        Ok((Watching { asking, thread }, found))
    }
}

impl Watching {
    /// Asks it to stop, and waits for the slice that it is at. What is left is to note how far all was told; where that takes
    /// too long, the next start goes on from the last note.
    pub(crate) fn halt(self) -> Option<Follow> {
        let _ = self.asking.send(Asked::Stop);
        let began = Instant::now();
        while !self.thread.is_finished() {
            if began.elapsed() > MOST_HALT {
                tracing::warn!("agents' sessions are still being read; stopping without them");
                return None;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        // Where it failed, that is told by then.
        self.thread.join().ok().flatten()
    }
}

/// Says what was found.
pub(crate) fn report(found: &[Found]) -> String {
    said::report(found)
}

/// Leads the browser to the page, where there is one to be had; the thread ends when it is there.
pub(crate) fn open_page(address: &str) -> Option<std::thread::JoinHandle<()>> {
    browser::has_display().then(|| browser::open(address.to_owned()))
}
