//! Events that are no part of an answer: what the session is, how it is set, what became of its context.

use chat_event::Extra;
use chat_event::payload::{Compaction, SessionStart};
use serde_json::{Map, Value};

use super::{Copilot, FORMAT};
use crate::emit::{Emitter, Place};
use crate::value::{count_of, is_true, str_of, text_of};

/// What the program says of itself, its tools and its servers, or says elsewhere; their kinds begin so.
const PLUMBING: [&str; 47] = [
    "assistant.idle",
    "assistant.intent",
    "assistant.message_start",
    "assistant.server_tool_progress",
    "assistant.streaming_delta",
    "assistant.turn_end",
    "assistant.turn_start",
    "auto_mode_switch.",
    "capabilities.",
    "command.",
    "commands.",
    "external_tool.",
    "factory.",
    "hook.",
    "instruction_discovered",
    "mcp.",
    "mcp_app.",
    "pending_messages.",
    "sampling.",
    "session.auto_mode_resolved",
    "session.autopilot_objective_changed",
    "session.background_tasks_changed",
    "session.binary_asset",
    "session.canvas.",
    "session.custom_agents_updated",
    "session.custom_notification",
    "session.extensions",
    "session.managed_settings_",
    "session.mcp_server",
    "session.permissions_changed",
    "session.plan_changed",
    "session.remote_steerable_changed",
    "session.schedule_",
    "session.session_limits_changed",
    "session.skills_loaded",
    "session.todos_changed",
    "session.tools_updated",
    "session.truncation",
    "session.usage_checkpoint",
    "session.usage_info",
    "session.workspace_file_changed",
    "session_limits_exhausted.",
    "subagent.",
    "system.message",
    "tool.user_requested",
    "tool_search.",
    "ui.",
];

impl Copilot {
    /// An event of this kind, where it is one of these.
    pub(super) fn aside(
        &mut self,
        emitter: &mut Emitter,
        place: &Place,
        kind: &str,
        event: &Value,
    ) {
        let data = event.get("data").unwrap_or(&Value::Null);
        let notice = match kind {
            "session.start"
            | "session.resume"
            | "session.model_change"
            | "session.title_changed"
            | "session.context_changed"
            | "session.mode_changed" => {
                self.stopped |= matches!(kind, "session.start" | "session.resume");
                return self.facts(emitter, data);
            }
            "session.snapshot_rewind" => {
                return self.rewound(emitter, text_of(data, "upToEventId").unwrap_or(""));
            }
            "session.context_cleared" => {
                return emitter.cleared(self.standing.leave(usize::MAX));
            }
            "session.compaction_start" => return emitter.busy_with(place, "compacting"),
            "session.compaction_complete" if is_true(data, "success") => {
                let compaction = Compaction {
                    trigger: text_of(data, "trigger").unwrap_or("auto").to_owned(),
                    summary: text_of(data, "summaryContent").map(str::to_owned),
                    tokens_before: count_of(data, "preCompactionTokens"),
                    extra: Extra::default(),
                };
                emitter.add("compaction", place, compaction);
                return;
            }
            "session.compaction_complete" => {
                let why = text_of(data, "error").unwrap_or("it was stopped");
                format!("the conversation was not compacted: {why}")
            }
            "session.task_complete" => match text_of(data, "summary") {
                Some(summary) => format!("the task is done: {summary}"),
                None => return emitter.pass_over(kind),
            },
            "skill.invoked" => format!("skill {}", str_of(data, "name").unwrap_or("")),
            "session.handoff" => "the session was handed off".to_owned(),
            "session.info" | "system.notification" => {
                let keys = ["message", "content"];
                let text = keys.iter().find_map(|key| text_of(data, key));
                text.unwrap_or("").to_owned()
            }
            "session.warning" => {
                let text = str_of(data, "message").unwrap_or("");
                emitter.notice("warning", place, "copilot", text);
                return;
            }
            _ if PLUMBING.iter().any(|start| kind.starts_with(start)) => {
                return emitter.pass_over(kind);
            }
            _ => return emitter.raw(place, FORMAT, kind, event),
        };
        emitter.notice("info", place, "copilot", notice);
    }

    fn facts(&mut self, emitter: &mut Emitter, data: &Value) {
        let context = data.get("context").unwrap_or(data);
        let model = text_of(data, "selectedModel").or_else(|| text_of(data, "newModel"));
        let version = text_of(data, "copilotVersion");
        let facts = SessionStart {
            agent: version.map(|version| format!("Copilot CLI {version}")),
            native_id: text_of(data, "sessionId").map(str::to_owned),
            model: model.map(str::to_owned),
            cwd: text_of(context, "cwd").map(str::to_owned),
            title: text_of(data, "title").map(str::to_owned),
            git_branch: text_of(context, "branch").map(str::to_owned),
            provider: Some("copilot".to_owned()),
            ..SessionStart::default()
        };
        let mode = text_of(data, "newMode");
        let mode = mode.map(|mode| ("mode".to_owned(), Value::from(mode)));
        let rest: Map<String, Value> = mode.into_iter().collect();
        self.track.facts.say(emitter, facts, rest);
    }

    /// The conversation was set back to before an event, which is mostly a prompt: turns are called by those.
    fn rewound(&mut self, emitter: &mut Emitter, upto: &str) {
        let behind: Vec<String> = self.standing.behind(upto).cloned().collect();
        let left = if self.standing.has(upto) {
            self.standing.leave(behind.len() + 1)
        } else {
            Vec::new()
        };
        match left.len() {
            0 => emitter.set_back(
                "the user went back: what stands before this line was left",
                left,
            ),
            n => emitter.went_back(n, left),
        }
    }
}
