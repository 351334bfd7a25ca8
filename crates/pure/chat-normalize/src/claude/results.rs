//! Tool results: paired with their calls, with exit code, summary, and what they changed.
//!
//! `is_error` alone says whether a call failed; it is absent where it did not. The sibling of the message
//! (`tool_use_result`, in transcripts `toolUseResult`) is an object on success, a string on failure, an array for MCP
//! content, and absent before 2.0 and for sub-agents.
//!
//! What is read of a result itself is in `read`.

mod read;

use chat_event::payload::{ToolError, ToolResult};
use chat_event::{Extra, Json};
use serde_json::{Value, json};

use super::session::{Call, Session};
use super::task_end::TaskEnd;
use super::{edits, tools};
use crate::anthropic::server_tools;
use crate::emit::{Emitter, Place, cut};
use crate::value::{count_of, is_true, text_of};
pub(super) use read::is_refusal;
use read::{error_code, exit_code, meta_of, result_json, short_details, without_error_tags};
pub(crate) use read::{is_of_lost_call, text_of_content};

/// The longest error text; the whole stands in the result.
const MAX_ERROR_BYTES: usize = 2000;

impl Session {
    /// A `tool_result` block. `details` is what stands beside the message, `line` the line that says more of the call.
    pub(crate) fn tool_result(
        &mut self,
        emitter: &mut Emitter,
        place: &Place,
        block: &Value,
        details: Option<&Value>,
        line: Option<&Value>,
    ) {
        let Some(native_id) = text_of(block, "tool_use_id") else {
            emitter.raw(place, self.format, "tool_result without an id", block);
            return;
        };
        if self.is_taken_back(native_id) {
            emitter.pass_over("tool_result of a call that was taken back");
            return;
        }
        let native_id = native_id.to_owned();
        let call = self.take_call(&native_id);
        if call.is_none() && self.is_finished(&native_id) {
            emitter.raw(place, self.format, "second tool_result", block);
            return;
        }
        if let Some(call) = call.as_ref().filter(|call| !call.announced) {
            let args = serde_json::from_str(&call.input)
                .unwrap_or_else(|_| Value::String(call.input.clone()));
            self.write_call(emitter, call, &args, "call");
        }
        let unknown;
        let call = match &call {
            Some(call) => call,
            None => {
                unknown = Call::unknown(self.call_id(&native_id), place.clone(), emitter.time_ms);
                &unknown
            }
        };
        let content = block.get("content").unwrap_or(&Value::Null);
        let text =
            server_tools::text_of_result(content).unwrap_or_else(|| text_of_content(content));
        let failed = is_true(block, "is_error") || server_tools::error_of(content).is_some();
        let mut meta = line.map_or(Value::Null, |line| meta_of(line, &native_id));
        // In a stream a person refuses what a request asks; before 2.1.330 a call that was stopped says the same.
        let cut_off = self.format == super::stream::FORMAT
            && meta.get("non_execution_kind").is_none()
            && is_refusal(&text)
            && !self.asks.is_known(&call.id);
        let stopped = self
            .asks
            .settle(emitter, call, failed, &text, details, &meta);
        if stopped || cut_off {
            meta = json!({"non_execution_kind": "interrupted"});
        }
        if is_of_lost_call(&text) {
            let turn_id = call.place.turn_id.as_ref();
            let mut turns = self.turns.iter_mut();
            if let Some(turn) = turns.find(|turn| Some(&turn.id) == turn_id) {
                turn.interrupted = true;
            }
        }
        let task = self.left_running(&native_id, call, failed, details);
        let goes_on = task.is_some();
        self.write_result(
            emitter,
            call,
            content,
            &text,
            (failed, goes_on),
            details,
            &meta,
        );
        if !failed {
            self.after_success(emitter, call, details, &text);
        }
        let ended_early = self.ended_early.remove(&native_id);
        if let Some(task) = task {
            let is_bare =
                details.is_some_and(|details| tools::says_only_that_it_runs(&call.name, details));
            self.leave_running(emitter, task, &native_id, call, is_bare);
            if let Some(end) = ended_early {
                self.task_ended(emitter, &end);
            }
        } else if let Some(end) = details.and_then(TaskEnd::of_details) {
            self.task_ended(emitter, &end);
        }
    }

    /// The task that goes on behind the result of `call`, where its end will be told.
    fn left_running(
        &mut self,
        native_id: &str,
        call: &Call,
        failed: bool,
        details: Option<&Value>,
    ) -> Option<String> {
        let sent = self.sent_to_background.remove(native_id);
        if failed {
            return None;
        }
        let details = details.unwrap_or(&Value::Null);
        let is_command = text_of(details, "backgroundTaskId").is_some();
        let left = tools::task_left_by(&call.name, details).map(str::to_owned);
        left.or(sent).filter(|_| !is_command || !self.hides_ends)
    }

    #[allow(clippy::too_many_arguments)]
    fn write_result(
        &mut self,
        emitter: &mut Emitter,
        call: &Call,
        content: &Value,
        text: &str,
        (failed, goes_on): (bool, bool),
        details: Option<&Value>,
        meta: &Value,
    ) {
        let exit_code =
            server_tools::exit_code_of(content).or_else(|| exit_code(call, text, failed, details));
        let about = details.unwrap_or(&Value::Null);
        let report = match goes_on {
            // Where its details do not say that it began, what it gave may be more than that.
            true => tools::task_left_by(&call.name, about)
                .map(|_| tools::said_at_launch(&call.name, about)),
            false => details
                .filter(|_| !failed)
                .and_then(|details| tools::report_of_agent(&call.name, details)),
        };
        let output_path = tools::output_path(text).filter(|_| goes_on);
        let text = report.as_deref().unwrap_or(text);
        let error = failed.then(|| ToolError {
            code: server_tools::error_of(content)
                .or_else(|| error_code(meta, text, exit_code))
                .map(str::to_owned),
            message: cut(without_error_tags(text), MAX_ERROR_BYTES).to_owned(),
            extra: Extra::default(),
        });
        let mut result = ToolResult {
            tool_call_id: call.id.clone(),
            result: match server_tools::text_of_result(content) {
                Some(text) => Json::from(Value::from(text)),
                None if report.is_some() => Json::string(text),
                None => result_json(content, text),
            },
            error,
            summary: server_tools::summary_of_result(content).or_else(|| {
                tools::summary(&call.name, &call.args, details, text, failed, exit_code)
            }),
            duration_ms: self
                .duration_ms(emitter, call, details)
                .filter(|_| !(goes_on || failed && is_of_lost_call(text))),
            exit_code,
            background: goes_on.then_some(true),
            ..ToolResult::default()
        };
        if let Some(path) = output_path {
            result.extra.insert("outputPath", Json::string(path));
        }
        if let Some(details) = details.and_then(short_details) {
            result.extra.insert("details", details);
        }
        emitter.add_as(&format!("{}:result", call.id), &call.place, result);
    }

    fn after_success(
        &mut self,
        emitter: &mut Emitter,
        call: &Call,
        details: Option<&Value>,
        text: &str,
    ) {
        if let Some(edit) = self.edits().file_edit(call, details, text) {
            emitter.add_as(&format!("{}:edit", call.id), &call.place, edit);
        }
        if let Some(plan) = self.tasks.after(call, details) {
            emitter.add_as(&format!("{}:plan", call.id), &call.place, plan);
        }
    }

    fn edits(&mut self) -> edits::Edits<'_> {
        edits::Edits {
            cwd: self.facts.cwd(),
            empty_files: &mut self.empty_files,
        }
    }

    /// What the source says, else the time between call and result where both are the source's.
    fn duration_ms(&self, emitter: &Emitter, call: &Call, details: Option<&Value>) -> Option<u64> {
        let said = details.and_then(|details| {
            count_of(details, "durationMs")
                .or_else(|| count_of(details, "totalDurationMs"))
                .or_else(|| {
                    count_of(details, "durationSeconds").map(|seconds| seconds.saturating_mul(1000))
                })
        });
        said.or_else(|| {
            let known = self.has_times && !call.name.is_empty();
            known.then(|| emitter.since(call.called_ms)).flatten()
        })
    }
}
