//! `turnreel remove`: removes sessions, and the long bodies that no other session names.
//!
//! Which ones is for `chosen`. Where nobody holds the data folder they are removed from there and from the stores that it is
//! copied to (`here`); where a server has it, that is asked to do the same (`served`), for it holds their logs.

mod chosen;
mod here;
mod outcome;
mod served;

use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use chat_store::{Among, Blobs, Error, HeldFolder, Sweep, Unnamed, named_bodies};
use terminal_size::terminal_size_of;

use crate::cli::DataArg;
use crate::columns;
use crate::data_dir;
use crate::removal::{Freed, REST_OF_ALL};
use crate::restore::parse_session;
use crate::store_urls::StoreUrls;
use crate::token_command::parse_duration_ms;
use crate::{stderr, stdout};
use chosen::{Chosen, Wanted};
use here::Stores;
use outcome::Outcome;

/// What `turnreel remove` is told.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").args(["sessions", "older_than", "bodies"]).required(true).multiple(true))]
pub(crate) struct Args {
    /// The sessions, by their ids or the beginnings of these.
    #[arg(value_name = "SESSION", value_parser = parse_session)]
    sessions: Vec<String>,

    /// All sessions whose newest event is so old, by its own time, but those that work: 12h, 30d.
    #[arg(long, value_name = "AGE", value_parser = parse_age_ms, conflicts_with = "sessions")]
    older_than: Option<i64>,

    /// Also long bodies that no log names and that are a day old, as sessions leave them whose files were removed by hand.
    #[arg(long)]
    bodies: bool,

    /// Also sessions that work: they are back with what is sent to them next.
    #[arg(long)]
    force: bool,

    /// Say what would go, and remove nothing.
    #[arg(long)]
    dry_run: bool,

    /// Do not ask.
    #[arg(short, long)]
    yes: bool,

    /// Leave the copies in stores of others: the object store gives a session back when somebody asks for it.
    #[arg(long)]
    keep_copies: bool,

    #[command(flatten)]
    data: DataArg,

    #[command(
        flatten,
        next_help_heading = "Stores that others run, where no server has the folder [default: as turnreel.toml in it has them]"
    )]
    stores: StoreUrls,
}

fn parse_age_ms(text: &str) -> Result<i64, String> {
    let expected = "expected a number and s, m, h or d, such as 30d";
    parse_duration_ms(text).map_err(|_| expected.to_owned())
}

/// Runs the command: 0 where all went that was asked for, 1 where not, 2 where nobody could be asked.
pub(crate) fn command(args: Args) -> ExitCode {
    match run(args) {
        Ok(code) => code,
        Err(why) => {
            stderr::say("remove", why);
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> Result<ExitCode, String> {
    let dir = data_dir::resolve(args.data.data.clone())?;
    if !dir.is_dir() {
        return Err(format!("there is no folder {}", dir.display()));
    }
    let wanted = Wanted {
        sessions: &args.sessions,
        older_than_ms: args.older_than,
        force: args.force,
    };
    let mut chosen = chosen::choose(&dir, &wanted)?;
    if chosen.is_empty() && !args.bodies {
        stderr::tell("no session is that old: nothing to remove");
        return Ok(ExitCode::SUCCESS);
    }
    // A folder that is none of ours is not made one by a lock.
    if !dir.join(".lock").exists() && !chosen.iter().any(Chosen::is_here) {
        let none = chosen.first().map_or("", |one| one.id.as_str());
        return Err(match none {
            "" => format!(
                "no server had the folder {}: nothing to remove",
                dir.display()
            ),
            none => format!("there is no session {none} in {}", dir.display()),
        });
    }
    if args.dry_run {
        tell(&chosen)?;
        stderr::tell(would(&dir, &chosen, args.bodies)?);
        return Ok(ExitCode::SUCCESS);
    }
    if !args.yes {
        if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
            let why = "nobody can be asked here: --yes removes without asking, --dry-run says what would go";
            stderr::say("remove", why);
            return Ok(ExitCode::from(2));
        }
        tell(&chosen)?;
        if !is_confirmed(&would(&dir, &chosen, args.bodies)?)? {
            stderr::tell("nothing was removed");
            return Ok(ExitCode::FAILURE);
        }
        // What went on while the question stood there is not that old any more.
        if args.older_than.is_some() {
            chosen = chosen::still(chosen, &chosen::choose(&dir, &wanted)?);
        }
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|why| format!("could not start: {why}"))?;
    let outcome = match HeldFolder::take(&dir) {
        Ok(folder) => {
            let stores = match args.keep_copies {
                true => Stores::default(),
                false => Stores::of(&args.stores)?,
            };
            runtime.block_on(here::remove(&dir, &folder, stores, &chosen, args.bodies))?
        }
        Err(why @ Error::Locked { pid, .. }) => {
            let server = data_dir::server_file(&dir);
            // That of another folder, which this one is a copy of, is not asked.
            if let (Some(server), Some(pid)) = (&server, pid)
                && server.pid != pid
            {
                return Err(why.to_string());
            }
            let server = server.zip(data_dir::read_token(&dir));
            let (server, token) = server.ok_or_else(|| data_dir::why_not_opened(&dir, &why))?;
            let terms = served::Terms {
                force: args.force,
                keeps_copies: args.keep_copies,
                all_bodies: args.bodies,
            };
            runtime.block_on(served::remove(&server.url, &token, &chosen, terms))?
        }
        Err(why) => return Err(data_dir::why_not_opened(&dir, &why)),
    };
    for left in &outcome.removed.left {
        stderr::say("remove", format_args!("left: {left}"));
    }
    stderr::tell(outcome.told());
    let failed = outcome.failed || !outcome.removed.left.is_empty();
    Ok(ExitCode::from(u8::from(failed)))
}

/// Says which sessions are meant, in columns for who reads them in a terminal.
fn tell(chosen: &[Chosen]) -> Result<(), String> {
    let fields = chosen.iter().map(Chosen::fields);
    let text: String = match io::stdout().is_terminal() {
        true if chosen.is_empty() => String::new(),
        true => {
            let heads = ["SESSION", "AGE", "SIZE", "TITLE"].map(str::to_owned);
            let rows: Vec<_> = [heads].into_iter().chain(fields).collect();
            columns::table(&rows, columns::of_terminal(terminal_size_of(io::stdout())))
        }
        false => fields.map(|fields| fields.join("\t") + "\n").collect(),
    };
    stdout::say(&text).map(drop)
}

/// `3 sessions, 14 files, 12.4 MB, and 2 long bodies that no other session names, 8.1 MB`
fn would(dir: &Path, chosen: &[Chosen], all_bodies: bool) -> Result<String, String> {
    let mut outcome = Outcome {
        sessions: chosen.len() as u64,
        ..Outcome::default()
    };
    for one in chosen {
        outcome.removed.files += one.freed.files;
        outcome.removed.bytes += one.freed.bytes;
    }
    let bodies = named_bodies(dir, chosen.iter().map(|one| &one.id));
    let bodies = bodies.map_err(|why| why.to_string())?;
    let without = chosen.iter().map(|one| one.id.stem()).collect();
    let (blobs, mut freed) = (Blobs::beside(dir), Freed::default());
    let mut sweep = |among, rest| -> Result<Unnamed, String> {
        let sweep = Sweep {
            among,
            rest,
            without: &without,
            is_dry: true,
        };
        let unnamed = blobs.sweep(&sweep).map_err(|why| why.to_string())?;
        freed.add(&unnamed);
        Ok(unnamed)
    };
    match all_bodies {
        // Those of the sessions are among them, as far as they are old enough.
        true => drop(sweep(Among::All, REST_OF_ALL)?),
        false => drop(sweep(Among::These(&bodies), Duration::ZERO)?),
    }
    outcome.bodies = freed;
    Ok(format!("{} would go", outcome.amount()))
}

fn is_confirmed(what: &str) -> Result<bool, String> {
    stderr::write(format_args!("{what}, for good. Remove them? [y/N] "));
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer);
    read.map_err(|why| format!("could not read the answer: {why}"))?;
    Ok(matches!(&*answer.trim().to_lowercase(), "y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_a_unit() {
        assert_eq!(parse_age_ms("30d"), Ok(30 * 86_400_000));
        for text in ["", "30", "0d", "x"] {
            assert!(parse_age_ms(text).unwrap_err().contains("30d"), "{text}");
        }
    }
}
