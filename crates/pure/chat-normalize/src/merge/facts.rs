//! What an event says, as a number: two events with the same number say the same.
//!
//! What of it is new is told by `keep`.

mod keep;

use chat_event::payload::Usage;
use chat_event::{ChatEvent, Payload};

use super::turns::bare_words;
use super::wording::Wording;
use crate::emit::hash;
use keep::context_of;
pub(super) use keep::{keep_context, keep_new, usage_of_end};

/// How an event is compared with what was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fact {
    /// Told as often as the source that tells it most often.
    Counted(u64),
    /// Told once.
    Once(u64),
    /// As `Once`, and told again by one who tells more.
    Bare(u64),
    /// As `Once`, by one who does not know: it was not seen, so it is taken to be so.
    Guessed(u64),
    /// That what a call began goes on in the background; also the number of the call's result.
    Began {
        key: u64,
        result: u64,
    },
    /// A result that says nothing of the background.
    Plain {
        result: u64,
        failed: bool,
    },
    /// A file that was edited.
    Edit {
        key: u64,
        worth: Worth,
    },
    /// The whole of a text.
    Whole {
        part: Option<Part>,
        words: u64,
        guess: bool,
    },
    /// A piece of what is told whole later.
    Chunk {
        part: Part,
    },
    /// What the session used so far, and how full its context is where that is told with it.
    Sum {
        key: u64,
        context: Option<u64>,
    },
    TurnStart,
    TurnEnd {
        key: u64,
        guess: bool,
    },
    /// The context was made shorter, by how much where that is told.
    Compaction {
        has_figures: bool,
    },
    /// Something that wants an answer.
    Request(u64),
    Answer {
        guess: bool,
    },
    SessionStart,
    Status,
}

/// How much is told of a file's edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Worth {
    /// That there was one.
    File,
    /// What was replaced by what.
    Lines,
    /// Where that stands, too.
    Diff,
}

/// A part of a response, or a call's input or output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part(pub(super) u64);

/// A number for words, in their order.
fn key(words: &[&str]) -> u64 {
    hash(words.join("\0").as_bytes())
}

/// What `event` says; its turn is the one that all sources share.
pub(super) fn fact_of(event: &ChatEvent, source: usize, wording: Wording) -> Fact {
    // What a sub-agent says stands in its call, whichever turn that is in.
    let turn = event.turn_id.as_deref().unwrap_or_default();
    let caller = event
        .parent_tool_call_id
        .as_deref()
        .or(event.agent_id.as_deref());
    let at = caller.unwrap_or(turn);
    let kind = event.payload.event_type();
    let counted = |words: &[&str]| Fact::Counted(key(&[&[kind, at], words].concat()));
    let whole = |what: &str, part: Option<u32>, text: &str| Fact::Whole {
        part: part_key(event, what, part),
        words: key(&[what, at, &wording.of(text.trim())]),
        guess: event.id.ends_with(":cut"),
    };
    let chunk = |what: &str, part: Option<u32>| Fact::Chunk {
        // Without a response, a source's pieces are its own.
        part: part_key(event, what, part).unwrap_or(Part(key(&[what, at, &source.to_string()]))),
    };
    match &event.payload {
        Payload::TurnStart(_) => Fact::TurnStart,
        Payload::TurnEnd(end) => Fact::TurnEnd {
            key: key(&["turn_end", turn]),
            guess: end.extra.get("guessed").is_some(),
        },
        Payload::UserMessage(said) => counted(&[&wording.of(bare_words(&said.text.preview()))]),
        Payload::AssistantDone(done) => whole("text", done.part, &done.text),
        Payload::ThinkingDone(done) => whole("thinking", done.part, &done.text),
        Payload::AssistantChunk(chunk_of) => chunk("text", chunk_of.part),
        Payload::ThinkingChunk(chunk_of) => chunk("thinking", chunk_of.part),
        Payload::ToolCall(call) => {
            let call_key = key(&["call", &call.tool_call_id]);
            if event.id.ends_with(":cut") {
                Fact::Guessed(call_key)
            } else {
                Fact::Once(call_key)
            }
        }
        Payload::ToolInputChunk(chunk) => Fact::Chunk {
            part: Part(key(&["call", &chunk.tool_call_id])),
        },
        Payload::ToolOutputChunk(chunk) => Fact::Chunk {
            part: Part(key(&["result", &chunk.tool_call_id])),
        },
        // How it ends is told by another one.
        Payload::ToolResult(result) if result.goes_on() => Fact::Began {
            key: key(&["result that began", &result.tool_call_id]),
            result: key(&["result", &result.tool_call_id]),
        },
        Payload::ToolResult(result) => {
            let result_key = key(&["result", &result.tool_call_id]);
            if result.is_missing() {
                Fact::Guessed(result_key)
            } else if result.is_bare() {
                Fact::Bare(result_key)
            } else if result.background == Some(false) {
                Fact::Once(result_key)
            } else {
                Fact::Plain {
                    result: result_key,
                    failed: result.error.is_some(),
                }
            }
        }
        Payload::FileEdit(edit) if !edit.tool_call_id.is_empty() => {
            let has_lines =
                edit.lines_added > 0 || edit.lines_removed > 0 || !edit.diff_preview.is_empty();
            let worth = match (edit.full_diff_available, has_lines) {
                (true, _) => Worth::Diff,
                (false, true) => Worth::Lines,
                (false, false) => Worth::File,
            };
            // Who tells only the file calls one that was moved by its old name.
            let path = edit.old_path.as_ref().unwrap_or(&edit.file_path);
            Fact::Edit {
                key: key(&["edit", &edit.tool_call_id, path]),
                worth,
            }
        }
        Payload::Plan(plan) => {
            let entries: Vec<String> = plan
                .entries
                .iter()
                .map(|entry| format!("{}\0{}", entry.status, wording.of(&*entry.content)))
                .collect();
            counted(&[&entries.join("\0")])
        }
        Payload::PermissionRequest(request) => Fact::Request(match &request.tool_call_id {
            Some(call) => key(&["permission", call]),
            None => {
                let args = request.args.as_ref().map(chat_event::Json::as_text);
                key(&[
                    "permission of",
                    &request.tool_name,
                    &wording.of(args.as_deref().unwrap_or_default()),
                ])
            }
        }),
        Payload::QuestionRequest(request) => Fact::Request(match &request.tool_call_id {
            Some(call) => key(&["question", call]),
            None => {
                let texts: Vec<_> = request
                    .questions
                    .iter()
                    .map(|question| wording.of(&*question.text))
                    .collect();
                key(&["question of", &texts.join("\0")])
            }
        }),
        Payload::PermissionResolved(answer) => Fact::Answer {
            guess: answer.decision == "cancel",
        },
        Payload::QuestionResolved(answer) => Fact::Answer {
            guess: answer.outcome == "expired",
        },
        Payload::Usage(usage) => match (usage.scope.as_str(), &event.response_id) {
            ("response", Some(response)) => Fact::Once(key(&["usage", response])),
            ("turn", _) => Fact::Once(key(&["usage", turn])),
            ("session", _) => Fact::Sum {
                key: key(&["usage", caller.unwrap_or_default(), &sum_of(usage)]),
                context: context_of(usage),
            },
            _ => Fact::Counted(key(&["usage", &payload(event)])),
        },
        Payload::Interrupt(_) => Fact::Once(key(&["interrupt", at])),
        Payload::ErrorEvent(error) => counted(&[&wording.of(error.message.trim())]),
        Payload::Notice(notice) => counted(&[&notice.level, &wording.of(notice.text.trim())]),
        Payload::Progress(progress) => {
            let call = progress.tool_call_id.as_deref().unwrap_or_default();
            counted(&[call, &wording.of(&*progress.message)])
        }
        // Its summary is worded otherwise by each source.
        Payload::Compaction(told) => Fact::Compaction {
            has_figures: told.tokens_before.is_some(),
        },
        Payload::AgentMessage(message) => Fact::Once(key(&[kind, &message.message_id])),
        // One agent may call back more than once, and each time under its own name.
        Payload::AgentCallback(callback) => Fact::Counted(key(&[kind, &callback.message_id])),
        Payload::SessionStart(_) => Fact::SessionStart,
        Payload::SessionStatus(_) => Fact::Status,
        Payload::SessionEnd(_) => Fact::Guessed(key(&["session_end"])),
        Payload::FileEdit(_)
        | Payload::UserAudio(_)
        | Payload::AgentSwitch(_)
        | Payload::AudioChunk(_)
        | Payload::AudioDone(_)
        | Payload::Retract(_)
        | Payload::Raw(_)
        | Payload::LogStart(_)
        | Payload::LogEpoch(_)
        | Payload::LogGap(_)
        | Payload::LogEnd(_)
        | Payload::Unknown { .. }
        | Payload::Malformed { .. } => counted(&[&payload(event)]),
    }
}

fn part_key(event: &ChatEvent, what: &str, part: Option<u32>) -> Option<Part> {
    let response = event.response_id.as_deref()?;
    let part = part.map(|part| part.to_string()).unwrap_or_default();
    // Some programs number the responses of each turn anew.
    let turn = event
        .turn_id
        .as_deref()
        .filter(|_| event.parent_tool_call_id.is_none());
    let turn = turn.unwrap_or_default();
    Some(Part(key(&["part", what, turn, response, &part])))
}

fn payload(event: &ChatEvent) -> String {
    serde_json::to_string(&event.payload).unwrap_or_default()
}

/// What was used, without what one source says of it and another may not: the context, the model.
fn sum_of(usage: &Usage) -> String {
    // Who knows nothing of a cache says what another calls none.
    let tokens = [
        Some(usage.input_tokens),
        Some(usage.output_tokens),
        usage.cache_read_tokens,
        usage.cache_write_tokens,
    ];
    let tokens = tokens.map(Option::unwrap_or_default);
    let ways = (usage.cumulative != Some(false), usage.cost_usd);
    format!("{tokens:?} {ways:?}")
}

/// The id of the request that an event is, or answers.
pub(super) fn request_id(payload: &mut Payload) -> Option<&mut String> {
    match payload {
        Payload::PermissionRequest(request) => Some(&mut request.request_id),
        Payload::PermissionResolved(answer) => Some(&mut answer.request_id),
        Payload::QuestionRequest(request) => Some(&mut request.request_id),
        Payload::QuestionResolved(answer) => Some(&mut answer.request_id),
        _ => None,
    }
}
