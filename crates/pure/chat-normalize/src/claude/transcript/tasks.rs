//! Tasks: commands and sub-agents that a call left running. The session rests when they and its turns are over.
//!
//! | line | task |
//! |---|---|
//! | a result with `backgroundTaskId` (not before 2.1: no end is told), or with `async_launched` and `agentId` | one runs |
//! | a result with `task_id` or `shell_id`: it was stopped | it ended |
//! | a result with `task.status` or `shellId` and `status`, which does not say that it runs | it ended |
//! | a notification, as a user's line or as an attachment | it ended |
//! | `cost-state`; a line in place of an answer that was cut off | all ended with the program |

use serde_json::Value;

use super::ClaudeTranscript;
use crate::emit::Emitter;
use crate::value::{str_of, text_of};

impl ClaudeTranscript {
    /// What the details of a main agent's result tell of tasks.
    pub(super) fn note_tasks(
        &mut self,
        emitter: &mut Emitter,
        line: &Value,
        details: Option<&Value>,
    ) {
        // Nobody waits in the file of a sub-agent.
        let Some(details) = details.filter(|_| self.own_agent.is_none()) else {
            return;
        };
        let agent = text_of(details, "agentId")
            .filter(|_| str_of(details, "status") == Some("async_launched"));
        let version = text_of(line, "version").unwrap_or("");
        let tells_ends = !["0.", "1.", "2.0."]
            .iter()
            .any(|old| version.starts_with(old));
        let command = text_of(details, "backgroundTaskId");
        let ended = text_of(details, "task_id")
            .or_else(|| text_of(details, "shell_id"))
            .or_else(|| fetched(details.get("task").unwrap_or(&Value::Null), "task_id"))
            .or_else(|| fetched(details, "shellId"));
        if let Some(task) = command.filter(|_| tells_ends).or(agent) {
            self.tasks.insert(task.to_owned());
            emitter.in_background(true);
        } else if let Some(task) = ended {
            self.forget_task(emitter, task);
        }
    }

    /// A notification tells that a task ended.
    pub(crate) fn task_ended(&mut self, emitter: &mut Emitter, notification: &str) {
        let task = notification
            .split_once("<task-id>")
            .and_then(|(_, rest)| rest.split_once("</task-id>"));
        if let Some((task, _)) = task {
            self.forget_task(emitter, task.trim());
        }
    }

    /// The program ended, and with it what it ran.
    pub(super) fn forget_tasks(&mut self, emitter: &mut Emitter) {
        self.tasks.clear();
        emitter.in_background(false);
    }

    fn forget_task(&mut self, emitter: &mut Emitter, task: &str) {
        if self.tasks.remove(task) {
            emitter.in_background(!self.tasks.is_empty());
        }
    }
}

/// The task whose output was fetched, where it does not run any more.
fn fetched<'a>(told: &'a Value, id: &str) -> Option<&'a str> {
    let runs = matches!(text_of(told, "status"), None | Some("running" | "pending"));
    text_of(told, id).filter(|_| !runs)
}
