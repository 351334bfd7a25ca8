//! `turnreel restore`: brings sessions back from the object store into the data folder, with the bodies beside their logs; or
//! says which there are that the folder has not.
//!
//! A server that runs fetches a session by itself when somebody asks for it (`fetched`): this is for who has lost their
//! ids, or wants them all, and for a folder that is to do without the store again. How one is brought back is in `one`.

mod one;

use std::path::Path;
use std::process::ExitCode;

use chat_feed::projections::trace::clean;
use chat_feed::units;
use chat_store::{Options, SessionId, Store};
use chat_tiers::{Cold, Manifest};
use futures_util::StreamExt;

use crate::cli::DataArg;
use crate::{data_dir, stderr, stdout};
use one::{Brought, One, bring_back};

/// Manifests that are asked for beside each other.
const BESIDE: usize = 16;

/// What `turnreel restore` is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The sessions, by their ids or the beginnings of these [default: says which there are, and brings none].
    #[arg(value_name = "SESSION", value_parser = parse_session)]
    sessions: Vec<String>,

    /// Bring back all that the data folder has not.
    #[arg(long, conflicts_with = "sessions")]
    all: bool,

    /// The object store, as `turnreel serve` has it: s3://BUCKET[/PREFIX][?region=REGION&endpoint=https://HOST] [default: s3
    /// in turnreel.toml in the data folder].
    #[arg(long, value_name = "URL", env = "TURNREEL_S3", hide_env_values = true)]
    s3: Option<String>,

    #[command(flatten)]
    data: DataArg,
}

pub(crate) fn parse_session(text: &str) -> Result<String, String> {
    let id = SessionId::parse(text).map_err(|why| why.to_string())?;
    Ok(id.as_str().to_owned())
}

/// Runs the command: 0 where all that was asked for is here, 1 where not.
pub(crate) fn command(args: Args) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let done = match runtime {
        Ok(runtime) => runtime.block_on(run(args)),
        Err(why) => Err(format!("could not start: {why}")),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            stderr::say("restore", why);
            ExitCode::FAILURE
        }
    }
}

async fn run(args: Args) -> Result<bool, String> {
    let dir = data_dir::resolve(args.data.data)?;
    let s3 = args.s3.ok_or(
        "could not find the object store: give its address with --s3 s3://BUCKET[/PREFIX], by TURNREEL_S3, or as `s3` in turnreel.toml in the data folder",
    )?;
    let cold = Cold::new(&s3).map_err(|why| format!("--s3: {why}"))?;
    let stems = cold.stems().await.map_err(|why| why.to_string())?;
    if stems.is_empty() && args.sessions.is_empty() {
        // A prefix that is not the server's looks the same as a store that was never written to.
        stderr::tell("the object store has no session at that address, its prefix included");
        return Ok(true);
    }
    if args.sessions.is_empty() && !args.all {
        return tell(&cold, &dir, stems).await;
    }
    let stems = match args.all {
        true => stems,
        false => chosen(&args.sessions, &stems)?,
    };
    let opening = dir.clone();
    let opened = tokio::task::spawn_blocking(move || Store::open(&opening, Options::default()));
    let opened = opened.await.map_err(|why| why.to_string())?;
    let store = opened.map_err(|why| data_dir::why_not_opened(&dir, &why))?;
    bring(&cold, &store, &stems, args.all).await
}

/// Brings these back, and says what came of each.
async fn bring(cold: &Cold, store: &Store, stems: &[String], all: bool) -> Result<bool, String> {
    let mut all_well = true;
    let (mut n_brought, mut n_here) = (0_u64, 0_u64);
    for stem in stems {
        match bring_back(cold, store, stem).await {
            Ok(One { brought, whole }) => {
                all_well &= whole;
                match brought {
                    Brought::Back(line) => {
                        n_brought += 1;
                        say(&line)?;
                    }
                    Brought::WasHere { line, has_news } => {
                        n_here += 1;
                        // Of all, nobody asked for those that are here.
                        if has_news || !all {
                            say(&line)?;
                        }
                    }
                }
            }
            Err(why) => {
                stderr::say("restore", format_args!("{}: {}", clean(stem), clean(&why)));
                all_well = false;
            }
        }
    }
    if all {
        let [n_brought, n_here] = [n_brought, n_here].map(units::grouped);
        stderr::tell(format_args!("{n_brought} brought back, {n_here} were here"));
    }
    Ok(all_well)
}

/// The stems of the sessions that are meant: each by its whole id, or by a beginning that only one has.
fn chosen(sessions: &[String], stems: &[String]) -> Result<Vec<String>, String> {
    let mut chosen: Vec<String> = Vec::new();
    for session in sessions {
        let whole = SessionId::parse(session).map(|id| id.stem()).ok();
        let beginning = session.to_ascii_lowercase();
        let mut found: Vec<&String> = stems
            .iter()
            .filter(|it| Some(*it) == whole.as_ref())
            .collect();
        if found.is_empty() {
            found = stems
                .iter()
                .filter(|it| it.starts_with(&beginning))
                .collect();
        }
        match &*found {
            [] => return Err(format!("the object store has no session {session}")),
            [one] => chosen.extend((!chosen.contains(one)).then(|| (*one).clone())),
            [first, second, ..] => {
                return Err(format!(
                    "several sessions begin with {session}: {}, {}{}",
                    clean(first),
                    clean(second),
                    if found.len() > 2 { ", …" } else { "" }
                ));
            }
        }
    }
    Ok(chosen)
}

/// Says which sessions the store has and the folder has not. The folder is not held for it.
async fn tell(cold: &Cold, dir: &Path, stems: Vec<String>) -> Result<bool, String> {
    let is_here = |stem: &String| dir.join(format!("{stem}.events.jsonl")).exists();
    let elsewhere = stems.into_iter().filter(|stem| !is_here(stem));
    let asked = elsewhere.map(|stem| async move { (cold.find_of_stem(&stem).await, stem) });
    let mut asked = futures_util::stream::iter(asked).buffered(BESIDE);
    let (mut all_well, mut n_told) = (true, 0);
    while let Some((found, stem)) = asked.next().await {
        match found {
            Ok(Some(copy)) => {
                n_told += 1;
                // Each of the others would be asked for, for nobody.
                if !say(&row(&copy))? {
                    return Ok(all_well);
                }
            }
            Ok(None) => {}
            Err(why) => {
                stderr::say(
                    "restore",
                    format_args!("{}: {}", clean(&stem), clean(&why.to_string())),
                );
                all_well = false;
            }
        }
    }
    match n_told {
        // Nobody knows what those are that could not be read.
        0 if !all_well => {}
        0 => stderr::tell(format_args!(
            "the object store has nothing that {} has not",
            dir.display()
        )),
        _ => stderr::tell("`turnreel restore SESSION …` or `--all` brings them back"),
    }
    Ok(all_well)
}

/// `s1  12 events  3.2 KB  Fix the failing test`
fn row(copy: &Manifest) -> String {
    let title = copy.summary.title.as_deref().unwrap_or_default();
    let line = format!(
        "{}  {} events  {}  {title}",
        copy.session,
        units::grouped(copy.events),
        units::bytes(copy.bytes)
    );
    // What a session is called is for one line, whatever is in it.
    clean(line.trim_end())
}

/// `false` where nobody reads it any more.
fn say(line: &str) -> Result<bool, String> {
    stdout::say(&format!("{line}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_meant_by_its_id_or_by_a_beginning_that_is_its_own() {
        let ids = ["run-1", "run-10", "Run-1", "other"];
        let stems: Vec<String> = ids.map(|id| SessionId::parse(id).unwrap().stem()).into();
        let meant = |sessions: &[&str]| {
            let sessions: Vec<String> = sessions.iter().map(|id| (*id).to_owned()).collect();
            chosen(&sessions, &stems)
        };
        assert_eq!(
            meant(&["run-1", "Run-1", "run-1"]).unwrap(),
            [&*stems[0], &stems[2]]
        );
        assert_eq!(meant(&["oth", "run-10"]).unwrap(), [&*stems[3], &stems[1]]);
        assert!(meant(&["run"]).unwrap_err().contains("several"));
        assert!(
            meant(&["nothing"])
                .unwrap_err()
                .contains("no session nothing")
        );
    }
}
