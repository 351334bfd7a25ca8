//! Calls of tools: opened by their first piece, written when whole, ended by their result.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use chat_event::payload::{ToolCall, ToolError, ToolInputChunk, ToolOutputChunk, ToolResult};
use chat_event::{Extra, Json};
use serde_json::{Map, Value};

use super::tools;
use crate::codex::{Files, of_patch_text};
use crate::emit::{Emitter, Place, hash};
use crate::tool;
use crate::words::one_line;

/// A call without its result.
#[derive(Debug, Default)]
pub(super) struct Call {
    /// The id its events bear.
    pub(super) id: String,
    pub(super) name: String,
    /// The arguments, once they are whole.
    pub(super) args: Option<Value>,
    /// The source gave it no id.
    pub(super) made_up: bool,
    /// The service runs it itself.
    pub(super) hosted: bool,
    place: Place,
    /// What is said of it beside its arguments.
    beside: Extra,
    input: String,
    input_chars: u64,
    n_chunks: u64,
    n_outputs: u64,
    order: Order,
}

/// The number of the answer that made a call, and the call's own.
type Order = (u64, u64);

impl Call {
    /// The arguments, as a text where they are not whole.
    pub(super) fn args_so_far(&self) -> Cow<'_, Value> {
        match &self.args {
            Some(args) => Cow::Borrowed(args),
            None => Cow::Owned(Value::from(self.input.as_str())),
        }
    }
}

/// What a tool gave.
#[derive(Debug, Default)]
pub(super) struct Given {
    pub(super) result: Value,
    /// Why it failed, where it did.
    pub(super) error: Option<(Option<String>, String)>,
    pub(super) exit_code: Option<i64>,
    pub(super) summary: Option<String>,
}

impl Given {
    pub(super) fn of(result: Value) -> Self {
        Given {
            result,
            ..Given::default()
        }
    }
}

/// All calls of a session.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Those without a result, by the source's ids.
    open: BTreeMap<String, Call>,
    /// The same in the order they began.
    by_order: BTreeMap<Order, String>,
    /// How often an id was used, by its hash.
    uses: HashMap<u64, u32>,
    n_calls: u64,
    files: Files,
}

impl Calls {
    /// A call, which begins where none of this id is open.
    pub(super) fn open(&mut self, native_id: &str, name: &str, place: &Place) -> &mut Call {
        if !self.open.contains_key(native_id) {
            let n = self.uses.entry(hash(native_id.as_bytes())).or_default();
            *n += 1;
            let id = match *n {
                1 => native_id.to_owned(),
                n => format!("{native_id}~{n}"),
            };
            self.n_calls += 1;
            let call = Call {
                id,
                place: place.clone(),
                order: (self.answer_no(place), self.n_calls),
                ..Call::default()
            };
            self.by_order.insert(call.order, native_id.to_owned());
            self.open.insert(native_id.to_owned(), call);
        }
        let call = self.open.entry(native_id.to_owned()).or_default();
        if call.name.is_empty() {
            name.clone_into(&mut call.name);
        }
        call
    }

    /// The open call with this id.
    pub(super) fn get(&self, native_id: &str) -> Option<&Call> {
        self.open.get(native_id)
    }

    /// Whether no call waits for its result.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// The number of the answer at `place`: that of the newest open call, where it is of the same.
    fn answer_no(&self, place: &Place) -> u64 {
        let Some((&(newest, _), native_id)) = self.by_order.last_key_value() else {
            return 0;
        };
        let call = self.get(native_id);
        let is_same = call.is_some_and(|call| call.place.response_id == place.response_id);
        newest + u64::from(!is_same)
    }

    /// The call that a result is of, which says it is of `said_id`. Where the calls have no ids, results have none or one
    /// that the client made up: they come in the order of the newest answer's calls.
    pub(super) fn of_result(&self, said_id: Option<&str>) -> Option<String> {
        let next = || {
            let ((newest, _), _) = self.by_order.last_key_value()?;
            let (_, native_id) = self.by_order.range((*newest, 0)..).next()?;
            Some(native_id)
        };
        let made_up = |id: &&String| self.get(id).is_some_and(|call| call.made_up);
        let of_call = match said_id {
            Some(id) if self.uses.contains_key(&hash(id.as_bytes())) => None,
            Some(_) => next().filter(made_up),
            None => next(),
        };
        of_call.cloned().or_else(|| said_id.map(str::to_owned))
    }

    /// A piece of the arguments.
    pub(super) fn input(&mut self, emitter: &mut Emitter, native_id: &str, chunk: &str) {
        if chunk.is_empty() {
            return;
        }
        let Some(call) = self
            .open
            .get_mut(native_id)
            .filter(|call| call.args.is_none())
        else {
            return emitter.pass_over("input of a call that is whole");
        };
        call.n_chunks += 1;
        let payload = ToolInputChunk {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            chunk: chunk.to_owned(),
            offset: Some(call.input_chars),
            ..ToolInputChunk::default()
        };
        call.input.push_str(chunk);
        call.input_chars += chunk.chars().count() as u64;
        let id = format!("{}:input.{}", call.id, call.n_chunks);
        emitter.add_as(&id, &call.place, payload);
    }

    /// A piece of what a tool prints.
    pub(super) fn output(
        &mut self,
        emitter: &mut Emitter,
        native_id: &str,
        chunk: &str,
        stream: &str,
    ) {
        let Some(call) = self.open.get_mut(native_id).filter(|_| !chunk.is_empty()) else {
            return emitter.pass_over("output of no open call");
        };
        call.n_outputs += 1;
        let payload = ToolOutputChunk {
            tool_call_id: call.id.clone(),
            chunk: chunk.to_owned(),
            stream: Some(stream.to_owned()),
            extra: Extra::default(),
        };
        let id = format!("{}:output.{}", call.id, call.n_outputs);
        emitter.add_as(&id, &call.place, payload);
    }

    /// Says this of an open call, beside its arguments.
    pub(super) fn say_with(&mut self, native_id: &str, beside: Extra) {
        if let Some(call) = self.open.get_mut(native_id) {
            call.beside = beside;
        }
    }

    /// A call is whole: with `args`, or with what its pieces built.
    pub(super) fn announce(&mut self, emitter: &mut Emitter, native_id: &str, args: Option<Value>) {
        let Some(call) = self
            .open
            .get_mut(native_id)
            .filter(|call| call.args.is_none())
        else {
            return;
        };
        let args = args.unwrap_or_else(|| args_of_text(&call.input));
        call.input = String::new();
        let payload = ToolCall {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            args: Json::from(&args),
            title: tools::title(&call.name, &args),
            kind: Some(tools::kind(&call.name).to_owned()),
            extra: std::mem::take(&mut call.beside),
        };
        emitter.add_as(&format!("{}:call", call.id), &call.place, payload);
        call.args = Some(args);
    }

    /// The result of a call; `here` is where it stands if the call is not known. `false` where the call had one before.
    pub(super) fn result(
        &mut self,
        emitter: &mut Emitter,
        native_id: &str,
        here: &Place,
        given: &Given,
    ) -> bool {
        self.announce(emitter, native_id, None);
        let call = match self.open.remove(native_id) {
            Some(call) => {
                self.by_order.remove(&call.order);
                call
            }
            None if self.uses.contains_key(&hash(native_id.as_bytes())) => return false,
            None => {
                self.uses.insert(hash(native_id.as_bytes()), 1);
                Call {
                    id: native_id.to_owned(),
                    place: here.clone(),
                    ..Call::default()
                }
            }
        };
        let text = match &given.result {
            Value::String(text) => text.as_str(),
            _ => "",
        };
        let first_line = || text.lines().map(str::trim).find(|line| !line.is_empty());
        let error = given.error.as_ref().map(|(code, message)| ToolError {
            code: code.clone(),
            message: message.clone(),
            extra: Extra::default(),
        });
        let failed = error.is_some();
        let result = ToolResult {
            tool_call_id: call.id.clone(),
            result: Json::from(&given.result),
            error,
            summary: given.summary.clone().or_else(|| first_line().map(one_line)),
            exit_code: given.exit_code,
            ..ToolResult::default()
        };
        emitter.add_as(&format!("{}:result", call.id), &call.place, result);
        if !failed {
            self.edits(emitter, &call);
        }
        true
    }

    /// The files that a patch changed.
    fn edits(&mut self, emitter: &mut Emitter, call: &Call) {
        let patch = call
            .args
            .as_ref()
            .and_then(|args| tools::patch_of(&call.name, args));
        for change in patch
            .and_then(|patch| of_patch_text(&patch, None))
            .unwrap_or_default()
        {
            let edit = self.files.edit(&call.id, None, &change);
            emitter.add_as(&format!("{}:edit", call.id), &call.place, edit);
        }
    }

    /// Gives a result to the open calls, which will not get one, in their order.
    pub(super) fn close(&mut self, emitter: &mut Emitter) {
        let open: Vec<String> = self.by_order.values().cloned().collect();
        for native_id in open {
            self.close_one(emitter, &native_id);
        }
    }

    /// Gives a result to a call that will not get one.
    pub(super) fn close_one(&mut self, emitter: &mut Emitter, native_id: &str) {
        let was_whole = self.get(native_id).is_some_and(|call| call.args.is_some());
        self.announce(emitter, native_id, None);
        let Some(call) = self.open.remove(native_id) else {
            return;
        };
        self.by_order.remove(&call.order);
        let result = match was_whole {
            true => tool::unanswered(&call.id, false),
            false => tool::cut_off(&call.id),
        };
        emitter.add_as(&format!("{}:closed", call.id), &call.place, result);
    }
}

/// Arguments that came as text: JSON where they are, none where there is nothing, else as they stand.
pub(super) fn args_of_text(text: &str) -> Value {
    if text.trim().is_empty() {
        return Value::Object(Map::new());
    }
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}
