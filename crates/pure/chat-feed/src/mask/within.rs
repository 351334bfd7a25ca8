//! Secrets that are told by something in their middle, and those of a file that says that it holds secrets.

use std::ops::Range;

use super::find::{Found, Rank, is_placeholder};
use super::runs::{Class, Runs, entropy};
use super::value::Value;

/// What stands in the middle of a secret, or in front of several.
#[derive(Clone, Copy, Debug)]
pub(super) enum Middle {
    /// Of an Azure client secret: four characters, `Q~`, the rest.
    Azure,
    /// Of an access token of Facebook: the id of the application, a bar, the rest.
    Facebook,
    /// The values of a Kubernetes secret.
    Kubernetes,
}

/// Where to look for them.
pub(super) const MIDDLES: &[(&str, Middle)] = &[
    ("q~", Middle::Azure),
    ("|", Middle::Facebook),
    ("%", Middle::Facebook),
    ("data:", Middle::Kubernetes),
];

/// Values are looked for so far behind the beginning, and the word for the file so far around it.
const REACH_BYTES: usize = 2_000;

/// How far a text was looked through: what is told by several middles is found once.
#[derive(Debug, Default)]
pub(super) struct Told {
    azure: usize,
    kubernetes: usize,
    kinds: Kinds,
}

/// The newest `kind: Secret` that was found, for windows that go through a text from its beginning to its end: text is looked
/// at once, however many windows it lies in.
#[derive(Debug, Default)]
struct Kinds {
    newest: Range<usize>,
    looked_to: usize,
}

impl Kinds {
    /// Whether one lies whole in this window of the text, whose ends are not before the last one's.
    fn are_in(&mut self, text: &str, window: &Range<usize>) -> bool {
        let bytes = text.as_bytes();
        while self.newest.is_empty() || self.newest.start < window.start {
            let from = self.looked_to.max(window.start);
            let rest = bytes.get(from..window.end).unwrap_or_default();
            let Some(colon) = rest.iter().position(|&byte| byte == b':') else {
                self.looked_to = window.end.max(from);
                return false;
            };
            let colon = from + colon;
            self.looked_to = colon + 1;
            let blanks = bytes[colon + 1..].iter();
            let n_blanks = blanks.take_while(|byte| b" \t\"'".contains(byte)).count();
            let start = colon.saturating_sub(4);
            let word = colon + 1 + n_blanks..colon + 1 + n_blanks + "secret".len();
            let says = |range: Range<usize>, word: &str| {
                let said = bytes.get(range);
                said.is_some_and(|said| said.eq_ignore_ascii_case(word.as_bytes()))
            };
            if says(start..colon, "kind") && says(word.clone(), "secret") {
                self.newest = start..word.end;
            }
        }
        self.newest.end <= window.end
    }
}

/// Finds what stands around `at`.
pub(super) fn find(
    middle: Middle,
    text: &str,
    at: usize,
    (runs, told): (&mut Runs, &mut Told),
    all: &mut Vec<Found>,
) {
    let found = match middle {
        Middle::Azure if at < told.azure => None,
        Middle::Azure => azure(text, at, runs).map(|range| {
            told.azure = range.end;
            (range, "azure secret")
        }),
        Middle::Facebook => facebook(text, at, runs).map(|range| (range, "facebook token")),
        Middle::Kubernetes => return kubernetes(text, at, told, all),
    };
    if let Some((range, kind)) = found {
        all.push(Found {
            value: Value::of(&text[range.clone()]),
            range,
            kind,
            rank: Rank::Shape,
        });
    }
}

fn azure(text: &str, at: usize, runs: &mut Runs) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let start = at.checked_sub(4)?;
    let [first @ .., digit] = bytes.get(start..at)? else {
        return None;
    };
    let begins = first.iter().all(|&byte| Class::Token.has(byte)) && digit.is_ascii_digit();
    let end = runs.end(bytes, at + 2, Class::Token);
    (begins && bytes.get(at) == Some(&b'Q') && end - at > 32).then_some(start..end)
}

fn facebook(text: &str, at: usize, runs: &mut Runs) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let before = bytes.get(at.saturating_sub(17)..at)?;
    let n_digits = before.iter().rev().take_while(|byte| byte.is_ascii_digit());
    let n_digits = n_digits.count();
    let end = runs.end(bytes, at + 1, Class::Word);
    let holds = (15..=16).contains(&n_digits) && (27..=40).contains(&(end - at - 1));
    (holds && entropy(&text[at + 1..end]) >= 2.5).then_some(at - n_digits..end)
}

/// Where lines begin that are a secret's where the file says so behind them, as `kubectl` tells it: below `data:`, as long as
/// they have names and values, and none says what the file is.
pub(super) fn open_from(text: &str) -> Option<usize> {
    let least = text.ceil_char_boundary(text.len().saturating_sub(REACH_BYTES));
    let tail = &text[least..];
    let mut all = tail
        .match_indices("data:")
        .map(|(at, word)| at + word.len());
    let from = all.find(|&from| {
        // In JSON that is not whole yet, lines end so.
        let body = tail[from..].replace("\\n", "\n");
        let mut lines = body.split('\n').peekable();
        let first = lines.next().unwrap_or_default();
        if !first.trim().is_empty() {
            return false;
        }
        while let Some(line) = lines.next() {
            let is_last = lines.peek().is_none();
            if !is_value(line) || (!is_last && line.contains("kind:")) {
                return false;
            }
        }
        true
    })?;
    Some(least + from)
}

/// Whether a line has a name and a value in base64, or one of these may stand there; it may be numbered, quoted, or of a diff.
fn is_value(line: &str) -> bool {
    let signs =
        |char: char| char.is_whitespace() || char.is_ascii_digit() || "→|+->\"'".contains(char);
    let own = line.trim_start_matches(signs);
    let Some((name, value)) = own.split_once(':') else {
        return own.is_empty() || own.trim().bytes().all(|byte| Class::Base64.has(byte));
    };
    let value = value.trim().trim_matches(['"', '\'', ',']);
    !name.contains(' ')
        && value
            .bytes()
            .all(|byte| Class::Base64.has(byte) || b"|>-".contains(&byte))
}

/// `data:` of a file that says `kind: Secret`: the value of each line below it, behind those that were looked at before.
fn kubernetes(text: &str, at: usize, told_before: &mut Told, all: &mut Vec<Found>) {
    let from = text.ceil_char_boundary(at.saturating_sub(REACH_BYTES));
    let to = text.floor_char_boundary((at + REACH_BYTES).min(text.len()));
    if !told_before.kinds.are_in(text, &(from..to)) {
        return;
    }
    let told = &mut told_before.kubernetes;
    let body = at + "data:".len();
    let mut line_at = body;
    for line in text[body..to].split_inclusive('\n') {
        let line_from = line_at;
        line_at += line.len();
        // Deeper than `data:` itself; its own line has nothing.
        let is_within = line.trim().is_empty() || line.starts_with([' ', '\t']);
        if line_from > body && !is_within {
            return;
        }
        if body < line_from && line_from < *told {
            continue;
        }
        if line.ends_with('\n') {
            *told = line_at.max(*told);
        }
        // A value that is a block stands in the lines behind its name.
        let value = line.split_once(':').map_or(line, |(_, value)| value);
        let value = value.split_whitespace().next().unwrap_or_default();
        let value = value.trim_matches(['"', '\'']);
        let is_base64 = value.len() >= 10 && value.bytes().all(|byte| Class::Base64.has(byte));
        let Some(start) = line
            .rfind(value)
            .filter(|_| is_base64 && !is_placeholder(value))
        else {
            continue;
        };
        let start = line_from + start;
        all.push(Found::named(start, value, "kubernetes secret"));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Whether a window has `kind: Secret`, by its own copy.
    fn says_so(window: &str) -> bool {
        let lower = window.to_ascii_lowercase();
        lower.match_indices("kind:").any(|(kind, word)| {
            let rest = lower[kind + word.len()..].trim_start_matches([' ', '\t', '"', '\'']);
            rest.starts_with("secret")
        })
    }

    proptest! {
        #[test]
        fn windows_that_go_on_find_what_each_has(
            parts in prop::collection::vec(
                prop::sample::select(vec!["kind:", "KIND", ": ", "\"", "Secret", "secret\n", "é", "data:", "x"]),
                0..60,
            ),
            reach in 1..40_usize,
        ) {
            let text = parts.concat();
            let mut kinds = Kinds::default();
            for at in 0..text.len() {
                let from = text.ceil_char_boundary(at.saturating_sub(reach));
                let to = text.floor_char_boundary((at + reach).min(text.len()));
                let window = from..to.max(from);
                prop_assert_eq!(kinds.are_in(&text, &window), says_so(&text[window]), "{} {}", at, text);
            }
        }
    }
}
