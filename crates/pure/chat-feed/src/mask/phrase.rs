//! Words from which a wallet's keys are made: twelve to twenty-four common ones, behind a word that says so.

use super::find::Found;

/// What says so.
pub(super) const NAMES: &[&str] = &[
    "mnemonic",
    "seed phrase",
    "recovery phrase",
    "secret phrase",
];

/// So far behind it they are looked for.
const MOST_BYTES: usize = 400;

/// So many words there are.
const COUNTS: [usize; 5] = [12, 15, 18, 21, 24];

/// The words behind such a name, which ends at `from`.
pub(super) fn find(text: &str, from: usize, all: &mut Vec<Found>) {
    let behind = &text[from..text.floor_char_boundary(from + MOST_BYTES)];
    let (start, words) = words(behind);
    let words = words.trim_end();
    let is_word = |word: &str| (3..=8).contains(&word.len());
    if COUNTS.contains(&words.split(' ').count()) && words.split(' ').all(is_word) {
        all.push(Found::named(from + start, words, "seed phrase"));
    }
}

/// Where what is behind a name begins, as long as that may be words of which there are more behind the text's end.
pub(super) fn open_from(text: &str) -> Option<usize> {
    let least = text.ceil_char_boundary(text.len().saturating_sub(MOST_BYTES));
    let tail = text[least..].to_ascii_lowercase();
    let ends = NAMES
        .iter()
        .filter_map(|name| Some(least + tail.rfind(name)? + name.len()));
    let from = ends.max()?;
    // In JSON that is not whole yet, line ends and quotes have a backslash.
    let behind = text[from..].replace("\\n", "\n").replace('\\', "");
    let (start, words) = words(&behind);
    (start + words.len() == behind.len()).then_some(from)
}

/// The words behind a name, and where they begin.
fn words(behind: &str) -> (usize, &str) {
    let own = behind.trim_start_matches(|char: char| {
        char.is_whitespace() || matches!(char, '"' | '\'' | '`' | ':' | '=' | '_' | '-' | ',' | '(')
    });
    let is_of_words = |char: char| char.is_ascii_lowercase() || char == ' ';
    let words = &own[..own.find(|char| !is_of_words(char)).unwrap_or(own.len())];
    (behind.len() - own.len(), words)
}
