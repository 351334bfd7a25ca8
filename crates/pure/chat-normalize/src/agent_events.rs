//! `agent.*` events of sandbox workers: `{event_type, event_data}`, flat, in a `SystemEvent` envelope, or in batches.
//!
//! | `event_type` (and its older name) | event |
//! |---|---|
//! | `agent.tool_use` (`TOOL_STARTED`) | `tool_call` |
//! | `agent.tool_completed`, `agent.tool_failed` (`TOOL_COMPLETED`, `TOOL_FAILED`) | `tool_result`, with its call where none was seen |
//! | `agent.file_edited`, `…_created`, `…_deleted`, `file_modified` (`FILE_EDITED` …) | `file_edit` |
//! | `agent.thinking_start`, `agent.thinking_end` (`AGENT_THINKING_START` …) | what comes between is thinking |
//! | `agent.message_chunk`, `agent.message_end` (`AGENT_MESSAGE_CHUNK` …) | chunks and their `_done` |
//! | `step_completed`, `error`, `info` | `progress`, `error`, `notice` |
//! | `TOOL_EVENTS_BATCH` | each of its events |
//!
//! The older names are read and never written; the way back, from ChatEvents, is in `out`. The source has no turns of a
//! person; all of it is one turn. A call without an id is known by its tool and input. After seed 000.

mod adapter;
mod calls;
mod edits;
mod events;
mod messages;
mod names;
mod out;

pub use adapter::{AgentEventAdapter, system_event};
pub use out::{AgentEventsOut, to_agent_events};

use crate::dialect::{Form, Origin, Profile, Sessions};
use events::AgentEvents;
use names::{is_agent_event, session_of};

pub(crate) static PROFILE: Profile = Profile {
    word: "agent-events",
    name: "agent.* events",
    form: Form::Lines,
    origin: Origin::File,
    sessions: Sessions::One,
    tells_turn_end: false,
    tells_edits_late: true,
    recognise: |value| is_agent_event(value).then_some(true),
    session_of,
    make: |_| Box::new(AgentEvents::new()),
};

/// The word that `raw` events bear.
const FORMAT: &str = "agent-events";
