//! What the server tells its client.

use chat_event::payload::{Progress, SessionStart};
use serde_json::{Map, Value};

use super::CodexAppServer;
use super::wire::id_text;
use crate::codex::items::{self, Phase};
use crate::emit::Emitter;
use crate::value::{count_of, list_of, str_of, text_of};
use crate::words::answers_in_place;

impl CodexAppServer {
    /// The server tells something.
    pub(super) fn notification(
        &mut self,
        emitter: &mut Emitter,
        method: &str,
        params: &Value,
        message: &Value,
    ) {
        let thread = str_of(params, "threadId").unwrap_or("");
        let turn = text_of(params, "turnId");
        let delta = str_of(params, "delta").unwrap_or("");
        match method {
            "thread/started" => {
                let said = params.get("thread").unwrap_or(&Value::Null);
                self.thread(emitter, said, None);
            }
            "thread/name/updated" if !self.session.is_main(thread) => emitter.pass_over(method),
            "thread/name/updated" => {
                let name = text_of(params, "threadName").or_else(|| text_of(params, "name"));
                let facts = SessionStart {
                    title: name.map(str::to_owned),
                    ..SessionStart::default()
                };
                self.session.facts.say(emitter, facts, Map::new());
            }
            "turn/started" => {
                self.session.set_main(thread);
                let turn = params.get("turn").and_then(|turn| text_of(turn, "id"));
                self.session.open_turn(emitter, thread, turn, true);
            }
            "turn/completed" => {
                let turn = params.get("turn").unwrap_or(&Value::Null);
                self.turn_completed(emitter, thread, turn);
            }
            "item/started" => self.item(emitter, thread, turn, params, Phase::Started),
            "item/completed" => self.item(emitter, thread, turn, params, Phase::Completed),
            "item/agentMessage/delta" | "item/plan/delta" => {
                self.text(emitter, thread, params, false, 0, delta);
            }
            "item/reasoning/summaryTextDelta" => {
                let number = number_of(params, "summaryIndex");
                self.text(emitter, thread, params, true, number, delta);
            }
            "item/reasoning/textDelta" => {
                let number = items::RAW_THOUGHTS.saturating_add(number_of(params, "contentIndex"));
                self.text(emitter, thread, params, true, number, delta);
            }
            "item/commandExecution/outputDelta" | "item/fileChange/outputDelta" => {
                let scope = self.session.work_scope(emitter, thread, turn);
                let id = self
                    .session
                    .id_of(&scope.turn, text_of(params, "itemId").unwrap_or(""));
                self.session.output(emitter, &scope, &id, delta);
            }
            "item/commandExecution/terminalInteraction" => {
                let typed = str_of(params, "stdin").unwrap_or("").trim_end();
                self.progress(emitter, thread, params, format!("typed: {typed}"));
            }
            "item/mcpToolCall/progress" => {
                let text = str_of(params, "message").unwrap_or("").to_owned();
                self.progress(emitter, thread, params, text);
            }
            "turn/plan/updated" => {
                let scope = self.session.work_scope(emitter, thread, turn);
                self.session.plan(
                    emitter,
                    &scope,
                    items::plan_entries(list_of(params, "plan")),
                );
            }
            "turn/diff/updated" => {
                if self.session.is_main(thread) && self.session.turn(thread).is_some() {
                    let diff = str_of(params, "diff").unwrap_or("");
                    self.session.turn_diff.renew(diff);
                }
                emitter.pass_over(method);
            }
            "thread/tokenUsage/updated" => self.token_usage(emitter, thread, turn, params),
            "error" => self.error(emitter, thread, params),
            "item/autoApprovalReview/completed" => {
                let scope = self.session.scope(thread, turn);
                self.session.reviewed(emitter, &scope, params);
            }
            "thread/closed" => self.closed(emitter, thread),
            "thread/reverted" if self.session.is_main(thread) => {
                let turns = list_of(params, "turnIds").iter();
                let turns: Vec<&str> = turns.filter_map(Value::as_str).collect();
                self.session.set_back_behind(emitter, &turns);
            }
            "serverRequest/resolved" => {
                let native = params.get("requestId").map(id_text).unwrap_or_default();
                self.session.asks.answered(emitter, &native);
            }
            "configWarning"
            | "deprecationNotice"
            | "warning"
            | "guardianWarning"
            | "windows/worldWritableWarning" => {
                let text = text_of(params, "summary").or_else(|| text_of(params, "message"));
                let place = self.session.scope(thread, None).place;
                emitter.notice("info", &place, "codex", text.unwrap_or(method));
            }
            "model/rerouted" => {
                let place = self.session.scope(thread, None).place;
                let before = text_of(params, "fromModel");
                let why = text_of(params, "reason");
                let text = text_of(params, "toModel").map_or_else(
                    || method.to_owned(),
                    |now| answers_in_place(now, before, why),
                );
                emitter.notice("info", &place, "codex", text);
            }
            // Said again elsewhere or when it is over, or about the account, the client's lists and the server's own state.
            "thread/status/changed"
            | "thread/compacted"
            | "thread/readState/changed"
            | "thread/settings/updated"
            | "item/autoApprovalReview/started"
            | "item/reasoning/summaryPartAdded"
            | "item/fileChange/patchUpdated" => emitter.pass_over(method),
            _ if is_plumbing(method) => emitter.pass_over(method),
            _ => self.raw(emitter, method, message),
        }
    }

    fn item(
        &mut self,
        emitter: &mut Emitter,
        thread: &str,
        turn: Option<&str>,
        params: &Value,
        phase: Phase,
    ) {
        match params.get("item").filter(|item| item.is_object()) {
            Some(item) => self.session.item(emitter, thread, turn, item, phase),
            None => self.raw(emitter, "item without an item", params),
        }
    }

    fn text(
        &mut self,
        emitter: &mut Emitter,
        thread: &str,
        params: &Value,
        is_thinking: bool,
        number: u32,
        delta: &str,
    ) {
        let scope = self
            .session
            .work_scope(emitter, thread, text_of(params, "turnId"));
        let id = self
            .session
            .id_of(&scope.turn, text_of(params, "itemId").unwrap_or(""));
        let part = items::part(&id, is_thinking, number);
        self.session.texts.chunk(emitter, &scope, &part, delta);
    }

    fn progress(&mut self, emitter: &mut Emitter, thread: &str, params: &Value, message: String) {
        let scope = self
            .session
            .work_scope(emitter, thread, text_of(params, "turnId"));
        let item = text_of(params, "itemId").map(|item| self.session.id_of(&scope.turn, item));
        let progress = Progress {
            message,
            tool_call_id: item,
            ..Progress::default()
        };
        emitter.add("progress", &scope.place, progress);
    }
}

fn number_of(params: &Value, key: &str) -> u32 {
    count_of(params, key)
        .and_then(|number| u32::try_from(number).ok())
        .unwrap_or(0)
}

fn is_plumbing(method: &str) -> bool {
    const PREFIXES: [&str; 31] = [
        "codex/event/",
        "account/",
        "app/",
        "command/exec/",
        "externalAgentConfig/",
        "fs/",
        "fuzzyFileSearch/",
        "hook/",
        "mcpServer/",
        "model/",
        "modelProvider/",
        "process/",
        "project/",
        "remoteControl/",
        "skills/",
        "windowsSandbox/",
        "autoApprovalReview/",
        "thread/goal/",
        "thread/archived",
        "thread/attachment/",
        "thread/deleted",
        "thread/environment/",
        "thread/prediction/",
        "thread/project/",
        "thread/queue/",
        "thread/search/",
        "thread/section/",
        "thread/unarchived",
        "thread/realtime/sdp",
        "turn/moderationMetadata",
        "rawResponseItem/",
    ];
    PREFIXES.iter().any(|prefix| method.starts_with(prefix))
        || matches!(
            method,
            "loginChatGptComplete" | "authStatusChange" | "sessionConfigured"
        )
}
