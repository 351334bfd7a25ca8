//! One line of turns and calls, as simple providers have it: what is open, and how it is closed.
//!
//! | what comes | said |
//! |---|---|
//! | a prompt, or work without one | `turn_start`, once |
//! | a call | `tool_call`; it waits for its result by its own id |
//! | a result | `tool_result`, once a call |
//! | the turn's end | `tool_result` with an error for each call that waits, then `turn_end` |
//!
//! Which line means what is for the dialects; they bring the ids, and an id that comes again in another turn gets a
//! number (`id~2`), so that it names another turn or call.

mod calls;
mod texts;

pub(crate) use calls::{Call, NewCall, tool_error};
pub(crate) use texts::{text_in, thought_in};

use std::collections::{BTreeMap, HashMap};

use chat_event::payload::{TurnEnd, TurnStart, UserMessage};
use chat_event::{Extra, Json, Payload};
use serde_json::Value;

use crate::emit::{Emitter, Place, clean_id, hash, short_hash};
use crate::facts::Facts;

/// What is open in a session of one agent.
#[derive(Debug)]
pub(crate) struct Track {
    /// What the session is known to be.
    pub(crate) facts: Facts,
    turn: Option<String>,
    /// Calls within which agents work, outermost first.
    parents: Vec<String>,
    calls: HashMap<String, Call>,
    /// The calls that wait, as they came.
    order: BTreeMap<u64, String>,
    n_calls: u64,
    /// The call that changed files last: how many, lines added and removed, and where among the events that are out its
    /// result is.
    changed: Option<(String, usize, u32, u32, usize)>,
    /// How often an id was used for a turn or a call, by the id's hash.
    used: HashMap<u64, u32>,
    /// Whose work it is, where that is not the session's own agent.
    agent: Option<Worker>,
}

/// An agent that works for a call of another one. Its turns are its own, and not told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Worker {
    pub(crate) agent_id: String,
    /// The call that it works for, with its turn.
    pub(crate) call: Option<String>,
    pub(crate) turn: Option<String>,
}

/// How a turn ended, with nothing else known.
pub(crate) fn ended(outcome: &str) -> TurnEnd {
    TurnEnd {
        outcome: Some(outcome.to_owned()),
        ..TurnEnd::default()
    }
}

impl Track {
    pub(crate) fn new() -> Self {
        Track {
            facts: Facts::default(),
            turn: None,
            parents: Vec::new(),
            calls: HashMap::new(),
            order: BTreeMap::new(),
            n_calls: 0,
            changed: None,
            used: HashMap::new(),
            agent: None,
        }
    }

    /// That of an agent that works for a call.
    pub(crate) fn of(worker: Worker) -> Self {
        Track {
            agent: Some(worker),
            ..Track::new()
        }
    }

    /// It works for another call now.
    pub(crate) fn work_for(&mut self, worker: Worker) {
        self.agent = Some(worker);
    }

    /// Whose work it is, where that is not the session's own agent.
    pub(crate) fn worker(&self) -> Option<&Worker> {
        self.agent.as_ref()
    }

    /// The turn that is open.
    pub(crate) fn turn_id(&self) -> Option<&str> {
        self.turn.as_deref()
    }

    /// Where the next events stand.
    pub(crate) fn place(&self) -> Place {
        // Outside of a turn no call runs: one that is named there never came, and would never end.
        let parent = self.turn.as_ref().and(self.parents.last()).cloned();
        match &self.agent {
            None => Place {
                turn_id: self.turn.clone(),
                parent_tool_call_id: parent,
                ..Place::default()
            },
            Some(agent) => Place {
                turn_id: agent.turn.clone(),
                agent_id: Some(agent.agent_id.clone()),
                parent_tool_call_id: parent.or_else(|| agent.call.clone()),
                ..Place::default()
            },
        }
    }

    /// Where the turn itself begins and ends: within no call.
    fn turn_place(&self) -> Place {
        Place {
            turn_id: self.turn.clone(),
            ..Place::default()
        }
    }

    /// Whether calls wait for their results.
    pub(crate) fn waits(&self) -> bool {
        !self.calls.is_empty()
    }

    /// The call that waits under `id`.
    pub(crate) fn waiting(&self, id: &str) -> Option<&Call> {
        self.calls.get(id)
    }

    /// The calls that wait, in their order, with the ids under which they do.
    pub(crate) fn waiting_calls(&self) -> impl Iterator<Item = (&str, &Call)> {
        let calls = self.order.values();
        calls.filter_map(|id| Some((id.as_str(), self.calls.get(id)?)))
    }

    /// The id under which the newest call waits.
    pub(crate) fn newest(&self) -> Option<String> {
        self.order.values().next_back().cloned()
    }

    /// The ids under which the newest call and those before it in its response wait, the newest first.
    pub(crate) fn newest_of_response(&self) -> impl Iterator<Item = &String> {
        let response_of = |id: &String| Some(&self.waiting(id)?.place.response_id);
        let newest = self.order.values().next_back().and_then(response_of);
        let newest_first = self.order.values().rev();
        newest_first.take_while(move |id| response_of(id) == newest)
    }

    /// The call within which events are told now.
    pub(crate) fn parent(&self) -> Option<&str> {
        self.parents.last().map(String::as_str)
    }

    /// The id under which the call waits that started the agent at work.
    pub(crate) fn parent_call(&self) -> Option<String> {
        let parent = self.parent()?;
        let is_parent = |id: &&String| self.waiting(id).is_some_and(|call| call.id == parent);
        self.order.values().find(is_parent).cloned()
    }

    /// What comes next is made by the agent that the call `parent` started, or by the main one.
    pub(crate) fn within(&mut self, parent: Option<&str>) {
        self.parents.clear();
        if let Some(parent) = parent {
            self.parents.push(
                self.calls
                    .get(parent)
                    .map_or(parent, |call| &call.id)
                    .to_owned(),
            );
        }
    }

    /// What comes next is made by an agent that the call waiting under `id` started.
    pub(crate) fn enter(&mut self, id: &str) {
        if let Some(call) = self.calls.get(id) {
            self.parents.push(call.id.clone());
        }
    }

    /// The agent that the call waiting under `id` started is done, and so are those it started.
    pub(crate) fn leave(&mut self, id: &str) {
        if let Some(call) = self.calls.get(id)
            && let Some(at) = self.parents.iter().rposition(|parent| *parent == call.id)
        {
            self.parents.truncate(at);
        }
    }

    /// All agents that calls started are done.
    pub(crate) fn leave_all(&mut self) {
        self.parents.clear();
    }

    /// Begins a turn; one that is open must have been closed before.
    pub(crate) fn open_turn(&mut self, emitter: &mut Emitter, id: &str, trigger: &str) {
        let id = self.numbered(id);
        self.turn = Some(id.clone());
        if self.agent.is_some() {
            return;
        }
        let start = TurnStart {
            trigger: trigger.to_owned(),
            ..TurnStart::default()
        };
        emitter.add_as(&format!("{id}:start"), &self.turn_place(), start);
    }

    /// Begins a turn where none is open: work came without a prompt.
    pub(crate) fn need_turn(&mut self, emitter: &mut Emitter, id: &str) {
        if self.turn.is_none() {
            self.open_turn(emitter, id, "system");
        }
    }

    /// Ends the turn, where one is open, and what waits in it.
    pub(crate) fn close_turn(&mut self, emitter: &mut Emitter, end: TurnEnd) {
        self.close_calls(emitter);
        let place = self.turn_place();
        if let Some(id) = self.turn.take()
            && self.agent.is_none()
        {
            emitter.add_as(&format!("{id}:end"), &place, end);
        }
    }

    /// A person wrote.
    pub(crate) fn user(&mut self, emitter: &mut Emitter, id: &str, said: Said) {
        let message = UserMessage {
            text: said.text.into(),
            attachments: (!said.attachments.is_empty())
                .then(|| Json::from(Value::from(said.attachments))),
            extra: Extra::default(),
        };
        emitter.add_as(id, &self.place(), message);
    }

    /// A person wrote while the agent was at work, which reads it next: the turn goes on.
    pub(crate) fn steer(&mut self, emitter: &mut Emitter, id: &str, said: Said) {
        self.user(emitter, id, said);
        if let Some(event) = emitter.out.last_mut()
            && let Payload::UserMessage(message) = &mut event.payload
        {
            let steering = Json::from(Value::Bool(true));
            message.extra.insert("steering", steering);
        }
    }

    /// The id that a call has in the session: agents may call theirs alike.
    fn own_id(&self, id: &str) -> String {
        let id = if id.is_empty() { "unnamed" } else { id };
        match &self.agent {
            Some(agent) => clean_id(&format!("{}.{id}", short_hash(&agent.agent_id))),
            None => clean_id(id),
        }
    }

    /// The id, with a number where it was used before.
    pub(crate) fn numbered(&mut self, id: &str) -> String {
        let id = self.own_id(id);
        let n = self.used.entry(hash(id.as_bytes())).or_insert(0);
        *n += 1;
        if *n == 1 { id } else { format!("{id}~{n}") }
    }
}

/// What a person wrote.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(crate) text: String,
    /// `[{name?, mediaType, data | ref}]`.
    pub(crate) attachments: Vec<Value>,
}
