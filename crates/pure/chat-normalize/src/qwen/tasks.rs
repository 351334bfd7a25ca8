//! Agents in the background, as which this program runs them unless it is told not to: the result of the call only says that
//! one began, and a notification to the model how it ended.

use std::collections::BTreeMap;

use chat_event::payload::ToolResult;
use chat_event::{Json, Payload};
use serde_json::Value;

use super::QwenChat;
use crate::claude::{TaskEnd, lost_result, task_result};
use crate::emit::Emitter;
use crate::track::Call;
use crate::value::str_of;

/// The calls whose agents are at work in the background, by the provider's ids.
pub(super) type Tasks = BTreeMap<String, Call>;

/// Says of a result that what the call began goes on, where `display`, which is shown of it, says so; whether it does.
pub(super) fn goes_on(display: &Value, result: &mut ToolResult) -> bool {
    let goes_on = str_of(display, "type") == Some("task_execution")
        && str_of(display, "status") == Some("background")
        && result.error.is_none();
    if goes_on {
        result.background = Some(true);
        // What stands there is how the model has to wait for it.
        result.result = Json::string("It works in the background.");
        result.summary = None;
    }
    goes_on
}

impl QwenChat {
    /// An agent began to work in the background.
    pub(super) fn task_began(&mut self, emitter: &mut Emitter, id: &str, call: Call) {
        // Some providers use their ids again.
        if let Some(before) = self.tasks.insert(id.to_owned(), call) {
            lost(emitter, &before);
        }
        emitter.in_background(true);
    }

    /// The file is at its end: nothing tells how those ended that are at work.
    pub(super) fn forget_tasks(&mut self, emitter: &mut Emitter) {
        let tasks = std::mem::take(&mut self.tasks);
        if tasks.is_empty() {
            return;
        }
        for call in tasks.into_values() {
            lost(emitter, &call);
        }
        emitter.in_background(false);
    }

    /// The model was told of a task: `text` is what it was told, `shown` what the user was.
    pub(super) fn told_of_task(&mut self, emitter: &mut Emitter, text: &str, shown: &str) {
        let end = TaskEnd::of_notification(text);
        let id = end.as_ref().and_then(|end| end.call_id.as_deref());
        let call = id.and_then(|id| self.tasks.remove(id));
        if let (Some(end), Some(call)) = (&end, &call) {
            let result = task_result(end, &call.id, true);
            emitter.add_as(&format!("{}:ended", call.id), &call.place, result);
        }
        let place = self.track.place();
        let notice = emitter.notice("info", &place, "qwen", shown.to_owned());
        if let (Payload::Notice(notice), Some(end)) = (&mut notice.payload, &end) {
            notice.extra.insert("notification", Json::string(text));
            // The call as the events name it.
            let id = call.as_ref().map(|call| &call.id);
            if let Some(id) = id.or(end.call_id.as_ref()) {
                notice.extra.insert("toolCallId", Json::string(id));
            }
        }
        if call.is_some() {
            emitter.in_background(!self.tasks.is_empty());
        }
    }
}

/// Nothing tells how it ended.
fn lost(emitter: &mut Emitter, call: &Call) {
    let result = lost_result(&call.id);
    emitter.add_as(&format!("{}:lost", call.id), &call.place, result);
}
