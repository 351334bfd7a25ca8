//! What stands beside the talk in a task: what calls give, compactions, failures, words of the program.

use chat_event::Extra;
use chat_event::payload::{Compaction, ErrorEvent};
use serde_json::Value;

use super::FORMAT;
use super::lines::Message;
use super::said::image;
use super::task::ClineTask;
use crate::emit::Emitter;
use crate::value::{amount_of, count_of, is_true, list_of, str_of, text_of};

impl ClineTask {
    /// Something that the newest call gives.
    pub(super) fn gives(&mut self, emitter: &mut Emitter, message: &Message<'_>) -> bool {
        let text = message.text;
        match message.kind {
            "mcp_server_response" => {
                let images = list_of(message.value, "images").iter();
                let images = images.filter_map(Value::as_str).map(image);
                self.calls
                    .gave(text, images.collect(), text.starts_with("Error:"))
            }
            "browser_action_result" => {
                let told = message.json();
                let shot = text_of(&told, "screenshot").map(image);
                let lines = ["currentUrl", "logs"].map(|key| text_of(&told, key));
                let lines: Vec<&str> = lines.into_iter().flatten().collect();
                self.calls
                    .gave(&lines.join("\n"), shot.into_iter().collect(), false)
            }
            "subagent" => {
                let told = message.json();
                let items = list_of(&told, "items").iter();
                let texts = items
                    .filter_map(|item| text_of(item, "result").or_else(|| text_of(item, "error")));
                let texts: Vec<&str> = texts.collect();
                match str_of(&told, "status") {
                    Some("running") => true,
                    status => {
                        let failed = status == Some("failed");
                        self.calls.gave(&texts.join("\n\n"), Vec::new(), failed)
                    }
                }
            }
            "codebase_search_result" | "subtask_result" => self.calls.gave(text, Vec::new(), false),
            _ => return false,
        };
        emitter.pass_over("what a call gave");
        true
    }

    pub(super) fn compacts(&mut self, emitter: &mut Emitter, message: &Message<'_>) -> bool {
        let told = message.json();
        let beside = |key: &str| message.value.get(key).unwrap_or(&Value::Null).clone();
        let (about, trigger) = match message.kind {
            "condense_context" => (beside("contextCondense"), "auto"),
            "sliding_window_truncation" => (beside("contextTruncation"), "auto"),
            "compaction" if matches!(str_of(&told, "status"), Some("completed")) => {
                let is_manual = str_of(&told, "mode") == Some("manual");
                (told, if is_manual { "manual" } else { "auto" })
            }
            "condense" | "summarize_task" => (Value::Null, "auto"),
            _ => return false,
        };
        let text = Some(message.text).filter(|text| !text.is_empty() && about.is_null());
        let payload = Compaction {
            trigger: trigger.to_owned(),
            summary: text_of(&about, "summary").or(text).map(str::to_owned),
            tokens_before: count_of(&about, "prevContextTokens")
                .or_else(|| count_of(&about, "tokensBefore")),
            extra: Extra::default(),
        };
        let place = self.run.track.place();
        emitter.add("compaction", &place, payload);
        self.spend(emitter, "condensing", amount_of(&about, "cost"));
        true
    }

    /// A request failed, or is made again.
    pub(super) fn fails(&mut self, emitter: &mut Emitter, message: &Message<'_>) -> bool {
        let place = self.run.track.place();
        match message.kind {
            "api_req_failed" => {
                self.outcome = "failed";
                let error = ErrorEvent {
                    code: "api_req_failed".to_owned(),
                    message: message.text.to_owned(),
                    extra: Extra::default(),
                };
                emitter.add("error", &place, error);
            }
            // Behind a retry that was told it says the same.
            "api_req_retried" if self.outcome != "failed" => emitter.pass_over(message.kind),
            "api_req_retried" => {
                self.outcome = "interrupted";
                emitter.retrying(&place, None);
            }
            "error_retry" if !is_true(&message.json(), "failed") => {
                let told = message.json();
                let count = |key| count_of(&told, key).unwrap_or(0);
                let why = text_of(&told, "errorMessage").map(|why| format!(": {why}"));
                let (n, of) = (count("attempt"), count("maxAttempts"));
                let text = format!("attempt {n} of {of}{}", why.unwrap_or_default());
                emitter.retrying(&place, Some(text));
            }
            "error_retry" => {
                self.outcome = "failed";
                emitter.pass_over("the end of retries");
            }
            "api_req_retry_delayed" if !message.grows => {
                let text = message.text.split("<retry_timer>").next().unwrap_or("");
                emitter.retrying(
                    &place,
                    Some(text.trim().to_owned()).filter(|it| !it.is_empty()),
                );
            }
            _ => return false,
        }
        true
    }

    /// What the program says beside the work.
    pub(super) fn tells(&mut self, emitter: &mut Emitter, message: &Message<'_>) -> bool {
        let level = match message.kind {
            "error"
            | "diff_error"
            | "clineignore_error"
            | "rooignore_error"
            | "command_permission_denied" => {
                self.calls.fail(message.text);
                "warning"
            }
            "shell_integration_warning"
            | "shell_integration_warning_with_suggestion"
            | "condense_context_error"
            | "too_many_tools_warning" => "warning",
            "info" | "mcp_notification" | "auto_approval_max_req_reached" => "info",
            "user_feedback_diff" => {
                let told = message.json();
                let path = str_of(&told, "path").unwrap_or("a file");
                let diff = str_of(&told, "diff").unwrap_or("");
                let text = format!("The user changed {path} before it was saved:\n{diff}");
                emitter.notice("info", &self.run.track.place(), FORMAT, text);
                return true;
            }
            "deleted_api_reqs" | "subagent_usage" => {
                let cost = amount_of(&message.json(), "cost");
                self.spend(emitter, message.kind, cost);
                return true;
            }
            "checkpoint_created"
            | "checkpoint_saved"
            | "mcp_server_request_started"
            | "api_req_retry_delayed"
            | "api_req_rate_limit_wait"
            | "api_req_deleted"
            | "compaction"
            | "hook_status"
            | "hook_output_stream"
            | "conditional_rules_applied" => {
                emitter.pass_over(message.kind);
                return true;
            }
            _ => return false,
        };
        let text = match message.text {
            "" => message.kind.replace('_', " "),
            text => text.to_owned(),
        };
        emitter.notice(level, &self.run.track.place(), FORMAT, text);
        true
    }
}
