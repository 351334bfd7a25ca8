//! What hooks did, and what they said.

use chat_event::{Json, Payload};
use serde_json::Value;

use crate::emit::{Emitter, Place, cut};
use crate::value::{list_of, text_of};

/// As much of what a hook said stands in its notice.
const MAX_SAID_BYTES: usize = 2000;

pub(super) fn hook(emitter: &mut Emitter, place: &Place, attachment: &Value, kind: &str) {
    let name = text_of(attachment, "hookName")
        .or_else(|| text_of(attachment, "hookEvent"))
        .unwrap_or("hook");
    let failed = kind.contains("error") || kind == "hook_cancelled";
    let event = text_of(attachment, "hookEvent");
    // What was asked for says itself what came of it: the call runs, or its result tells that it was denied.
    if kind == "hook_permission_decision" && event == Some("PermissionRequest") {
        return emitter.pass_over("attachment/hook_permission_decision");
    }
    let what = match (kind, text_of(attachment, "decision")) {
        ("async_hook_response", _) => "answered".to_owned(),
        ("hook_permission_decision", Some(decision)) => format!("decided: {decision}"),
        (kind, _) => kind.trim_start_matches("hook_").replace('_', " "),
    };
    let said = hook_said(attachment);
    if kind == "hook_success" && said.is_empty() {
        return emitter.pass_over("attachment/hook_success");
    }
    let notice = emitter.notice(
        if failed { "warning" } else { "info" },
        place,
        "hook",
        format!("{name}: {what}{said}"),
    );
    if let Payload::Notice(notice) = &mut notice.payload {
        for key in [
            "content",
            "stdout",
            "stderr",
            "exitCode",
            "command",
            "blockingError",
            "durationMs",
        ] {
            if let Some(value) = attachment
                .get(key)
                .filter(|value| value.as_str() != Some("") && !value.is_null())
            {
                notice.extra.insert(key, Json::from(value));
            }
        }
    }
}

/// What a hook said, on lines of its own, as far as a reader wants to know at once; the rest stands beside the notice.
pub(crate) fn hook_said(about: &Value) -> String {
    let blocked = about.get("blockingError").unwrap_or(&Value::Null);
    let lines = list_of(about, "content").iter().filter_map(Value::as_str);
    let lines = lines.collect::<Vec<_>>().join("\n");
    let said = [
        text_of(blocked, "blockingError"),
        blocked.as_str(),
        text_of(about, "content"),
        Some(lines.as_str()),
        text_of(about, "stderr"),
        text_of(about, "output"),
        text_of(about, "stdout"),
    ];
    let mut said = said.into_iter().flatten().map(str::trim);
    // An answer without members says nothing.
    let Some(said) = said.find(|said| !matches!(*said, "" | "{}")) else {
        return String::new();
    };
    format!("\n{}", beginning_of(said))
}

/// As much of a text as stands in a notice.
pub(super) fn beginning_of(text: &str) -> String {
    let kept = cut(text, MAX_SAID_BYTES);
    let more = if kept.len() < text.len() { "…" } else { "" };
    format!("{kept}{more}")
}
