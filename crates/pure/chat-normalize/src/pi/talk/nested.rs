//! Calls that a call makes: a script of `codemode` calls other tools, as those of MCP servers.
//!
//! A run says them as they happen, each with its `parentToolCallId`. The file has them in the result of the call that made
//! them (`nestedCalls`, at most 256, without what they gave, and long arguments only as a number of bytes).

use chat_event::Json;
use chat_event::payload::ToolResult;
use serde_json::{Value, json};

use super::Talk;
use crate::emit::Emitter;
use crate::pi::{edits, tools};
use crate::track::{NewCall, tool_error};
use crate::value::{count_of, list_of, str_of, text_of};

impl Talk {
    /// A call that the one waiting under `parent` makes.
    pub(crate) fn nested_call(
        &mut self,
        emitter: &mut Emitter,
        parent: &str,
        id: &str,
        name: &str,
        args: &Value,
    ) {
        self.track.enter(parent);
        let new = NewCall {
            id,
            // No answer asks for it.
            response_id: "",
            name,
            args,
            title: tools::title(args),
            kind: tools::kind(name),
        };
        self.track.call(emitter, new);
        self.track.leave(parent);
    }

    /// The calls that the one waiting under `parent` made, by its result: those that were not told as they happened.
    pub(super) fn nested(&mut self, emitter: &mut Emitter, parent: &str, message: &Value) {
        let nested = message.get("nestedCalls").unwrap_or(&Value::Null);
        if self.track.waiting(parent).is_none() {
            return;
        }
        for told in list_of(nested, "calls") {
            let place = self.track.place();
            let Some(id) = text_of(told, "id").filter(|id| *id != parent) else {
                emitter.raw(&place, self.format, "nested call without an id", told);
                continue;
            };
            let name = str_of(told, "name").unwrap_or("");
            let n_bytes = count_of(told, "argumentsBytes");
            let args = match (told.get("arguments"), n_bytes) {
                (Some(args), _) => args.clone(),
                (None, Some(n_bytes)) => json!({"argumentsBytes": n_bytes}),
                (None, None) => json!({}),
            };
            if self.track.waiting(id).is_none() {
                self.nested_call(emitter, parent, id, name, &args);
            }
            self.nested_result(emitter, id, told);
        }
        if nested.get("complete") == Some(&Value::Bool(false)) {
            let text = "of the calls that this one made not all were written down";
            emitter.notice("info", &self.track.place(), "pi", text);
        }
    }

    fn nested_result(&mut self, emitter: &mut Emitter, id: &str, told: &Value) {
        let name = str_of(told, "name").unwrap_or("");
        let failed = match str_of(told, "status") {
            Some("ok") => false,
            Some("error") => true,
            // It goes on, or was left: the turn's end says that nothing came of it.
            _ => return,
        };
        let why = str_of(told, "error").unwrap_or("");
        let result = ToolResult {
            result: match failed {
                true => Json::string(why),
                false => Json::default(),
            },
            error: failed.then(|| tool_error("error", why)),
            duration_ms: count_of(told, "durationMs"),
            exit_code: tools::exit_code(name, None, why).filter(|_| failed),
            ..ToolResult::default()
        };
        if let Some(call) = self.track.result(emitter, id, result).filter(|_| !failed) {
            let cwd = self.track.facts.cwd();
            if let Some(edit) = edits::edit(&call, &Value::Null, cwd.as_deref()) {
                self.track.edit(emitter, &call, edit);
            }
        }
    }
}
