//! The APIs of OpenAI and of those that follow them: Chat Completions and Responses.
//!
//! What both have in common stands in `session` (turns and answers), `calls`, `content` and `tools`; what a value of
//! each means, in `chat` and `responses` and the files below them. A source may hold answers as they stream, whole
//! answers, requests with all that was said before, and any mix of these in the order in which they went by.
//! After the vendor's reference of 2026-10 and the recordings in `fixtures/openai-chat` and `fixtures/openai-responses`.

mod calls;
mod chat;
mod chat_messages;
mod chat_pieces;
mod chat_prints;
mod content;
mod item_calls;
mod item_requests;
mod items;
mod responses;
mod session;
mod shapes;
mod tokens;
mod tools;

use crate::dialect::{Form, Origin, Profile, Sessions};
use chat::OpenAiChat;
use responses::OpenAiResponses;
use shapes::{chat_session, is_chat, is_responses, responses_session};

pub(crate) static CHAT: Profile = Profile {
    word: "openai-chat",
    name: "OpenAI Chat Completions",
    form: Form::Document,
    origin: Origin::File,
    sessions: Sessions::One,
    tells_turn_end: true,
    tells_edits_late: false,
    recognise: is_chat,
    session_of: chat_session,
    make: |context| Box::new(OpenAiChat::new(context.prompt.clone())),
};

pub(crate) static RESPONSES: Profile = Profile {
    word: "openai-responses",
    name: "OpenAI Responses",
    form: Form::Document,
    origin: Origin::File,
    sessions: Sessions::One,
    tells_turn_end: true,
    tells_edits_late: false,
    recognise: is_responses,
    session_of: responses_session,
    make: |context| Box::new(OpenAiResponses::new(context.prompt.clone())),
};
