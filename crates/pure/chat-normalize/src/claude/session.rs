//! What both dialects of Claude Code keep while they are read: open turns, open tool calls, open messages.
//!
//! | state | what happens | next |
//! |---|---|---|
//! | no turn | `open_turn` | turn open |
//! | turn open | `open_turn` | two turns open; new events go to the newest |
//! | turn open | `close_turn` | its open parts and calls are closed, then it is |
//! | any | `close_all` (the source ended) | every open turn is closed as interrupted |

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chat_event::payload::{
    AssistantDone, Interrupt, Retract, ThinkingDone, ToolCall, ToolError, ToolResult, TurnEnd,
    TurnStart,
};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::permissions::Asks;
use super::plan::Tasks;
use super::seen::Seen;
use super::tools;
use super::usage::Spent;
use crate::emit::{Emitter, Place, hash};
use crate::facts::Facts;
use crate::recent::{LATE_LARGE, Recent};

/// A turn that is open.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    pub(crate) id: String,
    pub(crate) interrupted: bool,
    pub(crate) failed: bool,
    /// The agent did something in it.
    pub(crate) answered: bool,
}

/// A tool call without its result.
#[derive(Debug)]
pub(crate) struct Call {
    /// The call's number in the session; closing goes by it.
    pub(crate) order: u64,
    /// The id its events bear.
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) args: Value,
    pub(crate) place: Place,
    pub(crate) called_ms: i64,
    /// `tool_call` was made; before that, `input` grows.
    pub(crate) announced: bool,
    pub(crate) input: String,
    pub(crate) input_chars: u64,
}

/// What is known of a message while its lines come.
#[derive(Debug, Default)]
pub(crate) struct Message {
    /// The message's number in the session.
    order: u64,
    /// The id its events bear: the provider's, made different where it was used in another turn.
    pub(crate) response_id: String,
    pub(crate) turn_id: Option<String>,
    pub(crate) text: Parts,
    pub(crate) thinking: Parts,
}

/// The text blocks, or the thinking blocks, of one message.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) started: u32,
    pub(crate) done: u32,
    /// What the chunks of open parts built, by part, with the place of their events.
    pub(crate) open: BTreeMap<u32, (String, Place)>,
}

/// The state of one session. Of what is over, that is kept which a late line may name: of the last 28,672 calls and
/// responses at least, and of the last 7,168 messages.
#[derive(Debug, Default)]
pub(crate) struct Session {
    pub(crate) format: &'static str,
    pub(crate) facts: Facts,
    pub(crate) seen: Seen,
    pub(crate) turns: Vec<Turn>,
    pub(crate) calls: BTreeMap<String, Call>,
    pub(crate) messages: HashMap<String, Message>,
    n_messages: u64,
    /// With so many messages those that are whole and far back are forgotten; 0 at the beginning.
    forget_at: usize,
    /// Those of which chunks came whose whole text did not, by the call they stand in and the provider's id.
    pub(crate) open_messages: BTreeSet<(Option<String>, String)>,
    pub(crate) asks: Asks,
    pub(crate) tasks: Tasks,
    pub(crate) spent: Spent,
    /// Open calls that started agents, by their order, and their orders by the hash of their prompt.
    agents: BTreeMap<u64, String>,
    agents_by_prompt: HashMap<u64, BTreeSet<u64>>,
    n_turns: u64,
    n_calls: u64,
    /// Provider ids of calls that are over, and the number of calls each stood for.
    uses: Recent<u32>,
    /// Provider id → the id its events bear, where that differs.
    renamed: Recent<String>,
    /// Calls whose result came: a second result of theirs is shown, not paired.
    finished: Recent<()>,
    response_ids: Recent<u32>,
    /// Call id → the turn it was made in; sub-agents' events go there.
    call_turns: Recent<String>,
    /// Paths that were read and held nothing: a file "created" there was there before.
    pub(crate) empty_files: Recent<()>,
    /// Times are the source's, so that differences mean something.
    pub(crate) has_times: bool,
    /// Requests have lines of their own: a call asks nobody by itself.
    pub(crate) has_requests: bool,
}

impl Session {
    /// `has_times` for a source whose lines bear times.
    pub(crate) fn new(format: &'static str, has_times: bool) -> Self {
        Session {
            format,
            has_times,
            ..Session::default()
        }
    }

    /// The place of what the main agent does now, or of what the sub-agent does that `parent` started.
    pub(crate) fn place(&self, parent: Option<&str>, agent_id: Option<&str>) -> Place {
        let newest = self.turns.last().map(|turn| turn.id.clone());
        let parent = parent.map(|id| self.call_id(id));
        let of_parent = parent
            .as_ref()
            .and_then(|id| self.call_turns.get(id))
            .cloned();
        let turn_id = match of_parent {
            Some(id) if newest.is_none() || self.turns.iter().any(|turn| turn.id == id) => Some(id),
            _ => newest,
        };
        Place {
            turn_id,
            response_id: None,
            agent_id: agent_id.map(str::to_owned),
            parent_tool_call_id: parent,
        }
    }

    /// Whether a turn is open.
    pub(crate) fn in_turn(&self) -> bool {
        !self.turns.is_empty()
    }

    /// Opens a turn.
    pub(crate) fn open_turn(&mut self, emitter: &mut Emitter, id: &str, trigger: &str) {
        self.n_turns += 1;
        let id = if id.is_empty() {
            format!("turn-{}", self.n_turns)
        } else {
            id.to_owned()
        };
        self.turns.push(Turn {
            id: id.clone(),
            ..Turn::default()
        });
        let place = self.place(None, None);
        emitter.add(
            "turn",
            &place,
            TurnStart {
                trigger: trigger.to_owned(),
                ..TurnStart::default()
            },
        );
    }

    /// Opens a turn where the source shows work without having said that a turn began.
    pub(crate) fn need_turn(&mut self, emitter: &mut Emitter) {
        if self.turns.is_empty() {
            let id = format!("t-{}", emitter.line_id());
            let trigger = if self.n_turns == 0 { "user" } else { "system" };
            self.open_turn(emitter, &id, trigger);
        }
    }

    /// Marks the newest turn as stopped by the user.
    pub(crate) fn interrupt(&mut self, emitter: &mut Emitter, place: &Place, reason: &str) {
        if place.parent_tool_call_id.is_none()
            && let Some(turn) = self.turns.last_mut()
        {
            if turn.interrupted {
                return;
            }
            turn.interrupted = true;
        }
        emitter.add(
            "interrupt",
            place,
            Interrupt {
                reason: reason.to_owned(),
                extra: Extra::default(),
            },
        );
    }

    /// Closes the oldest open turn with what the source says of it.
    pub(crate) fn close_turn(&mut self, emitter: &mut Emitter, end: TurnEnd) {
        if self.turns.is_empty() {
            return;
        }
        let id = self.turns[0].id.clone();
        self.close_calls(emitter, &|call| {
            // A sub-agent in the background outlives the turn that started it.
            call.place.turn_id.as_ref() != Some(&id) || call.place.parent_tool_call_id.is_some()
        });
        self.close_turn_leaving_calls(emitter, end);
    }

    /// Closes the oldest open turn; its calls may still get their results.
    pub(crate) fn close_turn_leaving_calls(&mut self, emitter: &mut Emitter, end: TurnEnd) {
        if self.turns.is_empty() {
            return;
        }
        let turn = self.turns.remove(0);
        self.close_parts(emitter, &|place| place.turn_id.as_ref() != Some(&turn.id));
        let place = Place {
            turn_id: Some(turn.id.clone()),
            ..Place::default()
        };
        let guessed = end.extra.get("guessed").is_some();
        let tag = if guessed { "end.guess" } else { "end" };
        let id = format!("{}:{tag}", turn.id);
        emitter.add_as(&id, &place, end);
    }

    /// Closes everything: the source is at its end.
    pub(crate) fn close_all(
        &mut self,
        emitter: &mut Emitter,
        outcome: impl Fn(&Turn) -> &'static str,
    ) {
        self.close_parts(emitter, &|_| false);
        while let Some(turn) = self.turns.first() {
            let outcome = outcome(turn);
            let is_last = self.turns.len() == 1;
            if is_last {
                self.close_calls(emitter, &|_| false);
            }
            let mut end = TurnEnd {
                outcome: Some(outcome.to_owned()),
                ..TurnEnd::default()
            };
            // The source does not say so; one that knows, or the same one grown longer, may tell it otherwise.
            end.extra.insert("guessed", Json::from(Value::Bool(true)));
            self.close_turn(emitter, end);
        }
        self.close_calls(emitter, &|_| false);
        emitter.in_background(false);
    }

    /// Writes the `_done` of parts whose chunks came and whose whole text did not.
    pub(crate) fn close_parts(
        &mut self,
        emitter: &mut Emitter,
        stays_open: &dyn Fn(&Place) -> bool,
    ) {
        for (parent, id) in std::mem::take(&mut self.open_messages) {
            self.close_parts_of(emitter, parent, id, stays_open);
        }
    }

    /// As `close_parts`, for what stands in the call `parent`, or outside any call.
    pub(crate) fn close_parts_in(
        &mut self,
        emitter: &mut Emitter,
        parent: Option<&String>,
        stays_open: &dyn Fn(&Place) -> bool,
    ) {
        let first = (parent.cloned(), String::new());
        let open = self
            .open_messages
            .range(first..)
            .take_while(|(of, _)| of.as_ref() == parent);
        for (parent, id) in open.cloned().collect::<Vec<_>>() {
            self.open_messages.remove(&(parent.clone(), id.clone()));
            self.close_parts_of(emitter, parent, id, stays_open);
        }
    }

    fn close_parts_of(
        &mut self,
        emitter: &mut Emitter,
        parent: Option<String>,
        id: String,
        stays_open: &dyn Fn(&Place) -> bool,
    ) {
        let Some(message) = self.messages.get_mut(&id) else {
            return;
        };
        let response_id = message.response_id.clone();
        for (part, text, place) in message.text.take_open(stays_open) {
            let done = AssistantDone {
                text,
                part: Some(part),
                ..AssistantDone::default()
            };
            emitter.add_as(&format!("{response_id}:text{part}:cut"), &place, done);
        }
        for (part, text, place) in message.thinking.take_open(stays_open) {
            let done = ThinkingDone {
                text,
                part: Some(part),
                ..ThinkingDone::default()
            };
            emitter.add_as(&format!("{response_id}:thinking{part}:cut"), &place, done);
        }
        if !message.text.open.is_empty() || !message.thinking.open.is_empty() {
            self.open_messages.insert((parent, id));
        }
    }

    /// Gives a result to calls that will not get one, but for those that `stays_open`.
    fn close_calls(&mut self, emitter: &mut Emitter, stays_open: &dyn Fn(&Call) -> bool) {
        let mut open: Vec<(u64, String)> = self
            .calls
            .iter()
            .filter(|(_, call)| !stays_open(call))
            .map(|(key, call)| (call.order, key.clone()))
            .collect();
        open.sort();
        for (_, key) in open {
            self.close_call(emitter, &key);
        }
    }

    /// Closes the calls of the oldest open turn that were asked about and got no answer.
    pub(crate) fn close_asked(&mut self, emitter: &mut Emitter) {
        let turn_id = self.turns.first().map(|turn| turn.id.clone());
        let asked: BTreeSet<u64> = self
            .calls
            .values()
            .filter(|call| call.place.turn_id == turn_id && self.asks.is_asked(&call.id))
            .map(|call| call.order)
            .collect();
        if !asked.is_empty() {
            self.close_calls(emitter, &|call| !asked.contains(&call.order));
        }
    }

    /// Gives a result to a call that will not get one.
    pub(crate) fn close_call(&mut self, emitter: &mut Emitter, native_id: &str) {
        let Some(call) = self.calls.remove(native_id) else {
            return;
        };
        self.forget_agent(&call);
        let message = if call.announced {
            "no result recorded"
        } else {
            "the call was cut off before its input was whole"
        };
        if !call.announced {
            let args: Value = serde_json::from_str(&call.input)
                .unwrap_or_else(|_| Value::String(call.input.clone()));
            self.write_call(emitter, &call, &args, "cut");
        }
        self.asks.expire(emitter, &call);
        let result = ToolResult {
            tool_call_id: call.id.clone(),
            result: Json::string(""),
            error: Some(ToolError {
                code: Some("no_result".to_owned()),
                message: message.to_owned(),
                extra: Extra::default(),
            }),
            ..ToolResult::default()
        };
        emitter.add_as(&format!("{}:closed", call.id), &call.place, result);
    }

    /// Takes back what the lines with these ids said.
    pub(crate) fn retract(&mut self, emitter: &mut Emitter, place: &Place, uuids: &[Value]) {
        let event_ids: Vec<String> = uuids
            .iter()
            .filter_map(Value::as_str)
            .flat_map(|uuid| emitter.ids_of(uuid))
            .collect();
        if !event_ids.is_empty() {
            emitter.add(
                "retract",
                place,
                Retract {
                    event_ids,
                    extra: Extra::default(),
                },
            );
        }
    }

    /// The message with the provider's id `id`, as it stands in the turn of `place`.
    pub(crate) fn message(&mut self, id: &str, place: &Place) -> &mut Message {
        self.forget_messages();
        let uses = &mut self.response_ids;
        let order = &mut self.n_messages;
        let mut fresh = |uses: &mut Recent<u32>| {
            *order += 1;
            let n = uses.entry(id);
            *n += 1;
            let response_id = if *n == 1 {
                id.to_owned()
            } else {
                format!("{id}~{n}")
            };
            Message {
                order: *order,
                response_id,
                turn_id: place.turn_id.clone(),
                ..Message::default()
            }
        };
        let message = self
            .messages
            .entry(id.to_owned())
            .or_insert_with(|| fresh(uses));
        if message.turn_id != place.turn_id
            && message.text.open.is_empty()
            && message.thinking.open.is_empty()
        {
            *message = fresh(uses);
        }
        message
    }

    /// Forgets messages that are far back, but for those that have something open. Seldom, so that it costs little.
    fn forget_messages(&mut self) {
        if self.messages.len() < self.forget_at.max(2 * LATE_LARGE) {
            return;
        }
        let last = self.n_messages;
        self.messages.retain(|_, message| {
            let is_late = last - message.order > LATE_LARGE as u64;
            !is_late || !message.text.open.is_empty() || !message.thinking.open.is_empty()
        });
        self.forget_at = 2 * self.messages.len();
    }

    /// The id that events of the provider's call `id` bear.
    pub(crate) fn call_id(&self, id: &str) -> String {
        self.renamed
            .get(id)
            .cloned()
            .unwrap_or_else(|| id.to_owned())
    }

    /// Opens a call; an id that was used before gets a number, so that two calls never share their events.
    pub(crate) fn open_call(
        &mut self,
        emitter: &mut Emitter,
        native_id: &str,
        name: &str,
        place: &Place,
    ) -> &mut Call {
        if !self.calls.contains_key(native_id) {
            let n = self.uses.entry(native_id);
            *n += 1;
            let id = if *n == 1 {
                native_id.to_owned()
            } else {
                format!("{native_id}~{n}")
            };
            if *n > 1 {
                self.renamed.insert(native_id, id.clone());
            }
            if let Some(turn_id) = &place.turn_id {
                self.call_turns.insert(&id, turn_id.clone());
            }
            self.n_calls += 1;
            let call = Call {
                order: self.n_calls,
                id,
                name: name.to_owned(),
                args: Value::Null,
                place: place.clone(),
                called_ms: emitter.time_ms,
                announced: false,
                input: String::new(),
                input_chars: 0,
            };
            self.calls.insert(native_id.to_owned(), call);
        }
        // The entry stands, for it was put there above.
        self.calls
            .entry(native_id.to_owned())
            .or_insert_with(|| Call::unknown(String::new(), Place::default(), 0))
    }

    /// Whether the result of the call came.
    pub(crate) fn is_finished(&self, native_id: &str) -> bool {
        self.finished.contains(&self.call_id(native_id))
    }

    /// Writes the `tool_call` of `call`.
    pub(crate) fn write_call(
        &mut self,
        emitter: &mut Emitter,
        call: &Call,
        args: &Value,
        tag: &str,
    ) {
        let payload = ToolCall {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            args: Json::from(args),
            title: tools::title(&call.name, args),
            kind: Some(tools::kind(&call.name).to_owned()),
            extra: Extra::default(),
        };
        emitter.add_as(&format!("{}:{tag}", call.id), &call.place, payload);
    }

    /// Takes the call that `native_id`'s result ends, where it is open.
    pub(crate) fn take_call(&mut self, native_id: &str) -> Option<Call> {
        let call = self.calls.remove(native_id);
        let id = call
            .as_ref()
            .map_or_else(|| self.call_id(native_id), |call| call.id.clone());
        if let Some(call) = &call {
            self.finished.insert(&id, ());
            self.forget_agent(call);
        }
        call
    }

    /// The newest open call that started an agent with this prompt; without one, the newest open agent call.
    pub(crate) fn agent_call(&self, prompt: &str) -> Option<String> {
        let with_prompt = self.agents_by_prompt.get(&hash(prompt.as_bytes()));
        let with_prompt = with_prompt
            .and_then(|orders| orders.iter().rev().find_map(|order| self.agents.get(order)));
        with_prompt
            .or_else(|| self.agents.values().next_back())
            .cloned()
    }

    /// Remembers an open call that started an agent.
    pub(crate) fn note_agent(&mut self, native_id: &str) {
        let Some(call) = self.calls.get(native_id) else {
            return;
        };
        if tools::kind(&call.name) == "agent" {
            let prompt = call
                .args
                .get("prompt")
                .and_then(Value::as_str)
                .unwrap_or("");
            self.agents_by_prompt
                .entry(hash(prompt.as_bytes()))
                .or_default()
                .insert(call.order);
            self.agents.insert(call.order, native_id.to_owned());
        }
    }

    /// Forgets it.
    fn forget_agent(&mut self, call: &Call) {
        if self.agents.remove(&call.order).is_some() {
            let prompt = call
                .args
                .get("prompt")
                .and_then(Value::as_str)
                .unwrap_or("");
            let prompt = hash(prompt.as_bytes());
            if let Some(orders) = self.agents_by_prompt.get_mut(&prompt) {
                orders.remove(&call.order);
                if orders.is_empty() {
                    self.agents_by_prompt.remove(&prompt);
                }
            }
        }
    }
}

impl Parts {
    fn take_open(&mut self, stays_open: &dyn Fn(&Place) -> bool) -> Vec<(u32, String, Place)> {
        let parts: Vec<u32> = self
            .open
            .iter()
            .filter(|(_, (_, place))| !stays_open(place))
            .map(|(part, _)| *part)
            .collect();
        let mut taken = Vec::new();
        for part in parts {
            if let Some((text, place)) = self.open.remove(&part) {
                self.done = self.done.max(part + 1);
                taken.push((part, text, place));
            }
        }
        taken
    }
}

impl Call {
    /// A call that was not seen, for a result that names it.
    pub(crate) fn unknown(id: String, place: Place, called_ms: i64) -> Self {
        Call {
            order: 0,
            id,
            name: String::new(),
            args: Value::Null,
            place,
            called_ms,
            announced: true,
            input: String::new(),
            input_chars: 0,
        }
    }
}
