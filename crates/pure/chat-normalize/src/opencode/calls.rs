//! Tool calls: a part that goes from pending over running to completed or error.
//!
//! A call is written when its arguments are whole. What a command prints comes as the whole output so far; only what is
//! new is written. A part that changes after its end changes nothing: the first end counts.

use chat_event::payload::{
    FileEdit, Plan, PlanEntry, ToolCall, ToolError, ToolInputChunk, ToolOutputChunk, ToolResult,
};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::parts::attachment;
use super::session::Session;
use super::{times, tools};
use crate::emit::{Emitter, Place, hash};
use crate::tool;
use crate::value::{list_of, str_of, text_of};
use crate::words::one_line;

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
    #[allow(
        clippy::too_many_arguments,
        reason = "a part, where it stands, and how it is read"
    )]
    pub(super) fn tool(
        &mut self,
        emitter: &mut Emitter,
        native_id: &str,
        message_id: &str,
        id: &str,
        part: &Value,
        whole: bool,
        place: &Place,
    ) {
        let state = part.get("state").unwrap_or(&Value::Null);
        let input = state.get("input").unwrap_or(&Value::Null);
        let status = str_of(state, "status").unwrap_or("");
        if !self.calls.contains_key(id) {
            self.new_call(native_id, message_id, id, part, place);
        }
        if let Some(child) = state
            .get("metadata")
            .and_then(|metadata| text_of(metadata, "sessionId"))
            && (str_of(part, "tool") == Some("task") || self.knows(child))
        {
            self.link(child, id, native_id);
        }
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        if call.over {
            return self.after_end(emitter, message_id, id, state);
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
                self.result(emitter, message_id, id, part, state);
            }
            _ => {
                let kind = format!("tool state {status}");
                emitter.raw(place, self.format, &kind, part);
            }
        }
    }

    fn new_call(
        &mut self,
        native_id: &str,
        message_id: &str,
        id: &str,
        part: &Value,
        place: &Place,
    ) {
        let given = text_of(part, "callID").unwrap_or(id);
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
            session: native_id.to_owned(),
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

    fn result(
        &mut self,
        emitter: &mut Emitter,
        message_id: &str,
        id: &str,
        part: &Value,
        state: &Value,
    ) {
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        call.over = true;
        call.printed = String::new();
        call.raw = String::new();
        let (call_id, name, place) = (call.id.clone(), call.name.clone(), call.place.clone());
        let order = call.order;
        self.open_calls.remove(&order);
        let metadata = state.get("metadata").unwrap_or(&Value::Null);
        let output = str_of(state, "output").unwrap_or("");
        let error = failure(part, state, output);
        let time = state.get("time").unwrap_or(&Value::Null);
        let took = times::of_member(time, "start")
            .zip(times::of_member(time, "end"))
            .and_then(|(start, end)| u64::try_from(end.checked_sub(start)?).ok());
        let edits = if error.is_none() {
            self.edits.of_call(&call_id, &name, state)
        } else {
            Vec::new()
        };
        self.edited(emitter, message_id, id, &place, edits);
        let exit_code = metadata.get("exit").and_then(Value::as_i64);
        let summary = match &error {
            Some(error) => Some(one_line(&error.message)).filter(|line| !line.is_empty()),
            None => tools::summary(&name, state, output),
        };
        let mut extra = Extra::default();
        let attachments: Vec<Value> = list_of(state, "attachments")
            .iter()
            .map(attachment)
            .collect();
        if !attachments.is_empty() {
            extra.insert("attachments", Json::from(&Value::Array(attachments)));
        }
        if let Some(path) = text_of(metadata, "outputPath") {
            extra.insert("outputPath", Json::string(path));
        }
        let payload = ToolResult {
            tool_call_id: call_id.clone(),
            result: Json::string(output),
            error,
            summary,
            duration_ms: took,
            exit_code,
            extra,
            ..ToolResult::default()
        };
        self.asks.answered_by_call(emitter, &call_id, state);
        self.asks.expire(emitter, &call_id);
        self.add(emitter, id, "result", &place, payload);
        if name == "todowrite" {
            let todos = match list_of(metadata, "todos") {
                [] => list_of(state.get("input").unwrap_or(&Value::Null), "todos"),
                todos => todos,
            };
            self.plan(emitter, &place, todos);
        }
    }

    fn edited(
        &mut self,
        emitter: &mut Emitter,
        message_id: &str,
        id: &str,
        place: &Place,
        edits: Vec<FileEdit>,
    ) {
        if let Some(call) = self.calls.get_mut(id) {
            call.edited |= !edits.is_empty();
        }
        if let Some(message) = self.messages.get_mut(message_id) {
            let paths = edits.iter().map(|edit| edit.file_path.clone());
            message.edited.extend(paths);
        }
        for edit in edits {
            self.add(emitter, id, "edit", place, edit);
        }
    }

    /// A state after the end says nothing new, but for what a call changed where its result did not tell.
    fn after_end(&mut self, emitter: &mut Emitter, message_id: &str, id: &str, state: &Value) {
        let Some(call) = self.calls.get(id) else {
            return;
        };
        let (call_id, name, place) = (call.id.clone(), call.name.clone(), call.place.clone());
        if call.edited || str_of(state, "status") != Some("completed") {
            return emitter.pass_over("a tool's state after its end");
        }
        let edits = self.edits.of_call(&call_id, &name, state);
        self.edited(emitter, message_id, id, &place, edits);
        emitter.pass_over("a tool's state after its end");
    }

    /// The list of things to do, where it is another than before.
    pub(crate) fn plan(&mut self, emitter: &mut Emitter, place: &Place, todos: &[Value]) {
        let entries: Vec<PlanEntry> = todos.iter().map(entry).collect();
        let text = entries
            .iter()
            .flat_map(|entry| [entry.content.as_str(), "\0", entry.status.as_str(), "\0"])
            .collect::<String>();
        let agent = place.parent_tool_call_id.clone().unwrap_or_default();
        let said = self.plans.insert(agent, hash(text.as_bytes()));
        if said == Some(hash(text.as_bytes())) || (said.is_none() && entries.is_empty()) {
            return;
        }
        let extra = Extra::default();
        emitter.add("plan", place, Plan { entries, extra });
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

/// Why a call failed, though it may be a command that ran to its end: whether that failed its code tells.
fn failure(part: &Value, state: &Value, output: &str) -> Option<ToolError> {
    let error = |code: &str, message: &str| {
        Some(ToolError {
            code: Some(code.to_owned()),
            message: message.to_owned(),
            extra: Extra::default(),
        })
    };
    if str_of(state, "status") == Some("error") {
        let message = text_of(state, "error").unwrap_or(output);
        let refused = message.starts_with("The user rejected permission")
            || message.starts_with("The user has specified a rule which prevents");
        let code = match (refused, message == ABORTED) {
            (true, _) => "rejected",
            (false, true) => "interrupted",
            (false, false) => "tool_error",
        };
        return error(code, message);
    }
    let input = state.get("input").unwrap_or(&Value::Null);
    if str_of(part, "tool") == Some("invalid") {
        return error("invalid_call", str_of(input, "error").unwrap_or(output));
    }
    // Stopped, by a time limit or by the user: the end of the output says which.
    let stopped = str_of(part, "tool") == Some("bash")
        && state
            .get("metadata")
            .and_then(|metadata| metadata.get("exit"))
            .is_some_and(Value::is_null);
    if stopped {
        let why = output
            .rsplit_once("<shell_metadata>")
            .map_or("", |(_, rest)| rest)
            .trim()
            .trim_end_matches("</shell_metadata>")
            .trim();
        let by_user = why.starts_with("User aborted");
        let code = if by_user { "interrupted" } else { "stopped" };
        return error(code, if why.is_empty() { "stopped" } else { why });
    }
    None
}

fn entry(todo: &Value) -> PlanEntry {
    let status = match str_of(todo, "status") {
        Some(status @ ("in_progress" | "completed")) => status,
        // What is called off is over.
        Some("cancelled") => "completed",
        Some(_) | None => "pending",
    };
    PlanEntry {
        content: str_of(todo, "content").unwrap_or("").to_owned(),
        status: status.to_owned(),
        extra: Extra::default(),
    }
}
