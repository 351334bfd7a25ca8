//! Passwords that a program is given by another one: `echo … | sudo -S`, `docker login --password-stdin <<< …`.

use super::context::is_itself;
use super::find::Found;

/// Words of commands that read a password so. `name:password` is what `chpasswd` reads.
pub(super) const READERS: &[&str] = &[
    "sudo -S",
    "--password-stdin",
    "--passphrase-fd 0",
    "passwd --stdin",
    "chpasswd",
];

/// So far before and behind the word it is looked for.
const MOST_BYTES: usize = 300;

/// What the command whose word stands at `at` is given.
pub(super) fn find(reader: &'static str, text: &str, at: usize, all: &mut Vec<Found>) {
    let end = at + reader.len();
    // `sudo -s` is another option.
    if text.get(at..end) != Some(reader) {
        return;
    }
    let from = text.ceil_char_boundary(at.saturating_sub(MOST_BYTES));
    let before = text[from..at].rsplit('\n').next().unwrap_or_default();
    let behind = &text[end..text.floor_char_boundary(end + MOST_BYTES)];
    let behind = behind.split('\n').next().unwrap_or_default();
    let value = match (behind.split_once("<<<"), before.rsplit_once('|')) {
        (Some((own, value)), _) if !own.contains(['|', ';', '&']) => {
            let value = value.trim_start();
            Some((end + behind.len() - value.len(), value))
        }
        (_, Some((left, _))) => told(left).map(|(start, value)| (at - before.len() + start, value)),
        _ => None,
    };
    let Some((start, value)) = value else {
        return;
    };
    let (start, value) = unquoted(start, value);
    let (start, value) = match value.split_once(':').filter(|_| reader == "chpasswd") {
        Some((name, password)) => (start + name.len() + 1, password),
        None => (start, value),
    };
    if value.len() >= 3 && is_itself(value) {
        all.push(Found::named(start, value, "password"));
    }
}

/// The last word that `echo` or `printf` writes, in the last command of a line.
fn told(left: &str) -> Option<(usize, &str)> {
    let left = left.trim_end();
    // A label has words, of which the last is none.
    let is_masked = left.trim_end_matches(['"', '\'']).ends_with(']') && left.contains("[masked");
    if is_masked {
        return None;
    }
    let writer = ["echo ", "printf "]
        .iter()
        .filter_map(|writer| left.rfind(writer).map(|at| at + writer.len()))
        .max()?;
    let own = &left[writer..];
    // Another command stands behind it, and is what writes.
    if ["&& ", "; ", "| "].iter().any(|sign| own.contains(sign)) {
        return None;
    }
    let last = match own.chars().next_back()? {
        quote @ ('"' | '\'') => own[..own.len() - 1].rfind(quote)?,
        _ => own
            .trim_end_matches(|char: char| !char.is_whitespace())
            .len(),
    };
    Some((writer + last, &own[last..]))
}

/// What stands between quotes, or up to a word's end.
fn unquoted(at: usize, value: &str) -> (usize, &str) {
    let quote = value
        .chars()
        .next()
        .filter(|char| matches!(char, '"' | '\''));
    let own = &value[usize::from(quote.is_some())..];
    let is_end = |char: char| match quote {
        Some(quote) => char == quote,
        None => char.is_whitespace() || matches!(char, '"' | '\'' | '`' | ';' | '|' | '&' | ')'),
    };
    let end = own.find(is_end).unwrap_or(own.len());
    (at + value.len() - own.len(), &own[..end])
}
