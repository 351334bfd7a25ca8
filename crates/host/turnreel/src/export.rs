//! `turnreel export`: a session in one file for others, masked.
//!
//! It is read twice, and a third time where texts came in pieces: what is to be masked is known when all of it was read.
//! What is masked, and what the forms are, is `chat_feed`'s; where the session lies is for `source`.

mod output;
mod pieces;
mod source;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use chat_event::ChatEvent;
use chat_feed::export::{Form, Writer};
use chat_feed::mask::{self, Masker, Plan, Scan};
use chat_normalize::Dialect;

use crate::cli::DataArg;
use crate::convert::shown;
use crate::pipe::parse_dialect;
use crate::stderr;
use output::Output;
use source::Source;

/// What `turnreel export` is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A session of the data folder by its id (or how that begins), a session file, or - for standard input.
    #[arg(value_name = "SESSION|FILE")]
    session: PathBuf,

    /// Write to this file [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// html, markdown, jsonl or json [default: as the file ends, else html].
    #[arg(long, value_name = "FORM", value_parser = parse_form)]
    to: Option<Form>,

    /// Leave secrets, names and addresses as they are.
    #[arg(long)]
    no_mask: bool,

    /// Leave what is of this kind as it is, as it is called in the list of what was masked. May be given again.
    #[arg(long, value_name = "KIND", value_parser = parse_kind, conflicts_with = "no_mask")]
    keep: Vec<String>,

    /// Read the input as this format [default: told from its first lines].
    #[arg(long, value_name = "DIALECT", value_parser = parse_dialect)]
    from: Option<Dialect>,

    #[command(flatten)]
    data: DataArg,
}

fn parse_form(word: &str) -> Result<Form, String> {
    Form::of_ending(word).ok_or_else(|| "expected html, markdown, jsonl or json".to_owned())
}

/// A word that is no kind would keep nothing: it is misspelt.
fn parse_kind(word: &str) -> Result<String, String> {
    let kinds = mask::kinds();
    if kinds.contains(word) {
        return Ok(word.to_owned());
    }
    let all: Vec<&str> = kinds.iter().copied().collect();
    Err(format!("expected one of: {}", all.join(", ")))
}

/// Runs the command.
pub(crate) fn command(args: Args) -> ExitCode {
    match run(&args) {
        Ok(code) => code,
        Err(Stop::Quiet) => ExitCode::SUCCESS,
        Err(Stop::Why(why)) => {
            stderr::say("export", why);
            ExitCode::from(2)
        }
    }
}

/// Why all ends at once.
#[derive(Debug)]
enum Stop {
    /// Who reads our output has seen enough.
    Quiet,
    /// The session cannot be read, or the output not be written.
    Why(String),
}

impl From<String> for Stop {
    fn from(why: String) -> Self {
        Stop::Why(why)
    }
}

fn run(args: &Args) -> Result<ExitCode, Stop> {
    let ending = args.output.as_ref().and_then(|path| path.extension());
    let by_name = ending.and_then(|ending| Form::of_ending(&ending.to_string_lossy()));
    let form = args.to.or(by_name).unwrap_or(Form::Html);
    let mut source = Source::open(&args.session, args.data.data.clone(), args.from)?;
    if let Some(path) = args.output.as_deref()
        && source.is_read_from(path)
    {
        let why = "the input and the output are one file";
        return Err(format!("{why}: {}", shown(path)).into());
    }
    source.is_transcript = form == Form::Markdown;
    let masker = match args.no_mask {
        true => None,
        false => Some(Masker::new(plan(&mut source, &args.keep)?)),
    };
    let mut output = Output::begin(args.output.as_deref(), form)?;
    let mut writer = Writer::new(form, masker);
    source.read(&mut |event: &ChatEvent| {
        writer.push(event, &mut output);
        output.check()
    })?;
    writer.finish(&mut output);
    output.end()?;
    tell(&writer, args.no_mask);
    let faults = source.faults();
    for fault in &faults {
        stderr::say("export", fault);
    }
    Ok(ExitCode::from(u8::from(!faults.is_empty())))
}

/// What there is to mask in the session.
fn plan(source: &mut Source, keep: &[String]) -> Result<Plan, Stop> {
    let mut scan = Scan::new();
    source.read(&mut |event: &ChatEvent| {
        scan.push(event);
        Ok(())
    })?;
    let mut plan = scan.finish();
    if plan.asks_again() {
        let mut scan = Scan::again(plan);
        source.read(&mut |event: &ChatEvent| {
            scan.push(event);
            Ok(())
        })?;
        plan = scan.finish();
    }
    for kind in keep {
        plan.keep(kind, true);
        let kinds: Vec<&str> = plan.found().iter().map(|found| found.kind).collect();
        if !kinds.contains(&kind.as_str()) {
            let found = match kinds.is_empty() {
                true => "nothing was found to mask".to_owned(),
                false => format!("what was found is of: {}", kinds.join(", ")),
            };
            stderr::say(
                "export",
                format_args!("there is nothing of the kind to keep: {kind}; {found}"),
            );
        }
    }
    Ok(plan)
}

/// What was masked, by kind and by where it stood; nothing of it itself.
fn tell(writer: &Writer, no_mask: bool) {
    let mut kinds: BTreeMap<&str, Vec<(&str, u64)>> = BTreeMap::new();
    for (kind, event_type, n_places) in writer.masked() {
        kinds.entry(kind).or_default().push((event_type, n_places));
    }
    let sum: u64 = kinds.values().flatten().map(|(_, n_places)| n_places).sum();
    match (no_mask, sum) {
        (true, _) => stderr::say("export", "nothing was masked, as asked"),
        (false, 0) => stderr::say("export", "nothing was found to mask"),
        (false, 1) => stderr::say("export", "masked 1 place"),
        (false, sum) => stderr::say("export", format_args!("masked {sum} places")),
    }
    for (kind, places) in kinds {
        let sum: u64 = places.iter().map(|(_, n_places)| n_places).sum();
        let places: Vec<String> = places
            .iter()
            .map(|(event_type, n_places)| {
                let event_type = chat_feed::projections::trace::clean(event_type);
                format!("{event_type} {n_places}")
            })
            .collect();
        stderr::tell(format_args!("  {kind}: {sum} ({})", places.join(", ")));
    }
    if writer.n_cut() > 0 {
        stderr::say(
            "export",
            format_args!(
                "{} texts were cut, for they are longer than a reader takes",
                writer.n_cut()
            ),
        );
    }
}
