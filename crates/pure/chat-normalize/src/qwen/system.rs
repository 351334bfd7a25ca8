//! What the program notes of its own: compactions, commands, titles, and that the user went back.

use chat_event::payload::{Compaction, SessionStart};
use chat_event::{Extra, Json};
use serde_json::{Map, Value};

use super::{FORMAT, QwenChat};
use crate::emit::Emitter;
use crate::value::{count_of, list_of, str_of, text_of};
use crate::words::one_line;

impl QwenChat {
    pub(super) fn system(&mut self, emitter: &mut Emitter, line: &Value) {
        let kind = str_of(line, "subtype").unwrap_or("");
        let payload = line.get("systemPayload").unwrap_or(&Value::Null);
        let place = self.track.place();
        let mut notice = |level: &str, text: String| {
            emitter.notice(level, &place, "qwen", text);
        };
        match kind {
            "chat_compression" => self.compacted(emitter, payload),
            "rewind" => self.went_back = true,
            "custom_title" => {
                let title = text_of(payload, "customTitle").map(str::to_owned);
                let facts = SessionStart {
                    title,
                    ..SessionStart::default()
                };
                self.track.facts.say(emitter, facts, Map::new());
            }
            "session_model" => {
                let model = text_of(payload, "modelId").map(str::to_owned);
                let facts = SessionStart {
                    model,
                    ..SessionStart::default()
                };
                self.track.facts.say(emitter, facts, Map::new());
            }
            "slash_command" => match (str_of(payload, "phase"), outputs(payload)) {
                (Some("result"), Some(text)) => notice("info", text),
                (Some("invocation"), _) => {
                    let command = text_of(payload, "rawCommand").unwrap_or("a command");
                    notice("info", command.to_owned());
                }
                _ => emitter.pass_over("slash_command"),
            },
            "at_command" => {
                let files = list_of(payload, "filesRead")
                    .iter()
                    .filter_map(Value::as_str);
                let files = files.collect::<Vec<_>>().join(", ");
                match (str_of(payload, "status"), text_of(payload, "message")) {
                    (Some("error"), why) => {
                        let why = why.unwrap_or("files that were named could not be read");
                        notice("warning", why.to_owned());
                    }
                    _ if files.is_empty() => emitter.pass_over("at_command"),
                    _ => notice("info", format!("read {files}")),
                }
            }
            "notification" | "background_task_completed" | "cron" => {
                match text_of(payload, "displayText") {
                    Some(text) => notice("info", text.to_owned()),
                    None => emitter.pass_over(kind),
                }
            }
            "ui_telemetry" => {
                let event = payload.get("uiEvent").unwrap_or(&Value::Null);
                let name = str_of(event, "event.name").unwrap_or("");
                match text_of(event, "error_message").or_else(|| text_of(event, "error")) {
                    Some(why) if name.ends_with("api_error") => {
                        self.outcome = "failed";
                        notice(
                            "warning",
                            format!("the model's service failed: {}", one_line(why)),
                        );
                    }
                    _ => emitter.pass_over("ui_telemetry"),
                }
            }
            "attribution_snapshot"
            | "file_history_snapshot"
            | "session_notes"
            | "parent_session"
            | "session_source"
            | "session_execution_engine"
            | "session_approval_mode"
            | "agent_bootstrap"
            | "agent_launch_prompt"
            | "agent_retry"
            | "agent_session_ready"
            | "user_text_elements"
            | "session_artifact_event"
            | "session_artifact_snapshot"
            | "session_sources_snapshot"
            | "branch_checkpoint"
            | "goal_state"
            | "goal_turn_end"
            | "turn_result"
            | "omni_recall" => emitter.pass_over(kind),
            _ => emitter.raw(&place, FORMAT, &format!("system/{kind}"), line),
        }
    }

    fn compacted(&mut self, emitter: &mut Emitter, payload: &Value) {
        let info = payload.get("info").unwrap_or(&Value::Null);
        let mut extra = Extra::default();
        if let Some(after) = count_of(info, "newTokenCount") {
            extra.insert("tokensAfter", Json::from(Value::from(after)));
        }
        let first = list_of(payload, "compressedHistory").first();
        let summary = first.and_then(|first| list_of(first, "parts").first());
        let compaction = Compaction {
            trigger: text_of(info, "triggerReason").unwrap_or("auto").to_owned(),
            summary: summary
                .and_then(|part| text_of(part, "text"))
                .map(str::to_owned),
            tokens_before: count_of(info, "originalTokenCount"),
            extra,
        };
        let id = format!("{}:compaction", emitter.line_id());
        emitter.add_as(&id, &self.track.place(), compaction);
    }

    /// The first record behind a step back says by its parent where the conversation goes on.
    pub(super) fn go_back(&mut self, emitter: &mut Emitter, line: &Value) {
        let speaks = str_of(line, "type") != Some("system");
        if !self.went_back || !speaks {
            return;
        }
        self.went_back = false;
        let parent = text_of(line, "parentUuid");
        let stays = parent.and_then(|parent| self.turns.get(parent)).cloned();
        let n_left = match (&stays, parent) {
            (Some(turn), _) => self.standing.behind(turn).count(),
            (None, None) => usize::MAX,
            // The place is not known any more.
            (None, Some(_)) => 0,
        };
        let left = self.standing.leave(n_left);
        self.close(emitter);
        let text = "the user went back: what stands behind that place was left";
        emitter.set_back(text, left);
    }

    /// Nothing came behind a step back.
    pub(super) fn settle_back(&mut self, emitter: &mut Emitter) {
        if std::mem::take(&mut self.went_back) {
            emitter.set_back("the user went back, and nothing came behind it", Vec::new());
        }
    }
}

/// What a command said.
fn outputs(payload: &Value) -> Option<String> {
    let items = list_of(payload, "outputHistoryItems").iter();
    let texts: Vec<&str> = items.filter_map(|item| text_of(item, "text")).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}
