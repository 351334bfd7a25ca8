//! The JSON-RPC of `codex app-server`: what the server writes, and what its client writes where that is recorded, too
//! (lines of `{dir, msg}`, or lines with a `jsonrpc` member, which the server's own do not have).
//!
//! | line | what it gives |
//! |---|---|
//! | `thread/started`, answers with a `thread` | `session_start`; the turns before, where they are told |
//! | `turn/started`, `turn/completed` | the turn |
//! | `item/started`, `item/completed`, `item/*/delta` | `items` |
//! | `turn/diff/updated` | when the turn is over, the files of which no item told how they changed |
//! | `thread/tokenUsage/updated` | usage; after a compaction how full the context is |
//! | requests with an `id` and a `method` of the server | permissions and questions |
//! | `item/autoApprovalReview/completed` | a permission that the automatic reviewer gave or refused |
//! | `thread/rollback`, `thread/reverted` | a notice that names the turns that were left |
//! | `codex/event/*` (0.77) | nothing: they say the same again |

mod notifications;
mod requests;
mod threads;
mod wire;

use std::collections::BTreeMap;

use chat_event::payload::{SessionStart, TurnEnd};
use serde_json::Value;

use super::items::Phase;
use super::session::{Session, ended};
use super::tokens::{self, News};
use crate::dialect::Normalizer;
use crate::emit::Emitter;
use crate::value::{count_of, is_time, list_of, str_of, text_of};
pub(crate) use threads::Threads;
pub(crate) use wire::{is_app_server_line, thread_of};
use wire::{parent_of, time_of, unwrap};

/// Reads it.
#[derive(Debug)]
pub(crate) struct CodexAppServer {
    session: Session,
    /// The newest time that a line bore; answers and old versions bear none.
    last_ms: Option<i64>,
    /// How many turns the client asked to go back, by the id of its request.
    rollbacks: BTreeMap<String, usize>,
}

impl CodexAppServer {
    pub(crate) fn new() -> Self {
        CodexAppServer {
            session: Session::new("codex-app-server"),
            last_ms: None,
            rollbacks: BTreeMap::new(),
        }
    }

    fn raw(&mut self, emitter: &mut Emitter, kind: &str, value: &Value) {
        let place = self.session.scope("", None).place;
        emitter.raw(&place, self.session.format, kind, value);
    }

    /// What the server says of a thread.
    fn thread(&mut self, emitter: &mut Emitter, thread: &Value, model: Option<&str>) {
        let id = text_of(thread, "id").unwrap_or("");
        let is_agents = parent_of(thread).is_some();
        if !is_agents {
            self.session.set_main(id);
        }
        if !self.session.is_main(id) {
            if is_agents {
                emitter.pass_over("thread of a sub-agent");
            } else {
                // What it said before is another session's; one that was forked has this one's turns, too.
                self.session.set_top(id);
                emitter.pass_over("another thread");
            }
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
        let forked_from = thread.get("forkedFromId").filter(|id| id.is_string());
        let rest = forked_from.map(|id| ("forkedFromId".to_owned(), id.clone()));
        self.session
            .facts
            .say(emitter, facts, rest.into_iter().collect());
        self.history(emitter, id, thread);
    }

    /// The turns of a thread that was taken up again, of which nothing was told here.
    fn history(&mut self, emitter: &mut Emitter, id: &str, thread: &Value) {
        let now_ms = emitter.time_ms;
        for turn in list_of(thread, "turns") {
            let (native, items) = (text_of(turn, "id"), list_of(turn, "items"));
            let is_known = native.is_none_or(|native| self.session.knows_turn(id, native));
            // Beside a turn that is open it would be taken for the next.
            if is_known || items.is_empty() || self.session.turn(id).is_some() {
                emitter.pass_over("turn of a thread that was read");
                continue;
            }
            // In seconds.
            let time_ms = |key: &str| {
                let seconds = i64::try_from(count_of(turn, key)?).ok()?;
                seconds.checked_mul(1000).filter(|&ms| is_time(ms))
            };
            emitter.time_ms = time_ms("startedAt").unwrap_or(now_ms);
            self.session.open_turn(emitter, id, native, true);
            for item in items {
                let phase = match str_of(item, "status") {
                    Some("inProgress") => Phase::Started,
                    Some(_) | None => Phase::Completed,
                };
                self.session.item(emitter, id, native, item, phase);
            }
            if str_of(turn, "status") != Some("inProgress") {
                emitter.time_ms = time_ms("completedAt").unwrap_or(emitter.time_ms);
                self.turn_completed(emitter, id, turn);
            }
        }
        emitter.time_ms = now_ms;
    }

    fn turn_completed(&mut self, emitter: &mut Emitter, thread: &str, turn: &Value) {
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
        self.session.agent_rests(emitter, thread, outcome);
    }

    /// The server keeps the thread no more: a turn that is open in it does not go on.
    fn closed(&mut self, emitter: &mut Emitter, thread: &str) {
        if self.session.turn(thread).is_none() {
            emitter.pass_over("thread/closed");
            return;
        }
        self.session
            .close_turn(emitter, thread, ended("interrupted"));
        self.session.agent_rests(emitter, thread, "interrupted");
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
        let window = count_of(said, "modelContextWindow");
        let place = self.session.scope(thread, turn).place;
        let model = self.session.model.clone();
        let news = if self.session.is_main(thread) {
            self.session.tokens.news(total, last, window, model)
        } else {
            Some(News::Response(tokens::response_usage(last, window, model)))
        };
        match news {
            Some(News::Response(usage)) => {
                emitter.add("usage", &place, usage);
            }
            Some(News::Context(usage)) => self.session.context_is(emitter, place, usage),
            None => emitter.pass_over("tokenUsage as before"),
        }
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
            self.session.retrying(emitter, thread, text);
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
            (Some(method), id) if by_client => self.client_asks(emitter, method, id, params),
            (Some(method), Some(id)) => self.request(emitter, method, id, params, message),
            (Some(method), None) => self.notification(emitter, method, params, message),
            (None, Some(id)) => self.response(emitter, id, message, by_client),
            (None, None) => self.raw(emitter, "message without a method", message),
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.session.close_all(emitter);
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
