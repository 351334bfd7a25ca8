//! What all three dialects keep while they are read: turns, nested sessions, open messages, parts and calls.
//!
//! | state | what happens | next |
//! |---|---|---|
//! | no turn | a prompt, `busy`, or an answer | turn open |
//! | turn open | a prompt that is queued | two turns open; each answer names the prompt it is for |
//! | turn open | an answer to a later prompt | the earlier turns are closed, interrupted where an answer or a call of theirs was not whole |
//! | turn open | idle, every answer whole | all turns closed; idle is said once |
//! | turn open | idle, an answer not whole (abort, hard error) | closed with the answer, or at the second idle |
//! | any | the source ended | what is open is closed as interrupted |
//!
//! A sub-agent is a session of its own, nested by the call of the `task` tool that started it.

mod children;
mod prompts;
mod turns;

use std::collections::{BTreeMap, HashMap};

use chat_event::payload::{AgentSwitch, SessionStart};
use chat_event::{Extra, Payload};
use serde_json::{Map, Value};

use super::asks::Asks;
use super::calls::Call;
use super::edits::Edits;
use super::messages::Message;
use super::parts::Prompt;
use super::set_backs::SetBacks;
use super::texts::Part;
use super::times;
use super::whose::Whose;
use crate::emit::{Emitter, Place};
use crate::facts::{Facts, guessed};
use crate::reader::Context;
use crate::recent::Recent;
use crate::value::text_of;
use children::Child;
pub(crate) use turns::Turn;

/// The state of one session and those that work for it.
#[derive(Debug, Default)]
pub(crate) struct Session {
    pub(crate) format: &'static str,
    /// The source tells what happens as it happens.
    pub(crate) live: bool,
    /// Questions have events of their own: the call of the question tool asks nobody by itself.
    pub(crate) has_requests: bool,
    pub(crate) root: Option<String>,
    pub(crate) facts: Facts,
    pub(crate) messages: HashMap<String, Message>,
    pub(crate) parts: HashMap<String, Part>,
    /// Parts whose text is not whole, in the order they came.
    pub(crate) open_parts: BTreeMap<u64, String>,
    pub(crate) calls: HashMap<String, Call>,
    /// Calls without a result, in the order they came.
    pub(crate) open_calls: BTreeMap<u64, String>,
    /// By message and the model's id of the call: the part.
    pub(crate) call_parts: HashMap<(String, String), String>,
    /// How many calls bore an id.
    pub(crate) call_uses: Recent<u32>,
    pub(crate) edits: Edits,
    pub(crate) asks: Asks,
    pub(crate) prompt: Option<Prompt>,
    pub(crate) turns: Vec<Turn>,
    pub(crate) n_parts: u64,
    /// The plan as it was said last, by session.
    pub(crate) plans: HashMap<String, u64>,
    /// The error that was said last, by session.
    pub(crate) errors: HashMap<String, String>,
    /// What a compaction that goes on was started by.
    pub(crate) compacting: Option<String>,
    /// A compaction was written that `session.compacted` repeats.
    pub(crate) compacted: bool,
    /// What was said of a message or part, for when it is taken back.
    pub(crate) said: HashMap<String, Vec<String>>,
    children: BTreeMap<String, Child>,
    turn_ids: Recent<u32>,
    /// With so many messages the oldest are forgotten.
    pub(super) forget_at: usize,
    /// The agent that answered last.
    agent: Option<String>,
    /// The session says its model itself, which it did not before 1.18.
    says_model: bool,
    whose: Whose,
    pub(super) set_backs: SetBacks,
    /// A command that the user ran and that is not told yet: the turn, and the prompt it stands in.
    pub(super) ran: Option<(String, String)>,
}

impl Session {
    /// `context` may say which program it is.
    pub(crate) fn new(format: &'static str, live: bool, context: &Context) -> Self {
        Session {
            format,
            live,
            whose: Whose::told(context.agent.as_deref()),
            ..Session::default()
        }
    }

    /// Says what `info` tells of the session; `None` where only its id is known.
    pub(crate) fn about(&mut self, emitter: &mut Emitter, native_id: &str, info: Option<&Value>) {
        let nothing = Value::Null;
        let said = info.unwrap_or(&nothing);
        // The program names a session itself until it has a title.
        let title = text_of(said, "title").filter(|title| !title.starts_with("New session - "));
        let model = said.get("model").and_then(|model| text_of(model, "id"));
        self.says_model |= model.is_some();
        let version = text_of(said, "version");
        self.whose.see_version(version);
        let name = self.whose.name();
        let facts = SessionStart {
            agent: match version {
                Some(version) => Some(format!("{name} {version}")),
                // It never says which.
                None => (self.format == "opencode-run").then(|| name.to_owned()),
            },
            native_id: Some(native_id.to_owned()),
            model: model.map(str::to_owned),
            cwd: text_of(said, "directory").map(str::to_owned),
            title: title.map(str::to_owned),
            provider: Some("opencode".to_owned()),
            ..SessionStart::default()
        };
        if let Some(cwd) = &facts.cwd {
            self.edits.cwd = Some(cwd.clone());
        }
        // What `opencode run` prints never says where it runs.
        let guess = facts.cwd.as_ref().filter(|_| self.format == "opencode-run");
        let guessed = guessed(guess);
        self.facts.say(emitter, facts, guessed);
        if let Some(info) = info {
            self.is_set_back(emitter, info);
        }
    }

    /// A step of a run ended, which may tell whose it is.
    pub(crate) fn see_step(&mut self, emitter: &mut Emitter, part: &Value) {
        if self.whose.see_step(part) {
            let facts = SessionStart {
                agent: Some(self.whose.name().to_owned()),
                ..SessionStart::default()
            };
            self.facts.say(emitter, facts, Map::new());
        }
    }

    /// Says what an answer tells of the session: its agent, and what the session did not say itself.
    pub(crate) fn about_answer(&mut self, emitter: &mut Emitter, info: &Value, place: &Place) {
        let cwd = info.get("path").and_then(|path| text_of(path, "cwd"));
        let cwd = cwd.filter(|_| self.edits.cwd.is_none()).map(str::to_owned);
        let model = text_of(info, "modelID").filter(|_| !self.says_model);
        if cwd.is_some() || model.is_some() {
            if cwd.is_some() {
                self.edits.cwd.clone_from(&cwd);
            }
            let facts = SessionStart {
                model: model.map(str::to_owned),
                cwd,
                ..SessionStart::default()
            };
            self.facts.say(emitter, facts, Map::new());
        }
        let agent = text_of(info, "agent").or_else(|| text_of(info, "mode"));
        let Some(agent) = agent.filter(|agent| self.agent.as_deref() != Some(*agent)) else {
            return;
        };
        if let Some(before) = self.agent.replace(agent.to_owned()) {
            let switch = AgentSwitch {
                from_agent_id: before,
                to_agent_id: agent.to_owned(),
                extra: Extra::default(),
            };
            emitter.add("agent", place, switch);
        }
    }

    /// Adds an event about the message or part `key`, which may take it back.
    pub(crate) fn add(
        &mut self,
        emitter: &mut Emitter,
        key: &str,
        tag: &str,
        place: &Place,
        payload: impl Into<Payload>,
    ) {
        let id = emitter
            .add_as(&format!("{key}:{tag}"), place, payload)
            .id
            .clone();
        self.note(key, id);
    }

    /// Remembers that the event `id` came of the message or part `key`.
    pub(crate) fn note(&mut self, key: &str, id: String) {
        self.said.entry(key.to_owned()).or_default().push(id);
    }

    /// Takes a time from the source for the events that follow.
    pub(crate) fn at(emitter: &mut Emitter, value: &Value, key: &str) {
        if let Some(time_ms) = times::of_member(value, key) {
            emitter.time_ms = time_ms;
        }
    }
}
