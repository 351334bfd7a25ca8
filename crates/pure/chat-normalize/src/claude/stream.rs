//! `claude --print --output-format stream-json --verbose`, with and without `--include-partial-messages`.
//!
//! | line | turn |
//! |---|---|
//! | `system/init` | one begins: it comes again at every turn; an open one ends as interrupted, unless a task's end began this |
//! | a person's replayed words, no turn open | one begins |
//! | `result` | the oldest open one ends: a result can be held back until a turn has begun that a task's end woke |
//! | the stream ends | every open one ends as interrupted |
//!
//! A turn is the system's where a task that no call waited for ended since the main agent last spoke, else the user's.
//! Branching goes by `is_error` and `terminal_reason`; `subtype` says `success` for API errors too.

mod assistant;
mod limits;
mod partial;
mod result;
mod system;
mod tasks;
mod user;

use chat_event::Extra;
use chat_event::payload::{Compaction, Progress, SessionEnd};
use serde_json::Value;

use super::session::Session;
use crate::dialect::Normalizer;
use crate::emit::{Emitter, Place};
use crate::recent::{LATE_LARGE, Recent};
use crate::value::{count_of, is_true, list_of, str_of, text_of};

pub(super) const FORMAT: &str = "claude-stream-json";

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
    /// The last tasks, by their id.
    tasks: Recent<tasks::Known, LATE_LARGE>,
    /// Those that ended, of which the main agent does not know yet.
    ended_tasks: Vec<tasks::Ended>,
    status: Option<String>,
    retrying: bool,
    open_hooks: std::collections::BTreeMap<String, String>,
    ended_well: bool,
    /// Why the conversation was begun anew: that is of another session, which `init` names.
    reset: Option<String>,
    pending_compaction: Option<(String, Place, Compaction)>,
}

impl ClaudeStream {
    pub(crate) fn new(prompt: Option<String>) -> Self {
        let mut session = Session::new(FORMAT, false);
        session.has_requests = true;
        session.asks.told_at_end = true;
        ClaudeStream {
            session,
            prompt,
            said_prompt: None,
            current: Recent::default(),
            streaming: Recent::default(),
            has_version: false,
            inits: 0,
            woken: false,
            tasks: Recent::default(),
            ended_tasks: Vec::new(),
            status: None,
            retrying: false,
            open_hooks: std::collections::BTreeMap::new(),
            ended_well: false,
            reset: None,
            pending_compaction: None,
        }
    }

    /// A compaction is written with the summary that follows it, or without where none does.
    fn flush_compaction(&mut self, emitter: &mut Emitter) {
        if let Some((id, place, compaction)) = self.pending_compaction.take() {
            emitter.add_as(&id, &place, compaction);
        }
    }

    /// Closes what is open and goes on no more.
    fn close_turns(&mut self, emitter: &mut Emitter) {
        self.session.asks.never_told(emitter);
        self.session.close_all(
            emitter,
            |turn| if turn.failed { "failed" } else { "interrupted" },
        );
    }

    /// How long a call runs, or that its sub-agent asks its provider again: those lines name a message as the call.
    fn tool_progress(&self, emitter: &mut Emitter, line: &Value, place: &Place) {
        let name = str_of(line, "tool_name").unwrap_or("tool");
        let seconds = count_of(line, "elapsed_time_seconds").unwrap_or(0);
        let id = text_of(line, "tool_use_id");
        let of_agent = text_of(line, "parent_tool_use_id")
            .filter(|_| id.is_some_and(|id| id.starts_with("agent_msg_")));
        let message = match line.get("subagent_retry") {
            Some(about) => format!("{name}: {}", attempt(about, "error_category")),
            // Its row has its name.
            None if id.is_some_and(|id| self.session.calls.contains_key(id)) => {
                format!("{seconds} s")
            }
            None => format!("{name}: {seconds} s"),
        };
        let place = match of_agent.and_then(|id| self.session.calls.get(id)) {
            Some(call) => &call.place,
            None => place,
        };
        let call_id = of_agent.or(id).map(|id| self.session.call_id(id));
        progress(emitter, place, message, call_id);
    }

    fn place(&self, line: &Value) -> Place {
        self.session.place(
            text_of(line, "parent_tool_use_id"),
            text_of(line, "agent_id"),
        )
    }
}

impl Normalizer for ClaudeStream {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        if self.session.seen.is_repeated(emitter, line) {
            return;
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
            "conversation_reset" => {
                self.reset = text_of(line, "trigger").map(str::to_owned);
                emitter.pass_over("conversation_reset");
            }
            "tool_progress" => self.tool_progress(emitter, line, &place),
            "tool_use_summary" => {
                let summary = str_of(line, "summary").unwrap_or("");
                emitter.notice("info", &place, "summary", summary);
            }
            // What a person may want to say next is said by nobody.
            "prompt_suggestion" => emitter.pass_over("prompt_suggestion"),
            "rate_limit_event" => limits::rate_limit(emitter, &place, line),
            "auth_status" => {
                let text = list_of(line, "output")
                    .iter()
                    .filter_map(Value::as_str)
                    .chain(text_of(line, "error"))
                    .collect::<Vec<_>>()
                    .join("\n");
                let failed = text_of(line, "error").is_some();
                let level = if failed { "warning" } else { "info" };
                match text.is_empty() {
                    true => emitter.pass_over("auth_status"),
                    false => {
                        emitter.notice(level, &place, "auth", text);
                    }
                }
            }
            kind => emitter.raw(&place, FORMAT, kind, line),
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.flush_compaction(emitter);
        self.tell_ended_tasks(emitter);
        for (_, name) in std::mem::take(&mut self.open_hooks) {
            emitter.notice(
                "info",
                &Place::default(),
                "hook",
                format!("{name}: no answer recorded"),
            );
        }
        let cut_off = self.session.in_turn();
        self.close_turns(emitter);
        self.session.asks.expire_all(emitter);
        let reason = match (cut_off, &self.reset) {
            (true, _) => "the stream stopped before the turn was over",
            (false, Some(trigger)) => trigger,
            (false, None) if self.ended_well => "end of stream",
            (false, None) => "end of stream, without a result",
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

/// Which of how many times the provider is asked, and why: `attempt 1 of 10: overloaded 529`.
fn attempt(about: &Value, why: &str) -> String {
    let attempt = count_of(about, "attempt").unwrap_or(0);
    let of = count_of(about, "max_retries").unwrap_or(0);
    let why = text_of(about, why).unwrap_or("error");
    let code = count_of(about, "error_status")
        .map(|code| format!(" {code}"))
        .unwrap_or_default();
    format!("attempt {attempt} of {of}: {why}{code}")
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
