//! Calls, and what they gave.
//!
//! In the store the result is what the tool answered, `{type, structured_content, content, _meta}`, with a command's
//! `returncode`; printed it is what the program makes of that, a file's content or `stdout` and `stderr`, without the code.

use std::collections::BTreeMap;

use chat_event::Json;
use chat_event::payload::ToolResult;
use serde_json::Value;

use super::output::{Output, error_of};
use super::talk::{Talk, created_ms, updated_ms};
use super::{FORMAT, edits, tools};
use crate::emit::{Emitter, Place};
use crate::tool;
use crate::track::NewCall;
use crate::value::{list_of, millis_of_rfc3339, str_of, text_of};
use crate::words::{one_line, printed};

/// So many commands in the background are known.
const MOST_PROCESSES: usize = 10_000;

/// Commands in the background, by the ids of the calls that started them.
#[derive(Debug, Default)]
pub(super) struct Processes(BTreeMap<String, Process>);

#[derive(Debug)]
enum Process {
    /// It runs; its call's id in the events, and where that stands.
    Runs(String, Place),
    /// It was over before its call was.
    Over(Option<i64>),
}

impl Talk {
    /// A call as it is now.
    pub(super) fn effect(&mut self, emitter: &mut Emitter, id: &str, entry: &Value) {
        // Ids of calls are made of the model's own, which may come again in another turn.
        let own = format!("{} {id}", str_of(entry, "turnId").unwrap_or(""));
        if self.over.contains(&own) {
            emitter.report.repeated += 1;
            return;
        }
        if self.run.track.waiting(id).is_none() {
            self.call(emitter, id, entry);
        }
        let state = entry.get("state").unwrap_or(&Value::Null);
        let status = str_of(state, "status").unwrap_or("");
        if matches!(status, "pending" | "running" | "blocked") || !self.waits(id) {
            return;
        }
        self.run.at(emitter, updated_ms(entry));
        self.over.insert(&own, ());
        self.gave(emitter, id, entry, state);
        self.worked(status == "cancelled");
    }

    fn waits(&self, id: &str) -> bool {
        self.run.track.waiting(id).is_some()
    }

    fn call(&mut self, emitter: &mut Emitter, id: &str, entry: &Value) {
        if !self.is_here(emitter, text_of(entry, "turnId")) {
            let place = self.place();
            return emitter.raw(&place, FORMAT, "a call of a turn that is over", entry);
        }
        let detail = entry.get("detail").unwrap_or(&Value::Null);
        let name = text_of(detail, "toolName").or_else(|| text_of(entry, "title"));
        let name = name.unwrap_or("");
        let args = detail.get("input").unwrap_or(&Value::Null);
        let answer = self.answer_at(emitter, created_ms(entry));
        let new = NewCall {
            id,
            response_id: &answer,
            name,
            args,
            title: tools::title(name, args).or_else(|| said_of(detail, "summary")),
            kind: tools::kind(name, str_of(detail, "kind")),
        };
        self.run.track.call(emitter, new);
        self.worked(false);
    }

    fn gave(&mut self, emitter: &mut Emitter, id: &str, entry: &Value, state: &Value) {
        let detail = entry.get("detail").unwrap_or(&Value::Null);
        let name = str_of(detail, "toolName").unwrap_or("").to_owned();
        let output = Output::of(state);
        let mut text = output.text(state);
        if text.is_empty() && str_of(detail, "kind") == Some("subagent") {
            // What it started, which works on.
            text = said_of(state, "message").unwrap_or_default();
        }
        let status = str_of(state, "status").unwrap_or("");
        let exit_code = output.number("returncode");
        let error = error_of(state, status, &text, exit_code, &output);
        let mut extra = output.attached();
        if let Some(child) = text_of(detail, "childSessionId") {
            extra.insert("childSession", Json::string(child));
        }
        let mut result = ToolResult {
            summary: match error {
                Some(_) => None,
                None => printed(&text),
            },
            result: Json::string(&text),
            error,
            exit_code,
            extra,
            ..ToolResult::default()
        };
        let is_started = name == "process.start" && output.word("status") == Some("running");
        if is_started {
            self.started(id, &mut result);
        }
        let failed = result.error.is_some();
        let Some(call) = self.run.track.result(emitter, id, result) else {
            return;
        };
        if failed {
            return;
        }
        let cwd = self.run.track.facts.cwd();
        if let Some(edit) = edits::edit(&call, &output, cwd.as_deref()) {
            self.run.track.edit(emitter, &call, edit);
        }
        if name == "vibe.todo" {
            let listed = output.value.get("todos").unwrap_or(&Value::Null);
            let is_written = listed.is_array() && str_of(&call.args, "action") != Some("read");
            if is_written {
                let plan = tool::todo_list(list_of(output.value, "todos"), "content");
                emitter.add_as(&format!("{}:plan", call.id), &call.place, plan);
            }
        }
    }

    /// A command runs in the background, unless it is over by now.
    fn started(&mut self, id: &str, result: &mut ToolResult) {
        if let Some(Process::Over(exit_code)) = self.processes.0.remove(id) {
            result.exit_code = exit_code;
            return;
        }
        let Some(call) = self.run.track.waiting(id) else {
            return;
        };
        if self.processes.0.len() < MOST_PROCESSES {
            let runs = Process::Runs(call.id.clone(), call.place.clone());
            self.processes.0.insert(id.to_owned(), runs);
            result.background = Some(true);
        }
    }

    /// A command in the background is in another state.
    pub(super) fn process(&mut self, emitter: &mut Emitter, process: &Value) {
        let Some(ended_ms) = text_of(process, "finished_at").and_then(millis_of_rfc3339) else {
            return emitter.pass_over("a command in the background that runs");
        };
        let id = format!(
            "effect-{}",
            str_of(process, "start_action_id").unwrap_or("")
        );
        let exit_code = process.get("exit_code").and_then(Value::as_i64);
        match self.processes.0.remove(&id) {
            Some(Process::Runs(call_id, place)) => {
                self.run.at(emitter, Some(ended_ms));
                let failed = exit_code.filter(|code| *code != 0);
                let result = ToolResult {
                    tool_call_id: call_id.clone(),
                    error: failed
                        .map(|code| tool::error(Some("exit_code"), &format!("exit code {code}"))),
                    exit_code,
                    background: Some(false),
                    ..ToolResult::default()
                };
                emitter.add_as(&format!("{call_id}:over"), &place, result);
            }
            _ if self.processes.0.len() < MOST_PROCESSES => {
                self.processes.0.insert(id, Process::Over(exit_code));
            }
            _ => emitter.pass_over("the end of a command in the background"),
        }
    }

    /// An entry is gone: the program takes away calls that it gave up.
    pub(super) fn removed(&mut self, emitter: &mut Emitter, id: &str) {
        let Some(call) = self.run.track.waiting(id) else {
            return emitter.pass_over("an entry that was taken away");
        };
        let result = tool::unanswered(&call.id, true);
        self.run.track.result(emitter, id, result);
        self.worked(true);
    }
}

/// A word of the program about a call, or about what it gave.
fn said_of(detail: &Value, key: &str) -> Option<String> {
    let display = detail.get("display")?;
    text_of(display, key).map(one_line)
}
