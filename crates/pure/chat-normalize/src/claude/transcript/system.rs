//! `system` lines: what the program says of the session.

use chat_event::payload::Compaction;
use serde_json::Value;

use super::{ClaudeTranscript, FORMAT, is_meta};
use crate::claude::said::{Said, pieces};
use crate::claude::side_lines;
use crate::emit::Emitter;
use crate::value::{count_of, is_true, list_of, str_of, text_of};

impl ClaudeTranscript {
    pub(super) fn system(&mut self, emitter: &mut Emitter, line: &Value) {
        let place = self.place(None);
        let content = str_of(line, "content").unwrap_or("");
        match str_of(line, "subtype").unwrap_or("") {
            "turn_duration" => {
                self.flush_usage(emitter);
                self.end_turn(emitter, count_of(line, "durationMs"));
            }
            "stop_hook_summary" => side_lines::stop_hooks(emitter, &place, line),
            "compact_boundary" | "microcompact_boundary" => {
                let about = line
                    .get("compactMetadata")
                    .or_else(|| line.get("microcompactMetadata"))
                    .unwrap_or(&Value::Null);
                let compaction = Compaction {
                    trigger: str_of(about, "trigger").unwrap_or("auto").to_owned(),
                    summary: None,
                    tokens_before: count_of(about, "preTokens"),
                    extra: crate::claude::usage::tokens_after(about, "postTokens"),
                };
                let id = format!("{}:compaction", emitter.line_id());
                self.pending_compaction = Some((id, emitter.time_ms, place, compaction));
            }
            "api_error" | "error" => {
                let error = line.get("error").unwrap_or(&Value::Null);
                let why = text_of(error, "formatted").or_else(|| text_of(error, "message"));
                let why = why.map_or_else(|| error_text(error), str::to_owned);
                let attempt = match (count_of(line, "retryAttempt"), count_of(line, "maxRetries")) {
                    (Some(attempt), Some(of)) => format!("attempt {attempt} of {of}: "),
                    _ => String::new(),
                };
                emitter.retrying(&place, Some(format!("{attempt}{why}")));
            }
            "local_command" => {
                for said in pieces(content) {
                    match said {
                        Said::Command(text) | Said::Shell(text) => {
                            emitter.notice("info", &place, "command", text);
                        }
                        Said::Output(text)
                        | Said::Words(text)
                        | Said::TaskNotification(text)
                        | Said::Injected(text) => side_lines::printed(emitter, &place, &text),
                        Said::Done(text) => self.command_done(emitter, &text),
                        Said::Interrupt => self.session.interrupt(emitter, &place, "user_cancel"),
                    }
                }
            }
            "api_refusal" | "model_refusal_fallback" | "model_refusal_no_fallback" => {
                let retracted = list_of(line, "retractedMessageUuids");
                self.session.retract(emitter, &place, retracted);
                let text = text_of(line, "content")
                    .or_else(|| text_of(line, "apiRefusalExplanation"))
                    .unwrap_or("the model refused");
                emitter.notice("warning", &place, "claude-code", text);
            }
            "informational"
            | "away_summary"
            | "bridge_status"
            | "permission_retry"
            | "scheduled_task_fire"
            | "" if !content.is_empty() => {
                let level = if matches!(str_of(line, "level"), Some("warning" | "error")) {
                    "warning"
                } else {
                    "info"
                };
                emitter.notice(level, &place, "claude-code", content);
            }
            // The first line says the same.
            "session_start" => emitter.pass_over("system/session_start"),
            kind => emitter.raw(&place, FORMAT, &format!("system/{kind}"), line),
        }
    }

    /// Whether a compaction waits for what stands behind a line: its summary; and where a person asked for it, their
    /// command, which is written behind it.
    pub(super) fn holds_compaction(&self, line: &Value, kind: &str) -> bool {
        let is_asked_for =
            |(_, _, _, compaction): &(_, _, _, Compaction)| compaction.trigger == "manual";
        is_true(line, "isCompactSummary")
            || self.pending_compaction.as_ref().is_some_and(is_asked_for)
                && match kind {
                    "user" => is_meta(line) || is_command(line),
                    "assistant" | "system" | "progress" => false,
                    _ => true,
                }
    }

    /// A command began this turn: where a compaction waits, it is what it asked for.
    pub(super) fn tell_asked_compaction(&mut self, emitter: &mut Emitter) {
        let asked_in = self.place(None);
        if let Some((_, _, place, _)) = &mut self.pending_compaction {
            *place = asked_in;
        }
        self.flush_compaction(emitter);
    }

    pub(super) fn flush_compaction(&mut self, emitter: &mut Emitter) {
        if let Some((id, time_ms, place, compaction)) = self.pending_compaction.take() {
            let now_ms = std::mem::replace(&mut emitter.time_ms, time_ms);
            emitter.add_as(&id, &place, compaction);
            emitter.time_ms = now_ms;
        }
    }
}

/// Whether a `user` line is a command.
fn is_command(line: &Value) -> bool {
    let content = line
        .get("message")
        .and_then(|message| str_of(message, "content"));
    let said = content.map(pieces).unwrap_or_default();
    said.iter().any(|said| matches!(said, Said::Command(_)))
}

/// An error that has no message of its own, as text.
fn error_text(error: &Value) -> String {
    let cause = error.get("cause").and_then(|cause| text_of(cause, "code"));
    match (count_of(error, "status"), cause) {
        (Some(status), _) => format!("API error {status}"),
        (None, Some(code)) => code.to_owned(),
        (None, None) => "API error".to_owned(),
    }
}
