//! AG-UI events: what an agent's run sends to a front end, as server-sent events or JSON lines.
//!
//! | event | what it gives |
//! |---|---|
//! | `RUN_STARTED`, `RUN_FINISHED`, `RUN_ERROR` | the turn, what it used, what it waits for: `runs` |
//! | `TEXT_MESSAGE_*`, `REASONING_*` (`THINKING_*` before 1.0) | texts and thoughts by their message id: `texts` |
//! | `TOOL_CALL_*` | calls, their arguments as they are written, their results: `calls` |
//! | `MESSAGES_SNAPSHOT`, `RUN_STARTED.input.messages` | what of it was not told yet: `history` |
//! | `STEP_*`, `ACTIVITY_*` | `progress`; a plan where an activity is one: `activities` |
//! | `SUBAGENT_*` | a call around what bears their `subagentRunId` |
//! | `STATE_SNAPSHOT`, `STATE_DELTA` | a notice with the state, or with its changes |
//! | `RAW`, `CUSTOM` | kept as `raw` |
//!
//! Names are written in capitals; some servers write them in camel or Pascal case. Messages and calls may interleave, so
//! each is known by its id alone; a chunk without one belongs to the last. After `@ag-ui/core` 1.0.0 (`events.ts`,
//! `types.ts`) and what pydantic-ai 2.68.0 sends.

mod activities;
mod calls;
mod events;
mod history;
mod message;
mod names;
mod runs;
mod subs;
mod texts;

use crate::dialect::{Form, Origin, Profile, Sessions};
use events::AgUi;
use names::{is_ag_ui, session_of};

pub(crate) static PROFILE: Profile = Profile {
    word: "ag-ui",
    name: "AG-UI",
    form: Form::Lines,
    origin: Origin::File,
    sessions: Sessions::One,
    tells_turn_end: true,
    tells_edits_late: false,
    recognise: is_ag_ui,
    session_of,
    make: |context| Box::new(AgUi::new(context.prompt.clone())),
};

/// The word that `raw` events bear.
const FORMAT: &str = "ag-ui";
