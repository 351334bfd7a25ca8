//! Secrets that were found somewhere, found again where nothing tells them: by themselves, or cut. So are the names of
//! users, each by its own rule.
//!
//! A title, a summary or a preview may hold the first half of a token that stands whole elsewhere. Half of it is too much.

use super::find::{Found, Rank};
use super::keywords::Keywords;
use super::labels::Labels;
use super::names::Names;

/// A shorter value may be any word, and is left where nothing names it.
const LEAST_BYTES: usize = 10;
/// So much of the beginning or the end of a value is taken for a part of it.
const PART_BYTES: usize = 14;

/// The values of a plan, by their beginnings and ends.
#[derive(Clone, Debug)]
pub(super) struct Known {
    table: Keywords,
    signs: Vec<(usize, End)>,
    names: Names,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    First,
    Last,
}

impl Known {
    /// Those of the labels that stand for secrets which are masked.
    pub(super) fn new(labels: &Labels, is_masked: impl Fn(&'static str) -> bool) -> Self {
        let mut signs = Vec::new();
        let mut words: Vec<&[u8]> = Vec::new();
        for (label, labelled) in labels.all().iter().enumerate() {
            let value = labelled.value.as_bytes();
            let is_secret = labelled.rank >= Rank::Random;
            if !is_secret || value.len() < LEAST_BYTES || !is_masked(labelled.kind) {
                continue;
            }
            let len = value.len().min(PART_BYTES);
            signs.push((label, End::First));
            words.push(&value[..len]);
            if value.len() > len {
                signs.push((label, End::Last));
                words.push(&value[value.len() - len..]);
            }
        }
        Known {
            table: Keywords::new(words.into_iter()),
            signs,
            names: Names::new(labels, is_masked),
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.signs.is_empty() && self.names.is_empty()
    }

    /// Adds what of them a text holds.
    pub(super) fn find(&self, text: &str, labels: &Labels, all: &mut Vec<Found>) {
        self.names.find(text, labels, all);
        if self.signs.is_empty() {
            return;
        }
        let bytes = text.as_bytes();
        let mut end_of_last = 0;
        self.table.each(bytes, |word, at| {
            let Some(&(label, end)) = self.signs.get(word) else {
                return;
            };
            let Some(labelled) = labels.get(label) else {
                return;
            };
            let value = labelled.value.as_bytes();
            let range = match end {
                End::First if at < end_of_last => return,
                End::First => {
                    let len = bytes[at..]
                        .iter()
                        .zip(value)
                        .take_while(|(one, other)| one == other);
                    at..at + len.count()
                }
                End::Last => {
                    let word_end = at + value.len().min(PART_BYTES);
                    let before = bytes[..word_end].iter().rev().zip(value.iter().rev());
                    let len = before.take_while(|(one, other)| one == other).count();
                    word_end - len..word_end
                }
            };
            if range.len() < value.len().min(PART_BYTES) {
                return;
            }
            end_of_last = end_of_last.max(range.end);
            let range = text.ceil_char_boundary(range.start)..text.floor_char_boundary(range.end);
            all.push(Found {
                range,
                kind: labelled.kind,
                value: labelled.value.clone(),
                rank: labelled.rank,
            });
        });
    }
}
