//! What is told of a session beside its talk: compactions, retries, other models, its name, sub-agents.

use chat_event::payload::{Compaction, SessionStart};
use serde_json::{Map, Value};

use super::lines::Line;
use super::{FORMAT, GrokBuild};
use crate::emit::Emitter;
use crate::value::{count_of, keep_others, str_of, text_of};
use crate::words::answers_in_place;

impl GrokBuild {
    pub(super) fn aside(&mut self, emitter: &mut Emitter, line: &Line<'_>) {
        let update = line.update;
        let place = self.run.track.place();
        match line.kind {
            "model_changed" => match text_of(update, "model_id") {
                Some(model) => self.model(emitter, model),
                None => emitter.pass_over("another model without a name"),
            },
            "model_auto_switched" => {
                let now = text_of(update, "new_model_id").unwrap_or("another model");
                let before = text_of(update, "previous_model_id");
                let words = answers_in_place(now, before, text_of(update, "reason"));
                emitter.notice("info", &place, FORMAT, words);
                self.model(emitter, now);
            }
            "session_summary_generated" => self.titled(emitter, text_of(update, "session_summary")),
            "session_info_update" => self.titled(emitter, text_of(update, "title")),
            "retry_state" => match str_of(update, "type") {
                Some("retrying") => {
                    let why = text_of(update, "reason").map(str::to_owned);
                    emitter.retrying(&place, why);
                }
                // That it failed is said by the end of the turn.
                _ => emitter.pass_over("retry_state"),
            },
            "auto_recovery_started" => {
                let why = text_of(update, "error").map(str::to_owned);
                emitter.retrying(&place, why);
            }
            "auto_compact_started" => emitter.busy_with(&place, "compacting"),
            "auto_compact_completed" => {
                let mut compaction = Compaction {
                    trigger: "auto".to_owned(),
                    summary: text_of(update, "summary_preview").map(str::to_owned),
                    tokens_before: count_of(update, "tokens_before"),
                    ..Compaction::default()
                };
                let told = ["sessionUpdate", "summary_preview", "tokens_before"];
                keep_others(&mut compaction.extra, update, &told);
                emitter.add("compaction", &place, compaction);
            }
            "auto_compact_failed" | "auto_recovery_exhausted" => {
                let why = text_of(update, "error").unwrap_or(line.kind);
                emitter.notice("warning", &place, FORMAT, why);
            }
            "image_compressed" => match text_of(update, "message") {
                Some(words) => {
                    emitter.notice("info", &place, FORMAT, words);
                }
                None => emitter.pass_over(line.kind),
            },
            "hook_annotation" => match text_of(update, "message") {
                Some(words) => {
                    emitter.notice("info", &place, "hook", words);
                }
                None => emitter.pass_over(line.kind),
            },
            // The call that started it says the same; its own work is in its own file.
            "subagent_spawned" | "subagent_progress" | "subagent_finished" => {
                emitter.pass_over(line.kind);
            }
            _ if is_of_the_program(line.kind) => emitter.pass_over(line.kind),
            _ => emitter.raw(&place, FORMAT, &format!("update {}", line.kind), update),
        }
    }

    fn titled(&mut self, emitter: &mut Emitter, title: Option<&str>) {
        let facts = SessionStart {
            title: title.map(str::to_owned),
            ..SessionStart::default()
        };
        self.run.facts(emitter, facts, Map::<String, Value>::new());
    }
}

/// Whether an update is about the program and its windows, or says what others say.
fn is_of_the_program(kind: &str) -> bool {
    matches!(
        kind,
        "available_commands_update"
            | "current_mode_update"
            | "config_option_update"
            | "usage_update"
            | "hook_execution"
            | "hooks_changed"
            | "plugins_changed"
            | "plugin_updates_installed"
            | "compaction_checkpoint"
            | "auto_compact_cancelled"
            | "auto_continue_completed"
            | "feedback_request"
            | "relay_sync_status"
            | "session_recap"
            | "session_recap_unavailable"
            | "last_turn_summary"
            | "memory_flush_started"
            | "memory_flush_completed"
            | "memory_dream_completed"
            | "memory_session_saved"
            | "memory_files"
            | "tool_call_delta_chunk"
            | "response_started"
            | "response_completed"
            | "reasoning_completed"
    )
}
