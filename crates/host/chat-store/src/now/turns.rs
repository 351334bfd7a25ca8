//! Which turns go on, as in the feed: what comes without a name is of the turn that was made last, while that goes on, and of
//! one of its own else.

use std::collections::{BTreeSet, VecDeque};

use chat_event::payload::TurnStart;
use chat_event::{ChatEvent, Payload, stable_hash};
use serde::{Deserialize, Serialize};

use super::{MOST_OPEN, Now};

/// Turns that were made, by their numbers in that order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Turns {
    n_made: u32,
    first_ms: Option<i64>,
    /// The newest; those that are over and were forgotten are not among them.
    known: VecDeque<Turn>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Turn {
    nth: u32,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    name: Option<u64>,
    began_ms: Option<i64>,
    goes_on: bool,
    /// It has a name, or somebody began it: not what stands outside of turns.
    is_one: bool,
    /// It has no name, and its prompt has not come.
    is_announced: bool,
}

impl Turns {
    fn known(&mut self, nth: u32) -> Option<&mut Turn> {
        self.known.iter_mut().rev().find(|turn| turn.nth == nth)
    }

    fn named(&self, event: &ChatEvent) -> Option<Option<Turn>> {
        let name = Some(name_of(event.turn_id.as_deref()?));
        let known = self.known.iter().rev().find(|turn| turn.name == name);
        Some(known.copied())
    }

    /// The turn that an event names, where it was made.
    pub(super) fn of_name(&self, event: &ChatEvent) -> Option<u32> {
        self.named(event).flatten().map(|turn| turn.nth)
    }

    /// The turn that was made last, while it goes on.
    fn current(&self) -> Option<Turn> {
        self.known.back().copied().filter(|turn| turn.goes_on)
    }

    pub(super) fn goes_on(&self, nth: u32) -> bool {
        let known = self.known.iter().rev().find(|turn| turn.nth == nth);
        known.is_some_and(|turn| turn.goes_on)
    }
}

impl Now {
    pub(super) fn note_time(&mut self, event: &ChatEvent) {
        let times = [self.turns.first_ms, event.timestamp];
        self.turns.first_ms = times.into_iter().flatten().min();
    }

    /// The turn of an event: the one it names, the current one, or one that is made for it.
    pub(super) fn turn_of(&mut self, event: &ChatEvent) -> u32 {
        let known = match self.turns.named(event) {
            Some(named) => named,
            None => self.turns.current(),
        };
        known.map_or_else(|| self.new_turn(event, false), |turn| turn.nth)
    }

    /// Makes one; `is_begun` says that somebody began it.
    fn new_turn(&mut self, event: &ChatEvent, is_begun: bool) -> u32 {
        let name = event.turn_id.as_deref().map(name_of);
        let turns = &mut self.turns;
        // A session does not end before all of it: who tells that has a clock that is behind.
        let is_end = matches!(event.payload, Payload::SessionEnd(_));
        let is_wrong = is_end && event.timestamp < turns.first_ms;
        turns.n_made = turns.n_made.saturating_add(1);
        let nth = turns.n_made;
        turns.known.push_back(Turn {
            nth,
            name,
            began_ms: event.timestamp.filter(|_| !is_wrong),
            goes_on: true,
            is_one: is_begun || name.is_some(),
            is_announced: is_begun && name.is_none(),
        });
        if turns.known.len() > MOST_OPEN {
            let over = turns.known.iter().position(|turn| !turn.goes_on);
            if let Some(gone) = turns.known.remove(over.unwrap_or(0)) {
                self.settle(gone.nth);
            }
        }
        nth
    }

    pub(super) fn turn_starts(&mut self, event: &ChatEvent, start: &TurnStart) {
        if !matches!(self.turns.named(event), Some(Some(_))) {
            self.new_turn(event, !start.trigger.is_empty());
        }
    }

    /// The user says something to the main agent: without a name it begins a turn, unless one was begun that waits for it, or
    /// one with a name goes on.
    pub(super) fn is_prompted(&mut self, event: &ChatEvent) {
        let mut turn = None;
        if event.turn_id.is_none() {
            let current = self.turns.current();
            let takes_it = current.filter(|turn| turn.is_announced || turn.name.is_some());
            turn = Some(match takes_it {
                Some(turn) => turn.nth,
                None => self.new_turn(event, true),
            });
        }
        let turn = turn.unwrap_or_else(|| self.turn_of(event));
        if let Some(turn) = self.turns.known(turn) {
            turn.is_announced = false;
        }
    }

    /// The main agent works in a turn: others are over, also where nobody said so. Where it is not the newest, those that
    /// stand and began before it.
    pub(super) fn work_begins(&mut self, event: &ChatEvent, is_newest: bool) {
        let nth = self.turn_of(event);
        let Some(turn) = self.turns.known(nth).copied().filter(|turn| turn.is_one) else {
            return;
        };
        let is_before = |other: &Turn| {
            turn.name.is_some() && turn.began_ms.is_some() && turn.began_ms < other.began_ms
        };
        let others = self.turns.known.iter().filter(|it| {
            it.goes_on && it.nth != nth && (is_newest || (it.nth < nth && !is_before(it)))
        });
        for over in others.map(|it| it.nth).collect::<Vec<_>>() {
            self.turn_is_over(over);
        }
    }

    pub(super) fn turn_is_over(&mut self, nth: u32) {
        self.settle(nth);
        if let Some(turn) = self.turns.known(nth) {
            turn.goes_on = false;
        }
    }

    pub(super) fn all_turns_are_over(&mut self) {
        self.nothing_goes_on();
        for turn in &mut self.turns.known {
            turn.goes_on = false;
        }
    }

    /// The user went back behind turns: nothing of them runs or waits, though their end was not told.
    pub(super) fn turns_are_undone(&mut self, ids: &[String]) {
        if ids.is_empty() {
            return;
        }
        let undone: BTreeSet<u64> = ids.iter().map(|id| name_of(id)).collect();
        let open = self.turns.known.iter().filter(|turn| turn.goes_on);
        let undone = open.filter(|turn| turn.name.is_some_and(|name| undone.contains(&name)));
        for nth in undone.map(|turn| turn.nth).collect::<Vec<_>>() {
            self.turn_is_over(nth);
        }
    }
}

/// A name as it is kept: names may be of any length.
pub(super) fn name_of(name: &str) -> u64 {
    stable_hash(name.as_bytes())
}
