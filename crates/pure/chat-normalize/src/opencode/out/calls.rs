//! Tool calls: a part that goes from pending over running to completed or error.
//!
//! What a tool prints is told as the whole output so far, as OpenCode does; long output less often, and none beyond
//! 30,000 bytes, where OpenCode cuts it too. A command that ends with another code than 0 is completed. What a call
//! changed and what is known only after its end is told by its last state once more.

mod early;
mod over;
mod result_words;

use chat_event::payload::{ToolCall, ToolError, ToolInputChunk, ToolOutputChunk, ToolResult};
use chat_event::{ChatEvent, Payload};
use serde_json::{Map, Value, json};

use super::{OpenCodeOut, object};
use crate::emit::cut;

/// OpenCode cuts what it tells of running output here.
const MAX_OUTPUT_BYTES: usize = 30_000;

/// Up to here each piece of output is told at once; beyond, when it grew by an eighth.
const AT_ONCE_BYTES: usize = 4096;

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
    /// About how much that is; of a call that is over, with what it gave.
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
    /// How many of those were told, and about how much was told with them.
    n_told_edits: usize,
    told_bytes: usize,
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
            && let Payload::ToolResult(result) = &early.payload
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
        if let Some(scope) = self.scope_of_call.get(id).filter(|_| !result.goes_on()) {
            self.close_scope(*scope);
        }
        let call = self.calls.get(id);
        // On the bus a call is over when what it began goes on in the background.
        if result.background == Some(false) && call.is_none_or(Call::is_over) {
            return self.leave_out("the end of what ran in the background");
        }
        let Some(call) = call else {
            return self.keep_early(id, event);
        };
        if call.is_over() {
            return self.leave_out("a second result of a call");
        }
        self.tell_over(id, result);
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
            error: Some(ToolError {
                message: "Tool execution aborted".to_owned(),
                ..ToolError::default()
            }),
            ..ToolResult::default()
        };
        self.tell_over(id, &result);
    }
}

impl Call {
    /// Whether a change may be told after its end.
    pub(super) fn may_edit(&self) -> bool {
        !self.executes && self.session.is_none()
    }
}
