//! The end of a call: its last state, what is added to it later, and when it is forgotten.

use chat_event::Json;
use chat_event::payload::ToolResult;
use serde_json::{Map, Value, json};

use super::result_words::{failure, text_of_result};
use super::{Call, MAX_OUTPUT_BYTES, State};
use crate::emit::cut;
use crate::opencode::out::prompts::file_part;
use crate::opencode::out::{OpenCodeOut, object};
use crate::value::str_of;

/// Calls that are over and still known: a change of theirs, or a second result, may come.
const MAX_OVER: usize = 1024;

/// What those may hold, in bytes; the last one stays in any case.
const MAX_OVER_BYTES: usize = 4 * 1024 * 1024;

impl OpenCodeOut {
    pub(super) fn tell_over(&mut self, id: &str, result: &ToolResult) {
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
            call.n_bytes = n_bytes;
            call.note_told_edits();
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

    /// A call that may be over changed something. It tells all of its changes with each: the first at once, further ones
    /// when what is told grew by a quarter, and the last of them when its answer is whole, or the call forgotten.
    pub(in crate::opencode::out) fn tell_edits(&mut self, id: &str) {
        let Some(call) = self.calls.get(id) else {
            return;
        };
        let n_bytes = call.n_bytes + call.edit_bytes;
        if call.n_told_edits == 0 || n_bytes >= call.told_bytes + call.told_bytes / 4 {
            self.tell_late(id);
        } else if let Some(step) = self.steps.get_mut(&call.step) {
            step.untold_edits.insert(id.to_owned());
        }
    }

    /// Tells the changes of a call that were not told.
    pub(in crate::opencode::out) fn tell_last_edits(&mut self, id: &str) {
        let untold = |call: &Call| call.n_told_edits < call.edits.len();
        if self.calls.get(id).is_some_and(untold) {
            self.tell_late(id);
        }
    }

    /// What a call changed and who worked for it, where it is known after its end.
    pub(in crate::opencode::out) fn tell_late(&mut self, id: &str) {
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
        if let Some(call) = self.calls.get_mut(id) {
            call.note_told_edits();
        }
    }

    fn forget_oldest_call(&mut self) {
        let Some((id, n_bytes)) = self.over.pop_front() else {
            return;
        };
        self.over_bytes -= n_bytes;
        // One that was begun again under the same id goes on.
        if self.calls.get(&id).is_some_and(Call::is_over) {
            self.tell_last_edits(&id);
            self.calls.remove(&id);
        }
    }

    /// No turn is open: what is over is over.
    pub(in crate::opencode::out) fn forget_calls(&mut self) {
        while !self.over.is_empty() {
            self.forget_oldest_call();
        }
    }
}

impl Call {
    /// What it changed until now was told.
    fn note_told_edits(&mut self) {
        self.n_told_edits = self.edits.len();
        self.told_bytes = self.n_bytes + self.edit_bytes;
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
