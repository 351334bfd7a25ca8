//! The value of a line that gives a name one and says no more, as files of variables do: `DB_PASSWORD=…`. Such a value may
//! have any sign in it; elsewhere most signs end it.

use super::private_key::without_beginning;

/// A longer value is none that anybody gives a name.
const MOST_BYTES: usize = 520;

/// Nor is a name longer, with what stands before it in its line.
const MOST_NAME_BYTES: usize = 120;

/// Words before the name.
const VERBS: [&str; 3] = ["export ", "set ", "ENV "];

/// The value behind `NAME=`, which stands at `at`; `None` where something else begins the line, and where the value is code or
/// an address that says where it ends.
pub(super) fn value(text: &str, at: usize) -> Option<&str> {
    if !begins_line(text.get(..at)?.strip_suffix('=')?) {
        return None;
    }
    let rest = &text[at..text.floor_char_boundary(at + MOST_BYTES)];
    let end = rest.find(|char: char| char.is_whitespace() || char == '\\');
    let value = &rest[..end.or_else(|| (at + rest.len() == text.len()).then_some(rest.len()))?];
    // What a text in quotes or a list of arguments ends with, of which this is the last line or one.
    let value = value.trim_end_matches(['"', '\'', '`', ',', ';']);
    let is_code = ["${", "$(", "://"].iter().any(|sign| value.contains(sign));
    (!is_code && !is_call(value) && !is_query(value)).then_some(value)
}

/// Whether a line has nothing but a name: it may be exported, one of a list, of a diff, or numbered.
fn begins_line(before: &str) -> bool {
    let near = &before[before.ceil_char_boundary(before.len().saturating_sub(MOST_NAME_BYTES))..];
    let line = match near.rfind(['\n', '\r']) {
        Some(end) => &near[end + 1..],
        None if near.len() == before.len() => near,
        None => return false,
    };
    let own = without_beginning(line);
    let signs = &line[..line.len() - own.len()];
    let name = VERBS.iter().find_map(|verb| own.strip_prefix(verb));
    let of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    // `"NAME=…"` ends with its quote, and `--name=…` is an option.
    !signs.contains(['"', '\''])
        && !signs.ends_with("--")
        && name.unwrap_or(own).bytes().all(of_name)
}

/// `get(…)`, `config["…"]`: a name, and brackets that close.
fn is_call(value: &str) -> bool {
    let behind =
        value.trim_start_matches(|char: char| char.is_ascii_alphanumeric() || "_.".contains(char));
    if behind.len() == value.len() || !behind.starts_with(['(', '[']) {
        return false;
    }
    let closed = behind.bytes().try_fold(0_usize, |n_open, byte| match byte {
        b'(' | b'[' => Some(n_open + 1),
        b')' | b']' => n_open.checked_sub(1),
        _ => Some(n_open),
    });
    closed == Some(0)
}

/// `…&name=…`: the values of an address.
fn is_query(value: &str) -> bool {
    value.split('&').skip(1).any(|part| {
        let name = part.split_once('=').map(|(name, _)| name);
        let of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.[]%".contains(&byte);
        name.is_some_and(|name| !name.is_empty() && name.bytes().all(of_name))
    })
}
