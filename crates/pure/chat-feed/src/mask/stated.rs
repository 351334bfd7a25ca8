//! Secrets that stand where a language has them, with no name or option right before them: in SQL, in `.netrc`, as the
//! second word of a pair, in a header, in an address.

use std::ops::Range;

use super::context::is_plain;
use super::find::Found;
use super::runs::{Class, looks_random};

/// What says that a secret follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// `IDENTIFIED BY '…'`
    Identified,
    /// `WITH PASSWORD '…'`
    Quoted,
    /// `PASSWORD('…')`, in capitals: a function of SQL.
    Function,
    /// `auth=('name', '…')`
    Pair,
    /// `machine host login name password …`
    Netrc,
    /// `Authorization: Scheme …`
    Header,
    /// `&sig=…`: who has the address may read what it leads to.
    Signature,
}

/// Where to look for them.
pub(super) const PLACES: &[(&str, Place)] = &[
    ("identified by ", Place::Identified),
    ("identified with ", Place::Identified),
    ("password '", Place::Quoted),
    ("password('", Place::Function),
    ("auth=(", Place::Pair),
    ("auth = (", Place::Pair),
    ("basicauth(", Place::Pair),
    ("basic_auth(", Place::Pair),
    ("digestauth(", Place::Pair),
    ("login ", Place::Netrc),
    ("authorization", Place::Header),
    ("?sig=", Place::Signature),
    ("&sig=", Place::Signature),
];

/// So much is looked at behind such a place.
const MOST_BYTES: usize = 300;

/// The secret behind a place's word that begins at `at`.
pub(super) fn find(place: Place, word: &str, text: &str, at: usize, all: &mut Vec<Found>) {
    let from = at + word.len();
    let rest = &text[from..text.floor_char_boundary(from + MOST_BYTES)];
    let range = match place {
        Place::Identified => identified(rest),
        Place::Quoted => in_quotes(rest, "'").filter(|range| {
            let before = &text[text.ceil_char_boundary(at.saturating_sub(20))..at];
            // In prose it may be any word that is spoken of.
            is_of_sql(before) || has_digit(&rest[range.clone()])
        }),
        Place::Function if text[at..].starts_with("PASSWORD") => in_quotes(rest, "'"),
        Place::Function => None,
        Place::Pair => pair(rest),
        Place::Netrc => {
            let before = &text[text.ceil_char_boundary(at.saturating_sub(120))..at];
            netrc(rest).filter(|_| is_of_machine(before))
        }
        Place::Header => header(rest),
        Place::Signature => {
            let end = rest.bytes().position(|byte| !Class::Wide.has(byte));
            let value = &rest[..end.unwrap_or(rest.len())];
            (value.len() >= 20 && looks_random(value, 3.0)).then_some(0..value.len())
        }
    };
    let kind = match place {
        Place::Header | Place::Signature => "secret",
        _ => "password",
    };
    let value = range.map(|range| (range.start, &rest[range]));
    if let Some((start, value)) = value.filter(|(_, value)| is_plain(value)) {
        all.push(Found::named(from + start, value, kind));
    }
}

fn has_digit(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether the word before is one of those that have `PASSWORD` behind them.
fn is_of_sql(before: &str) -> bool {
    let word = before.split_ascii_whitespace().next_back();
    let words = [
        "with",
        "login",
        "encrypted",
        "createdb",
        "superuser",
        "inherit",
    ];
    word.is_some_and(|word| words.iter().any(|known| word.eq_ignore_ascii_case(known)))
}

/// From the text's beginning to the quote that ends it, all in one line.
fn in_quotes(text: &str, quote: &str) -> Option<Range<usize>> {
    let end = text.find(quote)?;
    (!text[..end].contains('\n')).then_some(0..end)
}

/// The next text in quotes, which nothing but space and `open` stands before; and where what follows begins.
fn next_quoted(text: &str, from: usize, open: &str) -> Option<(Range<usize>, usize)> {
    let rest = text.get(from..)?;
    let own = rest.trim_start_matches(|char: char| char.is_whitespace() || open.contains(char));
    let at = from + rest.len() - own.len();
    let quote = own.get(..1).filter(|quote| matches!(*quote, "'" | "\""))?;
    let range = in_quotes(&own[1..], quote)?;
    Some((at + 1..at + 1 + range.end, at + range.end + 2))
}

/// `'…'`, or `name BY '…'`.
fn identified(rest: &str) -> Option<Range<usize>> {
    if let Some((range, _)) = next_quoted(rest, 0, "") {
        return Some(range);
    }
    let by = rest.to_ascii_lowercase().find(" by ")?;
    let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
    rest[..by].chars().all(is_name).then_some(())?;
    next_quoted(rest, by + 4, "").map(|(range, _)| range)
}

/// `'name', '…')`, the second maybe wrapped in `Some(…)`.
fn pair(rest: &str) -> Option<Range<usize>> {
    let (_, behind) = next_quoted(rest, 0, "(")?;
    let comma = rest[behind..].trim_start();
    let second = comma.strip_prefix(',')?.trim_start();
    let second = second.strip_prefix("Some(").unwrap_or(second);
    next_quoted(rest, rest.len() - second.len(), "").map(|(range, _)| range)
}

/// Whether `machine host` stands there, or a line with nothing but `default`.
fn is_of_machine(before: &str) -> bool {
    let line = before.trim_end().rsplit('\n').next().unwrap_or_default();
    let host = before.split_ascii_whitespace().rev().nth(1);
    host.is_some_and(|word| word.ends_with("machine")) || line.trim() == "default"
}

/// `name password …`, on one line or two.
fn netrc(rest: &str) -> Option<Range<usize>> {
    let mut words = words(rest);
    let _name = words.next()?;
    let (_, word) = words.next()?;
    let (at, value) = words.next()?;
    (word == "password").then_some(at..at + value.len())
}

/// The words of a text, with where they begin.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let starts = text.match_indices(|char: char| !char.is_whitespace());
    let starts = starts.map(|(at, _)| at);
    starts
        .filter(|&at| at == 0 || text[..at].ends_with(char::is_whitespace))
        .map(|at| {
            let word = text[at..].split(char::is_whitespace).next();
            (at, word.unwrap_or_default())
        })
}

/// `: Scheme …`, as a line, a field of an object, or an argument.
fn header(rest: &str) -> Option<Range<usize>> {
    let own = rest.trim_start_matches(['"', '\'', ' ', ']']);
    let own = own.strip_prefix([':', '=', ','])?;
    let own = own.trim_start_matches(['"', '\'', ' ', '`']);
    // Words with digits that are no secrets themselves.
    if ["AWS4-", "OAuth2"]
        .iter()
        .any(|scheme| own.starts_with(scheme))
    {
        return None;
    }
    let scheme = own.trim_start_matches(|char: char| char.is_ascii_alphabetic() || char == '-');
    let value = match (own.len() - scheme.len(), scheme.strip_prefix(' ')) {
        (1.., Some(value)) => {
            let scheme = &own[..own.len() - scheme.len()];
            // Those are looked at for what they are.
            let mut known = ["bearer", "basic"].iter();
            if known.any(|known| scheme.eq_ignore_ascii_case(known)) {
                return None;
            }
            value
        }
        _ => own,
    };
    let end = value.bytes().position(|byte| !Class::Wide.has(byte));
    let own = &value[..end.unwrap_or(value.len())];
    let start = rest.len() - value.len();
    (own.len() >= 6 && has_digit(own)).then_some(start..start + own.len())
}
