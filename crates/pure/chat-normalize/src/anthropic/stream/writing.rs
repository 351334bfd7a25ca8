//! An answer that is still written: its blocks, and how what came of them is put together.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::name_server;
use crate::value::{str_of, text_of};

/// The answer that is being written.
#[derive(Debug, Default)]
pub(in crate::anthropic) struct Writing {
    /// The server's.
    pub(in crate::anthropic) native_id: String,
    /// What no other answer is called.
    pub(in crate::anthropic) id: String,
    pub(in crate::anthropic) model: Option<String>,
    pub(in crate::anthropic) stop_reason: Option<String>,
    /// Counts of tokens: those of its start, and over them those of its end.
    pub(in crate::anthropic) tokens: Map<String, Value>,
    /// All its text, and the ids of all that has one: what it is known by when a request says it again.
    pub(in crate::anthropic) text: String,
    pub(in crate::anthropic) calls: Vec<String>,
    /// Calls for the client.
    pub(in crate::anthropic) asked: Vec<String>,
    pub(super) blocks: BTreeMap<u64, Piece>,
    /// A text that is whole unless a citation split it from what comes next.
    pub(super) run: Option<Run>,
    pub(super) n_events: u64,
}

/// A block that has not stopped.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) block: Value,
    /// What its pieces built: text, thinking, a summary; the input of calls is kept with the call.
    pub(super) built: String,
    pub(super) call: Option<String>,
    pub(super) cited: bool,
}

/// Texts that adjoin and are one, for citations split them.
#[derive(Debug)]
pub(super) struct Run {
    /// Of the first.
    pub(super) index: u64,
    pub(super) block: Value,
    /// Whether the last one is cited.
    pub(super) cited: bool,
}

impl Writing {
    pub(in crate::anthropic) fn new(native_id: &str, id: &str, message: &Value) -> Self {
        let mut writing = Writing {
            native_id: native_id.to_owned(),
            id: id.to_owned(),
            model: text_of(message, "model").map(str::to_owned),
            ..Writing::default()
        };
        writing.count(message);
        writing
    }

    /// Takes the counts of tokens that stand in `place`.
    pub(super) fn count(&mut self, place: &Value) {
        let tokens = place.get("usage").and_then(Value::as_object);
        for (name, value) in tokens.into_iter().flatten() {
            if !value.is_null() {
                self.tokens.insert(name.clone(), value.clone());
            }
        }
    }

    /// Calls whose input did not come to its end.
    pub(in crate::anthropic) fn half_calls(&self) -> impl Iterator<Item = String> {
        self.blocks.values().filter_map(|piece| piece.call.clone())
    }

    /// Takes note of a whole block.
    pub(in crate::anthropic) fn note(&mut self, block: &Value) {
        self.text.push_str(str_of(block, "text").unwrap_or(""));
        let id = text_of(block, "tool_use_id").or_else(|| text_of(block, "id"));
        self.calls.extend(id.map(str::to_owned));
        if str_of(block, "type") == Some("tool_use") {
            self.asked.extend(text_of(block, "id").map(str::to_owned));
        }
    }
}

/// The message with texts that citations split as one, and its servers' tools named as everywhere.
pub(in crate::anthropic) fn put_together(message: &Value) -> Value {
    let mut message = message.clone();
    let Some(content) = message.get_mut("content").and_then(Value::as_array_mut) else {
        return message;
    };
    let mut cited_before = false;
    let mut joined: Vec<Value> = Vec::with_capacity(content.len());
    for mut block in std::mem::take(content) {
        name_server(&mut block);
        let is_text = str_of(&block, "type") == Some("text");
        let cited = is_cited(&block);
        let before = joined.last_mut();
        let before = before.filter(|before| str_of(before, "type") == Some("text"));
        match before {
            Some(before) if is_text && (cited || cited_before) => join_texts(before, &block),
            _ => joined.push(block),
        }
        cited_before = cited;
    }
    *content = joined;
    message
}

/// Whether a text says what it was taken from; as it begins, whether it will.
pub(super) fn is_cited(block: &Value) -> bool {
    block.get("citations").is_some_and(Value::is_array)
}

pub(super) fn join_texts(text: &mut Value, more: &Value) {
    let Some(text) = text.as_object_mut() else {
        return;
    };
    let words = str_of(more, "text").unwrap_or("");
    match text.entry("text").or_insert(Value::Null) {
        // In place: of a long text each citation splits off a block.
        Value::String(all) => all.push_str(words),
        no_text => *no_text = Value::from(words),
    }
    let citations = more.get("citations").and_then(Value::as_array);
    if let Some(citations) = citations.filter(|citations| !citations.is_empty()) {
        let all = text.entry("citations").or_insert_with(|| json!([]));
        if let Some(all) = all.as_array_mut() {
            all.extend(citations.iter().cloned());
        }
    }
}
