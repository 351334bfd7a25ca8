//! The keys of the file: which options they may be, and what is said of those that are none.

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Command};
use toml::Value;

use super::COMMANDS;

/// The command that has all settings. What other commands have beside them is for who types it: a file that had `remove` never
/// ask would remove what nobody was asked about.
const WIDEST: &str = "watch";

/// Options that stand for one start.
pub(super) const OF_ONE_START: &[&str] = &["config", "ready-json", "help", "version"];

/// Whether a key may stand in the file. One that lies in the data folder (not `is_named`) cannot say where that is.
pub(super) fn is_setting(program: &Command, key: &str, is_named: bool) -> bool {
    let wide = program.find_subcommand(WIDEST);
    let arg = wide.and_then(|wide| option(wide, key));
    arg.is_some_and(|arg| {
        let name = arg.get_long().unwrap_or_default();
        !OF_ONE_START.contains(&name) && (is_named || name != "data")
    })
}

/// The command's option that a key means.
pub(super) fn option<'c>(command: &'c Command, key: &str) -> Option<&'c Arg> {
    let name = name_of(key);
    let mut args = command.get_arguments();
    args.find(|arg| arg.get_long() == Some(&name))
}

fn name_of(key: &str) -> String {
    key.replace('_', "-")
}

/// Why a key may not stand in the file.
pub(super) fn why_none(program: &Command, key: &str, value: &Value) -> String {
    if name_of(key) == "data" {
        return format!(
            "`{key}` cannot stand in the data folder itself: --data and TURNREEL_DATA say where that is"
        );
    }
    let of_commands = COMMANDS.iter().any(|name| {
        let command = program.find_subcommand(name);
        command.is_some_and(|command| option(command, key).is_some())
    });
    if of_commands || OF_ONE_START.contains(&&*name_of(key)) {
        return format!("`{key}` is for the command line alone");
    }
    if value.is_table() {
        return format!("`[{key}]` is no option: all of them stand at the top, below no heading");
    }
    match near(program, key) {
        Some(near) => {
            format!("`{key}` is no option of `turnreel serve`; a similar one is `{near}`")
        }
        None => format!("`{key}` is no option of `turnreel serve`"),
    }
}

/// The setting that somebody may have meant: as the command line finds it.
fn near(program: &Command, key: &str) -> Option<String> {
    let words = [
        "turnreel".to_owned(),
        WIDEST.to_owned(),
        format!("--{}", name_of(key)),
    ];
    let why = program.clone().try_get_matches_from(words).err()?;
    let ContextValue::String(near) = why.get(ContextKind::SuggestedArg)? else {
        return None;
    };
    let near = near.trim_start_matches('-');
    is_setting(program, near, false).then(|| near.to_owned())
}

/// The value as it would be given as an option.
pub(super) fn words(arg: &Arg, key: &str, value: &Value) -> Result<Vec<String>, String> {
    let name = arg.get_long().unwrap_or_default();
    let is_flag = matches!(arg.get_action(), ArgAction::SetTrue);
    let wrong = |expected: &str| Err(format!("`{key}`: expected {expected}"));
    let word = |value: &Value| match value {
        Value::String(text) => Some(format!("--{name}={text}")),
        Value::Integer(number) => Some(format!("--{name}={number}")),
        _ => None,
    };
    match value {
        value if is_flag => match switch(value) {
            Some(is_on) => Ok(is_on.then(|| format!("--{name}")).into_iter().collect()),
            None => wrong("true or false"),
        },
        Value::Array(items) if matches!(arg.get_action(), ArgAction::Append) => {
            let words: Option<Vec<_>> = items.iter().map(word).collect();
            words.map_or_else(|| wrong("a list of texts"), Ok)
        }
        value => match word(value) {
            Some(word) => Ok(vec![word]),
            None => wrong("a text or a whole number"),
        },
    }
}

/// Whether a switch is on, as the file may say it: as TOML does, or in the words that a variable takes.
pub(super) fn switch(value: &Value) -> Option<bool> {
    let word = match value {
        Value::Boolean(is_on) => return Some(*is_on),
        Value::Integer(number) => number.to_string(),
        Value::String(word) => word.to_ascii_lowercase(),
        _ => return None,
    };
    match &*word {
        "1" | "yes" | "true" | "on" => Some(true),
        "0" | "no" | "false" | "off" => Some(false),
        _ => None,
    }
}
