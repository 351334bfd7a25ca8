//! OpenCode: its event bus, `opencode run --format json` and `opencode export`.
//!
//! All three say the same messages and parts, so what a part means stands once: `session` (turns, nesting), `messages`
//! (which answer is for what), `parts` and `texts` (what they hold), `calls` (tools) and the files below them. How each
//! dialect brings the parts stands in `events`, `run` and `export`. Event ids are made of the parts' own, so that the
//! three agree. The other way, from ChatEvents to the bus, is in `out`. Seen: 1.1.49, 1.18.33 and 1.18.34. Kilo Code since
//! 7 says the same (seen: 7.7.9); which of them it is is for `whose`.

mod asks;
mod bus_sessions;
mod calls;
mod edits;
mod events;
mod export;
mod forget;
mod messages;
mod next;
mod out;
mod parts;
mod plans;
mod run;
mod session;
mod set_backs;
mod shapes;
mod texts;
mod times;
mod tools;
mod whose;

pub(crate) use edits::Edits;
pub use out::{OpenCodeOut, to_opencode_events};
pub(crate) use tools::{kind as tool_kind, summary as tool_summary, title as tool_title};

use crate::dialect::{Form, Origin, Profile, Sessions};
use bus_sessions::BusSessions;
use events::OpenCodeEvents;
use export::OpenCodeExport;
use run::OpenCodeRun;
use shapes::{Shape, is_of, session_of};

pub(crate) static EVENTS: Profile = Profile {
    word: "opencode-events",
    name: "OpenCode event bus",
    form: Form::Lines,
    origin: Origin::Server,
    sessions: Sessions::SideBySide(|| Box::<BusSessions>::default()),
    tells_turn_end: true,
    tells_edits_late: true,
    recognise: |value| is_of(value, Shape::Event),
    session_of,
    make: |context| Box::new(OpenCodeEvents::new(context)),
};

pub(crate) static RUN: Profile = Profile {
    word: "opencode-run",
    name: "OpenCode run JSON",
    form: Form::Lines,
    origin: Origin::Run,
    sessions: Sessions::One,
    tells_turn_end: false,
    tells_edits_late: true,
    recognise: |value| is_of(value, Shape::Run),
    session_of,
    make: |context| Box::new(OpenCodeRun::new(context)),
};

pub(crate) static EXPORT: Profile = Profile {
    word: "opencode-export",
    name: "OpenCode export",
    form: Form::Document,
    origin: Origin::File,
    sessions: Sessions::One,
    tells_turn_end: true,
    tells_edits_late: true,
    recognise: |value| is_of(value, Shape::Export),
    session_of,
    make: |context| Box::new(OpenCodeExport::new(context)),
};
