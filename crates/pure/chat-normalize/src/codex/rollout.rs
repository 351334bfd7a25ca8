//! Rollout files, `~/.codex/sessions/…/rollout-*.jsonl`: what the model was given and gave, and what was shown of it.
//!
//! Most things stand there twice: as a `response_item` (what the model sees) and as an `event_msg` (what a person sees).
//! Texts are taken from whichever comes first and counted, so that the other one is known for a repetition. Calls come
//! from `response_item`s; their results from `item_completed` where there is one, else from their `*_output`.
//!
//! Files up to 0.7x say neither where a turn begins nor where it ends: there each message of the user begins one.

use std::collections::HashMap;

use chat_event::Json;
use chat_event::payload::{SessionStart, TurnEnd};
use serde_json::{Map, Value};

use super::content;
use super::items::{self, Phase};
use super::session::{Ended, Scope, Session, ended};
use super::tokens;
use super::tools::{Spec, given};
use crate::dialect::Normalizer;
use crate::emit::{Emitter, hash};
use crate::value::{count_of, list_of, millis_of_rfc3339, str_of, text_of};

/// What the program writes into the user's mouth begins so.
const NOT_TYPED: [&str; 12] = [
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<turn_aborted>",
    "<subagent_notification>",
    "<collaboration_mode>",
    "<skill>",
    "<skills_instructions>",
    "<user_shell_command>",
    "<recommended_plugins>",
    "<INSTRUCTIONS>",
    "# AGENTS.md instructions",
];

/// Whether a line is of this dialect, and whether that is sure.
pub(crate) fn is_rollout_line(value: &Value) -> Option<bool> {
    let kind = str_of(value, "type").unwrap_or("");
    let known = matches!(
        kind,
        "session_meta"
            | "response_item"
            | "event_msg"
            | "turn_context"
            | "compacted"
            | "world_state"
            | "token_usage_record"
            | "inter_agent_communication"
            | "inter_agent_communication_metadata"
    );
    let has_text_time = value.get("timestamp").is_some_and(Value::is_string);
    if known && value.get("payload").is_some_and(Value::is_object) && has_text_time {
        return Some(true);
    }
    // 2025: the first line is bare, and so are those of the state.
    let bare_head = has_text_time
        && kind.is_empty()
        && ["id", "instructions"]
            .iter()
            .all(|key| value.get(*key).is_some());
    if bare_head || value.get("record_type").is_some_and(Value::is_string) {
        return Some(false);
    }
    None
}

/// The thread that a line names as the file's own.
pub(crate) fn thread_of(value: &Value) -> Option<&str> {
    match str_of(value, "type") {
        Some("session_meta") => value.get("payload").and_then(|meta| text_of(meta, "id")),
        None => text_of(value, "id"),
        Some(_) => None,
    }
}

/// Who says a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Source {
    Response,
    Event,
    Item,
}

/// Reads them.
#[derive(Debug)]
pub(crate) struct CodexRollout {
    session: Session,
    /// How often each source said a text in this turn, by the text's hash, and how often it was written.
    said: HashMap<(u64, Source), u32>,
    written: HashMap<u64, u32>,
    /// The file has completed items, which say every text that is shown.
    has_items: bool,
    is_begun: bool,
}

impl CodexRollout {
    pub(crate) fn new() -> Self {
        CodexRollout {
            session: Session::new("codex-rollout"),
            said: HashMap::new(),
            written: HashMap::new(),
            has_items: false,
            is_begun: false,
        }
    }

    fn raw(&mut self, emitter: &mut Emitter, kind: &str, value: &Value) {
        let place = self.session.scope("", None).place;
        emitter.raw(&place, self.session.format, kind, value);
    }

    fn bare_line(&mut self, emitter: &mut Emitter, kind: &str, line: &Value) {
        match kind {
            "message"
            | "reasoning"
            | "function_call"
            | "function_call_output"
            | "custom_tool_call"
            | "custom_tool_call_output"
            | "local_shell_call"
            | "web_search_call" => {
                self.response_item(emitter, line);
            }
            "" if line.get("record_type").is_some() => emitter.pass_over("record_type"),
            "" if line.get("instructions").is_some() => self.meta(emitter, line),
            _ => self.raw(emitter, kind, line),
        }
    }

    fn meta(&mut self, emitter: &mut Emitter, meta: &Value) {
        // A fork's file has its parent's head, too; the first one is its own.
        if self.is_begun {
            emitter.pass_over("session_meta of another file");
            return;
        }
        self.is_begun = true;
        let version = text_of(meta, "cli_version");
        let git = meta.get("git").unwrap_or(&Value::Null);
        let facts = SessionStart {
            agent: Some(
                version.map_or_else(|| "Codex".to_owned(), |version| format!("Codex {version}")),
            ),
            native_id: text_of(meta, "id").map(str::to_owned),
            cwd: text_of(meta, "cwd").map(str::to_owned),
            git_branch: text_of(git, "branch").map(str::to_owned),
            provider: Some("codex".to_owned()),
            ..SessionStart::default()
        };
        let mut rest = Map::new();
        for (from, to) in [
            ("parent_thread_id", "parentThreadId"),
            ("forked_from_id", "forkedFromId"),
        ] {
            if let Some(id) = text_of(meta, from) {
                rest.insert(to.to_owned(), Value::from(id));
            }
        }
        self.session.facts.say(emitter, facts, rest);
    }

    fn model(&mut self, emitter: &mut Emitter, context: &Value) {
        let model = text_of(context, "model").map(str::to_owned);
        self.session.model = model.clone().or(self.session.model.take());
        let facts = SessionStart {
            model,
            cwd: text_of(context, "cwd").map(str::to_owned),
            ..SessionStart::default()
        };
        self.session.facts.say(emitter, facts, Map::new());
    }

    /// Whether `text` was not written yet, as often as `source` says it.
    fn is_news(&mut self, source: Source, what: &str, text: &str) -> bool {
        let key = hash(format!("{what}\n{}", text.trim()).as_bytes());
        let said = self.said.entry((key, source)).or_default();
        *said += 1;
        let written = self.written.entry(key).or_default();
        if *said <= *written {
            return false;
        }
        *written = *said;
        true
    }

    fn response_item(&mut self, emitter: &mut Emitter, item: &Value) {
        let kind = text_of(item, "type").unwrap_or(if item.get("role").is_some() {
            "message"
        } else {
            ""
        });
        match kind {
            "message" => self.message(emitter, item),
            "reasoning" => self.thoughts(emitter, item, Source::Response),
            "function_call" | "custom_tool_call" | "local_shell_call" | "tool_search_call" => {
                self.call(emitter, kind, item);
            }
            "function_call_output" | "custom_tool_call_output" | "tool_search_output" => {
                self.output(emitter, item);
            }
            "web_search_call" | "image_generation_call" => {
                let stem = kind.trim_end_matches("_call");
                self.renamed_item(emitter, stem, item, Source::Response);
            }
            "agent_message" => self.between_agents(emitter, item),
            // What the model is told beside the conversation, and the state of the files for an undo.
            "additional_tools" | "ghost_snapshot" | "compaction" | "compaction_trigger" => {
                emitter.pass_over(kind);
            }
            _ => self.raw(emitter, &format!("response_item {kind}"), item),
        }
    }

    fn message(&mut self, emitter: &mut Emitter, item: &Value) {
        let (text, attachments) = content::content_of(item);
        match str_of(item, "role") {
            // The rest is the program's own talk with the model, such as the summary for a compaction.
            Some("assistant") if self.has_items => emitter.pass_over("message that is an item"),
            Some("assistant") => {
                let id = text_of(item, "id");
                self.agent_text(emitter, Source::Response, id, &text);
            }
            Some("user") => {
                let start = text.trim_start();
                if NOT_TYPED.iter().any(|prefix| start.starts_with(prefix)) {
                    emitter.pass_over("message of the program");
                    return;
                }
                self.user_text(emitter, Source::Response, None, &text, attachments);
            }
            Some("developer" | "system") => emitter.pass_over("message of the program"),
            Some(_) | None => self.raw(emitter, "message", item),
        }
    }

    fn agent_text(&mut self, emitter: &mut Emitter, source: Source, id: Option<&str>, text: &str) {
        if !self.is_news(source, "agent", text) {
            return;
        }
        let scope = self.session.work_scope(emitter, "", None);
        let native = id.map_or_else(|| format!("m-{}", emitter.line_id()), str::to_owned);
        let id = self.session.id_of(&scope.turn, &native);
        self.session
            .texts
            .done(emitter, &scope, items::part(&id, false, 0), text);
    }

    fn user_text(
        &mut self,
        emitter: &mut Emitter,
        source: Source,
        id: Option<&str>,
        text: &str,
        attachments: Option<Json>,
    ) {
        if !self.is_news(source, "user", text) {
            return;
        }
        if !self.session.turn("").is_some_and(|turn| turn.is_told) {
            self.session.open_turn(emitter, "", None, false);
        }
        let scope = self.session.scope("", None);
        let native = id.map_or_else(|| emitter.line_id().to_owned(), str::to_owned);
        self.session
            .user_message(emitter, &scope, &native, text, attachments);
    }

    fn thoughts(&mut self, emitter: &mut Emitter, item: &Value, source: Source) {
        let summary = item
            .get("summary_text")
            .or_else(|| item.get("summary"))
            .or_else(|| item.get("text"));
        let raw = item.get("raw_content").or_else(|| item.get("content"));
        let texts: Vec<(u32, String)> = (0..)
            .zip(content::texts_of(summary))
            .chain((items::RAW_THOUGHTS..).zip(content::texts_of(raw)))
            .map(|(number, text)| (number, text.to_owned()))
            .collect();
        if texts.is_empty() {
            emitter.pass_over("reasoning without text");
            return;
        }
        let mut id = None;
        for (number, text) in texts {
            if !self.is_news(source, "thought", &text) {
                continue;
            }
            let scope = self.session.work_scope(emitter, "", None);
            let native = text_of(item, "id")
                .map_or_else(|| format!("r-{}", emitter.line_id()), str::to_owned);
            let id = id.get_or_insert_with(|| self.session.id_of(&scope.turn, &native));
            self.session
                .texts
                .done(emitter, &scope, items::part(id, true, number), &text);
        }
    }

    fn call(&mut self, emitter: &mut Emitter, kind: &str, item: &Value) {
        let scope = self.session.work_scope(emitter, "", None);
        let native = text_of(item, "call_id").or_else(|| text_of(item, "id"));
        let native = native.map_or_else(|| format!("call-{}", emitter.line_id()), str::to_owned);
        let id = self.session.id_of(&scope.turn, &native);
        if self.session.is_called(&id) {
            emitter.pass_over("call that came before");
            return;
        }
        let (name, args) = match kind {
            "custom_tool_call" => (
                str_of(item, "name").unwrap_or("tool").to_owned(),
                serde_json::json!({"input": item.get("input").unwrap_or(&Value::Null)}),
            ),
            "local_shell_call" => (
                "local_shell".to_owned(),
                item.get("action").cloned().unwrap_or(Value::Null),
            ),
            "tool_search_call" => (
                "tool_search".to_owned(),
                item.get("arguments").cloned().unwrap_or(Value::Null),
            ),
            _ => {
                let said = item.get("arguments").cloned().unwrap_or(Value::Null);
                // Arguments are JSON within a string.
                let args = said
                    .as_str()
                    .and_then(|text| serde_json::from_str(text).ok());
                let name = str_of(item, "name").unwrap_or("tool");
                let name = match text_of(item, "namespace") {
                    Some(namespace) if namespace.starts_with("mcp__") => {
                        format!("{}__{name}", namespace.trim_end_matches("__"))
                    }
                    Some(_) | None => name.to_owned(),
                };
                (name, args.unwrap_or(said))
            }
        };
        self.session
            .call(emitter, &scope, &id, Spec::of_call(&name, args));
    }

    fn output(&mut self, emitter: &mut Emitter, item: &Value) {
        let native = text_of(item, "call_id").unwrap_or("");
        let Some(id) = self.session.latest_id(native) else {
            self.raw(emitter, "output of no call", item);
            return;
        };
        match self.session.ended(&id) {
            // The item said it before, and better.
            Some(Ended::Told) => return emitter.pass_over("output of a call that ended"),
            Some(Ended::Closed) => return emitter.pass_over("output of a call that was closed"),
            None => {}
        }
        let output = item
            .get("output")
            .or_else(|| item.get("tools"))
            .unwrap_or(&Value::Null);
        let text = match output {
            Value::String(text) => text.clone(),
            Value::Array(_) => content::texts_of(Some(output)).join("\n"),
            Value::Object(_) => {
                str_of(output, "content").map_or_else(|| output.to_string(), str::to_owned)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
        };
        let given = given(&text);
        if given.runs_on {
            if let Some(call) = self.session.calls.get_mut(&id) {
                call.so_far = Some(given);
            }
            return;
        }
        let failed = output.get("success") == Some(&Value::Bool(false)) || is_refusal(&text);
        self.session.result_text(emitter, &id, given, failed);
    }

    /// An item that comes under another name as a response item or an event, at once begun and ended.
    fn renamed_item(&mut self, emitter: &mut Emitter, kind: &str, item: &Value, source: Source) {
        let query = item.get("action").map(Value::to_string).unwrap_or_default();
        if !self.is_news(source, kind, &query) {
            emitter.pass_over(&format!("{kind} again"));
            return;
        }
        let mut renamed = item.clone();
        if let Some(members) = renamed.as_object_mut() {
            members.insert("type".to_owned(), Value::from(kind));
            if let Some(id) = item.get("call_id").cloned() {
                members.insert("id".to_owned(), id);
            }
        }
        self.session
            .item(emitter, "", None, &renamed, Phase::Completed);
    }

    fn between_agents(&mut self, emitter: &mut Emitter, item: &Value) {
        let scope = self.session.work_scope(emitter, "", None);
        let (author, recipient) = (
            str_of(item, "author").unwrap_or(""),
            str_of(item, "recipient").unwrap_or(""),
        );
        let text = content::texts_of(item.get("content")).join("\n");
        let id = text_of(item, "id").map_or_else(|| emitter.line_id().to_owned(), str::to_owned);
        if !author.is_empty() && recipient.starts_with(author) {
            // To a sub-agent, in whose file this is: its task.
            self.session.user_message(emitter, &scope, &id, &text, None);
        } else {
            self.session.callback(emitter, &scope, &id, author, &text);
        }
    }

    fn event(&mut self, emitter: &mut Emitter, event: &Value) {
        let kind = str_of(event, "type").unwrap_or("");
        let turn = text_of(event, "turn_id");
        match kind {
            "task_started" | "turn_started" => {
                self.said.clear();
                self.written.clear();
                self.session.open_turn(emitter, "", turn, true);
            }
            "task_complete" | "turn_complete" => self.complete(emitter, event),
            "turn_aborted" => {
                let scope = self.session.work_scope(emitter, "", turn);
                self.session.interrupt(emitter, &scope, "user_cancel");
                let end = TurnEnd {
                    duration_ms: count_of(event, "duration_ms"),
                    ..ended("interrupted")
                };
                self.session.close_turn(emitter, "", end);
            }
            "item_completed" => self.completed_item(emitter, event, turn),
            "user_message" => {
                let text = str_of(event, "message").unwrap_or("");
                let images = content::images_of(event);
                self.user_text(emitter, Source::Event, None, text, images);
            }
            "agent_message" => {
                let text = str_of(event, "message").unwrap_or("");
                self.agent_text(emitter, Source::Event, None, text);
            }
            "agent_reasoning" | "agent_reasoning_raw_content" => {
                self.thoughts(emitter, event, Source::Event);
            }
            "token_count" => self.token_count(emitter, event),
            "exec_command_end" => self.event_item(emitter, "CommandExecution", event),
            "patch_apply_end" => self.event_item(emitter, "FileChange", event),
            "web_search_end" => self.renamed_item(emitter, "web_search", event, Source::Event),
            "mcp_tool_call_end" => self.mcp_end(emitter, event),
            "view_image_tool_call" => self.event_item(emitter, "ImageView", event),
            "dynamic_tool_call_response" => self.event_item(emitter, "DynamicToolCall", event),
            "image_generation_end" => self.event_item(emitter, "ImageGeneration", event),
            "error" | "stream_error" => self.error(emitter, kind, event),
            "plan_update" => {
                let scope = self.session.work_scope(emitter, "", turn);
                self.session
                    .plan(emitter, &scope, items::plan_entries(list_of(event, "plan")));
            }
            "thread_settings_applied" => {
                let settings = event.get("thread_settings").unwrap_or(&Value::Null);
                self.model(emitter, settings);
            }
            "thread_name_updated" => {
                let facts = SessionStart {
                    title: text_of(event, "thread_name").map(str::to_owned),
                    ..SessionStart::default()
                };
                self.session.facts.say(emitter, facts, Map::new());
            }
            "collab_agent_spawn_end"
            | "collab_agent_interaction_end"
            | "collab_waiting_end"
            | "collab_close_end" => {
                self.collab_end(emitter, kind, event);
            }
            "entered_review_mode"
            | "exited_review_mode"
            | "undo_completed"
            | "warning"
            | "background_event" => {
                let place = self.session.scope("", turn).place;
                let words =
                    text_of(event, "message").or_else(|| text_of(event, "user_facing_hint"));
                let words = words.map_or_else(|| kind.replace('_', " "), str::to_owned);
                emitter.notice("info", &place, "codex", words);
            }
            // Their beginnings are in the calls; what else they say is elsewhere, or is about the account.
            "exec_command_begin"
            | "patch_apply_begin"
            | "mcp_tool_call_begin"
            | "web_search_begin"
            | "dynamic_tool_call_request"
            | "item_started"
            | "turn_diff"
            | "context_compacted"
            | "thread_goal_updated"
            | "guardian_assessment"
            | "account/rateLimits/updated"
            | "sub_agent_activity"
            | "mcp_startup_complete" => emitter.pass_over(kind),
            _ => self.raw(emitter, &format!("event_msg {kind}"), event),
        }
    }

    fn complete(&mut self, emitter: &mut Emitter, event: &Value) {
        let error = event.get("error").filter(|error| !error.is_null());
        if let Some(error) = error {
            let message = str_of(error, "message")
                .or_else(|| error.as_str())
                .unwrap_or("the turn failed");
            let code = text_of(error, "codex_error_info").unwrap_or("turn_failed");
            self.session.error(emitter, "", code, message);
        }
        let place = self.session.scope("", None).place;
        let model = self.session.model.clone();
        if let Some(usage) = self.session.tokens.session_usage(model) {
            emitter.add("usage", &place, usage);
        }
        let end = TurnEnd {
            duration_ms: count_of(event, "duration_ms"),
            ..ended(if error.is_some() {
                "failed"
            } else {
                "completed"
            })
        };
        self.session.close_turn(emitter, "", end);
    }

    fn completed_item(&mut self, emitter: &mut Emitter, event: &Value, turn: Option<&str>) {
        let item = event.get("item").unwrap_or(&Value::Null);
        self.has_items = true;
        match items::item_kind(item).as_str() {
            "usermessage" => {
                let (text, attachments) = content::content_of(item);
                self.user_text(
                    emitter,
                    Source::Item,
                    text_of(item, "id"),
                    &text,
                    attachments,
                );
            }
            "agentmessage" => {
                let text = content::texts_of(item.get("content")).concat();
                self.agent_text(emitter, Source::Item, text_of(item, "id"), &text);
            }
            "reasoning" => self.thoughts(emitter, item, Source::Item),
            // The line `compacted` says it with the summary.
            "contextcompaction" => emitter.pass_over("item contextcompaction"),
            "websearch" => self.renamed_item(emitter, "web_search", item, Source::Item),
            _ => self.session.item(emitter, "", turn, item, Phase::Completed),
        }
    }

    /// An old event that says what a completed item says.
    fn event_item(&mut self, emitter: &mut Emitter, kind: &str, event: &Value) {
        let mut item = event.clone();
        if let Some(members) = item.as_object_mut() {
            members.insert("type".to_owned(), Value::from(kind));
            for from in ["call_id", "item_id"] {
                if let Some(id) = event.get(from).cloned() {
                    members.insert("id".to_owned(), id);
                    break;
                }
            }
        }
        self.session.item(
            emitter,
            "",
            text_of(event, "turn_id"),
            &item,
            Phase::Completed,
        );
    }

    fn mcp_end(&mut self, emitter: &mut Emitter, event: &Value) {
        let said = event.get("invocation").unwrap_or(&Value::Null);
        let mut item = event.clone();
        if let Some(members) = item.as_object_mut() {
            for key in ["server", "tool", "arguments"] {
                members.insert(
                    key.to_owned(),
                    said.get(key).cloned().unwrap_or(Value::Null),
                );
            }
            // `{"Ok": …}` or `{"Err": …}`.
            let result = event.get("result").unwrap_or(&Value::Null);
            if let Some(result) = result.get("Ok") {
                members.insert("result".to_owned(), result.clone());
            } else if let Some(error) = result.get("Err") {
                members.insert("error".to_owned(), error.clone());
            }
        }
        self.event_item(emitter, "McpToolCall", &item);
    }

    fn collab_end(&mut self, emitter: &mut Emitter, kind: &str, event: &Value) {
        let tool = match kind {
            "collab_agent_spawn_end" => "spawn_agent",
            "collab_agent_interaction_end" => "send_input",
            "collab_waiting_end" => "wait",
            _ => "close_agent",
        };
        let receiver =
            text_of(event, "new_thread_id").or_else(|| text_of(event, "receiver_thread_id"));
        let mut states = Map::new();
        if let Some(receiver) = receiver {
            states.insert(
                receiver.to_owned(),
                event.get("status").cloned().unwrap_or(Value::Null),
            );
        }
        for entry in list_of(event, "agent_statuses") {
            if let Some(thread) = text_of(entry, "thread_id") {
                states.insert(
                    thread.to_owned(),
                    entry.get("status").cloned().unwrap_or(Value::Null),
                );
            }
        }
        let mut item = serde_json::json!({
            "tool": tool,
            "status": "completed",
            "call_id": event.get("call_id").unwrap_or(&Value::Null),
            "receiver_thread_ids": receiver.into_iter().collect::<Vec<_>>(),
            "prompt": event.get("prompt").unwrap_or(&Value::Null),
        });
        if let Some(members) = item.as_object_mut() {
            members.insert("agents_states".to_owned(), Value::Object(states));
        }
        self.event_item(emitter, "CollabToolCall", &item);
    }

    fn error(&mut self, emitter: &mut Emitter, kind: &str, event: &Value) {
        let error = event.get("error").unwrap_or(&Value::Null);
        let message = text_of(event, "message")
            .or_else(|| text_of(error, "message"))
            .unwrap_or(kind);
        if kind == "stream_error" {
            self.session.retrying(emitter, message.to_owned());
            return;
        }
        let code = text_of(event, "codex_error_info").or_else(|| text_of(error, "kind"));
        self.session
            .error(emitter, "", code.unwrap_or("error"), message);
    }

    fn token_count(&mut self, emitter: &mut Emitter, event: &Value) {
        let info = event.get("info").unwrap_or(&Value::Null);
        let (total, last) = (info.get("total_token_usage"), info.get("last_token_usage"));
        let Some(last) = last.filter(|last| last.is_object()) else {
            emitter.pass_over("token_count without tokens");
            return;
        };
        if !self.session.tokens.is_news(total) {
            emitter.pass_over("token_count as before");
            return;
        }
        let window = count_of(info, "model_context_window");
        let usage = tokens::response_usage(last, window, self.session.model.clone());
        let Scope { place, .. } = self.session.scope("", None);
        emitter.add("usage", &place, usage);
    }
}

impl Normalizer for CodexRollout {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        if let Some(time_ms) = str_of(line, "timestamp").and_then(millis_of_rfc3339) {
            emitter.time_ms = time_ms;
        }
        let kind = str_of(line, "type").unwrap_or("");
        let Some(payload) = line.get("payload").filter(|payload| payload.is_object()) else {
            self.bare_line(emitter, kind, line);
            return;
        };
        match kind {
            "session_meta" => self.meta(emitter, payload),
            "turn_context" => self.model(emitter, payload),
            "response_item" => self.response_item(emitter, payload),
            "event_msg" => self.event(emitter, payload),
            "compacted" => {
                let scope = self.session.work_scope(emitter, "", None);
                let id = emitter.line_id().to_owned();
                self.session
                    .compaction(emitter, &scope, &id, text_of(payload, "message"));
            }
            "world_state"
            | "token_usage_record"
            | "inter_agent_communication"
            | "inter_agent_communication_metadata" => emitter.pass_over(kind),
            _ => self.raw(emitter, kind, line),
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        let stopped = !self.session.calls.is_empty()
            || self.session.turn("").is_some_and(|turn| turn.is_told);
        let outcome = if stopped { "interrupted" } else { "completed" };
        self.session.close_all(emitter, outcome);
    }
}

/// What the program answers in place of a tool.
fn is_refusal(text: &str) -> bool {
    [
        "unsupported call",
        "unsupported custom tool call",
        "apply_patch verification failed",
        "patch rejected",
        "exec_command failed",
        "failed to parse function arguments",
        "aborted by user",
        "exec command rejected",
        "rejected: ",
        "collab spawn failed",
    ]
    .iter()
    .any(|start| text.starts_with(start))
}
