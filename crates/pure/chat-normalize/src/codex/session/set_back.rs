//! Turns that a session is set back behind: the model knows no more of them.

use std::collections::{BTreeSet, HashSet};

use super::{Session, pair};
use crate::emit::Emitter;

impl Session {
    /// The session is set back by so many turns.
    pub(crate) fn set_back_by(&mut self, emitter: &mut Emitter, n_turns: usize) {
        let left = self.standing.leave(n_turns);
        emitter.went_back(n_turns, left);
    }

    /// The session is set back to what stands before these turns, as the provider calls them.
    pub(crate) fn set_back_behind(&mut self, emitter: &mut Emitter, natives: &[&str]) {
        let natives: BTreeSet<&str> = natives.iter().copied().collect();
        if natives.is_empty() {
            let text = "the user went back: turns before this line were left";
            return emitter.set_back(text, Vec::new());
        }
        let of = |native: &&str| self.turn_ids.get(&pair("", native));
        let known: HashSet<&String> = natives.iter().filter_map(of).collect();
        let left = self.standing.leave_these(&known);
        // Those that were left before, as an answer may have said, are left once.
        let n_before = known.len().saturating_sub(left.len());
        emitter.went_back(natives.len() - n_before, left);
    }

    /// The server says that the session is made of these turns, none of which is open. Where it lacks the last that a person
    /// asked for, it was set back.
    pub(crate) fn made_of(&mut self, emitter: &mut Emitter, natives: &[&str]) {
        let of = |native: &&str| self.turn_ids.get(&pair("", native));
        let Some(Some(last)) = natives.last().map(of) else {
            return;
        };
        let is_known = natives.iter().all(|native| of(native).is_some());
        let behind: Vec<&String> = self.standing.behind(last).collect();
        let n_left = behind.len();
        let was_asked = behind.into_iter().any(|id| self.asked_in.contains(id));
        if is_known && was_asked && self.turn("").is_none() {
            self.set_back_by(emitter, n_left);
        }
    }
}
