//! File edits, as the worker's hooks made them.

use chat_event::payload::FileEdit;
use chat_event::{Body, Extra, Json};
use serde_json::Value;

use super::calls::call_id_of;
use super::events::{place, tagged};
use crate::emit::Emitter;
use crate::value::{count_of, is_true, text_of};

/// `agent.file_edited` and those like it.
pub(super) fn file_edit(emitter: &mut Emitter, data: &Value, change: &str, tag: &str) {
    let default = match change {
        "file_created" => "created",
        "file_deleted" => "deleted",
        _ => "modified",
    };
    let lines = |key: &str| {
        count_of(data, key)
            .and_then(|lines| u32::try_from(lines).ok())
            .unwrap_or(0)
    };
    let full_diff = text_of(data, "full_diff");
    let preview = text_of(data, "diff_preview")
        .or(full_diff.map(chat_diff::preview))
        .unwrap_or("");
    let mut extra = Extra::default();
    // Which turn of the agent's loop it was.
    if let Some(turn) = data.get("turn").filter(|turn| turn.is_number()) {
        extra.insert("turn", Json::from(turn));
    }
    let edit = FileEdit {
        tool_call_id: call_id_of(data).unwrap_or_default(),
        file_path: text_of(data, "file_path")
            .or_else(|| text_of(data, "path"))
            .unwrap_or("")
            .to_owned(),
        change_type: text_of(data, "change_type").unwrap_or(default).to_owned(),
        lines_added: lines("lines_added"),
        lines_removed: lines("lines_removed"),
        diff_preview: preview.into(),
        // What the worker kept back cannot be had here, whatever it says.
        full_diff_available: full_diff.is_some(),
        full_diff_size: count_of(data, "full_diff_size")
            .unwrap_or(full_diff.map_or(0, str::len) as u64),
        full_diff: full_diff.map(Body::from),
        old_path: text_of(data, "old_path").map(str::to_owned),
        binary: is_true(data, "binary").then_some(true),
        old_text: None,
        extra,
    };
    emitter.add(&tagged("edit", tag), &place(), edit);
}
