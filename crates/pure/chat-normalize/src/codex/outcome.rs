//! How tool calls went: results, errors and the one line for each.

use chat_event::payload::{ToolError, ToolResult};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::content::{attachments_of, is_known, made_image, texts_of};
use super::items::member;
use super::session::Call;
use crate::emit::{Emitter, cut};
use crate::value::{count_of, is_true, str_of, text_of};
use crate::words::{counted, one_line};

/// The longest error text; the whole stands in the result.
pub(crate) const MAX_ERROR_BYTES: usize = 2000;

/// How a tool call went.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) result: Json,
    pub(crate) text: String,
    pub(crate) attachments: Option<Json>,
    pub(crate) error: Option<ToolError>,
    pub(crate) exit_code: Option<i64>,
    pub(crate) duration_ms: Option<u64>,
    pub(crate) summary: Option<String>,
    pub(crate) declined: bool,
}

/// How the item ended that `call` stands for.
pub(crate) fn outcome(kind: &str, item: &Value, call: &Call) -> Outcome {
    let status = str_of(item, "status")
        .unwrap_or("completed")
        .to_ascii_lowercase();
    let exit_code = member(item, "exit_code", "exitCode").and_then(Value::as_i64);
    let result = item.get("result").unwrap_or(&Value::Null);
    let mut declined = status == "declined";
    let mut made = Outcome {
        exit_code,
        duration_ms: duration_ms(item),
        ..Outcome::default()
    };
    let mut failed = declined
        || status == "failed"
        || exit_code.is_some_and(|code| code != 0)
        || is_true(result, "isError")
        || item.get("success") == Some(&Value::Bool(false));
    let mut said_error = None;
    match kind {
        "commandexecution" => {
            let whole =
                member(item, "aggregated_output", "aggregatedOutput").and_then(Value::as_str);
            made.text = whole.map_or_else(|| call.printed.clone(), str::to_owned);
            made.result = Json::string(&made.text);
        }
        "filechange" => {
            let stderr = text_of(item, "stderr").filter(|_| failed);
            made.text = stderr
                .or_else(|| str_of(item, "stdout"))
                .unwrap_or("")
                .to_owned();
            made.result = Json::string(&made.text);
        }
        "mcptoolcall" | "dynamictoolcall" => {
            let content = result
                .get("content")
                .or_else(|| member(item, "content_items", "contentItems"))
                .unwrap_or(&Value::Null);
            made.text = texts_of(Some(content)).join("\n");
            if is_known(content) {
                made.result = Json::string(&made.text);
                made.attachments = attachments_of(content);
            } else {
                // A dynamic tool's parts stand in no result.
                made.result = Json::from(if result.is_null() { content } else { result });
            }
            let error = item.get("error").unwrap_or(&Value::Null);
            said_error = text_of(error, "message").or_else(|| error.as_str());
            failed |= said_error.is_some();
        }
        "websearch" | "extension" => {
            let results = item.get("results").filter(|results| !results.is_null());
            // That they are not told does not say that nothing was found.
            made.result = results.map_or_else(Json::default, Json::from);
            made.summary = results
                .and_then(Value::as_array)
                .map(|results| counted(results.len(), "result", "results"));
        }
        "collabtoolcall" | "collabagenttoolcall" => {
            let states = member(item, "agents_states", "agentsStates");
            let started = super::collab::agent_of(item).filter(|_| call.spec.kind == "agent");
            made.text = match (started, states) {
                (Some(agent), _) if !failed => format!("started {agent}"),
                (_, Some(states)) => super::collab::state_words(states, Some(item)),
                (_, None) => String::new(),
            };
            made.result = match made.text.as_str() {
                "" => Json::default(),
                text => Json::string(text),
            };
        }
        "imagegeneration" => {
            let saved = member(item, "saved_path", "savedPath").and_then(Value::as_str);
            made.result = match (text_of(item, "result"), saved) {
                (Some(data), _) => Json::from(made_image(data, saved)),
                (None, Some(path)) => Json::string(path),
                (None, None) => Json::default(),
            };
        }
        _ => made.result = Json::string(""),
    }
    if failed {
        let code = if declined {
            Some("declined")
        } else {
            exit_code.map(|_| "exit_code")
        };
        let message = match (said_error, made.text.trim()) {
            (Some(message), _) => message,
            (None, "") if declined => "the call was declined",
            (None, "") => "the call failed",
            (None, text) => text,
        };
        made.error = Some(ToolError {
            code: code.map(str::to_owned),
            message: cut(message, MAX_ERROR_BYTES).to_owned(),
            extra: Extra::default(),
        });
    } else {
        declined = false;
    }
    made.declined = declined;
    if declined {
        made.summary = Some("declined".to_owned());
    }
    if made.summary.is_none() {
        made.summary = summary(call.spec.kind, &made.text, exit_code, failed);
    }
    made
}

/// One line for a result.
pub(crate) fn summary(
    kind: &str,
    text: &str,
    exit_code: Option<i64>,
    failed: bool,
) -> Option<String> {
    // One that only looks after a command may tell how it ended, too.
    if kind == "execute" || exit_code.is_some() {
        let lines = match text.lines().count() {
            0 => "no output".to_owned(),
            n => counted(n, "line", "lines"),
        };
        return Some(match exit_code.filter(|code| *code != 0) {
            Some(code) => format!("exit {code}, {lines}"),
            None if failed && text.trim().lines().count() == 1 => one_line(text),
            None if failed => format!("failed, {lines}"),
            None => lines,
        });
    }
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(one_line(line))
}

fn duration_ms(item: &Value) -> Option<u64> {
    if let Some(said) = count_of(item, "durationMs").or_else(|| count_of(item, "duration_ms")) {
        return Some(said);
    }
    let duration = item.get("duration")?;
    let seconds = count_of(duration, "secs")?;
    let nanos = count_of(duration, "nanos").unwrap_or(0);
    Some(
        seconds
            .saturating_mul(1000)
            .saturating_add(nanos / 1_000_000),
    )
}

/// Writes the result of `call`.
pub(crate) fn write_result(emitter: &mut Emitter, id: &str, call: &Call, outcome: Outcome) {
    let mut extra = Extra::default();
    if let Some(attachments) = outcome.attachments {
        extra.insert("attachments", attachments);
    }
    let result = ToolResult {
        tool_call_id: id.to_owned(),
        result: outcome.result,
        error: outcome.error,
        summary: outcome.summary,
        duration_ms: outcome.duration_ms,
        exit_code: outcome.exit_code,
        extra,
        ..ToolResult::default()
    };
    emitter.add_as(&format!("{id}:result"), &call.place, result);
}
