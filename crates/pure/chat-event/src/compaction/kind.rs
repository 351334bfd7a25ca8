//! What the event types that are folded have in common: a text, and the members that must be alike.

use std::borrow::Cow;

use crate::event::ChatEvent;
use crate::extra::Extra;
use crate::json::Json;
use crate::payload::Payload;

/// Which texts go together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Assistant {
        part: Option<u32>,
    },
    Thinking {
        part: Option<u32>,
    },
    Input {
        call: String,
        tool: String,
    },
    Output {
        call: String,
        stream: Option<String>,
    },
}

/// Where a piece stands, where its source says so: the number of the chunk, or the place of its first character.
pub(super) fn place_of(payload: &Payload) -> Option<u64> {
    match payload {
        Payload::AssistantChunk(chunk) => chunk.index,
        Payload::ThinkingChunk(chunk) => chunk.index,
        Payload::ToolInputChunk(chunk) => chunk.offset,
        _ => None,
    }
}

/// The kind and the text of a chunk, with what else it says.
pub(super) fn chunk_of(payload: &Payload) -> Option<(Kind, &str, &Extra)> {
    Some(match payload {
        Payload::AssistantChunk(chunk) => {
            let kind = Kind::Assistant { part: chunk.part };
            (kind, &chunk.text, &chunk.extra)
        }
        Payload::ThinkingChunk(chunk) => {
            let kind = Kind::Thinking { part: chunk.part };
            (kind, &chunk.text, &chunk.extra)
        }
        Payload::ToolInputChunk(chunk) => {
            let kind = Kind::Input {
                call: chunk.tool_call_id.clone(),
                tool: chunk.tool_name.clone(),
            };
            (kind, &chunk.chunk, &chunk.extra)
        }
        Payload::ToolOutputChunk(chunk) => {
            let kind = Kind::Output {
                call: chunk.tool_call_id.clone(),
                stream: chunk.stream.clone(),
            };
            (kind, &chunk.chunk, &chunk.extra)
        }
        _ => return None,
    })
}

/// What an event says that may be a survivor, and whether it is a chunk.
pub(super) fn said_by(payload: &Payload) -> Option<(Kind, Cow<'_, str>, bool)> {
    Some(match payload {
        Payload::AssistantDone(done) => {
            let kind = Kind::Assistant { part: done.part };
            (kind, Cow::Borrowed(done.text.as_str()), false)
        }
        Payload::ThinkingDone(done) => {
            let kind = Kind::Thinking { part: done.part };
            (kind, Cow::Borrowed(done.text.as_str()), false)
        }
        Payload::ToolResult(result) => {
            let stream = result.extra.get("stream").and_then(Json::as_str);
            let kind = Kind::Output {
                call: result.tool_call_id.clone(),
                stream: stream.map(Cow::into_owned),
            };
            (kind, result.result.as_str()?, false)
        }
        chunk => {
            let (kind, text, _) = chunk_of(chunk)?;
            (kind, Cow::Borrowed(text), true)
        }
    })
}

/// The text of a chunk, to be changed.
pub(super) fn text_mut(payload: &mut Payload) -> Option<&mut String> {
    match payload {
        Payload::AssistantChunk(chunk) => Some(&mut chunk.text),
        Payload::ThinkingChunk(chunk) => Some(&mut chunk.text),
        Payload::ToolInputChunk(chunk) => Some(&mut chunk.chunk),
        Payload::ToolOutputChunk(chunk) => Some(&mut chunk.chunk),
        _ => None,
    }
}

/// A chunk of that kind without a text.
pub(super) fn empty_chunk(kind: &Kind) -> Payload {
    use crate::payload::{AssistantChunk, ThinkingChunk, ToolInputChunk, ToolOutputChunk};
    match kind {
        Kind::Assistant { part } => Payload::from(AssistantChunk {
            part: *part,
            ..AssistantChunk::default()
        }),
        Kind::Thinking { part } => Payload::from(ThinkingChunk {
            part: *part,
            ..ThinkingChunk::default()
        }),
        Kind::Input { call, tool } => Payload::from(ToolInputChunk {
            tool_call_id: call.clone(),
            tool_name: tool.clone(),
            ..ToolInputChunk::default()
        }),
        Kind::Output { call, stream } => Payload::from(ToolOutputChunk {
            tool_call_id: call.clone(),
            stream: stream.clone(),
            ..ToolOutputChunk::default()
        }),
    }
}

/// Says where a chunk stands.
pub(super) fn set_place(payload: &mut Payload, place: Option<u64>) {
    match payload {
        Payload::AssistantChunk(chunk) => chunk.index = place,
        Payload::ThinkingChunk(chunk) => chunk.index = place,
        Payload::ToolInputChunk(chunk) => chunk.offset = place,
        _ => {}
    }
}

/// Whether the places of two pieces that follow each other go on from one to the next.
pub(super) fn next_place(kind: &Kind, place: Option<u64>, n_chars: u64) -> Option<u64> {
    match kind {
        Kind::Input { .. } => place?.checked_add(n_chars),
        Kind::Assistant { .. } | Kind::Thinking { .. } => place?.checked_add(1),
        Kind::Output { .. } => None,
    }
}

/// Whether all of two envelopes is the same that is not an event's own.
pub(super) fn same_envelope(one: &ChatEvent, other: &ChatEvent) -> bool {
    one.session_id == other.session_id
        && one.turn_id == other.turn_id
        && one.response_id == other.response_id
        && one.agent_id == other.agent_id
        && one.parent_tool_call_id == other.parent_tool_call_id
}

/// The members that compaction adds: `timing` and `span` have fields of their own in the types that end a text.
pub(super) fn members_mut(payload: &mut Payload) -> Option<Members<'_>> {
    Some(match payload {
        Payload::AssistantDone(done) => Members {
            timing: Some(&mut done.timing),
            span: Some(&mut done.span),
            extra: &mut done.extra,
        },
        Payload::ThinkingDone(done) => Members {
            timing: Some(&mut done.timing),
            span: Some(&mut done.span),
            extra: &mut done.extra,
        },
        Payload::ToolResult(result) => Members {
            timing: Some(&mut result.timing),
            span: Some(&mut result.span),
            extra: &mut result.extra,
        },
        Payload::AssistantChunk(chunk) => Members::of(&mut chunk.extra),
        Payload::ThinkingChunk(chunk) => Members::of(&mut chunk.extra),
        Payload::ToolInputChunk(chunk) => Members::of(&mut chunk.extra),
        Payload::ToolOutputChunk(chunk) => Members::of(&mut chunk.extra),
        _ => return None,
    })
}

/// The `timing` of an event that may be a survivor.
pub(super) fn timing_of(payload: &Payload) -> Option<&Json> {
    match payload {
        Payload::AssistantDone(done) => done.timing.as_ref(),
        Payload::ThinkingDone(done) => done.timing.as_ref(),
        Payload::ToolResult(result) => result.timing.as_ref(),
        _ => chunk_of(payload)?.2.get(super::TIMING),
    }
}

/// The `span` of an event that may be a survivor.
pub(super) fn span_of(payload: &Payload) -> Option<(u64, u64)> {
    match payload {
        Payload::AssistantDone(done) => done.span,
        Payload::ThinkingDone(done) => done.span,
        Payload::ToolResult(result) => result.span,
        _ => chunk_of(payload)?.2.get(super::SPAN)?.parse(),
    }
}

/// What else the payload of an event that ends a text says.
pub(super) fn extra_of(payload: &Payload) -> Option<&Extra> {
    match payload {
        Payload::AssistantDone(done) => Some(&done.extra),
        Payload::ThinkingDone(done) => Some(&done.extra),
        Payload::ToolResult(result) => Some(&result.extra),
        _ => Some(chunk_of(payload)?.2),
    }
}

/// Where the members of compaction are written.
pub(super) struct Members<'p> {
    timing: Option<&'p mut Option<Json>>,
    span: Option<&'p mut Option<(u64, u64)>>,
    extra: &'p mut Extra,
}

impl<'p> Members<'p> {
    fn of(extra: &'p mut Extra) -> Members<'p> {
        Members {
            timing: None,
            span: None,
            extra,
        }
    }

    pub(super) fn set(&mut self, timing: Json, span: Option<(u64, u64)>, ids: Json) {
        self.set_timing(timing);
        match (&mut self.span, span) {
            (Some(field), span) => **field = span,
            (None, Some((from, to))) => {
                let span = Json::from(serde_json::json!([from, to]));
                self.extra.insert(super::SPAN, span);
            }
            (None, None) => {}
        }
        self.extra.insert(super::IDS, ids);
    }

    pub(super) fn set_timing(&mut self, timing: Json) {
        match &mut self.timing {
            Some(field) => **field = Some(timing),
            None => self.extra.insert(super::TIMING, timing),
        }
    }

    pub(super) fn insert(&mut self, key: &str, value: Json) {
        self.extra.insert(key, value);
    }

    /// Takes all of them away.
    pub(super) fn clear(self) {
        if let (Some(timing), Some(span)) = (self.timing, self.span) {
            (*timing, *span) = (None, None);
            // The types that end a text have these only where something was folded into them.
            self.extra.remove("index");
            self.extra.remove("stream");
        } else {
            self.extra.remove(super::TIMING);
            self.extra.remove(super::SPAN);
        }
        self.extra.remove(super::IDS);
    }
}
