//! Tasks: commands and sub-agents that a call started, and that may outlive it.
//!
//! A call that waits for its task shows the end as progress. One that left it to the background shows nothing more: the
//! end is told where the main agent learns of it, in the turn that it wakes or in the one that goes on.

use chat_event::payload::Notice;
use chat_event::{Extra, Json};
use serde_json::Value;

use super::{ClaudeStream, progress};
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

impl ClaudeStream {
    pub(super) fn task_started(&mut self, line: &Value) {
        if let (Some(task), Some(what)) = (text_of(line, "task_id"), text_of(line, "description")) {
            let is_agent = str_of(line, "task_type") == Some("local_agent");
            let kind = if is_agent { "Agent" } else { "Background task" };
            self.tasks.insert(task, format!("{kind} \"{what}\""));
        }
    }

    pub(super) fn task_ended(&mut self, emitter: &mut Emitter, line: &Value, place: &Place) {
        let status = str_of(line, "status").unwrap_or("ended");
        let summary = text_of(line, "summary");
        let native = text_of(line, "tool_use_id");
        if native.is_some_and(|id| self.session.calls.contains_key(id)) {
            let text = format!("{status}: {}", summary.unwrap_or(""));
            self.task_progress(emitter, line, place, text);
            return;
        }
        // Nobody waits for it: the main agent is woken to hear of it.
        self.woken = true;
        // A report does not say whose it is.
        let is_report = is_true(line, "summary_is_report");
        let what = text_of(line, "task_id").and_then(|task| self.tasks.get(task));
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
