//! Reviews: of code, and of calls before they go on.
//!
//! What the automatic reviewer decides in a person's place, before a call goes on: `guardian_assessment` of rollouts,
//! `item/autoApprovalReview/completed` of app-server. Only the last word of a review counts; one that was broken off or
//! took too long decides nothing.

use chat_event::payload::{PermissionRequest, PermissionResolved};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::items::member;
use super::session::{Scope, Session};
use crate::emit::Emitter;
use crate::value::{count_of, list_of, str_of, text_of};
use crate::words::one_line;

impl Session {
    /// A review, as it stands now.
    pub(crate) fn reviewed(&mut self, emitter: &mut Emitter, scope: &Scope, said: &Value) {
        // One dialect has it within, the other beside the ids.
        let review = said.get("review").unwrap_or(said);
        let Some(decision) = str_of(review, "status").and_then(decision) else {
            return emitter.pass_over("a review that decides nothing");
        };
        let text =
            |snake: &str, camel: &str| member(said, snake, camel).and_then(|value| value.as_str());
        let call_id = text("target_item_id", "targetItemId")
            .filter(|item| !item.is_empty())
            .map(|item| match self.latest_id(item) {
                Some(id) => id,
                None => self.id_of(&scope.turn, item),
            });
        let request_id = text("id", "reviewId").filter(|id| !id.is_empty());
        let request_id = request_id.unwrap_or_else(|| emitter.line_id()).to_owned();
        let action = said.get("action").unwrap_or(&Value::Null);
        let call = call_id.as_ref().and_then(|id| self.calls.get(id));
        let place = call.map_or(&scope.place, |call| &call.place).clone();
        let spec = call.map(|call| &call.spec);
        let request = PermissionRequest {
            request_id: request_id.clone(),
            tool_name: spec.map_or_else(|| tool_name(action), |spec| spec.name.clone()),
            title: spec.map_or_else(|| title(action), |spec| spec.title.clone()),
            args: match spec {
                Some(spec) => Some(Json::from(&spec.args)),
                None => (!action.is_null()).then(|| Json::from(action)),
            },
            tool_call_id: call_id,
            ..PermissionRequest::default()
        };
        emitter.add_as(&format!("{request_id}:ask"), &place, request);
        let resolved = PermissionResolved {
            request_id: request_id.clone(),
            decision: decision.to_owned(),
            scope: None,
            by: Some("rule".to_owned()),
            message: text_of(review, "rationale").map(str::to_owned),
            extra: Extra::default(),
        };
        emitter.add_as(&format!("{request_id}:answer"), &place, resolved);
    }
}

/// What a review came to, where it came to something.
fn decision(status: &str) -> Option<&'static str> {
    let status = status.to_ascii_lowercase();
    let begins = |words: &[&str]| words.iter().any(|word| status.starts_with(word));
    if begins(&["approve", "allow"]) {
        Some("allow")
    } else if begins(&["denied", "deny", "reject", "block", "decline"]) {
        Some("deny")
    } else {
        None
    }
}

/// The tool that an action is of whose call is not known.
fn tool_name(action: &Value) -> String {
    let text = |snake: &str, camel: &str| member(action, snake, camel).and_then(Value::as_str);
    match str_of(action, "type").unwrap_or("") {
        "command" | "execve" => "shell".to_owned(),
        "apply_patch" | "applyPatch" => "apply_patch".to_owned(),
        "mcp_tool_call" | "mcpToolCall" => {
            let (server, tool) = (text("server", "server"), text("tool_name", "toolName"));
            format!("mcp__{}__{}", server.unwrap_or(""), tool.unwrap_or(""))
        }
        kind => kind.to_owned(),
    }
}

fn title(action: &Value) -> Option<String> {
    let keys = ["command", "program", "target", "host"];
    let said = keys.iter().find_map(|key| text_of(action, key));
    said.map(one_line)
}

/// What a review of code found: what is said of it all, and each finding with its place.
pub(super) fn words(review: &Value) -> Option<String> {
    let whole = text_of(review, "overall_explanation").map(str::to_owned);
    let findings = list_of(review, "findings").iter().map(|finding| {
        let at = finding.get("code_location").unwrap_or(&Value::Null);
        let path = str_of(at, "absolute_file_path").unwrap_or("");
        let line = at
            .get("line_range")
            .and_then(|range| count_of(range, "start"));
        let line = line.map(|line| format!(":{line}")).unwrap_or_default();
        let title = str_of(finding, "title").unwrap_or("");
        let body = str_of(finding, "body").unwrap_or("");
        format!("- {title} ({path}{line})\n{body}")
    });
    let words: Vec<String> = whole.into_iter().chain(findings).collect();
    (!words.is_empty()).then(|| words.join("\n"))
}

/// Words of a review that all who tell it have: what is said of it all, or of its first finding; empty where it found nothing.
pub(super) fn first_words(review: &Value) -> &str {
    let first = list_of(review, "findings").first();
    let whole = text_of(review, "overall_explanation");
    let words = whole.or_else(|| text_of(first?, "title"));
    words.unwrap_or("").trim()
}
