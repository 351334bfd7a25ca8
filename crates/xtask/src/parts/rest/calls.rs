//! What was run before the first rows, as it was seen.
//!
//! In the list that is kept of it a line is a function: its name's hash, its shape's, and a bit for each of its blocks, four
//! to a digit; `-` where it was not called. A function that is not in it stays in the first part, whole: what is added later
//! costs bytes there until the list is made anew, and no time. So does one that was changed since, unless it was not called
//! before it was. `cargo xtask calls` adds what it sees of functions that are still the same, and leaves out those that are
//! no more; where there is no list it begins one.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use wasmparser::{Parser, Payload};

use super::survey::Survey;
use super::{Seen, blocks};

/// A function, by the hash of its name and its shape.
type Key = (u32, u32);

/// What was seen of functions.
#[derive(Default)]
pub(in crate::parts) struct Calls {
    /// Which blocks were run; none of those that were not called.
    functions: BTreeMap<Key, Vec<bool>>,
}

impl Calls {
    /// What is kept.
    pub(in crate::parts) fn read(text: &str) -> Calls {
        Calls {
            functions: text.lines().filter_map(read_line).collect(),
        }
    }

    /// What was noted while a module of [`super::counted`] ran: a byte for each block, in the order of the code.
    pub(in crate::parts) fn noted(wasm: &[u8], notes: &[u8]) -> Option<Calls> {
        let survey = Survey::of(wasm)?;
        let mut numbers = survey.own_numbers();
        let mut notes = notes.iter().map(|note| *note != 0);
        let mut calls = Calls::default();
        for payload in Parser::new(0).parse_all(wasm) {
            let Payload::CodeSectionEntry(body) = payload.ok()? else {
                continue;
            };
            let number = numbers.next()?;
            let n_blocks = blocks::n_in(&body)? as usize;
            let blocks: Vec<bool> = notes.by_ref().take(n_blocks).collect();
            if blocks.len() < n_blocks {
                return None;
            }
            if let Some(name) = survey.names.get(&number) {
                calls.add(key(name, survey.own(number)?.shape), &blocks);
            }
        }
        Some(calls)
    }

    /// Of functions that share a key, what any of them ran was run.
    fn add(&mut self, key: Key, blocks: &[bool]) {
        let known = self.functions.entry(key).or_default();
        if blocks.first() == Some(&true) {
            known.resize(known.len().max(blocks.len()), false);
            for (known, block) in known.iter_mut().zip(blocks) {
                *known |= block;
            }
        }
    }

    /// With what an earlier visit saw of functions that are still the same: what a machine runs first depends on how busy it
    /// is, and a visit sees one of many ways.
    pub(in crate::parts) fn with(mut self, earlier: &Calls) -> Calls {
        for (key, blocks) in &earlier.functions {
            if self.functions.contains_key(key) {
                self.add(*key, blocks);
            }
        }
        self
    }

    /// As it is kept.
    pub(in crate::parts) fn to_text(&self) -> String {
        let mut text = String::new();
        for ((name, shape), blocks) in &self.functions {
            let _ = write!(text, "{name:08x} {shape:08x} ");
            for four in blocks.chunks(4) {
                let bits = (0..)
                    .zip(four)
                    .map(|(at, was_run)| u32::from(*was_run) << at);
                let _ = write!(text, "{:x}", bits.sum::<u32>());
            }
            text.push_str(if blocks.is_empty() { "-\n" } else { "\n" });
        }
        text
    }

    pub(super) fn seen(&self, name: &str, shape: u32) -> Seen {
        match self.functions.get(&key(name, shape)) {
            None if self.was_idle(name) => Seen::NotRun,
            None => Seen::Unknown,
            Some(blocks) if blocks.is_empty() => Seen::NotRun,
            Some(blocks) => Seen::Run(blocks.clone()),
        }
    }

    /// Whether a function of this name is known in other shapes, and none of them was called.
    fn was_idle(&self, name: &str) -> bool {
        let mut known = self.functions.range(key(name, 0)..=key(name, u32::MAX));
        let mut is_known = false;
        let is_idle = known.all(|(_, blocks)| {
            is_known = true;
            blocks.is_empty()
        });
        is_known && is_idle
    }
}

fn key(name: &str, shape: u32) -> Key {
    // FNV-1a.
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    (hash, shape)
}

fn read_line(line: &str) -> Option<(Key, Vec<bool>)> {
    let mut words = line.split(' ');
    let mut number = || u32::from_str_radix(words.next()?, 16).ok();
    let key = (number()?, number()?);
    let digits = words.next()?.chars().filter_map(|digit| digit.to_digit(16));
    let blocks = digits.flat_map(|digit| (0..4).map(move |at| digit >> at & 1 == 1));
    Some((key, blocks.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, shape: u32, blocks: &str) -> String {
        let (name, shape) = key(name, shape);
        format!("{name:08x} {shape:08x} {blocks}\n")
    }

    #[test]
    fn what_any_visit_saw_was_run_of_functions_that_are_still_the_same() {
        let earlier = [of("idle", 1, "-"), of("busy", 1, "5"), of("often", 1, "3")];
        let earlier = [&earlier.concat()[..], &of("gone", 1, "3")].concat();
        let now = [of("idle", 1, "3"), of("busy", 1, "13"), of("often", 1, "-")].concat();
        let calls = Calls::read(&now).with(&Calls::read(&earlier));
        let all = [of("idle", 1, "3"), of("busy", 1, "53"), of("often", 1, "3")].concat();
        assert_eq!(calls.to_text(), Calls::read(&all).to_text());
    }

    #[test]
    fn what_was_not_called_is_not_when_it_has_changed() {
        let list = [of("idle", 1, "-"), of("busy", 1, "3"), of("busy", 2, "-")];
        let calls = Calls::read(&list.concat());
        assert!(matches!(calls.seen("idle", 1), Seen::NotRun));
        assert!(matches!(calls.seen("idle", 9), Seen::NotRun));
        assert!(matches!(calls.seen("busy", 2), Seen::NotRun));
        assert!(matches!(calls.seen("busy", 1), Seen::Run(_)));
        assert!(matches!(calls.seen("busy", 9), Seen::Unknown));
        assert!(matches!(calls.seen("new", 1), Seen::Unknown));
    }
}
