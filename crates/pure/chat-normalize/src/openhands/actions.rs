//! Actions and observations (V0): `{id, source, action, args}` and `{id, source, observation, content, extras, cause}`.
//!
//! | event | what it gives |
//! |---|---|
//! | `message` of the user, of the agent | a turn; a text |
//! | `finish`, `reject` | a text, and the turn's end |
//! | `think` | a thought |
//! | another action | its `thought` as a text, then a call |
//! | an observation | the result of the call that its `cause` made, and the edit it tells |
//! | `agent_state_changed` | the turn's end, an error (`failures`), a yes or no |
//! | `condensation` | a compaction |
//! | `system`, `recall`, `change_agent_state`, `null` | passed over |
//!
//! Items of an output's history may be flat: their arguments stand beside `action`, and they have neither ids nor
//! causes; an observation then answers the newest call.

use chat_event::Json;
use chat_event::payload::ToolResult;
use serde_json::{Value, json};

use super::session::Session;
use super::tools;
use crate::emit::Emitter;
use crate::track::{NewCall, Said, tool_error};
use crate::value::{list_of, str_of, text_of, text_of_blocks};
use crate::words::printed;

/// Takes one event.
pub(crate) fn event(session: &mut Session, emitter: &mut Emitter, event: &Value) {
    if let Some(metrics) = event.get("llm_metrics") {
        session.metrics("session", metrics);
    }
    let id = session.id_of(event);
    if let Some(kind) = str_of(event, "action") {
        action(session, emitter, &id, kind, event);
    } else if let Some(kind) = str_of(event, "observation") {
        observation(session, emitter, &id, kind, event);
    } else {
        session.raw(emitter, "no event", event);
    }
}

fn action(session: &mut Session, emitter: &mut Emitter, id: &str, kind: &str, event: &Value) {
    let args = event
        .get("args")
        .filter(|args| args.is_object())
        .unwrap_or(event);
    let metadata = event.get("tool_call_metadata").unwrap_or(&Value::Null);
    let completion = metadata.get("model_response").unwrap_or(&Value::Null);
    let response = text_of(completion, "id").unwrap_or(id).to_owned();
    let thought = str_of(args, "thought").unwrap_or("");
    let by_user = match str_of(event, "source") {
        Some(source) => source == "user",
        // Flat: the first message is the task's, and one that follows an answer is the task's as well.
        None => session.track.turn_id().is_none() || session.outcome == "completed",
    };
    match kind {
        "message" => {
            let text = str_of(args, "content")
                .or_else(|| str_of(event, "message"))
                .unwrap_or("");
            if by_user {
                let said = Said {
                    text: text.to_owned(),
                    attachments: images(args),
                };
                return session.prompt(emitter, id, said);
            }
            session.text(emitter, &response, text);
            session.outcome = "completed";
        }
        "finish" | "reject" => {
            let text = text_of(args, "final_thought")
                .or_else(|| text_of(args, "thought"))
                .or_else(|| text_of(event, "message"))
                .unwrap_or("");
            session.text(emitter, &response, text);
            session.completion(emitter, &response, completion);
            if session.track.parent().is_none() {
                session.outcome = if kind == "finish" {
                    "completed"
                } else {
                    "failed"
                };
                session.close(emitter);
            }
            return;
        }
        "think" => session.thought(emitter, &response, thought),
        "system" | "recall" | "change_agent_state" | "condensation_request" | "null" => {
            emitter.pass_over(kind);
        }
        "condensation" => session.compaction(emitter, id, text_of(args, "summary")),
        _ => {
            session.text(emitter, &response, thought);
            call(session, emitter, id, kind, &response, (event, args));
        }
    }
    session.completion(emitter, &response, completion);
}

fn call(
    session: &mut Session,
    emitter: &mut Emitter,
    id: &str,
    kind: &str,
    response: &str,
    (event, args): (&Value, &Value),
) {
    let metadata = event.get("tool_call_metadata").unwrap_or(&Value::Null);
    let call_id = text_of(metadata, "tool_call_id").unwrap_or(id);
    let name = text_of(metadata, "function_name").unwrap_or(kind);
    let completion = metadata.get("model_response").unwrap_or(&Value::Null);
    let args = asked_args(completion, call_id)
        .or_else(|| args.as_object().map(tools::args_of))
        .unwrap_or(Value::Null);
    let new = NewCall {
        id: call_id,
        response_id: response,
        name,
        args: &args,
        title: tools::title(&args),
        kind: match tools::kind(kind, &args) {
            "other" => tools::kind(name, &args),
            kind => kind,
        },
    };
    session.call(emitter, id, new);
    let asks = event
        .get("args")
        .and_then(|args| str_of(args, "confirmation_state"));
    if asks == Some("awaiting_confirmation") {
        session.ask(emitter, call_id);
    }
    if kind == "delegate" {
        session.track.enter(call_id);
    }
}

/// The arguments as the model wrote them; the action has them in the program's words.
fn asked_args(completion: &Value, call_id: &str) -> Option<Value> {
    let message = list_of(completion, "choices").first()?.get("message")?;
    let mut calls = list_of(message, "tool_calls").iter();
    let call = calls.find(|call| str_of(call, "id") == Some(call_id))?;
    let args = str_of(call.get("function")?, "arguments")?;
    let args: Value = serde_json::from_str(args).ok()?;
    args.is_object().then_some(args)
}

fn images(args: &Value) -> Vec<Value> {
    let urls = ["image_urls", "images_urls"].iter();
    let urls = urls
        .flat_map(|key| list_of(args, key))
        .filter_map(Value::as_str);
    urls.map(image).collect()
}

/// The picture that a URL is, or that lies there.
pub(super) fn image(url: &str) -> Value {
    let data = url.strip_prefix("data:");
    match data.and_then(|data| data.split_once(";base64,")) {
        Some((kind, data)) => json!({"mediaType": kind, "data": data}),
        None => json!({"mediaType": "image/png", "ref": url}),
    }
}

fn observation(session: &mut Session, emitter: &mut Emitter, id: &str, kind: &str, event: &Value) {
    let extras = event
        .get("extras")
        .filter(|extras| extras.is_object())
        .unwrap_or(event);
    let content = text_of_blocks(event.get("content"));
    if kind == "agent_state_changed" {
        let state = str_of(extras, "agent_state").unwrap_or("");
        let why = str_of(extras, "reason").unwrap_or("");
        return session.state(emitter, id, state, why);
    }
    let cause = match event.get("cause") {
        Some(Value::Number(cause)) => format!("{}e{cause}", session.prefix),
        Some(Value::String(cause)) => cause.clone(),
        _ => String::new(),
    };
    let metadata = event.get("tool_call_metadata").unwrap_or(&Value::Null);
    let call_id = text_of(metadata, "tool_call_id");
    let mut waiting = session.answered(&cause, call_id);
    if waiting.is_none() && cause.is_empty() && event.get("id").is_none() {
        waiting = session.track.newest();
    }
    if waiting.is_none() && kind == "delegate" {
        // Some versions do not say whose result it is.
        waiting = session.track.parent_call();
    }
    let Some(call_id) = waiting else {
        match kind {
            "error" => session.error(emitter, id, "error", &content),
            "null" | "recall" | "think" | "system" => emitter.pass_over(kind),
            _ => session.raw(emitter, kind, event),
        }
        return;
    };
    let error = match kind {
        "error" => Some(tool_error(
            text_of(extras, "error_id").unwrap_or("error"),
            &content,
        )),
        "user_rejected" => Some(tool_error("rejected", &content)),
        _ => None,
    };
    let failed = error.is_some();
    let exit_code = extras
        .get("metadata")
        .and_then(|metadata| metadata.get("exit_code"))
        .or_else(|| extras.get("exit_code"))
        .and_then(Value::as_i64)
        // The command still runs, or was stopped.
        .filter(|code| *code != -1);
    session.leave_delegate(&call_id);
    let result = ToolResult {
        result: Json::string(&content),
        summary: printed(&content).filter(|_| !failed),
        error,
        exit_code,
        ..ToolResult::default()
    };
    let call = session.result(emitter, &cause, &call_id, result);
    if let Some(call) = call.filter(|_| !failed && matches!(kind, "edit" | "write")) {
        let unified = text_of(extras, "diff").unwrap_or(&content);
        if let Some(edit) = tools::edit(&call, extras, unified, None) {
            session.track.edit(emitter, &call, edit);
        }
    }
}
