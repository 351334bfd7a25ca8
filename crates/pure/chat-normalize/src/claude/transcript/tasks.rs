//! Tasks: commands and sub-agents that a call left running. The session rests when they and its turns are over.
//!
//! | line | task |
//! |---|---|
//! | a result with `backgroundTaskId`, or with `async_launched` and `agentId` | one runs |
//! | a result with `task_id` or `shell_id`: it was stopped | it ended |
//! | a notification, as a user's line or as an attachment | it ended |
//! | `cost-state`; a line in place of an answer that was cut off | all ended with the program |

use serde_json::Value;

use super::ClaudeTranscript;
use crate::emit::Emitter;
use crate::value::{str_of, text_of};

impl ClaudeTranscript {
    /// What the details of a main agent's result tell of tasks.
    pub(super) fn note_tasks(&mut self, emitter: &mut Emitter, details: Option<&Value>) {
        // Nobody waits in the file of a sub-agent.
        let Some(details) = details.filter(|_| self.own_agent.is_none()) else {
            return;
        };
        let agent = text_of(details, "agentId")
            .filter(|_| str_of(details, "status") == Some("async_launched"));
        let ended = text_of(details, "task_id").or_else(|| text_of(details, "shell_id"));
        if let Some(task) = text_of(details, "backgroundTaskId").or(agent) {
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
