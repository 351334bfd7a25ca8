//! Tool calls: begun, their arguments written, ended, and answered, perhaps by the front end in a later run.
//!
//! A call that was made and not answered waits to the end of the next run, and is given up then.

use chat_event::payload::{ToolCall, ToolInputChunk, ToolResult};
use chat_event::{Extra, Json};
use serde_json::{Map, Value};

use super::events::{AgUi, Chunked, id_hash};
use super::message::content_of;
use super::names::field;
use crate::emit::{Emitter, Place, cut, hash};
use crate::tool;
use crate::value::{str_of, text_of};
use crate::words::one_line;

/// A call without a result.
#[derive(Debug)]
pub(crate) struct Call {
    /// The id its events bear.
    pub(super) id: String,
    pub(super) order: u64,
    pub(super) name: String,
    pub(super) input: String,
    n_chars: u64,
    pub(super) place: Place,
    sub: Option<String>,
    pub(super) announced: bool,
    /// The run ended to ask whether it may be made.
    pub(super) asked_for: bool,
}

impl AgUi {
    pub(super) fn call_start(&mut self, emitter: &mut Emitter, event: &Value, sub: Option<String>) {
        let Some(id) = field(event, "toolCallId", "tool_call_id").map(str::to_owned) else {
            let place = self.quiet_place(sub.as_deref());
            return emitter.raw(&place, super::FORMAT, "a call without an id", event);
        };
        self.need_call(emitter, &id, event, sub, true);
    }

    /// The call `id`, begun where it is not known; `false` where it is over. What begins a call, begins another of the
    /// id of one that is over: some servers count their calls anew with each answer.
    pub(super) fn need_call(
        &mut self,
        emitter: &mut Emitter,
        id: &str,
        event: &Value,
        sub: Option<String>,
        begins: bool,
    ) -> bool {
        let name = field(event, "toolCallName", "tool_call_name");
        let other = |call: &Call| {
            let waits = call.announced && call.place.turn_id != self.turn;
            begins && waits && !(call.asked_for && name.is_none_or(|name| name == call.name))
        };
        if self.calls.get(id).is_some_and(other) {
            self.close_call(emitter, id, false);
        }
        // What begins again under the id of a call that was asked for is that call, which may be made now.
        let again = |call: &Call| begins && call.asked_for && call.place.turn_id != self.turn;
        if self.calls.get(id).is_some_and(again) {
            self.shown(emitter, id, || true);
        }
        if let Some(call) = self.calls.get_mut(id) {
            if let Some(name) = name.filter(|_| call.name.is_empty()) {
                name.clone_into(&mut call.name);
            }
            return true;
        }
        let hash = id_hash("call", id);
        if self.told.contains_key(&hash) {
            if !begins {
                emitter.pass_over("a call that is over");
                return false;
            }
            let uses = self.uses.entry(hash).or_insert(1);
            *uses = uses.saturating_add(1);
            self.unanswered.forget(id);
        }
        let parent = field(event, "parentMessageId", "parent_message_id");
        let call_id = self.call_id(id);
        let place = self.call_response(emitter, parent, &call_id, sub.clone());
        self.n_calls += 1;
        let call = Call {
            id: call_id,
            order: self.n_calls,
            name: name.unwrap_or("").to_owned(),
            input: String::new(),
            n_chars: 0,
            place,
            sub,
            announced: false,
            asked_for: false,
        };
        self.calls.insert(id.to_owned(), call);
        true
    }

    /// The id that the events of the call `native` bear.
    pub(super) fn call_id(&self, native: &str) -> String {
        match self.uses.get(&id_hash("call", native)) {
            Some(uses) => format!("{native}~{uses}"),
            None => native.to_owned(),
        }
    }

    pub(super) fn call_args(&mut self, emitter: &mut Emitter, event: &Value, sub: Option<String>) {
        let id = match field(event, "toolCallId", "tool_call_id") {
            Some(id) => id.to_owned(),
            None => {
                let place = self.quiet_place(sub.as_deref());
                return emitter.raw(&place, super::FORMAT, "a call without an id", event);
            }
        };
        if self.need_call(emitter, &id, event, sub, false) {
            self.write_input(emitter, &id, str_of(event, "delta").unwrap_or(""));
        }
    }

    fn write_input(&mut self, emitter: &mut Emitter, id: &str, piece: &str) {
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        if piece.is_empty() {
            return;
        }
        if call.announced {
            return emitter.pass_over("arguments of a call that is made");
        }
        let chunk = ToolInputChunk {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            chunk: piece.to_owned(),
            offset: Some(call.n_chars),
            ..ToolInputChunk::default()
        };
        emitter.add_as(
            &format!("{}:input{}", call.id, call.n_chars),
            &call.place,
            chunk,
        );
        call.input.push_str(piece);
        call.n_chars += u64::try_from(piece.chars().count()).unwrap_or(0);
    }

    pub(super) fn call_end(&mut self, emitter: &mut Emitter, event: &Value) {
        let id = field(event, "toolCallId", "tool_call_id").unwrap_or("");
        if self.calls.contains_key(id) {
            self.announce(emitter, id);
        } else {
            emitter.pass_over("the end of a call that is over");
        }
    }

    pub(super) fn call_chunk(&mut self, emitter: &mut Emitter, event: &Value, sub: Option<String>) {
        let id = match (field(event, "toolCallId", "tool_call_id"), &self.chunked) {
            (Some(id), _) => id.to_owned(),
            (None, Some(Chunked::Call(id))) => id.clone(),
            (None, _) => {
                let place = self.quiet_place(sub.as_deref());
                return emitter.raw(&place, super::FORMAT, "a call without an id", event);
            }
        };
        // The first chunk of a call names the tool.
        let begins = field(event, "toolCallName", "tool_call_name").is_some();
        if self.need_call(emitter, &id, event, sub, begins) {
            self.write_input(emitter, &id, str_of(event, "delta").unwrap_or(""));
            self.chunked = Some(Chunked::Call(id));
        }
    }

    /// Writes the call with its whole arguments.
    pub(super) fn announce(&mut self, emitter: &mut Emitter, id: &str) {
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        if std::mem::replace(&mut call.announced, true) {
            return;
        }
        let input = std::mem::take(&mut call.input);
        let args = match serde_json::from_str(&input) {
            Ok(args) => args,
            Err(_) if input.trim().is_empty() => Value::Object(Map::new()),
            Err(_) => Value::String(input),
        };
        let payload = ToolCall {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            title: tool::title(&call.name, &args),
            kind: Some(tool::kind(&call.name).to_owned()),
            args: Json::from(&args),
            extra: Extra::default(),
        };
        emitter.add_as(&format!("{}:call", call.id), &call.place, payload);
    }

    pub(super) fn call_result(
        &mut self,
        emitter: &mut Emitter,
        event: &Value,
        sub: Option<String>,
    ) {
        let Some(id) = field(event, "toolCallId", "tool_call_id").map(str::to_owned) else {
            let place = self.quiet_place(sub.as_deref());
            return emitter.raw(&place, super::FORMAT, "a result without a call", event);
        };
        if !self.unanswered.contains(&id) && !self.need_call(emitter, &id, event, sub, false) {
            return;
        }
        if let Some(place) = self.write_result(emitter, &id, event)
            && let Some(message) = field(event, "messageId", "message_id")
        {
            self.note(id_hash("message", message), 0, &place);
        }
    }

    /// The result of a call that is open or was given up, an event or a tool's message: where the call stands.
    pub(super) fn write_result(
        &mut self,
        emitter: &mut Emitter,
        id: &str,
        held: &Value,
    ) -> Option<Place> {
        self.announce(emitter, id);
        let content = held.get("content").unwrap_or(&Value::Null);
        let (text, attached) = content_of(content);
        self.shown(emitter, id, || !is_refusal(&text));
        let (call_id, place) = match self.calls.remove(id) {
            Some(call) => {
                self.answered(call.sub.as_ref());
                (call.id, call.place)
            }
            None => {
                let given_up = self.unanswered.take_back(id)?;
                (given_up.call_id, given_up.place)
            }
        };
        self.note(id_hash("call", id), hash(text.as_bytes()), &place);
        let mut extra = Extra::default();
        if let Some(attached) = attached {
            extra.insert("attachments", attached);
        }
        let error = text_of(held, "error").map(|error| tool::error(None, error));
        let payload = ToolResult {
            tool_call_id: call_id.clone(),
            result: Json::string(&text),
            summary: text
                .lines()
                .map(str::trim)
                .find(|line| !line.is_empty())
                .map(one_line),
            error,
            extra,
            ..ToolResult::default()
        };
        emitter.add_as(&format!("{call_id}:result"), &place, payload);
        Some(place)
    }

    /// Ends calls without a result, but for those of which `keep` is true.
    pub(super) fn close_calls(
        &mut self,
        emitter: &mut Emitter,
        interrupted: bool,
        keep: impl Fn(&str, &Call) -> bool,
    ) {
        let mut open: Vec<(u64, String)> = self
            .calls
            .iter()
            .filter(|(id, call)| !keep(id, call))
            .map(|(id, call)| (call.order, id.clone()))
            .collect();
        open.sort();
        for (_, id) in open {
            self.close_call(emitter, &id, interrupted);
        }
    }

    /// Ends a call without a result.
    pub(super) fn close_call(&mut self, emitter: &mut Emitter, id: &str, interrupted: bool) {
        self.announce(emitter, id);
        if let Some(call) = self.calls.remove(id) {
            self.note(id_hash("call", id), 0, &call.place);
            let result = tool::unanswered(&call.id, interrupted);
            self.unanswered.give_up(emitter, id, call.place, result);
        }
    }
}

/// Whether the result of a call says that it was not to be made.
fn is_refusal(text: &str) -> bool {
    let text = text.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
    let text = cut(text, 40).to_ascii_lowercase();
    let text = ["the ", "user ", "tool ", "call "]
        .iter()
        .fold(text.as_str(), |text, word| {
            text.strip_prefix(word).unwrap_or(text)
        });
    let refused = ["rejected", "denied", "declined", "refused", "not approved"];
    refused.iter().any(|word| text.starts_with(word))
}
