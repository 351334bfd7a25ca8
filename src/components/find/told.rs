//! What the bar says of a search.

use chat_feed::find::{Kinds, Totals};
use leptos::prelude::*;

use crate::components::Context;

/// What the bar says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Told {
    /// Why the question could not be read.
    pub(crate) problem: Option<String>,
    /// Whether anything is asked for.
    pub(crate) asks: bool,
    /// The number of the hit that was gone to, from 1.
    pub(crate) number: Option<usize>,
    /// How many hits there are.
    pub(crate) n_hits: usize,
    /// How much was looked at, while the search goes on, in percent.
    pub(crate) percent: Option<usize>,
    /// How many fit, by chip.
    pub(crate) by_chip: [usize; Kinds::CHIPS.len()],
    /// Which chips are chosen.
    pub(crate) chosen: [bool; Kinds::CHIPS.len()],
    /// Whether only hits are shown.
    pub(crate) only: bool,
    /// How many rows that hides.
    pub(crate) n_hidden: usize,
    /// Whether nothing of that hit can be shown: it is beyond what rows show.
    pub(crate) unseen: bool,
    /// How many bodies were looked through at their ends only: the rest of them is elsewhere.
    pub(crate) n_partly: usize,
    /// Whether what is shown is a moment of the past: what came later is not looked through.
    pub(crate) looks_back: bool,
}

impl Context {
    /// What there is to say now; `done` where all was looked at.
    pub(super) fn tell(&self, done: bool) -> Told {
        let finding = &self.find;
        let chosen = finding.chosen.get();
        let problem = finding.told.with_untracked(|told| told.problem.clone());
        let told = self.store.find(|find, feed| {
            let totals: Totals = find.totals();
            let asks = !find.is_idle();
            let only = asks && (finding.only.get() || !chosen.is_empty());
            let current = finding.current.get();
            Told {
                problem: problem.clone(),
                asks,
                number: current
                    .and_then(|hit| find.number_of(hit))
                    .map(|number| number + 1),
                n_hits: find.len(),
                percent: (!done).then(|| totals.looked_at * 100 / feed.len().max(1)),
                by_chip: totals.by_chip,
                chosen: Kinds::CHIPS.map(|chip| chip.kinds.meets(chosen)),
                only,
                n_hidden: if only {
                    totals.standing - find.len()
                } else {
                    0
                },
                unseen: finding.unseen.get(),
                n_partly: totals.partly,
                looks_back: self.store.looks_back(),
            }
        });
        told.unwrap_or_default()
    }
}
