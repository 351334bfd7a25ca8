//! `turnreel convert`: session files of any format, as events or as one of their projections.
//!
//! Inputs are read in pieces and projected while they are read, so the size of a log costs no memory; `feed` alone holds
//! what it shows. What an input is comes from `inputs`, what is made of it from `forms`, where it goes from `output`.

mod forms;
mod inputs;
mod output;
mod progress;
mod reading;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use chat_normalize::{Context, Dialect, SessionReader};

use crate::pipe::parse_dialect;
use forms::Form;
use inputs::{Input, Origin};
use output::{Outputs, Sheet};
use progress::Progress;
pub(crate) use reading::{Reading, open, unix_ms};

/// What `turnreel convert` is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files, folders with all session files below them, or - for standard input.
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,

    /// Read the input as this format [default: told from its first lines].
    #[arg(long, value_name = "DIALECT", value_parser = parse_dialect)]
    from: Option<Dialect>,

    /// What to make of each session.
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Form::Events)]
    to: Form,

    /// Write to this file, or with several inputs into this folder [default: standard output].
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
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
    let inputs = inputs::list(&args.inputs, &mut |why| {
        tally.n_refused += 1;
        eprintln!("turnreel convert: {why}");
    });
    let several = args.inputs.len() > 1 || args.inputs.iter().any(|input| input.is_dir());
    let mut outputs = Outputs::new(args.output.clone(), args.to, several).map_err(Stop::Why)?;
    let mut progress = Progress::new(outputs.leaves_the_terminal());
    for input in &inputs {
        convert_one(args, input, &mut outputs, &mut progress, &mut tally)?;
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

fn convert_one(
    args: &Args,
    input: &Input,
    outputs: &mut Outputs,
    progress: &mut Progress,
    tally: &mut Tally,
) -> Result<(), Stop> {
    let name = input.name();
    let opened = open(input.path.as_deref());
    let (bytes, length, arrival_ms) = match opened {
        Ok(opened) => opened,
        Err(why) => {
            progress.clear();
            eprintln!("turnreel convert: could not open: {why}: {name}");
            tally.n_refused += 1;
            return Ok(());
        }
    };
    progress.begin(&name, length);
    let reader = match args.from {
        Some(dialect) => SessionReader::with_dialect(Context::default(), dialect),
        None => SessionReader::new(Context::default()),
    };
    let mut reading = Reading::new(reader, bytes, arrival_ms);
    let mut projection = forms::projection(args.to);
    let mut sheet: Option<Sheet> = None;
    let mut events = Vec::new();
    let read = loop {
        let more = reading.read(&mut events);
        if !events.is_empty() {
            let sheet = match &mut sheet {
                Some(sheet) => sheet,
                None => sheet.insert(outputs.begin(input).map_err(Stop::Why)?),
            };
            for event in events.drain(..) {
                projection.push(&event, sheet);
            }
            sheet.check().map_err(|why| stop(&why, outputs))?;
        }
        progress.step(reading.n_bytes(), reading.report().events);
        match more {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(why) => break Err(why),
        }
    };
    // What was read in part takes no name: it would pass for the whole.
    if let Some(mut sheet) = sheet.filter(|_| read.is_ok()) {
        projection.finish(&mut sheet);
        sheet.end().map_err(|why| stop(&why, outputs))?;
    }
    progress.clear();
    tally.note(input, &reading, read);
    Ok(())
}

fn stop(why: &std::io::Error, outputs: &Outputs) -> Stop {
    if why.kind() == std::io::ErrorKind::BrokenPipe {
        return Stop::Quiet;
    }
    Stop::Why(format!("could not write: {why}: {}", outputs.name()))
}

impl Tally {
    fn note(&mut self, input: &Input, reading: &Reading, read: Result<(), reading::Failed>) {
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
        if let Some(lines) = reading.unreadable() {
            self.n_damaged += 1;
            eprintln!("turnreel convert: {lines}: {name}");
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
fn shown(path: &Path) -> String {
    chat_feed::projections::trace::clean(&path.to_string_lossy())
}
