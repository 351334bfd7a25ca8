//! Agent Client Protocol: the JSON-RPC between an editor and an agent, one direction or both, plain lines or `{dir, msg}`.
//!
//! | said | what it gives |
//! |---|---|
//! | `initialize`, `session/new` and their answers (`openings`), modes, models, options | `session_start` |
//! | `session/prompt` and its answer; v2: `state_update` | the turn |
//! | `session/load`, up to its answer | the turns of the history, but for those that were read before |
//! | `session/update` with a chunk or a message | `texts` |
//! | `session/update` with a tool call; `terminal/*`, `fs/*` | `calls`, `results`, `files` |
//! | `session/update` with a plan, usage, a notice, a compaction, facts | `updates` |
//! | `session/request_permission`, `elicitation/create` and their answers | `asks` |
//! | `session/cancel` | `interrupt` |
//!
//! Messages have no end mark, answers do not name what they answer, and ids are counted in each direction apart; how a
//! message is told from these is for `wire`. A log of the agent's lines alone has no prompts: turns begin with what the
//! agent does. Times are those of arrival. Seen: claude-agent-acp 0.49.0, OpenCode 1.18.33 and 1.18.34; version 2 and
//! what is unstable of version 1 after the schemas of the protocol's repository (`schema/v1`, `schema/v2`, 2.4.0).

mod asks;
mod beside;
mod calls;
mod content;
mod edits;
mod files;
mod openings;
mod queue;
mod results;
mod session;
mod texts;
mod turns;
mod updates;
mod usage;
mod wire;

use crate::dialect::{Form, Origin, Profile, Sessions};
use beside::AcpSessions;
pub(crate) use content::{Held, held};
use session::Acp;
use wire::{is_acp, session_of};

pub(crate) static PROFILE: Profile = Profile {
    word: "acp",
    name: "Agent Client Protocol",
    form: Form::Lines,
    origin: Origin::Run,
    sessions: Sessions::SideBySide(|| Box::<AcpSessions>::default()),
    tells_turn_end: true,
    tells_edits_late: false,
    recognise: is_acp,
    session_of,
    make: |context| Box::new(Acp::new(context.prompt.clone())),
};

/// The word that `raw` events bear.
const FORMAT: &str = "acp";
