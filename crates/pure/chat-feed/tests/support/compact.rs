//! A log made shorter, as `turnreel compact` makes it.

use chat_event::ChatEvent;
use chat_event::compaction::{Compactor, Out};

/// The events of a compacted log.
pub(crate) fn compact(events: &[ChatEvent]) -> Vec<ChatEvent> {
    let mut compacted = Vec::new();
    let mut compactor = Compactor::new();
    let mut take = |out| {
        compacted.push(match out {
            Out::AsItWas(event) => ChatEvent::clone(event),
            Out::Folded(event) => *event,
        });
    };
    for event in events {
        compactor.push(event, Some(event.clone()), &mut take);
    }
    compactor.finish(&mut take);
    compacted
}
