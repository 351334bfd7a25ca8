//! `turnreel hook`: the command around `chat_capture::Asked`.

use std::io::{Read, Write};
use std::process::ExitCode;
use std::sync::Arc;

use chat_capture::{Asked, RewriteAll};
use chat_event::ChatEvent;
use chat_feed::mask::LiveMasker;
use clap::builder::BoolishValueParser;

use crate::config;
use crate::data_dir;
use crate::pipe::{EndpointArgs, endpoint_finder};
use crate::{signals, stderr};

/// More than a hook is ever handed.
const INPUT_BYTES: u64 = 16 * 1024 * 1024;

/// What `turnreel hook` is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    server: EndpointArgs,

    /// Mask secrets before they are kept or sent; so it is where turnreel.toml in the data folder says `mask = true`.
    #[arg(long, env = "TURNREEL_MASK", value_parser = BoolishValueParser::new())]
    mask: bool,
}

/// Runs the command. It never fails: an agent whose hook fails is stopped, or warned, for nothing.
pub(crate) fn command(args: Args) -> ExitCode {
    if let Err(why) = run(args) {
        stderr::say("hook", why);
    }
    ExitCode::SUCCESS
}

fn run(args: Args) -> Result<(), String> {
    let mut input = String::new();
    std::io::stdin()
        .take(INPUT_BYTES)
        .read_to_string(&mut input)
        .map_err(|why| format!("could not read the input: {why}"))?;
    let dir = data_dir::resolve(args.server.data_arg())?;
    let spool = args.server.spool_dir(&dir);
    let find_endpoint = endpoint_finder(args.server)?;
    // Before it is asked: who is stopped in between takes it back, too.
    let stops = Stops::listen()?;
    let masks = args.mask || config::asks_to_mask(&dir);
    let rewrite = masks.then(|| Box::new(masked) as RewriteAll);
    let Some(asked) = Asked::ask(&input, find_endpoint, &spool, rewrite)?.map(Arc::new) else {
        return Ok(());
    };
    stops.take_back(&asked);
    take_back_when_over(&asked);
    match asked.wait() {
        Ok(Some(told)) => {
            let mut stdout = std::io::stdout();
            let written = writeln!(stdout, "{told}").and_then(|()| stdout.flush());
            written.map_err(|why| format!("could not tell the answer: {why}"))
        }
        Ok(None) => Ok(()),
        Err(why) => {
            // The agent asks where it runs, and nobody is to answer here any more.
            asked.take_back().map_err(|why| why.to_string())?;
            Err(format!(
                "waits no longer for an answer from the page: {why}"
            ))
        }
    }
}

/// Events without their secrets.
fn masked(events: Vec<ChatEvent>) -> Vec<ChatEvent> {
    let mut masker = LiveMasker::new();
    let events = events.into_iter();
    events.flat_map(|event| masker.push(event)).collect()
}

/// An agent that is answered where it runs does not always end its hook, nor does one that is killed.
fn take_back_when_over(asked: &Arc<Asked>) {
    let asked = asked.clone();
    std::thread::spawn(move || end(asked.take_back_when_over()));
}

/// An agent that has its answer elsewhere, or goes, ends its hook: nobody is to be asked any more.
struct Stops {
    #[cfg(unix)]
    signals: signal_hook::iterator::Signals,
}

impl Stops {
    #[cfg(unix)]
    fn listen() -> Result<Stops, String> {
        let signals = signal_hook::iterator::Signals::new(signals::that_end())
            .map_err(|why| format!("could not listen for signals: {why}"))?;
        Ok(Stops { signals })
    }

    #[cfg(not(unix))]
    fn listen() -> Result<Stops, String> {
        Ok(Stops {})
    }

    #[cfg(unix)]
    fn take_back(mut self, asked: &Arc<Asked>) {
        let asked = asked.clone();
        std::thread::spawn(move || {
            if self.signals.forever().next().is_some() {
                end(asked.take_back());
            }
        });
    }

    #[cfg(not(unix))]
    fn take_back(self, _asked: &Arc<Asked>) {}
}

fn end(taken_back: Result<(), chat_capture::Error>) -> ! {
    if let Err(why) = taken_back {
        stderr::say("hook", why);
    }
    std::process::exit(0);
}
