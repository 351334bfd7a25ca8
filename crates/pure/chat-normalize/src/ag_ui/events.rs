//! Which rule an event goes to, and what is kept between events.

use std::collections::{BTreeMap, BTreeSet};

use chat_event::payload::{Progress, SessionEnd, SessionStart};
use serde_json::{Map, Value};

use super::FORMAT;
use super::calls::Call;
use super::names::{canonical, field, is_aside};
use super::runs::Ask;
use super::subs::Sub;
use super::texts::{Lane, Open, Said};
use crate::dialect::Normalizer;
use crate::emit::{Emitter, Place, hash};
use crate::facts::Facts;
use crate::recent::{LATE_LARGE, Recent};
use crate::speech::Kind;
use crate::unanswered::Unanswered;
use crate::value::{list_of, millis, str_of};

/// The ids of so many messages that said the same words are kept.
const MAX_SAME_TEXTS: usize = 1000;

/// Reads the events.
#[derive(Debug, Default)]
pub(crate) struct AgUi {
    pub(super) facts: Facts,
    pub(super) prompt: Option<String>,
    /// The turn that runs.
    pub(super) turn: Option<String>,
    pub(super) n_turns: u64,
    pub(super) turns: BTreeSet<u64>,
    /// The turns in which the user's words stand.
    pub(super) worded: Recent<()>,
    /// The messages and the thoughts that are written: one may bear the id of the other.
    pub(super) texts: [BTreeMap<String, Open>; 2],
    pub(super) lanes: BTreeMap<Option<String>, Lane>,
    /// The message, thought or call that chunks write; it ends where something else comes.
    pub(super) chunked: Option<Chunked>,
    /// The last message and the last thought that began.
    pub(super) text: Option<String>,
    pub(super) thought: Option<String>,
    pub(super) n_thoughts: u64,
    pub(super) calls: BTreeMap<String, Call>,
    pub(super) n_calls: u64,
    pub(super) subs: BTreeMap<String, Sub>,
    /// How many texts and thoughts a response has.
    pub(super) parts: Recent<[u32; 2]>,
    /// Calls that were given up.
    pub(super) unanswered: Unanswered,
    /// How often the id of a call, where that is more than once, or of a question was used, by its hash.
    pub(super) uses: BTreeMap<u64, u32>,
    /// What was told, by the hash of a message's, a thought's or a call's id: the hash of the text.
    pub(super) told: BTreeMap<u64, u64>,
    /// The turns that it was told in.
    pub(super) told_in: Recent<String, LATE_LARGE>,
    /// The parts that messages were told in, by the hash of their id.
    pub(super) said: Recent<Vec<Said>, LATE_LARGE>,
    pub(super) asks: BTreeMap<String, Ask>,
    /// The ids that texts were told by, by the texts' hashes: snapshots may name none.
    pub(super) ids_of_texts: Recent<Vec<String>, LATE_LARGE>,
    /// The hash of the state that was told last.
    pub(super) state: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Chunked {
    Text(String),
    Thought(String),
    Call(String),
}

impl AgUi {
    /// `prompt` is what the user asked, where that is known.
    pub(crate) fn new(prompt: Option<String>) -> Self {
        AgUi {
            prompt,
            ..AgUi::default()
        }
    }

    fn event(&mut self, emitter: &mut Emitter, kind: &str, event: &Value) {
        if !is_aside(kind) {
            self.end_chunked(emitter, kind, event);
        }
        let sub = field(event, "subagentRunId", "subagent_run_id").map(str::to_owned);
        match kind {
            "RUN_STARTED" => self.run_started(emitter, event),
            "RUN_FINISHED" => self.run_finished(emitter, event),
            "RUN_ERROR" => self.run_failed(emitter, event),
            "STEP_STARTED" | "STEP_FINISHED" => self.step(emitter, kind, event, sub.as_deref()),
            "TEXT_MESSAGE_START" => self.text_start(emitter, event, sub),
            "TEXT_MESSAGE_CONTENT" => self.text_content(emitter, event, sub),
            "TEXT_MESSAGE_END" => self.text_end(emitter, event),
            "TEXT_MESSAGE_CHUNK" => self.text_chunk(emitter, event, sub),
            "REASONING_MESSAGE_START" | "THINKING_TEXT_MESSAGE_START" => {
                self.thought_start(emitter, event, sub);
            }
            "REASONING_MESSAGE_CONTENT" | "THINKING_TEXT_MESSAGE_CONTENT" => {
                self.thought_content(emitter, event, sub);
            }
            "REASONING_MESSAGE_END" | "THINKING_TEXT_MESSAGE_END" => {
                self.thought_end(emitter, event);
            }
            "REASONING_MESSAGE_CHUNK" => self.thought_chunk(emitter, event, sub),
            "REASONING_START"
            | "REASONING_END"
            | "THINKING_START"
            | "THINKING_END"
            | "REASONING_ENCRYPTED_VALUE" => emitter.pass_over(kind),
            "TOOL_CALL_START" => self.call_start(emitter, event, sub),
            "TOOL_CALL_ARGS" => self.call_args(emitter, event, sub),
            "TOOL_CALL_END" => self.call_end(emitter, event),
            "TOOL_CALL_CHUNK" => self.call_chunk(emitter, event, sub),
            "TOOL_CALL_RESULT" => self.call_result(emitter, event, sub),
            "MESSAGES_SNAPSHOT" => self.snapshot(emitter, list_of(event, "messages")),
            "ACTIVITY_SNAPSHOT" => self.activity(emitter, event, sub.as_deref()),
            "STATE_SNAPSHOT" => self.state(emitter, event, sub.as_deref()),
            "STATE_DELTA" => self.state_changes(emitter, event, sub.as_deref()),
            "SUBAGENT_STARTED" => self.sub_started(emitter, event),
            "SUBAGENT_FINISHED" | "SUBAGENT_ERROR" => self.sub_ended(emitter, kind, event),
            _ => {
                let place = self.quiet_place(sub.as_deref());
                emitter.raw(&place, FORMAT, kind, event);
            }
        }
    }

    /// Ends what chunks wrote, where this event is no further piece of it.
    fn end_chunked(&mut self, emitter: &mut Emitter, kind: &str, event: &Value) {
        let Some(chunked) = self.chunked.clone() else {
            return;
        };
        let goes_on = |wanted: &str, id: Option<&str>, open: &str| {
            kind == wanted && id.is_none_or(|id| id == open)
        };
        let message = field(event, "messageId", "message_id");
        let call = field(event, "toolCallId", "tool_call_id");
        match &chunked {
            Chunked::Text(open) if goes_on("TEXT_MESSAGE_CHUNK", message, open) => {}
            Chunked::Thought(open) if goes_on("REASONING_MESSAGE_CHUNK", message, open) => {}
            Chunked::Call(open) if goes_on("TOOL_CALL_CHUNK", call, open) => {}
            Chunked::Text(open) => {
                self.chunked = None;
                self.close_text(emitter, Kind::Text, open);
            }
            Chunked::Thought(open) => {
                self.chunked = None;
                self.close_text(emitter, Kind::Thinking, open);
            }
            Chunked::Call(open) => {
                self.chunked = None;
                self.announce(emitter, open);
            }
        }
    }

    fn step(&mut self, emitter: &mut Emitter, kind: &str, event: &Value, sub: Option<&str>) {
        let name = field(event, "stepName", "step_name").unwrap_or("a step");
        let place = self.place(emitter, sub);
        let progress = Progress {
            message: name.to_owned(),
            percent: (kind == "STEP_FINISHED").then_some(100.0),
            ..Progress::default()
        };
        emitter.add("progress", &place, progress);
    }

    /// Where what happens now stands; a turn begins where none runs.
    pub(super) fn place(&mut self, emitter: &mut Emitter, sub: Option<&str>) -> Place {
        if self.turn.is_none() {
            self.open_turn(emitter, None);
        }
        self.quiet_place(sub)
    }

    /// The same, but no turn begins.
    pub(super) fn quiet_place(&self, sub: Option<&str>) -> Place {
        Place {
            turn_id: self.turn.clone(),
            parent_tool_call_id: sub
                .and_then(|sub| self.subs.get(sub))
                .map(|sub| self.call_id(&sub.call_id)),
            ..Place::default()
        }
    }

    /// Notes what was told, and in which turn.
    pub(super) fn note(&mut self, key: u64, said: u64, place: &Place) {
        self.told.insert(key, said);
        if let Some(turn) = &place.turn_id {
            self.told_in.put(key, turn.clone());
        }
    }

    /// As [`AgUi::note`], with the id of a text.
    pub(super) fn note_text(&mut self, kind: Kind, id: &str, said: u64, place: &Place) {
        self.note(text_key(kind, id), said, place);
        let ids = self.ids_of_texts.entry_at(said);
        if ids.len() < MAX_SAME_TEXTS && !ids.iter().any(|known| known == id) {
            ids.push(id.to_owned());
        }
    }

    fn begin(&mut self, emitter: &mut Emitter, event: &Value) {
        let facts = SessionStart {
            native_id: field(event, "threadId", "thread_id").map(str::to_owned),
            provider: Some("ag-ui".to_owned()),
            timestamp_source: event
                .get("timestamp")
                .is_none_or(Value::is_null)
                .then(|| "arrival".to_owned()),
            ..SessionStart::default()
        };
        self.facts.say(emitter, facts, Map::new());
    }
}

impl Normalizer for AgUi {
    fn line(&mut self, emitter: &mut Emitter, event: &Value) {
        if let Some(time_ms) = event.get("timestamp").and_then(millis) {
            emitter.time_ms = time_ms;
        }
        let kind = canonical(str_of(event, "type").unwrap_or(""));
        if !self.facts.begun() || kind == "RUN_STARTED" {
            self.begin(emitter, event);
        }
        self.event(emitter, &kind, event);
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.end_all(emitter);
        let end = SessionEnd {
            reason: "end of stream".to_owned(),
            ..SessionEnd::default()
        };
        emitter.add("session-end", &Place::default(), end);
    }
}

pub(super) fn id_hash(kind: &str, id: &str) -> u64 {
    hash(format!("{kind}:{id}").as_bytes())
}

/// As [`id_hash`], of a message or a thought.
pub(super) fn text_key(kind: Kind, id: &str) -> u64 {
    let kind = match kind {
        Kind::Text => "message",
        Kind::Thinking => "thought",
    };
    id_hash(kind, id)
}
