//! Calls in the form the API takes: ids and names within its limits, arguments a JSON object.

use chat_event::stable_hash;
use serde_json::Value;

use super::{OpenAiCallType, OpenAiFunction, OpenAiToolCall};
use crate::projections::conversation::Call;
use crate::projections::plain::value_of;

/// The API refuses longer ids: "string too long. Expected a string with maximum length 40".
const ID_CHARS: usize = 40;

/// The API refuses other names: `^[a-zA-Z0-9_-]{1,64}$`.
const NAME_CHARS: usize = 64;

pub(super) fn tool_call(call: &Call) -> OpenAiToolCall {
    OpenAiToolCall {
        id: call_id(&call.id),
        call_type: OpenAiCallType::Function,
        function: OpenAiFunction {
            name: function_name(&call.name),
            arguments: arguments(call),
        },
    }
}

/// The id itself, or a shorter one made of it.
pub(super) fn call_id(id: &str) -> String {
    if id.is_empty() {
        return "call".to_owned();
    }
    if id.chars().count() <= ID_CHARS {
        return id.to_owned();
    }
    let start: String = id.chars().take(ID_CHARS - 17).collect();
    format!("{start}-{:016x}", stable_hash(id.as_bytes()))
}

fn function_name(name: &str) -> String {
    let allowed = |c: char| match c {
        c if c.is_ascii_alphanumeric() || c == '-' => c,
        _ => '_',
    };
    match name {
        "" => "unknown_tool".to_owned(),
        name => name.chars().take(NAME_CHARS).map(allowed).collect(),
    }
}

/// The arguments as the text of a JSON object; what is no object becomes the member `input` of one.
fn arguments(call: &Call) -> String {
    let args = &call.args;
    let as_object = args.as_text().starts_with('{') && !args.as_text().contains("\"$body\"");
    if as_object {
        return args.as_text().into_string();
    }
    let value = match args.is_null() {
        true => Value::String(call.input.clone()),
        false => value_of(args),
    };
    match value {
        Value::Object(_) => value.to_string(),
        Value::String(text) if text.trim().is_empty() => "{}".to_owned(),
        Value::String(text) => match serde_json::from_str::<Value>(&text) {
            // Some sources keep the arguments as the text the model wrote.
            Ok(Value::Object(_)) => text,
            Ok(_) | Err(_) => serde_json::json!({ "input": text }).to_string(),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            serde_json::json!({ "input": value }).to_string()
        }
    }
}
