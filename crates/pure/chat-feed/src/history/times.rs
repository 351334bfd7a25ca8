//! When each event happened, four bytes an event: as the time that passed since some earlier one.

use chat_event::pack::{Packer, Unpacker};

use crate::replica::{hear_appended, tell_appended};

/// Times in the order of events, in milliseconds since the Unix epoch.
#[derive(Clone, Debug, Default)]
pub(super) struct Times {
    /// From the newest base.
    passed_ms: Vec<u32>,
    /// From which event on times are counted from this one. There is one for the first event, for each that is earlier
    /// than its base, and where more passed than fits.
    bases: Vec<(u32, i64)>,
}

impl Times {
    pub(super) fn len(&self) -> usize {
        self.passed_ms.len()
    }

    pub(super) fn push(&mut self, at_ms: i64) {
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

    /// Those from an event on.
    pub(super) fn from(&self, event: usize) -> impl Iterator<Item = i64> {
        (event..self.len()).filter_map(|event| self.get(event))
    }

    pub(super) fn bytes(&self) -> usize {
        self.passed_ms.capacity() * size_of::<u32>()
            + self.bases.capacity() * size_of::<(u32, i64)>()
    }

    /// Tells what `told` lacks, and gives it that.
    pub(super) fn tell(&self, told: &mut Times, out: &mut Packer) {
        tell_appended(&self.passed_ms, &mut told.passed_ms, out);
        tell_appended(&self.bases, &mut told.bases, out);
    }

    /// Takes what was told.
    pub(super) fn hear(&mut self, input: &mut Unpacker<'_>) {
        hear_appended(&mut self.passed_ms, input);
        hear_appended(&mut self.bases, input);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::NO_TIME;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_times_are_what_they_were(
            times in proptest::collection::vec(
                prop_oneof![Just(NO_TIME), Just(i64::MAX), any::<i64>(), 1_700_000_000_000_i64..1_700_000_100_000], 0..60,
            ),
            from in 0_usize..70,
        ) {
            let mut kept = Times::default();
            for time in &times {
                kept.push(*time);
            }
            let read: Vec<i64> = kept.from(from).collect();
            prop_assert_eq!(&read[..], times.get(from..).unwrap_or_default());
            prop_assert_eq!(kept.get(times.len()), None);
        }
    }

    #[test]
    fn a_session_in_order_has_one_base() {
        let mut kept = Times::default();
        (0..1_000_000).for_each(|event| kept.push(1_700_000_000_000 + event * 40));
        assert_eq!(kept.bases.len(), 1);
    }
}
