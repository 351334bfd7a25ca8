//! `turnreel compact`: makes the log of a session that is over shorter, without a difference that anybody could see.
//!
//! A session of the data folder is compacted in its place by the store, and a file or standard input into another file by
//! `plain`. Before anything takes the place of anything, what both logs show is compared here, beside the store's own comparison
//! of their events.

mod plain;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use chat_event::jsonl::LogReader;
use chat_feed::{ChatRenderer, feed_lines, units};
use chat_store::{Compaction, Folding, SessionId};

use crate::cli::DataArg;
use crate::trace::{Named, find, id_in, log_of};
use crate::{data_dir, stderr, stdout};

/// What `turnreel compact` is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A session of the data folder that has ended; or with -o any session of it, a file of ChatEvents, or - for standard
    /// input.
    #[arg(value_name = "SESSION")]
    what: PathBuf,

    /// Write the shorter log to this file, and leave the input as it is [default for -: standard output].
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,

    #[command(flatten)]
    data: DataArg,
}

/// Runs the command: 0 where it was compacted or has nothing to fold, 1 where not; then all is as it was.
pub(crate) fn command(args: Args) -> ExitCode {
    let is_plain = args.output.is_some() || args.what.as_os_str() == "-";
    let done = match is_plain {
        true => {
            let compacted = compact_plain(&args);
            compacted.map(|report| report.iter().for_each(stderr::tell))
        }
        false => compact_session(&args.what, args.data).map(|report| {
            // The log is shorter, whether that can be said or not.
            let said = stdout::say(&format!("{report}\n"));
            said.map_or_else(|why| stderr::say("compact", why), drop);
        }),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            stderr::say("compact", why);
            ExitCode::FAILURE
        }
    }
}

/// What is to be said, where there is something.
fn compact_plain(args: &Args) -> Result<Option<String>, String> {
    let what = match find(&args.what, args.data.data.clone())? {
        Named::Stdin => args.what.clone(),
        Named::File(path) | Named::Log(path) => path,
    };
    plain::compact(&what, args.output.as_deref())
}

fn compact_session(session: &Path, data: DataArg) -> Result<String, String> {
    let told = session.to_string_lossy();
    let mut id = SessionId::parse(&told).map_err(|why| match find(session, data.data.clone()) {
        Ok(Named::File(_)) => format!(
            "{}: a file needs a place for what is made of it: -o",
            shown(session)
        ),
        Ok(Named::Stdin | Named::Log(_)) => why.to_string(),
        Err(why) => why,
    })?;
    let dir = data_dir::resolve(data.data)?;
    // The beginning of an id is enough, as it is elsewhere.
    if let Some(whole) = log_of(&dir, id.as_str())?.and_then(|log| id_in(&log)) {
        id = SessionId::parse(&whole).map_err(|why| why.to_string())?;
    }
    let compaction =
        Compaction::prepare(&dir, &id).map_err(|why| data_dir::why_not_opened(&dir, &why))?;
    if compaction.folding().is_shorter() {
        let of = |bytes: Result<_, chat_store::Error>| {
            let bytes = bytes.map_err(|why| why.to_string())?;
            view_of(bytes).map_err(|why| format!("could not read the log: {why}"))
        };
        if of(compaction.original())? != of(compaction.compacted())? {
            return Err(format!("{id} would show something else; it stays as it is"));
        }
    }
    let folding = compaction.commit().map_err(|why| why.to_string())?;
    Ok(report(id.as_str(), folding))
}

/// What a log shows at its end, as a number: every fact of every row, turn and of the session.
fn view_of(mut bytes: Box<dyn Read>) -> std::io::Result<u64> {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut reader = LogReader::new();
    let mut renderer = ChatRenderer::new();
    let mut patches = Vec::new();
    let mut block = vec![0; 256 * 1024];
    let mut take = |record: chat_event::jsonl::Record| {
        if let Ok(event) = &record.content {
            renderer.apply(event, &mut patches);
            patches.clear();
        }
    };
    loop {
        match bytes.read(&mut block)? {
            0 => break,
            n => reader.push(&block[..n], &mut take),
        }
    }
    reader.finish(&mut take);
    let mut hasher = DefaultHasher::new();
    feed_lines(renderer.feed()).for_each(|line| line.hash(&mut hasher));
    renderer.event_count().hash(&mut hasher);
    Ok(hasher.finish())
}

/// `s1: 12,345 lines to 1,024 (12.1 times fewer), 3.2 MB to 410 KB (8.0 times less); all of it was read back and compared`
fn report(name: &str, folding: Folding) -> String {
    let lines = |n: u64| units::grouped(n);
    if !folding.is_shorter() {
        let (n_lines, n_bytes) = (folding.lines_before, folding.bytes_before);
        return format!(
            "{name}: nothing to fold in {} lines, {}",
            lines(n_lines),
            units::bytes(n_bytes)
        );
    }
    format!(
        "{name}: {} lines to {} ({} times fewer), {} to {} ({} times less)",
        lines(folding.lines_before),
        lines(folding.lines_after),
        ratio(folding.lines_before, folding.lines_after),
        units::bytes(folding.bytes_before),
        units::bytes(folding.bytes_after),
        ratio(folding.bytes_before, folding.bytes_after),
    )
}

fn ratio(before: u64, after: u64) -> String {
    let tenths = u128::from(before) * 10 / u128::from(after.max(1));
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// A path as it is shown.
fn shown(path: &Path) -> String {
    chat_feed::projections::trace::clean(&path.to_string_lossy())
}
