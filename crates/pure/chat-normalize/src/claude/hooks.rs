//! What Claude Code tells its hooks: one JSON object for each happening, with no time, no order and no message ids.
//!
//! | hook | turn |
//! |---|---|
//! | `UserPromptSubmit` | the open one ends as interrupted (a finished one had its `Stop`), one begins |
//! | `Stop` | the open one ends |
//! | `StopFailure` | the open one ends as failed |
//! | `SessionEnd`, or the source's end | likewise as interrupted |
//! | work of the main agent, no turn open | one begins, as the system's |
//!
//! Hooks run in processes of their own, so a `PostToolUse` can come before its `PreToolUse`, and after `Stop`: it names
//! the call whole. Turns go by `prompt_id` (from 2.1). A refused call has no hook that says so: it is closed at `Stop`.
//! That what runs in the background is over is said by a notification that begins a turn, by `SubagentStop`, and by
//! `Stop`, which names what still runs.
//! Which call started a sub-agent is said only by the call's own result; until then the oldest open call that asked for
//! such an agent stands for it. Format: `formats.md` 3, seen in 2.1.197 and 2.1.330.
//!
//! Turns are in `turns`, the agent's words in `shown`, calls in `calls`, and what only tells of something in `asides`.

mod asides;
mod calls;
mod shown;
mod turns;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use chat_event::Extra;
use chat_event::payload::{Compaction, SessionEnd, SessionStart};
use serde_json::{Map, Value};

use super::session::Session;
use super::task_end::TaskEnd;
use crate::dialect::Normalizer;
use crate::emit::{Emitter, Place};
use crate::recent::{LATE_SMALL, Recent};
use crate::value::{fingerprint, millis_of_rfc3339, str_of, text_of};

const FORMAT: &str = "claude-hooks";

/// Reads hook inputs.
#[derive(Debug)]
pub(crate) struct ClaudeHooks {
    session: Session,
    /// Inputs that came, of those that can come once only: two hooks may be set for one happening.
    seen: Recent<(), LATE_SMALL>,
    /// What was asked in calls that are over, by their id.
    over: Recent<u64>,
    /// Calls that nothing was asked about, by what they ask.
    unasked: Recent<Vec<String>>,
    /// Calls for agents that did not start, by the agent's kind.
    waiting_agents: HashMap<String, VecDeque<String>>,
    /// Sub-agent → the call that started it.
    agent_call: HashMap<String, String>,
    /// The number of the newest turn of each prompt.
    turn_numbers: HashMap<String, u32>,
    /// The ids of all turns that began.
    begun: HashSet<u64>,
    /// The prompt of the newest turn, and the turn's id.
    newest: Option<(String, String)>,
    /// Messages that are displayed piece by piece, by their id.
    shown: BTreeMap<String, String>,
    /// The last text that was shown whole.
    last_shown: Option<u64>,
    /// Questions of MCP servers, by server.
    elicited: BTreeMap<String, String>,
    session_ended: bool,
}

/// Whether a value is a hook's input, and whether that is sure: other programs have hooks of other names.
pub(crate) fn is_hook_input(value: &Value) -> Option<bool> {
    let event = text_of(value, "hook_event_name")?;
    text_of(value, "session_id")?;
    if value.get("jsonrpc").is_some() {
        return None;
    }
    Some(asides::is_hook(event))
}

impl ClaudeHooks {
    pub(crate) fn new() -> Self {
        ClaudeHooks {
            session: Session::new(FORMAT, false),
            seen: Recent::default(),
            over: Recent::default(),
            unasked: Recent::default(),
            waiting_agents: HashMap::new(),
            agent_call: HashMap::new(),
            turn_numbers: HashMap::new(),
            begun: HashSet::new(),
            newest: None,
            shown: BTreeMap::new(),
            last_shown: None,
            elicited: BTreeMap::new(),
            session_ended: false,
        }
    }

    /// What every input says of the session.
    fn facts(&mut self, emitter: &mut Emitter, line: &Value) {
        let mut rest = Map::new();
        if let Some(mode) = text_of(line, "permission_mode") {
            rest.insert("permissionMode".to_owned(), Value::from(mode));
        }
        let own = text_of(line, "agent_id").is_none();
        let facts = SessionStart {
            agent: Some("Claude Code".to_owned()),
            native_id: text_of(line, "session_id").map(str::to_owned),
            cwd: text_of(line, "cwd").filter(|_| own).map(str::to_owned),
            model: text_of(line, "model").map(str::to_owned),
            title: text_of(line, "session_title").map(str::to_owned),
            provider: Some("claude-code".to_owned()),
            timestamp_source: Some("arrival".to_owned()),
            ..SessionStart::default()
        };
        self.session.facts.say(emitter, facts, rest);
    }

    /// Where what this input tells stands.
    fn place(&mut self, line: &Value) -> Place {
        let agent_id = text_of(line, "agent_id");
        let call = agent_id.and_then(|agent_id| self.agent_call.get(agent_id));
        self.session.place(call.map(String::as_str), agent_id)
    }

    /// The same, for work: the main agent's is done in a turn.
    fn work_place(&mut self, emitter: &mut Emitter, line: &Value) -> Place {
        if text_of(line, "agent_id").is_none() && !self.session.in_turn() {
            self.open_turn(emitter, line, "system");
        }
        self.place(line)
    }

    /// Ends what is open, for something came that shows it is over.
    fn close_open(&mut self, emitter: &mut Emitter, outcome: &'static str) {
        self.close_shown(emitter);
        self.session.close_all(emitter, |turn| match turn.failed {
            true => "failed",
            false => outcome,
        });
    }

    fn subagent_stop(&mut self, emitter: &mut Emitter, line: &Value) {
        if text_of(line, "agent_type").is_none() {
            // The agent that writes the summary of a compaction: `PostCompact` has it.
            emitter.pass_over("SubagentStop of a compaction");
            return;
        }
        let place = self.place(line);
        self.answer(emitter, line, &place);
        let end = TaskEnd {
            task_id: text_of(line, "agent_id").map(str::to_owned),
            status: "completed".to_owned(),
            report: text_of(line, "last_assistant_message").map(str::to_owned),
            ..TaskEnd::default()
        };
        self.session.task_ended(emitter, &end);
    }

    fn end_session(&mut self, emitter: &mut Emitter, reason: &str) {
        self.close_open(emitter, "interrupted");
        self.session.asks.expire_all(emitter);
        self.expire_elicited(emitter);
        let payload = SessionEnd {
            reason: reason.to_owned(),
            extra: Extra::default(),
        };
        emitter.add("session-end", &Place::default(), payload);
        self.session_ended = true;
    }

    fn compacted(&mut self, emitter: &mut Emitter, line: &Value) {
        let payload = Compaction {
            trigger: str_of(line, "trigger").unwrap_or("auto").to_owned(),
            summary: text_of(line, "compact_summary").map(str::to_owned),
            ..Compaction::default()
        };
        let place = self.session.place(None, None);
        emitter.add("compaction", &place, payload);
    }

    /// Whether an input came before, word for word, that can come only once.
    fn is_repeated(&mut self, line: &Value, event: &str, print: u64) -> bool {
        let once = match event {
            "PreToolUse" | "PostToolUse" | "PostToolUseFailure" | "PermissionDenied" => {
                text_of(line, "tool_use_id").is_some()
            }
            "UserPromptSubmit" | "Stop" | "StopFailure" | "SubagentStart" | "SubagentStop" => {
                text_of(line, "prompt_id").is_some()
            }
            "MessageDisplay" => text_of(line, "message_id").is_some(),
            _ => false,
        };
        once && !self.seen.put(print, ())
    }
}

impl Normalizer for ClaudeHooks {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        // A collector may stamp what it takes; the program itself says no time.
        if let Some(ms) = text_of(line, "timestamp").and_then(millis_of_rfc3339) {
            emitter.time_ms = ms;
        }
        let print = fingerprint(line);
        emitter.begin_line(Some(&format!("hook-{print:016x}")));
        let event = str_of(line, "hook_event_name").unwrap_or("");
        if self.is_repeated(line, event, print) {
            emitter.report.repeated += 1;
            return;
        }
        self.facts(emitter, line);
        // The end of a turn may come behind the session's.
        if !matches!(event, "SessionEnd" | "Stop" | "StopFailure") {
            self.session_ended = false;
        }
        match event {
            "UserPromptSubmit" => self.prompt(emitter, line),
            "PreToolUse" => self.before_call(emitter, line),
            "PostToolUse" => self.after_call(emitter, line, false),
            "PostToolUseFailure" => self.after_call(emitter, line, true),
            "PermissionRequest" => self.asked(emitter, line),
            "PermissionDenied" => self.denied(emitter, line),
            "Stop" => self.stop(emitter, line),
            "StopFailure" => self.stop_failure(emitter, line),
            "SubagentStart" => self.agent_started(emitter, line),
            "SubagentStop" => self.subagent_stop(emitter, line),
            "MessageDisplay" => self.display(emitter, line),
            "PostCompact" => self.compacted(emitter, line),
            "SessionEnd" => {
                let reason = text_of(line, "reason").unwrap_or("other").to_owned();
                self.end_session(emitter, &reason);
            }
            _ => self.aside(emitter, line, event),
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        if !self.session_ended {
            self.end_session(emitter, "end of file");
        }
    }
}
