//! The files below `~/.claude/projects`: one line a block, result or happening, each with its parent and its time.
//!
//! | line | turn |
//! |---|---|
//! | a person's words or command | the open one ends, interrupted where a call of it has no result; one begins |
//! | a notification that a background task ended | likewise, as the system's |
//! | `system/turn_duration` | the open one ends |
//! | what a command printed, nothing else in its turn | the open one ends |
//! | a command that is the program's own business, `/model`; what it printed | told beside the turns |
//! | `cost-state`: the program ends | the open one ends: interrupted where an answer or a result is due |
//! | the file ends | likewise |
//!
//! An end that no line tells is when the turn was last worked in: until the next prompt the person was away.
//!
//! The file is read in its order. Turns that a person went back behind are named by a `notice`; calls that an ended
//! turn left open wait for their results to the end. Sub-agents stand in the file itself (1.0: `isSidechain`, tied to
//! the call with the same prompt), in `progress` lines (2.0 to 2.1.42), or in files of their own, whose lines are then
//! the main ones. Lines with an id that came before (resumed sessions repeat them) are counted and passed over.

mod agents;
mod assistant;
mod progress;
mod system;
mod tasks;
mod turns;
mod user;

use std::collections::HashMap;

use chat_event::Extra;
use chat_event::payload::{Compaction, SessionEnd, SessionStart};
use serde_json::{Map, Value};

use super::queue::Queue;
use super::results::{is_of_lost_call, text_of_content};
use super::session::Session;
use super::task_end::hides_ends;
use super::tree::Tree;
use super::usage::Pending;
use crate::dialect::Normalizer;
use crate::emit::{Emitter, Place};
use crate::recent::{LATE_LARGE, Recent};
use crate::value::{is_true, list_of, millis_of_rfc3339, str_of, text_of};

pub(crate) use user::attachments;

pub(crate) const FORMAT: &str = "claude-transcript";

/// Reads the lines of a transcript.
#[derive(Debug)]
pub(crate) struct ClaudeTranscript {
    pub(crate) session: Session,
    tree: Tree,
    last_ms: Option<i64>,
    /// When the open turn was last worked in: between that and the next prompt the person was away.
    worked_ms: Option<i64>,
    /// The model owes the main agent an answer, or the rest of one.
    waits: bool,
    /// The line is of a command that is the program's own business.
    of_local: bool,
    /// The turn that a command began.
    command_turn: Option<String>,
    /// The turn that the end of the program ended; its last words may be written behind that.
    left: Option<String>,
    pub(crate) queue: Queue,
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
            worked_ms: None,
            waits: false,
            of_local: false,
            command_turn: None,
            left: None,
            queue: Queue::default(),
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
        if let Some(version) = text_of(line, "version") {
            self.session.hides_ends = hides_ends(version);
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
        if chain.is_none() && !is_meta(line) {
            self.of_local = kind == "user" && self.is_of_local(line);
        }
        if chain.is_none() && kind == "assistant" {
            let message = line.get("message").unwrap_or(&Value::Null);
            self.waits = matches!(
                str_of(message, "stop_reason"),
                Some("tool_use" | "pause_turn")
            );
        }
        match kind {
            "assistant" => self.assistant(emitter, line, chain),
            _ => self.user(emitter, line, chain),
        }
    }

    fn place(&self, chain: Option<&(Option<String>, String)>) -> Place {
        match chain {
            Some((call, agent_id)) => self.session.place(call.as_deref(), Some(agent_id)),
            None => self.session.place(None, self.own_agent.as_deref()),
        }
    }
}

impl Normalizer for ClaudeTranscript {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        let said_ms = text_of(line, "timestamp").and_then(millis_of_rfc3339);
        self.last_ms = said_ms.or(self.last_ms);
        emitter.time_ms = self.last_ms.unwrap_or(emitter.time_ms);
        let kind = str_of(line, "type").unwrap_or("");
        if self.session.seen.is_repeated(emitter, line) {
            return;
        }
        if !self.holds_compaction(line, kind) {
            self.flush_compaction(emitter);
        }
        self.tell_taken(emitter, |taken_ms| match kind {
            // What answers to it was asked after it was taken.
            "assistant" => {
                !is_true(line, "isSidechain") && said_ms.is_none_or(|said_ms| said_ms > taken_ms)
            }
            "user" => !is_true(line, "isSidechain") && !is_meta(line) && !has_result(line),
            "system" => str_of(line, "subtype") == Some("turn_duration"),
            _ => false,
        });
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
        if is_work(line, kind) && !(kind == "user" && self.of_local) {
            self.worked_ms = self.worked_ms.max(self.last_ms);
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

    fn rest(&mut self, emitter: &mut Emitter) {
        emitter.time_ms = self.last_ms.unwrap_or(emitter.time_ms);
        self.usage_at_rest(emitter);
        // Of what lies at rest the turn is taken to be over when it was last worked in.
        emitter.time_ms = self.worked_ms.unwrap_or(emitter.time_ms);
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        if let Some(last_ms) = self.last_ms {
            emitter.time_ms = last_ms;
        }
        self.flush_compaction(emitter);
        self.tell_taken(emitter, |_| true);
        self.flush_usage(emitter);
        emitter.time_ms = self.worked_ms.unwrap_or(emitter.time_ms);
        let has_open_call = self.session.waits_in(self.session.turns.last());
        let waits = self.waits;
        self.session.close_all(emitter, |turn| {
            match (
                turn.interrupted || has_open_call || !turn.answered || (waits && !turn.failed),
                turn.failed,
            ) {
                (true, _) => "interrupted",
                (false, true) => "failed",
                (false, false) => "completed",
            }
        });
        emitter.time_ms = self.last_ms.unwrap_or(emitter.time_ms);
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

/// Whether a line shows that its turn still went on when it was written.
fn is_work(line: &Value, kind: &str) -> bool {
    match kind {
        "assistant" => !is_no_answer(line),
        "progress" => true,
        "user" => {
            let lost = str_of(line, "toolUseResult").is_some_and(is_of_lost_call);
            !lost && !is_meta(line)
        }
        "system" => matches!(
            str_of(line, "subtype"),
            Some("stop_hook_summary" | "api_error")
        ),
        _ => false,
    }
}

/// Whether a `user` line is the program's own.
fn is_meta(line: &Value) -> bool {
    is_true(line, "isMeta") || is_true(line, "isCompactSummary")
}

/// Whether a line stands in for the answer of a turn that was cut off, so that the session can be taken up again.
fn is_no_answer(line: &Value) -> bool {
    let message = line.get("message").unwrap_or(&Value::Null);
    str_of(message, "model") == Some("<synthetic>")
        && !is_true(line, "isApiErrorMessage")
        && text_of_content(message.get("content").unwrap_or(&Value::Null))
            == "No response requested."
}

fn has_result(line: &Value) -> bool {
    let content = line
        .get("message")
        .map(|message| list_of(message, "content"))
        .unwrap_or_default();
    content
        .iter()
        .any(|block| str_of(block, "type") == Some("tool_result"))
}
