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
use chat_event::payload::{SessionStart, ToolResult};
use serde_json::{Map, Value};

use super::actions::image;
use super::session::Session;
use super::tools;
use super::weave::WeaveLine;
use crate::emit::Emitter;
use crate::tool::attached;
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
            session.may_end(emitter);
        }
        "PauseEvent" | "InterruptEvent" => {
            session.interrupt(emitter, &id);
            session.may_end(emitter);
        }
        "Condensation" => session.compaction(emitter, &id, text_of(event, "summary")),
        // What it says no to is told as denied.
        "HookExecutionEvent"
            if str_of(event, "hook_event_type") == Some("PreToolUse")
                && text_of(event, "action_id").is_some() =>
        {
            emitter.pass_over(kind);
        }
        "HookExecutionEvent" if is_true(event, "blocked") => {
            let why = text_of(event, "reason").unwrap_or("a hook said no");
            session.notice(emitter, "warning", why);
        }
        "SystemPromptEvent"
        | "SecurityAnalysisEvent"
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
    match str_of(event, "source") {
        Some("user") if is_nudge(&text) => {
            session.goes_on_in_turn();
            return session.notice(emitter, "info", &text);
        }
        Some("user") => {
            let said = Said {
                text,
                attachments: images(message.get("content")),
            };
            return session.prompt(emitter, id, said);
        }
        // The hook that says it is told as such.
        Some("environment") => {
            session.goes_on_in_turn();
            return match text.starts_with("[Stop hook feedback]") {
                true => emitter.pass_over("what a hook says"),
                false => session.notice(emitter, "info", &text),
            };
        }
        _ => {}
    }
    session.goes_on_in_turn();
    let response = text_of(event, "llm_response_id").unwrap_or(id);
    thoughts(session, emitter, response, message);
    session.text(emitter, response, &text);
    session.outcome = "completed";
    session.may_end(emitter);
}

/// Whether a prompt is what the program says by itself to a model that did nothing.
fn is_nudge(text: &str) -> bool {
    text.starts_with("Your last response did not include a function call or a message.")
}

/// The pictures among blocks.
fn images(blocks: Option<&Value>) -> Vec<Value> {
    let blocks = blocks.and_then(Value::as_array).into_iter().flatten();
    let urls = blocks.flat_map(|block| list_of(block, "image_urls"));
    urls.filter_map(Value::as_str).map(image).collect()
}

/// What the model thought, beside what it said.
fn thoughts(session: &mut Session, emitter: &mut Emitter, response: &str, holder: &Value) {
    if let Some(text) = text_of(holder, "reasoning_content") {
        return session.thought(emitter, response, text);
    }
    for block in list_of(holder, "thinking_blocks") {
        session.thought(emitter, response, str_of(block, "thinking").unwrap_or(""));
    }
    // That of the Responses API: a summary, and the whole where the model gives it.
    if let Some(item) = holder.get("responses_reasoning_item") {
        let said = |key: &str| {
            let texts = list_of(item, key).iter().filter_map(Value::as_str);
            texts.collect::<Vec<_>>().join("\n\n")
        };
        let whole = Some(said("content")).filter(|text| !text.is_empty());
        let text = whole.unwrap_or_else(|| said("summary"));
        session.thought(emitter, response, &text);
    }
}

fn action(session: &mut Session, emitter: &mut Emitter, id: &str, event: &Value) {
    session.goes_on_in_turn();
    let response = text_of(event, "llm_response_id").unwrap_or(id);
    thoughts(session, emitter, response, event);
    session.text(emitter, response, &text_of_blocks(event.get("thought")));
    let action = event.get("action").unwrap_or(&Value::Null);
    match str_of(action, "kind") {
        Some("FinishAction") => {
            session.text(emitter, response, str_of(action, "message").unwrap_or(""));
            session.is_done = true;
            return;
        }
        Some("ThinkAction") => {
            return session.thought(emitter, response, str_of(action, "thought").unwrap_or(""));
        }
        _ => {}
    }
    let asked = event.get("tool_call").unwrap_or(&Value::Null);
    let asked = text_of(asked, "arguments").and_then(|text| serde_json::from_str(text).ok());
    let mut args = asked
        .or_else(|| action.as_object().map(tools::args_of))
        .unwrap_or(Value::Null);
    // The program asks for them with each call: they are its words, and no argument of the tool.
    if let Some(args) = args.as_object_mut() {
        args.retain(|name, _| !matches!(&**name, "security_risk" | "summary"));
    }
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
    let blocks = observation
        .get("content")
        .or_else(|| observation.get("output"));
    let mut content = text_of_blocks(blocks);
    // What the program says before what a server's tool gave.
    if str_of(observation, "kind") == Some("MCPToolObservation")
        && let Some((first, rest)) = content.split_once('\n')
        && first.starts_with("[Tool '")
        && first.ends_with("' executed.]")
    {
        content = rest.to_owned();
    }
    let Some(call_id) = session.answered(action_id, call_id) else {
        return match str_of(event, "tool_name") {
            // Told as texts, which have no results.
            Some("finish") => {
                session.is_done = true;
                session.end_when_done(emitter);
                emitter.pass_over("ObservationEvent of a text");
            }
            Some("think") => {
                emitter.pass_over("ObservationEvent of a text");
            }
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
        extra: attached(images(blocks)),
        ..ToolResult::default()
    };
    let call = session.result(emitter, action_id, &call_id, result);
    if let Some(call) = call.filter(|_| !failed && observation.get("new_content").is_some())
        && let Some(edit) = tools::edit(&call, observation, "", None)
    {
        session.track.edit(emitter, &call, edit);
    }
    session.end_when_done(emitter);
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
            session.end_when_done(emitter);
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

/// What the state as a whole says of the session.
fn about(session: &mut Session, emitter: &mut Emitter, value: &Value) {
    let agent = value.get("agent").unwrap_or(&Value::Null);
    let model = agent.get("llm").and_then(|llm| text_of(llm, "model"));
    // Another agent works behind it, whose model is not told.
    let behind = value.get("agent_state").unwrap_or(&Value::Null);
    let behind = text_of(behind, "acp_agent_name").filter(|_| model == Some("acp-managed"));
    let workspace = value.get("workspace").unwrap_or(&Value::Null);
    let facts = SessionStart {
        model: behind.or(model).map(str::to_owned),
        cwd: text_of(workspace, "working_dir").map(str::to_owned),
        title: text_of(value, "title").map(str::to_owned),
        ..SessionStart::default()
    };
    if let Some(zone) = text_of(value, WeaveLine::ZONE) {
        session.zone = zone.to_owned();
    }
    session.track.facts.say(emitter, facts, Map::new());
    if let Some(stats) = value.get("stats") {
        session.sums(stats);
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
        Some("full_state") => about(session, emitter, value),
        Some("stats") => session.sums(value),
        _ => emitter.pass_over("ConversationStateUpdateEvent"),
    }
}
