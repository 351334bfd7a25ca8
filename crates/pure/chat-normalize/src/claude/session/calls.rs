//! The tool calls of a session: opened, written, and closed where no result comes.

use std::collections::BTreeMap;

use chat_event::payload::ToolCall;
use chat_event::{Extra, Json};
use serde_json::Value;

use super::{Session, Turn};
use crate::claude::tools;
use crate::emit::{Emitter, Place};
use crate::tool;

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

impl Session {
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
            self.open_calls.note(native_id, &call);
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
            self.forget_call(call);
        }
        call
    }

    /// Whether the main agent waits for a call of the turn.
    pub(crate) fn waits_in(&self, turn: Option<&Turn>) -> bool {
        turn.is_some_and(|turn| self.waited_for.contains_key(&turn.id))
    }

    /// Takes note of a call that was made.
    pub(crate) fn note_call(&mut self, native_id: &str, call: Call) {
        if let Some(turn_id) = turn_of_main(&call) {
            *self.waited_for.entry(turn_id.to_owned()).or_default() += 1;
        }
        self.agents.note(native_id, &call);
        self.open_calls.note(native_id, &call);
        self.calls.insert(native_id.to_owned(), call);
    }

    fn forget_call(&mut self, call: &Call) {
        self.agents.forget(call);
        self.open_calls.forget(call);
        if let Some(turn_id) = turn_of_main(call)
            && let Some(n) = self.waited_for.get_mut(turn_id)
        {
            *n -= 1;
            if *n == 0 {
                self.waited_for.remove(turn_id);
            }
        }
    }

    /// Gives a result to all calls, for they will not get one.
    pub(super) fn close_every_call(&mut self, emitter: &mut Emitter) {
        let calls = self.calls.iter();
        let mut open: Vec<(u64, String)> =
            calls.map(|(key, call)| (call.order, key.clone())).collect();
        open.sort();
        for (_, key) in open {
            self.close_call(emitter, &key);
        }
    }

    /// Closes the calls of the oldest open turn that were asked about and got no answer.
    pub(crate) fn close_asked(&mut self, emitter: &mut Emitter) {
        let turn_id = self.turns.first().map(|turn| turn.id.clone());
        let asked = self.asks.calls_asked();
        let asked = asked.filter_map(|id| {
            let native_id = self.open_calls.native_id(id)?;
            let call = self.calls.get(native_id)?;
            (call.place.turn_id == turn_id).then(|| (call.order, native_id.to_owned()))
        });
        let asked: BTreeMap<u64, String> = asked.collect();
        for native_id in asked.into_values() {
            self.close_call(emitter, &native_id);
        }
    }

    /// The call `id` was never made: it has no result, and nothing that was asked about it is open. Nothing goes on within
    /// it.
    pub(super) fn take_back_call(&mut self, emitter: &mut Emitter, id: &str) {
        self.forget_running(id);
        let native_id = self.open_calls.native_id(id).map(str::to_owned);
        if let Some(call) = native_id.and_then(|native_id| self.calls.remove(&native_id)) {
            let mut over = vec![call.id.clone()];
            while let Some(agent) = over.pop() {
                for within in self.open_calls.within(&agent) {
                    over.extend(self.calls.get(&within).map(|call| call.id.clone()));
                    self.close_call(emitter, &within);
                }
            }
            self.forget_call(&call);
            self.asks.expire(emitter, &call);
            emitter.open_calls.forget(id);
            self.taken_back.insert(id, ());
        }
    }

    /// Whether the call of a result was taken back.
    pub(crate) fn is_taken_back(&self, native_id: &str) -> bool {
        !self.calls.contains_key(native_id) && self.taken_back.contains(&self.call_id(native_id))
    }

    /// Gives a result to a call that will not get one.
    pub(crate) fn close_call(&mut self, emitter: &mut Emitter, native_id: &str) {
        let Some(call) = self.calls.remove(native_id) else {
            return;
        };
        self.forget_call(&call);
        if !call.announced {
            let args: Value = serde_json::from_str(&call.input)
                .unwrap_or_else(|_| Value::String(call.input.clone()));
            self.write_call(emitter, &call, &args, "cut");
        }
        self.asks.expire(emitter, &call);
        let result = match call.announced {
            true => tool::unanswered(&call.id, false),
            false => tool::cut_off(&call.id),
        };
        emitter.add_as(&format!("{}:closed", call.id), &call.place, result);
    }

    /// The newest open call that started an agent with this prompt; without one, the newest open agent call.
    pub(crate) fn agent_call(&self, prompt: &str) -> Option<String> {
        self.agents.with_prompt(prompt)
    }
}

/// The turn in which the main agent made the call.
fn turn_of_main(call: &Call) -> Option<&str> {
    let of_main = call.announced && call.place.parent_tool_call_id.is_none();
    call.place.turn_id.as_deref().filter(|_| of_main)
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
