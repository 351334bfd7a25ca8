//! Private keys: the lines between `-----BEGIN … PRIVATE KEY-----` and its end, or behind PuTTY's `Private-Lines: N`, each
//! by itself, so that a diff which holds them stays one.

use super::find::{Found, Rank};
use super::runs::Class;
use super::value::Value;

/// A key has no more lines.
const MOST_LINES: usize = 500;

/// Nor more bytes, of which each head in a long line would have to be looked through.
const MOST_BYTES: usize = 64_000;

/// A line without what a diff, a quotation or a list has before it, and without its number: `     2→`.
pub(super) fn without_beginning(line: &str) -> &str {
    let signs = [' ', '\t', '+', '-', '>', '|', '"', '\'', ','];
    let own = line.trim_start_matches(signs);
    let behind = own.trim_start_matches(|char: char| char.is_ascii_digit());
    if behind.len() == own.len() {
        return own;
    }
    let text = behind.strip_prefix(['→', '\t', ':', '|']);
    text.map_or(own, |text| text.trim_start_matches(signs))
}

/// The lines of the key whose head stands here.
pub(super) fn find(text: &str, at: usize, all: &mut Vec<Found>) {
    let head = &text[at..text.floor_char_boundary(at + 200)];
    let upper = head.to_ascii_uppercase();
    let upper = upper.lines().next().unwrap_or_default();
    let Some(name) = upper.find("PRIVATE KEY") else {
        return;
    };
    let Some(dashes) = upper[name..].find("-----") else {
        return;
    };
    let from = at + name + dashes + 5;
    note_lines(text, from, MOST_LINES, all);
}

/// The lines of a key as PuTTY keeps it: so many as the line says that stands here.
pub(super) fn find_putty(text: &str, at: usize, all: &mut Vec<Found>) {
    let head = &text[at..text.floor_char_boundary(at + 60)];
    let Some((line, _)) = head.split_once('\n') else {
        return;
    };
    let n_lines = line.rsplit(' ').next().and_then(|n| n.trim().parse().ok());
    let from = at + line.len() + 1;
    let is_part = |line: &&str| {
        let own = without_beginning(line).trim_end();
        own.bytes().all(|byte| Class::Base64.has(byte))
    };
    let lines = text[from..].lines().take_while(is_part);
    let n_lines = lines.take(n_lines.unwrap_or(0).min(MOST_LINES)).count();
    note_lines(text, from, n_lines, all);
}

fn note_lines(text: &str, from: usize, n_lines: usize, all: &mut Vec<Found>) {
    // All lines are one secret, known by its first.
    let mut value: Option<Value> = None;
    let mut start = from;
    let rest = &text[from..text.floor_char_boundary(from + MOST_BYTES)];
    for line in rest.split_inclusive('\n').take(n_lines) {
        // The key ends here, or another begins.
        let end = line.find("-----");
        let whole = &line[..end.unwrap_or(line.len())];
        let own = without_beginning(whole);
        let own_start = start + (whole.len() - own.len());
        let own = own.trim_end_matches([' ', '\t', '\r', '\n', '"', '\'', ',', '\\']);
        start += line.len();
        let is_part = own
            .bytes()
            .all(|byte| Class::Wide.has(byte) || matches!(byte, b' ' | b',' | b'('));
        if !own.is_empty() && !is_part {
            break;
        } else if !own.is_empty() {
            let value = value.get_or_insert_with(|| {
                let end = own
                    .char_indices()
                    .nth(100)
                    .map_or(own.len(), |(end, _)| end);
                Value::of(&own[..end])
            });
            all.push(Found {
                range: own_start..own_start + own.len(),
                kind: "private key",
                value: value.clone(),
                rank: Rank::Shape,
            });
        }
        if end.is_some() {
            break;
        }
    }
}
