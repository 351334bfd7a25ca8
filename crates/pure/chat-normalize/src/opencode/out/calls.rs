//! Tool calls: a part that goes from pending over running to completed or error.
//!
//! What a tool prints is told as the whole output so far, as OpenCode does; long output less often, and none beyond
//! 30,000 bytes, where OpenCode cuts it too. A command that ends with another code than 0 is completed. What a call
//! changed and what is known only after its end is told by its last state once more.

use chat_event::payload::{ToolCall, ToolInputChunk, ToolOutputChunk, ToolResult};
use chat_event::{ChatEvent, Json};
use serde_json::{Map, Value, json};

use super::turns::file_part;
use super::{OpenCodeOut, object};
use crate::emit::cut;
use crate::value::{list_of, str_of};

/// OpenCode cuts what it tells of running output here.
const MAX_OUTPUT_BYTES: usize = 30_000;

/// Up to here each piece of output is told at once; beyond, when it grew by an eighth.
const AT_ONCE_BYTES: usize = 4096;

/// Calls that are over and still known: a change of theirs, or a second result, may come.
const MAX_OVER: usize = 1024;

/// What those may hold, in bytes; the last one stays in any case.
const MAX_OVER_BYTES: usize = 4 * 1024 * 1024;

/// Results that wait for their call, and what they may hold; with more, the first is told without one.
const MAX_EARLY: usize = 1024;
const MAX_EARLY_BYTES: usize = 4 * 1024 * 1024;

/// OpenCode's words for a call that was not allowed; its pages look for them.
const REFUSED: &str = "The user rejected permission to use this specific tool call.";

/// A tool call.
#[derive(Debug, Default)]
pub(super) struct Call {
    pub(super) scope: usize,
    step: u64,
    message_id: String,
    part_id: String,
    name: String,
    executes: bool,
    pub(super) title: Option<String>,
    input: Value,
    /// About how much that is.
    n_bytes: usize,
    start_ms: i64,
    output: String,
    n_told: usize,
    state: State,
    /// The session that works on it.
    session: Option<usize>,
    /// What it changed, one file each.
    pub(super) edits: Vec<Value>,
    pub(super) edit_bytes: usize,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Pending,
    Running,
    /// What was told last, kept where a later event may add to it.
    Over(Option<Box<Value>>),
}

impl Call {
    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, State::Over(_))
    }

    fn part(&self, state: Value, call_id: &str) -> Value {
        object([
            ("type", Value::from("tool")),
            ("tool", Value::from(self.name.as_str())),
            ("callID", Value::from(call_id)),
            ("state", state),
        ])
    }
}

impl OpenCodeOut {
    /// A piece of the arguments: OpenCode tells only that a call is on its way.
    pub(super) fn input(&mut self, event: &ChatEvent, chunk: &ToolInputChunk) {
        if !self.calls.contains_key(&chunk.tool_call_id) {
            self.new_call(event, &chunk.tool_call_id, &chunk.tool_name);
        }
    }

    pub(super) fn call(&mut self, event: &ChatEvent, call: &ToolCall) {
        let id = &call.tool_call_id;
        if self.calls.get(id).is_none_or(Call::is_over) {
            self.new_call(event, id, &call.tool_name);
        }
        let Some(of) = self.calls.get_mut(id) else {
            return;
        };
        if matches!(of.state, State::Pending) {
            of.state = State::Running;
            of.start_ms = self.now_ms;
        }
        of.name.clone_from(&call.tool_name);
        of.title.clone_from(&call.title);
        of.executes = call.kind.as_deref() == Some("execute");
        let args = call.args.to_value();
        of.n_bytes = call.args.text_len();
        of.input = if args.is_object() {
            args
        } else {
            json!({"input": args})
        };
        let (scope, message_id, part_id) = (of.scope, of.message_id.clone(), of.part_id.clone());
        self.note(scope, &message_id, Some(&part_id));
        self.tell_running(id);
        if let Some(early) = self.take_early(id)
            && let chat_event::Payload::ToolResult(result) = &early.payload
        {
            self.event_id.clone_from(&early.id);
            self.result(&early, result);
        }
    }

    fn new_call(&mut self, event: &ChatEvent, id: &str, name: &str) {
        let step = self.step_for(event);
        let Some((scope, message_id, part_id)) = self.step_part(step) else {
            return;
        };
        if let Some(step) = self.steps.get_mut(&step) {
            step.n_calls += 1;
            step.open_calls.insert(id.to_owned());
        }
        let call = Call {
            scope,
            step,
            message_id: message_id.clone(),
            part_id: part_id.clone(),
            name: name.to_owned(),
            input: json!({}),
            start_ms: self.now_ms,
            session: self.scope_of_call.get(id).copied(),
            ..Call::default()
        };
        let state = json!({"status": "pending", "input": {}, "raw": ""});
        let part = call.part(state, id);
        self.calls.insert(id.to_owned(), call);
        self.note(scope, &message_id, Some(&part_id));
        self.tell_part(scope, &message_id, &part_id, part);
    }

    fn tell_running(&mut self, id: &str) {
        let Some(call) = self.calls.get(id) else {
            return;
        };
        if !matches!(call.state, State::Running) {
            return;
        }
        let mut state = object([
            ("status", Value::from("running")),
            ("input", call.input.clone()),
            ("time", object([("start", Value::from(call.start_ms))])),
        ]);
        let mut metadata = Map::new();
        if !call.output.is_empty() {
            metadata.insert("output".to_owned(), Value::from(call.output.as_str()));
        }
        self.add_session(call, &mut metadata);
        if !metadata.is_empty() {
            state["metadata"] = Value::Object(metadata);
        }
        let part = call.part(state, id);
        let (scope, message_id, part_id) =
            (call.scope, call.message_id.clone(), call.part_id.clone());
        self.tell_part(scope, &message_id, &part_id, part);
    }

    fn add_session(&self, call: &Call, metadata: &mut Map<String, Value>) {
        if let Some(session) = call.session {
            let parent = &self.scopes[call.scope].id;
            let session = &self.scopes[session].id;
            metadata.insert("parentSessionId".to_owned(), Value::from(parent.as_str()));
            metadata.insert("sessionId".to_owned(), Value::from(session.as_str()));
        }
    }

    pub(super) fn message_of_call(&self, id: &str) -> Option<&str> {
        self.calls.get(id).map(|call| call.message_id.as_str())
    }

    /// A sub-agent's session was begun for a call.
    pub(super) fn call_has_session(&mut self, id: &str, session: usize) {
        if let Some(call) = self.calls.get_mut(id) {
            call.session = Some(session);
            if call.is_over() {
                self.tell_late(id);
            } else {
                self.tell_running(id);
            }
        }
    }

    pub(super) fn output(&mut self, chunk: &ToolOutputChunk) {
        let id = &chunk.tool_call_id;
        let Some(call) = self.calls.get_mut(id).filter(|call| !call.is_over()) else {
            return self.leave_out("a piece of output of no running call");
        };
        if call.output.len() >= MAX_OUTPUT_BYTES {
            return;
        }
        call.output.push_str(&chunk.chunk);
        if call.output.len() > MAX_OUTPUT_BYTES {
            let kept = cut(&call.output, MAX_OUTPUT_BYTES).len();
            call.output.truncate(kept);
        }
        let n = call.output.len();
        if n > AT_ONCE_BYTES && n < call.n_told + call.n_told / 8 {
            return;
        }
        call.n_told = n;
        if matches!(call.state, State::Pending) {
            call.state = State::Running;
        }
        self.tell_running(id);
    }

    pub(super) fn result(&mut self, event: &ChatEvent, result: &ToolResult) {
        let id = &result.tool_call_id;
        if let Some(scope) = self.scope_of_call.get(id) {
            self.close_scope(*scope);
        }
        let Some(call) = self.calls.get_mut(id) else {
            // Its call may still come.
            self.early_bytes += early_bytes(event);
            if let Some(before) = self.early.insert(id.clone(), event.clone()) {
                self.early_bytes -= early_bytes(&before);
            }
            while self.early.len() > MAX_EARLY || self.early_bytes > MAX_EARLY_BYTES {
                let Some((id, event)) = self.early.pop_first() else {
                    break;
                };
                self.early_bytes -= early_bytes(&event);
                self.settle(&id, event);
            }
            return;
        };
        if call.is_over() {
            return self.leave_out("a second result of a call");
        }
        self.tell_over(id, result);
    }

    fn tell_over(&mut self, id: &str, result: &ToolResult) {
        let now_ms = self.now_ms;
        if let Some(call) = self.calls.get_mut(id)
            && matches!(call.state, State::Pending)
        {
            call.state = State::Running;
            self.tell_running(id);
        }
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        let output = text_of_result(&result.result);
        let n_bytes = result.result.text_len() + 2 * id.len() + call.n_bytes;
        let code = result
            .error
            .as_ref()
            .and_then(|error| error.code.as_deref());
        let took = result.duration_ms.and_then(|took| i64::try_from(took).ok());
        let end_ms = took.map_or(now_ms, |took| call.start_ms.saturating_add(took));
        let end_ms = end_ms.max(call.start_ms);
        let time = json!({"start": call.start_ms, "end": end_ms});
        let mut metadata = Map::new();
        let ran = call.executes && result.exit_code.is_some();
        // OpenCode says of a command that was stopped that it is completed without an exit code.
        let by_user = code == Some("interrupted") && output.contains("<shell_metadata>");
        let stopped = (by_user || code == Some("stopped")) && call.name == "bash";
        if call.executes {
            metadata.insert(
                "output".to_owned(),
                Value::from(cut(&output, MAX_OUTPUT_BYTES)),
            );
        }
        match result.exit_code {
            Some(exit) => {
                metadata.insert("exit".to_owned(), Value::from(exit));
            }
            None if stopped => {
                metadata.insert("exit".to_owned(), Value::Null);
            }
            None => {}
        }
        if let Some(path) = result.extra.get("outputPath") {
            metadata.insert("outputPath".to_owned(), path.to_value());
        }
        // A call of a tool that is not there is answered by one named `invalid`.
        let invalid = code == Some("invalid_call") && call.input.get("tool").is_some();
        if invalid {
            "invalid".clone_into(&mut call.name);
        }
        let completed = result.error.is_none() || ran || stopped || invalid;
        let mut state = if completed {
            metadata.insert("truncated".to_owned(), Value::Bool(false));
            object([
                ("status", Value::from("completed")),
                ("input", call.input.clone()),
                ("output", Value::String(output)),
                ("title", Value::from(call.title.as_deref().unwrap_or(""))),
                ("time", time),
            ])
        } else {
            let message = result
                .error
                .as_ref()
                .map_or("", |error| error.message.as_str());
            let why = failure(code, message, &output);
            object([
                ("status", Value::from("error")),
                ("input", call.input.clone()),
                ("error", Value::String(why)),
                ("time", time),
            ])
        };
        let (step, keeps) = (call.step, call.may_edit());
        call.output = String::new();
        call.state = State::Over(None);
        let attachments = result.extra.get("attachments").map(Json::to_value);
        if let Some(Value::Array(attachments)) = attachments {
            let parts: Vec<Value> = attachments.iter().map(file_part).collect();
            state["attachments"] = Value::Array(parts);
        }
        let Some(call) = self.calls.get(id) else {
            return;
        };
        self.add_session(call, &mut metadata);
        add_edits(call, &mut metadata);
        if completed || !metadata.is_empty() {
            state["metadata"] = Value::Object(metadata);
        }
        let kept = keeps.then(|| Box::new(state.clone()));
        let part = call.part(state, id);
        let (scope, message_id, part_id) =
            (call.scope, call.message_id.clone(), call.part_id.clone());
        self.tell_part(scope, &message_id, &part_id, part);
        if let Some(call) = self.calls.get_mut(id) {
            // Arguments stand in what is kept, and are of no use without it.
            call.input = Value::Null;
            call.state = State::Over(kept);
            self.over_bytes += n_bytes;
            self.over.push_back((id.to_owned(), n_bytes));
        }
        while self.over.len() > MAX_OVER
            || (self.over_bytes > MAX_OVER_BYTES && self.over.len() > 1)
        {
            self.forget_oldest_call();
        }
        if let Some(step) = self.steps.get_mut(&step) {
            step.open_calls.remove(id);
        }
        self.close_if_over(step);
    }

    /// What a call changed and who worked for it, where it is known after its end.
    pub(super) fn tell_late(&mut self, id: &str) {
        let Some(call) = self.calls.get(id) else {
            return;
        };
        let State::Over(Some(state)) = &call.state else {
            return;
        };
        let mut state = (**state).clone();
        let mut metadata = match state.get_mut("metadata").map(Value::take) {
            Some(Value::Object(metadata)) => metadata,
            _ => Map::new(),
        };
        self.add_session(call, &mut metadata);
        add_edits(call, &mut metadata);
        state["metadata"] = Value::Object(metadata);
        let part = call.part(state, id);
        let (scope, message_id, part_id) =
            (call.scope, call.message_id.clone(), call.part_id.clone());
        self.tell_part(scope, &message_id, &part_id, part);
    }

    /// A call that gets no result.
    pub(super) fn abort_call(&mut self, id: &str) {
        if let Some(scope) = self.scope_of_call.get(id) {
            self.close_scope(*scope);
        }
        if self.calls.get(id).is_none_or(Call::is_over) {
            return;
        }
        let result = ToolResult {
            tool_call_id: id.to_owned(),
            error: Some(chat_event::payload::ToolError {
                message: "Tool execution aborted".to_owned(),
                ..chat_event::payload::ToolError::default()
            }),
            ..ToolResult::default()
        };
        self.tell_over(id, &result);
    }

    /// Results of calls that never came get a call without arguments.
    pub(super) fn settle_early(&mut self, turn: u64) {
        let early = std::mem::take(&mut self.early);
        self.early_bytes = 0;
        for (id, event) in early {
            let of_other = event.turn_id.as_ref().is_some_and(|_| {
                self.open_turn_of(event.turn_id.as_ref())
                    .is_some_and(|no| no != turn)
            });
            if of_other {
                self.early_bytes += early_bytes(&event);
                self.early.insert(id, event);
                continue;
            }
            self.settle(&id, event);
        }
    }

    /// Tells a result whose call never came.
    fn settle(&mut self, id: &str, mut event: ChatEvent) {
        self.event_id.clone_from(&event.id);
        if self.open_turn_of(event.turn_id.as_ref()).is_none() {
            event.turn_id = None;
        }
        if self.calls.get(id).is_none_or(Call::is_over) {
            self.new_call(&event, id, "unknown");
        }
        if let chat_event::Payload::ToolResult(result) = &event.payload
            && self.calls.contains_key(id)
        {
            self.result(&event, result);
        }
    }

    fn take_early(&mut self, id: &str) -> Option<ChatEvent> {
        let event = self.early.remove(id)?;
        self.early_bytes -= early_bytes(&event);
        Some(event)
    }

    fn forget_oldest_call(&mut self) {
        let Some((id, n_bytes)) = self.over.pop_front() else {
            return;
        };
        self.over_bytes -= n_bytes;
        // One that was begun again under the same id goes on.
        if self.calls.get(&id).is_some_and(Call::is_over) {
            self.calls.remove(&id);
        }
    }

    /// No turn is open: what is over is over.
    pub(super) fn forget_calls(&mut self) {
        while !self.over.is_empty() {
            self.forget_oldest_call();
        }
    }
}

impl Call {
    /// Whether a change may be told after its end.
    pub(super) fn may_edit(&self) -> bool {
        !self.executes && self.session.is_none()
    }
}

/// About how much a result holds that waits for its call.
fn early_bytes(event: &ChatEvent) -> usize {
    match &event.payload {
        chat_event::Payload::ToolResult(result) => result.result.text_len(),
        _ => 0,
    }
}

/// One edit stands as OpenCode's `edit` says it, several as `apply_patch` does.
fn add_edits(call: &Call, metadata: &mut Map<String, Value>) {
    match call.edits.as_slice() {
        [] => {}
        [edit] if edit.get("movePath").is_none() => {
            let path = str_of(edit, "filePath").unwrap_or("");
            let patch = str_of(edit, "patch").unwrap_or("");
            let kind = str_of(edit, "type");
            let status = match kind {
                Some("add") => "added",
                Some("delete") => "deleted",
                _ => "modified",
            };
            metadata.insert("filepath".to_owned(), Value::from(path));
            metadata.insert("exists".to_owned(), Value::Bool(kind != Some("add")));
            if !patch.is_empty() {
                metadata.insert("diff".to_owned(), Value::from(patch));
            }
            let mut filediff = json!({
                "file": path,
                "additions": edit["additions"],
                "deletions": edit["deletions"],
                "status": status,
            });
            if !patch.is_empty() {
                filediff["patch"] = Value::from(patch);
            }
            metadata.insert("filediff".to_owned(), filediff);
        }
        edits => {
            metadata.insert("files".to_owned(), Value::Array(edits.to_vec()));
        }
    }
}

/// What a call that failed says: OpenCode has one text for the reason and for what was printed.
fn failure(code: Option<&str>, message: &str, output: &str) -> String {
    let refused = matches!(
        code,
        Some("rejected" | "declined" | "denied" | "user-rejected")
    );
    if refused && !message.starts_with("The user ") {
        return format!("{REFUSED}\n{message}").trim_end().to_owned();
    }
    if output.is_empty() || message.contains(output) {
        return message.to_owned();
    }
    if output.contains(message) {
        return output.to_owned();
    }
    format!("{message}\n{output}")
}

/// A result as text: a string as it is, blocks of text in a row, anything else as JSON.
fn text_of_result(result: &Json) -> String {
    if let Some(text) = result.as_str() {
        return text.into_owned();
    }
    if result.is_null() {
        return String::new();
    }
    let value = result.to_value();
    if let Some(body) = value.get("$body") {
        return str_of(body, "preview").unwrap_or("").to_owned();
    }
    let blocks = match &value {
        Value::Array(blocks) => blocks.as_slice(),
        _ => list_of(&value, "content"),
    };
    let texts: Vec<&str> = blocks
        .iter()
        .filter(|block| str_of(block, "type") == Some("text"))
        .filter_map(|block| str_of(block, "text"))
        .collect();
    if texts.is_empty() {
        result.as_text().into_string()
    } else {
        texts.join("\n")
    }
}
