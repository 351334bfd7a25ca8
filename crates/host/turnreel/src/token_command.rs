//! `turnreel token`: makes, lists and revokes tokens, and makes the server's own anew. A running server sees the change by itself.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use chat_store::{SessionId, now_ms};
use serde_json::{Value, json};

use crate::cli::DataArg;
use crate::data_dir;
use crate::list_command::ago;
use crate::scope::Scope;
use crate::tokens::{self, Record, Wanted};
use crate::{stderr, stdout, trace};

/// What `turnreel token` is told.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Create a token and print it. It is kept as a hash, so this is the only time it is shown.
    Create {
        /// What it may be used for; may be given more than once.
        #[arg(long = "scope", value_name = "SCOPE", required = true, value_delimiter = ',', value_parser = ["ingest", "read", "answer", "admin"])]
        scopes: Vec<String>,

        /// Only for this session [default: for all].
        #[arg(long, value_name = "ID", value_parser = parse_session)]
        session: Option<SessionId>,

        /// Its end, from now: 30m, 12h, 7d [default: none].
        #[arg(long, value_name = "TIME", value_parser = parse_duration_ms)]
        expires: Option<i64>,

        /// What to call it in the list.
        #[arg(long, value_name = "TEXT")]
        label: Option<String>,

        #[command(flatten)]
        data: DataArg,
    },
    /// List the tokens that were made, one a line: id, scopes, session, how long ago it was made, end, label.
    List {
        /// Print one JSON array, with times in milliseconds since 1970.
        #[arg(long)]
        json: bool,

        #[command(flatten)]
        data: DataArg,
    },
    /// Take a token back. Sockets that it opened are closed too.
    Revoke {
        /// Its id, as `list` has it.
        id: String,

        #[command(flatten)]
        data: DataArg,
    },
    /// Write another token of the server's own, which opens everything, and print it. A running server goes by it at once, and
    /// closes what the one before opened.
    Rotate {
        #[command(flatten)]
        data: DataArg,
    },
}

fn parse_session(text: &str) -> Result<SessionId, String> {
    SessionId::parse(text).map_err(|why| why.to_string())
}

/// `90s`, `30m`, `12h`, `7d`.
pub(crate) fn parse_duration_ms(text: &str) -> Result<i64, String> {
    let expected = || "expected a number and s, m, h or d, such as 12h".to_owned();
    let unit = text.chars().last().ok_or_else(expected)?;
    let unit_ms = match unit {
        's' => 1000,
        'm' => 60_000,
        'h' => 3_600_000,
        'd' => 86_400_000,
        _ => return Err(expected()),
    };
    let number: i64 = text[..text.len() - 1].parse().map_err(|_| expected())?;
    if number <= 0 {
        return Err("expected an end that is still to come, such as 12h".to_owned());
    }
    number.checked_mul(unit_ms).ok_or_else(expected)
}

/// Runs the command.
pub(crate) fn command(command: Command) -> ExitCode {
    match run(command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            stderr::say("token", why);
            ExitCode::FAILURE
        }
    }
}

/// Prints a token, which somebody has to read.
fn print(token: &str) -> Result<(), String> {
    match stdout::say(&format!("{token}\n"))? {
        true => Ok(()),
        false => Err("could not write: nobody reads it: standard output".to_owned()),
    }
}

fn run(command: Command) -> Result<(), String> {
    match command {
        Command::Create {
            scopes,
            session,
            expires,
            label,
            data,
        } => {
            let dir = folder_to_make_in(data.data)?;
            if let Some(session) = &session {
                look_for(&dir, session.as_str());
            }
            let wanted = Wanted {
                scopes: scopes
                    .iter()
                    .filter_map(|word| Scope::from_word(word))
                    .collect(),
                session,
                label,
                expires_ms: expires.map(|ms| now_ms().saturating_add(ms)),
                share: false,
            };
            let (token, record) = tokens::create(&dir, wanted)?;
            // The folder is named: who misspells it makes a token that opens nothing.
            let folder = dir.display();
            stderr::tell(format_args!(
                "Token {} of {folder}; it is not shown again:",
                record.id
            ));
            print(&token).inspect_err(|_| {
                // Nobody has it. Where it cannot be taken back either, it stands in the list.
                let _ = tokens::revoke(&dir, |made| made.id == record.id);
            })
        }
        Command::List { json, data } => {
            let is_named = data.data.is_some();
            let dir = data_dir::resolve(data.data)?;
            let records = tokens::list(&dir)?;
            if is_named && !dir.is_dir() {
                return Err(no_folder(&dir));
            }
            if records.is_empty() {
                // An empty list may be that of a folder that nobody meant.
                stderr::tell(format_args!("no token was made in {}", dir.display()));
            }
            let text = match json {
                true => format!("{:#}\n", records.iter().map(in_json).collect::<Value>()),
                false => records.iter().map(row).collect(),
            };
            stdout::say(&text).map(drop)
        }
        Command::Revoke { id, data } => {
            let dir = data_dir::resolve(data.data)?;
            match tokens::revoke(&dir, |record| record.id == id)? {
                0 => Err(format!("could not revoke: there is no token {id}")),
                _ => Ok(()),
            }
        }
        Command::Rotate { data } => {
            let dir = data_dir::resolve(data.data)?;
            if !data_dir::may_have_token(&dir) {
                let dir = dir.display();
                return Err(format!(
                    "there is no token of a server in {dir}: it is made when one starts there"
                ));
            }
            let token = data_dir::rotate_token(&dir)?;
            stderr::tell(format_args!(
                "The server's own token of {}, from now on:",
                dir.display()
            ));
            print(&token)
        }
    }
}

/// The folder that a token is made in: one that is there, or the usual one, which may still be to come. One that is named and
/// not there is misspelt more often than it is wanted, and no server would know the token.
fn folder_to_make_in(named: Option<PathBuf>) -> Result<PathBuf, String> {
    let is_named = named.is_some();
    let dir = data_dir::resolve(named)?;
    if is_named && !dir.is_dir() {
        return Err(no_folder(&dir));
    }
    data_dir::make_private(&dir)?;
    if !data_dir::may_have_token(&dir) {
        stderr::tell(format_args!("No server has served {} yet", dir.display()));
    }
    Ok(dir)
}

fn no_folder(dir: &Path) -> String {
    let dir = dir.display();
    format!("there is no folder {dir}: a server makes it when it starts, or make it first")
}

/// What `list --json` tells of one: all but what it is checked by.
fn in_json(record: &Record) -> Value {
    json!({
        "id": record.id,
        "scopes": record.scopes,
        "session": record.session,
        "label": record.label,
        "share": record.share,
        "createdMs": record.created_ms,
        "expiresMs": record.expires_ms,
    })
}

/// A session that is still to come may be meant; who gave the beginning of an id, or misspelt one, sees so.
fn look_for(dir: &Path, id: &str) {
    // One that was packed away is there, and of several that begin so none is meant.
    let Ok(found) = trace::log_of(dir, id) else {
        return;
    };
    match found.and_then(|log| trace::id_in(&log)) {
        Some(found) if found == id => {}
        Some(found) => stderr::tell(format_args!(
            "There is no session {id} yet; {found} begins so"
        )),
        None => stderr::tell(format_args!(
            "There is no session {id} yet in {}",
            dir.display()
        )),
    }
}

fn row(record: &Record) -> String {
    let session = record.session.as_deref().unwrap_or("*");
    let end = match record.expires_ms {
        None => "-".to_owned(),
        Some(end_ms) => match end_ms - now_ms() {
            ..=0 => "over".to_owned(),
            left_ms => left(left_ms),
        },
    };
    // A label is for one line, whatever is in it.
    let label: String = record
        .label
        .as_deref()
        .unwrap_or(if record.share { "(link)" } else { "" })
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let age = ago(now_ms() - record.created_ms);
    format!(
        "{}\t{}\t{session}\t{age} ago\t{end}\t{label}\n",
        record.id,
        record.scopes.join(",")
    )
}

/// How long it is, in the unit that `--expires` would take: `7 d`, `30 h`, `90 min`.
fn left(left_ms: i64) -> String {
    let minutes = (left_ms - 1) / 60_000 + 1;
    match minutes {
        ..=120 => format!("{minutes} min"),
        121..=2_880 => format!("{} h", (minutes - 1) / 60 + 1),
        _ => format!("{} d", (minutes - 1) / 1_440 + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_told_as_it_was_given() {
        for (given, told) in [
            ("7d", "7 d"),
            ("12h", "12 h"),
            ("30m", "30 min"),
            ("90s", "2 min"),
        ] {
            // A moment has passed.
            assert_eq!(left(parse_duration_ms(given).unwrap() - 5), told);
        }
    }

    #[test]
    fn times_have_a_unit_and_are_not_nothing() {
        assert_eq!(parse_duration_ms("90s"), Ok(90_000));
        assert_eq!(parse_duration_ms("7d"), Ok(604_800_000));
        for text in ["", "s", "5", "0h", "-1h", "1é", "9223372036854775807d"] {
            assert!(parse_duration_ms(text).is_err(), "{text}");
        }
        let why = parse_duration_ms("0s").unwrap_err();
        assert!(why.contains("still to come"), "{why}");
    }
}
