//! `turnreel convert`: session files of any format, as events or as one of their projections.
//!
//! Inputs are read in pieces and projected while they are read, so the size of a log costs no memory; `feed` alone holds
//! what it shows. What an input is comes from `inputs`, what is made of it from `forms`, where it goes from `output`; how
//! it is read, from `reading` (one file), `joined` (the files of one session) and `merged` (the sources of one run). What was
//! taken out of a log is put back by `bodies`.

mod bodies;
mod forms;
pub(crate) mod inputs;
mod joined;
mod merged;
mod output;
mod progress;
mod reading;
mod timed;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use chat_event::ChatEvent;
use chat_normalize::{AT_REST, Context, Dialect, SessionReader, tell_apart};

use crate::cli::DataArg;
use crate::pipe::parse_dialect;
use crate::trace::{self, Named};
pub(crate) use bodies::Bodies;
use forms::Form;
use inputs::{Input, Origin};
use joined::JoinedReading;
use merged::Merged;
use output::{Outputs, Sheet};
use progress::Progress;
pub(crate) use reading::{Reading, Session, open, unix_ms};
use timed::Timed;

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
            eprintln!("turnreel convert: {why}");
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
        eprintln!("turnreel convert: {why}");
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
            eprintln!("turnreel convert: no session files below it: {folder}");
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
        eprintln!(
            "turnreel convert: {} {files} no session and left out",
            tally.n_skipped
        );
    }
    if tally.n_read == 0 {
        eprintln!("turnreel convert: nothing was read");
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

/// What is done with the inputs, one after another.
struct Work<'a> {
    args: &'a Args,
    outputs: &'a mut Outputs,
    progress: &'a mut Progress,
    tally: &'a mut Tally,
    /// Agents' files beside sessions, which may be of any of those.
    unclaimed: BTreeMap<PathBuf, Input>,
    /// Those of them that are of one.
    claimed: BTreeSet<PathBuf>,
}

impl Work<'_> {
    fn convert(&mut self, input: &Input) -> Result<(), Stop> {
        let Some(opened) = self.open(input) else {
            return Ok(());
        };
        self.progress.begin(&input.name(), opened.length);
        let mut session = Timed::new(opened.session, opened.written_ms);
        let is_read = self.write(input, &mut session, Bodies::beside([input]))?;
        let unread = session.unread();
        for agent in input.flat_agents() {
            let Some(path) = agent.path.clone() else {
                continue;
            };
            if is_read && !unread.contains(&path) {
                self.claimed.insert(path.clone());
            }
            self.unclaimed.insert(path, agent);
        }
        Ok(())
    }

    /// All inputs as one session, which has the name of the first.
    fn merge(&mut self, inputs: &[Input]) -> Result<(), Stop> {
        if inputs.len() > merged::MAX_SOURCES {
            let (n, most) = (inputs.len(), merged::MAX_SOURCES);
            return Err(Stop::Why(format!("{n} sources of one run, at most {most}")));
        }
        let Some(first) = inputs.first() else {
            return Ok(());
        };
        let mut sources = Vec::new();
        let mut sum = Some(0);
        let mut written_ms = i64::MAX;
        for input in inputs {
            // Without one of its sources it would not be the run.
            let Some(opened) = self.open(input) else {
                return Ok(());
            };
            sum = sum.zip(opened.length).map(|(sum, length)| sum + length);
            written_ms = written_ms.min(opened.written_ms);
            sources.push((input, opened.session));
        }
        self.progress.begin(&first.name(), sum);
        let named = Input {
            origin: Origin::Named,
            ..first.clone()
        };
        // A source without times has those of the others.
        let mut session = Timed::new(Box::new(Merged::new(sources)), written_ms);
        self.write(&named, &mut session, Bodies::beside(inputs))?;
        Ok(())
    }

    /// Opens an input; `None`, and a word, where it cannot be opened.
    fn open(&mut self, input: &Input) -> Option<Opened> {
        open_untimed(input, self.args.from)
            .map_err(|why| {
                self.progress.clear();
                eprintln!("turnreel convert: could not open: {why}: {}", input.name());
                self.tally.n_refused += 1;
            })
            .ok()
    }

    /// Reads a session, with the bodies that lie beside it, and writes what is made of it; says whether it was read to its end.
    fn write(
        &mut self,
        input: &Input,
        session: &mut dyn Session,
        mut bodies: Bodies,
    ) -> Result<bool, Stop> {
        let mut projection = forms::projection(self.args.to);
        let mut sheet: Option<Sheet> = None;
        let mut events: Vec<ChatEvent> = Vec::new();
        let mut first: Option<String> = None;
        let read = loop {
            let more = session.read(&mut events);
            if let Some(event) = events.first() {
                let first = first.get_or_insert_with(|| event.session_id.clone());
                if self.args.to.is_of_one_session() {
                    tell_apart(&mut events, first);
                }
                let sheet = match &mut sheet {
                    Some(sheet) => sheet,
                    None => sheet.insert(self.outputs.begin(input).map_err(Stop::Why)?),
                };
                // A transcript tells when it was to who reads it, and not which file it was made of.
                let is_untold = self.args.to == Form::Markdown && session.is_untimed();
                for mut event in events.drain(..) {
                    event.timestamp = event.timestamp.filter(|_| !is_untold);
                    // One by one: all of a piece at once may be more than there is memory for.
                    bodies.put_back(&mut event);
                    projection.push(&event, sheet);
                }
                sheet.check().map_err(|why| stop(&why, self.outputs))?;
            }
            self.progress.step(session.n_bytes(), session.n_events());
            match more {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(why) => break Err(why),
            }
        };
        // What was read in part takes no name: it would pass for the whole.
        if let Some(mut sheet) = sheet.filter(|_| read.is_ok()) {
            projection.finish(&mut sheet);
            sheet.end().map_err(|why| stop(&why, self.outputs))?;
        }
        self.progress.clear();
        let is_read = read.is_ok();
        self.tally.note(input, session, bodies, read);
        Ok(is_read)
    }
}

/// An input that was opened.
struct Opened {
    session: Box<dyn Session>,
    length: Option<u64>,
    /// When it was written.
    written_ms: i64,
}

/// Opens an input, each of whose events has a time.
///
/// # Errors
///
/// Where it refuses.
pub(crate) fn open_input(input: &Input, from: Option<Dialect>) -> std::io::Result<Timed> {
    let opened = open_untimed(input, from)?;
    Ok(Timed::new(opened.session, opened.written_ms))
}

fn open_untimed(input: &Input, from: Option<Dialect>) -> std::io::Result<Opened> {
    if let Some(joined) = &input.joined {
        let (reading, length) = JoinedReading::open(joined, from)?;
        return Ok(Opened {
            written_ms: reading.written_ms(),
            session: Box::new(reading),
            length,
        });
    }
    let (bytes, length, written_ms) = open(input.path.as_deref())?;
    let reader = match from {
        Some(dialect) => SessionReader::with_dialect(Context::default(), dialect),
        None => SessionReader::new(Context::default()),
    };
    Ok(Opened {
        session: Box::new(Reading::new(reader, bytes, AT_REST)),
        length,
        written_ms,
    })
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
                eprintln!("turnreel convert: {why}: {name}");
            }
        }
        self.n_skipped += session.n_skipped();
        for fault in session.faults().into_iter().chain(bodies.faults()) {
            self.n_damaged += 1;
            eprintln!("turnreel convert: {fault}: {name}");
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
