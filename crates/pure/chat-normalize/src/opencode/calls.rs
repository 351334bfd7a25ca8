//! Tool calls: a part that goes from pending over running to completed or error.
//!
//! A call is written when its arguments are whole. What a command prints comes as the whole output so far; only what is
//! new is written. A part that changes after its end changes nothing: the first end counts. What a call gave is for
//! `results`.

mod results;

use chat_event::payload::{ToolCall, ToolInputChunk, ToolOutputChunk};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::parts::SaidPart;
use super::session::Session;
use super::tools;
use crate::emit::{Emitter, Place};
use crate::tool;
use crate::value::{str_of, text_of};

/// The tool by which the agent asks the person.
const QUESTION_TOOL: &str = "question";

/// What stands in place of the result of a call that was stopped.
pub(super) const ABORTED: &str = "Tool execution aborted";

/// A tool call.
#[derive(Debug, Default)]
pub(crate) struct Call {
    pub(super) order: u64,
    /// The id its events bear.
    pub(crate) id: String,
    pub(crate) session: String,
    pub(crate) name: String,
    pub(crate) place: Place,
    announced: bool,
    over: bool,
    /// Its result told files that it changed.
    edited: bool,
    /// Arguments as they were written by the model, so far.
    raw: String,
    raw_chars: u64,
    printed: String,
}

impl Call {
    /// Whether the tool starts a session.
    pub(crate) fn starts_agent(&self) -> bool {
        tools::kind(&self.name) == "agent"
    }
}

impl Session {
    /// A part of a call, as it is now.
    pub(super) fn tool(&mut self, emitter: &mut Emitter, said: &SaidPart<'_>, place: &Place) {
        let (id, part, whole) = (said.id, said.value, said.whole);
        let state = part.get("state").unwrap_or(&Value::Null);
        let input = state.get("input").unwrap_or(&Value::Null);
        let status = str_of(state, "status").unwrap_or("");
        if !self.calls.contains_key(id) {
            self.new_call(said, place);
        }
        if let Some(child) = state
            .get("metadata")
            .and_then(|metadata| text_of(metadata, "sessionId"))
            && (str_of(part, "tool") == Some("task") || self.knows(child))
        {
            self.link(child, id, said.native_id);
        }
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        if call.over {
            return self.after_end(emitter, said.message_id, id, state);
        }
        // A tool that is not there is answered for by one named `invalid`.
        let unknown = (str_of(part, "tool") == Some("invalid"))
            .then(|| text_of(input, "tool"))
            .flatten();
        if let Some(name) = unknown.or_else(|| text_of(part, "tool")) {
            name.clone_into(&mut call.name);
        }
        let time = state.get("time").unwrap_or(&Value::Null);
        match status {
            "pending" => match str_of(state, "delta") {
                Some(more) => self.more_arguments(emitter, id, more),
                None => self.arguments(emitter, id, str_of(state, "raw").unwrap_or("")),
            },
            "running" => {
                self.announce(emitter, id, input);
                let printed = state
                    .get("metadata")
                    .and_then(|metadata| str_of(metadata, "output"));
                if let Some(printed) = printed.filter(|_| !whole) {
                    self.prints(emitter, id, printed);
                }
            }
            "completed" | "error" => {
                if whole {
                    Session::at(emitter, time, "start");
                }
                self.announce(emitter, id, input);
                if whole {
                    Session::at(emitter, time, "end");
                }
                self.result(emitter, said, state);
            }
            _ => {
                let kind = format!("tool state {status}");
                emitter.raw(place, self.format, &kind, part);
            }
        }
    }

    fn new_call(&mut self, said: &SaidPart<'_>, place: &Place) {
        let (message_id, id) = (said.message_id, said.id);
        let given = text_of(said.value, "callID").unwrap_or(id);
        let n = self.call_uses.entry(given);
        *n += 1;
        // Models use an id again in another step.
        let call_id = if *n == 1 {
            given.to_owned()
        } else {
            format!("{given}~{n}")
        };
        self.n_parts += 1;
        let call = Call {
            order: self.n_parts,
            id: call_id,
            session: said.native_id.to_owned(),
            place: place.clone(),
            ..Call::default()
        };
        self.open_calls.insert(call.order, id.to_owned());
        self.calls.insert(id.to_owned(), call);
        let message = self.messages.entry(message_id.to_owned()).or_default();
        message.parts.push(id.to_owned());
        self.call_parts
            .insert((message_id.to_owned(), given.to_owned()), id.to_owned());
    }

    fn announce(&mut self, emitter: &mut Emitter, id: &str, input: &Value) {
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        if std::mem::replace(&mut call.announced, true) {
            return;
        }
        let place = call.place.clone();
        let payload = ToolCall {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            args: Json::from(input),
            title: tools::title(&call.name, input),
            kind: Some(tools::kind(&call.name).to_owned()),
            extra: Extra::default(),
        };
        let (call_id, name) = (call.id.clone(), call.name.clone());
        self.tell_ran(emitter, &place, input);
        self.add(emitter, id, "call", &place, payload);
        if name == QUESTION_TOOL && !self.has_requests {
            self.asked_by_call(emitter, &call_id, &place, input);
        }
    }

    /// The arguments as the model writes them.
    fn arguments(&mut self, emitter: &mut Emitter, id: &str, raw: &str) {
        let Some(call) = self.calls.get(id) else {
            return;
        };
        if let Some(more) = raw.strip_prefix(call.raw.as_str()) {
            self.more_arguments(emitter, id, more);
        }
    }

    fn more_arguments(&mut self, emitter: &mut Emitter, id: &str, more: &str) {
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        if more.is_empty() || call.announced || !self.live {
            return;
        }
        let offset = Some(call.raw_chars);
        call.raw_chars += more.chars().count() as u64;
        call.raw.push_str(more);
        let payload = ToolInputChunk {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            chunk: more.to_owned(),
            offset,
            extra: Extra::default(),
        };
        let event_id = emitter.add("input", &call.place, payload).id.clone();
        self.note(id, event_id);
    }

    fn prints(&mut self, emitter: &mut Emitter, id: &str, printed: &str) {
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        // Where the beginning was dropped, the result has what counts.
        let Some(more) = printed.strip_prefix(call.printed.as_str()) else {
            return;
        };
        if more.is_empty() {
            return;
        }
        call.printed.push_str(more);
        let payload = ToolOutputChunk {
            tool_call_id: call.id.clone(),
            chunk: more.to_owned(),
            ..ToolOutputChunk::default()
        };
        let event_id = emitter.add("output", &call.place, payload).id.clone();
        self.note(id, event_id);
    }

    /// A call whose part was taken back gets no result, and what was asked about it no answer.
    pub(super) fn drop_call(&mut self, emitter: &mut Emitter, id: &str) {
        if let Some(call) = self.calls.get_mut(id) {
            call.over = true;
            let order = call.order;
            self.open_calls.remove(&order);
            emitter.open_calls.forget(&call.id);
            self.asks.expire(emitter, &call.id);
        }
    }

    /// Gives a result to those of the open calls that will not get one.
    pub(crate) fn close_calls(&mut self, emitter: &mut Emitter, wanted: &dyn Fn(&Call) -> bool) {
        let open: Vec<String> = self.open_calls.values().cloned().collect();
        for id in open {
            if !self.calls.get(&id).is_some_and(wanted) {
                continue;
            }
            self.announce(emitter, &id, &Value::Object(serde_json::Map::new()));
            let Some(call) = self.calls.get_mut(&id) else {
                continue;
            };
            call.over = true;
            let (call_id, order, place) = (call.id.clone(), call.order, call.place.clone());
            self.open_calls.remove(&order);
            self.asks.expire(emitter, &call_id);
            let result = tool::unanswered(&call_id, false);
            self.add(emitter, &id, "closed", &place, result);
        }
    }
}
