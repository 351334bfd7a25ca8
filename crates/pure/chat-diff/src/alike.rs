//! Which removed line became which added one, where a run of changes has several: the lines that share most of their
//! words stand beside each other.

use std::collections::HashMap;

use crate::file_diff::count;
use crate::words::split_words;

/// Pairs of lines of one run that are compared; in a larger one the first stands beside the first, and so on.
const COMPARED_PAIRS: usize = 1_024;
/// So much of a line is looked at, in bytes and in words.
const COMPARED_BYTES: usize = 1_024;
const COMPARED_WORDS: usize = 64;
/// Lines that share less than this of their words, in thousandths, are two lines.
const LEAST_LIKENESS: u32 = 500;

/// Lines that are alike, as indices into both runs: each at most once, in order on both sides, and of all such choices
/// one of those that are most alike in sum. Empty where there is nothing to choose.
pub(crate) fn alike(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let n_pairs = old.len().saturating_mul(new.len());
    if !(2..=COMPARED_PAIRS).contains(&n_pairs) {
        return Vec::new();
    }
    let mut ids = HashMap::new();
    let old: Vec<Words> = old.iter().map(|line| Words::of(line, &mut ids)).collect();
    let new: Vec<Words> = new.iter().map(|line| Words::of(line, &mut ids)).collect();
    let likeness: Vec<Vec<u32>> = old
        .iter()
        .map(|old| new.iter().map(|new| old.likeness(new)).collect())
        .collect();
    // The most that can be had of what lies behind a pair of places, from the end on.
    let mut most = vec![vec![0_u32; new.len() + 1]; old.len() + 1];
    for (old_at, row) in likeness.iter().enumerate().rev() {
        for (new_at, likeness) in row.iter().enumerate().rev() {
            let paired = match *likeness {
                0 => 0,
                likeness => likeness + most[old_at + 1][new_at + 1],
            };
            most[old_at][new_at] = paired
                .max(most[old_at + 1][new_at])
                .max(most[old_at][new_at + 1]);
        }
    }
    let mut pairs = Vec::new();
    let (mut old_at, mut new_at) = (0, 0);
    while old_at < old.len() && new_at < new.len() {
        let here = most[old_at][new_at];
        let likeness = likeness[old_at][new_at];
        if likeness > 0 && here == likeness + most[old_at + 1][new_at + 1] {
            pairs.push((old_at, new_at));
            (old_at, new_at) = (old_at + 1, new_at + 1);
        } else if here == most[old_at + 1][new_at] {
            old_at += 1;
        } else {
            new_at += 1;
        }
    }
    pairs
}

/// A word by its number, which compares faster than the word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Word {
    id: u32,
    n_bytes: u32,
    /// It has a letter or a digit.
    is_name: bool,
}

/// The words of a line, in order of their numbers, and how many bytes they are.
struct Words {
    words: Vec<Word>,
    n_bytes: u32,
}

impl Words {
    fn of<'l>(line: &'l str, ids: &mut HashMap<&'l str, u32>) -> Self {
        let line = &line[..line.floor_char_boundary(COMPARED_BYTES)];
        let words = split_words(line).into_iter();
        let mut words: Vec<Word> = words
            .filter(|word| !word.trim().is_empty())
            .take(COMPARED_WORDS)
            .map(|word| {
                let next = count(ids.len());
                Word {
                    id: *ids.entry(word).or_insert(next),
                    n_bytes: count(word.len()),
                    is_name: word.contains(char::is_alphanumeric),
                }
            })
            .collect();
        words.sort_unstable();
        let n_bytes = words.iter().map(|word| word.n_bytes).sum();
        Words { words, n_bytes }
    }

    /// How much of both is the same, in thousandths; 0 where that is too little, or signs alone.
    fn likeness(&self, other: &Words) -> u32 {
        let n_bytes = (self.n_bytes + other.n_bytes).max(1);
        if 2_000 * self.n_bytes.min(other.n_bytes) / n_bytes < LEAST_LIKENESS {
            return 0;
        }
        let (mut n_same, mut names_one) = (0, false);
        let (mut mine, mut others) = (self.words.as_slice(), other.words.as_slice());
        while let ([word, rest @ ..], [other, others_rest @ ..]) = (mine, others) {
            if word.id <= other.id {
                mine = rest;
            }
            if other.id <= word.id {
                others = others_rest;
            }
            if word.id == other.id {
                n_same += word.n_bytes;
                names_one |= word.is_name;
            }
        }
        let likeness = 2_000 * n_same / n_bytes;
        if names_one && likeness >= LEAST_LIKENESS {
            likeness
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(old: &[&str], new: &[&str], want: &[(usize, usize)]) {
        assert_eq!(alike(old, new), want, "{old:?} {new:?}");
    }

    #[test]
    fn a_line_stands_beside_what_became_of_it() {
        check(
            &["return x + 17"],
            &["# step 17", "return x * 17"],
            &[(0, 1)],
        );
        check(&["let a = 1;", "let b = 2;"], &["let b = 3;"], &[(1, 0)]);
        check(
            &["f(x)", "g(y)"],
            &["f(x, 1)", "g(y, 1)"],
            &[(0, 0), (1, 1)],
        );
    }

    #[test]
    fn what_is_not_alike_is_left() {
        check(&["a"], &["b"], &[]);
        check(&["alpha beta"], &["gamma", "delta"], &[]);
        check(&["{ }"], &["{ }", "{ }"], &[]);
        check(&[], &["x", "y"], &[]);
        check(&vec!["x"; 100], &vec!["x"; 100], &[]);
    }

    fn lines() -> impl Strategy<Value = Vec<String>> {
        let words = prop::sample::select(vec!["let", "a", "bcd", "= 1", "{", "é", "\t"]);
        let line = prop::collection::vec(words, 0..5).prop_map(|words| words.join(" "));
        prop::collection::vec(line, 0..6)
    }

    /// The most that any choice is alike in sum.
    fn most(old: &[Words], new: &[Words]) -> u32 {
        let Some((first, rest)) = old.split_first() else {
            return 0;
        };
        let chosen = (0..new.len()).map(|at| match first.likeness(&new[at]) {
            0 => 0,
            likeness => likeness + most(rest, &new[at + 1..]),
        });
        chosen.max().unwrap_or(0).max(most(rest, new))
    }

    proptest! {
        #[test]
        fn no_other_choice_is_more_alike(old in lines(), new in lines()) {
            let old: Vec<&str> = old.iter().map(String::as_str).collect();
            let new: Vec<&str> = new.iter().map(String::as_str).collect();
            let pairs = alike(&old, &new);
            prop_assert!(pairs.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1));
            if old.len() * new.len() >= 2 {
                let mut ids = HashMap::new();
                let old: Vec<_> = old.iter().map(|line| Words::of(line, &mut ids)).collect();
                let new: Vec<_> = new.iter().map(|line| Words::of(line, &mut ids)).collect();
                let sum: u32 = pairs.iter().map(|(o, n)| old[*o].likeness(&new[*n])).sum();
                prop_assert!(pairs.iter().all(|(o, n)| old[*o].likeness(&new[*n]) > 0));
                prop_assert_eq!(sum, most(&old, &new));
            }
        }
    }
}
