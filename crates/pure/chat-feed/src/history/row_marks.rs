//! What is known of a row beside its records: when it came and went, and which event changed it last.

use super::Lengths;
use crate::block::EventIdx;

/// What is known of a row beside its records.
#[derive(Clone, Debug)]
pub(super) struct RowMarks {
    /// The event that brought it.
    pub(super) came: EventIdx,
    /// The newest event that changed it or one of its texts, and which change that was.
    pub(super) changed: EventIdx,
    pub(super) stamp: u32,
    /// Its newest record.
    pub(super) newest: u32,
    /// The event that took it out.
    pub(super) gone: EventIdx,
    /// The newest event that it was held for.
    pub(super) held: EventIdx,
    /// Where a row of text ended before the events that only made it longer.
    pub(super) ends: Option<Box<Lengths>>,
}
impl RowMarks {
    /// All but where its text ended.
    pub(super) fn numbers(&self) -> [u32; 6] {
        let RowMarks {
            came,
            changed,
            stamp,
            newest,
            gone,
            held,
            ends: _,
        } = *self;
        [came, changed, stamp, newest, gone, held]
    }

    /// Whether nothing became of it since it was this.
    pub(super) fn is_still(&self, earlier: &RowMarks) -> bool {
        let end = |marks: &RowMarks| Some(marks.ends.as_ref()?.last_event());
        self.numbers() == earlier.numbers() && end(self) == end(earlier)
    }

    pub(super) fn bytes(&self) -> usize {
        let of_ends = |ends: &Lengths| size_of::<Lengths>() + ends.bytes();
        size_of::<RowMarks>() + self.ends.as_deref().map_or(0, of_ends)
    }
}
