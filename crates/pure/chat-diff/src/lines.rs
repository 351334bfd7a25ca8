//! Which lines changed: the one place where two texts are compared.
//!
//! A line ends at `\n` and holds it; a `\r` is content, so CRLF survives and a lone CR breaks no line. Of long texts it is
//! tried first whether they differ in a few places only, which is for `few`.

use std::collections::HashMap;
use std::ops::Range;

use similar::Algorithm;
use similar::DiffOp;
use similar::capture_diff_slices;

use crate::few;

/// Lines of both sides together, after common head and tail are cut off, that are compared line by line.
///
/// Myers as `similar` bounds it needs about half a second for the hardest 2 × 100,000 lines (measured natively: random
/// lines out of 1,000 different ones); beyond that, and where there are more than a few changes, the whole stretch is
/// replaced, which is right but not small.
const COMPARED: Compared = Compared {
    at_once: 20_000,
    most: 200_000,
    few: 1_000,
};

/// How much is compared, in items of both sides together after common head and tail are cut off.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compared {
    /// Of more it is tried first whether few are changed.
    pub(crate) at_once: usize,
    /// More are compared only where few are changed.
    pub(crate) most: usize,
    /// So many removed and added ones are few.
    pub(crate) few: usize,
}

/// A run of old lines that was replaced by a run of new lines; at most one of them is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) old: Range<usize>,
    pub(crate) new: Range<usize>,
}

/// Splits after each `\n`; the last line may lack it. An empty text has no lines.
pub(crate) fn split_lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The changed blocks in order; between two blocks lie equal lines, at least one.
pub(crate) fn changed_blocks<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Block> {
    changed(old, new, COMPARED)
}

/// As [`changed_blocks`], for items of any kind.
pub(crate) fn changed<'a>(old: &[&'a str], new: &[&'a str], compared: Compared) -> Vec<Block> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest
        .iter()
        .rev()
        .zip(new_rest.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let old_middle = &old_rest[..old_rest.len() - tail];
    let new_middle = &new_rest[..new_rest.len() - tail];
    let whole = Block {
        old: head..head + old_middle.len(),
        new: head..head + new_middle.len(),
    };
    if whole.old.is_empty() && whole.new.is_empty() {
        return Vec::new();
    }
    if whole.old.is_empty() || whole.new.is_empty() {
        return vec![whole];
    }
    let n_items = old_middle.len() + new_middle.len();
    if n_items > compared.at_once
        && let Some(mut blocks) = few::changes(old_middle, new_middle, compared.few)
    {
        for range in blocks
            .iter_mut()
            .flat_map(|block| [&mut block.old, &mut block.new])
        {
            *range = range.start + head..range.end + head;
        }
        return blocks;
    }
    if n_items > compared.most {
        return vec![whole];
    }
    // Numbers compare faster than lines, and a long line is hashed once.
    let mut ids = HashMap::new();
    let old_ids = numbered(&mut ids, old_middle);
    let new_ids = numbered(&mut ids, new_middle);
    let mut blocks: Vec<Block> = Vec::new();
    for op in capture_diff_slices(Algorithm::Myers, &old_ids, &new_ids) {
        if let DiffOp::Equal { .. } = op {
            continue;
        }
        let old = op.old_range().start + head..op.old_range().end + head;
        let new = op.new_range().start + head..op.new_range().end + head;
        match blocks.last_mut() {
            Some(last) if last.old.end == old.start && last.new.end == new.start => {
                last.old.end = old.end;
                last.new.end = new.end;
            }
            Some(_) | None => blocks.push(Block { old, new }),
        }
    }
    blocks
}

fn numbered<'a>(ids: &mut HashMap<&'a str, usize>, lines: &[&'a str]) -> Vec<usize> {
    lines
        .iter()
        .map(|line| {
            let next = ids.len();
            *ids.entry(line).or_insert(next)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_the_cap_the_stretch_between_head_and_tail_is_replaced() {
        let old = ["h", "a", "x", "b", "t"];
        let new = ["h", "c", "x", "d", "t"];
        let compared = |most| Compared {
            at_once: most,
            most,
            few: 1,
        };
        assert_eq!(changed(&old, &new, compared(6)).len(), 2);
        assert_eq!(
            changed(&old, &new, compared(5)),
            [Block {
                old: 1..4,
                new: 1..4
            }]
        );
    }

    #[test]
    fn equal_lines_have_no_blocks() {
        assert_eq!(changed_blocks(&["a\n", "b"], &["a\n", "b"]), []);
        assert_eq!(changed_blocks(&[], &[]), []);
    }

    #[test]
    fn a_line_that_loses_its_newline_is_another_line() {
        assert_eq!(
            changed_blocks(&["a\n"], &["a"]),
            [Block {
                old: 0..1,
                new: 0..1
            }]
        );
    }
}
