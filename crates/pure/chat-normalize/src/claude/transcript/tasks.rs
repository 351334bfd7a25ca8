//! Tasks: commands and sub-agents that a call left running. The session rests when they and its turns are over.
//!
//! | line | task |
//! |---|---|
//! | a result with `backgroundTaskId` (not before 2.1: no end is told), or with `async_launched` and `agentId` | one runs |
//! | a result with `task_id` or `shell_id`: it was stopped | it ended |
//! | a result with `task.status` or `shellId` and `status`, which does not say that it runs | it ended |
//! | a notification with a status, as a user's line or as an attachment | it ended |
//! | `cost-state`; a line in place of an answer that was cut off | all ended with the program |

use super::ClaudeTranscript;
use crate::claude::task_end::TaskEnd;
use crate::emit::Emitter;

impl ClaudeTranscript {
    /// Whether something runs in the background is another than it was.
    pub(super) fn background_changed(&mut self, emitter: &mut Emitter, ran_before: bool) {
        let runs = self.session.runs_in_background();
        // Nobody waits in the file of a sub-agent.
        if runs != ran_before && self.own_agent.is_none() {
            emitter.in_background(runs);
        }
    }

    /// A notification may tell that a task ended.
    pub(crate) fn task_ended(&mut self, emitter: &mut Emitter, notification: &str) {
        if let Some(end) = TaskEnd::of_notification(notification) {
            let ran = self.session.runs_in_background();
            self.session.task_ended(emitter, &end);
            self.background_changed(emitter, ran);
        }
    }

    /// The program ended, and with it what it ran.
    pub(super) fn forget_tasks(&mut self, emitter: &mut Emitter) {
        self.session.end_background(emitter);
        emitter.in_background(false);
    }
}
