//! When each event happened, four bytes an event: as the time that passed since some earlier one.

use chat_event::pack::{Packer, Unpacker};

use super::NO_TIME;
use crate::replica::{hear_appended, tell_appended};

/// Times in the order of events, in milliseconds since the Unix epoch.
#[derive(Clone, Debug, Default)]
pub(super) struct Times {
    /// From the newest base.
    passed_ms: Vec<u32>,
    /// From which event on times are counted from this one. There is one for the first event, for each that is earlier
    /// than its base, and where more passed than fits.
    bases: Vec<(u32, i64)>,
    /// From which event on the earliest time is this, and the latest that; `None` where it is the event's own, as it is
    /// while events come in order.
    extents: Vec<(u32, (i64, Option<i64>))>,
}

impl Times {
    pub(super) fn len(&self) -> usize {
        self.passed_ms.len()
    }

    /// Takes the time of the next event; one without happened with the one before it.
    pub(super) fn push(&mut self, at_ms: Option<i64>) {
        let last = self.len().checked_sub(1);
        if let Some(at_ms) = at_ms {
            let extent = last.and_then(|last| self.extent(last));
            let (first, latest) = extent.unwrap_or((at_ms, at_ms));
            let now = (
                first.min(at_ms),
                Some(latest).filter(|latest| *latest > at_ms),
            );
            if self.extents.last().is_none_or(|(_, known)| *known != now) {
                self.extents.push((self.len() as u32, now));
            }
        }
        let before = last.and_then(|last| self.get(last));
        let at_ms = at_ms.or(before).unwrap_or(NO_TIME);
        let base = self.bases.last().map(|(_, base)| *base);
        let passed_ms = base.and_then(|base| u32::try_from(at_ms.checked_sub(base)?).ok());
        if passed_ms.is_none() {
            // Events are counted in 32 bits.
            self.bases.push((self.len() as u32, at_ms));
        }
        self.passed_ms.push(passed_ms.unwrap_or(0));
    }

    pub(super) fn get(&self, event: usize) -> Option<i64> {
        let passed_ms = *self.passed_ms.get(event)?;
        let n_begun = self
            .bases
            .partition_point(|(from, _)| *from as usize <= event);
        let (_, base) = self.bases.get(n_begun.checked_sub(1)?)?;
        Some(base + i64::from(passed_ms))
    }

    /// The earliest and the latest up to an event.
    pub(super) fn extent(&self, event: usize) -> Option<(i64, i64)> {
        let n_begun = self
            .extents
            .partition_point(|(from, _)| *from as usize <= event);
        let (_, (first, latest)) = self.extents.get(n_begun.checked_sub(1)?)?;
        Some((*first, latest.or_else(|| self.get(event))?))
    }

    /// Those from an event on.
    pub(super) fn from(&self, event: usize) -> impl Iterator<Item = i64> {
        (event..self.len()).filter_map(|event| self.get(event))
    }

    pub(super) fn bytes(&self) -> usize {
        self.passed_ms.capacity() * size_of::<u32>()
            + self.bases.capacity() * size_of::<(u32, i64)>()
            + self.extents.capacity() * size_of::<(u32, (i64, Option<i64>))>()
    }

    /// Tells what `told` lacks, and gives it that.
    pub(super) fn tell(&self, told: &mut Times, out: &mut Packer) {
        tell_appended(&self.passed_ms, &mut told.passed_ms, out);
        tell_appended(&self.bases, &mut told.bases, out);
        tell_appended(&self.extents, &mut told.extents, out);
    }

    /// Takes what was told.
    pub(super) fn hear(&mut self, input: &mut Unpacker<'_>) {
        hear_appended(&mut self.passed_ms, input);
        hear_appended(&mut self.bases, input);
        hear_appended(&mut self.extents, input);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_times_are_what_they_were(
            times in proptest::collection::vec(
                prop_oneof![Just(None), Just(Some(i64::MAX)), any::<i64>().prop_map(Some), (1_700_000_000_000_i64..1_700_000_100_000).prop_map(Some)], 0..60,
            ),
            from in 0_usize..70,
        ) {
            let mut kept = Times::default();
            times.iter().for_each(|time| kept.push(*time));
            let told = |event: usize| times[..=event].iter().flatten().copied();
            let last = |event| told(event).last().unwrap_or(NO_TIME);
            let expected: Vec<i64> = (from..times.len()).map(last).collect();
            prop_assert_eq!(kept.from(from).collect::<Vec<_>>(), expected);
            for event in 0..times.len() {
                prop_assert_eq!(kept.extent(event), told(event).min().zip(told(event).max()));
            }
            prop_assert_eq!(kept.get(times.len()), None);
        }
    }

    #[test]
    fn a_session_in_order_has_one_base() {
        let mut kept = Times::default();
        (0..1_000_000).for_each(|event| kept.push(Some(1_700_000_000_000 + event * 40)));
        assert_eq!((kept.bases.len(), kept.extents.len()), (1, 1));
    }
}
