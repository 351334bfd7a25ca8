//! How long something was after each event that changed it, some three bytes an event: an earlier length is an earlier
//! text, without a copy of it.

use chat_event::pack::{Packer, Unpacker};

use crate::block::EventIdx;
use crate::replica::{hear_appended, hear_value, tell_appended, tell_value};

/// Between two pages lie so many bytes, and a length more: so far is walked at most to find one.
const PAGE_BYTES: usize = 512;

/// An event, and the length that it left.
type Change = (EventIdx, u32);

/// Lengths in bytes, in the order of events.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Lengths {
    /// The newest.
    last: Option<Change>,
    /// Those before it, to be read from the end: how many events earlier each was, and how long it was then.
    earlier: Vec<u8>,
    /// Where to begin to read what is not the newest.
    pages: Vec<Page>,
}

/// The length that the bytes up to here lead back from.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Page {
    at: u32,
    event: EventIdx,
    len: u32,
}
chat_event::pack_fields!(Page { at, event, len });

impl Lengths {
    /// Whether nothing ever changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    /// The event that changed it last.
    pub(crate) fn last_event(&self) -> Option<EventIdx> {
        self.last.map(|(event, _)| event)
    }

    /// It is so long now. Of an event the newest length is kept, and events come in order.
    pub(crate) fn set(&mut self, event: EventIdx, len: usize) {
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        if let Some((last, last_len)) = self.last.replace((event, len))
            && last != event
        {
            let paged = self.pages.last().map_or(0, |page| page.at as usize);
            if self.earlier.len() - paged >= PAGE_BYTES
                && let Ok(at) = u32::try_from(self.earlier.len())
            {
                self.pages.push(Page {
                    at,
                    event: last,
                    len: last_len,
                });
            }
            push_backward(&mut self.earlier, last_len);
            push_backward(&mut self.earlier, event.wrapping_sub(last));
        }
    }

    /// The newest length that an event before this one left.
    pub(crate) fn before(&self, event: EventIdx) -> Option<u32> {
        self.around(event).0.map(|(_, len)| len)
    }

    /// The first event from this one on that changed it, and the length that it left.
    pub(crate) fn first_from(&self, event: EventIdx) -> Option<Change> {
        self.around(event).1
    }

    /// The last change before an event, and the first from it on.
    fn around(&self, event: EventIdx) -> (Option<Change>, Option<Change>) {
        let page = self.pages.partition_point(|page| page.event < event);
        let (mut now, mut bytes) = match self.pages.get(page) {
            Some(page) => (
                Some((page.event, page.len)),
                self.earlier.get(..page.at as usize).unwrap_or_default(),
            ),
            None => (self.last, self.earlier.as_slice()),
        };
        let mut later = None;
        while let Some((at, _)) = now
            && at >= event
        {
            later = now;
            now = pop_backward(&mut bytes)
                .zip(pop_backward(&mut bytes))
                .map(|(events, len)| (at.wrapping_sub(events), len));
        }
        (now, later)
    }

    /// What comes is not much any more.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.earlier.shrink_to_fit();
        self.pages.shrink_to_fit();
    }

    /// What it takes beside itself, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.earlier.capacity() + self.pages.capacity() * size_of::<Page>()
    }

    /// Tells what `told` lacks, and gives it that.
    pub(crate) fn tell(&self, told: &mut Lengths, out: &mut Packer) {
        tell_value(&self.last, &mut told.last, out);
        tell_appended(&self.earlier, &mut told.earlier, out);
        tell_appended(&self.pages, &mut told.pages, out);
    }

    /// Takes what was told.
    pub(crate) fn hear(&mut self, input: &mut Unpacker<'_>) {
        hear_value(&mut self.last, input);
        hear_appended(&mut self.earlier, input);
        hear_appended(&mut self.pages, input);
    }
}

/// Seven bits a byte, to be read from the end.
fn push_backward(bytes: &mut Vec<u8>, mut number: u32) {
    let from = bytes.len();
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes[from..].reverse();
}

fn pop_backward(bytes: &mut &[u8]) -> Option<u32> {
    let mut number = 0;
    for shift in (0..32).step_by(7) {
        let (&byte, rest) = bytes.split_last()?;
        *bytes = rest;
        number |= u32::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn changes() -> impl Strategy<Value = Vec<(u32, u32)>> {
        let steps = prop_oneof![4 => 0..3_u32, 1 => any::<u32>().prop_map(|it| it >> 8)];
        let lens = prop_oneof![4 => 0..200_u32, 1 => any::<u32>()];
        let changes = proptest::collection::vec((steps, lens), 0..900);
        changes.prop_map(|changes| {
            let mut event = 0_u32;
            let after = |(step, len)| {
                event = event.saturating_add(step);
                (event, len)
            };
            changes.into_iter().map(after).collect()
        })
    }

    fn of(changes: &[(u32, u32)]) -> Lengths {
        let mut lengths = Lengths::default();
        for (event, len) in changes {
            lengths.set(*event, *len as usize);
        }
        lengths
    }

    proptest! {
        #[test]
        fn any_lengths_are_what_they_were(changes in changes(), others in proptest::collection::vec(any::<u32>(), 8)) {
            let lengths = of(&changes);
            let newest: std::collections::BTreeMap<u32, u32> = changes.iter().copied().collect();
            prop_assert_eq!(lengths.is_empty(), changes.is_empty());
            prop_assert_eq!(lengths.last_event(), newest.keys().last().copied());
            let near = changes.iter().flat_map(|(at, _)| [at.saturating_sub(1), *at, at.saturating_add(1)]);
            for event in near.chain(others) {
                let before = newest.range(..event).next_back().map(|(_, len)| *len);
                prop_assert_eq!(lengths.before(event), before);
                let from = newest.range(event..).next().map(|(event, len)| (*event, *len));
                prop_assert_eq!(lengths.first_from(event), from);
            }
        }

        #[test]
        fn what_is_told_in_parts_is_the_whole(changes in changes(), cut in any::<proptest::sample::Index>()) {
            let cut = cut.index(changes.len() + 1);
            let (mut told, mut heard) = (Lengths::default(), Lengths::default());
            for now in [of(&changes[..cut]), of(&changes)] {
                let mut out = Packer::default();
                now.tell(&mut told, &mut out);
                let packed = out.into_packed();
                let mut input = Unpacker::new(&packed.bytes, packed.kept);
                heard.hear(&mut input);
                prop_assert!(input.end().is_ok());
                prop_assert_eq!(&heard, &now);
                prop_assert_eq!(&told, &now);
            }
        }
    }

    #[test]
    fn a_chunk_of_a_long_text_takes_four_bytes_at_most() {
        let lengths = of(&(0..10_000).map(|n| (n * 2, n * 40)).collect::<Vec<_>>());
        assert!(lengths.earlier.len() < 40_000, "{}", lengths.earlier.len());
        assert!(lengths.pages.len() <= lengths.earlier.len() / PAGE_BYTES);
    }
}
