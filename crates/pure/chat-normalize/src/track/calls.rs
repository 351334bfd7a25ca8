//! Calls: begun, answered, given up, and the files they change.

use chat_event::payload::{FileEdit, ToolCall, ToolError, ToolResult};
use chat_event::{ChatEvent, Extra, Json, Payload};
use serde_json::Value;

use super::Track;
use crate::edit::changed_words;
use crate::emit::{Emitter, Place, hash};
use crate::tool;

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

impl Track {
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

    /// The id that a call of `id` would have in the events, if it came now.
    pub(crate) fn id_of_next(&self, id: &str) -> String {
        if let Some(call) = self.calls.get(id) {
            return call.id.clone();
        }
        let id = self.own_id(id);
        match self.used.get(&hash(id.as_bytes())) {
            Some(n) => format!("{id}~{}", n.saturating_add(1)),
            None => id,
        }
    }

    /// A call changed a file: its result, which was just said, says how many lines.
    pub(crate) fn edit(&mut self, emitter: &mut Emitter, call: &Call, edit: FileEdit) {
        // Behind the edits before this one it is not looked for again: a call may change many files.
        let known = match &self.changed {
            Some((id, .., at)) if *id == call.id => Some(*at),
            _ => None,
        };
        let is_result = |event: &ChatEvent| matches!(event.payload, Payload::ToolResult(_));
        let at = known.or_else(|| emitter.out.iter().rposition(is_result));
        let event = at.and_then(|at| emitter.out.get_mut(at));
        let result = event.and_then(|event| match &mut event.payload {
            Payload::ToolResult(result) => Some(result),
            _ => None,
        });
        if let Some(result) = result.filter(|result| result.tool_call_id == call.id) {
            let (n_files, added, removed) = match &self.changed {
                Some((id, n, added, removed, _)) if *id == call.id => (*n, *added, *removed),
                Some(_) | None => (0, 0, 0),
            };
            let n_files = n_files + 1;
            let added = added.saturating_add(edit.lines_added);
            let removed = removed.saturating_add(edit.lines_removed);
            if added > 0 || removed > 0 {
                result.summary = Some(changed_words(n_files, added, removed));
            }
            let at = at.unwrap_or_default();
            self.changed = Some((call.id.clone(), n_files, added, removed, at));
        }
        emitter.add_as(&format!("{}:edit", call.id), &call.place, edit);
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
}

/// A tool's failure.
pub(crate) fn tool_error(code: &str, message: &str) -> ToolError {
    ToolError {
        code: Some(code.to_owned()),
        message: message.to_owned(),
        extra: Extra::default(),
    }
}
