//! Which turn of the log a turn of a source is, where its name does not say so.

use super::clues::{Clue, is_number};
use super::waiting::Waiting;
use super::{MAX_LOOKED_AT, MAX_WAITING, ONE_BEGINNING_MS, Turn, Turns};

impl Turns {
    /// Which turn the waiting one is, where that is known by now.
    pub(super) fn decide(
        &self,
        source: usize,
        clue: Clue,
        key: u64,
        text: Option<u64>,
        deed: Option<u64>,
    ) -> Option<usize> {
        let waiting = self.waiting.get(&source)?;
        if let Some(at) = self.by_id.get(&waiting.id)
            && !is_number(&waiting.id)
        {
            return Some(*at);
        }
        if let Some(at) = self.known(source, &waiting.id) {
            return Some(at);
        }
        if let Some(at) = self.begun_with(source, waiting) {
            return Some(at);
        }
        if matches!(clue, Clue::Response | Clue::Call | Clue::Line)
            && let Some(at) = self.by_key.get(&key)
            && self.lacks(*at, source)
        {
            return Some(*at);
        }
        // The order in which turns are known is not always theirs: two sources may both have one that the other has not.
        let first_of = |turns: Option<&Vec<usize>>, fits: &dyn Fn(usize) -> bool| {
            let turns = turns.into_iter().flatten().copied().take(MAX_LOOKED_AT);
            let lacking = turns.filter(|at| self.lacks(*at, source) && fits(*at));
            let mut behind = lacking.clone().filter(|at| self.is_behind(*at, source));
            behind.next().or_else(|| lacking.clone().next())
        };
        let same_words = |turn: &Turn| match (turn.said, waiting.said) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        };
        if let Some(prompt) = &waiting.prompt
            && waiting.said.is_some()
        {
            // A fork bears one prompt's id on all the turns it copied; words tell them apart.
            let fits = |at: usize| same_words(&self.turns[at]);
            if let Some(at) = first_of(self.by_prompt.get(prompt), &fits) {
                return Some(at);
            }
        }
        if let Some(said) = &waiting.said
            && let Some(at) = first_of(self.by_said.get(said), &|_| true)
        {
            return Some(at);
        }
        if let Some(text) = text {
            // Other responses speak against it where the source's ids were those of others before.
            let shares = self.shares_responses.contains(&source);
            let fits = |at: usize| {
                let turn = &self.turns[at];
                !(waiting.is_other(turn) || shares && waiting.differs(turn))
            };
            if let Some(at) = first_of(self.by_text.get(&text), &fits) {
                return Some(at);
            }
        }
        if let Some(deed) = deed {
            let fits = |at: usize| {
                let turn = &self.turns[at];
                waiting.is_numbered_beside(turn) && !waiting.is_other(turn)
            };
            if let Some(at) = first_of(self.by_deed.get(&deed), &fits) {
                return Some(at);
            }
        }
        let others = self.candidates(source);
        if others.iter().all(|at| waiting.is_other(&self.turns[*at])) {
            return Some(self.turns.len());
        }
        let full = waiting.events.len() >= MAX_WAITING;
        match clue {
            Clue::None | Clue::Line if !full => None,
            Clue::Response | Clue::Call if !full => self.unopposed(source, waiting),
            _ => Some(self.at_last(source, waiting)),
        }
    }

    /// The turn that began when the waiting one did, where one of them bears no other id than a number.
    fn begun_with(&self, source: usize, waiting: &Waiting) -> Option<usize> {
        let began_ms = waiting.began_ms()?;
        let near = self.candidates(source).into_iter().filter_map(|at| {
            let turn = &self.turns[at];
            let apart_ms = turn.began_ms?.abs_diff(began_ms);
            let is_near = apart_ms <= ONE_BEGINNING_MS.unsigned_abs();
            let is_over = turn.ended_ms.is_some_and(|ended_ms| ended_ms < began_ms);
            (is_near && !is_over && waiting.is_numbered_beside(turn)).then_some((apart_ms, at))
        });
        near.min().map(|(_, at)| at)
    }

    /// Which turn the waiting one is, where nothing more is waited for.
    pub(super) fn at_last(&self, source: usize, waiting: &Waiting) -> usize {
        let known = waiting.keys.iter().filter_map(|key| self.by_key.get(key));
        known
            .copied()
            .find(|at| self.lacks(*at, source))
            .or_else(|| self.unopposed(source, waiting))
            .unwrap_or(self.turns.len())
    }

    /// Turns of other sources that this source has not: those after its newest, then those before, the nearest first.
    fn candidates(&self, source: usize) -> Vec<usize> {
        let newest = self.last.get(&source).copied();
        let first = newest.map_or(0, |rank| rank + 1);
        let after = self.ranked.range(first..).take(MAX_LOOKED_AT);
        let before = self.ranked.range(..first).rev().take(MAX_LOOKED_AT);
        after
            .chain(before)
            .map(|(_, at)| *at)
            .filter(|at| self.lacks(*at, source))
            .collect()
    }

    /// Whether a source has not this turn; ids that come again in another one of its turns are not one thing.
    pub(super) fn lacks(&self, at: usize, source: usize) -> bool {
        self.turns[at].sources & (1 << source) == 0
    }

    fn is_behind(&self, at: usize, source: usize) -> bool {
        let last = self.last.get(&source);
        last.is_none_or(|last| self.turns[at].rank > *last)
    }

    /// The first turn that nothing speaks against.
    fn unopposed(&self, source: usize, waiting: &Waiting) -> Option<usize> {
        let candidates = self.candidates(source);
        candidates
            .into_iter()
            .find(|at| !waiting.differs(&self.turns[*at]))
    }
}
