//! Secrets that were found somewhere, found again where nothing tells them: by themselves, or cut. So are the names of
//! users, each by its own rule.
//!
//! A title, a summary or a preview may hold the first half of a token that stands whole elsewhere. Half of it is too much.
//!
//! A value is looked for by its first and its last bytes, its signs. At each byte of a text it costs a look at a table of
//! bits whether a sign may stand there; one more secret is one more entry, whatever is known by then.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;

use super::find::{Found, Rank};
use super::labels::{Labelled, Labels};
use super::names::Names;
use super::views;

/// A shorter value may be any word, and is left where nothing names it. So long are signs.
const LEAST_BYTES: usize = 10;
/// So much of the beginning or the end of a value is taken for a part of it.
const PART_BYTES: usize = 14;

/// The values of a plan, by their beginnings and ends.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    seldom: Seldom,
    firsts: Signs,
    lasts: Signs,
    names: Names,
}

/// Labels by how their values begin or end; those of one sign in the order of their values, as [`End`] reads them.
type Signs = HashMap<[u8; LEAST_BYTES], Vec<usize>>;

/// Which end of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    First,
    Last,
}

impl Known {
    /// Those of the labels that stand for secrets which are masked.
    pub(super) fn new(labels: &Labels, is_masked: impl Fn(&'static str) -> bool) -> Self {
        let mut known = Known::default();
        for (label, labelled) in labels.all().iter().enumerate() {
            if is_masked(labelled.kind) {
                known.add(label, labelled, labels);
            }
        }
        known.names = Names::new(labels, is_masked);
        known
    }

    /// One more of the labels, where it stands for a secret.
    pub(super) fn add(&mut self, label: usize, labelled: &Labelled, labels: &Labels) {
        let value = &labelled.value;
        if labelled.rank < Rank::Random || value.len() < LEAST_BYTES {
            return;
        }
        let Some(sign) = value.begins().first_chunk() else {
            return;
        };
        self.seldom.add(*sign);
        End::First.insert(self.firsts.entry(*sign).or_default(), label, labels);
        // The end of a short one is its beginning, too.
        if let Some(sign) = value.ends().last_chunk()
            && value.len() > PART_BYTES
        {
            self.seldom.add(*sign);
            End::Last.insert(self.lasts.entry(*sign).or_default(), label, labels);
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.firsts.is_empty() && self.names.is_empty()
    }

    /// Adds what of them a text holds, in whatever colours.
    pub(super) fn find(&self, text: &str, labels: &Labels, all: &mut Vec<Found>) {
        self.find_in(text, labels, all);
        if let Some((view, _)) = views::without_orders(text) {
            let n_before = all.len();
            self.find_in(&view.text, labels, all);
            for found in &mut all[n_before..] {
                found.range = view.in_source(&found.range);
            }
        }
    }

    fn find_in(&self, text: &str, labels: &Labels, all: &mut Vec<Found>) {
        self.names.find(text, labels, all);
        if self.firsts.is_empty() {
            return;
        }
        let bytes = text.as_bytes();
        let n_before = all.len();
        let mut end_of_last = 0;
        let mut note = |label: usize, range: Range<usize>, end_of_last: &mut usize| {
            let goes_on = all.len() > n_before && range.start < *end_of_last;
            *end_of_last = range.end;
            let range = text.ceil_char_boundary(range.start)..text.floor_char_boundary(range.end);
            match (all.last_mut(), labels.get(label)) {
                (Some(last), _) if goes_on => last.range.end = range.end,
                (_, Some(labelled)) => all.push(Found {
                    range,
                    kind: labelled.kind,
                    value: labelled.value.clone(),
                    rank: labelled.rank,
                }),
                _ => {}
            }
        };
        for at in 0..bytes.len().saturating_sub(LEAST_BYTES - 1) {
            let Some(sign) = bytes[at..]
                .first_chunk()
                .filter(|sign| self.seldom.has(sign))
            else {
                continue;
            };
            // Only near the end of what was found may begin what goes on behind it; what begins further within is told by
            // its end.
            if at + PART_BYTES > end_of_last
                && let Some(signed) = self.firsts.get(sign)
                && let Some((label, n_bytes)) = End::First.closest(signed, labels, &bytes[at..])
                && at + n_bytes > end_of_last
            {
                note(label, at..at + n_bytes, &mut end_of_last);
            }
            let end = at + LEAST_BYTES;
            let Some(signed) = self.lasts.get(sign).filter(|_| end > end_of_last) else {
                continue;
            };
            // No more of what was found than tells that it goes on is walked over again.
            let before = &bytes[end_of_last.saturating_sub(PART_BYTES)..end];
            if let Some((label, n_bytes)) = End::Last.closest(signed, labels, before) {
                note(label, end - n_bytes..end, &mut end_of_last);
            }
        }
    }
}

impl End {
    /// The bytes of a value that are kept, from this end on.
    fn of(self, labelled: &Labelled) -> &[u8] {
        match self {
            End::First => labelled.value.begins(),
            End::Last => labelled.value.ends(),
        }
    }

    /// How a value compares with a text, both from this end on, and how much they have in common.
    fn compare(self, value: &[u8], text: &[u8]) -> (Ordering, usize) {
        let common = match self {
            End::First => value
                .iter()
                .zip(text)
                .take_while(|(one, other)| one == other)
                .count(),
            End::Last => {
                let pairs = value.iter().rev().zip(text.iter().rev());
                pairs.take_while(|(one, other)| one == other).count()
            }
        };
        let next = |bytes: &[u8]| match self {
            End::First => bytes.get(common).copied(),
            End::Last => bytes.iter().rev().nth(common).copied(),
        };
        (next(value).cmp(&next(text)), common)
    }

    /// Puts a label among others of the same sign. Of the same value it is the first that counts.
    fn insert(self, signed: &mut Vec<usize>, label: usize, labels: &Labels) {
        let Some(value) = labels.get(label).map(|labelled| self.of(labelled)) else {
            return;
        };
        let order = |label: &usize| {
            let other = labels.get(*label).map(|labelled| self.of(labelled));
            self.compare(other.unwrap_or_default(), value).0
        };
        if let Err(at) = signed.binary_search_by(order) {
            signed.insert(at, label);
        }
    }

    /// Of those of one sign the label whose value the text goes on with longest, and how long that is; `None` where it is no
    /// part of any.
    fn closest(self, signed: &[usize], labels: &Labels, text: &[u8]) -> Option<(usize, usize)> {
        let compared = |label: usize| {
            let value = labels.get(label).map(|labelled| self.of(labelled));
            self.compare(value.unwrap_or_default(), text)
        };
        let at = signed.partition_point(|&label| compared(label).0 == Ordering::Less);
        // What is most like it stands right before or behind its place.
        let near = signed.get(at.saturating_sub(1)..)?.iter().take(2);
        let near = near.map(|&label| (label, compared(label).1));
        let (label, common) =
            near.reduce(|one, other| if other.1 > one.1 { other } else { one })?;
        let value = &labels.get(label)?.value;
        if common < value.len().min(PART_BYTES) {
            // It is no part of that, but a value as short may stand there whole. Ends are only of longer ones.
            return match self {
                End::First => whole(signed, labels, &text[..common]),
                End::Last => None,
            };
        }
        let kept = self.of(labels.get(label)?).len();
        let more = match common == kept && kept < value.len() {
            // How it goes on was not kept: as a word does.
            true => {
                let most = value.len() - kept;
                let is_word = |byte: &&u8| !byte.is_ascii_whitespace();
                match self {
                    End::First => text[common..].iter().take(most).take_while(is_word).count(),
                    End::Last => {
                        let before = text[..text.len() - common].iter().rev();
                        before.take(most).take_while(is_word).count()
                    }
                }
            }
            false => 0,
        };
        Some((label, common + more))
    }
}

/// Of those of one sign the label of the longest value that is a beginning of this, and how long that is.
fn whole(signed: &[usize], labels: &Labels, text: &[u8]) -> Option<(usize, usize)> {
    (LEAST_BYTES..=text.len()).rev().find_map(|n_bytes| {
        let order = |label: &usize| {
            let value = labels.get(*label).map(|labelled| End::First.of(labelled));
            let value = value.unwrap_or_default();
            End::First.compare(value, &text[..n_bytes]).0
        };
        let at = signed.binary_search_by(order).ok()?;
        Some((signed[at], n_bytes))
    })
}

/// What tells of most bytes of a text that no sign begins there: one bit for each hash of a sign.
#[derive(Clone, Debug, Default)]
struct Seldom(Vec<u64>);

/// 64 bits in each; of a thousand secrets every thirtieth is set.
const N_WORDS: usize = 1 << 10;

impl Seldom {
    /// Where the bit of a sign is, and which of its word.
    fn bit(sign: &[u8; LEAST_BYTES]) -> (usize, u64) {
        let begins = sign
            .first_chunk()
            .map_or(0, |begins| u64::from_le_bytes(*begins));
        // By the golden ratio, which spreads what is alike.
        let [one, other, ..] = begins.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
        let hash = usize::from(u16::from_be_bytes([one, other]));
        (hash % N_WORDS, 1 << (hash / N_WORDS))
    }

    fn add(&mut self, sign: [u8; LEAST_BYTES]) {
        let (word, bit) = Seldom::bit(&sign);
        self.0.resize(N_WORDS, 0);
        self.0[word] |= bit;
    }

    fn has(&self, sign: &[u8; LEAST_BYTES]) -> bool {
        let (word, bit) = Seldom::bit(sign);
        self.0.get(word).is_some_and(|bits| bits & bit != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels_of(values: &[String]) -> Labels {
        let mut labels = Labels::default();
        for value in values {
            labels.of(&Found::named(0, value, "password"));
        }
        labels
    }

    /// How much of a text, from this end on, is a part of one of the values: each of them looked at.
    fn longest(end: End, values: &[String], text: &[u8]) -> Option<usize> {
        let values = values.iter().map(String::as_bytes);
        let parts = values.filter_map(|value| {
            let common = end.compare(value, text).1;
            let is_part = common >= value.len().min(PART_BYTES);
            let has_end = end == End::First || value.len() > PART_BYTES;
            (is_part && has_end && common >= LEAST_BYTES).then_some(common)
        });
        parts.max()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn what_is_found_at_a_place_is_the_longest_of_all_labels(
            values in prop::collection::vec("a{8}[ab]{2,9}|[ab]{4,9}a{8}", 1..9),
            text in "(a{8}[ab]{2,9}|[ab]{4,9}a{8}|[ab ]{1,6}){1,5}",
        ) {
            let labels = labels_of(&values);
            let known = Known::new(&labels, |_| true);
            let bytes = text.as_bytes();
            let mut parts = vec![false; bytes.len()];
            for at in 0..=bytes.len() {
                let (before, behind) = bytes.split_at(at);
                let signed = |signs: &Signs, sign: Option<&[u8; LEAST_BYTES]>| {
                    sign.and_then(|sign| signs.get(sign)).cloned().unwrap_or_default()
                };
                let first = End::First.closest(&signed(&known.firsts, behind.first_chunk()), &labels, behind);
                let last = End::Last.closest(&signed(&known.lasts, before.last_chunk()), &labels, before);
                let (first, last) = (first.map(|it| it.1), last.map(|it| it.1));
                prop_assert_eq!(first, longest(End::First, &values, behind));
                prop_assert_eq!(last, longest(End::Last, &values, before));
                parts[at..at + first.unwrap_or(0)].fill(true);
                parts[at - last.unwrap_or(0)..at].fill(true);
            }
            let mut all = Vec::new();
            known.find(&text, &labels, &mut all);
            let mut found = vec![false; bytes.len()];
            for one in all {
                prop_assert!(!found[one.range.clone()].contains(&true), "found twice");
                found[one.range].fill(true);
            }
            // All that is found is a part of some value, and all that stands there whole is found.
            prop_assert!(found.iter().zip(&parts).all(|(is, may)| !is || *may));
            for value in &values {
                for at in (0..bytes.len()).filter(|&at| bytes[at..].starts_with(value.as_bytes())) {
                    prop_assert!(found[at..at + value.len()].iter().all(|is| *is), "{value} at {at}");
                }
            }
        }
    }
}
