//! What a call begins that has lines of its own: sub-agents, each with a log of its own, and what goes on in the background.
//!
//! | line | what it gives |
//! |---|---|
//! | `subagent.spawned` | `progress` of the call, that names the agent: its log belongs there |
//! | `task.started`, then the result of its call | a result that says that it goes on |
//! | `task.terminated` | the call's second result: how it ended |
//!
//! `subagent.completed` and the like say what results say.

use std::collections::BTreeMap;

use chat_event::payload::{Progress, ToolResult};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::Kimi;
use crate::claude::lost_result;
use crate::emit::Emitter;
use crate::track::{Call, tool_error};
use crate::value::{count_of, str_of, text_of};
use crate::words::printed;

/// So many go on at once at most; of others it is not told how they ended.
const MOST_TASKS: usize = 1000;

/// What goes on in the background.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    /// By the source's names; the call has its result once it is kept here whole.
    running: BTreeMap<String, Task>,
}

#[derive(Debug)]
struct Task {
    /// The call that began it, as this log names it.
    of: String,
    is_agent: bool,
    /// Once its first result came.
    call: Option<Call>,
}

impl Tasks {
    /// Whether the call began something that runs.
    pub(super) fn goes_on(&self, call: &str) -> bool {
        self.running
            .values()
            .any(|task| task.of == call && task.call.is_none())
    }

    fn any_agent(&self) -> bool {
        let mut left = self.running.values();
        left.any(|task| task.is_agent && task.call.is_some())
    }
}

impl Kimi {
    /// `subagent.spawned`.
    pub(super) fn spawned(&mut self, emitter: &mut Emitter, line: &Value) {
        let agent = text_of(line, "subagentId");
        let call = text_of(line, "parentToolCallId").map(|call| self.own(call));
        let call = call.and_then(|call| self.track.waiting(&call));
        let (Some(agent), Some(call)) = (agent, call) else {
            return emitter.pass_over("subagent.spawned without a call");
        };
        let named = [text_of(line, "subagentName"), text_of(line, "description")];
        let named: Vec<&str> = named.into_iter().flatten().collect();
        let mut extra = Extra::default();
        extra.insert("agentId", Json::string(agent));
        let progress = Progress {
            message: match named.is_empty() {
                true => agent.to_owned(),
                false => named.join(": "),
            },
            tool_call_id: Some(call.id.clone()),
            extra,
            ..Progress::default()
        };
        // One that goes on for another call is spawned there once more.
        let id = format!("{}:{agent}", call.id);
        let place = call.place.clone();
        emitter.add_as(&id, &place, progress);
    }

    /// `task.started`.
    pub(super) fn task_began(&mut self, emitter: &mut Emitter, line: &Value) {
        let info = line.get("info").unwrap_or(&Value::Null);
        let call = text_of(info, "parentToolCallId").map(|call| self.own(call));
        let call = call.filter(|call| self.track.waiting(call).is_some());
        if let (Some(task), Some(of)) = (text_of(info, "taskId"), call)
            && self.tasks.running.len() < MOST_TASKS
        {
            let task_of = Task {
                of,
                is_agent: str_of(info, "kind") == Some("agent"),
                call: None,
            };
            self.tasks.running.insert(task.to_owned(), task_of);
        }
        emitter.pass_over("task.started");
    }

    /// The call has its first result, which says that what it began `goes_on`, or that it does not.
    pub(super) fn task_left(&mut self, emitter: &mut Emitter, id: &str, call: Call, goes_on: bool) {
        let running = &mut self.tasks.running;
        if !goes_on {
            running.retain(|_, task| task.of != id || task.call.is_some());
            return;
        }
        let mut of_call = running.values_mut();
        let task = of_call.find(|task| task.of == id && task.call.is_none());
        if let Some(task) = task {
            task.call = Some(call);
            if task.is_agent {
                emitter.in_background(true);
            }
        }
    }

    /// `task.terminated`.
    pub(super) fn task_ended(&mut self, emitter: &mut Emitter, line: &Value) {
        let info = line.get("info").unwrap_or(&Value::Null);
        let task = text_of(info, "taskId").and_then(|task| self.tasks.running.remove(task));
        // One that ends before its call has a result is told by that.
        let Some((call, is_agent)) = task.and_then(|task| Some((task.call?, task.is_agent))) else {
            return emitter.pass_over("the end of a task that no call left");
        };
        let output = text_of(line, "outputTail").unwrap_or("");
        let status = str_of(info, "status").unwrap_or("completed");
        let exit_code = info.get("exitCode").and_then(Value::as_i64);
        let why = text_of(info, "error").or_else(|| text_of(info, "reason"));
        let error = |code: &str| {
            let words = format!("the task is {}", status.replace('_', " "));
            tool_error(code, why.unwrap_or(&words))
        };
        let started_ms = count_of(info, "startedAt");
        let ended_ms = count_of(info, "endedAt");
        let result = ToolResult {
            tool_call_id: call.id.clone(),
            result: match output {
                // What it printed before stays.
                "" => Json::default(),
                output => Json::string(output),
            },
            error: match status {
                "completed" => None,
                "killed" | "cancelled" => Some(error("interrupted")),
                "timed_out" => Some(error("timeout")),
                _ => Some(error(match exit_code {
                    Some(code) if code != 0 => "exit_code",
                    _ => "failed",
                })),
            },
            summary: printed(output).filter(|_| status == "completed"),
            exit_code,
            duration_ms: started_ms
                .zip(ended_ms)
                .and_then(|(started, ended)| ended.checked_sub(started)),
            background: Some(false),
            ..ToolResult::default()
        };
        emitter.add_as(&format!("{}:ended", call.id), &call.place, result);
        if is_agent {
            emitter.in_background(self.tasks.any_agent());
        }
    }

    /// The log is at its end: nothing tells how those ended that go on.
    pub(super) fn forget_tasks(&mut self, emitter: &mut Emitter) {
        let any_agent = self.tasks.any_agent();
        for task in std::mem::take(&mut self.tasks.running).into_values() {
            if let Some(call) = task.call {
                let result = lost_result(&call.id);
                emitter.add_as(&format!("{}:lost", call.id), &call.place, result);
            }
        }
        if any_agent {
            emitter.in_background(false);
        }
    }
}
