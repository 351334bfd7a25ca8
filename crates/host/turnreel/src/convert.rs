//! `turnreel convert`: session files of any format, as events or as one of their projections.
//!
//! Inputs are read in pieces and projected while they are read, so the size of a log costs no memory; `feed` alone holds
//! what it shows. What an input is comes from `inputs`, what is made of it from `forms`, where it goes from `output`; how
//! it is read, from `reading` (one file), `joined` (the files of one session) and `merged` (the sources of one run). What was
//! taken out of a log is put back by `bodies`.
//!
//! What is done with one input is in `work`.

mod bodies;
mod forms;
pub(crate) mod inputs;
mod joined;
mod merged;
mod output;
mod progress;
mod reading;
mod timed;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use chat_normalize::Dialect;

use crate::cli::DataArg;
use crate::pipe::parse_dialect;
use crate::stderr;
use crate::trace::{self, Named};
pub(crate) use bodies::Bodies;
use forms::Form;
use inputs::{Input, Origin};
use output::Outputs;
use progress::Progress;
pub(crate) use reading::{Reading, Session, open, unix_ms};
use work::Work;
pub(crate) use work::open_input;

/// What `turnreel convert` is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files, folders with all session files below them, sessions of the data folder by their ids (or how these begin), or
    /// - for standard input. What a session keeps in files of its own, as its sub-agents, is read with it.
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,

    /// Read the input as this format [default: told from its first lines].
    #[arg(long, value_name = "DIALECT", value_parser = parse_dialect)]
    from: Option<Dialect>,

    /// Take all inputs as sources of one run (its hooks, what it printed, its log), and say once what several say.
    #[arg(long, conflicts_with = "from")]
    merge: bool,

    /// What to make of each session.
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Form::Events)]
    to: Form,

    /// Write to this file, or with several inputs into this folder [default: standard output].
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,

    #[command(flatten)]
    data: DataArg,
}

/// What became of all inputs.
#[derive(Debug, Default)]
struct Tally {
    n_read: usize,
    n_damaged: usize,
    n_refused: usize,
    n_skipped: usize,
}

/// Runs the command: 0 where all was read, 1 where something could not be, 2 where nothing was.
pub(crate) fn command(args: Args) -> ExitCode {
    match run(&args) {
        Ok(tally) => tally.exit_code(),
        Err(Stop::Quiet) => ExitCode::SUCCESS,
        Err(Stop::Why(why)) => {
            stderr::say("convert", why);
            ExitCode::from(2)
        }
    }
}

/// Why all ends at once.
#[derive(Debug)]
enum Stop {
    /// Who reads our output has seen enough.
    Quiet,
    /// The output cannot be written.
    Why(String),
}

fn run(args: &Args) -> Result<Tally, Stop> {
    let mut tally = Tally::default();
    let mut refuse = |why| {
        tally.n_refused += 1;
        stderr::say("convert", why);
    };
    let mut named = Vec::new();
    for input in &args.inputs {
        match path_of(input, args.data.data.clone()) {
            Ok(path) => named.push(path),
            // Without one of its sources it would not be the run.
            Err(why) if args.merge => return Err(Stop::Why(why)),
            Err(why) => refuse(why),
        }
    }
    let inputs = inputs::list(&named, &mut refuse);
    for folder in args.inputs.iter().filter(|input| input.is_dir()) {
        let is_below = |input: &Input| {
            let path = input.path.as_ref();
            path.is_some_and(|path| path.starts_with(folder))
        };
        if !inputs.iter().any(is_below) {
            let folder = shown(folder);
            stderr::say(
                "convert",
                format_args!("no session files below it: {folder}"),
            );
        }
    }
    let several = args.inputs.len() > 1 || args.inputs.iter().any(|input| input.is_dir());
    let several = several && !args.merge;
    let outputs = Outputs::new(args.output.clone(), args.to, several, &inputs);
    let mut outputs = outputs.map_err(Stop::Why)?;
    let mut progress = Progress::new(outputs.leaves_the_terminal());
    let mut work = Work {
        args,
        outputs: &mut outputs,
        progress: &mut progress,
        tally: &mut tally,
        unclaimed: BTreeMap::new(),
        claimed: BTreeSet::new(),
    };
    if args.merge {
        work.merge(&inputs)?;
    } else {
        for input in &inputs {
            work.convert(input)?;
        }
        // Agents' files that no session has stand for themselves.
        let claimed = std::mem::take(&mut work.claimed);
        for (path, input) in std::mem::take(&mut work.unclaimed) {
            if !claimed.contains(&path) {
                work.convert(&input)?;
            }
        }
    }
    progress.clear();
    if tally.n_skipped > 0 {
        let files = if tally.n_skipped == 1 {
            "file is"
        } else {
            "files are"
        };
        stderr::say(
            "convert",
            format_args!("{} {files} no session and left out", tally.n_skipped),
        );
    }
    if tally.n_read == 0 {
        stderr::say("convert", "nothing was read");
    }
    Ok(tally)
}

/// Where an input lies: a session of the data folder has its log there.
fn path_of(named: &Path, data: Option<PathBuf>) -> Result<PathBuf, String> {
    if named.is_dir() {
        return Ok(named.to_owned());
    }
    match trace::find(named, data)? {
        Named::Stdin => Ok(named.to_owned()),
        Named::File(path) | Named::Log(path) => Ok(path),
    }
}

fn stop(why: &std::io::Error, outputs: &Outputs) -> Stop {
    if why.kind() == std::io::ErrorKind::BrokenPipe {
        return Stop::Quiet;
    }
    Stop::Why(format!("could not write: {why}: {}", outputs.name()))
}

impl Tally {
    fn note(
        &mut self,
        input: &Input,
        session: &dyn Session,
        bodies: Bodies,
        read: Result<(), reading::Failed>,
    ) {
        let name = input.name();
        match read {
            Ok(()) => self.n_read += 1,
            // What a folder holds beside sessions is no fault.
            Err(reading::Failed::NotASession(_)) if input.origin == Origin::Found => {
                self.n_skipped += 1;
                return;
            }
            Err(why) => {
                self.n_refused += 1;
                stderr::say("convert", format_args!("{why}: {name}"));
            }
        }
        self.n_skipped += session.n_skipped();
        for fault in session.faults().into_iter().chain(bodies.faults()) {
            self.n_damaged += 1;
            stderr::say("convert", format_args!("{fault}: {name}"));
        }
    }

    fn exit_code(&self) -> ExitCode {
        match self {
            Tally { n_read: 0, .. } => ExitCode::from(2),
            Tally {
                n_damaged: 0,
                n_refused: 0,
                ..
            } => ExitCode::SUCCESS,
            Tally { .. } => ExitCode::from(1),
        }
    }
}

/// A path as it is shown: what is no text in it is replaced, what a terminal would obey is shown by its number.
pub(crate) fn shown(path: &Path) -> String {
    chat_feed::projections::trace::clean(&path.to_string_lossy())
}
