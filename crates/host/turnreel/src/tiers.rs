//! How urgent an event is: the tiers of `protocol.md` 5.5.
//!
//! The tier decides when an event is delivered and never where: order is the log's.

use std::time::Duration;

use chat_event::{ChatEvent, Payload};

/// How long events of tier 2 wait for company.
const BATCH_WINDOW: Duration = Duration::from_millis(500);
/// How long message chunks do: two frames of a 60 Hz screen.
const CHUNK_WINDOW: Duration = Duration::from_millis(33);

/// How long an event may wait, the least urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Urgency {
    /// Tier 2.
    Batched,
    /// Tier 1, of which there are many.
    Chunk,
    /// Tier 1.
    Now,
}

impl Urgency {
    pub(crate) fn of(event: &ChatEvent) -> Self {
        match &event.payload {
            Payload::ToolResult(result) if result.error.is_some() => Urgency::Now,
            Payload::ToolCall(_)
            | Payload::ToolInputChunk(_)
            | Payload::ToolOutputChunk(_)
            | Payload::ToolResult(_)
            | Payload::Progress(_)
            | Payload::Usage(_)
            | Payload::Notice(_)
            | Payload::Raw(_)
            | Payload::Unknown { .. } => Urgency::Batched,
            Payload::AssistantChunk(_) | Payload::ThinkingChunk(_) | Payload::AudioChunk(_) => {
                Urgency::Chunk
            }
            _ => Urgency::Now,
        }
    }

    /// How long it may wait.
    pub(crate) fn window(self) -> Duration {
        match self {
            Urgency::Now => Duration::ZERO,
            Urgency::Chunk => CHUNK_WINDOW,
            Urgency::Batched => BATCH_WINDOW,
        }
    }
}
