//! Which rule an event goes to, and the turn.

use std::collections::{BTreeMap, VecDeque};

use chat_event::payload::{ErrorEvent, SessionEnd, SessionStart, TurnEnd, TurnStart};
use chat_event::{Extra, Json};
use serde_json::{Map, Value};

use super::FORMAT;
use super::asks::Ask;
use super::items::{Call, Over};
use super::messages::Message;
use super::natives::Natives;
use super::users::Told;
use crate::codex::Files;
use crate::dialect::Normalizer;
use crate::emit::{Emitter, Place, hash};
use crate::facts::Facts;
use crate::recent::{LATE_LARGE, LATE_SMALL, Recent};
use crate::tool;
use crate::unanswered::Unanswered;
use crate::value::{fingerprint, millis_of_rfc3339, str_of, text_of};

/// So many open calls are looked at for one of an agent.
const MAX_LOOKED_AT: usize = 256;

/// Reads the events.
#[derive(Debug, Default)]
pub(crate) struct SandboxAgent {
    facts: Facts,
    time_ms: Option<i64>,
    pub(super) turn: Option<String>,
    /// What the source calls the turn that runs.
    pub(super) named: Option<String>,
    pub(super) n_turns: u64,
    /// Something the agent did in the turn is whole.
    pub(super) answered: bool,
    /// An error was told in the turn, and no message behind it.
    pub(super) failed: bool,
    pub(super) messages: BTreeMap<String, Message>,
    /// Those of the turns before.
    pub(super) past: Recent<Message, LATE_LARGE>,
    /// The message that is written, and how many there were.
    pub(super) current: Option<String>,
    pub(super) n_messages: u64,
    /// Those that come in pieces and were left last for other items.
    pub(super) left: VecDeque<String>,
    /// Texts of this turn, by hash: whose they are.
    pub(super) texts: BTreeMap<u64, String>,
    pub(super) calls: BTreeMap<String, Call>,
    pub(super) n_calls: u64,
    /// Items of the user's, by their ids, and what was told of any.
    pub(super) users: Recent<Told>,
    pub(super) words: Recent<()>,
    /// Calls that have a result, by the hash of their id.
    pub(super) over: BTreeMap<u64, Over>,
    /// Those of which none came.
    pub(super) unanswered: Unanswered,
    pub(super) asks: BTreeMap<String, Ask>,
    /// How often the id of one was used.
    pub(super) asked_as: Recent<u32>,
    /// Which of them ask leave for a call.
    pub(super) asked_for: BTreeMap<u64, VecDeque<String>>,
    /// Those that a call's result answered.
    pub(super) settled: Recent<()>,
    /// The calls that items are, or are the results of, by the items' ids.
    pub(super) tools: Recent<String>,
    pub(super) files: Files,
    /// Events that came.
    seen: Recent<(), LATE_SMALL>,
    pub(super) natives: Natives,
    ended: bool,
}

impl SandboxAgent {
    pub(crate) fn new() -> Self {
        SandboxAgent::default()
    }

    fn started(&mut self, emitter: &mut Emitter, event: &Value, data: &Value) {
        let metadata = data.get("metadata").unwrap_or(&Value::Null);
        let kind = str_of(metadata, "subtype");
        if !matches!(kind, None | Some("init")) {
            let kind = kind.unwrap_or("");
            return emitter.pass_over(&format!("session.started of {kind}"));
        }
        if self.natives.take_over() {
            self.close_turn(emitter, "interrupted");
        }
        let agent = match text_of(metadata, "claude_code_version") {
            Some(version) => Some(format!("Claude Code {version}")),
            None => text_of(metadata, "agent").map(str::to_owned),
        };
        let facts = SessionStart {
            agent,
            native_id: text_of(event, "native_session_id")
                .or_else(|| text_of(event, "session_id"))
                .map(str::to_owned),
            model: text_of(metadata, "model").map(str::to_owned),
            cwd: text_of(metadata, "cwd").map(str::to_owned),
            tools: metadata
                .get("tools")
                .filter(|tools| !tools.is_null())
                .map(Json::from),
            ..SessionStart::default()
        };
        self.say(emitter, facts);
    }

    fn say(&mut self, emitter: &mut Emitter, facts: SessionStart) {
        let facts = SessionStart {
            provider: Some(FORMAT.to_owned()),
            ..facts
        };
        self.facts.say(emitter, facts, Map::new());
    }

    fn session_ended(&mut self, emitter: &mut Emitter, data: &Value) {
        let reason = text_of(data, "reason").unwrap_or("completed");
        let message = text_of(data, "message");
        if reason == "error" {
            let place = self.quiet_place();
            let exit = data.get("exit_code").filter(|code| !code.is_null());
            let mut extra = Extra::default();
            for key in ["exit_code", "stderr"] {
                if let Some(held) = data.get(key).filter(|held| !held.is_null()) {
                    extra.insert(key, Json::from(held));
                }
            }
            let error = ErrorEvent {
                code: "session_error".to_owned(),
                message: match (message, exit) {
                    (Some(message), _) => message.to_owned(),
                    (None, Some(code)) => format!("the agent ended with exit code {code}"),
                    (None, None) => "the agent ended with an error".to_owned(),
                },
                extra,
            };
            emitter.add("error", &place, error);
        }
        let outcome = match reason {
            "completed" => "completed",
            "error" => "failed",
            _ => "interrupted",
        };
        self.close_turn(emitter, outcome);
        self.write_end(emitter, reason);
    }

    fn write_end(&mut self, emitter: &mut Emitter, reason: &str) {
        if !std::mem::replace(&mut self.ended, true) {
            let end = SessionEnd {
                reason: reason.to_owned(),
                ..SessionEnd::default()
            };
            emitter.add("session-end", &Place::default(), end);
        }
    }

    /// Where what happens now stands; a turn begins where none runs.
    pub(super) fn place(&mut self, emitter: &mut Emitter) -> Place {
        if self.turn.is_none() {
            self.open_turn(emitter, None);
        }
        self.quiet_place()
    }

    pub(super) fn quiet_place(&self) -> Place {
        Place {
            // Outside of a turn no call runs.
            parent_tool_call_id: self.turn.as_ref().and(self.natives.parent()).cloned(),
            ..self.turn_place()
        }
    }

    /// Where the turn itself begins and ends: within no call.
    fn turn_place(&self) -> Place {
        Place {
            turn_id: self.turn.clone(),
            ..Place::default()
        }
    }

    /// The directory the agent works in.
    pub(super) fn cwd(&self) -> Option<String> {
        self.facts.cwd()
    }

    /// Whether a turn is open.
    pub(super) fn in_turn(&self) -> bool {
        self.turn.is_some()
    }

    pub(super) fn open_turn(&mut self, emitter: &mut Emitter, id: Option<&str>) {
        self.n_turns += 1;
        // A session that ended may be taken up again.
        self.ended = false;
        let id = match id {
            Some(id) => format!("{id}.{}", self.n_turns),
            None => format!("t{}", self.n_turns),
        };
        self.turn = Some(id.clone());
        self.natives.begin_turn();
        self.named = None;
        self.answered = false;
        self.failed = false;
        let start = TurnStart {
            trigger: "user".to_owned(),
            ..TurnStart::default()
        };
        emitter.add_as(&format!("{id}:start"), &self.turn_place(), start);
    }

    /// Ends the turn, and before it what is open in it.
    pub(super) fn close_turn(&mut self, emitter: &mut Emitter, outcome: &str) {
        self.flush(emitter);
        self.end_parts(emitter);
        let mut open: Vec<(u64, String)> = self
            .calls
            .iter()
            .map(|(id, call)| (call.order, id.clone()))
            .collect();
        open.sort();
        for (_, id) in open {
            if let Some(call) = self.end_call(emitter, &id) {
                let result = tool::unanswered(&call.id, outcome == "interrupted");
                self.unanswered.give_up(emitter, &id, call.place, result);
            }
        }
        self.asked_for.clear();
        for ask in std::mem::take(&mut self.asks).into_values() {
            ask.expire(emitter);
        }
        self.end_messages();
        let place = self.turn_place();
        let Some(turn) = self.turn.take() else {
            return;
        };
        self.natives.end_turn();
        let outcome = match outcome {
            "completed" if self.failed => "failed",
            outcome => outcome,
        };
        let end = TurnEnd {
            outcome: Some(outcome.to_owned()),
            ..TurnEnd::default()
        };
        emitter.add_as(&format!("{turn}:end"), &place, end);
    }
}

/// How a turn ended, by what is said of it beside.
pub(super) fn outcome_of(said: &Value) -> &'static str {
    let turn = said.get("turn").filter(|turn| turn.is_object());
    match text_of(turn.unwrap_or(said), "status") {
        Some("failed" | "error") => "failed",
        Some("interrupted" | "cancelled" | "canceled" | "aborted") => "interrupted",
        Some(_) | None => "completed",
    }
}

impl SandboxAgent {
    /// Whether the same event came before: who takes a stream up again may get some of it twice. Daemons begin to count
    /// anew, so the number alone tells nothing.
    fn has_come(&mut self, event: &Value) -> bool {
        let Some(id) = text_of(event, "event_id") else {
            return false;
        };
        let session = text_of(event, "session_id").unwrap_or("");
        let print = fingerprint(event);
        let key = hash(format!("{session} {id} {print:x}").as_bytes());
        !self.seen.put(key, ())
    }
}

impl Normalizer for SandboxAgent {
    fn line(&mut self, emitter: &mut Emitter, event: &Value) {
        if self.has_come(event) {
            emitter.report.repeated += 1;
            return;
        }
        let time_ms = str_of(event, "time").and_then(millis_of_rfc3339);
        self.time_ms = time_ms.filter(|time_ms| *time_ms > 0).or(self.time_ms);
        if let Some(time_ms) = self.time_ms {
            emitter.time_ms = time_ms;
        }
        if let Some(id) = text_of(event, "event_id") {
            emitter.begin_line(Some(id));
        }
        let data = event.get("data").unwrap_or(&Value::Null);
        let kind = str_of(event, "type").unwrap_or("");
        let in_turn = self.in_turn();
        let open = self.calls.values().take(MAX_LOOKED_AT);
        let agents = || {
            let mut agents: Vec<&Call> =
                open.into_iter().filter(|call| call.is_of_agent()).collect();
            agents.sort_by_key(|call| call.order);
            agents.into_iter().map(|call| call.id.clone()).collect()
        };
        self.natives.read(event, data, agents, in_turn);
        if kind != "session.started" && !self.facts.begun() {
            let facts = SessionStart {
                native_id: text_of(event, "session_id").map(str::to_owned),
                ..SessionStart::default()
            };
            self.say(emitter, facts);
        }
        match kind {
            "session.started" if self.natives.is_child() => {
                emitter.pass_over("a sub-agent's session");
            }
            "session.started" => self.started(emitter, event, data),
            "session.ended" => self.session_ended(emitter, data),
            "turn.started" => self.turn_started(emitter, text_of(data, "turn_id")),
            "turn.ended" if self.turn.is_none() => emitter.pass_over("the end of no turn"),
            "turn.ended" if self.natives.of_other() => {
                emitter.pass_over("the end of another session")
            }
            "turn.ended" => {
                let said = data.get("metadata").unwrap_or(&Value::Null);
                self.close_turn(emitter, outcome_of(said));
            }
            "item.started" | "item.completed" => {
                let item = data.get("item").unwrap_or(&Value::Null);
                self.item(emitter, item, kind == "item.completed");
            }
            "item.delta" => self.delta(emitter, data),
            "permission.requested" | "question.requested" => self.asked(emitter, kind, data),
            "permission.resolved" | "question.resolved" => self.resolved(emitter, kind, data),
            "error" => {
                let place = self.quiet_place();
                let mut extra = Extra::default();
                if let Some(details) = data.get("details").filter(|details| !details.is_null()) {
                    extra.insert("details", Json::from(details));
                }
                let error = ErrorEvent {
                    code: text_of(data, "code").unwrap_or("error").to_owned(),
                    message: text_of(data, "message")
                        .unwrap_or("the agent failed")
                        .to_owned(),
                    extra,
                };
                emitter.add("error", &place, error);
                self.failed = true;
            }
            _ => {
                let place = self.quiet_place();
                emitter.raw(&place, FORMAT, kind, event);
            }
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.close_turn(emitter, "interrupted");
        self.write_end(emitter, "end of stream");
    }
}

/// Whether a value is one of these events.
pub(crate) fn is_universal(value: &Value) -> Option<bool> {
    let dotted = str_of(value, "type").is_some_and(|kind| kind.contains('.') || kind == "error");
    let has = |key: &str| value.get(key).is_some();
    (dotted && has("event_id") && has("sequence") && has("data")).then_some(true)
}
