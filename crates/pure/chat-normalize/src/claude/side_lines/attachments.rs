//! Attachments: what the program gave the model beside a prompt, and what hooks did.

use chat_event::{Json, Payload};
use serde_json::Value;

use crate::claude::transcript::ClaudeTranscript;
use crate::emit::{Emitter, Place, cut};
use crate::value::{count_of, is_true, list_of, str_of, text_of};
use crate::words::counted;

/// Attachments that give the model its surroundings; a person sees them nowhere in the program either.
const SURROUNDINGS: [&str; 56] = [
    "agent_listing_delta",
    "agent_mention",
    "auto_compact_imminent",
    "auto_mode",
    "auto_mode_exit",
    "bash_git_instructions",
    "bash_output_audience_note",
    "batching_reminder_sent",
    "budget_usd",
    "claude_md_delta",
    "command_permissions",
    "compact_file_reference",
    "compaction_reminder",
    "context_efficiency",
    "credential_org",
    "critical_system_reminder",
    "current_session_memory",
    "date",
    "date_change",
    "deferred_tools_delta",
    "deferred_tools_record",
    "dynamic_skill",
    "environment",
    "git_status_delta",
    "ide_context",
    "inlined_image_paths",
    "instructions",
    "invoked_skills",
    "mcp_instructions_delta",
    "mcp_tools_delta",
    "model",
    "nested_memory",
    "output_style",
    "output_token_usage",
    "plan_file_reference",
    "prompt_snapshot",
    "read_truncation_notice",
    "remote_session_change",
    "session_context",
    "silent_turn_reminder",
    "skill_discovery",
    "skill_listing",
    "stale_task_list",
    "structured_output",
    "task_reminder",
    "team_context",
    "terminal_focus",
    "thinking_drop",
    "todo_reminder",
    "token_usage",
    "total_tokens_reminder",
    "ultra_effort_enter",
    "ultra_effort_exit",
    "ultrathink_effort",
    "verify_plan_reminder",
    "workflow_keyword_request",
];

/// As much of what a hook said stands in its notice.
const MAX_SAID_BYTES: usize = 2000;

impl ClaudeTranscript {
    /// An attachment; false where no rule knows it.
    pub(crate) fn attachment(&mut self, emitter: &mut Emitter, line: &Value) -> bool {
        let attachment = line.get("attachment").unwrap_or(&Value::Null);
        let kind = str_of(attachment, "type").unwrap_or("");
        let place = self.session.place(None, text_of(line, "agentId"));
        self.queue.writes_attachments = true;
        if SURROUNDINGS.contains(&kind) {
            emitter.pass_over(&format!("attachment/{kind}"));
            return true;
        }
        match kind {
            "queued_command" => self.queued_attachment(emitter, attachment, &place),
            "hook_success"
            | "hook_non_blocking_error"
            | "hook_blocking_error"
            | "hook_error_during_execution"
            | "hook_cancelled"
            | "hook_additional_context"
            | "hook_stopped_continuation"
            | "hook_permission_decision"
            | "hook_system_message"
            | "async_hook_response" => hook(emitter, &place, attachment, kind),
            "file"
            | "edited_text_file"
            | "edited_image_file"
            | "directory"
            | "pdf_reference"
            | "already_read_file"
            | "selected_lines_in_ide"
            | "opened_file_in_ide" => {
                let name = text_of(attachment, "displayPath")
                    .or_else(|| text_of(attachment, "filename"))
                    .unwrap_or("");
                let verb = if kind.starts_with("edited_") {
                    "file changed outside"
                } else {
                    "file attached"
                };
                emitter.notice("info", &place, "attachment", format!("{verb}: {name}"));
            }
            "plan_mode" => {
                emitter.notice("info", &place, "claude-code", "Plan mode began");
            }
            "plan_mode_reentry" => {
                emitter.notice("info", &place, "claude-code", "Plan mode began again");
            }
            "plan_mode_exit" => {
                emitter.notice("info", &place, "claude-code", "Plan mode ended");
            }
            "mcp_resource" => {
                let said = ["server", "uri"].iter();
                let said: Vec<&str> = said.filter_map(|key| text_of(attachment, key)).collect();
                let text = format!("resource attached: {}", said.join(" "));
                emitter.notice("info", &place, "attachment", text);
            }
            "diagnostics" => diagnostics(emitter, &place, list_of(attachment, "files")),
            "relevant_memories" => {
                recalled(emitter, &place, list_of(attachment, "memories"));
            }
            "teammate_mailbox" => {
                for message in list_of(attachment, "messages") {
                    let from = text_of(message, "from").unwrap_or("a teammate");
                    let text = format!("{from}: {}", str_of(message, "text").unwrap_or(""));
                    emitter.notice("info", &place, "teammate", text);
                }
            }
            "goal_status" => {
                let met = if is_true(attachment, "met") {
                    "met"
                } else {
                    "open"
                };
                emitter.notice(
                    "info",
                    &place,
                    "goal",
                    format!(
                        "goal {met}: {}",
                        str_of(attachment, "condition").unwrap_or("")
                    ),
                );
            }
            "max_turns_reached" => {
                let max = count_of(attachment, "maxTurns").unwrap_or(0);
                emitter.notice(
                    "warning",
                    &place,
                    "claude-code",
                    format!("the limit of {max} turns was reached"),
                );
                if let Some(turn) = self.session.turns.last_mut() {
                    turn.failed = true;
                }
            }
            "task_status" => {
                let message = format!(
                    "{}: {}",
                    str_of(attachment, "description").unwrap_or("task"),
                    str_of(attachment, "status").unwrap_or("")
                );
                emitter.notice("info", &place, "task", message);
            }
            _ => return false,
        }
        true
    }
}

fn hook(emitter: &mut Emitter, place: &Place, attachment: &Value, kind: &str) {
    let name = text_of(attachment, "hookName")
        .or_else(|| text_of(attachment, "hookEvent"))
        .unwrap_or("hook");
    let failed = kind.contains("error") || kind == "hook_cancelled";
    let what = match kind {
        "async_hook_response" => "answered".to_owned(),
        kind => kind.trim_start_matches("hook_").replace('_', " "),
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
fn beginning_of(text: &str) -> String {
    let kept = cut(text, MAX_SAID_BYTES);
    let more = if kept.len() < text.len() { "…" } else { "" };
    format!("{kept}{more}")
}

/// What an editor or a checker found in files that changed: a line each, as far as a reader wants to know at once.
fn diagnostics(emitter: &mut Emitter, place: &Place, files: &[Value]) {
    let mut lines = Vec::new();
    for file in files {
        let uri = str_of(file, "uri").unwrap_or("");
        let path = uri.strip_prefix("file://").unwrap_or(uri);
        for found in list_of(file, "diagnostics") {
            let start = found.get("range").and_then(|range| range.get("start"));
            let at = start.and_then(|start| count_of(start, "line"));
            let at = at.map_or(String::new(), |line| format!(":{}", line.saturating_add(1)));
            let message = str_of(found, "message").unwrap_or("");
            lines.push(format!("{path}{at}: {message}"));
        }
    }
    let found = lines.join("\n");
    match found.is_empty() {
        true => emitter.pass_over("attachment/diagnostics"),
        false => {
            emitter.notice("info", place, "diagnostics", beginning_of(&found));
        }
    }
}

/// Memories that were given to the model: which.
pub(crate) fn recalled(emitter: &mut Emitter, place: &Place, memories: &[Value]) {
    let paths = memories.iter().filter_map(|memory| text_of(memory, "path"));
    let paths: Vec<&str> = paths.collect();
    let text = match paths.is_empty() {
        true => format!("recalled {}", counted(memories.len(), "memory", "memories")),
        false => format!("recalled: {}", paths.join(", ")),
    };
    let notice = emitter.notice("info", place, "memory", text);
    if let Payload::Notice(notice) = &mut notice.payload {
        let memories = Json::from(Value::from(memories.to_vec()));
        notice.extra.insert("memories", memories);
    }
}
