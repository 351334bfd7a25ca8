//! Calls that go on in the background, where one source tells that they began and how they ended, and another one, as an
//! older output of the same program, tells only a result: what the first calls the beginning.
//!
//! | told before | then comes | what of it |
//! |---|---|---|
//! | that it began | a plain result of who did not tell that | nothing: it says the same; told where it failed |
//! | that it began, a plain result | how it ended | told |
//! | a plain result | that it began | told |
//! | a plain result | how it ended | told |
//! | how it ended | a plain result | nothing |
//! | that it began, how it ended or a plain result of the same source | how it ended, of another | nothing |

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use chat_event::ChatEvent;

use super::{Merge, Strength};

/// Which sources told of calls that they began in the background, by the number of the call's result.
#[derive(Debug, Default)]
pub(super) struct Background(HashMap<u64, u32>);

impl Background {
    /// A source tells that it began; whether none did before.
    fn begins(&mut self, result: u64, source: usize) -> bool {
        match self.0.entry(result) {
            Entry::Occupied(mut by) => {
                *by.get_mut() |= 1 << source;
                false
            }
            Entry::Vacant(by) => {
                by.insert(1 << source);
                true
            }
        }
    }

    /// Whether another source than this one told that it began.
    fn is_anothers(&self, result: u64, source: usize) -> bool {
        self.0
            .get(&result)
            .is_some_and(|by| by & (1 << source) == 0)
    }

    fn has(&self, result: u64) -> bool {
        self.0.contains_key(&result)
    }
}

impl Merge {
    /// What the call began goes on in the background. A plain result that was told before said no more than that.
    pub(super) fn tell_beginning(
        &mut self,
        (key, result): (u64, u64),
        source: usize,
        event: ChatEvent,
        out: &mut Vec<ChatEvent>,
    ) {
        if self.background.begins(result, source)
            && self.once.get(&result) == Some(&Strength::Plain)
        {
            self.once.remove(&result);
        }
        self.tell_once(key, Strength::Sure, source, event, out);
    }

    /// A result that says nothing of the background.
    pub(super) fn tell_plain(
        &mut self,
        (result, failed): (u64, bool),
        source: usize,
        event: ChatEvent,
        out: &mut Vec<ChatEvent>,
    ) {
        let has_begun = self.background.has(result);
        // A log has what several told.
        let may_be_anothers = has_begun && self.written.is_log(source);
        let is_anothers = may_be_anothers || self.background.is_anothers(result, source);
        // What fails is no beginning.
        if is_anothers && !failed {
            self.dropped += 1;
            return;
        }
        // Who told that it began says how it ended.
        let strength = match has_begun {
            true => Strength::Sure,
            false => Strength::Plain,
        };
        self.tell_once(result, strength, source, event, out);
    }
}
