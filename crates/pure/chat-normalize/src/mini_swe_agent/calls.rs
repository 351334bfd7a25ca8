//! Commands and what they gave.

use chat_event::Json;
use chat_event::payload::ToolResult;
use serde_json::Value;

use super::MiniSweAgent;
use crate::emit::Emitter;
use crate::track::{NewCall, tool_error};
use crate::value::{str_of, text_of, text_of_blocks};
use crate::words::{one_line, printed};

/// What a command prints first that hands in what follows.
const SUBMITS: &str = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT";

impl MiniSweAgent {
    pub(super) fn calls(
        &mut self,
        emitter: &mut Emitter,
        response: &str,
        calls: impl Iterator<Item = (Option<String>, Value)>,
    ) {
        for (n, (id, action)) in calls.enumerate() {
            let id = id.unwrap_or_else(|| format!("{response}.{n}"));
            let command = str_of(&action, "command").unwrap_or("");
            let args = serde_json::json!({"command": command});
            let new = NewCall {
                id: &id,
                response_id: response,
                name: "bash",
                args: &args,
                title: Some(one_line(command)).filter(|it| !it.is_empty()),
                kind: "execute",
            };
            if command.contains(SUBMITS) {
                self.submits = Some(id.clone());
            }
            self.track.call(emitter, new);
            self.waits.push_back(id);
        }
    }

    pub(super) fn result(&mut self, emitter: &mut Emitter, message: &Value, extra: &Value) {
        let id = text_of(message, "tool_call_id").or_else(|| text_of(message, "call_id"));
        let whole = str_of(extra, "raw_output").map(str::to_owned);
        let output = whole.unwrap_or_else(|| text_of_blocks(message.get("content")));
        let code = extra.get("returncode").and_then(Value::as_i64);
        let why = text_of(extra, "exception_info");
        self.give(emitter, id, &output, code, why);
    }

    /// A call's result: that of this id, else of the oldest that waits.
    pub(super) fn give(
        &mut self,
        emitter: &mut Emitter,
        id: Option<&str>,
        output: &str,
        code: Option<i64>,
        why: Option<&str>,
    ) {
        let Some(id) = id
            .map(str::to_owned)
            .or_else(|| self.waits.front().cloned())
        else {
            return emitter.pass_over("a result without a call");
        };
        let is_not_run = why == Some("action was not executed");
        // It ends the run, or waits for what is said next.
        if is_not_run && self.submits.as_ref() == Some(&id) {
            self.has_submitted = true;
            return;
        }
        self.waits.retain(|waits| *waits != id);
        let error = why.map(|why| match is_not_run {
            true => tool_error("rejected", "the command was not run"),
            false => tool_error("error", why),
        });
        let result = ToolResult {
            result: Json::string(output),
            summary: printed(output).filter(|_| error.is_none()),
            error,
            exit_code: code.filter(|code| *code != -1),
            ..ToolResult::default()
        };
        self.track.result(emitter, &id, result);
    }
}
