//! What all forms of OpenHands share: the session so far. Its turns stand in `turns`, the parts of answers in `texts` and
//! `calls`, what the program says of itself in `state`, what models used in `usage`. Calls that wait for a yes: `asks`.
//!
//! A delegate's events stand between its call and that call's result, without a mark of their own: what comes in between
//! is told within the call.

mod calls;
mod state;
mod texts;
mod turns;
mod usage;

use std::collections::{BTreeSet, HashMap};

use chat_event::payload::{Compaction, SessionStart, Usage};
use serde_json::{Map, Value};

use super::failures::Failing;
use crate::emit::{Emitter, Line, Place};
use crate::track::{Track, Worker};
use crate::value::{millis_of_rfc3339, str_of, text_of};

const FORMAT: &str = "openhands";

/// The session so far.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) track: Track,
    /// How the turn would end now.
    pub(crate) outcome: &'static str,
    /// What stands before ids that are numbers: a task's name, where a file has several.
    pub(crate) prefix: String,
    /// Events that had no id of their own.
    pub(crate) n_nameless: u64,
    /// The calls that wait, by the id of their action.
    by_action: HashMap<String, String>,
    /// The answer that is open, and how many texts and thoughts it had.
    answer: (String, u32, u32),
    /// The calls that wait for a yes.
    pub(super) asked: BTreeSet<String>,
    /// The agent said that it is at rest while calls waited for a yes: what refuses them comes behind that.
    pub(super) rests: bool,
    /// The delegate that works said that it is done; its result comes yet.
    delegate_is_done: bool,
    /// The agent was stopped, or failed: what it had begun may not come back.
    pub(super) stopped: bool,
    /// The turn has an error, which is why it fails.
    pub(super) has_error: bool,
    /// The turn failed, and nothing told why.
    pub(super) failing: Option<Failing>,
    /// The turn is over with this line, unless the next one goes on in it (`ends`).
    pub(super) ends: Option<Line>,
    /// The agent said that it is done; calls of the same answer may wait yet.
    pub(super) is_done: bool,
    /// Something was done in the turn.
    works: bool,
    /// What stands behind times that name no zone.
    pub(super) zone: String,
    /// Completions whose tokens were told, by the hash of their id.
    counted: std::collections::HashSet<u64>,
    /// The costs as they were said last, and as they were told last.
    spent: Option<Usage>,
    told_spent: Option<Usage>,
    last_ms: Option<i64>,
}

impl Session {
    pub(crate) fn new() -> Self {
        Session {
            track: Track::new(),
            outcome: "interrupted",
            prefix: String::new(),
            n_nameless: 0,
            by_action: HashMap::new(),
            answer: (String::new(), 0, 0),
            asked: BTreeSet::new(),
            rests: false,
            delegate_is_done: false,
            stopped: false,
            has_error: false,
            failing: None,
            ends: None,
            is_done: false,
            works: false,
            zone: String::new(),
            counted: std::collections::HashSet::new(),
            spent: None,
            told_spent: None,
            last_ms: None,
        }
    }

    /// That of an agent that works for a call of another one.
    pub(crate) fn of(worker: Worker) -> Self {
        Session {
            track: Track::of(worker),
            ..Session::new()
        }
    }

    /// Begins an event.
    pub(crate) fn begin(&mut self, emitter: &mut Emitter, value: &Value) {
        if str_of(value, "kind") != Some("ConversationErrorEvent") {
            self.fail(emitter);
        }
        let time_ms = text_of(value, "timestamp").and_then(|time| {
            let has_zone = time
                .get(19..)
                .is_some_and(|rest| rest.contains(['Z', 'z', '+', '-']));
            match has_zone {
                true => millis_of_rfc3339(time),
                false => millis_of_rfc3339(&format!("{time}{}", self.zone)),
            }
        });
        self.at(emitter, time_ms);
        if self.track.worker().is_some() {
            return;
        }
        let facts = SessionStart {
            agent: Some("OpenHands".to_owned()),
            provider: Some("openhands".to_owned()),
            ..SessionStart::default()
        };
        self.track.facts.say(emitter, facts, Map::new());
    }

    pub(crate) fn at(&mut self, emitter: &mut Emitter, time_ms: Option<i64>) {
        self.last_ms = time_ms.or(self.last_ms);
        if let Some(time_ms) = self.last_ms {
            emitter.time_ms = time_ms;
        }
    }

    /// The id of an event: its own, or its place.
    pub(crate) fn id_of(&mut self, event: &Value) -> String {
        match event.get("id") {
            Some(Value::String(id)) if !id.is_empty() => id.clone(),
            Some(Value::Number(id)) => format!("{}e{id}", self.prefix),
            _ => {
                self.n_nameless += 1;
                format!("{}n{}", self.prefix, self.n_nameless)
            }
        }
    }

    pub(crate) fn raw(&self, emitter: &mut Emitter, kind: &str, value: &Value) {
        emitter.raw(&self.track.place(), FORMAT, kind, value);
    }

    pub(crate) fn model(&mut self, emitter: &mut Emitter, model: Option<&str>) {
        let facts = SessionStart {
            model: model.map(str::to_owned),
            ..SessionStart::default()
        };
        self.track.facts.say(emitter, facts, Map::new());
    }

    pub(crate) fn compaction(&mut self, emitter: &mut Emitter, id: &str, summary: Option<&str>) {
        let payload = Compaction {
            trigger: "auto".to_owned(),
            summary: summary.map(str::to_owned),
            ..Compaction::default()
        };
        emitter.add_as(&format!("{id}:compaction"), &self.track.place(), payload);
    }

    pub(crate) fn notice(&self, emitter: &mut Emitter, level: &str, text: &str) {
        let place: Place = self.track.place();
        emitter.notice(level, &place, "openhands", text);
    }
}
