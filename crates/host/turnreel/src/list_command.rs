//! `turnreel list`: the sessions of the data folder, whose ids the other commands take. It only reads, also while a server runs.

use std::io::Write;
use std::process::ExitCode;

use chat_feed::projections::trace::clean;
use chat_feed::units;
use chat_store::{Summary, now_ms};
use serde_json::{Value, json};

use crate::cli::DataArg;
use crate::data_dir;

/// What `turnreel list` is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Tell each session as a JSON object, one a line.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    data: DataArg,
}

/// Runs the command: 0 where all was read, 1 where something could not be.
pub(crate) fn command(args: Args) -> ExitCode {
    match run(args) {
        Ok(code) => code,
        Err(why) => {
            eprintln!("turnreel list: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> Result<ExitCode, String> {
    let dir = data_dir::resolve(args.data.data)?;
    let mut told = chat_store::rows(&dir).map_err(|why| why.to_string())?;
    if told.rows.is_empty() {
        // An empty list may be that of a folder that nobody meant.
        eprintln!("there are no sessions in {}", dir.display());
    }
    // The newest first, as on the page.
    told.rows.sort_by_key(|row| std::cmp::Reverse(at_ms(row)));
    let line = |row: &Summary| match args.json {
        true => format!("{}\n", object(row)),
        false => line(row, now_ms()),
    };
    let text: String = told.rows.iter().map(line).collect();
    let mut stdout = std::io::stdout().lock();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    match written {
        Err(why) if why.kind() != std::io::ErrorKind::BrokenPipe => {
            return Err(format!("could not write: {why}: standard output"));
        }
        Ok(()) | Err(_) => {}
    }
    for why in &told.unread {
        eprintln!("turnreel list: {why}");
    }
    Ok(ExitCode::from(u8::from(!told.unread.is_empty())))
}

/// When something came of it last.
fn at_ms(row: &Summary) -> i64 {
    row.last_activity_ms.or(row.last_event_ms).unwrap_or(0)
}

fn state(row: &Summary) -> &str {
    if row.packed { "packed" } else { &row.status }
}

fn object(row: &Summary) -> Value {
    json!({
        "id": row.id,
        "title": row.title,
        "agent": row.agent,
        "status": row.status,
        "packed": row.packed,
        "startedMs": row.started_ms,
        "lastActivityMs": row.last_activity_ms,
        "events": row.events,
    })
}

/// Id, state, how long ago something came, events, agent, title.
fn line(row: &Summary, now_ms: i64) -> String {
    let since = match at_ms(row) {
        0 => "-".to_owned(),
        at_ms => ago(now_ms.saturating_sub(at_ms)),
    };
    let events = units::grouped(row.events);
    let text = |text: &Option<String>| text.as_deref().map_or_else(|| "-".to_owned(), one_line);
    let (agent, title) = (text(&row.agent), text(&row.title));
    let state = state(row);
    format!("{}\t{state}\t{since}\t{events}\t{agent}\t{title}\n", row.id)
}

/// A title is for one field of one line, whatever is in it.
fn one_line(text: &str) -> String {
    clean(text).replace(['\t', '\n'], " ")
}

fn ago(ms: i64) -> String {
    let minutes = ms.max(0) / 60_000;
    match minutes {
        ..=120 => format!("{minutes} min"),
        121..=2_880 => format!("{} h", minutes / 60),
        _ => format!("{} d", minutes / 1_440),
    }
}
