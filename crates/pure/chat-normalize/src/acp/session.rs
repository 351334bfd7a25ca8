//! What a connection keeps while it is read, and which rule a message goes to.
//!
//! A connection may carry several sessions, which are told apart before (`beside`). Where what another says comes here, the
//! first is the main one: the other works for it, and stands under its own agent id, inside the call that started it where
//! one did. When one begins is for `openings`.
//!
//! Requests and their answers are in `requests`.

mod requests;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chat_event::Json;
use chat_event::payload::{SessionEnd, SessionStart};
use serde_json::{Map, Value};

use super::FORMAT;
use super::asks::Asks;
use super::calls::Call;
use super::edits::Files;
use super::files::Terminal;
use super::openings::Wanted;
use super::queue::Turns;
use super::texts::{Lane, UserText};
use super::usage::Spent;
use super::wire::{Said, Wire};
use crate::dialect::Normalizer;
use crate::emit::{Emitter, Place};
use crate::facts::Facts;

/// Reads the protocol.
#[derive(Debug)]
pub(crate) struct Acp {
    pub(super) wire: Wire,
    pub(super) facts: Facts,
    /// The session that is shown: the first of which something was heard.
    main: Option<String>,
    sessions: BTreeMap<String, Session>,
    /// Sessions that were asked for and may be gone.
    pub(super) wanted: BTreeMap<String, Wanted>,
    /// What the user asked, where only the agent's lines are read.
    prompt: Option<String>,
    pub(super) asks: Asks,
    pub(super) version: u64,
}

/// One session.
#[derive(Debug, Default)]
pub(crate) struct Session {
    /// Before the ids of its turns and calls; empty for the main session.
    pub(super) prefix: String,
    pub(super) agent_id: Option<String>,
    /// The call that started it.
    pub(super) parent_call: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) turns: Turns,
    pub(super) n_turns: u64,
    /// What is written now, by the call whose sub-agent writes it.
    pub(super) lanes: BTreeMap<Option<String>, Lane>,
    /// How many parts each response of the turns that are open has.
    pub(super) parts: HashMap<String, [u32; 2]>,
    /// Calls without a result, by the provider's id.
    pub(super) calls: BTreeMap<String, Call>,
    pub(super) n_calls: u64,
    pub(super) terminals: BTreeMap<String, Terminal>,
    pub(super) files: Files,
    /// Hashes of the ids of messages and calls that are over: a history says them again.
    pub(super) over: BTreeSet<u64>,
    /// How often an id was used that was used more than once, by its hash.
    pub(super) uses: HashMap<u64, u32>,
    /// Ids of messages of the turn that runs.
    pub(super) messages: BTreeSet<u64>,
    /// Hashes of the prompts that were read, and the number of the reading of a history they came in.
    pub(super) prompts: HashMap<u64, u64>,
    pub(super) n_loads: u64,
    pub(super) loading: bool,
    /// What is said was read before.
    pub(super) skipping: bool,
    pub(super) user: Option<UserText>,
    pub(super) spent: Spent,
    pub(super) plan: Option<Value>,
    pub(super) compactions: BTreeMap<String, String>,
}

impl Acp {
    /// `prompt` is what the user asked, where that is known.
    pub(crate) fn new(prompt: Option<String>) -> Self {
        Acp {
            wire: Wire::default(),
            facts: Facts::default(),
            main: None,
            sessions: BTreeMap::new(),
            wanted: BTreeMap::new(),
            prompt,
            asks: Asks::default(),
            version: 1,
        }
    }

    /// The session `native`; the main one where none is named.
    pub(super) fn session(&mut self, native: &str) -> &mut Session {
        let named = Some(native).filter(|id| !id.is_empty());
        if self.main.is_none()
            && let Some(named) = named
        {
            self.main = Some(named.to_owned());
            // What came before a session was named belongs to the first that is.
            if let Some(early) = self.sessions.remove("") {
                self.sessions.insert(named.to_owned(), early);
            }
        }
        let main = self.main.clone().unwrap_or_default();
        let id = named.unwrap_or(&main).to_owned();
        let is_main = id == main;
        let prompt = if is_main { self.prompt.take() } else { None };
        let session = self.sessions.entry(id.clone()).or_insert_with(|| {
            let mut session = Session::default();
            if !is_main {
                session.prefix = format!("{id}:");
                session.agent_id = Some(id);
            }
            session
        });
        if let Some(prompt) = prompt {
            session.user = Some(UserText::told(prompt));
        }
        session
    }

    /// The session `native` runs inside the call `call_id` of another one.
    pub(super) fn link(&mut self, native: &str, call_id: &str) {
        if call_id.is_empty() || native.is_empty() || self.is_main(native) {
            return;
        }
        let session = self.session(native);
        if session.parent_call.is_none() {
            session.parent_call = Some(call_id.to_owned());
        }
    }

    pub(super) fn say(
        &mut self,
        emitter: &mut Emitter,
        facts: SessionStart,
        rest: Map<String, Value>,
    ) {
        let facts = SessionStart {
            provider: Some("acp".to_owned()),
            timestamp_source: Some("arrival".to_owned()),
            ..facts
        };
        self.facts.say(emitter, facts, rest);
    }

    pub(super) fn is_main(&self, native: &str) -> bool {
        self.main.as_deref() == Some(native)
    }

    /// Whether something was heard of a session.
    pub(super) fn knows(&self, native: &str) -> bool {
        self.sessions.contains_key(native)
    }
}

impl Session {
    /// What bears the id of this hash is over, and something else bears it now.
    pub(super) fn use_again(&mut self, hash: u64) {
        let uses = self.uses.entry(hash).or_insert(1);
        *uses = uses.saturating_add(1);
    }

    /// The id, with a number where it was used again.
    pub(super) fn numbered(&self, id: &str, hash: u64) -> String {
        match self.uses.get(&hash) {
            Some(uses) => format!("{id}~{uses}"),
            None => id.to_owned(),
        }
    }

    /// Where what belongs to no turn of its own stands: in the turn that runs, where one does.
    pub(super) fn quiet_place(&self) -> Place {
        Place {
            turn_id: self.turns.front().map(|turn| turn.id.clone()),
            agent_id: self.agent_id.clone(),
            parent_tool_call_id: self.parent_call.clone(),
            ..Place::default()
        }
    }
}

impl Normalizer for Acp {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        match self.wire.read(line) {
            Said::Request {
                side,
                id,
                method,
                params,
            } => self.request(emitter, side, id, method, params),
            Said::Answer {
                side,
                id,
                asked,
                result,
                error,
            } => self.answer(emitter, side, &id, &asked, result, error),
            Said::Unknown => {
                let place = self.session("").quiet_place();
                emitter.raw(&place, FORMAT, "no message", line);
            }
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.meet_wanted(emitter);
        for native in self.sessions.keys().cloned().collect::<Vec<_>>() {
            let (session, asks) = self.session_and_asks(&native);
            session.end(emitter, asks);
        }
        self.asks.expire_all(emitter);
        let end = SessionEnd {
            reason: "end of stream".to_owned(),
            ..SessionEnd::default()
        };
        emitter.add("session-end", &Place::default(), end);
    }
}

/// A list of attachments, where there are any.
pub(super) fn attachments(attached: Vec<Value>) -> Option<Json> {
    (!attached.is_empty()).then(|| Json::from(Value::Array(attached)))
}
