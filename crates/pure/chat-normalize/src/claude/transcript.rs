//! The files below `~/.claude/projects`: one line a block, result or happening, each with its parent and its time.
//!
//! | line | turn |
//! |---|---|
//! | a person's words or command | the open one ends, one begins |
//! | a notification that a background task ended | likewise, as the system's |
//! | `system/turn_duration` | the open one ends |
//! | the file ends | the open one ends: interrupted where a call has no result |
//!
//! The file is read in its order. Turns that a person went back behind are named by a `notice`; calls that an ended
//! turn left open wait for their results to the end. Sub-agents stand in the file itself (1.0: `isSidechain`, tied to
//! the call with the same prompt), in `progress` lines (2.0 to 2.1.42), or in files of their own, whose lines are then
//! the main ones. Lines with an id that came before (resumed sessions repeat them) are counted and passed over.

use std::collections::HashMap;

use chat_event::payload::{
    Compaction, ErrorEvent, Progress, SessionEnd, SessionStart, ToolOutputChunk, TurnEnd,
    UserMessage,
};
use chat_event::{Body, Extra, Json, Payload};
use serde_json::{Map, Value};

use super::said::{Said, pieces};
use super::seen::Met;
use super::session::Session;
use super::side_lines;
use super::tree::Tree;
use super::usage::Pending;
use crate::dialect::Normalizer;
use crate::emit::{Emitter, Place};
use crate::recent::{LATE_LARGE, Recent};
use crate::value::{count_of, is_true, list_of, millis_of_rfc3339, str_of, text_of};

pub(crate) const FORMAT: &str = "claude-transcript";

/// Reads the lines of a transcript.
#[derive(Debug)]
pub(crate) struct ClaudeTranscript {
    pub(crate) session: Session,
    tree: Tree,
    last_ms: Option<i64>,
    /// A main line was seen; before that, a sub-agent's lines are a file of its own.
    has_main: bool,
    own_agent: Option<String>,
    /// The sub-agent's line → the first line of its chain.
    chain_of: Recent<String>,
    /// The first line of a chain, or the agent's id → the call that started it.
    chain_call: Recent<Option<String>>,
    pending_usage: Pending,
    pending_compaction: Option<(String, i64, Place, Compaction)>,
    /// What a running command printed so far, by its call.
    printed: HashMap<String, String>,
    /// Titles of chains, by the line they end with, that came before that line.
    pub(crate) titles: Recent<String, LATE_LARGE>,
    pub(crate) has_own_title: bool,
}

impl ClaudeTranscript {
    pub(crate) fn new() -> Self {
        ClaudeTranscript {
            session: Session::new(FORMAT, true),
            tree: Tree::default(),
            last_ms: None,
            has_main: false,
            own_agent: None,
            chain_of: Recent::default(),
            chain_call: Recent::default(),
            pending_usage: Pending::default(),
            pending_compaction: None,
            printed: HashMap::new(),
            titles: Recent::default(),
            has_own_title: false,
        }
    }

    /// Whether the line with this id was read.
    pub(crate) fn knows(&self, uuid: &str) -> bool {
        self.tree.knows(uuid)
    }

    /// Says a title of the session.
    pub(crate) fn title(&mut self, emitter: &mut Emitter, title: String) {
        let facts = SessionStart {
            title: Some(title),
            ..SessionStart::default()
        };
        self.session.facts.say(emitter, facts, Map::new());
    }

    fn facts(&mut self, emitter: &mut Emitter, line: &Value) {
        if is_true(line, "isSidechain") && self.own_agent.is_none() {
            return;
        }
        let native_id = text_of(line, "sessionId").or_else(|| text_of(line, "session_id"));
        let facts = SessionStart {
            agent: Some(text_of(line, "version").map_or_else(
                || "Claude Code".to_owned(),
                |version| format!("Claude Code {version}"),
            ))
            .filter(|_| text_of(line, "version").is_some() || !self.has_main),
            native_id: native_id.map(str::to_owned),
            cwd: text_of(line, "cwd").map(str::to_owned),
            git_branch: text_of(line, "gitBranch").map(str::to_owned),
            provider: Some("claude-code".to_owned()),
            ..SessionStart::default()
        };
        self.session.facts.say(emitter, facts, Map::new());
    }

    fn conversation(&mut self, emitter: &mut Emitter, line: &Value, kind: &str) {
        let side = is_true(line, "isSidechain");
        if !self.has_main && side && self.own_agent.is_none() {
            self.own_agent = text_of(line, "agentId").map(str::to_owned);
        }
        let own = side
            && self.own_agent.is_some()
            && self.own_agent.as_deref() == text_of(line, "agentId");
        self.facts(emitter, line);
        self.has_main |= !side || own;
        let chain = if side && !own {
            Some(self.chain(line))
        } else {
            None
        };
        match kind {
            "assistant" => self.assistant(emitter, line, chain),
            _ => self.user(emitter, line, chain),
        }
    }

    /// The call that started the sub-agent of this line, and what the agent is called.
    fn chain(&mut self, line: &Value) -> (Option<String>, String) {
        let uuid = text_of(line, "uuid").unwrap_or("");
        let root = text_of(line, "parentUuid")
            .and_then(|parent| self.chain_of.get(parent))
            .cloned();
        let root = root.unwrap_or_else(|| uuid.to_owned());
        self.chain_of.insert(uuid, root.clone());
        let key = text_of(line, "agentId").map_or(root, str::to_owned);
        if let Some(call) = self.chain_call.get(&key).cloned() {
            // An agent that still works is not forgotten.
            self.chain_call.insert(&key, call.clone());
            return (call, key);
        }
        let content = line
            .get("message")
            .and_then(|message| message.get("content"))
            .unwrap_or(&Value::Null);
        let prompt = super::results::text_of_content(content);
        let call = self.session.agent_call(&prompt);
        self.chain_call.insert(&key, call.clone());
        (call, key)
    }

    fn place(&self, chain: Option<&(Option<String>, String)>) -> Place {
        match chain {
            Some((call, agent_id)) => self.session.place(call.as_deref(), Some(agent_id)),
            None => self.session.place(None, self.own_agent.as_deref()),
        }
    }

    fn assistant(
        &mut self,
        emitter: &mut Emitter,
        line: &Value,
        chain: Option<(Option<String>, String)>,
    ) {
        if chain.is_none() {
            self.session.need_turn(emitter);
            if let Some(turn) = self.session.turns.last_mut() {
                turn.answered = true;
            }
        }
        let place = self.place(chain.as_ref());
        let message = line.get("message").unwrap_or(&Value::Null);
        let superseded = list_of(line, "supersedesUuids");
        if !superseded.is_empty() {
            self.session.retract(emitter, &place, superseded);
        }
        if is_true(line, "isApiErrorMessage") {
            let text =
                super::results::text_of_content(message.get("content").unwrap_or(&Value::Null));
            let code = text_of(line, "apiErrorType")
                .or_else(|| text_of(line, "error"))
                .unwrap_or("api_error");
            emitter.add(
                "error",
                &place,
                ErrorEvent {
                    code: code.to_owned(),
                    message: text,
                    extra: Extra::default(),
                },
            );
            if chain.is_none()
                && let Some(turn) = self.session.turns.last_mut()
            {
                turn.failed = true;
            }
            self.session.blocks_beside_text(emitter, &place, message);
            return;
        }
        if chain.is_none()
            && let Some(model) = text_of(message, "model").filter(|model| !model.starts_with('<'))
        {
            let facts = SessionStart {
                model: Some(model.to_owned()),
                ..SessionStart::default()
            };
            self.session.facts.say(emitter, facts, Map::new());
        }
        if let Some((id, usage)) = self.pending_usage.take(message) {
            self.write_usage(emitter, &id, usage);
        }
        emitter.keep_ids(true);
        self.session.assistant_blocks(emitter, &place, message);
        emitter.keep_ids(false);
        if chain.is_none()
            && let Some(turn) = self.session.turns.last_mut()
        {
            turn.failed = false;
        }
    }

    fn write_usage(
        &mut self,
        emitter: &mut Emitter,
        message_id: &str,
        usage: chat_event::payload::Usage,
    ) {
        let (response_id, turn_id) = match self.session.messages.get(message_id) {
            Some(message) => (message.response_id.clone(), message.turn_id.clone()),
            None => (message_id.to_owned(), None),
        };
        let place = Place {
            turn_id,
            ..Place::default()
        }
        .in_response(&response_id);
        emitter.add_as(&format!("{response_id}:usage"), &place, usage);
    }

    fn flush_usage(&mut self, emitter: &mut Emitter) {
        if let Some((id, usage)) = self.pending_usage.flush() {
            self.write_usage(emitter, &id, usage);
        }
    }

    fn flush_compaction(&mut self, emitter: &mut Emitter) {
        if let Some((id, time_ms, place, compaction)) = self.pending_compaction.take() {
            let now_ms = std::mem::replace(&mut emitter.time_ms, time_ms);
            emitter.add_as(&id, &place, compaction);
            emitter.time_ms = now_ms;
        }
    }

    fn user(
        &mut self,
        emitter: &mut Emitter,
        line: &Value,
        chain: Option<(Option<String>, String)>,
    ) {
        let content = line
            .get("message")
            .and_then(|message| message.get("content"))
            .unwrap_or(&Value::Null);
        let place = self.place(chain.as_ref());
        match content {
            Value::String(text) => {
                self.user_text(emitter, line, chain.is_some(), &place, text, None)
            }
            Value::Array(blocks) => {
                let n_results = blocks
                    .iter()
                    .filter(|block| str_of(block, "type") == Some("tool_result"))
                    .count();
                let details = line.get("toolUseResult").filter(|_| n_results == 1);
                let mut texts = Vec::new();
                for block in blocks {
                    match str_of(block, "type").unwrap_or("") {
                        "tool_result" => {
                            self.forget_output(block);
                            self.session
                                .tool_result(emitter, &place, block, details, Some(line));
                        }
                        "text" => texts.push(str_of(block, "text").unwrap_or("")),
                        "image" | "document" => {}
                        kind => emitter.raw(&place, FORMAT, &format!("user block {kind}"), block),
                    }
                }
                let attachments = attachments(blocks);
                if !texts.is_empty() || attachments.is_some() {
                    self.user_text(
                        emitter,
                        line,
                        chain.is_some(),
                        &place,
                        &texts.join("\n"),
                        attachments,
                    );
                }
            }
            other => emitter.raw(&place, FORMAT, "user content", other),
        }
    }

    fn forget_output(&mut self, block: &Value) {
        if let Some(id) = text_of(block, "tool_use_id") {
            self.printed.remove(id);
        }
    }

    fn user_text(
        &mut self,
        emitter: &mut Emitter,
        line: &Value,
        side: bool,
        place: &Place,
        text: &str,
        attachments: Option<Json>,
    ) {
        if is_true(line, "isCompactSummary") {
            match &mut self.pending_compaction {
                Some((_, _, _, compaction)) => compaction.summary = Some(text.to_owned()),
                None => {
                    let compaction = Compaction {
                        summary: Some(text.to_owned()),
                        ..Compaction::default()
                    };
                    emitter.add("compaction", place, compaction);
                }
            }
            return;
        }
        if is_true(line, "isMeta") || is_true(line, "turnCompanion") {
            side_lines::said_by_program(emitter, place, text);
            return;
        }
        if side {
            let message = UserMessage {
                text: Body::from(text),
                attachments,
                ..UserMessage::default()
            };
            emitter
                .add("said", place, message)
                .extra
                .insert("from", Json::string("agent"));
            return;
        }
        let woken = line
            .get("origin")
            .and_then(|origin| text_of(origin, "kind"))
            == Some("task-notification");
        let mut attachments = attachments;
        for (at, said) in pieces(text).into_iter().enumerate() {
            let tag = if at == 0 {
                "said".to_owned()
            } else {
                format!("said{at}")
            };
            match said {
                Said::Interrupt => {
                    let place = self.place(None);
                    self.session.interrupt(emitter, &place, "user_cancel");
                }
                Said::Words(words) if woken => {
                    self.begin_turn(emitter, line, "system");
                    side_lines::said_by_program(emitter, &self.place(None), &words);
                }
                Said::Words(words) | Said::Command(words) | Said::Shell(words) => {
                    self.begin_turn(emitter, line, "user");
                    self.user_message(emitter, &tag, &words, attachments.take(), false);
                }
                Said::TaskNotification(text) => {
                    self.begin_turn(emitter, line, "system");
                    side_lines::task_notification(emitter, &self.place(None), &text);
                }
                Said::Output(text) => {
                    emitter.notice("info", &self.place(None), "command output", text);
                }
                Said::Injected(text) => {
                    side_lines::said_by_program(emitter, &self.place(None), &text)
                }
            }
        }
    }

    /// A person's words in the turn that is open.
    pub(crate) fn user_message(
        &mut self,
        emitter: &mut Emitter,
        tag: &str,
        text: &str,
        attachments: Option<Json>,
        steering: bool,
    ) {
        let place = self.place(None);
        let mut message = UserMessage {
            text: Body::from(text),
            attachments,
            ..UserMessage::default()
        };
        if steering {
            message
                .extra
                .insert("steering", Json::from(Value::Bool(true)));
        }
        emitter.add(tag, &place, message);
    }

    /// Begins a turn at this line, where the line has not begun one already.
    fn begin_turn(&mut self, emitter: &mut Emitter, line: &Value, trigger: &str) {
        let id = emitter.line_id().to_owned();
        if self.session.turns.last().is_some_and(|turn| turn.id == id) {
            return;
        }
        self.flush_usage(emitter);
        self.end_turn(emitter, None);
        if let Some(uuid) = text_of(line, "uuid") {
            let left = self.tree.turn(uuid, text_of(line, "parentUuid"), &id);
            if !left.is_empty() {
                let text = match left.len() {
                    1 => "the user went back: the turn before this line was left".to_owned(),
                    n => format!("the user went back: {n} turns before this line were left"),
                };
                let notice = emitter.notice("info", &Place::default(), "branch", text);
                if let Payload::Notice(notice) = &mut notice.payload {
                    notice
                        .extra
                        .insert("leftTurnIds", Json::from(Value::from(left)));
                }
            }
        }
        let at = emitter.out.len();
        self.session.open_turn(emitter, &id, trigger);
        // Hooks name the turn by its prompt.
        if let Some(prompt) = text_of(line, "promptId")
            && let Some(event) = emitter.out.get_mut(at)
            && let Payload::TurnStart(start) = &mut event.payload
        {
            start.extra.insert("promptId", Json::string(prompt));
        }
    }

    fn end_turn(&mut self, emitter: &mut Emitter, duration_ms: Option<u64>) {
        let Some(turn) = self.session.turns.first() else {
            return;
        };
        let outcome = match (turn.interrupted, turn.failed) {
            (true, _) => "interrupted",
            (false, true) => "failed",
            (false, false) => "completed",
        };
        let mut end = TurnEnd {
            outcome: Some(outcome.to_owned()),
            duration_ms,
            ..TurnEnd::default()
        };
        // That the next prompt came shows that this turn is over, not how it went.
        if duration_ms.is_none() {
            end.extra.insert("guessed", Json::from(Value::Bool(true)));
        }
        self.session.close_turn_leaving_calls(emitter, end);
    }

    fn system(&mut self, emitter: &mut Emitter, line: &Value) {
        let place = self.place(None);
        let content = str_of(line, "content").unwrap_or("");
        match str_of(line, "subtype").unwrap_or("") {
            "turn_duration" => {
                self.flush_usage(emitter);
                self.end_turn(emitter, count_of(line, "durationMs"));
            }
            "stop_hook_summary" => side_lines::stop_hooks(emitter, &place, line),
            "compact_boundary" | "microcompact_boundary" => {
                let about = line
                    .get("compactMetadata")
                    .or_else(|| line.get("microcompactMetadata"))
                    .unwrap_or(&Value::Null);
                let compaction = Compaction {
                    trigger: str_of(about, "trigger").unwrap_or("auto").to_owned(),
                    summary: None,
                    tokens_before: count_of(about, "preTokens"),
                    extra: Extra::default(),
                };
                let id = format!("{}:compaction", emitter.line_id());
                self.pending_compaction = Some((id, emitter.time_ms, place, compaction));
            }
            "api_error" | "error" => {
                let error = line.get("error").unwrap_or(&Value::Null);
                let why = text_of(error, "formatted").or_else(|| text_of(error, "message"));
                let why = why.map_or_else(|| error_text(error), str::to_owned);
                let attempt = match (count_of(line, "retryAttempt"), count_of(line, "maxRetries")) {
                    (Some(attempt), Some(of)) => format!("attempt {attempt} of {of}: "),
                    _ => String::new(),
                };
                emitter.retrying(&place, Some(format!("{attempt}{why}")));
            }
            "local_command" => {
                for said in pieces(content) {
                    match said {
                        Said::Command(text) | Said::Shell(text) => {
                            emitter.notice("info", &place, "command", text);
                        }
                        Said::Output(text)
                        | Said::Words(text)
                        | Said::TaskNotification(text)
                        | Said::Injected(text) => {
                            emitter.notice("info", &place, "command output", text);
                        }
                        Said::Interrupt => self.session.interrupt(emitter, &place, "user_cancel"),
                    }
                }
            }
            "api_refusal" | "model_refusal_fallback" => {
                let retracted = list_of(line, "retractedMessageUuids");
                self.session.retract(emitter, &place, retracted);
                let text = text_of(line, "content")
                    .or_else(|| text_of(line, "apiRefusalExplanation"))
                    .unwrap_or("the model refused");
                emitter.notice("warning", &place, "claude-code", text);
            }
            "informational" | "away_summary" | "" if !content.is_empty() => {
                let level = if matches!(str_of(line, "level"), Some("warning" | "error")) {
                    "warning"
                } else {
                    "info"
                };
                emitter.notice(level, &place, "claude-code", content);
            }
            // The first line says the same.
            "session_start" => emitter.pass_over("system/session_start"),
            kind => emitter.raw(&place, FORMAT, &format!("system/{kind}"), line),
        }
    }

    fn progress(&mut self, emitter: &mut Emitter, line: &Value) -> bool {
        let data = line.get("data").unwrap_or(&Value::Null);
        let native = text_of(line, "parentToolUseID").or_else(|| text_of(line, "toolUseID"));
        let known_call = native.filter(|id| self.session.calls.contains_key(*id));
        let place = known_call
            .and_then(|id| self.session.calls.get(id))
            .map_or_else(|| self.place(None), |call| call.place.clone());
        let call_id = known_call.map(|id| self.session.call_id(id));
        let message = match str_of(data, "type").unwrap_or("") {
            "bash_progress" => {
                return self.bash_progress(emitter, data, native.unwrap_or(""), &place, call_id);
            }
            "agent_progress" => return self.agent_progress(emitter, data, native),
            "hook_progress" => format!(
                "hook {}",
                str_of(data, "hookName")
                    .or_else(|| str_of(data, "hookEvent"))
                    .unwrap_or("")
            ),
            "query_update" => format!("searching: {}", str_of(data, "query").unwrap_or("")),
            "search_results_received" => {
                format!("{} results", count_of(data, "resultCount").unwrap_or(0))
            }
            "mcp_progress" => str_of(data, "message")
                .or_else(|| str_of(data, "status"))
                .unwrap_or("")
                .to_owned(),
            "waiting_for_task" => format!(
                "waiting for {}",
                str_of(data, "taskDescription").unwrap_or("a task")
            ),
            _ => return false,
        };
        emitter.add(
            "progress",
            &place,
            Progress {
                message,
                tool_call_id: call_id,
                ..Progress::default()
            },
        );
        true
    }

    /// What a command printed: a snapshot of all of it, of which the new end is written.
    fn bash_progress(
        &mut self,
        emitter: &mut Emitter,
        data: &Value,
        native: &str,
        place: &Place,
        call_id: Option<String>,
    ) -> bool {
        let full = text_of(data, "fullOutput")
            .or_else(|| text_of(data, "output"))
            .unwrap_or("");
        let Some(tool_call_id) = call_id else {
            emitter.pass_over("progress/bash_progress without a call");
            return true;
        };
        let printed = self.printed.entry(native.to_owned()).or_default();
        match full.strip_prefix(printed.as_str()) {
            Some(new) if !new.is_empty() => {
                let chunk = ToolOutputChunk {
                    tool_call_id,
                    chunk: new.to_owned(),
                    ..ToolOutputChunk::default()
                };
                full.clone_into(printed);
                emitter.add("output", place, chunk);
            }
            _ => {
                // Nothing new, or a snapshot of the last lines only, whose place is not known; the result has it all.
                let message = format!("{} s", count_of(data, "elapsedTimeSeconds").unwrap_or(0));
                emitter.add(
                    "progress",
                    place,
                    Progress {
                        message,
                        tool_call_id: Some(tool_call_id),
                        ..Progress::default()
                    },
                );
            }
        }
        true
    }

    /// A sub-agent's line within a line.
    fn agent_progress(
        &mut self,
        emitter: &mut Emitter,
        data: &Value,
        native: Option<&str>,
    ) -> bool {
        let Some(inner) = data.get("message").filter(|inner| inner.is_object()) else {
            return false;
        };
        if let Some(uuid) = text_of(inner, "uuid") {
            if self.session.seen.meet(uuid, inner) == Met::Same {
                emitter.report.repeated += 1;
                return true;
            }
            let outer_id = emitter.line_id().to_owned();
            emitter.begin_line(Some(uuid));
            let known = self.agent_line(emitter, data, inner, native);
            emitter.begin_line(Some(&outer_id));
            return known;
        }
        self.agent_line(emitter, data, inner, native)
    }

    fn agent_line(
        &mut self,
        emitter: &mut Emitter,
        data: &Value,
        inner: &Value,
        native: Option<&str>,
    ) -> bool {
        let call = native
            .filter(|id| !id.starts_with("agent_"))
            .map(str::to_owned);
        let chain = Some((call, text_of(data, "agentId").unwrap_or("agent").to_owned()));
        match str_of(inner, "type") {
            Some("assistant") => self.assistant(emitter, inner, chain),
            Some("user") => self.user(emitter, inner, chain),
            Some(_) | None => return false,
        }
        true
    }
}

impl Normalizer for ClaudeTranscript {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        let said_ms = text_of(line, "timestamp").and_then(millis_of_rfc3339);
        self.last_ms = said_ms.or(self.last_ms);
        emitter.time_ms = self.last_ms.unwrap_or(emitter.time_ms);
        let kind = str_of(line, "type").unwrap_or("");
        if let Some(uuid) = text_of(line, "uuid") {
            match self.session.seen.meet(uuid, line) {
                Met::Never => {}
                Met::Same => {
                    emitter.report.repeated += 1;
                    return;
                }
                Met::Other => emitter.begin_line(None),
            }
        }
        if !is_true(line, "isCompactSummary") {
            self.flush_compaction(emitter);
        }
        let known = match kind {
            "user" | "assistant" if line.get("message").is_some_and(Value::is_object) => {
                self.conversation(emitter, line, kind);
                true
            }
            "system" => {
                self.facts(emitter, line);
                self.system(emitter, line);
                true
            }
            "progress" => self.progress(emitter, line),
            "attachment" => self.attachment(emitter, line),
            _ => self.side_line(emitter, line, kind),
        };
        if !known {
            emitter.raw(&self.session.place(None, None), FORMAT, kind, line);
        }
        if let Some(uuid) = text_of(line, "uuid") {
            if !self.tree.knows(uuid) {
                self.tree.line(
                    uuid,
                    text_of(line, "parentUuid").or_else(|| text_of(line, "logicalParentUuid")),
                );
            }
            if let Some(title) = self.titles.remove(uuid) {
                self.title(emitter, title);
            }
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        if let Some(last_ms) = self.last_ms {
            emitter.time_ms = last_ms;
        }
        self.flush_compaction(emitter);
        self.flush_usage(emitter);
        let has_open_call = self
            .session
            .calls
            .values()
            .any(|call| call.place.parent_tool_call_id.is_none());
        let unanswered = self.session.turns.last().is_some_and(|turn| !turn.answered);
        self.session.close_all(emitter, |turn| {
            match (turn.interrupted || has_open_call || unanswered, turn.failed) {
                (true, _) => "interrupted",
                (false, true) => "failed",
                (false, false) => "completed",
            }
        });
        self.session.asks.expire_all(emitter);
        emitter.add(
            "session-end",
            &Place::default(),
            SessionEnd {
                reason: "end of file".to_owned(),
                extra: Extra::default(),
            },
        );
    }
}

/// An error that has no message of its own, as text.
fn error_text(error: &Value) -> String {
    let cause = error.get("cause").and_then(|cause| text_of(cause, "code"));
    match (count_of(error, "status"), cause) {
        (Some(status), _) => format!("API error {status}"),
        (None, Some(code)) => code.to_owned(),
        (None, None) => "API error".to_owned(),
    }
}

/// Pictures and documents beside a user's words: `[{name?, mediaType, data}]`.
pub(crate) fn attachments(blocks: &[Value]) -> Option<Json> {
    let mut found = Vec::new();
    for block in blocks {
        if !matches!(str_of(block, "type"), Some("image" | "document")) {
            continue;
        }
        let source = block.get("source").unwrap_or(&Value::Null);
        let mut attachment = Map::new();
        if let Some(name) = str_of(block, "title") {
            attachment.insert("name".to_owned(), Value::from(name));
        }
        let media_type = str_of(source, "media_type").unwrap_or("application/octet-stream");
        attachment.insert("mediaType".to_owned(), Value::from(media_type));
        let key = if str_of(source, "type") == Some("base64") {
            "data"
        } else {
            "ref"
        };
        let value = ["data", "url", "file_id"]
            .iter()
            .find_map(|key| source.get(*key))
            .cloned()
            .unwrap_or(Value::Null);
        attachment.insert(key.to_owned(), value);
        found.push(Value::Object(attachment));
    }
    (!found.is_empty()).then(|| Json::from(Value::Array(found)))
}
