//! Messages of the lists that Cline keeps, as Roo Code and Kilo Code do.

use serde_json::{Value, json};

pub(crate) const BEGAN_MS: i64 = 1_796_032_800_000;

fn message(form: &str, kind: &str, at_ms: i64, text: &str) -> Value {
    json!({"ts": BEGAN_MS + at_ms, "type": form, form: kind, "text": text})
}

pub(crate) fn say(kind: &str, at_ms: i64, text: &str) -> Value {
    message("say", kind, at_ms, text)
}

pub(crate) fn ask(kind: &str, at_ms: i64, text: &str) -> Value {
    message("ask", kind, at_ms, text)
}

pub(crate) fn with(mut message: Value, name: &str, value: impl Into<Value>) -> Value {
    message[name] = value.into();
    message
}
