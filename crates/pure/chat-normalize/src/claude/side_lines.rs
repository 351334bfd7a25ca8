//! Lines of a transcript that are no part of the conversation: titles, modes, attachments, bookkeeping.
//!
//! What tells a reader something becomes an event; what the program wrote for itself or for the model is passed over
//! and counted, by the lists below. The lists hold what Claude Code 1.0 to 2.1.330 writes.

use chat_event::payload::{Progress, SessionStart, UserMessage};
use chat_event::{Body, Json, Payload};
use serde_json::{Map, Value};

use super::transcript::ClaudeTranscript;
use super::usage::session_usage;
use crate::emit::{Emitter, Place};
use crate::value::{count_of, is_true, list_of, str_of, text_of};

/// Bookkeeping: checkpoints of files, requests as they were sent, caches. It repeats what other lines say.
const BOOKKEEPING: [&str; 9] = [
    "file-history-snapshot",
    "api-request",
    "api-request-blob",
    "api-request-shape",
    "atis-latch",
    "tools-used",
    "last-prompt",
    "bridge-session",
    "agent-setting",
];

/// Settings of the session, each with the member that holds it.
const SETTINGS: [(&str, &str); 5] = [
    ("mode", "mode"),
    ("permission-mode", "permissionMode"),
    ("agent-name", "agentName"),
    ("worktree-state", "worktreeSession"),
    ("tag", "tag"),
];

/// Attachments that give the model its surroundings; a person sees them nowhere in the program either.
const SURROUNDINGS: [&str; 29] = [
    "agent_listing_delta",
    "auto_mode",
    "batching_reminder_sent",
    "budget_usd",
    "command_permissions",
    "compact_file_reference",
    "date",
    "date_change",
    "deferred_tools_delta",
    "dynamic_skill",
    "environment",
    "invoked_skills",
    "mcp_instructions_delta",
    "model",
    "nested_memory",
    "output_style",
    "prompt_snapshot",
    "read_truncation_notice",
    "remote_session_change",
    "session_context",
    "silent_turn_reminder",
    "skill_listing",
    "task_reminder",
    "todo_reminder",
    "token_usage",
    "total_tokens_reminder",
    "ultra_effort_enter",
    "ultra_effort_exit",
    "ide_context",
];

/// Whether only transcripts have lines of this type.
pub(crate) fn is_side_line(kind: &str) -> bool {
    BOOKKEEPING.contains(&kind)
        || SETTINGS.iter().any(|(name, _)| *name == kind)
        || matches!(
            kind,
            "queue-operation"
                | "ai-title"
                | "custom-title"
                | "cost-state"
                | "pr-link"
                | "relocated"
                | "frame-link"
        )
}

impl ClaudeTranscript {
    /// A line outside the conversation; false where no rule knows it.
    pub(crate) fn side_line(&mut self, emitter: &mut Emitter, line: &Value, kind: &str) -> bool {
        let place = self.session.place(None, None);
        if BOOKKEEPING.contains(&kind) {
            emitter.pass_over(kind);
            return true;
        }
        if let Some((name, member)) = SETTINGS.iter().find(|(name, _)| *name == kind) {
            let mut rest = Map::new();
            rest.insert(
                (*name).to_owned(),
                line.get(*member).cloned().unwrap_or(Value::Null),
            );
            self.session
                .facts
                .say(emitter, SessionStart::default(), rest);
            return true;
        }
        match kind {
            "summary" => self.summary(emitter, line, &place),
            "custom-title" => {
                self.has_own_title = true;
                self.title(
                    emitter,
                    str_of(line, "customTitle").unwrap_or("").to_owned(),
                );
            }
            "ai-title" => {
                // A person's title is not written over by the program's.
                if self.has_own_title {
                    emitter.pass_over("ai-title");
                } else {
                    self.title(emitter, str_of(line, "aiTitle").unwrap_or("").to_owned());
                }
            }
            "cost-state" => {
                match session_usage(line) {
                    Some(sums) => {
                        let id = format!("l{}:usage", emitter.line_no);
                        emitter.add_as(&id, &place, sums);
                    }
                    None => emitter.pass_over("cost-state"),
                }
                // It is written when the program ends, and never before.
                self.leave(emitter);
            }
            "relocated" => {
                let facts = SessionStart {
                    cwd: text_of(line, "relocatedCwd").map(str::to_owned),
                    ..SessionStart::default()
                };
                self.session.facts.say(emitter, facts, Map::new());
            }
            "pr-link" => {
                let number = count_of(line, "prNumber")
                    .map(|number| format!(" #{number}"))
                    .unwrap_or_default();
                emitter.notice(
                    "info",
                    &place,
                    "pull request",
                    format!(
                        "pull request{number}: {}",
                        str_of(line, "prUrl").unwrap_or("")
                    ),
                );
            }
            "frame-link" => {
                emitter.notice(
                    "info",
                    &place,
                    "artifact",
                    format!(
                        "{}: {}",
                        str_of(line, "title").unwrap_or(""),
                        str_of(line, "frameUrl").unwrap_or("")
                    ),
                );
            }
            "queue-operation" => self.queue_operation(emitter, line),
            _ => return false,
        }
        true
    }

    /// A title for the chain that ends with `leafUuid`, which often lies in another file.
    fn summary(&mut self, emitter: &mut Emitter, line: &Value, place: &Place) {
        let title = str_of(line, "summary").unwrap_or("").to_owned();
        let leaf = str_of(line, "leafUuid").unwrap_or("");
        if self.knows(leaf) {
            self.title(emitter, title);
            return;
        }
        let notice = emitter.notice("info", place, "summary", title.clone());
        if let Payload::Notice(notice) = &mut notice.payload {
            notice.extra.insert("leafUuid", Json::string(leaf));
        }
        self.titles.insert(leaf, title);
    }

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
            | "hook_system_message" => hook(emitter, &place, attachment, kind),
            "file"
            | "edited_text_file"
            | "directory"
            | "pdf_reference"
            | "already_read_file"
            | "selected_lines_in_ide"
            | "opened_file_in_ide" => {
                let name = text_of(attachment, "displayPath")
                    .or_else(|| text_of(attachment, "filename"))
                    .unwrap_or("");
                let verb = if kind == "edited_text_file" {
                    "file changed outside"
                } else {
                    "file attached"
                };
                emitter.notice("info", &place, "attachment", format!("{verb}: {name}"));
            }
            "plan_mode" => {
                emitter.notice("info", &place, "claude-code", "Plan mode began");
            }
            "plan_mode_exit" => {
                emitter.notice("info", &place, "claude-code", "Plan mode ended");
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
                emitter.add(
                    "progress",
                    &place,
                    Progress {
                        message,
                        ..Progress::default()
                    },
                );
            }
            "diagnostics" | "critical_system_reminder" | "structured_output" => return false,
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
    let what = kind.trim_start_matches("hook_").replace('_', " ");
    let notice = emitter.notice(
        if failed { "warning" } else { "info" },
        place,
        "hook",
        format!("{name}: {what}"),
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

/// Hooks at the end of a turn, where they had something to say.
pub(crate) fn stop_hooks(emitter: &mut Emitter, place: &Place, line: &Value) {
    let errors: Vec<&str> = list_of(line, "hookErrors")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let reason = text_of(line, "stopReason");
    if errors.is_empty() && reason.is_none() && !is_true(line, "preventedContinuation") {
        emitter.pass_over("system/stop_hook_summary");
        return;
    }
    let text = if errors.is_empty() {
        reason.unwrap_or("a hook stopped the turn").to_owned()
    } else {
        errors.join("\n")
    };
    emitter.notice("warning", place, "hook", format!("Stop: {text}"));
}

/// What a command printed, where that is anything.
pub(crate) fn printed(emitter: &mut Emitter, place: &Place, text: &str) {
    if !text.trim().is_empty() {
        emitter.notice("info", place, "command output", text);
    }
}

/// Words of the program for the model; a reader may want them folded away.
pub(crate) fn said_by_program(emitter: &mut Emitter, place: &Place, text: &str) {
    let notice = emitter.notice("info", place, "claude-code", text);
    if let Payload::Notice(notice) = &mut notice.payload {
        notice.extra.insert("meta", Json::from(Value::Bool(true)));
    }
}

/// How the line begins that tells the model not to answer a command; the command stands behind it.
const CAVEATS: [&str; 2] = [
    "Caveat: The messages below were generated by the user while running local commands",
    "The command below was run directly in Claude Code, not sent to you as a request",
];

/// Words of the program, where there are any, and what it attaches to them, such as the pages of a PDF that was read.
pub(crate) fn given_by_program(
    emitter: &mut Emitter,
    place: &Place,
    text: &str,
    attachments: Option<Json>,
) {
    let is_caveat = CAVEATS
        .iter()
        .any(|caveat| text.trim_start().starts_with(caveat));
    if !text.trim().is_empty() && !is_caveat {
        said_by_program(emitter, place, text);
    }
    // A notice holds no attachments, and what is large in a message is kept apart.
    if attachments.is_some() {
        let message = UserMessage {
            attachments,
            ..UserMessage::default()
        };
        let event = emitter.add("said", place, message);
        event.extra.insert("from", Json::string("program"));
    } else if is_caveat {
        emitter.pass_over("user, the caveat before a command");
    } else if text.trim().is_empty() {
        emitter.pass_over("user, the program's without words");
    }
}

/// What a sub-agent was started with; the call's arguments have the same words.
pub(crate) fn said_to_sub_agent(
    emitter: &mut Emitter,
    place: &Place,
    text: &str,
    attachments: Option<Json>,
) {
    let message = UserMessage {
        text: Body::from(text),
        attachments,
        ..UserMessage::default()
    };
    let event = emitter.add("said", place, message);
    event.extra.insert("from", Json::string("agent"));
}

/// A background task's end, as it was told to the model: its summary, with the rest beside it.
pub(crate) fn task_notification(emitter: &mut Emitter, place: &Place, text: &str) {
    let part = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        rest.split_once(&format!("</{name}>"))
            .map(|(part, _)| part.trim())
    };
    let summary = part("summary")
        .or_else(|| part("status"))
        .unwrap_or("a background task ended");
    let notice = emitter.notice("info", place, "task", summary);
    if let Payload::Notice(notice) = &mut notice.payload {
        notice.extra.insert("notification", Json::string(text));
        if let Some(id) = part("tool-use-id") {
            notice.extra.insert("toolCallId", Json::string(id));
        }
    }
}
