//! Tasks: commands and sub-agents that a call started, and that may outlive it.
//!
//! A call that waits for its task shows the end as progress. One that left it to the background runs until then; besides,
//! the end is told where the main agent learns of it, in the turn that it wakes or in the one that goes on.

use chat_event::payload::Notice;
use chat_event::{Extra, Json};
use serde_json::Value;

use super::{ClaudeStream, progress};
use crate::claude::task_end::TaskEnd;
use crate::emit::{Emitter, Place};
use crate::value::{is_true, str_of, text_of};

/// No agent is left to itself while more tasks end.
const MAX_ENDED: usize = 1000;

/// A task that ended while nothing waited for it.
#[derive(Debug)]
pub(super) struct Ended {
    line_id: String,
    line_no: u64,
    time_ms: i64,
    text: String,
    report: Option<String>,
    call_id: Option<String>,
}

/// What is known of a task.
#[derive(Debug)]
pub(super) struct Known {
    /// What it does, as its end is told of.
    words: String,
    /// The provider's id of the call that began it.
    call_id: Option<String>,
    /// It is the call of a tool of a server, whose result its end tells.
    is_of_server: bool,
}

impl ClaudeStream {
    pub(super) fn task_started(&mut self, line: &Value) {
        let Some(task) = text_of(line, "task_id") else {
            return;
        };
        let what = text_of(line, "description").unwrap_or("");
        let task_type = str_of(line, "task_type").unwrap_or("");
        let kind = match task_type {
            "local_agent" => "Agent",
            _ => "Background task",
        };
        let known = Known {
            words: format!("{kind} \"{what}\""),
            call_id: text_of(line, "tool_use_id").map(str::to_owned),
            is_of_server: task_type == "mcp_task",
        };
        let in_background = is_true(line, "is_backgrounded") || known.is_of_server;
        self.tasks.insert(task, known);
        if in_background {
            self.goes_to_background(task);
        }
    }

    /// The result of the task's call will say no more than that it began.
    fn goes_to_background(&mut self, task: &str) {
        let call_id = self.tasks.get(task).and_then(|known| known.call_id.clone());
        if let Some(call_id) = call_id.filter(|id| self.session.calls.contains_key(id)) {
            let sent = &mut self.session.sent_to_background;
            sent.insert(&call_id, task.to_owned());
        }
    }

    pub(super) fn task_ended(&mut self, emitter: &mut Emitter, line: &Value, place: &Place) {
        let status = str_of(line, "status").unwrap_or("ended");
        let summary = text_of(line, "summary");
        let native = text_of(line, "tool_use_id");
        if let Some(id) = native.filter(|id| self.session.calls.contains_key(*id)) {
            self.session.sent_to_background.remove(id);
            // A short command may be over before its call says that it began.
            self.session.ended_early.insert(id, TaskEnd::of_line(line));
            let text = format!("{status}: {}", summary.unwrap_or(""));
            self.task_progress(emitter, line, place, text);
            return;
        }
        let what = text_of(line, "task_id").and_then(|task| self.tasks.get(task));
        let mut end = TaskEnd::of_line(line);
        if what.is_some_and(|known| known.is_of_server) {
            end.report = end.report.or(end.summary.take());
        }
        self.session.task_ended(emitter, &end);
        // Nobody waits for it: the main agent is woken to hear of it.
        self.woken = true;
        // A report does not say whose it is.
        let is_report = is_true(line, "summary_is_report");
        let what = what.map(|known| &known.words);
        let text = match (what, summary) {
            (_, Some(summary)) if !is_report => summary.to_owned(),
            (Some(what), _) if status == "completed" => format!("{what} finished"),
            (Some(what), _) => format!("{what} {status}"),
            (None, _) => format!("a background task: {status}"),
        };
        let ended = Ended {
            line_id: emitter.line_id().to_owned(),
            line_no: emitter.line_no,
            time_ms: emitter.time_ms,
            text,
            report: summary.filter(|_| is_report).map(str::to_owned),
            call_id: native.map(|id| self.session.call_id(id)),
        };
        if self.ended_tasks.len() == MAX_ENDED {
            self.tell_ended_tasks(emitter);
        }
        self.ended_tasks.push(ended);
    }

    /// What is told of a task beside its notification: one that was stopped may have none.
    pub(super) fn task_updated(&mut self, emitter: &mut Emitter, line: &Value, place: &Place) {
        let patch = line.get("patch").unwrap_or(&Value::Null);
        if is_true(patch, "is_backgrounded")
            && let Some(task) = text_of(line, "task_id")
        {
            self.goes_to_background(task);
        }
        if let Some(error) = text_of(patch, "error") {
            self.task_progress(emitter, line, place, format!("failed: {error}"));
        } else if str_of(patch, "status") == Some("killed") {
            let end = TaskEnd {
                task_id: text_of(line, "task_id").map(str::to_owned),
                status: "killed".to_owned(),
                ..TaskEnd::default()
            };
            self.session.task_ended(emitter, &end);
        } else {
            emitter.pass_over("system/task_updated");
        }
    }

    /// The main agent learns of the tasks that ended.
    pub(super) fn tell_ended_tasks(&mut self, emitter: &mut Emitter) {
        let place = self.session.place(None, None);
        let now_ms = emitter.time_ms;
        for ended in std::mem::take(&mut self.ended_tasks) {
            emitter.time_ms = ended.time_ms;
            let mut notice = Notice {
                level: "info".to_owned(),
                text: ended.text,
                source: Some("task".to_owned()),
                line: Some(ended.line_no),
                extra: Extra::default(),
            };
            if let Some(report) = ended.report {
                notice.extra.insert("report", Json::string(&report));
            }
            if let Some(id) = ended.call_id {
                notice.extra.insert("toolCallId", Json::string(&id));
            }
            emitter.add_as(&format!("{}:notice", ended.line_id), &place, notice);
        }
        emitter.time_ms = now_ms;
    }

    pub(super) fn task_progress(
        &mut self,
        emitter: &mut Emitter,
        line: &Value,
        place: &Place,
        text: String,
    ) {
        let native = text_of(line, "tool_use_id");
        let call_id = native.map(|id| self.session.call_id(id));
        let place = match native {
            Some(_) => Place {
                turn_id: self.session.place(native, None).turn_id,
                ..place.clone()
            },
            None => place.clone(),
        };
        progress(emitter, &place, text, call_id);
    }
}
