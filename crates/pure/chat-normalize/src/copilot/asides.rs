//! Events that are no part of an answer: what the session is, how it is set, what became of its context.

use chat_event::Extra;
use chat_event::payload::{Compaction, SessionStart};
use serde_json::Value;

use super::{Copilot, FORMAT};
use crate::emit::{Emitter, Place};
use crate::facts::guessed;
use crate::value::{count_of, is_true, str_of, text_of};

/// What the program says of itself, its tools and its servers, or says elsewhere; their kinds begin so.
const PLUMBING: [&str; 66] = [
    "agent.interrupted",
    "assistant.fusion_phase_",
    "assistant.idle",
    "assistant.intent",
    "assistant.message_start",
    "assistant.server_tool_progress",
    "assistant.streaming_delta",
    "assistant.turn_end",
    "assistant.turn_retry",
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
    "permission.assentDetected",
    "permission.carriedForward",
    "permission.contextualAuthorization",
    "permission.messageAuthorization",
    "prompt_cache_break",
    "sampling.",
    "sandbox.decision",
    "session.auto_mode_resolved",
    "session.auto_tier_",
    "session.autopilot_objective_changed",
    "session.autopilot_stopped",
    "session.background_tasks_changed",
    "session.canvas.",
    "session.completion_receipt",
    "session.custom_agents_updated",
    "session.custom_notification",
    "session.extensions",
    "session.fusion_",
    "session.indexed_search",
    "session.managed_plugin_progress",
    "session.managed_settings_",
    "session.mcp_server",
    "session.memory_changed",
    "session.mode_notice_delivered",
    "session.permission_recovery",
    "session.permissions_changed",
    "session.plan_changed",
    "session.quota_observation",
    "session.remote_steerable_changed",
    "session.request_body_compression_disabled",
    "session.schedule_",
    "session.session_limits_changed",
    "session.skills_loaded",
    "session.todos_changed",
    "session.truncation",
    "session.usage_checkpoint",
    "session.usage_info",
    "session.workspace_file_changed",
    "session_limits_exhausted.",
    "skill.context_delivered",
    "system.message",
    "tool.user_requested",
    "tool_search.",
    "ui.",
    "workflow.",
];

/// Kinds that tell what the session is.
const FACTS: [&str; 7] = [
    "session.start",
    "session.resume",
    "session.model_change",
    "session.title_changed",
    "session.context_changed",
    "session.mode_changed",
    // A run prints no start, and names its model here.
    "session.tools_updated",
];

impl Copilot {
    /// An event of this kind, where it is one of these.
    pub(super) fn aside(
        &mut self,
        emitter: &mut Emitter,
        place: &Place,
        kind: &str,
        event: &Value,
        is_agents: bool,
    ) {
        let data = event.get("data").unwrap_or(&Value::Null);
        let notice = match kind {
            // A sub-agent's model is not the session's.
            _ if is_agents && FACTS.contains(&kind) => return emitter.pass_over(kind),
            _ if FACTS.contains(&kind) => {
                if matches!(kind, "session.start" | "session.resume") {
                    self.stopped = true;
                    self.agents.all_rest(emitter);
                }
                return self.facts(emitter, data);
            }
            _ if kind.starts_with("subagent.") => return self.agent(emitter, kind, event),
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
            "skill.invoked" | "skill.invoked_ref" => {
                format!("skill {}", str_of(data, "name").unwrap_or(""))
            }
            "session.handoff" => "the session was handed off".to_owned(),
            "session.info" => match text_of(data, "infoType") {
                // The turns behind stand in the file no more: who knows them says which those were (`follow`).
                Some("rewind") => {
                    let text = text_of(data, "message").unwrap_or("the user went back");
                    return emitter.set_back(text, Vec::new());
                }
                // They are said elsewhere: of the request that failed, of the turn, of the call.
                Some("model_retry" | "cancellation" | "file_created") => {
                    return emitter.pass_over("session.info that says nothing new");
                }
                _ => str_of(data, "message").unwrap_or("").to_owned(),
            },
            "system.notification" => {
                let text = str_of(data, "content").unwrap_or("").trim();
                let within = text.strip_prefix("<system_notification>");
                let within = within.and_then(|it| it.strip_suffix("</system_notification>"));
                within.unwrap_or(text).trim().to_owned()
            }
            "session.model_deselected" => "the model was deselected".to_owned(),
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
        let models = ["selectedModel", "newModel", "model"];
        let model = models.iter().find_map(|key| text_of(data, key));
        let version = text_of(data, "copilotVersion");
        // What it is called stands beside the file.
        let title = (data.get("sessionId").is_some())
            .then(|| self.title.take())
            .flatten();
        let cwd = text_of(context, "cwd").map(str::to_owned);
        // A run says its model first, and nothing of where it works.
        let is_silent = cwd.is_none() && !self.track.facts.begun();
        let started_in = self.cwd.take().filter(|_| is_silent);
        let mut rest = guessed(started_in.as_ref());
        let facts = SessionStart {
            agent: version.map(|version| format!("Copilot CLI {version}")),
            native_id: text_of(data, "sessionId").map(str::to_owned),
            model: model.map(str::to_owned),
            cwd: cwd.or(started_in),
            title: text_of(data, "title").map(str::to_owned).or(title),
            git_branch: text_of(context, "branch").map(str::to_owned),
            provider: Some("copilot".to_owned()),
            ..SessionStart::default()
        };
        let mode = text_of(data, "newMode");
        rest.extend(mode.map(|mode| ("mode".to_owned(), Value::from(mode))));
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
