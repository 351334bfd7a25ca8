//! What is kept of an event where secrets are masked: what a source tells is compared with a log that has labels in their
//! place.

use std::fmt;

use chat_event::{ChatEvent, Payload};

/// Changes the events of one session as whoever stores them does.
pub trait AsStored: fmt::Debug + Send {
    /// The next event, as it is stored.
    fn stored(&mut self, event: ChatEvent) -> ChatEvent;
}

/// Begins with a session.
pub type BeginAsStored = fn() -> Box<dyn AsStored>;

/// The next event as it is compared, and told where it is new: what is stored of that is the same.
pub(super) fn as_stored(
    changes: Option<&mut (dyn AsStored + 'static)>,
    event: ChatEvent,
) -> ChatEvent {
    // Of pieces it is compared where they stand. What is stored of one may be more or less than it says.
    let is_piece = matches!(
        event.payload,
        Payload::AssistantChunk(_)
            | Payload::ThinkingChunk(_)
            | Payload::ToolInputChunk(_)
            | Payload::ToolOutputChunk(_)
    );
    let Some(changes) = changes.filter(|_| !is_piece) else {
        return event;
    };
    // Who told it goes by the id it had.
    let id = event.id.clone();
    ChatEvent {
        id,
        ..changes.stored(event)
    }
}
