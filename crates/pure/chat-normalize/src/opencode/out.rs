//! ChatEvents as OpenCode's bus would have told them.
//!
//! The order is that of 1.18.33 (`reference/formats.md` 5.3), but for one thing: `busy` is said once, and once more after
//! a provider was asked again.
//!
//! ```text
//! session.created, session.updated
//! a turn:  message.updated (user), its parts, session.status busy
//!   a step:  message.updated (assistant), step-start, text and reasoning (empty, pieces, whole),
//!            tools (pending, running …, completed or error), step-finish, message.updated twice
//!   session.status idle, session.idle: once, after the last call and the last text
//!   session.updated, session.diff, message.updated (user, what changed)
//! ```
//!
//! One answer of the model with its calls is a step, and a message of its own. A sub-agent is a session of its own,
//! begun and ended within its call. What OpenCode has no event for is counted in [`OpenCodeOut::left_out`].
//!
//! Below: `ids`, `scopes` (sessions, busy and idle), `turns`, `prompts`, `steps` (answers), `rests` (what is told at rest), `spent` (tokens and costs),
//! `texts`, `calls`, `changes` (files), `asks` (permissions and questions), `asides`.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use chat_event::payload::SessionStatus;
use chat_event::{ChatEvent, Payload};
use serde_json::{Map, Value, json};

use crate::emit::count_kind;
use crate::recent::{LATE_LARGE, LATE_SMALL, Recent};

mod asides;
mod asks;
mod calls;
mod changes;
mod ids;
mod prompts;
mod rests;
mod scopes;
mod spent;
mod steps;
mod texts;
mod turns;

use asides::named_error;
use asks::Ask;
use calls::Call;
use ids::Ids;
use rests::Rested;
use scopes::{About, Scope};
use spent::Spent;
use steps::Step;
use texts::TextPart;
use turns::Turn;

/// Turns ChatEvents of one session into OpenCode's events, one by one.
///
/// Memory is bounded: what is over is kept as long as a late event may still name it, and then forgotten. Known are at
/// least the last 458,752 events' and ids of the source, 28,672 of what events became, of prompts and open questions,
/// 7,168 of texts, and 1024 calls or 4 MiB of them. What comes later than that is told as if it were new. Of answers,
/// turns and results without a call that stay open for ever, the oldest is closed when there are more than 1024.
///
/// ```
/// use chat_event::ChatEvent;
/// use chat_normalize::OpenCodeOut;
///
/// let lines = [
///     r#"{"id":"1","timestamp":1,"sessionId":"s","type":"turn_start","turnId":"t","payload":{"trigger":"user"}}"#,
///     r#"{"id":"2","timestamp":1,"sessionId":"s","type":"user_message","turnId":"t","payload":{"text":"Hi"}}"#,
///     r#"{"id":"3","timestamp":2,"sessionId":"s","type":"turn_end","turnId":"t","payload":{}}"#,
/// ];
/// let mut out = OpenCodeOut::new();
/// let mut told = Vec::new();
/// for line in lines {
///     out.push(&ChatEvent::from_json(line).unwrap(), &mut told);
/// }
/// out.finish(&mut told);
/// let types: Vec<&str> = told.iter().filter_map(|event| event["type"].as_str()).collect();
/// assert_eq!(types[2..7], [
///     "message.updated", "message.part.updated", "session.status", "session.status", "session.idle",
/// ]);
/// ```
#[derive(Debug, Default)]
pub struct OpenCodeOut {
    told: Vec<Value>,
    now_ms: i64,
    /// The event that is told now.
    event_id: String,
    ids: Ids,
    seen: Recent<(), LATE_SMALL>,
    /// Ids of sessions, messages and parts that were given out, and of parts that were taken back.
    taken: Recent<(), LATE_SMALL>,
    gone: Recent<()>,
    about: About,
    /// The session, and those that work for it.
    scopes: Vec<Scope>,
    scope_of_call: HashMap<String, usize>,
    /// Sub-agents' sessions that are busy.
    busy_agents: BTreeSet<usize>,
    /// Open turns, in the order they began.
    turns: BTreeMap<u64, Turn>,
    turn_no: HashMap<String, u64>,
    /// The message that a turn answers, for turns that were open once.
    prompts: Recent<String>,
    n_turns: u64,
    /// Turns that nothing in the log began.
    implicit: Vec<u64>,
    /// Prompts of turns that are over, and what they changed: told when the session rests.
    rested: VecDeque<Rested>,
    rested_bytes: usize,
    /// Of figures that count from the beginning, those said last.
    counted: Spent,
    /// The log says itself when the session is busy and idle.
    says_status: bool,
    /// It said idle while a turn was open.
    idle_waits: bool,
    n_retries: u64,
    /// Answers that are not whole, in the order they began.
    steps: BTreeMap<u64, Step>,
    step_of_response: HashMap<(usize, String), u64>,
    n_steps: u64,
    /// The answer that is whole but for what it changed.
    closing: Option<u64>,
    texts: HashMap<u64, TextPart>,
    /// Texts that are whole.
    whole: Recent<TextPart, LATE_LARGE>,
    calls: HashMap<String, Call>,
    /// Calls that are over, in the order they ended, with about how many bytes each holds.
    over: VecDeque<(String, usize)>,
    over_bytes: usize,
    /// Results whose call did not come yet.
    early: BTreeMap<String, ChatEvent>,
    early_bytes: usize,
    asks: Recent<Ask>,
    /// The message and part that an event became.
    became: Recent<(usize, String, Option<String>)>,
    left_out: BTreeMap<String, u64>,
}

/// The events of one session as OpenCode's bus would have told them.
pub fn to_opencode_events(events: &[ChatEvent]) -> Vec<Value> {
    let mut out = OpenCodeOut::new();
    let mut told = Vec::new();
    for event in events {
        out.push(event, &mut told);
    }
    out.finish(&mut told);
    told
}

impl OpenCodeOut {
    /// Begins a session.
    pub fn new() -> Self {
        OpenCodeOut::default()
    }

    /// Takes the next event of the log and appends what OpenCode would have told of it: `{id, type, properties}`.
    ///
    /// An event whose id came before is passed over.
    pub fn push(&mut self, event: &ChatEvent, told: &mut Vec<Value>) {
        if event.is_control() || !self.seen.insert(&event.id, ()) {
            return;
        }
        // OpenCode knows no time that is not there.
        self.now_ms = event.timestamp.unwrap_or(self.now_ms).max(1);
        self.event_id.clone_from(&event.id);
        if self.scopes.is_empty() {
            self.scopes.push(Scope::root(&event.session_id));
        }
        self.take(event);
        told.append(&mut self.told);
    }

    /// Takes the end of the log: what is open is closed. A session that is idle is not said to be idle again.
    pub fn finish(&mut self, told: &mut Vec<Value>) {
        "end".clone_into(&mut self.event_id);
        self.close_closing();
        self.close_all();
        told.append(&mut self.told);
    }

    /// What OpenCode has no event for, by type.
    pub fn left_out(&self) -> &BTreeMap<String, u64> {
        &self.left_out
    }

    /// The session's id on the bus; empty as long as no event came.
    pub fn session_id(&self) -> &str {
        self.scopes.first().map_or("", |scope| scope.id.as_str())
    }

    fn take(&mut self, event: &ChatEvent) {
        if !matches!(event.payload, Payload::FileEdit(_)) {
            self.close_closing();
        }
        match &event.payload {
            Payload::SessionStart(start) => self.learn(start),
            Payload::SessionEnd(_) => self.close_all(),
            Payload::SessionStatus(status) => self.status(event, status),
            Payload::TurnStart(start) => self.turn_starts(event, &start.trigger),
            Payload::TurnEnd(end) => self.turn_ends(event, end),
            Payload::UserMessage(message) => {
                let attachments = message.attachments.as_ref().map(chat_event::Json::to_value);
                self.prompt(event, &message.text.preview(), attachments.as_ref());
            }
            Payload::UserAudio(audio) => self.prompt(event, &audio.transcription, None),
            Payload::AssistantChunk(chunk) => self.piece(event, false, chunk.part, &chunk.text),
            Payload::AssistantDone(done) => self.whole(event, false, done.part, &done.text),
            Payload::ThinkingChunk(chunk) => self.piece(event, true, chunk.part, &chunk.text),
            Payload::ThinkingDone(done) => self.whole(event, true, done.part, &done.text),
            Payload::ToolCall(call) => self.call(event, call),
            Payload::ToolInputChunk(chunk) => self.input(event, chunk),
            Payload::ToolOutputChunk(chunk) => self.output(chunk),
            Payload::ToolResult(result) => self.result(event, result),
            Payload::FileEdit(edit) => self.edit(event, edit),
            Payload::Usage(usage) => self.usage(event, usage),
            Payload::Plan(plan) => self.plan(event, plan),
            Payload::PermissionRequest(request) => self.permission_asked(event, request),
            Payload::PermissionResolved(resolved) => self.permission_replied(resolved),
            Payload::QuestionRequest(request) => self.question_asked(event, request),
            Payload::QuestionResolved(resolved) => self.question_replied(resolved),
            Payload::Interrupt(_) => {
                let error = json!({"name": "MessageAbortedError", "data": {"message": "Aborted"}});
                self.failed(event, &error);
            }
            Payload::ErrorEvent(error) => self.failed(event, &named_error(error)),
            Payload::Compaction(compaction) => self.compacted(event, compaction),
            Payload::AgentSwitch(switch) => {
                self.about.agent = Some(switch.to_agent_id.clone());
                self.session_updated(0);
            }
            Payload::Retract(retract) => self.retract(retract),
            Payload::AgentMessage(_)
            | Payload::AgentCallback(_)
            | Payload::AudioChunk(_)
            | Payload::AudioDone(_)
            | Payload::Progress(_)
            | Payload::Notice(_)
            | Payload::Raw(_)
            | Payload::LogStart(_)
            | Payload::LogEpoch(_)
            | Payload::LogGap(_)
            | Payload::LogEnd(_)
            | Payload::Unknown { .. }
            | Payload::Malformed { .. } => self.leave_out(event.event_type()),
        }
    }

    fn close_closing(&mut self) {
        if let Some(key) = self.closing.take() {
            self.close_step(key, false);
        }
    }

    fn leave_out(&mut self, kind: &str) {
        count_kind(&mut self.left_out, kind);
    }

    fn tell(&mut self, kind: &str, properties: Value) {
        let id = self.ids.mint("evt", self.now_ms, &self.event_id);
        // Not by `json!`, which copies what it is given, member by member.
        self.told.push(object([
            ("id", Value::String(id)),
            ("type", Value::from(kind)),
            ("properties", properties),
        ]));
    }

    /// Tells a part of the answer or prompt `message_id` as it is now; `part` has its own members.
    fn tell_part(&mut self, scope: usize, message_id: &str, part_id: &str, mut part: Value) {
        if self.gone.contains(part_id) {
            return;
        }
        let session = self.scopes[scope].id.clone();
        part["id"] = Value::from(part_id);
        part["messageID"] = Value::from(message_id);
        part["sessionID"] = Value::from(session.as_str());
        let properties = object([
            ("sessionID", Value::String(session)),
            ("part", part),
            ("time", Value::from(self.now_ms)),
        ]);
        self.tell("message.part.updated", properties);
    }

    /// An id for a part: that of the source where it has one behind `last`, else a new one.
    fn part_id(&mut self, last: &str) -> String {
        let native = self.event_id.split(':').next().unwrap_or("");
        let native = native.to_owned();
        if native.as_str() > last
            && let Some(id) = self.kept("prt", &native)
        {
            return id;
        }
        self.ids.mint("prt", self.now_ms, &self.event_id)
    }

    /// An id for a message: the first of those that have the form and are not taken, else a new one.
    fn message_id(&mut self, natives: [&str; 2], seed: &str) -> String {
        for native in natives {
            if let Some(id) = self.kept("msg", native) {
                return id;
            }
        }
        self.ids.mint("msg", self.now_ms, seed)
    }

    fn kept(&mut self, prefix: &str, native: &str) -> Option<String> {
        if self.taken.contains(native) {
            return None;
        }
        let id = self.ids.keep(prefix, self.now_ms, native)?;
        self.taken.insert(&id, ());
        Some(id)
    }

    /// Remembers what the event that is told now became, for when it is taken back.
    fn note(&mut self, scope: usize, message_id: &str, part_id: Option<&str>) {
        let said = (scope, message_id.to_owned(), part_id.map(str::to_owned));
        self.became.insert(&self.event_id, said);
    }

    fn status(&mut self, event: &ChatEvent, status: &SessionStatus) {
        self.says_status = true;
        match status.status.as_str() {
            "busy" => self.says_busy(),
            "idle" => self.says_idle(status.guessed == Some(true)),
            "retrying" => self.retries(event, status.message.as_deref()),
            _ => self.leave_out("session_status"),
        }
    }
}

/// An object of these members, which are moved.
fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    let mut object = Map::with_capacity(N);
    for (name, value) in members {
        object.insert(name.to_owned(), value);
    }
    Value::Object(object)
}
