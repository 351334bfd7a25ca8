//! The Messages API of Anthropic: answers as they stream, whole answers, and the requests between them.
//!
//! Claude Code hands the same messages and blocks on, so what a block means stands once, in `claude`: `blocks` and
//! `results`, with the state they need in `claude::session`. Here is what the API itself has beside them: `messages`
//! (which value is what, turns, whole answers), `requests`, `stream` (blocks put together from their pieces) and
//! `server_tools`.
//! After the vendor's reference of 2026-10 and the recordings in `fixtures/anthropic-sse`.

mod messages;
mod requests;
pub(crate) mod server_tools;
mod shapes;
mod stream;

use crate::dialect::{Form, Origin, Profile, Sessions};
use messages::AnthropicMessages;
use shapes::{is_of, session_of};

pub(crate) static PROFILE: Profile = Profile {
    word: "anthropic-messages",
    name: "Anthropic Messages",
    form: Form::Document,
    origin: Origin::File,
    sessions: Sessions::One,
    tells_turn_end: true,
    tells_edits_late: false,
    recognise: is_of,
    session_of,
    make: |context| Box::new(AnthropicMessages::new(context.prompt.clone())),
};
