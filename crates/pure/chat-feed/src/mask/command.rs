//! Passwords that programs are given as options with a name of their own (`curl -u name:password`, `mysql -ppassword`,
//! `openssl -passin pass:password`), or as an argument (`htpasswd -b file name password`). Options that say what they are
//! (`--password`) are found by their names.

use super::context::is_itself;
use super::find::Found;

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
    /// `name:password` with this sign between them, the option's letter at the end of others, or the value right behind it.
    Credentials(char),
    /// The password, right behind it.
    Attached,
    /// The password, right behind it or behind a space.
    Password,
    /// The same, with `pass:` before it; other words say where it is.
    Source,
    /// No option: the argument with this number, from 0. Options are not counted.
    Argument(usize),
    /// The last argument, where one of these options is there.
    Last,
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
    command("curl ", &["-user", "u"], Value::Credentials(':')),
    command("http ", &["-auth", "a"], Value::Credentials(':')),
    command("https ", &["-auth", "a"], Value::Credentials(':')),
    command("smbclient ", &["-user", "U"], Value::Credentials('%')),
    command("sshpass ", &["p"], Value::Password),
    command("redis-cli ", &["a"], Value::Password),
    command("docker login ", &["p"], Value::Password),
    command("podman login ", &["p"], Value::Password),
    command("helm registry login ", &["p"], Value::Password),
    command("az login ", &["p"], Value::Password),
    command("az sql ", &["p"], Value::Password),
    command("mongo ", &["p"], Value::Password),
    command("mongosh ", &["p"], Value::Password),
    command("mongodump ", &["p"], Value::Password),
    command("mongorestore ", &["p"], Value::Password),
    command("ldapsearch ", &["w"], Value::Password),
    command("ldapmodify ", &["w"], Value::Password),
    command("ldapadd ", &["w"], Value::Password),
    command("cqlsh ", &["p"], Value::Password),
    command("sqlcmd ", &["P"], Value::Password),
    command("bcp ", &["P"], Value::Password),
    command("ipmitool ", &["P"], Value::Password),
    command("mosquitto_pub ", &["P"], Value::Password),
    command("mosquitto_sub ", &["P"], Value::Password),
    command("influx ", &["password"], Value::Password),
    command("useradd ", &["p"], Value::Password),
    command("usermod ", &["p"], Value::Password),
    command("zip ", &["P"], Value::Password),
    command("unzip ", &["P"], Value::Password),
    command("snmpwalk ", &["A", "X"], Value::Password),
    command("snmpget ", &["A", "X"], Value::Password),
    command("openssl enc ", &["k"], Value::Password),
    command("keytool ", KEY_STORE, Value::Password),
    command("jarsigner ", KEY_STORE, Value::Password),
    command("gh secret set ", &["-body", "b"], Value::Password),
    command("openssl ", &["passin", "passout", "pass"], Value::Source),
    // Behind a space these have the name of a database.
    command("mysql ", &["p"], Value::Attached),
    command("mysqldump ", &["p"], Value::Attached),
    command("mysqladmin ", &["p"], Value::Attached),
    command("mariadb ", &["p"], Value::Attached),
    command("mariadb-dump ", &["p"], Value::Attached),
    command("7z ", &["p"], Value::Attached),
    command("7za ", &["p"], Value::Attached),
    command("rar ", &["p", "hp"], Value::Attached),
    command("unrar ", &["p"], Value::Attached),
    command("wpa_passphrase ", &[], Value::Argument(1)),
    command("net user ", &[], Value::Argument(1)),
    command("vault login ", &[], Value::Argument(0)),
    command("htpasswd ", &["b"], Value::Last),
];

const KEY_STORE: &[&str] = &["storepass", "keypass", "srcstorepass", "deststorepass"];

/// So much of a command is looked at.
const MOST_BYTES: usize = 2_000;

/// The passwords of the command that stands at `at`, in whichever of its lines.
pub(super) fn find(of: &Command, text: &str, at: usize, all: &mut Vec<Found>) {
    // `my-curl` is another one.
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_grouped = of.is_grouped();
    if !is_grouped && text.as_bytes()[..at].last().is_some_and(is_word) {
        return;
    }
    let from = at + of.word.len();
    let text = &text[from..text.floor_char_boundary(at + MOST_BYTES)];
    // What follows the next one is its own.
    let words = text.as_bytes().windows(of.word.len());
    let mut words = words.enumerate().filter(|(at, word)| {
        let is_part = at
            .checked_sub(1)
            .is_some_and(|before| is_word(&text.as_bytes()[before]));
        word.eq_ignore_ascii_case(of.word.as_bytes()) && (is_grouped || !is_part)
    });
    let next = words.next().map(|(at, _)| at);
    let mut command = own_lines(&text[..next.unwrap_or(text.len())]);
    if !is_grouped {
        command = own_words(command);
    }
    if let Value::Argument(_) | Value::Last = of.value {
        let argument = of
            .argument(command)
            .filter(|(_, value)| has_letter_and_digit(value));
        return note(argument.map(|(at, value)| (from + at, value)), all);
    }
    for (dash, _) in command.match_indices('-') {
        let is_first = command[..dash].ends_with(char::is_whitespace) || dash == 0;
        let option = of.value_of(&command[dash + 1..]).filter(|_| is_first);
        let Some((name, value)) = option else {
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
            Value::Credentials(sign) => own.split_once(sign).map(|(_, password)| password),
            Value::Source => own.strip_prefix("pass:"),
            _ => Some(own).filter(|own| !own.starts_with('-')),
        };
        note(
            password.map(|password| (own_at + own.len() - password.len(), password)),
            all,
        );
        if !is_grouped && name.len() == 1 {
            // `sshpass -p … ssh -p 22`: the next is another program's.
            return;
        }
    }
}

fn note(password: Option<(usize, &str)>, all: &mut Vec<Found>) {
    if let Some((at, password)) = password
        && password.len() >= 3
        && is_itself(password)
    {
        all.push(Found::named(at, password, "password"));
    }
}

/// What no word of prose has, and no option: a command's name may stand in any sentence.
fn has_letter_and_digit(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.as_bytes().iter().any(is);
    value.len() >= 6
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && !value.contains('=')
}

impl Command {
    /// Whether its options may stand together: `-sSu`.
    fn is_grouped(&self) -> bool {
        matches!(self.value, Value::Credentials(_))
    }

    /// The option of this command that the text behind a dash begins with, and what stands behind it.
    fn value_of<'t>(&self, option: &'t str) -> Option<(&'static str, &'t str)> {
        let (name, value) = self.options.iter().find_map(|&name| {
            let letters = option.trim_start_matches(|char: char| {
                self.is_grouped() && char.is_ascii_alphanumeric() && !name.starts_with(char)
            });
            let value = match name.strip_prefix('-') {
                Some(_) => option
                    .strip_prefix(name)
                    .filter(|rest| !rest.starts_with('-')),
                // `-kfile`, `-storepass:env`: others, which say where it is.
                None => letters.strip_prefix(name).filter(|rest| {
                    let goes_on = |char: char| char == ':' || char.is_ascii_alphanumeric();
                    let is_file = name == "k" && rest.starts_with("file");
                    let is_other = name.len() > 1 && rest.starts_with(goes_on);
                    self.value == Value::Attached || !(is_file || is_other)
                }),
            };
            Some((name, value?))
        })?;
        let is_space = |char: char| char.is_whitespace() || matches!(char, '\\' | '=');
        let value = match self.value {
            Value::Attached => value,
            _ => value.trim_start_matches(is_space),
        };
        Some((name, value))
    }

    /// The argument that is a password, with where it stands in the command.
    fn argument<'c>(&self, command: &'c str) -> Option<(usize, &'c str)> {
        let is_option = |word: &str| word.starts_with(['-', '/']);
        let is_redirect = |word: &str| {
            let sign = word.trim_start_matches(|char: char| char.is_ascii_digit());
            sign.starts_with('>')
        };
        let mut words = Vec::new();
        let (mut at, mut quote) = (0, None);
        let ends = |char: char| {
            match quote {
                Some(open) if open == char => quote = None,
                None if matches!(char, '"' | '\'') => quote = Some(char),
                _ => {}
            }
            quote.is_none() && char.is_whitespace()
        };
        for word in command.split_inclusive(ends) {
            let own = word.trim_end().trim_matches(['"', '\'', '`']);
            if let Some(start) = word.find(own).filter(|_| !own.is_empty()) {
                words.push((at + start, own));
            }
            at += word.len();
        }
        let is_last = self.value == Value::Last;
        let has_option = words.iter().any(|(_, word)| {
            let letters = word.strip_prefix('-');
            letters.is_some_and(|letters| self.options.iter().any(|name| letters.contains(name)))
        });
        if is_last && !has_option {
            return None;
        }
        let mut arguments = words
            .into_iter()
            .take_while(|(_, word)| !is_redirect(word))
            .filter(|(_, word)| !is_option(word));
        match self.value {
            Value::Argument(nth) => arguments.nth(nth),
            _ => arguments.last(),
        }
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
