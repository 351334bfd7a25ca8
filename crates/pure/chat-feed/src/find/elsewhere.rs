//! What somebody who has all of the log found in bodies of which only the ends are here.
//!
//! | is | when | becomes |
//! |---|---|---|
//! | looked through at its ends | `begin_elsewhere`, then `looked_elsewhere` for each text | looked through |
//! | looked through | it changes | looked through at its ends |
//!
//! A server looks through its log, and names the events of which it could not read a body. Who has all bodies shows them
//! one by one ([`Find::look_in_body`]).

use std::collections::BTreeSet;

use super::Find;
use super::query::Wanted;
use super::sought::How;
use super::words::cleaned;
use crate::block::BlockId;

/// Longer texts are not looked for by a server.
const TEXT_BYTES: usize = 200;

/// What was found where.
#[derive(Clone, Debug, Default)]
pub(super) struct Elsewhere {
    /// By text of the query.
    found: Vec<BTreeSet<BlockId>>,
    /// Texts that all of the log was looked through for, a bit each.
    looked: u32,
    /// Somebody looks, or has.
    begun: bool,
    /// Blocks that changed since that began.
    changed: BTreeSet<BlockId>,
    /// Blocks of which a body could not be read there.
    unread: BTreeSet<BlockId>,
    /// Whether all bodies were shown, and not only those of the log.
    has_all: bool,
}

impl Elsewhere {
    pub(super) fn note_change(&mut self, block: BlockId) {
        if self.begun {
            self.changed.insert(block);
        }
    }

    /// Which of the texts stand in a block.
    pub(super) fn texts_in(&self, block: BlockId) -> u32 {
        let texts = self.found.iter().enumerate();
        let found = texts.filter(|(_, blocks)| blocks.contains(&block));
        found.fold(0, |bits, (nth, _)| bits | 1 << nth)
    }

    /// Whether nothing of a block is where nobody looks.
    pub(super) fn has_all(&self) -> bool {
        self.has_all
    }

    /// Whether all of a block was looked through for so many texts.
    pub(super) fn is_whole(&self, block: BlockId, n_texts: usize) -> bool {
        let all = n_texts > 0 && self.looked.count_ones() as usize == n_texts;
        all && !self.changed.contains(&block) && !self.unread.contains(&block)
    }
}

impl Find {
    /// Texts that somebody else can look for, with their numbers, and how; none where all that is asked for is here.
    pub fn texts_elsewhere(&self) -> Vec<(usize, String, How)> {
        if self.totals.partly == 0 {
            return Vec::new();
        }
        let texts = self.query.texts.iter().enumerate();
        let written = texts.map(|(nth, Wanted { what, .. })| {
            let (text, how) = what.written();
            (nth, text.to_owned(), how)
        });
        written
            .filter(|(_, text, _)| text.len() <= TEXT_BYTES)
            .collect()
    }

    /// From now on the log is looked through; what changes meanwhile is not part of that.
    pub fn begin_elsewhere(&mut self) {
        self.elsewhere.changed.clear();
        self.elsewhere.looked = 0;
        self.elsewhere.unread.clear();
        self.elsewhere.has_all = false;
        self.elsewhere.begun = true;
    }

    /// Whether bodies are to be shown to [`Find::look_in_body`]: something is asked for, and not all there is is here.
    pub fn wants_bodies(&self) -> bool {
        self.totals.partly > 0 && !self.query.texts.is_empty()
    }

    /// Looks through a body of which only the ends are in a block.
    pub fn look_in_body(&mut self, block: BlockId, text: &str) {
        let text = cleaned(text);
        let known = self.elsewhere.texts_in(block);
        let texts = self.query.texts.iter().enumerate();
        let found: Vec<usize> = texts
            .filter(|(nth, wanted)| known & (1 << nth) == 0 && wanted.what.is_in(&text, &mut 0))
            .map(|(nth, _)| nth)
            .collect();
        for nth in found {
            self.found_elsewhere(nth, [block]);
        }
    }

    /// All bodies were shown.
    pub fn looked_in_bodies(&mut self) {
        self.elsewhere.has_all = true;
        for nth in 0..self.query.texts.len() {
            self.looked_elsewhere(nth);
        }
    }

    /// A text, by its number, stands in these blocks.
    pub fn found_elsewhere(&mut self, nth: usize, blocks: impl IntoIterator<Item = BlockId>) {
        let n_texts = self.query.texts.len();
        self.elsewhere.found.resize_with(n_texts, BTreeSet::new);
        for block in blocks {
            let is_new = self
                .elsewhere
                .found
                .get_mut(nth)
                .is_some_and(|found| found.insert(block));
            if is_new {
                self.look_again(block);
            }
        }
    }

    /// A body of each of these could not be read where the log is looked through: their ends are all that is known.
    pub fn unread_elsewhere(&mut self, blocks: impl IntoIterator<Item = BlockId>) {
        for block in blocks {
            if self.elsewhere.unread.insert(block) {
                self.look_again(block);
            }
        }
    }

    /// All of the log was looked through for a text.
    pub fn looked_elsewhere(&mut self, nth: usize) {
        if nth >= self.query.texts.len() {
            return;
        }
        self.elsewhere.looked |= 1 << nth;
        let blocks = (0_u32..).map(BlockId).zip(&self.blocks);
        let partly = blocks.filter(|(_, looked)| looked.known && looked.partly);
        let partly: Vec<BlockId> = partly.map(|(block, _)| block).collect();
        self.due.extend(partly);
    }
}
