//! `turnreel trace`: what agents do, line by line: traces on standard error, results on standard output.
//!
//! What the lines say is `chat_feed`'s; where they come from is for `source`, how they look for `screen`.

mod named;
mod screen;
mod source;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use chat_feed::projections::trace::{ToolTrace, Verbosity};
use chat_normalize::Dialect;

use crate::cli::DataArg;
use crate::convert::{shown, unix_ms};
use crate::pipe::parse_dialect;
use crate::stderr;
pub(crate) use named::{Named, find, gives_once, id_in, log_of};
use screen::Screen;
use source::Source;

/// A file that is followed is looked at so often.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What `turnreel trace` is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Sessions of the data folder by their ids (or how these begin), session files, or - for standard input.
    #[arg(value_name = "SESSION|FILE", required = true)]
    sources: Vec<PathBuf>,

    /// Tell results only, and what failed.
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,

    /// Tell all of it: arguments, results, diffs, thinking, tokens.
    #[arg(short, long)]
    verbose: bool,

    /// Go on as the files grow, until the sessions end or ctrl-c.
    #[arg(short, long)]
    follow: bool,

    /// Read the files as this format [default: told from their first lines].
    #[arg(long, value_name = "DIALECT", value_parser = parse_dialect)]
    from: Option<Dialect>,

    #[command(flatten)]
    data: DataArg,
}

/// Runs the command: 0 where all was read, 1 where something could not be, 2 where nothing was.
pub(crate) fn command(args: Args) -> ExitCode {
    match run(args) {
        Ok(code) => code,
        Err(why) if why.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(why) => {
            // It may be this very stream that refuses.
            stderr::say("trace", format!("could not write: {why}"));
            ExitCode::from(2)
        }
    }
}

fn run(args: Args) -> std::io::Result<ExitCode> {
    let verbosity = match (args.quiet, args.verbose) {
        (true, _) => Verbosity::Quiet,
        (_, true) => Verbosity::Verbose,
        (false, false) => Verbosity::Normal,
    };
    let n_named = args.sources.len();
    let (mut sources, mut n_faults) = open_all(&args);
    if sources.is_empty() {
        return Ok(ExitCode::from(2));
    }
    let trace = ToolTrace::new(verbosity);
    let trace = if n_named > 1 { trace.tagged() } else { trace };
    let screen = Screen::new();
    let mut tracing = Tracing { trace, screen };
    // Standard input ends when its session does, so it is followed in any case. What is read there waits for what comes, so
    // signals end it by themselves.
    let follow = args.follow && !sources.iter().any(Source::is_stream);
    let stopped_by = match follow {
        true => tracing.follow(&mut sources)?,
        false => {
            for source in &mut sources {
                tracing.read_whole(source)?;
            }
            None
        }
    };
    tracing.screen.clear()?;
    let mut n_read = 0;
    for source in &sources {
        n_read += usize::from(source.is_session());
        for fault in source.faults() {
            n_faults += 1;
            stderr::say("trace", fault);
        }
    }
    Ok(match (stopped_by, n_read, n_faults) {
        (Some(code), ..) => ExitCode::from(code),
        (None, 0, _) => ExitCode::from(2),
        (None, _, 0) => ExitCode::SUCCESS,
        (None, ..) => ExitCode::from(1),
    })
}

/// Opens what was named, and counts what could not be.
fn open_all(args: &Args) -> (Vec<Source>, usize) {
    let mut sources = Vec::new();
    let mut n_faults = 0;
    for named in &args.sources {
        let among = args.follow && args.sources.len() > 1;
        let is_stdin = named.as_os_str() == "-";
        let opened = match among && (is_stdin || gives_once(named)) {
            true if is_stdin => Err("standard input cannot be followed beside others".to_owned()),
            true => {
                let name = shown(named);
                Err(format!("a pipe cannot be followed beside others: {name}"))
            }
            false => Source::open(named, args.data.data.clone(), args.from),
        };
        match opened {
            Ok(source) => sources.push(source),
            Err(why) => {
                n_faults += 1;
                stderr::say("trace", why);
            }
        }
    }
    (sources, n_faults)
}

struct Tracing {
    trace: ToolTrace,
    screen: Screen,
}

impl Tracing {
    /// Reads a source to its end, which ends what runs in it.
    fn read_whole(&mut self, source: &mut Source) -> std::io::Result<()> {
        while source.read() {
            self.show(source)?;
        }
        source.finish();
        self.show(source)?;
        let mut lines = Vec::new();
        for session in source.sessions() {
            self.trace.finish_session(session, &mut lines);
        }
        self.screen.print(&lines)
    }

    /// Reads what comes, in turns, until all sessions are over; the exit where a signal ended it.
    ///
    /// Nothing is finished but what says itself that it is over: who stops looking does not end a session.
    fn follow(&mut self, sources: &mut [Source]) -> std::io::Result<Option<u8>> {
        let stopped_by = stop_flag();
        loop {
            let code = stopped_by.load(Ordering::SeqCst);
            if code != 0 {
                return Ok(u8::try_from(code).ok());
            }
            let mut quiet = true;
            for source in sources.iter_mut() {
                source.arrives_at(unix_ms(SystemTime::now()));
                if source.read() {
                    quiet = false;
                    self.show(source)?;
                }
            }
            if !quiet {
                continue;
            }
            if sources.iter().all(Source::is_over) {
                return Ok(None);
            }
            self.screen
                .show_running(&self.trace.running(), unix_ms(SystemTime::now()))?;
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn show(&mut self, source: &mut Source) -> std::io::Result<()> {
        let mut lines = Vec::new();
        for event in source.events() {
            self.trace.push(&event, &mut lines);
        }
        self.screen.print(&lines)?;
        if source.is_stream() {
            let now_ms = unix_ms(SystemTime::now());
            source.arrives_at(now_ms);
            self.screen.show_running(&self.trace.running(), now_ms)?;
        }
        Ok(())
    }
}

/// The exit once a signal asks for the end, 0 before; without signals, ctrl-c ends the program by itself.
fn stop_flag() -> Arc<AtomicUsize> {
    let stopped_by = Arc::new(AtomicUsize::new(0));
    #[cfg(unix)]
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let code = usize::from(crate::signals::exit_of(signal));
        // Where it cannot be listened for, the signal does what it does by itself.
        let _ = signal_hook::flag::register_usize(signal, stopped_by.clone(), code);
    }
    stopped_by
}
