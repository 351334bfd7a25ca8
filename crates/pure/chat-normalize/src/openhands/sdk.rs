//! The events of the agent SDK (V1): `{kind, id, timestamp, source, …}`, a file or a message each.
//!
//! | kind | what it gives |
//! |---|---|
//! | `MessageEvent` | a turn; a text of the agent |
//! | `ActionEvent` | thoughts, texts and a call; those of one `llm_response_id` are one answer |
//! | `ObservationEvent`, `AgentErrorEvent`, `UserRejectObservation` | the result, by the action's or the call's id |
//! | `ACPToolCallEvent` | a call, and its result when it has ended |
//! | `ConversationStateUpdateEvent`, `PauseEvent` | the turn's end, an interrupt |
//! | … of `waiting_for_confirmation` | a permission asked for each call that waits; what becomes of it answers |
//! | `ConversationErrorEvent` | an error, before or behind the state that fails (`failures`) |
//! | `Condensation` | a compaction |
//! | `StreamingDeltaEvent` and bookkeeping | passed over: what streams comes as a whole |
//!
//! Known from the classes of openhands-sdk 1.58; no capture was seen.

use chat_event::Json;
use chat_event::payload::ToolResult;
use serde_json::Value;

use super::session::Session;
use super::tools;
use crate::emit::Emitter;
use crate::track::{NewCall, Said, tool_error};
use crate::value::{is_true, list_of, str_of, text_of, text_of_blocks};
use crate::words::printed;

/// Takes one event.
pub(crate) fn event(session: &mut Session, emitter: &mut Emitter, event: &Value) {
    let id = session.id_of(event);
    let kind = str_of(event, "kind").unwrap_or("");
    match kind {
        "MessageEvent" => message(session, emitter, &id, event),
        "ActionEvent" => action(session, emitter, &id, event),
        "ObservationEvent" => observation(session, emitter, event),
        "UserRejectObservation" => {
            let why = text_of(event, "rejection_reason").unwrap_or("the user said no");
            failed(session, emitter, event, "rejected", why);
        }
        "AgentErrorEvent" => {
            let why = str_of(event, "error").unwrap_or("");
            failed(session, emitter, event, "error", why);
        }
        "ACPToolCallEvent" => acp_call(session, emitter, &id, event),
        "ConversationStateUpdateEvent" => state(session, emitter, &id, event),
        "ConversationErrorEvent" => {
            let code = text_of(event, "code").unwrap_or("error");
            session.error(emitter, &id, code, str_of(event, "detail").unwrap_or(""));
        }
        "PauseEvent" => session.interrupt(emitter, &id),
        "Condensation" => session.compaction(emitter, &id, text_of(event, "summary")),
        "HookExecutionEvent" if is_true(event, "blocked") => {
            let why = text_of(event, "reason").unwrap_or("a hook said no");
            session.notice(emitter, "warning", why);
        }
        "SystemPromptEvent"
        | "StreamingDeltaEvent"
        | "TokenEvent"
        | "LLMCompletionLogEvent"
        | "CondensationRequest"
        | "CondensationSummaryEvent"
        | "HookExecutionEvent" => {
            emitter.pass_over(kind);
        }
        _ => session.raw(emitter, kind, event),
    }
}

fn message(session: &mut Session, emitter: &mut Emitter, id: &str, event: &Value) {
    let message = event.get("llm_message").unwrap_or(&Value::Null);
    let text = text_of_blocks(message.get("content"));
    if str_of(event, "source") == Some("user") {
        let images = list_of(message, "content").iter();
        let urls = images.flat_map(|block| list_of(block, "image_urls"));
        let said = Said {
            text,
            attachments: urls
                .filter_map(Value::as_str)
                .map(|url| serde_json::json!({"mediaType": "image/png", "ref": url}))
                .collect(),
        };
        return session.prompt(emitter, id, said);
    }
    let response = text_of(event, "llm_response_id").unwrap_or(id);
    thoughts(session, emitter, response, message);
    session.text(emitter, response, &text);
    session.outcome = "completed";
}

/// What the model thought, beside what it said.
fn thoughts(session: &mut Session, emitter: &mut Emitter, response: &str, holder: &Value) {
    if let Some(text) = text_of(holder, "reasoning_content") {
        return session.thought(emitter, response, text);
    }
    for block in list_of(holder, "thinking_blocks") {
        session.thought(emitter, response, str_of(block, "thinking").unwrap_or(""));
    }
}

fn action(session: &mut Session, emitter: &mut Emitter, id: &str, event: &Value) {
    let response = text_of(event, "llm_response_id").unwrap_or(id);
    thoughts(session, emitter, response, event);
    session.text(emitter, response, &text_of_blocks(event.get("thought")));
    let action = event.get("action").unwrap_or(&Value::Null);
    match str_of(action, "kind") {
        Some("FinishAction") => {
            session.text(emitter, response, str_of(action, "message").unwrap_or(""));
            session.outcome = "completed";
            return session.close(emitter);
        }
        Some("ThinkAction") => {
            return session.thought(emitter, response, str_of(action, "thought").unwrap_or(""));
        }
        _ => {}
    }
    let asked = event.get("tool_call").unwrap_or(&Value::Null);
    let args = text_of(asked, "arguments")
        .and_then(|text| serde_json::from_str::<Value>(text).ok())
        .or_else(|| action.as_object().map(tools::args_of))
        .unwrap_or(Value::Null);
    let name = str_of(event, "tool_name").unwrap_or("");
    let call = NewCall {
        id: text_of(event, "tool_call_id").unwrap_or(id),
        response_id: response,
        name,
        args: &args,
        title: text_of(event, "summary")
            .map(crate::words::one_line)
            .or_else(|| tools::title(&args)),
        kind: tools::kind(name, &args),
    };
    session.call(emitter, id, call);
}

fn ids(event: &Value) -> (&str, Option<&str>) {
    let action_id = text_of(event, "action_id").unwrap_or("");
    (action_id, text_of(event, "tool_call_id"))
}

fn observation(session: &mut Session, emitter: &mut Emitter, event: &Value) {
    let (action_id, call_id) = ids(event);
    let observation = event.get("observation").unwrap_or(&Value::Null);
    let content = text_of_blocks(
        observation
            .get("content")
            .or_else(|| observation.get("output")),
    );
    let Some(call_id) = session.answered(action_id, call_id) else {
        return match str_of(event, "tool_name") {
            // Told as texts, which have no results.
            Some("finish" | "think") => emitter.pass_over("ObservationEvent of a text"),
            _ => session.raw(emitter, "ObservationEvent without a call", event),
        };
    };
    let failed = is_true(observation, "is_error");
    let result = ToolResult {
        result: Json::string(&content),
        error: failed.then(|| tool_error("error", &content)),
        summary: printed(&content).filter(|_| !failed),
        exit_code: observation
            .get("exit_code")
            .and_then(Value::as_i64)
            .filter(|code| *code != -1),
        ..ToolResult::default()
    };
    let call = session.result(emitter, action_id, &call_id, result);
    if let Some(call) = call.filter(|_| !failed && observation.get("new_content").is_some())
        && let Some(edit) = tools::edit(&call, observation, "", None)
    {
        session.track.edit(emitter, &call, edit);
    }
}

fn failed(session: &mut Session, emitter: &mut Emitter, event: &Value, code: &str, why: &str) {
    let (action_id, call_id) = ids(event);
    match session.answered(action_id, call_id) {
        Some(call_id) => {
            let result = ToolResult {
                result: Json::string(why),
                error: Some(tool_error(code, why)),
                ..ToolResult::default()
            };
            session.result(emitter, action_id, &call_id, result);
        }
        None => session.notice(emitter, "warning", why),
    }
}

/// A call of an agent behind the Agent Client Protocol: told again with each change.
fn acp_call(session: &mut Session, emitter: &mut Emitter, id: &str, event: &Value) {
    let call_id = text_of(event, "tool_call_id").unwrap_or(id);
    let args = event.get("raw_input").unwrap_or(&Value::Null);
    if session.track.waiting(call_id).is_none() {
        let name = text_of(event, "tool_kind").or_else(|| text_of(event, "title"));
        let kind = match str_of(event, "tool_kind") {
            Some("read") => "read",
            Some("edit" | "delete" | "move") => "edit",
            Some("search") => "search",
            Some("execute") => "execute",
            Some("fetch") => "fetch",
            Some("think") => "think",
            _ => "other",
        };
        let call = NewCall {
            id: call_id,
            response_id: call_id,
            name: name.unwrap_or(""),
            args,
            title: text_of(event, "title").map(crate::words::one_line),
            kind,
        };
        session.call(emitter, id, call);
    }
    let status = str_of(event, "status");
    if matches!(status, Some("completed" | "failed")) {
        let output = match event.get("raw_output") {
            Some(Value::String(text)) => Json::string(text),
            Some(other) if !other.is_null() => Json::from(other),
            _ => Json::string(&text_of_blocks(event.get("content"))),
        };
        let failed = status == Some("failed") || is_true(event, "is_error");
        let result = ToolResult {
            error: failed.then(|| tool_error("error", "the call failed")),
            result: output,
            ..ToolResult::default()
        };
        session.result(emitter, id, call_id, result);
    }
}

fn state(session: &mut Session, emitter: &mut Emitter, id: &str, event: &Value) {
    let value = event.get("value").unwrap_or(&Value::Null);
    match str_of(event, "key") {
        Some("execution_status" | "agent_status") => {
            match value.as_str().unwrap_or("") {
                // Which calls it is about no event says.
                "waiting_for_confirmation" => session.ask_newest(emitter),
                "idle" if session.is_refused() => emitter.pass_over("rest before a refusal"),
                state => {
                    if state == "running" {
                        session.goes_on(emitter);
                    }
                    session.state(emitter, id, state, "");
                }
            }
        }
        Some("full_state") => {
            let llm = value.get("agent").and_then(|agent| agent.get("llm"));
            session.model(emitter, llm.and_then(|llm| text_of(llm, "model")));
        }
        _ => emitter.pass_over("ConversationStateUpdateEvent"),
    }
}
