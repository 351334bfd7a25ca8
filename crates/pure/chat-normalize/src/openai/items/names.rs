//! What an item is called, and what it is known by: its kind, the keys of its texts, a fingerprint.

use serde_json::Value;

use crate::emit::hash;
use crate::openai::content::texts_of;
use crate::value::{str_of, text_of};

/// An item's kind; messages of requests may come without.
pub(in crate::openai) fn kind_of(item: &Value) -> &str {
    match text_of(item, "type") {
        Some(kind) => kind,
        None if text_of(item, "role").is_some() => "message",
        None => "",
    }
}

/// Whether it is known what such an item means.
pub(in crate::openai) fn is_item(kind: &str) -> bool {
    let known = [
        "message",
        "reasoning",
        "item_reference",
        "mcp_approval_request",
        "mcp_approval_response",
        "mcp_list_tools",
        "compaction",
        "compaction_summary",
        "context_compaction",
    ];
    known.contains(&kind) || is_output(kind) || kind.ends_with("_call")
}

pub(in crate::openai) fn is_output(kind: &str) -> bool {
    kind.ends_with("_call_output") || kind == "tool_search_output"
}

/// Names a text or a summary of an item.
pub(in crate::openai) fn part_key(item_id: &str, index: u64) -> String {
    format!("{item_id}:{index}")
}

/// Names a reasoning text of an item, which stands beside its summaries.
pub(in crate::openai) fn raw_thought_key(item_id: &str, index: u64) -> String {
    format!("{item_id}:text{index}")
}

/// What tells an item from others, however it is written; `None` for such as clients may leave out. White space is left
/// out of texts, for clients trim them.
pub(in crate::openai) fn fingerprint(item: &Value) -> Option<u64> {
    let kind = kind_of(item);
    let of = |text: String| Some(hash(text.as_bytes()));
    match kind {
        "reasoning" | "item_reference" => None,
        "message" => {
            let role = str_of(item, "role").unwrap_or("assistant");
            let content = item.get("content").unwrap_or(&Value::Null);
            let refusals = content.as_array().into_iter().flatten();
            let refusals: String = refusals
                .filter_map(|part| str_of(part, "refusal"))
                .collect();
            let text = texts_of(content).concat();
            let text: String = text.split_whitespace().collect();
            of(format!("{role}\n{text}{refusals}"))
        }
        kind => {
            let id = ["call_id", "approval_request_id", "id", "encrypted_content"]
                .iter()
                .find_map(|name| text_of(item, name));
            of(format!("{kind}\n{}", id.unwrap_or("")))
        }
    }
}

/// The texts of a piece of reasoning.
pub(in crate::openai) fn thought_texts(item: &Value) -> String {
    let texts = ["summary", "content"].map(|name| {
        let texts = texts_of(item.get(name).unwrap_or(&Value::Null));
        texts.concat()
    });
    texts.concat()
}
