//! Passwords that programs are given as options of one letter: `curl -u name:password`, `mysql -ppassword`,
//! `sshpass -p password`. Options that say what they are (`--password`) are found by their names.

use super::context::is_reference;
use super::find::{Found, is_placeholder};

/// A program that takes a password so.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command {
    /// How it is called, in small letters, with the space behind it.
    pub(super) word: &'static str,
    /// The options, without their first dash.
    options: &'static [&'static str],
    value: Value,
}

/// What stands behind such an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    /// `name:password`, the option's letter at the end of others, or the value right behind it.
    Credentials,
    /// The password, right behind it.
    Attached,
    /// The password, right behind it or behind a space.
    Password,
}

const fn command(word: &'static str, options: &'static [&'static str], value: Value) -> Command {
    Command {
        word,
        options,
        value,
    }
}

/// Those programs.
pub(super) const COMMANDS: &[Command] = &[
    command("curl ", &["-user", "u"], Value::Credentials),
    command("sshpass ", &["p"], Value::Password),
    command("redis-cli ", &["a"], Value::Password),
    command("docker login ", &["p"], Value::Password),
    command("podman login ", &["p"], Value::Password),
    command("helm registry login ", &["p"], Value::Password),
    command("az login ", &["p"], Value::Password),
    command("mongosh ", &["p"], Value::Password),
    command("mongodump ", &["p"], Value::Password),
    command("mongorestore ", &["p"], Value::Password),
    command("ldapsearch ", &["w"], Value::Password),
    // Behind a space these have the name of a database.
    command("mysql ", &["p"], Value::Attached),
    command("mysqldump ", &["p"], Value::Attached),
    command("mysqladmin ", &["p"], Value::Attached),
    command("mariadb ", &["p"], Value::Attached),
    command("mariadb-dump ", &["p"], Value::Attached),
];

/// So much of a command is looked at.
const MOST_BYTES: usize = 2_000;

/// The passwords of the command that stands at `at`, in whichever of its lines.
pub(super) fn find(of: &Command, text: &str, at: usize, all: &mut Vec<Found>) {
    // `my-curl` is another one.
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if of.value != Value::Credentials && text.as_bytes()[..at].last().is_some_and(is_word) {
        return;
    }
    let from = at + of.word.len();
    let text = &text[from..text.floor_char_boundary(at + MOST_BYTES)];
    // What follows the next one is its own.
    let mut words = text.as_bytes().windows(of.word.len());
    let next = words.position(|word| word.eq_ignore_ascii_case(of.word.as_bytes()));
    let mut command = own_lines(&text[..next.unwrap_or(text.len())]);
    if of.value != Value::Credentials {
        command = own_words(command);
    }
    for (dash, _) in command.match_indices('-') {
        let is_first = command[..dash].ends_with(char::is_whitespace) || dash == 0;
        let Some(value) = of.value_of(&command[dash + 1..]).filter(|_| is_first) else {
            continue;
        };
        let own = value.strip_prefix(['"', '\'']).unwrap_or(value);
        let is_quoted = own.len() < value.len();
        let own_at = from + command.len() - own.len();
        let ends = |char: char| match is_quoted {
            true => matches!(char, '"' | '\''),
            false => char.is_whitespace() || matches!(char, '"' | '\'' | '`'),
        };
        let own = &own[..own.find(ends).unwrap_or(own.len())];
        // A backslash is of the quote or of the line that ends there.
        let own = own.trim_end_matches('\\');
        let password = match of.value {
            Value::Credentials => own.split_once(':').map(|(_, password)| password),
            Value::Attached | Value::Password => Some(own).filter(|own| !own.starts_with('-')),
        };
        if let Some(password) = password
            && password.len() >= 3
            && !is_placeholder(password)
            && !is_reference(password)
            && !password.starts_with("[masked")
        {
            let start = own_at + own.len() - password.len();
            all.push(Found::named(start, password, "password"));
        }
        if of.value != Value::Credentials {
            // `sshpass -p … ssh -p 22`: the next is another program's.
            return;
        }
    }
}

impl Command {
    /// What stands behind an option of this command, where the text behind a dash is one.
    fn value_of<'t>(&self, option: &'t str) -> Option<&'t str> {
        let is_grouped = self.value == Value::Credentials;
        let value = self.options.iter().find_map(|name| {
            let letters = option.trim_start_matches(|char: char| {
                is_grouped && char.is_ascii_alphanumeric() && !name.starts_with(char)
            });
            match name.strip_prefix('-') {
                Some(_) => option
                    .strip_prefix(name)
                    .filter(|rest| !rest.starts_with('-')),
                None => letters.strip_prefix(name),
            }
        })?;
        let is_space = |char: char| char.is_whitespace() || matches!(char, '\\' | '=');
        Some(match self.value {
            Value::Attached => value,
            Value::Credentials | Value::Password => value.trim_start_matches(is_space),
        })
    }
}

/// The line that a text begins with, and those that it goes on in: it ends with a backslash.
fn own_lines(text: &str) -> &str {
    let goes_on = |end: usize| text[..end].trim_end_matches('\r').ends_with('\\');
    let mut ends = text.match_indices('\n').map(|(end, _)| end);
    let end = ends.find(|&end| !goes_on(end)).unwrap_or(text.len());
    &text[..end]
}

/// The words of the command that a text begins with, up to the sign that begins another: in quotes there is none.
fn own_words(text: &str) -> &str {
    let mut quote = None;
    let ends = |char: char| match quote {
        Some(open) => {
            quote = quote.filter(|_| char != open);
            false
        }
        None => {
            quote = Some(char).filter(|char| matches!(char, '"' | '\''));
            matches!(char, ';' | '|' | '&')
        }
    };
    &text[..text.find(ends).unwrap_or(text.len())]
}
