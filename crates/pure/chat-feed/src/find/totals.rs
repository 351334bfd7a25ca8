//! The sums of a search, kept up as each block is looked at.

use super::{Kinds, Looked};

/// How much was looked at, and found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Blocks that were looked at.
    pub looked_at: usize,
    /// Those of them that stand for themselves: a call whose changed file says it all does not.
    pub standing: usize,
    /// Those of which a part is elsewhere and was not looked through.
    pub partly: usize,
    /// What the texts and facts asked for fit, by [`Kinds::CHIPS`], whatever chips are chosen.
    pub by_chip: [usize; Kinds::CHIPS.len()],
}

impl Totals {
    pub(super) fn take(&mut self, before: Looked, now: Looked) {
        let change = |count: &mut usize, was: bool, is: bool| {
            *count = (*count + usize::from(is)).saturating_sub(usize::from(was));
        };
        change(&mut self.looked_at, before.known, now.known);
        change(
            &mut self.standing,
            before.known && before.standing,
            now.known && now.standing,
        );
        change(
            &mut self.partly,
            before.known && before.partly,
            now.known && now.partly,
        );
        for (count, chip) in self.by_chip.iter_mut().zip(Kinds::CHIPS) {
            let fits =
                |looked: Looked| looked.known && looked.fits && chip.kinds.meets(looked.kinds);
            change(count, fits(before), fits(now));
        }
    }
}
