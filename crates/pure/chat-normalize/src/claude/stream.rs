//! `claude --print --output-format stream-json --verbose`, with and without `--include-partial-messages`.
//!
//! | line | turn |
//! |---|---|
//! | `system/init` | one begins: it comes again at every turn |
//! | a person's replayed words, no turn open | one begins |
//! | `result` | the oldest open one ends: a result can be held back until the next turn has begun |
//! | the stream ends | every open one ends as interrupted |
//!
//! A turn is the system's where a background task ended since the main agent last spoke, else the user's. Branching
//! goes by `is_error` and `terminal_reason`; `subtype` says `success` for API errors too.

mod partial;

use chat_event::payload::{
    Compaction, ErrorEvent, Progress, SessionEnd, SessionStart, TurnEnd, UserMessage,
};
use chat_event::{Body, Extra, Json};
use serde_json::{Map, Value};

use super::said::{Said, pieces};
use super::seen::Met;
use super::session::Session;
use super::side_lines;
use super::usage;
use crate::dialect::Normalizer;
use crate::emit::{Emitter, Place};
use crate::recent::{LATE_LARGE, Recent};
use crate::value::{count_of, is_true, list_of, str_of, text_of};

const FORMAT: &str = "claude-stream-json";

/// Members of `init` that `session_start` has fields for, and such as say nothing of the session.
const NOT_KEPT_OF_INIT: [&str; 11] = [
    "type",
    "subtype",
    "session_id",
    "uuid",
    "cwd",
    "model",
    "tools",
    "claude_code_version",
    "memory_paths",
    "messaging_socket_path",
    "original_cwd",
];

/// Reads the lines of a stream.
#[derive(Debug)]
pub(crate) struct ClaudeStream {
    session: Session,
    /// The prompt that the stream does not say.
    prompt: Option<String>,
    /// What `prompt` was when its message was written; a replay of it is not written again.
    said_prompt: Option<String>,
    /// The main agent's message that streams now, by its parent call.
    current: Recent<Value, LATE_LARGE>,
    /// Calls whose input streams now, by parent and block index.
    /// Both of the last sub-agents only.
    streaming: Recent<std::collections::HashMap<u64, String>, LATE_LARGE>,
    has_version: bool,
    inits: u64,
    woken: bool,
    status: Option<String>,
    retrying: bool,
    open_hooks: std::collections::BTreeMap<String, String>,
    ended_well: bool,
    pending_compaction: Option<(String, Place, Compaction)>,
}

impl ClaudeStream {
    pub(crate) fn new(prompt: Option<String>) -> Self {
        ClaudeStream {
            session: Session::new(FORMAT, false),
            prompt,
            said_prompt: None,
            current: Recent::default(),
            streaming: Recent::default(),
            has_version: false,
            inits: 0,
            woken: false,
            status: None,
            retrying: false,
            open_hooks: std::collections::BTreeMap::new(),
            ended_well: false,
            pending_compaction: None,
        }
    }

    /// A compaction is written with the summary that follows it, or without where none does.
    fn flush_compaction(&mut self, emitter: &mut Emitter) {
        if let Some((id, place, compaction)) = self.pending_compaction.take() {
            emitter.add_as(&id, &place, compaction);
        }
    }

    fn place(&self, line: &Value) -> Place {
        self.session.place(
            text_of(line, "parent_tool_use_id"),
            text_of(line, "agent_id"),
        )
    }

    fn system(&mut self, emitter: &mut Emitter, line: &Value, place: &Place) {
        match str_of(line, "subtype").unwrap_or("") {
            "init" => self.init(emitter, line),
            "status" => self.system_status(emitter, line),
            "compact_boundary" => {
                let about = line.get("compact_metadata").unwrap_or(&Value::Null);
                let compaction = Compaction {
                    trigger: str_of(about, "trigger").unwrap_or("auto").to_owned(),
                    summary: None,
                    tokens_before: count_of(about, "pre_tokens"),
                    extra: Extra::default(),
                };
                let id = format!("{}:compaction", emitter.line_id());
                self.pending_compaction = Some((id, place.clone(), compaction));
            }
            "api_retry" => {
                let attempt = count_of(line, "attempt").unwrap_or(0);
                let of = count_of(line, "max_retries").unwrap_or(0);
                let why = text_of(line, "error").unwrap_or("error");
                let code = count_of(line, "error_status")
                    .map(|code| format!(" {code}"))
                    .unwrap_or_default();
                self.retrying = true;
                let attempt = format!("attempt {attempt} of {of}: {why}{code}");
                emitter.retrying(place, Some(attempt));
            }
            "hook_started" => {
                let name = str_of(line, "hook_name").unwrap_or("hook").to_owned();
                self.open_hooks
                    .insert(str_of(line, "hook_id").unwrap_or("").to_owned(), name);
                emitter.pass_over("system/hook_started");
            }
            "hook_progress" => {
                let text = format!(
                    "{}: {}",
                    str_of(line, "hook_name").unwrap_or("hook"),
                    str_of(line, "output").unwrap_or("")
                );
                progress(emitter, place, text, None);
            }
            "hook_response" => self.hook_response(emitter, line, place),
            "permission_denied" => {
                let by = match str_of(line, "decision_reason_type") {
                    Some("hook") => "hook",
                    Some("mode") => "mode",
                    _ => "rule",
                };
                let id = text_of(line, "tool_use_id").unwrap_or("").to_owned();
                self.session.denied(
                    emitter,
                    &id,
                    str_of(line, "tool_name").unwrap_or(""),
                    None,
                    by,
                    text_of(line, "message"),
                );
            }
            "task_started" => {
                let text = format!("started: {}", str_of(line, "description").unwrap_or(""));
                self.task_progress(emitter, line, place, text);
            }
            "task_progress" => {
                let text = str_of(line, "summary")
                    .or_else(|| str_of(line, "description"))
                    .unwrap_or("")
                    .to_owned();
                self.task_progress(emitter, line, place, text);
            }
            "task_updated" => {
                let patch = line.get("patch").unwrap_or(&Value::Null);
                match text_of(patch, "error") {
                    Some(error) => {
                        self.task_progress(emitter, line, place, format!("failed: {error}"))
                    }
                    // The notification that follows says the same.
                    None => emitter.pass_over("system/task_updated"),
                }
            }
            "task_notification" => {
                self.woken = true;
                let status = str_of(line, "status").unwrap_or("ended");
                let text = format!("{status}: {}", str_of(line, "summary").unwrap_or(""));
                self.task_progress(emitter, line, place, text);
            }
            "background_tasks_changed" => {
                emitter.in_background(!list_of(line, "tasks").is_empty());
                emitter.pass_over("system/background_tasks_changed");
            }
            // One comes for nearly every piece of thinking, and the pieces are shown themselves.
            "thinking_tokens" => emitter.pass_over("system/thinking_tokens"),
            // The lines around it say what is busy and what is idle.
            "session_state_changed" => emitter.pass_over("system/session_state_changed"),
            "informational" | "notification" | "local_command_output" | "memory_recall" => {
                let text = ["content", "text", "message", "output"]
                    .iter()
                    .find_map(|key| text_of(line, key));
                let level = if matches!(str_of(line, "level"), Some("warning" | "error")) {
                    "warning"
                } else {
                    "info"
                };
                let text = text.map_or_else(|| line.to_string(), str::to_owned);
                emitter.notice(level, place, "claude-code", text);
            }
            kind => emitter.raw(place, FORMAT, &format!("system/{kind}"), line),
        }
    }

    fn init(&mut self, emitter: &mut Emitter, line: &Value) {
        self.inits += 1;
        let version = text_of(line, "claude_code_version");
        self.has_version |= version.is_some();
        let agent = match version {
            Some(version) => format!("Claude Code {version}"),
            None => "Claude Code".to_owned(),
        };
        let mut rest = line.as_object().cloned().unwrap_or_default();
        rest.retain(|name, _| !NOT_KEPT_OF_INIT.contains(&name.as_str()));
        let facts = SessionStart {
            agent: Some(agent),
            native_id: text_of(line, "session_id").map(str::to_owned),
            model: text_of(line, "model").map(str::to_owned),
            cwd: text_of(line, "cwd").map(str::to_owned),
            provider: Some("claude-code".to_owned()),
            tools: line
                .get("tools")
                .filter(|tools| !tools.is_null())
                .map(Json::from),
            timestamp_source: Some("arrival".to_owned()),
            ..SessionStart::default()
        };
        self.session.facts.say(emitter, facts, rest);
        let trigger = if std::mem::take(&mut self.woken) {
            "system"
        } else {
            "user"
        };
        let id = emitter.line_id().to_owned();
        self.session.open_turn(emitter, &id, trigger);
        if let Some(prompt) = self.prompt.take() {
            self.user_message(emitter, "prompt", &prompt, None);
            self.said_prompt = Some(prompt);
        }
    }

    fn system_status(&mut self, emitter: &mut Emitter, line: &Value) {
        let status = text_of(line, "status").map(str::to_owned);
        let place = self.session.place(None, None);
        if let Some(why) = text_of(line, "compact_error") {
            emitter.notice(
                "warning",
                &place,
                "claude-code",
                format!("compaction failed: {why}"),
            );
        }
        if status.as_deref() == Some("compacting") {
            emitter.busy_with(&place, "compacting");
        } else {
            // `requesting` comes before every request to the model; the turn says that the session is busy.
            emitter.pass_over("system/status");
        }
        if let Some(mode) = text_of(line, "permissionMode") {
            let mut rest = Map::new();
            rest.insert("permissionMode".to_owned(), Value::String(mode.to_owned()));
            self.session
                .facts
                .say(emitter, SessionStart::default(), rest);
        }
        self.status = status;
    }

    fn hook_response(&mut self, emitter: &mut Emitter, line: &Value, place: &Place) {
        self.open_hooks
            .remove(str_of(line, "hook_id").unwrap_or(""));
        let name = str_of(line, "hook_name").unwrap_or("hook");
        let outcome = str_of(line, "outcome").unwrap_or("done");
        let level = if outcome == "success" {
            "info"
        } else {
            "warning"
        };
        let notice = emitter.notice(level, place, "hook", format!("{name}: {outcome}"));
        if let chat_event::Payload::Notice(notice) = &mut notice.payload {
            for key in ["exit_code", "output", "stdout", "stderr"] {
                let value = line
                    .get(key)
                    .filter(|value| !value.is_null() && value.as_str() != Some(""));
                // `output` repeats `stdout`.
                let repeated = key == "stdout" && line.get("output") == value;
                if let Some(value) = value.filter(|_| !repeated) {
                    notice.extra.insert(key, Json::from(value));
                }
            }
        }
    }

    fn task_progress(&mut self, emitter: &mut Emitter, line: &Value, place: &Place, text: String) {
        let native = text_of(line, "tool_use_id");
        let call_id = native.map(|id| self.session.call_id(id));
        let place = match native {
            Some(_) => Place {
                turn_id: self.session.place(native, None).turn_id,
                ..place.clone()
            },
            None => place.clone(),
        };
        progress(emitter, &place, text, call_id);
    }

    fn assistant(&mut self, emitter: &mut Emitter, line: &Value, place: &Place) {
        let mut place = place.clone();
        if place.parent_tool_call_id.is_none() {
            self.woken = false;
            if !self.session.in_turn() {
                self.session.need_turn(emitter);
                place = self.place(line);
            }
        }
        let message = line.get("message").unwrap_or(&Value::Null);
        if is_true(line, "is_api_error_message") || text_of(line, "error").is_some() {
            let text =
                super::results::text_of_content(message.get("content").unwrap_or(&Value::Null));
            let code = text_of(line, "api_error_type")
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
            if let Some(turn) = self.session.turns.last_mut() {
                turn.failed = true;
            }
            self.session.blocks_beside_text(emitter, &place, message);
            return;
        }
        self.session
            .retract(emitter, &place, list_of(line, "supersedes"));
        emitter.keep_ids(true);
        self.session.assistant_blocks(emitter, &place, message);
        emitter.keep_ids(false);
    }

    fn user(&mut self, emitter: &mut Emitter, line: &Value, place: &Place) {
        let content = line
            .get("message")
            .and_then(|message| message.get("content"))
            .unwrap_or(&Value::Null);
        let details = line.get("tool_use_result");
        match content {
            Value::String(text) => self.user_text(emitter, line, place, text, None),
            Value::Array(blocks) => {
                let n_results = blocks
                    .iter()
                    .filter(|block| str_of(block, "type") == Some("tool_result"))
                    .count();
                let details = details.filter(|_| n_results == 1);
                let attachments = super::transcript::attachments(blocks);
                let mut texts = Vec::new();
                for block in blocks {
                    match str_of(block, "type").unwrap_or("") {
                        "tool_result" => {
                            self.session
                                .tool_result(emitter, place, block, details, Some(line))
                        }
                        "text" => texts.push(str_of(block, "text").unwrap_or("")),
                        "image" | "document" => {}
                        kind => emitter.raw(place, FORMAT, &format!("user block {kind}"), block),
                    }
                }
                if !texts.is_empty() || attachments.is_some() {
                    self.user_text(emitter, line, place, &texts.join("\n"), attachments);
                }
            }
            other => emitter.raw(place, FORMAT, "user content", other),
        }
    }

    fn user_text(
        &mut self,
        emitter: &mut Emitter,
        line: &Value,
        place: &Place,
        text: &str,
        attachments: Option<Json>,
    ) {
        if place.parent_tool_call_id.is_some() {
            // The words a sub-agent was started with stand in the call's arguments too.
            let message = UserMessage {
                text: Body::from(text),
                attachments,
                ..UserMessage::default()
            };
            let event = emitter.add("said", place, message);
            event.extra.insert("from", Json::string("agent"));
            return;
        }
        if is_true(line, "isSynthetic") {
            match &mut self.pending_compaction {
                Some((_, _, compaction)) => {
                    compaction.summary = Some(text.to_owned());
                    self.flush_compaction(emitter);
                }
                None => side_lines::said_by_program(emitter, place, text),
            }
            return;
        }
        let replay = is_true(line, "isReplay");
        for (at, said) in pieces(text).into_iter().enumerate() {
            let tag = if at == 0 {
                "said".to_owned()
            } else {
                format!("said{at}")
            };
            match said {
                Said::Interrupt => {
                    self.session.interrupt(emitter, place, "user_cancel");
                }
                // Before 2.0 a replayed line bears no mark; later, words without one are the program's own.
                Said::Words(words) | Said::Command(words) | Said::Shell(words)
                    if replay || !self.has_version =>
                {
                    if self
                        .said_prompt
                        .take()
                        .is_none_or(|prompt| prompt.trim() != words.trim())
                    {
                        if !self.session.in_turn() {
                            let id = emitter.line_id().to_owned();
                            self.session.open_turn(emitter, &id, "user");
                        }
                        self.user_message(emitter, &tag, &words, attachments.clone());
                    } else {
                        emitter.pass_over("user, a replay of the prompt");
                    }
                }
                Said::Output(text)
                | Said::TaskNotification(text)
                | Said::Injected(text)
                | Said::Words(text)
                | Said::Command(text)
                | Said::Shell(text) => {
                    emitter.notice("info", place, "claude-code", text);
                }
            }
        }
    }

    fn user_message(
        &mut self,
        emitter: &mut Emitter,
        tag: &str,
        text: &str,
        attachments: Option<Json>,
    ) {
        let place = self.session.place(None, None);
        emitter.add(
            tag,
            &place,
            UserMessage {
                text: Body::from(text),
                attachments,
                ..UserMessage::default()
            },
        );
    }

    fn result(&mut self, emitter: &mut Emitter, line: &Value) {
        if !self.session.in_turn() {
            // A session that could not be resumed has a result and nothing else.
            self.session.need_turn(emitter);
        }
        let turn_id = self.session.turns.first().map(|turn| turn.id.clone());
        let place = Place {
            turn_id,
            ..Place::default()
        };
        for denial in list_of(line, "permission_denials") {
            let id = text_of(denial, "tool_use_id").unwrap_or("").to_owned();
            let name = str_of(denial, "tool_name").unwrap_or("");
            self.session
                .denied(emitter, &id, name, denial.get("tool_input"), "rule", None);
        }
        let outcome = self.outcome(emitter, line, &place);
        let usage_of_turn = line
            .get("usage")
            .filter(|usage| usage.is_object())
            .map(|tokens| usage::usage("turn", tokens, None));
        let cost_usd = self.session.spent.turn_cost(line);
        if let Some(sums) = usage::session_usage(line) {
            emitter.add("usage", &place, sums);
        }
        let mut end = TurnEnd {
            usage: usage_of_turn
                .and_then(|usage| serde_json::to_value(usage).ok())
                .map(Json::from),
            cost_usd,
            duration_ms: count_of(line, "duration_ms"),
            outcome: Some(outcome.to_owned()),
            ..TurnEnd::default()
        };
        for (from, to) in [
            ("terminal_reason", "terminalReason"),
            ("num_turns", "numTurns"),
            ("stop_reason", "stopReason"),
            ("duration_api_ms", "durationApiMs"),
            ("structured_output", "structuredOutput"),
        ] {
            if let Some(value) = line.get(from).filter(|value| !value.is_null()) {
                end.extra.insert(to, Json::from(value));
            }
        }
        self.session.close_turn(emitter, end);
        self.ended_well = true;
    }

    fn outcome(&mut self, emitter: &mut Emitter, line: &Value, place: &Place) -> &'static str {
        let terminal = str_of(line, "terminal_reason").unwrap_or("");
        let subtype = str_of(line, "subtype").unwrap_or("");
        let (interrupted, failed) = self
            .session
            .turns
            .first()
            .map_or((false, false), |turn| (turn.interrupted, turn.failed));
        if terminal.starts_with("aborted") || (interrupted && subtype.starts_with("error")) {
            if !interrupted {
                emitter.add(
                    "interrupt",
                    place,
                    chat_event::payload::Interrupt {
                        reason: "user_cancel".to_owned(),
                        extra: Extra::default(),
                    },
                );
            }
            return "interrupted";
        }
        let is_error = is_true(line, "is_error") || subtype.starts_with("error");
        if !is_error {
            return "completed";
        }
        // An API error was said by the assistant's line; the result repeats it.
        if !failed {
            let code = [terminal, subtype]
                .into_iter()
                .find(|code| !code.is_empty() && *code != "success")
                .unwrap_or("error");
            let errors = list_of(line, "errors")
                .iter()
                .filter_map(Value::as_str)
                .collect::<Vec<_>>()
                .join("\n");
            let message = text_of(line, "result").map_or(errors, str::to_owned);
            emitter.add(
                "error",
                place,
                ErrorEvent {
                    code: code.to_owned(),
                    message,
                    extra: Extra::default(),
                },
            );
        }
        "failed"
    }
}

impl Normalizer for ClaudeStream {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
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
        let place = self.place(line);
        if !is_true(line, "isSynthetic") {
            self.flush_compaction(emitter);
        }
        match str_of(line, "type").unwrap_or("") {
            "system" => self.system(emitter, line, &place),
            "assistant" => self.assistant(emitter, line, &place),
            "user" => self.user(emitter, line, &place),
            "stream_event" => self.stream_event(emitter, line, &place),
            "result" => self.result(emitter, line),
            "control_request" => self.session.control_request(emitter, line),
            "control_response" => self.session.control_response(emitter, line),
            "control_cancel_request" => self.session.control_cancel(emitter, line),
            "keep_alive" => emitter.pass_over("keep_alive"),
            "tool_progress" => {
                let name = str_of(line, "tool_name").unwrap_or("tool");
                let seconds = count_of(line, "elapsed_time_seconds").unwrap_or(0);
                let call_id = text_of(line, "tool_use_id").map(|id| self.session.call_id(id));
                progress(emitter, &place, format!("{name}: {seconds} s"), call_id);
            }
            "tool_use_summary" => progress(
                emitter,
                &place,
                str_of(line, "summary").unwrap_or("").to_owned(),
                None,
            ),
            "rate_limit_event" => rate_limit(emitter, &place, line),
            "auth_status" => {
                let text = list_of(line, "output")
                    .iter()
                    .filter_map(Value::as_str)
                    .collect::<Vec<_>>()
                    .join("\n");
                emitter.notice("info", &place, "auth", text);
            }
            kind => emitter.raw(&place, FORMAT, kind, line),
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.flush_compaction(emitter);
        for (_, name) in std::mem::take(&mut self.open_hooks) {
            emitter.notice(
                "info",
                &Place::default(),
                "hook",
                format!("{name}: no answer recorded"),
            );
        }
        let cut_off = self.session.in_turn();
        self.session.close_all(
            emitter,
            |turn| if turn.failed { "failed" } else { "interrupted" },
        );
        self.session.asks.expire_all(emitter);
        let reason = match (cut_off, self.ended_well) {
            (true, _) => "the stream stopped before the turn was over",
            (false, true) => "end of stream",
            (false, false) => "end of stream, without a result",
        };
        emitter.add(
            "session-end",
            &Place::default(),
            SessionEnd {
                reason: reason.to_owned(),
                extra: Extra::default(),
            },
        );
    }
}

fn progress(emitter: &mut Emitter, place: &Place, message: String, tool_call_id: Option<String>) {
    emitter.add(
        "progress",
        place,
        Progress {
            message,
            tool_call_id,
            ..Progress::default()
        },
    );
}

fn rate_limit(emitter: &mut Emitter, place: &Place, line: &Value) {
    let about = line.get("rate_limit_info").unwrap_or(&Value::Null);
    match str_of(about, "status") {
        Some("allowed") => emitter.pass_over("rate_limit_event allowed"),
        Some(status) => {
            let kind = str_of(about, "rateLimitType").unwrap_or("");
            let notice = emitter.notice(
                "warning",
                place,
                "rate limit",
                format!("rate limit {kind}: {status}"),
            );
            if let chat_event::Payload::Notice(notice) = &mut notice.payload {
                notice.extra.insert("rateLimit", Json::from(about));
            }
        }
        None => emitter.raw(place, FORMAT, "rate_limit_event", line),
    }
}
