//! What an event tells about its turn, as numbers: two events with the same number are of the same turn.

use std::borrow::Cow;

use chat_event::{ChatEvent, Payload};

use super::super::calls::deed;
use super::super::wording::Wording;
use crate::emit::{hash, is_line_number};

/// What an event tells about its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clue {
    Response,
    Call,
    /// Only that the same line of the source would have the same id.
    Line,
    End,
    None,
}

/// What an event tells about its turn, and as what number.
pub(super) fn clue(event: &ChatEvent) -> (Clue, u64) {
    let key = |what: &str, id: &str| hash(format!("{what}\0{id}").as_bytes());
    match &event.payload {
        Payload::ToolCall(call) => (Clue::Call, key("call", &call.tool_call_id)),
        Payload::ToolResult(result) => (Clue::Call, key("call", &result.tool_call_id)),
        Payload::ToolInputChunk(chunk) => (Clue::Call, key("call", &chunk.tool_call_id)),
        Payload::TurnEnd(_) => (Clue::End, 0),
        payload => match (&event.response_id, payload) {
            (Some(response), _) => (Clue::Response, key("response", response)),
            // What else a line says can be put into the turn before it, or behind it.
            (
                None,
                Payload::UserMessage(_)
                | Payload::Notice(_)
                | Payload::ErrorEvent(_)
                | Payload::Interrupt(_),
            ) if !is_line_number(&event.id) => (Clue::Line, key("line", &event.id)),
            (None, _) => (Clue::None, 0),
        },
    }
}

/// Whether a turn's id is a number in its source, which another source may have for another turn.
pub(super) fn is_number(id: &str) -> bool {
    id.strip_prefix("turn-")
        .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// When an event happened, where that is known.
pub(super) fn time_of(event: &ChatEvent) -> Option<i64> {
    event.timestamp.filter(|&at_ms| at_ms > 0)
}

/// What the agent thought, or what its call does, as a number.
pub(super) fn deed_of(event: &ChatEvent, wording: Wording) -> Option<u64> {
    if event.parent_tool_call_id.is_some() {
        return None;
    }
    match &event.payload {
        Payload::ThinkingDone(done) => Some(hash(wording.of(done.text.trim()).as_bytes())),
        Payload::ToolCall(call) => Some(hash(wording.of(deed(call)).as_bytes())),
        _ => None,
    }
}

/// The user's words, as a number.
pub(super) fn words(event: &ChatEvent, wording: Wording) -> Option<u64> {
    match &event.payload {
        Payload::UserMessage(said) if event.parent_tool_call_id.is_none() => {
            let said = said.text.preview();
            Some(hash(wording.of(bare_words(&said)).as_bytes()))
        }
        _ => None,
    }
}

/// A user's words without the quotes that a program put around them: OpenCode's `run` quotes a prompt of several words as a
/// shell would, and who started it knows it without. Seen: 1.18.33.
pub(in crate::merge) fn bare_words(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    let bare = text.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    match bare {
        Some(bare) if bare.contains("\\\"") => bare.replace("\\\"", "\"").into(),
        bare => bare.unwrap_or(text).into(),
    }
}

/// Whether the event is a user's command.
pub(super) fn is_command(event: &ChatEvent) -> bool {
    matches!(&event.payload, Payload::UserMessage(said) if said.text.preview().starts_with('/'))
}

/// Whether a turn begins with the event, and no user asked for it: word of what went on in the background, a callback.
pub(super) fn is_unasked(event: &ChatEvent) -> bool {
    matches!(&event.payload, Payload::TurnStart(start) if !matches!(start.trigger.as_str(), "" | "user"))
}

/// The agent's own words, or what went wrong, as a number.
pub(super) fn text(event: &ChatEvent, wording: Wording) -> Option<u64> {
    if event.parent_tool_call_id.is_some() {
        return None;
    }
    let text = match &event.payload {
        Payload::AssistantDone(done) => &done.text,
        Payload::ErrorEvent(error) => &error.message,
        _ => return None,
    };
    Some(hash(wording.of(text.trim()).as_bytes()))
}
