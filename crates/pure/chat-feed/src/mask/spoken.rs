//! Passwords that somebody tells in a sentence: `the password is …`, `Password for ann: …`.

use super::context::is_plain;
use super::find::Found;
use super::runs::is_words;

/// So much of a sentence is looked at.
const MOST_BYTES: usize = 200;

/// What a sentence goes on with that says how passwords are kept.
const WAYS: &[&str] = &[
    "argon2", "pbkdf2", "base64", "sha2", "sha3", "sha5", "md5", "scrypt", "bcrypt", "oauth2",
];

/// The password that is told behind the word for it, which ends at `end`.
pub(super) fn find(text: &str, end: usize, all: &mut Vec<Found>) {
    let rest = &text[end..text.floor_char_boundary(end + MOST_BYTES)];
    let rest = rest.split('\n').next().unwrap_or_default();
    let Some(told) = told(rest) else {
        return;
    };
    let own = told.trim_start_matches([' ', ':', '*', '`', '"', '\'']);
    let quotes = told.len() - own.len();
    let is_quoted = told[..quotes].ends_with(['*', '`', '"', '\'']);
    let is_end = |char: char| char.is_whitespace() || matches!(char, '`' | '"' | '\'' | '*' | ',');
    let value = &own[..own.find(is_end).unwrap_or(own.len())];
    let value = value.trim_end_matches(['.', ';', '!', '?', ')']);
    let has = |is: fn(&u8) -> bool| value.as_bytes().iter().any(is);
    let lower = value.to_ascii_lowercase();
    // A word with a number behind it may be anything that passwords are spoken of with.
    let is_one = has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && value.len() >= 6
        // In quotes it may be the name of a field or a file.
        && ((is_quoted && !value.contains(['/', '_', '.'])) || !is_words(value))
        && !WAYS.iter().any(|way| lower.starts_with(way))
        && is_plain(value);
    if is_one {
        all.push(Found::named(
            end + rest.len() - own.len(),
            value,
            "password",
        ));
    }
}

/// What follows ` is `, ` to ` or ` for somebody: `.
fn told(rest: &str) -> Option<&str> {
    let verb = [" is ", " is: ", " was ", " to "]
        .iter()
        .find_map(|verb| rest.strip_prefix(verb));
    verb.or_else(|| {
        let (whose, told) = rest.strip_prefix(" for ")?.split_once(':')?;
        (whose.len() <= 60).then_some(told)
    })
}
