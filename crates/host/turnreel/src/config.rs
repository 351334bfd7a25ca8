//! How the server is set up: options, else the environment, else a file, else what is built in.
//!
//! The file is TOML. Its keys are the names of the options (`rate = 500`, `host = ["feed.example.org"]`), so what an option may
//! be is said in one place: a key becomes an option that nobody gave (`keys`). The file is `turnreel.toml` in the data folder
//! where it is there, or the one that `--config` names.

mod keys;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use toml::{Table, Value};

use crate::{data_dir, stderr, stdout};

/// The file in the data folder.
const FILE_NAME: &str = "turnreel.toml";

/// A longer file is none of ours.
const FILE_BYTES: u64 = 1024 * 1024;

/// The commands that are set up so.
const COMMANDS: &[&str] = &["watch", "serve", "config", "restore", "remove"];

/// The command line with what the file adds to it.
pub(crate) struct Given {
    pub(crate) matches: ArgMatches,
    /// The file, where there is one.
    file: Option<PathBuf>,
    /// The options that it set.
    from_file: BTreeSet<String>,
}

/// Reads the command line, and the file where the command has one.
///
/// # Errors
///
/// Where the file cannot be read, or says what is no option. Mistakes of the command line end the process, with their words.
pub(crate) fn read(program: &Command, args: Vec<OsString>) -> Result<Given, String> {
    let matches = match program.clone().try_get_matches_from(&args) {
        Ok(matches) => matches,
        // An agent whose hook fails is stopped, or takes it for a no.
        Err(why) if why.use_stderr() && args.get(1).is_some_and(|name| name == "hook") => {
            let said = of_environment(program, &args, &why);
            stderr::write(said.unwrap_or_else(|| why.to_string()));
            std::process::exit(0);
        }
        Err(why) => {
            if let Some(said) = of_environment(program, &args, &why) {
                stderr::write(said);
                std::process::exit(why.exit_code());
            }
            why.exit();
        }
    };
    let mut read = Given {
        matches,
        file: None,
        from_file: BTreeSet::new(),
    };
    let Some((name, given)) = read.matches.subcommand() else {
        return Ok(read);
    };
    let Some(command) = program.find_subcommand(name) else {
        return Ok(read);
    };
    if !COMMANDS.contains(&name) {
        return Ok(read);
    }
    // `restore` and `remove` have no such option, and read what is in the folder.
    let named = given.try_get_one::<PathBuf>("config");
    let named = named.ok().flatten().cloned();
    let is_named = named.is_some();
    let in_folder = || {
        let dir = data_dir::resolve(given.get_one::<PathBuf>("data").cloned()).ok()?;
        Some(dir.join(FILE_NAME)).filter(|path| chat_capture::may_be_there(path))
    };
    let Some(path) = named.or_else(in_folder) else {
        return Ok(read);
    };
    let within = |why: String| format!("could not read {}: {why}", path.display());
    let table = load(&path).map_err(within)?;
    let mut added = Vec::new();
    for (key, value) in &table {
        if !keys::is_setting(program, key, is_named) {
            return Err(within(keys::why_none(program, key, value)));
        }
        let Some(arg) = keys::option(command, key) else {
            // What another of these commands goes by.
            continue;
        };
        let id = arg.get_id().as_str();
        let source = given.value_source(id);
        if let Some(ValueSource::CommandLine | ValueSource::EnvVariable) = source {
            continue;
        }
        let words = keys::words(arg, key, value).map_err(within)?;
        added.extend(words.into_iter().map(OsString::from));
        read.from_file.insert(id.to_owned());
    }
    // Behind the command's name: what was given itself stays behind it.
    let at = 2.min(args.len());
    let mut args = args;
    args.splice(at..at, added);
    let matches = program.clone().try_get_matches_from(&args);
    read.matches = matches.map_err(|why| within(said_first(&why)))?;
    read.file = Some(path);
    Ok(read)
}

/// What to say of a value that an option cannot have, where it is that of a variable: nobody gave the option.
fn of_environment(program: &Command, args: &[OsString], why: &clap::Error) -> Option<String> {
    let ContextValue::String(told) = why.get(ContextKind::InvalidArg)? else {
        return None;
    };
    let long = told.split_whitespace().next()?;
    let is_given = args.iter().any(|arg| {
        let arg = arg.to_string_lossy();
        arg == long
            || arg
                .strip_prefix(long)
                .is_some_and(|rest| rest.starts_with('='))
    });
    let command = program.find_subcommand(args.get(1)?)?;
    let name = long.strip_prefix("--")?;
    let mut options = command.get_arguments();
    let option = options.find(|option| option.get_long() == Some(name))?;
    let variable = option.get_env()?;
    std::env::var_os(variable).filter(|_| !is_given)?;
    let variable = variable.to_string_lossy();
    let said = why.to_string();
    Some(said.replace(&format!("'{told}'"), &format!("the variable {variable}")))
}

/// What is wrong, without the usage of a command line that nobody wrote.
fn said_first(why: &clap::Error) -> String {
    let said = why.to_string();
    let said = said.split("\n\nUsage").next().unwrap_or_default();
    let said = said
        .split("\n\nFor more information")
        .next()
        .unwrap_or_default();
    said.trim_start_matches("error: ").trim_end().to_owned()
}

/// Whether the file of a data folder asks for secrets to be masked, for commands that are not set up by it. One that cannot be
/// read may.
pub(crate) fn asks_to_mask(data: &Path) -> bool {
    let path = data.join(FILE_NAME);
    chat_capture::may_be_there(&path)
        && load(&path).map_or(true, |table| match table.get("mask") {
            Some(value) => keys::switch(value).unwrap_or(true),
            None => false,
        })
}

fn load(path: &Path) -> Result<Table, String> {
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(|why| why.to_string())?;
    let read = file.take(FILE_BYTES + 1).read_to_string(&mut text);
    read.map_err(|why| why.to_string())?;
    if text.len() as u64 > FILE_BYTES {
        return Err(format!("it is over the limit of {FILE_BYTES} bytes"));
    }
    text.parse().map_err(|why: toml::de::Error| why.to_string())
}

/// `turnreel config`: what counts, and where each is from, as a file that says the same.
pub(crate) fn command(program: &Command, read: &Given) -> ExitCode {
    let mut text = String::new();
    if let Some(file) = &read.file {
        text.push_str(&format!("# {}\n", file.display()));
    }
    let subcommand = read.matches.subcommand();
    let Some((given, command)) =
        subcommand.and_then(|(name, given)| Some((given, program.find_subcommand(name)?)))
    else {
        return ExitCode::FAILURE;
    };
    for arg in command.get_arguments() {
        let Some(name) = arg.get_long() else { continue };
        if !keys::OF_ONE_START.contains(&name) {
            text.push_str(&line(arg, name, given, read));
        }
    }
    if let Err(why) = stdout::say(&text) {
        stderr::say("config", why);
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn line(arg: &Arg, name: &str, given: &ArgMatches, read: &Given) -> String {
    let id = arg.get_id().as_str();
    let source = match given.value_source(id) {
        _ if read.from_file.contains(id) => "file",
        Some(ValueSource::CommandLine) => "option",
        Some(ValueSource::EnvVariable) => "environment",
        _ => "default",
    };
    if matches!(arg.get_action(), ArgAction::SetTrue) {
        return format!("{name} = {}  # {source}\n", given.get_flag(id));
    }
    if arg.is_hide_env_values_set() && given.contains_id(id) {
        // It may hold a password.
        return format!("# {name} is set, and not shown  # {source}\n");
    }
    let raw = given.get_raw(id).into_iter().flatten();
    let mut values: Vec<String> = raw.map(|value| in_toml(&value.to_string_lossy())).collect();
    if matches!(arg.get_action(), ArgAction::Append) {
        return format!("{name} = [{}]  # {source}\n", values.join(", "));
    }
    let platform = || {
        let dir = data_dir::resolve(None).ok().filter(|_| id == "data")?;
        Some(in_toml(&dir.to_string_lossy()))
    };
    match values.pop() {
        Some(value) => format!("{name} = {value}  # {source}\n"),
        // A key of the data folder cannot stand in a file that lies in it.
        None => match platform() {
            Some(value) => format!("# {name} = {value}  # {source}\n"),
            None => format!("# {name} is not set\n"),
        },
    }
}

fn in_toml(text: &str) -> String {
    if text.parse::<i64>().is_ok() {
        text.to_owned()
    } else {
        Value::String(text.to_owned()).to_string()
    }
}
