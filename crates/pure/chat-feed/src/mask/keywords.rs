//! Finds many words at once, in one pass over a text: a table of states, of which each byte leads to the next
//! (Aho and Corasick, 1975). Letters are those of ASCII, and whether they are capitals does not matter.

use std::collections::VecDeque;

/// The words to be found.
#[derive(Clone, Debug)]
pub(super) struct Keywords {
    /// Bytes that no word has are one column.
    column_of: Box<[u8; 256]>,
    n_columns: usize,
    next: Vec<u32>,
    /// For each state, the words that end there: from this index of `ends` on.
    first_end: Vec<u32>,
    ends: Vec<u32>,
    lengths: Vec<usize>,
}

impl Default for Keywords {
    fn default() -> Self {
        Keywords::new(std::iter::empty())
    }
}

impl Keywords {
    /// The table of some words; none of them is empty.
    pub(super) fn new<'w>(words: impl Iterator<Item = &'w [u8]>) -> Self {
        let words: Vec<Vec<u8>> = words.map(<[u8]>::to_ascii_lowercase).collect();
        let mut column_of = Box::new([0_u8; 256]);
        let mut n_columns = 1;
        for &byte in words.iter().flatten() {
            let column = &mut column_of[usize::from(byte)];
            if *column == 0 && n_columns < 256 {
                // At most 255 of them, as the test says.
                *column = u8::try_from(n_columns).unwrap_or(u8::MAX);
                n_columns += 1;
            }
        }
        for letter in b'a'..=b'z' {
            column_of[usize::from(letter.to_ascii_uppercase())] = column_of[usize::from(letter)];
        }
        let mut next = vec![NONE; n_columns];
        let mut own_ends: Vec<Vec<u32>> = vec![Vec::new()];
        for (word, number) in words.iter().zip(0_u32..) {
            let mut state = 0;
            for &byte in word {
                let at = state * n_columns + usize::from(column_of[usize::from(byte)]);
                if next[at] == NONE {
                    next[at] = u32::try_from(own_ends.len()).unwrap_or(0);
                    own_ends.push(Vec::new());
                    next.resize(next.len() + n_columns, NONE);
                }
                state = next[at] as usize;
            }
            own_ends[state].push(number);
        }
        // Where a word goes on in no way, its longest end that begins a word does.
        let mut fallback = vec![0_usize; own_ends.len()];
        let mut waiting = VecDeque::new();
        for to in &mut next[..n_columns] {
            match *to {
                NONE => *to = 0,
                state => waiting.push_back(state as usize),
            }
        }
        while let Some(state) = waiting.pop_front() {
            let back = fallback[state];
            let more = own_ends[back].clone();
            own_ends[state].extend(more);
            for column in 0..n_columns {
                let at = state * n_columns + column;
                let instead = next[back * n_columns + column];
                if next[at] == NONE {
                    next[at] = instead;
                } else {
                    let to = next[at] as usize;
                    fallback[to] = instead as usize;
                    waiting.push_back(to);
                }
            }
        }
        let mut first_end = Vec::with_capacity(own_ends.len() + 1);
        let mut ends = Vec::new();
        for own in own_ends {
            first_end.push(u32::try_from(ends.len()).unwrap_or(0));
            ends.extend(own);
        }
        first_end.push(u32::try_from(ends.len()).unwrap_or(0));
        Keywords {
            column_of,
            n_columns,
            next,
            first_end,
            ends,
            lengths: words.iter().map(Vec::len).collect(),
        }
    }

    /// Calls `found` with the number of each word and where it begins, in the order of their ends.
    pub(super) fn each(&self, text: &[u8], mut found: impl FnMut(usize, usize)) {
        let mut state = 0;
        for (at, &byte) in text.iter().enumerate() {
            let column = usize::from(self.column_of[usize::from(byte)]);
            state = self.next[state * self.n_columns + column] as usize;
            let (from, to) = (self.first_end[state], self.first_end[state + 1]);
            for &word in &self.ends[from as usize..to as usize] {
                let word = word as usize;
                found(word, at + 1 - self.lengths[word]);
            }
        }
    }
}

/// No state yet.
const NONE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_found_is_what_looking_for_each_word_finds(
            words in prop::collection::vec("[a-c_]{1,4}", 1..6),
            text in "[a-cA-C_é]{0,40}",
        ) {
            let table = Keywords::new(words.iter().map(String::as_bytes));
            let mut found = Vec::new();
            table.each(text.as_bytes(), |word, at| found.push((word, at)));
            let lower = text.to_ascii_lowercase();
            let mut expected = Vec::new();
            for (number, word) in words.iter().enumerate() {
                for at in 0..lower.len() {
                    if lower.as_bytes()[at..].starts_with(word.as_bytes()) {
                        expected.push((number, at));
                    }
                }
            }
            found.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }
}
