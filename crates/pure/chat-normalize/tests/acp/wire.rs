//! Lines of one wire: what the editor and the agent say, and what is told of them in words.

use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::{Value, json};

use crate::support::{assert_sound, read_lines};

/// A notification of the session `s`.
pub(super) fn update(update: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}})
}

pub(super) fn text(kind: &str, text: &str, message: Option<&str>) -> Value {
    let mut held = json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}});
    if let Some(message) = message {
        held["messageId"] = message.into();
    }
    update(held)
}

pub(super) fn request(id: u64, method: &str, params: Value) -> Value {
    let mut params = params;
    params["sessionId"] = "s".into();
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub(super) fn prompt(id: u64, text: &str) -> Value {
    request(
        id,
        "session/prompt",
        json!({"prompt": [{"type": "text", "text": text}]}),
    )
}

pub(super) fn answer(id: u64, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

pub(super) fn stop(id: u64, reason: &str) -> Value {
    answer(id, json!({"stopReason": reason}))
}

/// The answer to `initialize`: both sides are heard.
pub(super) fn initialized() -> Value {
    answer(0, json!({"protocolVersion": 1, "agentCapabilities": {}}))
}

/// A word or two an event, those about the session and its state left out.
pub(super) fn words(events: &[ChatEvent]) -> Vec<String> {
    let words = events.iter().filter_map(|event| {
        Some(match &event.payload {
            Payload::SessionStart(_) | Payload::SessionStatus(_) | Payload::SessionEnd(_) => {
                return None;
            }
            Payload::AssistantChunk(_) | Payload::ThinkingChunk(_) => return None,
            Payload::UserMessage(message) => format!("user {}", message.text.preview()),
            Payload::AssistantDone(done) => {
                format!(
                    "said {} in {}",
                    done.text,
                    event.response_id.as_deref().unwrap_or("")
                )
            }
            Payload::ThinkingDone(done) => {
                format!(
                    "thought {} in {}",
                    done.text,
                    event.response_id.as_deref().unwrap_or("")
                )
            }
            Payload::ToolCall(call) => format!("call {} {}", call.tool_call_id, call.tool_name),
            Payload::ToolResult(result) => match &result.error {
                Some(error) => format!("failed {} {}", result.tool_call_id, error.message),
                None => format!(
                    "result {} {}",
                    result.tool_call_id,
                    result.result.display_text()
                ),
            },
            Payload::ToolOutputChunk(chunk) => format!("printed {:?}", chunk.chunk),
            Payload::FileEdit(edit) => format!(
                "edit {} {} +{} -{} {}",
                edit.change_type,
                edit.file_path,
                edit.lines_added,
                edit.lines_removed,
                edit.full_diff_available
            ),
            Payload::TurnStart(_) => format!("turn {}", event.turn_id.as_deref().unwrap()),
            Payload::TurnEnd(end) => format!("end {}", end.outcome.as_deref().unwrap()),
            Payload::PermissionRequest(asked) => format!("asks {}", asked.request_id),
            Payload::PermissionResolved(answer) => {
                format!("answer {} {}", answer.request_id, answer.decision)
            }
            Payload::QuestionRequest(asked) => format!(
                "questions {}",
                asked
                    .questions
                    .iter()
                    .map(|question| format!("{}[{}]", question.id, question.options.len()))
                    .collect::<String>()
            ),
            Payload::QuestionResolved(answer) => format!("answers {}", answer.outcome),
            Payload::Plan(plan) => format!("plan {}", plan.entries.len()),
            Payload::ErrorEvent(error) => format!("error {} {}", error.code, error.message),
            Payload::Compaction(compaction) => {
                format!("compaction {}", compaction.summary.as_deref().unwrap_or(""))
            }
            other => format!("{other:?}")
                .chars()
                .take_while(|c| *c != '(')
                .collect(),
        })
    });
    words.collect()
}

pub(super) fn told(lines: &[Value]) -> Vec<String> {
    let read = read_lines(Dialect::Acp, lines);
    assert_sound("small", &read.events);
    words(&read.events)
}
