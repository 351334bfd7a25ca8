//! What of a text that goes on has to wait although it is whole words: what comes may tell that it is a secret. And what of it
//! has to be looked at again with what comes.

use super::flow::MOST_SECRET_BYTES;
use super::{phrase, quotes, views, within};

/// So much of what was given is looked at again with what comes; and so much where a command goes over lines, or a file says
/// what it is.
pub(super) const NEAR_BYTES: usize = 600;
const FAR_BYTES: usize = 2_000;

/// A line that writes something waits for what the command behind it does with that: so far.
const MOST_LINE_BYTES: usize = 600;

/// From where on a text may be told by what follows it; of its whole words, which end at `end`.
pub(super) fn open_from(text: &str, end: usize) -> Option<usize> {
    let Some((view, _)) = views::without_orders(text) else {
        return open_in(text, end);
    };
    let at = open_in(&view.text, view.place_of(end))?;
    Some(view.in_source(&(at..at)).start)
}

fn open_in(text: &str, end: usize) -> Option<usize> {
    let all = [
        written_from(text, end),
        quoted_from(text),
        phrase::open_from(text),
        within::open_from(text),
    ];
    all.into_iter().flatten().min()
}

/// Where a command begins that writes something, in the last line: what reads it may come yet.
fn written_from(text: &str, end: usize) -> Option<usize> {
    let least = text.ceil_char_boundary(text.len().saturating_sub(MOST_LINE_BYTES));
    let tail = text.get(least..end)?;
    // In JSON that is no whole yet, lines end so.
    let line = tail.rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let line = line.max(tail.rfind("\\n").map_or(0, |at| at + 2));
    let words = ["echo ", "printf "].iter();
    let first = words.filter_map(|word| tail[line..].find(word)).min()?;
    Some(least + line + first)
}

/// Where a quote begins that a name of passwords has for its value, as a shell or an attribute writes it, and that has not
/// ended: it may be of words.
fn quoted_from(text: &str) -> Option<usize> {
    let least = text.ceil_char_boundary(text.len().saturating_sub(MOST_LINE_BYTES));
    let tail = &text[least..];
    let mut open = None;
    for (at, _) in tail.match_indices('=') {
        let before = &tail[..at];
        let is_attribute = is_attribute(before);
        let behind = match is_attribute {
            true => tail[at + 1..].trim_start_matches([' ', '\t']),
            false => &tail[at + 1..],
        };
        // Within JSON there is a backslash before it.
        let own = behind.trim_start_matches('\\');
        let quote = own.chars().next().filter(|char| matches!(char, '"' | '\''));
        let is_name =
            |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
        let n_bytes = before.bytes().rev().take_while(is_name).count();
        let name = &before[before.len() - n_bytes..];
        let tells = ["PASS", "PWD", "SECRET", "TOKEN", "KEY", "AUTH", "CRED"];
        if let Some(quote) = quote
            && (tells.iter().any(|word| name.contains(word)) || is_attribute)
        {
            let value = &own[1..];
            let n_before = behind.len() - own.len();
            let quote = u8::try_from(quote).unwrap_or_default();
            let is_closed = quotes::end(value.as_bytes(), quote, n_before).is_some();
            let is_open = !is_closed && !value.contains("\\n");
            open = is_open.then_some(least + at + 1);
        }
    }
    open
}

/// Whether this ends as an attribute for a value does, behind one that names a password: `key="Password" value`.
fn is_attribute(before: &str) -> bool {
    let space = [' ', '\t'];
    let behind = before.trim_end_matches(space).strip_suffix("value");
    let quoted = behind.and_then(|text| text.trim_end_matches(space).strip_suffix(['"', '\'']));
    quoted.is_some_and(|text| {
        let text = text.trim_end_matches('\\');
        let is_name = |char: char| char.is_ascii_alphanumeric() || "_-.".contains(char);
        let name = text[text.trim_end_matches(is_name).len()..].to_ascii_lowercase();
        ["passw", "pwd", "passphrase"]
            .iter()
            .any(|word| name.contains(word))
    })
}

/// From where on what was given is looked at again.
pub(super) fn context_from(given: &str) -> usize {
    let own = near_from(given).min(open_key(given).unwrap_or(usize::MAX));
    let view = views::without_orders(given).map(|(view, _)| {
        let text = view.text.as_str();
        let from = near_from(text).min(open_key(text).unwrap_or(usize::MAX));
        view.in_source(&(from..from)).start
    });
    view.map_or(own, |from| from.min(own))
}

fn near_from(given: &str) -> usize {
    let far = given.ceil_char_boundary(given.len().saturating_sub(FAR_BYTES));
    let tail = &given[far..];
    // A command that is long, or goes on behind a line's end, and `kind: Secret`.
    let line = given.len() - given.rfind('\n').map_or(0, |at| at + 1);
    let goes_on = tail.contains("\\\n") || tail.contains("\\\\\\n");
    if goes_on || line > NEAR_BYTES || tail.contains("kind:") {
        return far;
    }
    given.len().saturating_sub(NEAR_BYTES)
}

/// Where the head of a private key stands that has not ended.
fn open_key(given: &str) -> Option<usize> {
    let least = given.ceil_char_boundary(given.len().saturating_sub(MOST_SECRET_BYTES));
    let tail = &given[least..];
    let head = tail.rfind("-----BEGIN").into_iter();
    let at = head.chain(tail.rfind("Private-Lines: ")).max()?;
    let ends = tail[at + 1..].contains("-----END") || tail[at + 1..].contains("Private-MAC");
    (!ends).then_some(least + at)
}
