//! The JSON-RPC of `codex app-server`: what the server writes, and what its client writes where that is recorded, too
//! (lines of `{dir, msg}`, or lines with a `jsonrpc` member, which the server's own do not have).
//!
//! | line | what it gives |
//! |---|---|
//! | `thread/started`, answers with a `thread` | `session_start` |
//! | `turn/started`, `turn/completed` | the turn |
//! | `item/started`, `item/completed`, `item/*/delta` | `items` |
//! | `turn/diff/updated` | when the turn is over, the files of which no item told how they changed |
//! | requests with an `id` and a `method` of the server | permissions and questions |
//! | `codex/event/*` (0.77) | nothing: they say the same again |

use chat_event::Json;
use chat_event::payload::{Progress, SessionStart, TurnEnd};
use serde_json::{Map, Value};

use super::asks::About;
use super::items::{self, Phase};
use super::session::{Session, ended};
use super::tokens;
use crate::dialect::Normalizer;
use crate::emit::Emitter;
use crate::value::{count_of, list_of, str_of, text_of};

/// The message of a line, and whether the client wrote it.
fn unwrap(value: &Value) -> (&Value, bool) {
    match (str_of(value, "dir"), value.get("msg")) {
        (Some(dir), Some(msg)) if msg.is_object() => (msg, dir.starts_with("client")),
        _ => (value, value.get("jsonrpc").is_some()),
    }
}

/// Whether a line is of this dialect, and whether that is sure.
pub(crate) fn is_app_server_line(value: &Value) -> Option<bool> {
    let (message, by_client) = unwrap(value);
    let method = str_of(message, "method");
    if let Some(method) = method {
        if message.get("jsonrpc").is_some() {
            return None;
        }
        let sure = ["thread/", "turn/", "item/", "codex/event/"];
        if sure.iter().any(|prefix| method.starts_with(prefix)) {
            return Some(true);
        }
        let likely = ["account/", "mcpServer/", "remoteControl/", "hook/"];
        let is_likely = likely.iter().any(|prefix| method.starts_with(prefix))
            || matches!(
                method,
                "configWarning" | "deprecationNotice" | "initialize" | "initialized"
            );
        return is_likely.then_some(false);
    }
    if message.get("jsonrpc").is_some() || by_client || message.get("id").is_none() {
        return None;
    }
    let result = message.get("result")?;
    let has_object = |key: &str| result.get(key).is_some_and(Value::is_object);
    (result.get("userAgent").is_some_and(Value::is_string)
        || has_object("thread")
        || has_object("turn"))
    .then_some(true)
}

/// The thread that a line names.
pub(crate) fn thread_of(value: &Value) -> Option<&str> {
    let (message, by_client) = unwrap(value);
    if by_client {
        return None;
    }
    let params = message.get("params").or_else(|| message.get("result"))?;
    text_of(params, "threadId").or_else(|| text_of(params.get("thread")?, "id"))
}

/// Reads it.
#[derive(Debug)]
pub(crate) struct CodexAppServer {
    session: Session,
    /// The newest time that a line bore; answers and old versions bear none.
    last_ms: Option<i64>,
}

impl CodexAppServer {
    pub(crate) fn new() -> Self {
        CodexAppServer {
            session: Session::new("codex-app-server"),
            last_ms: None,
        }
    }

    fn raw(&mut self, emitter: &mut Emitter, kind: &str, value: &Value) {
        let place = self.session.scope("", None).place;
        emitter.raw(&place, self.session.format, kind, value);
    }

    fn response(&mut self, emitter: &mut Emitter, id: &Value, message: &Value, by_client: bool) {
        let native = id_text(id);
        let result = message.get("result");
        let is_answer = result.is_some_and(|result| {
            ["decision", "answers", "action", "permissions"]
                .iter()
                .any(|key| result.get(*key).is_some())
        });
        if self.session.asks.is_open(&native) && (by_client || is_answer) {
            self.session.asks.answer(emitter, &native, result);
            return;
        }
        let thread = result
            .and_then(|result| result.get("thread"))
            .filter(|thread| thread.is_object());
        match (thread, message.get("error")) {
            (Some(thread), _) if !by_client => {
                let model = result.and_then(|result| text_of(result, "model"));
                self.thread(emitter, thread, model);
            }
            (_, Some(error)) if !by_client => {
                let text = str_of(error, "message").unwrap_or("the request failed");
                let place = self.session.scope("", None).place;
                emitter.notice("warning", &place, "codex", text);
            }
            _ => emitter.pass_over("response"),
        }
    }

    /// What the server says of a thread.
    fn thread(&mut self, emitter: &mut Emitter, thread: &Value, model: Option<&str>) {
        let id = text_of(thread, "id").unwrap_or("");
        if text_of(thread, "parentThreadId").is_none() {
            self.session.set_main(id);
        }
        if !self.session.is_main(id) {
            emitter.pass_over("thread of a sub-agent");
            return;
        }
        let version = text_of(thread, "cliVersion");
        let git = thread.get("gitInfo").unwrap_or(&Value::Null);
        let model = model.or_else(|| text_of(thread, "model"));
        self.session.model = model.map(str::to_owned).or(self.session.model.take());
        let facts = SessionStart {
            agent: version.map(|version| format!("Codex {version}")),
            native_id: Some(id.to_owned()),
            model: model.map(str::to_owned),
            cwd: text_of(thread, "cwd").map(str::to_owned),
            title: text_of(thread, "name").map(str::to_owned),
            git_branch: text_of(git, "branch").map(str::to_owned),
            provider: Some("codex".to_owned()),
            timestamp_source: self.last_ms.is_none().then(|| "arrival".to_owned()),
            ..SessionStart::default()
        };
        self.session.facts.say(emitter, facts, Map::new());
    }

    fn request(
        &mut self,
        emitter: &mut Emitter,
        method: &str,
        id: &Value,
        params: &Value,
        message: &Value,
    ) {
        let native = id_text(id);
        let thread = str_of(params, "threadId")
            .or_else(|| str_of(params, "conversationId"))
            .unwrap_or("");
        let turn = text_of(params, "turnId");
        match method {
            "item/commandExecution/requestApproval"
            | "item/fileChange/requestApproval"
            | "item/permissions/requestApproval"
            | "execCommandApproval"
            | "applyPatchApproval" => {
                let scope = self.session.work_scope(emitter, thread, turn);
                let item = text_of(params, "itemId").or_else(|| text_of(params, "callId"));
                let call_id = item.map(|item| self.session.id_of(&scope.turn, item));
                let spec = call_id
                    .as_ref()
                    .and_then(|id| self.session.calls.get(id))
                    .map(|call| &call.spec);
                let name = match method {
                    "item/fileChange/requestApproval" | "applyPatchApproval" => "apply_patch",
                    "item/permissions/requestApproval" => "permissions",
                    _ => "shell",
                };
                let about = About {
                    call_id: call_id.clone(),
                    tool_name: spec.map_or_else(|| name.to_owned(), |spec| spec.name.clone()),
                    title: spec.and_then(|spec| spec.title.clone()),
                    args: spec.map_or_else(
                        || {
                            params
                                .get("command")
                                .map(|command| Json::from(serde_json::json!({"command": command})))
                        },
                        |spec| Some(Json::from(&spec.args)),
                    ),
                };
                self.session
                    .asks
                    .approval(emitter, &scope, &native, about, params);
            }
            "item/tool/requestUserInput" | "mcpServer/elicitation/request" => {
                let scope = self.session.work_scope(emitter, thread, turn);
                let call_id =
                    text_of(params, "itemId").map(|item| self.session.id_of(&scope.turn, item));
                let call_id = call_id.filter(|id| self.session.is_called(id));
                self.session
                    .asks
                    .question(emitter, &scope, &native, call_id, params);
            }
            // Plumbing between server and client; a called tool is an item, too.
            "item/tool/call" | "account/chatgptAuthTokens/refresh" | "attestation/generate" => {
                emitter.pass_over(method);
            }
            _ => self.raw(emitter, method, message),
        }
    }

    fn notification(
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
            "turn/completed" => self.turn_completed(emitter, thread, params),
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
            "serverRequest/resolved" => {
                let native = params.get("requestId").map(id_text).unwrap_or_default();
                self.session.asks.answered(emitter, &native);
            }
            "configWarning"
            | "deprecationNotice"
            | "warning"
            | "guardianWarning"
            | "windows/worldWritableWarning"
            | "model/rerouted" => {
                let text = text_of(params, "summary").or_else(|| text_of(params, "message"));
                let place = self.session.scope(thread, None).place;
                emitter.notice("info", &place, "codex", text.unwrap_or(method));
            }
            // Said again elsewhere, or about the account, the client's lists and the server's own state.
            "thread/status/changed"
            | "thread/compacted"
            | "thread/readState/changed"
            | "thread/settings/updated"
            | "thread/closed"
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

    fn turn_completed(&mut self, emitter: &mut Emitter, thread: &str, params: &Value) {
        let turn = params.get("turn").unwrap_or(&Value::Null);
        let scope = self.session.scope(thread, text_of(turn, "id"));
        if self
            .session
            .turn(thread)
            .is_none_or(|open| open.id != scope.turn)
        {
            emitter.pass_over("end of no turn");
            return;
        }
        let outcome = match str_of(turn, "status") {
            Some("failed") => "failed",
            Some("interrupted") => "interrupted",
            Some(_) | None => "completed",
        };
        match outcome {
            "failed" => {
                let error = turn.get("error").unwrap_or(&Value::Null);
                let message = text_of(error, "message").unwrap_or("the turn failed");
                self.session
                    .error(emitter, thread, &error_code(error), message);
            }
            "interrupted" => self.session.interrupt(emitter, &scope, "user_cancel"),
            _ => {}
        }
        if self.session.is_main(thread)
            && let Some(usage) = self
                .session
                .tokens
                .session_usage(self.session.model.clone())
        {
            emitter.add("usage", &scope.place, usage);
        }
        let end = TurnEnd {
            duration_ms: count_of(turn, "durationMs"),
            ..ended(outcome)
        };
        self.session.close_turn(emitter, thread, end);
    }

    fn token_usage(
        &mut self,
        emitter: &mut Emitter,
        thread: &str,
        turn: Option<&str>,
        params: &Value,
    ) {
        let said = params.get("tokenUsage").unwrap_or(&Value::Null);
        let (total, last) = (said.get("total"), said.get("last"));
        let Some(last) = last.filter(|last| last.is_object()) else {
            emitter.pass_over("tokenUsage without tokens");
            return;
        };
        if self.session.is_main(thread) && !self.session.tokens.is_news(total) {
            emitter.pass_over("tokenUsage as before");
            return;
        }
        let window = count_of(said, "modelContextWindow");
        let place = self.session.scope(thread, turn).place;
        let usage = tokens::response_usage(last, window, self.session.model.clone());
        emitter.add("usage", &place, usage);
    }

    fn error(&mut self, emitter: &mut Emitter, thread: &str, params: &Value) {
        let error = params.get("error").unwrap_or(&Value::Null);
        let message = text_of(error, "message").unwrap_or("error");
        if params.get("willRetry") == Some(&Value::Bool(true)) {
            let details = text_of(error, "additionalDetails");
            let text = details.map_or_else(
                || message.to_owned(),
                |details| format!("{message} ({details})"),
            );
            self.session.retrying(emitter, text);
        } else {
            self.session
                .error(emitter, thread, &error_code(error), message);
        }
    }
}

impl Normalizer for CodexAppServer {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        let (message, by_client) = unwrap(line);
        let params = message.get("params").unwrap_or(&Value::Null);
        self.last_ms = time_of(message, params).or(self.last_ms);
        if let Some(time_ms) = self.last_ms {
            emitter.time_ms = time_ms;
        }
        match (str_of(message, "method"), message.get("id")) {
            (Some(_), _) if by_client => emitter.pass_over("request of the client"),
            (Some(method), Some(id)) => self.request(emitter, method, id, params, message),
            (Some(method), None) => self.notification(emitter, method, params, message),
            (None, Some(id)) => self.response(emitter, id, message, by_client),
            (None, None) => self.raw(emitter, "message without a method", message),
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.session.close_all(emitter, "interrupted");
    }
}

/// The word or the only member of `codexErrorInfo`.
fn error_code(error: &Value) -> String {
    let info = error.get("codexErrorInfo").unwrap_or(&Value::Null);
    let name = info
        .as_str()
        .or_else(|| info.as_object()?.keys().next().map(String::as_str));
    name.unwrap_or("error").to_owned()
}

fn id_text(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}

fn number_of(params: &Value, key: &str) -> u32 {
    count_of(params, key)
        .and_then(|number| u32::try_from(number).ok())
        .unwrap_or(0)
}

/// The message's own time.
fn time_of(message: &Value, params: &Value) -> Option<i64> {
    let at = ["completedAtMs", "startedAtMs"]
        .iter()
        .find_map(|key| params.get(*key));
    let said = message.get("emittedAtMs").or(at)?;
    said.as_i64().filter(|time_ms| *time_ms > 0)
}

fn is_plumbing(method: &str) -> bool {
    const PREFIXES: [&str; 19] = [
        "codex/event/",
        "account/",
        "app/",
        "command/exec/",
        "externalAgentConfig/",
        "fs/",
        "fuzzyFileSearch/",
        "hook/",
        "item/autoApprovalReview/",
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
    ];
    PREFIXES.iter().any(|prefix| method.starts_with(prefix))
        || matches!(
            method,
            "loginChatGptComplete" | "authStatusChange" | "sessionConfigured"
        )
}
