//! `turnreel list`: the sessions of the data folder, whose ids the other commands take. It only reads, also while a server runs.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use chat_feed::projections::trace::clean;
use chat_feed::{sessions, units};
use chat_store::{Rows, Summary, now_ms};
use serde_json::{Value, json};
use terminal_size::terminal_size_of;

use crate::cli::DataArg;
use crate::{columns, data_dir, stderr, stdout};

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
            stderr::say("list", why);
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> Result<ExitCode, String> {
    let dir = data_dir::resolve(args.data.data)?;
    // There is no folder before the first start.
    let mut told = match dir.try_exists() {
        Ok(true) => chat_store::rows(&dir).map_err(|why| why.to_string())?,
        Ok(false) => Rows::default(),
        Err(why) => return Err(format!("could not read {}: {why}", dir.display())),
    };
    if told.rows.is_empty() && told.unread.is_empty() {
        // An empty list may be that of a folder that nobody meant.
        stderr::tell(format_args!(
            "no sessions yet in {}; start `turnreel`",
            dir.display()
        ));
    }
    // The newest first, as on the page.
    told.rows.sort_by_key(|row| std::cmp::Reverse(at_ms(row)));
    let now_ms = now_ms();
    let fields = told.rows.iter().map(|row| fields(row, now_ms));
    let text: String = if args.json {
        let objects = told.rows.iter().map(|row| object(row, now_ms));
        objects.map(|object| format!("{object}\n")).collect()
    } else if io::stdout().is_terminal() {
        in_columns(
            fields.collect(),
            columns::of_terminal(terminal_size_of(io::stdout())),
        )
    } else {
        // For programs that take them apart.
        fields.map(|fields| fields.join("\t") + "\n").collect()
    };
    stdout::say(&text)?;
    for why in &told.unread {
        stderr::say("list", why);
    }
    Ok(ExitCode::from(u8::from(!told.unread.is_empty())))
}

/// When something came of it last.
pub(crate) fn at_ms(row: &Summary) -> i64 {
    let changed_ms = row.last_activity_ms.or(row.last_event_ms).unwrap_or(0);
    chat_feed::sessions::last_ms(changed_ms, row.last_event_ms)
}

/// How a session stands, by the words of the page's list.
fn state(row: &Summary, now_ms: i64) -> String {
    let row = serde_json::to_value(row).and_then(serde_json::from_value::<sessions::Row>);
    row.map_or_else(
        |_| String::new(),
        |row| row.state(now_ms).word().to_lowercase(),
    )
}

fn object(row: &Summary, now_ms: i64) -> Value {
    json!({
        "id": row.id,
        "title": row.title,
        "agent": row.agent,
        "state": state(row, now_ms),
        "status": row.status,
        "packed": row.packed,
        "startedMs": row.started_ms,
        "lastActivityMs": row.last_activity_ms,
        "events": row.events,
    })
}

/// What is told of a session, in this order.
const HEADS: [&str; 6] = ["SESSION", "STATE", "SINCE", "EVENTS", "AGENT", "TITLE"];

fn fields(row: &Summary, now_ms: i64) -> [String; 6] {
    let since = match at_ms(row) {
        0 => "-".to_owned(),
        at_ms => ago(now_ms.saturating_sub(at_ms)),
    };
    let text = |text: &Option<String>| text.as_deref().map_or_else(|| "-".to_owned(), one_line);
    [
        row.id.clone(),
        match row.packed {
            true => "packed".to_owned(),
            false => state(row, now_ms),
        },
        since,
        units::grouped(row.events),
        text(&row.agent),
        text(&row.title),
    ]
}

/// Titles have at least this much room, in characters.
const LEAST_TITLE: usize = 24;

/// Of an id at least this much is told.
const LEAST_ID: usize = 8;

/// The fields below their heads. Where ids leave titles no room only their beginnings are told, which commands take as well.
fn in_columns(mut rows: Vec<[String; 6]>, width: usize) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let heads = HEADS.map(str::to_owned);
    rows.insert(0, heads);
    let widest = |nth: usize| rows.iter().map(|row| columns::width(&row[nth])).max();
    let before_titles: usize = (0..5)
        .filter_map(widest)
        .map(|width| width + columns::GAP.len())
        .sum();
    if before_titles + LEAST_TITLE > width {
        let ids: Vec<&str> = rows.iter().skip(1).map(|row| row[0].as_str()).collect();
        let cut = columns::beginnings(&ids, LEAST_ID);
        for (row, cut) in rows.iter_mut().skip(1).zip(cut) {
            row[0] = cut;
        }
    }
    columns::table(&rows, width)
}

/// A title is for one field of one line, whatever is in it.
pub(crate) fn one_line(text: &str) -> String {
    clean(text).replace(['\t', '\n'], " ")
}

/// How long ago, in one unit.
pub(crate) fn ago(ms: i64) -> String {
    let minutes = ms.max(0) / 60_000;
    match minutes {
        ..=120 => format!("{minutes} min"),
        121..=2_880 => format!("{} h", minutes / 60),
        _ => format!("{} d", minutes / 1_440),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_give_way_to_titles() {
        let row = |id: &str| {
            let fields = [id, "idle", "3 min", "1,204", "claude-code", "Fix the clock"];
            fields.map(str::to_owned)
        };
        let rows = vec![
            row("0198a1f2-6c1e-7d20-9b1a-aaaaaaaaaaaa"),
            row("0198a1f2-6c1f-7d20-9b1a-aaaaaaaaaaaa"),
        ];
        let wide = in_columns(rows.clone(), 120);
        assert!(
            wide.contains("aaaa  idle   3 min  1,204   claude-code  Fix the clock\n"),
            "{wide}"
        );
        let narrow = in_columns(rows, 80);
        assert!(narrow.contains("\n0198a1f2-6c1f  idle "), "{narrow}");
        assert!(
            narrow.lines().all(|line| columns::width(line) <= 80),
            "{narrow}"
        );
        assert_eq!(in_columns(Vec::new(), 80), "");
    }
}
