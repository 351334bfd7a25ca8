//! Which words of a changed line changed, for the tint within a removed and an added line.
//!
//! Which lines stand for each other is said by `PatchHunk::split_rows`; the colour is the page's.

use std::ops::Range;

use crate::lines::{Compared, changed};
use crate::signs::{Signs, is_unspaced};

/// Bytes of both lines together that are looked at; nobody reads tints in a longer line.
const TINTED_BYTES: usize = 8 * 1024;

/// Words of both lines together that are compared, after common head and tail are cut off: a page has many lines to tint
/// at once. Of more words few may be changed.
const COMPARED: Compared = Compared {
    at_once: 400,
    most: 400,
    few: 100,
};

/// Above this share of both lines, in percent, a tint marks nearly everything and tells nothing.
const TINTED_PERCENT: usize = 60;

/// The changed byte ranges of a removed line and of the added line that stands for it: in order, apart from each
/// other, on character boundaries. What is left of both lines outside of the ranges is the same text.
///
/// Both are empty where a tint says nothing: the lines are equal, share no word, changed for the most part, or
/// are too long.
pub fn words(old: &str, new: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    if old.len() + new.len() > TINTED_BYTES {
        return (Vec::new(), Vec::new());
    }
    let (old_words, new_words) = (split_words(old), split_words(new));
    let blocks = changed(&old_words, &new_words, COMPARED);
    let old_ranges = ranges(&old_words, blocks.iter().map(|block| &block.old));
    let new_ranges = ranges(&new_words, blocks.iter().map(|block| &block.new));
    let n_tinted: usize = old_ranges.iter().chain(&new_ranges).map(Range::len).sum();
    let few = n_tinted * 100 <= (old.len() + new.len()) * TINTED_PERCENT;
    if few && shares_a_word(old, &old_ranges) {
        (old_ranges, new_ranges)
    } else {
        (Vec::new(), Vec::new())
    }
}

/// Runs of letters, digits and `_`; runs of white space; every other character alone, and so are letters of scripts that
/// put no spaces between words. What is drawn as one sign is never parted.
pub(crate) fn split_words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut before = None;
    let mut signs = Signs::default();
    for (at, c) in line.char_indices() {
        if signs.goes_on(c) {
            continue;
        }
        let class = Class::of(c);
        if at > start && (before != Some(class) || class == Class::Other) {
            words.push(&line[start..at]);
            start = at;
        }
        before = Some(class);
    }
    if start < line.len() {
        words.push(&line[start..]);
    }
    words
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Word,
    Space,
    Other,
}

impl Class {
    fn of(c: char) -> Self {
        if is_unspaced(c) {
            Self::Other
        } else if c.is_alphanumeric() || c == '_' {
            Self::Word
        } else if c.is_whitespace() {
            Self::Space
        } else {
            Self::Other
        }
    }
}

/// From ranges of words to ranges of bytes; empty ones are left out.
fn ranges<'a>(words: &[&str], blocks: impl Iterator<Item = &'a Range<usize>>) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let (mut word_idx, mut byte) = (0, 0);
    let mut advance = |to: usize| {
        byte += words[word_idx..to]
            .iter()
            .map(|word| word.len())
            .sum::<usize>();
        word_idx = to;
        byte
    };
    for block in blocks {
        let range = advance(block.start)..advance(block.end);
        if !range.is_empty() {
            ranges.push(range);
        }
    }
    ranges
}

/// Whether a letter or digit lies outside of the ranges: shared blanks and brackets are no likeness.
fn shares_a_word(line: &str, ranges: &[Range<usize>]) -> bool {
    let mut at = 0;
    let mut gaps = ranges
        .iter()
        .map(|range| std::mem::replace(&mut at, range.end)..range.start)
        .collect::<Vec<_>>();
    gaps.push(at..line.len());
    gaps.into_iter()
        .any(|gap| line[gap].contains(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(old: &str, new: &str, want: (&[&str], &[&str])) {
        let (old_ranges, new_ranges) = words(old, new);
        let old_words: Vec<_> = old_ranges.into_iter().map(|range| &old[range]).collect();
        let new_words: Vec<_> = new_ranges.into_iter().map(|range| &new[range]).collect();
        assert_eq!((old_words.as_slice(), new_words.as_slice()), want);
    }

    #[test]
    fn only_changed_words_are_tinted() {
        check("let a = 1;", "let b = 1;", (&["a"], &["b"]));
        check("f(x)", "f(x, y)", (&[], &[", y"]));
        check("größe = 1", "größe = 22", (&["1"], &["22"]));
        check("one two three", "one three", (&["two "], &[]));
        check("  x_1", "\tx_1", (&["  "], &["\t"]));
    }

    #[test]
    fn lines_that_changed_for_the_most_part_are_not_tinted() {
        check("a 12345", "a 67890", (&[], &[]));
        check("abcd 123", "abcd 678", (&["123"], &["678"]));
    }

    #[test]
    fn lines_without_a_common_word_are_not_tinted() {
        check("abc", "xyz", (&[], &[]));
        check("{ }", "[ ]", (&[], &[]));
        check("same", "same", (&[], &[]));
        check("", "x", (&[], &[]));
        let long = "x ".repeat(TINTED_BYTES);
        check(&long, "x", (&[], &[]));
    }

    #[test]
    fn what_is_drawn_as_one_sign_is_tinted_as_one() {
        // The hands of two skins, a family that grows, two flags that share a letter, an accent of its own.
        check(
            "it is \u{1f44d}\u{1f3fb} now",
            "it is \u{1f44d}\u{1f3ff} now",
            (&["\u{1f44d}\u{1f3fb}"], &["\u{1f44d}\u{1f3ff}"]),
        );
        let (woman, man) = ("\u{1f469}\u{200d}\u{1f4bb}", "\u{1f468}\u{200d}\u{1f4bb}");
        check(
            &format!("written by {woman} here"),
            &format!("written by {man} here"),
            (&[woman], &[man]),
        );
        let (de, dk) = ("\u{1f1e9}\u{1f1ea}", "\u{1f1e9}\u{1f1f0}");
        check(
            &format!("where {de}{de} plays"),
            &format!("where {de}{dk} plays"),
            (&[de], &[dk]),
        );
        check(
            "a cafe nearby",
            "a cafe\u{301} nearby",
            (&["cafe"], &["cafe\u{301}"]),
        );
        check(
            "a \u{2764} nearby",
            "a \u{2764}\u{fe0f} nearby",
            (&["\u{2764}"], &["\u{2764}\u{fe0f}"]),
        );
    }

    #[test]
    fn of_a_script_without_spaces_a_few_letters_are_tinted() {
        check("设置用户的名称", "设置用户的密码", (&["名称"], &["密码"]));
        check("ตั้งค่าชื่อที่ตั้ง", "ตั้งค่ารหัสที่ตั้ง", (&["ชื่อ"], &["รหัส"]));
        check("名前を確認する", "名前を検証する", (&["確認"], &["検証"]));
    }

    #[test]
    fn what_cannot_be_seen_is_tinted_alone() {
        check("if admin {", "if admin\u{200b} {", (&[], &["\u{200b}"]));
        check("if admin {", "if \u{202e}admin {", (&[], &["\u{202e}"]));
    }

    #[test]
    fn a_few_changes_in_a_long_line_are_tinted() {
        let long = |first: &str, last: &str| {
            format!(
                "{{\"first\": {first}, {} \"last\": {last}}}",
                "\"x\": 0, ".repeat(300)
            )
        };
        check(&long("1", "2"), &long("3", "4"), (&["1", "2"], &["3", "4"]));
    }

    proptest! {
        #[test]
        fn words_are_the_whole_line(line in any::<String>(), marks in "[a\u{301}\u{200d}\u{1f468}\u{1f1e9}\u{fe0f} 汉]{0,12}") {
            for line in [line, marks] {
                prop_assert_eq!(split_words(&line).concat(), line);
            }
        }
    }
}
