//! Words from which a wallet's keys are made: twelve to twenty-four common ones, behind a word that says so.

use super::find::Found;

/// What says so.
pub(super) const NAMES: &[&str] = &[
    "mnemonic",
    "seed phrase",
    "recovery phrase",
    "secret phrase",
];

/// So many words there are.
const COUNTS: [usize; 5] = [12, 15, 18, 21, 24];

/// The words behind such a name, which ends at `from`.
pub(super) fn find(text: &str, from: usize, all: &mut Vec<Found>) {
    let behind = &text[from..text.floor_char_boundary(from + 400)];
    let own = behind.trim_start_matches(|char: char| {
        char.is_whitespace() || matches!(char, '"' | '\'' | '`' | ':' | '=' | '_' | '-' | ',' | '(')
    });
    let is_of_words = |char: char| char.is_ascii_lowercase() || char == ' ';
    let words = &own[..own.find(|char| !is_of_words(char)).unwrap_or(own.len())];
    let words = words.trim_end();
    let is_word = |word: &str| (3..=8).contains(&word.len());
    if COUNTS.contains(&words.split(' ').count()) && words.split(' ').all(is_word) {
        all.push(Found::named(
            from + behind.len() - own.len(),
            words,
            "seed phrase",
        ));
    }
}
