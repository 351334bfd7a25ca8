//! Whether what comes under known numbers is what is here under them.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use chat_event::ChatEvent;
use chat_event::compaction::Folded;

use super::super::{Log, Stored};
use crate::error::Error;

impl Log {
    /// Holds those that are here against what is here. Nothing is said of numbers whose events are lost here.
    ///
    /// # Errors
    ///
    /// [`Error::Differs`], and where the disk refuses.
    pub(super) fn check_known(&self, came: &[Stored]) -> Result<(), Error> {
        // As many as begin at or before the head.
        let n_known = came.partition_point(|stored| first_of(&stored.event) <= self.head);
        let (Some(first), Some(last)) = (came.first(), came[..n_known].last()) else {
            return Ok(());
        };
        let first = first_of(&first.event);
        let known: BTreeMap<u64, &Stored> = came[..n_known].iter().map(|it| (it.seq, it)).collect();
        // Taken apart only where a line is not the same to the byte.
        let mut by_number: Option<BTreeMap<u64, ChatEvent>> = None;
        let mut differs = None;
        let after = first.saturating_sub(1);
        self.snapshot_of(self.files.reader()?, after, Arc::default())
            .walk(after, &mut |seq, line| {
                if known.get(&seq).is_none_or(|stored| stored.line != line) {
                    let by_number = by_number.get_or_insert_with(|| {
                        let events = known.values().flat_map(|stored| apart(&stored.event));
                        events.collect()
                    });
                    let here = ChatEvent::from_json(line).ok();
                    let mut here = here.iter().flat_map(apart);
                    differs = here.find_map(|(number, event)| {
                        let came = by_number.get(&number)?;
                        (*came != event).then_some(number)
                    });
                }
                match differs.is_some() || seq >= last.seq {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            })?;
        match differs {
            Some(seq) => Err(Error::Differs { seq }),
            None => Ok(()),
        }
    }
}

/// The first of the numbers that an event stands for.
fn first_of(event: &ChatEvent) -> u64 {
    let folded = Folded::of(event);
    let span = folded.as_ref().and_then(Folded::span);
    span.map_or(event.seq.unwrap_or_default(), |(from, _)| from)
}

/// The events that an event stands for, by their numbers, without what tells of the line.
fn apart(event: &ChatEvent) -> Vec<(u64, ChatEvent)> {
    let events: Vec<ChatEvent> = match Folded::of(event) {
        Some(folded) => folded.events().collect(),
        None => vec![event.clone()],
    };
    let bare = events.into_iter().map(|mut event| {
        event.recv = None;
        event.extra.remove("c");
        (event.seq.unwrap_or_default(), event)
    });
    bare.collect()
}
