//! `turnreel pipe`: the command around `chat_capture::Pipe`.

use std::fmt::Display;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use chat_capture::{Dialect, Endpoint, FindEndpoint, Outcome, Pipe, Rewrite};
use chat_event::{ChatEvent, bodies};
use chat_feed::mask::LiveMasker;
use clap::builder::BoolishValueParser;

use crate::cli::DataArg;
use crate::config;
use crate::data_dir::{self, ServerFile};
use crate::masking;
use crate::serve::spool_dir;
use crate::{signals, socket_owner, stderr};

/// What `turnreel pipe` is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What the agent was asked, where its output does not say it.
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,

    /// Show the events as this session, and not as the agent's own.
    #[arg(long, value_name = "ID", value_parser = parse_session)]
    session: Option<String>,

    #[command(flatten)]
    server: EndpointArgs,

    /// Read the input as this format [default: told from its first lines].
    #[arg(long, value_name = "DIALECT", value_parser = parse_dialect)]
    from: Option<Dialect>,

    /// Offer answers to what the agent asks: the program that runs it waits for them and hands them to it.
    #[arg(long)]
    takes_answers: bool,

    /// Mask secrets before they are kept or sent; so it is where turnreel.toml in the data folder says `mask = true`. What is
    /// passed on stays as it is.
    #[arg(long, env = "TURNREEL_MASK", value_parser = BoolishValueParser::new())]
    mask: bool,

    /// Wait at the end so many seconds for a server that takes nothing; what it has not taken then is sent later.
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    wait: u64,
}

/// Which server.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct EndpointArgs {
    /// The server's address, on this machine [default: the one that serves the data folder].
    #[arg(long, value_name = "URL", env = "TURNREEL_ENDPOINT")]
    endpoint: Option<String>,

    /// The file with the server's token [default: the data folder's].
    #[arg(long, value_name = "PATH")]
    token_file: Option<PathBuf>,

    /// The server's token. Every user of this machine can read it in the command line: rather name its file, or set the
    /// variable.
    #[arg(
        long,
        value_name = "TOKEN",
        env = "TURNREEL_TOKEN",
        hide_env_values = true
    )]
    token: Option<String>,

    #[command(flatten)]
    data: DataArg,
}

impl EndpointArgs {
    /// The data folder that is named, where one is.
    pub(crate) fn data_arg(&self) -> Option<PathBuf> {
        self.data.data.clone()
    }

    /// Where events wait for that server: what is meant for one goes to no other.
    pub(crate) fn spool_dir(&self, data: &Path) -> PathBuf {
        let spool = spool_dir(data);
        match self.other_endpoint(data) {
            Some(url) => chat_capture::spools_for(&spool, url),
            None => spool,
        }
    }

    /// Whether there is a folder to keep events in, and the address that is named can be spoken to.
    fn check(&self) -> Result<(), String> {
        data_dir::resolve(self.data_arg())?;
        let named = self.endpoint.as_deref();
        let checked = named.map_or(Ok(()), chat_capture::check_endpoint);
        checked.map_err(|why| why.to_string())
    }

    /// Where events wait that were meant for the address while its server was away: that it is this folder's was not known.
    fn left_in(&self, data: &Path) -> Option<PathBuf> {
        let url = self.endpoint.as_deref()?;
        Some(chat_capture::spools_for(&spool_dir(data), url))
    }

    /// The address that is named, unless it is that of the data folder's server.
    fn other_endpoint(&self, data: &Path) -> Option<&str> {
        let url = self.endpoint.as_deref()?;
        let own = data_dir::server_file(data);
        let is_own = own.is_some_and(|own| chat_capture::is_same_endpoint(&own.url, url));
        (!is_own).then_some(url)
    }
}

fn parse_session(text: &str) -> Result<String, String> {
    chat_store::SessionId::parse(text)
        .map(|id| id.as_str().to_owned())
        .map_err(|why| why.to_string())
}

/// The dialect that `--from` names.
pub(crate) fn parse_dialect(text: &str) -> Result<Dialect, String> {
    Dialect::from_word(text).ok_or_else(|| {
        let words: Vec<_> = Dialect::all().map(Dialect::word).collect();
        format!("expected one of: {}", words.join(", "))
    })
}

/// Runs the command to the end of its input.
pub(crate) fn command(args: Args) -> ExitCode {
    match run(args) {
        Ok(code) => code,
        Err(why) => {
            say(why);
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> Result<ExitCode, String> {
    if let Err(why) = args.server.check() {
        // The agent is not to be stopped for it.
        say(format!("nothing is kept of it, all is passed on: {why}"));
        let passed_on = chat_capture::pass_on(std::io::stdin(), std::io::stdout());
        return passed_on
            .map(|()| ExitCode::FAILURE)
            .map_err(|why| format!("could not pass it on: {why}"));
    }
    let dir = data_dir::resolve(args.server.data_arg())?;
    let spool_dir = args.server.spool_dir(&dir);
    let left_in = args.server.left_in(&dir);
    let other = args.server.other_endpoint(&dir).map(str::to_owned);
    let masks = args.mask || config::asks_to_mask(&dir);
    let find_endpoint = endpoint_finder(args.server)?;
    let stops = Arc::new(AtomicUsize::new(0));
    count_signals(&stops)?;
    // What comes from a file is a run that was recorded: it is the same each time, and went on anywhere.
    let is_live = !is_file();
    let pipe = Pipe {
        session_id: args.session,
        prompt: args.prompt,
        dialect: args.from,
        run_id: is_live.then(run_id),
        cwd: is_live.then(working_directory).flatten(),
        takes_answers: args.takes_answers,
        rewrite: masks.then(|| Box::new(Masked::default()) as Box<dyn Rewrite>),
        compared_by: Some(masking::words),
        left_in: left_in.filter(|dir| *dir != spool_dir),
        spool_dir,
        find_endpoint,
        wait: Duration::from_secs(args.wait),
        stops,
    };
    if std::io::stdin().is_terminal() {
        say("waits for what an agent prints: put it behind the agent's command; ctrl-d ends it");
    }
    let outcome = pipe.run(std::io::stdin(), std::io::stdout())?;
    Ok(report(&outcome, other.as_deref()))
}

/// Events without their secrets.
#[derive(Default)]
struct Masked(LiveMasker);

impl Rewrite for Masked {
    fn push(&mut self, mut event: ChatEvent) -> Vec<ChatEvent> {
        // What is said of a body that is elsewhere may be half a secret.
        bodies::bare(&mut event);
        self.0.push(event)
    }

    fn pause(&mut self) -> Vec<ChatEvent> {
        self.0.pause(0)
    }

    fn finish(&mut self) -> Vec<ChatEvent> {
        self.0.finish()
    }
}

/// Whether standard input is a file.
fn is_file() -> bool {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        let input = std::io::stdin().as_fd().try_clone_to_owned();
        let about = input.and_then(|input| std::fs::File::from(input).metadata());
        about.is_ok_and(|about| about.is_file())
    }
    #[cfg(not(unix))]
    false
}

/// No other run has it.
fn run_id() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_nanos());
    format!("{now} {}", std::process::id())
}

fn working_directory() -> Option<String> {
    let here = std::env::current_dir().ok()?;
    Some(here.to_str()?.to_owned())
}

/// The agent is not to be stopped where nobody hears it.
fn say(what: impl Display) {
    stderr::say("pipe", what);
}

fn report(outcome: &Outcome, other: Option<&str>) -> ExitCode {
    for note in &outcome.notes {
        // One may quote what an agent printed.
        say(chat_feed::projections::trace::clean(note));
    }
    if let Some(why) = &outcome.not_a_session {
        say(why);
        return ExitCode::from(2);
    }
    if let Some(path) = &outcome.spooled {
        say(waiting(path, outcome.unlocked, other));
    }
    ExitCode::from(u8::from(outcome.lost > 0 || outcome.output_failed))
}

/// What is said of events that wait: for the server of the data folder, or for this other one.
fn waiting(path: &Path, unlocked: bool, other: Option<&str>) -> String {
    let path = path.display();
    let to = other.map_or_else(String::new, |url| format!(" --endpoint {url}"));
    let sent = match other {
        _ if unlocked => format!(
            "; its disk has no file locks, so no other pipe takes them: `turnreel pipe{to} < \"{path}\"` sends them"
        ),
        Some(_) => format!(" and are sent by the next pipe with{to}"),
        None => {
            " and are sent by the next pipe, or taken in by the server, once it runs".to_owned()
        }
    };
    format!("the server has not taken all events; they wait in {path}{sent}")
}

/// Looks for the server anew each time: it may have been started again on another port.
pub(crate) fn endpoint_finder(args: EndpointArgs) -> Result<FindEndpoint, String> {
    args.check()?;
    let EndpointArgs {
        endpoint,
        token_file,
        token,
        data,
    } = args;
    let dir = data_dir::resolve(data.data)?;
    Ok(Box::new(move || {
        let url = match &endpoint {
            Some(url) => url.clone(),
            None => {
                let path = dir.join("server.json");
                let text = std::fs::read_to_string(&path)
                    .map_err(|_| format!("no server is running for {}", dir.display()))?;
                let file: ServerFile = serde_json::from_str(&text)
                    .map_err(|why| format!("could not read {}: {why}", path.display()))?;
                if socket_owner::is_of_another_user(&file.url, &path) {
                    let (dir, url) = (dir.display(), file.url);
                    return Err(format!(
                        "no server is running for {dir}: what listens at {url} is another user's"
                    ));
                }
                file.url
            }
        };
        let token = match (&token_file, &token) {
            (Some(path), _) => read_token(path)?,
            (None, Some(token)) => token.clone(),
            (None, None) => read_token(&dir.join("token"))?,
        };
        Ok(Endpoint { url, token })
    }))
}

fn read_token(path: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|why| format!("could not read the token: {why}: {}", path.display()))?;
    Ok(text.trim().to_owned())
}

/// Ctrl-c reaches the agent too, whose last words are still to come: the second one is for us. So is SIGTERM.
fn count_signals(stops: &Arc<AtomicUsize>) -> Result<(), String> {
    #[cfg(unix)]
    {
        use signal_hook::consts::SIGTERM;
        let mut signals = signal_hook::iterator::Signals::new(signals::that_end())
            .map_err(|why| format!("could not listen for signals: {why}"))?;
        let stops = stops.clone();
        std::thread::spawn(move || {
            for signal in signals.forever() {
                let weight = if signal == SIGTERM { 2 } else { 1 };
                stops.fetch_add(weight, Ordering::SeqCst);
            }
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
