//! Web addresses that stand in a text.

use std::ops::Range;

use crate::link::{Link, Target};
use crate::marks;

/// The web addresses that stand in a text (GitHub Flavored Markdown 0.29, 6.9, without `www.` and mail addresses).
pub(super) fn addresses(text: &str) -> impl Iterator<Item = (Range<usize>, Link)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let start = from + text[from..].find("http")?;
            from = start + "http".len();
            let before = text[..start].chars().next_back();
            let rest = &text[start..];
            let is_one = rest.starts_with("http://") || rest.starts_with("https://");
            if !is_one || before.is_some_and(char::is_alphanumeric) {
                continue;
            }
            let len = rest.find(ends_address).unwrap_or(rest.len());
            let len = without_punctuation(&rest[..len]);
            from = start + len.max("http".len());
            if let Target::Link(link) = Target::of(&rest[..len]) {
                return Some((start..start + len, link));
            }
        }
    })
}

/// Whether no address goes on with this. Sentences of full width stand around an address without a space.
fn ends_address(char: char) -> bool {
    let is_wide = matches!(
        char,
        '\u{2018}'..='\u{201f}'
            | '…'
            | '\u{3001}'..='\u{3003}'
            | '\u{3008}'..='\u{3011}'
            | '\u{3014}'..='\u{301f}'
            | '！' | '（' | '）' | '，' | '．' | '：' | '；' | '？' | '［' | '］'
            | '\u{ff5b}'..='\u{ff65}'
    );
    is_wide
        || char.is_whitespace()
        || matches!(char, '<' | '>' | '"' | '`')
        || marks::is_hidden(char)
}

/// Length of an address without what belongs to the sentence around it.
fn without_punctuation(address: &str) -> usize {
    let mut len = address.len();
    let count = |char: char| address.matches(char).count();
    let mut unmatched = count(')').saturating_sub(count('('));
    while let Some(last) = address[..len].chars().next_back() {
        match last {
            '?' | '!' | '.' | ',' | ':' | '*' | '_' | '~' | '\'' | ';' => {}
            ')' if unmatched > 0 => unmatched -= 1,
            _ => break,
        }
        len -= last.len_utf8();
    }
    len
}
