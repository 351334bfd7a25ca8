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

pub(crate) use chat::OpenAiChat;
pub(crate) use responses::OpenAiResponses;
pub(crate) use shapes::{chat_session, is_chat, is_responses, responses_session};
