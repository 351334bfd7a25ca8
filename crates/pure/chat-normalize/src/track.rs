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

use std::collections::{BTreeMap, HashMap};

use chat_event::payload::{
    AssistantDone, FileEdit, ThinkingDone, ToolCall, ToolError, ToolResult, TurnEnd, TurnStart,
    UserMessage,
};
use chat_event::{Extra, Json, Payload};
use serde_json::Value;

use crate::edit::changed_words;
use crate::emit::{Emitter, Place, clean_id, hash};
use crate::facts::Facts;
use crate::tool;

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
    /// The call that changed files last: how many, and lines added and removed.
    changed: Option<(String, usize, u32, u32)>,
    /// How often an id was used for a turn or a call, by the id's hash.
    used: HashMap<u64, u32>,
}

/// A call that has no result.
#[derive(Debug)]
pub(crate) struct Call {
    /// Its id in the events.
    pub(crate) id: String,
    /// The tool.
    pub(crate) name: String,
    /// The arguments, for what the result does not say.
    pub(crate) args: Value,
    pub(crate) place: Place,
    order: u64,
}

/// A call, as a dialect tells it.
#[derive(Debug)]
pub(crate) struct NewCall<'a> {
    pub(crate) id: &'a str,
    pub(crate) response_id: &'a str,
    pub(crate) name: &'a str,
    pub(crate) args: &'a Value,
    pub(crate) title: Option<String>,
    pub(crate) kind: &'static str,
}

/// How a turn ended, with nothing else known.
pub(crate) fn ended(outcome: &str) -> TurnEnd {
    TurnEnd {
        outcome: Some(outcome.to_owned()),
        ..TurnEnd::default()
    }
}

/// A tool's failure.
pub(crate) fn tool_error(code: &str, message: &str) -> ToolError {
    ToolError {
        code: Some(code.to_owned()),
        message: message.to_owned(),
        extra: Extra::default(),
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
        }
    }

    /// The turn that is open.
    pub(crate) fn turn_id(&self) -> Option<&str> {
        self.turn.as_deref()
    }

    /// Where the next events stand.
    pub(crate) fn place(&self) -> Place {
        Place {
            turn_id: self.turn.clone(),
            // Outside of a turn no call runs: one that is named there never came, and would never end.
            parent_tool_call_id: self.turn.as_ref().and(self.parents.last()).cloned(),
            ..Place::default()
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
        if let Some(id) = self.turn.take() {
            emitter.add_as(&format!("{id}:end"), &place, end);
        }
    }

    /// Gives every call that waits its result: none was recorded.
    pub(crate) fn close_calls(&mut self, emitter: &mut Emitter) {
        for id in std::mem::take(&mut self.order).into_values() {
            let Some(call) = self.calls.remove(&id) else {
                continue;
            };
            let result = tool::unanswered(&call.id, false);
            emitter.add_as(&format!("{}:closed", call.id), &call.place, result);
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

    /// A whole text of the assistant; an empty one says nothing.
    pub(crate) fn text(&mut self, emitter: &mut Emitter, response_id: &str, part: u32, text: &str) {
        if !text.is_empty() {
            let place = self.place().in_response(response_id);
            text_in(emitter, &place, part, text);
        }
    }

    /// A whole thought of the assistant; an empty one says nothing, unless it was withheld.
    pub(crate) fn thought(
        &mut self,
        emitter: &mut Emitter,
        response_id: &str,
        part: u32,
        text: &str,
        redacted: bool,
    ) {
        if !text.is_empty() || redacted {
            let place = self.place().in_response(response_id);
            thought_in(emitter, &place, part, text, redacted);
        }
    }

    /// A tool is called; the call's id in the events. A call that waits already is not said again.
    pub(crate) fn call(&mut self, emitter: &mut Emitter, new: NewCall<'_>) -> String {
        if let Some(call) = self.calls.get(new.id) {
            emitter.report.repeated += 1;
            return call.id.clone();
        }
        let id = self.numbered(new.id);
        let place = self.place().in_response(new.response_id);
        let payload = ToolCall {
            tool_call_id: id.clone(),
            tool_name: new.name.to_owned(),
            args: Json::from(new.args),
            title: new.title,
            kind: Some(new.kind.to_owned()),
            extra: Extra::default(),
        };
        emitter.add_as(&format!("{id}:call"), &place, payload);
        let call = Call {
            id: id.clone(),
            name: new.name.to_owned(),
            args: new.args.clone(),
            place,
            order: self.n_calls,
        };
        self.order.insert(self.n_calls, new.id.to_owned());
        self.n_calls += 1;
        self.calls.insert(new.id.to_owned(), call);
        id
    }

    /// The call that waits under `id` has its result; `None` where none waits.
    pub(crate) fn result(
        &mut self,
        emitter: &mut Emitter,
        id: &str,
        result: ToolResult,
    ) -> Option<Call> {
        let call = self.calls.remove(id)?;
        self.order.remove(&call.order);
        let result = ToolResult {
            tool_call_id: call.id.clone(),
            ..result
        };
        emitter.add_as(&format!("{}:result", call.id), &call.place, result);
        Some(call)
    }

    /// A call changed a file: its result, which was just said, says how many lines.
    pub(crate) fn edit(&mut self, emitter: &mut Emitter, call: &Call, edit: FileEdit) {
        let mut said = emitter.out.iter_mut().rev();
        let result = said.find_map(|event| match &mut event.payload {
            Payload::ToolResult(result) => Some(result),
            _ => None,
        });
        if let Some(result) = result.filter(|result| result.tool_call_id == call.id) {
            let (n_files, added, removed) = match &self.changed {
                Some((id, n, added, removed)) if *id == call.id => (*n, *added, *removed),
                Some(_) | None => (0, 0, 0),
            };
            let n_files = n_files + 1;
            let added = added.saturating_add(edit.lines_added);
            let removed = removed.saturating_add(edit.lines_removed);
            if added > 0 || removed > 0 {
                result.summary = Some(changed_words(n_files, added, removed));
            }
            self.changed = Some((call.id.clone(), n_files, added, removed));
        }
        emitter.add_as(&format!("{}:edit", call.id), &call.place, edit);
    }

    /// The id that a call of `id` would have in the events, if it came now.
    pub(crate) fn id_of_next(&self, id: &str) -> String {
        if let Some(call) = self.calls.get(id) {
            return call.id.clone();
        }
        let id = clean_id(if id.is_empty() { "unnamed" } else { id });
        match self.used.get(&hash(id.as_bytes())) {
            Some(n) => format!("{id}~{}", n.saturating_add(1)),
            None => id,
        }
    }

    /// The id, with a number where it was used before.
    pub(crate) fn numbered(&mut self, id: &str) -> String {
        let id = clean_id(if id.is_empty() { "unnamed" } else { id });
        let n = self.used.entry(hash(id.as_bytes())).or_insert(0);
        *n += 1;
        if *n == 1 { id } else { format!("{id}~{n}") }
    }
}

/// A whole text of the response that `place` names, which may be of any turn; the id of its event.
pub(crate) fn text_in(emitter: &mut Emitter, place: &Place, part: u32, text: &str) -> String {
    let done = AssistantDone {
        text: text.to_owned(),
        part: Some(part),
        ..AssistantDone::default()
    };
    let response_id = place.response_id.as_deref().unwrap_or("");
    let id = format!("{response_id}:text{part}");
    emitter.add_as(&id, place, done).id.clone()
}

/// As [`text_in`], of a thought.
pub(crate) fn thought_in(
    emitter: &mut Emitter,
    place: &Place,
    part: u32,
    text: &str,
    redacted: bool,
) -> String {
    let done = ThinkingDone {
        text: text.to_owned(),
        part: Some(part),
        redacted: redacted.then_some(true),
        ..ThinkingDone::default()
    };
    let response_id = place.response_id.as_deref().unwrap_or("");
    let id = format!("{response_id}:thinking{part}");
    emitter.add_as(&id, place, done).id.clone()
}

/// What a person wrote.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(crate) text: String,
    /// `[{name?, mediaType, data | ref}]`.
    pub(crate) attachments: Vec<Value>,
}
