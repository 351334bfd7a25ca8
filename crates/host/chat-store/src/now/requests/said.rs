//! What is asked, as a hash: by it a request is known where another source tells of it as well.

use chat_event::payload::QuestionRequest;
use chat_event::{Json, StableHash};
use serde_json::Value;

/// Of a permission for a tool with these arguments.
pub(super) fn of_permission(tool: &str, args: Option<&Json>) -> u64 {
    let args = args.map(Json::to_value);
    let none = Value::Bool(false);
    said(&[
        &Value::from(tool),
        &Value::from(args.is_some()),
        args.as_ref().unwrap_or(&none),
    ])
}

/// Of the questions of a request.
pub(super) fn of_question(request: &QuestionRequest) -> u64 {
    let texts = request.questions.iter().map(|question| &*question.text);
    let texts = texts.map(Value::from).collect();
    said(&[&Value::from("question"), &Value::Array(texts)])
}

/// A hash of what is said, in whatever order its members stand.
fn said(values: &[&Value]) -> u64 {
    let mut hash = StableHash::default();
    for value in values {
        take(&mut hash, value);
    }
    hash.value()
}

fn take(hash: &mut StableHash, value: &Value) {
    match value {
        Value::Array(items) => {
            hash.take(b"[");
            items.iter().for_each(|item| take(hash, item));
            hash.take(b"]");
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            hash.take(b"{");
            for (name, value) in members {
                take(hash, &Value::from(&**name));
                take(hash, value);
            }
            hash.take(b"}");
        }
        plain => {
            hash.take(plain.to_string().as_bytes());
            hash.take(b",");
        }
    }
}
