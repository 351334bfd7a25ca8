//! Sessions that stand where they stand until something comes of them: of thousands all but those that work, wait, or rested a
//! moment ago. They are put into their sections once, and anew where one of them changes, another is to be shown, or a day begins.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::{Clock, Filter, Row, Section, State};

/// The sessions of a section, in their order.
pub(super) type InSection = Rc<Vec<Rc<Row>>>;

/// Where they stand.
#[derive(Clone, Debug)]
pub(super) struct Settled {
    filter: Filter,
    clock: Clock,
    pub(super) sections: [InSection; Section::ALL.len()],
    /// The ids of the others: what they are shown as changes as time passes.
    pub(super) moving: BTreeSet<String>,
}

impl Settled {
    /// Puts all sessions, which come in their order, where they stand; `shows` is whether the filter shows one.
    pub(super) fn of<'r>(
        all: impl Iterator<Item = &'r Rc<Row>>,
        filter: &Filter,
        clock: Clock,
        shows: impl Fn(&Row) -> bool,
    ) -> Settled {
        let mut sections: [Vec<Rc<Row>>; Section::ALL.len()] = Default::default();
        let mut moving = BTreeSet::new();
        for row in all {
            if !is_settled(row, clock.now_ms) {
                moving.insert(row.id.clone());
            } else if shows(row) {
                sections[Section::of(row, clock) as usize].push(row.clone());
            }
        }
        Settled {
            filter: filter.clone(),
            clock,
            sections: sections.map(Rc::new),
            moving,
        }
    }

    /// Whether it is so with this filter at this time; of those that moved, `row` gives one as it is now.
    pub(super) fn holds<'r>(
        &self,
        filter: &Filter,
        clock: Clock,
        row: impl Fn(&str) -> Option<&'r Rc<Row>>,
    ) -> bool {
        let days = |clock: Clock| (clock.today_ms, clock.yesterday_ms);
        self.filter == *filter
            && days(self.clock) == days(clock)
            // A clock that was put back may find one at rest that was not.
            && self.clock.now_ms <= clock.now_ms
            && self
                .moving
                .iter()
                .filter_map(|id| row(id))
                .all(|row| !is_settled(row, clock.now_ms))
    }
}

/// Whether nothing of it but what comes changes how it is shown, and where.
fn is_settled(row: &Row, now_ms: i64) -> bool {
    let is_at_rest = row.rests(now_ms) && row.state(now_ms) == State::Idle;
    !row.is_live() && !is_at_rest
}
