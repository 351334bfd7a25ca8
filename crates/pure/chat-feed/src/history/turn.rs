//! What a turn was before an event changed it.

use super::{History, NONE};
use crate::block::{EventIdx, TurnIdx};
use crate::feed::Feed;
use crate::session::Turn;

/// What a turn was before an event.
#[derive(Clone, Debug)]
pub(super) struct TurnRecord {
    pub(super) event: EventIdx,
    turn: TurnIdx,
    /// The record of the same turn before this one.
    before: u32,
    was: Was,
}
chat_event::pack_fields!(TurnRecord {
    event,
    turn,
    before,
    was
});

#[derive(Clone, Debug)]
enum Was {
    /// It had counted less.
    Counted {
        steps: u32,
        edits: u32,
        files: u32,
        lines_added: u32,
        lines_removed: u32,
    },
    /// Anything else.
    Whole(Box<Turn>),
}
chat_event::pack_variants!(Was { 0 => Counted { steps, edits, files, lines_added, lines_removed }, 1 => Whole(turn) });

impl TurnRecord {
    pub(super) fn bytes(&self) -> usize {
        let kept = match &self.was {
            Was::Counted { .. } => 0,
            Was::Whole(turn) => {
                size_of::<Turn>() + turn.trigger.len() + turn.id.as_ref().map_or(0, |id| id.len())
            }
        };
        size_of::<TurnRecord>() + kept
    }
}

impl History {
    /// Keeps what a turn was before the event in hand, where that is not what it is now.
    pub(super) fn record_turn(&mut self, feed: &Feed, turn: TurnIdx, old: Turn) {
        let now = feed.turn(turn);
        if old == *now {
            return;
        }
        let counted = Was::Counted {
            steps: old.steps,
            edits: old.edits,
            files: old.files,
            lines_added: old.lines_added,
            lines_removed: old.lines_removed,
        };
        let was = match undone(now, &counted) == old {
            true => counted,
            false => Was::Whole(Box::new(old)),
        };
        let nth = u32::try_from(self.turn_records.len()).unwrap_or(NONE);
        let before = std::mem::replace(&mut self.newest_of_turns[turn.0 as usize], nth);
        self.turn_records.push(TurnRecord {
            event: self.event,
            turn,
            before,
            was,
        });
    }

    /// The turns that changed from one event up to another.
    pub(crate) fn turns_changed(
        &self,
        events: std::ops::Range<EventIdx>,
    ) -> impl Iterator<Item = TurnIdx> {
        let records = super::within(&self.turn_records, &events, |record| record.event);
        records.iter().map(|record| record.turn)
    }

    /// A turn as it was after so many events.
    pub(crate) fn turn_after(&self, now: &Turn, turn: TurnIdx, n_events: EventIdx) -> Turn {
        let mut oldest = None;
        let mut counted = None;
        let mut at = self.newest_of_turns[turn.0 as usize];
        while let Some(record) = self.turn_records.get(at as usize)
            && record.event >= n_events
        {
            match &record.was {
                Was::Counted { .. } => counted = Some(&record.was),
                Was::Whole(whole) => (oldest, counted) = (Some(&**whole), None),
            }
            at = record.before;
        }
        let facts = oldest.unwrap_or(now);
        counted.map_or_else(|| facts.clone(), |counted| undone(facts, counted))
    }
}

fn undone(now: &Turn, was: &Was) -> Turn {
    match was {
        Was::Whole(whole) => Turn::clone(whole),
        Was::Counted {
            steps,
            edits,
            files,
            lines_added,
            lines_removed,
        } => Turn {
            steps: *steps,
            edits: *edits,
            files: *files,
            lines_added: *lines_added,
            lines_removed: *lines_removed,
            ..now.clone()
        },
    }
}
