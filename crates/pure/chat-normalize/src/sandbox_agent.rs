//! sandbox-agent's universal events: what its daemon made of any agent, schema 0.1.x (January and February 2026).
//!
//! | event | what it gives |
//! |---|---|
//! | `session.started`, `session.ended` | `session_start`, `session_end`; an error where it ended with one |
//! | `turn.started`, `turn.ended` | the turn; whose it is, is for `natives` |
//! | `item.started`, `item.delta`, `item.completed` | `messages`, `users`, `items` (calls, notes), `results`, `statuses` |
//! | `permission.*`, `question.*` | `asks` |
//! | `error` | `error` |
//! | `agent.unparsed` | kept as `raw` |
//!
//! The daemon says `session.started` before the agent does, and its converters made one of every system line of Claude
//! Code. Turns may be missing: then the first item begins one, and the user's next message behind a finished answer the
//! next. While a turn runs, only one of another name begins another. Times of 1970 are none. After the crate `sandbox-agent-universal-agent-schema` 0.1.12-rc.1; later versions
//! speak the Agent Client Protocol. What stands in `raw` beside an event is not read.

mod asks;
mod events;
mod items;
mod messages;
mod natives;
mod parts;
mod results;
mod statuses;
mod users;

use crate::dialect::{Form, Origin, Profile, Sessions};
use events::{SandboxAgent, is_universal};

pub(crate) static PROFILE: Profile = Profile {
    word: "sandbox-agent",
    name: "sandbox-agent events",
    form: Form::Lines,
    origin: Origin::File,
    sessions: Sessions::One,
    // Turns may be missing in it.
    tells_turn_end: false,
    tells_edits_late: true,
    recognise: is_universal,
    session_of: |_| None,
    make: |_| Box::new(SandboxAgent::new()),
};

/// The word that `raw` events bear.
const FORMAT: &str = "sandbox-agent";
