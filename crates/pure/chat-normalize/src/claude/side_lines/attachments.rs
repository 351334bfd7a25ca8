//! Attachments: what the program gave the model beside a prompt, and what hooks did.
//!
//! What hooks did is in `hooks`.

mod hooks;

use chat_event::{Json, Payload};
use serde_json::Value;

use crate::claude::transcript::ClaudeTranscript;
use crate::emit::{Emitter, Place};
use crate::value::{count_of, is_true, list_of, str_of, text_of};
use crate::words::counted;
pub(crate) use hooks::hook_said;
use hooks::{beginning_of, hook};

/// Attachments that give the model its surroundings; a person sees them nowhere in the program either.
const SURROUNDINGS: [&str; 65] = [
    "agent_listing_delta",
    "agent_mention",
    "auto_compact_imminent",
    "auto_mode",
    "auto_mode_exit",
    "bash_git_instructions",
    "bash_output_audience_note",
    "batching_reminder",
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
    "elapsed_time_reminder",
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
    "output_limit_note",
    "output_style",
    "output_token_usage",
    "peer_mention",
    "plan_file_reference",
    "progress_reminder_sent",
    "prompt_snapshot",
    "read_truncation_notice",
    "remote_session_change",
    "sandbox_instructions",
    "secondary_reminder",
    "secondary_reminder_sent",
    "session_context",
    "silent_turn_reminder",
    "skill_discovery",
    "skill_listing",
    "skill_mention",
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
                file(emitter, &place, attachment, kind);
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
                let met = match is_true(attachment, "met") {
                    true => "met",
                    false => "open",
                };
                let goal = str_of(attachment, "condition").unwrap_or("");
                emitter.notice("info", &place, "goal", format!("goal {met}: {goal}"));
            }
            "max_turns_reached" => {
                let max = count_of(attachment, "maxTurns").unwrap_or(0);
                let text = format!("the limit of {max} turns was reached");
                emitter.notice("warning", &place, "claude-code", text);
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

/// A file that was given to the model, or that somebody else changed.
fn file(emitter: &mut Emitter, place: &Place, attachment: &Value, kind: &str) {
    let name = text_of(attachment, "displayPath")
        .or_else(|| text_of(attachment, "filename"))
        .unwrap_or("");
    let verb = match kind.starts_with("edited_") {
        true => "file changed outside",
        false => "file attached",
    };
    emitter.notice("info", place, "attachment", format!("{verb}: {name}"));
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
