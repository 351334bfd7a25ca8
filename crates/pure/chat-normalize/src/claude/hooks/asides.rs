//! Hooks beside the conversation: what the session, its files and its helpers do.

use chat_event::payload::{QuestionRequest, QuestionResolved, SessionStart};
use chat_event::{Extra, Json};
use serde_json::{Map, Value};

use super::{ClaudeHooks, FORMAT};
use crate::claude::permissions::form_questions;
use crate::emit::{Emitter, Place};
use crate::value::{str_of, text_of};

/// What happens beside the conversation: the hook, what is said of it, and the members that say more.
const SAID: [(&str, &str, &[&str]); 12] = [
    ("ConfigChange", "settings changed", &["source", "file_path"]),
    ("InstructionsLoaded", "instructions loaded", &["file_path"]),
    (
        "FileChanged",
        "file changed outside",
        &["file_path", "event"],
    ),
    ("DirectoryAdded", "directory added", &["directory", "path"]),
    (
        "WorktreeCreate",
        "worktree made",
        &["name", "worktree_path"],
    ),
    (
        "WorktreeRemove",
        "worktree removed",
        &["name", "worktree_path"],
    ),
    ("Setup", "set up", &["trigger"]),
    (
        "TeammateIdle",
        "teammate is idle",
        &["teammate_name", "team_name"],
    ),
    (
        "TaskCreated",
        "task made",
        &["task_subject", "teammate_name"],
    ),
    (
        "TaskCompleted",
        "task completed",
        &["task_subject", "teammate_name"],
    ),
    (
        "UserPromptExpansion",
        "expanded",
        &["command_name", "command_args"],
    ),
    ("Notification", "", &["title", "message"]),
];

/// Hooks that have rules of their own.
const RULED: [&str; 22] = [
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "PermissionRequest",
    "PermissionDenied",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "MessageDisplay",
    "Elicitation",
    "ElicitationResult",
    "CwdChanged",
    "PreModelSwitch",
    "PostModelSwitch",
    "PreSkillShellCommand",
];

/// Whether Claude Code has a hook of this name.
pub(super) fn is_hook(event: &str) -> bool {
    RULED.contains(&event) || SAID.iter().any(|(name, _, _)| *name == event)
}

impl ClaudeHooks {
    /// A hook that tells of something beside the conversation.
    pub(super) fn aside(&mut self, emitter: &mut Emitter, line: &Value, event: &str) {
        let place = self.place(line);
        match event {
            // What they know is said with every input.
            "SessionStart" => emitter.pass_over("SessionStart"),
            // Its calls have hooks of their own.
            "PostToolBatch" => emitter.pass_over("PostToolBatch"),
            "PreCompact" => {
                // It has no answer where the compaction fails; a turn that is open says when the work ends.
                if self.session.in_turn() {
                    emitter.busy_with(&place, "compacting");
                } else {
                    emitter.pass_over("PreCompact");
                }
            }
            // The tool that made or ended the task says the whole list.
            "TaskCreated" | "TaskCompleted" if text_of(line, "teammate_name").is_none() => {
                emitter.pass_over(event);
            }
            "CwdChanged" => {
                let facts = SessionStart {
                    cwd: text_of(line, "new_cwd").map(str::to_owned),
                    ..SessionStart::default()
                };
                self.session.facts.say(emitter, facts, Map::new());
            }
            "PreModelSwitch" => emitter.pass_over("PreModelSwitch"),
            "PostModelSwitch" => {
                let model = ["new_model", "to_model", "model"]
                    .iter()
                    .find_map(|key| text_of(line, key));
                let facts = SessionStart {
                    model: model.map(str::to_owned),
                    ..SessionStart::default()
                };
                self.session.facts.say(emitter, facts, Map::new());
            }
            // No call: its id is nobody's, nothing tells of its end, and what it gives goes into the prompt.
            "PreSkillShellCommand" => {
                let name = text_of(line, "command_name").map(|name| format!(" of /{name}"));
                let input = line.get("tool_input");
                let command = input.and_then(|input| text_of(input, "command"));
                let text = format!(
                    "command{} runs: {}",
                    name.unwrap_or_default(),
                    command.unwrap_or_default()
                );
                emitter.notice("info", &place, "hook", text);
            }
            "Elicitation" => self.elicitation(emitter, line, &place),
            "ElicitationResult" => self.elicited(emitter, line, &place),
            _ => match SAID.iter().find(|(name, _, _)| *name == event) {
                Some((_, what, members)) => {
                    let more: Vec<&str> = members
                        .iter()
                        .filter_map(|member| text_of(line, member))
                        .collect();
                    let text = match (what.is_empty(), more.is_empty()) {
                        (true, _) => more.join(": "),
                        (false, true) => (*what).to_owned(),
                        (false, false) => format!("{what}: {}", more.join(" ")),
                    };
                    let source = if event == "Notification" {
                        "notification"
                    } else {
                        "hook"
                    };
                    emitter.notice("info", &place, source, text);
                }
                None => emitter.raw(&place, FORMAT, event, line),
            },
        }
    }

    /// An MCP server asks the user; the answer names the server, not the question.
    fn elicitation(&mut self, emitter: &mut Emitter, line: &Value, place: &Place) {
        let server = str_of(line, "mcp_server_name").unwrap_or("").to_owned();
        let request_id = emitter.line_id().to_owned();
        let payload = QuestionRequest {
            answerable: None,
            request_id: request_id.clone(),
            tool_call_id: None,
            questions: form_questions(line),
            extra: Extra::default(),
        };
        emitter.add("ask", place, payload);
        if let Some(before) = self.elicited.insert(server, request_id) {
            resolve(emitter, &before, "expired", None);
        }
    }

    fn elicited(&mut self, emitter: &mut Emitter, line: &Value, place: &Place) {
        let server = str_of(line, "mcp_server_name").unwrap_or("");
        let Some(request_id) = self.elicited.remove(server) else {
            emitter.raw(place, FORMAT, "ElicitationResult without a question", line);
            return;
        };
        let outcome = if str_of(line, "action") == Some("accept") {
            "answered"
        } else {
            "rejected"
        };
        resolve(emitter, &request_id, outcome, line.get("content"));
    }

    /// No answer will come any more.
    pub(super) fn expire_elicited(&mut self, emitter: &mut Emitter) {
        for (_, request_id) in std::mem::take(&mut self.elicited) {
            resolve(emitter, &request_id, "expired", None);
        }
    }
}

fn resolve(emitter: &mut Emitter, request_id: &str, outcome: &str, answers: Option<&Value>) {
    let payload = QuestionResolved {
        request_id: request_id.to_owned(),
        answers: answers.filter(|answers| !answers.is_null()).map(Json::from),
        outcome: outcome.to_owned(),
        extra: Extra::default(),
    };
    emitter.add_as(&format!("{request_id}:answer"), &Place::default(), payload);
}
