//! How a run ends: what it handed in, what it cost, and why it failed.

use chat_event::payload::{ErrorEvent, ToolResult, Usage};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::MiniSweAgent;
use crate::emit::Emitter;
use crate::patch::edits_of_patch;
use crate::track::ended;
use crate::value::{amount_of, str_of, text_of};
use crate::words::printed;

impl MiniSweAgent {
    /// The turn is over; what handed in gave `submission`.
    pub(super) fn end(&mut self, emitter: &mut Emitter, info: &Value, messages: &[Value]) {
        let status = text_of(info, "exit_status");
        let submission = str_of(info, "submission").unwrap_or("");
        self.submission(emitter, submission, status == Some("Submitted"));
        self.cost(emitter, info);
        let outcome = match status {
            Some("Submitted") => "completed",
            Some(status) => {
                self.error(emitter, status, messages);
                "failed"
            }
            // It runs yet, or was killed.
            None => "interrupted",
        };
        self.close(emitter, outcome);
    }

    /// What was handed in is the result of the call that did, and its patch the run's edits.
    fn submission(&mut self, emitter: &mut Emitter, submission: &str, is_submitted: bool) {
        let submitted_by = self.submits.clone().unwrap_or_default();
        if is_submitted {
            let result = ToolResult {
                result: Json::string(submission),
                summary: printed(submission),
                ..ToolResult::default()
            };
            self.track.result(emitter, &submitted_by, result);
        }
        if submission.contains("diff --git ") {
            let place = self.track.place();
            for edit in edits_of_patch(&submitted_by, submission) {
                emitter.add_as("run:edit", &place, edit);
            }
        }
    }

    /// What the run cost, where its answers did not say what each did.
    fn cost(&self, emitter: &mut Emitter, info: &Value) {
        let stats = info.get("model_stats").unwrap_or(&Value::Null);
        let cost = amount_of(stats, "instance_cost").filter(|cost| *cost > 0.0);
        if cost.is_some() && !self.has_costs {
            let usage = Usage {
                scope: "turn".to_owned(),
                cost_usd: cost,
                ..Usage::default()
            };
            emitter.add_as("run:usage", &self.track.place(), usage);
        }
    }

    /// What ended the run before it could hand in.
    fn error(&self, emitter: &mut Emitter, status: &str, messages: &[Value]) {
        let exit = messages
            .last()
            .filter(|it| str_of(it, "role") == Some("exit"));
        let extra = exit.and_then(|exit| exit.get("extra"));
        let why = extra.and_then(|extra| text_of(extra, "exception_str"));
        let error = ErrorEvent {
            code: status.to_owned(),
            message: why.map_or_else(|| format!("the run ended with {status}"), str::to_owned),
            extra: Extra::default(),
        };
        emitter.add_as("run:error", &self.track.place(), error);
    }

    pub(super) fn close(&mut self, emitter: &mut Emitter, outcome: &str) {
        // A task was added when it would have handed in.
        let submits = self.submits.take();
        if let Some(id) = submits.filter(|_| std::mem::take(&mut self.has_submitted)) {
            let result = ToolResult {
                result: Json::string(""),
                ..ToolResult::default()
            };
            self.track.result(emitter, &id, result);
        }
        self.waits.clear();
        self.track.close_turn(emitter, ended(outcome));
    }
}
