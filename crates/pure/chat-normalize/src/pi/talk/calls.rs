//! Calls of tools, their results, and the commands that a person runs.

use chat_event::payload::ToolResult;
use chat_event::{Extra, Json, Payload};
use serde_json::{Value, json};

use super::{Blocks, Talk, Told, said};
use crate::emit::Emitter;
use crate::emit::short_hash;
use crate::pi::{edits, tools};
use crate::track::{NewCall, tool_error};
use crate::value::{count_of, is_true, str_of, text_of};
use crate::words::printed;

impl Talk {
    /// The whole block of a call.
    pub(crate) fn call_block(
        &mut self,
        emitter: &mut Emitter,
        response: &str,
        blocks: &mut Blocks,
        index: u64,
        block: &Value,
    ) {
        let told = Told { part: 0, text: 0 };
        if blocks.told.insert(index, told).is_none() {
            self.call(emitter, response, block, block.get("arguments"));
        }
    }

    /// A call, by a block of an answer or by the line that says it begins.
    pub(crate) fn call(
        &mut self,
        emitter: &mut Emitter,
        response: &str,
        call: &Value,
        args: Option<&Value>,
    ) {
        let id = text_of(call, "id").or_else(|| text_of(call, "toolCallId"));
        let name = str_of(call, "name").or_else(|| str_of(call, "toolName"));
        let Some(id) = id else {
            let place = self.track.place().in_response(response);
            return emitter.raw(&place, self.format, "call without an id", call);
        };
        let args = args.unwrap_or(&Value::Null);
        let name = name.unwrap_or("");
        let new = NewCall {
            id,
            response_id: response,
            name,
            args,
            title: tools::title(args),
            kind: tools::kind(name),
        };
        self.track.call(emitter, new);
    }

    /// What a call gave; `is_told` where it may have been told before.
    pub(crate) fn result(&mut self, emitter: &mut Emitter, message: &Value, is_told: bool) {
        let id = text_of(message, "toolCallId").unwrap_or("");
        let name = str_of(message, "toolName").unwrap_or("");
        // The end of a run brings the content within `result`.
        let holder = message.get("result").unwrap_or(message);
        let details = holder.get("details").unwrap_or(&Value::Null);
        self.nested(emitter, id, message);
        let has_agents = self.agents_end(emitter, id, details);
        let said = said(holder.get("content"));
        let failed = is_true(message, "isError");
        let mut extra = Extra::default();
        if !said.attachments.is_empty() {
            let attachments = Json::from(Value::from(said.attachments));
            extra.insert("attachments", attachments);
        }
        // The text is the end of it, and says so.
        if let Some(path) = text_of(details, "fullOutputPath") {
            extra.insert("fullOutputPath", Json::string(path));
        }
        let result = ToolResult {
            result: Json::string(&said.text),
            error: failed.then(|| tool_error("error", &said.text)),
            summary: printed(&said.text).filter(|_| !failed),
            duration_ms: count_of(message, "durationMs"),
            exit_code: tools::exit_code(name, holder.get("structuredContent"), &said.text)
                .filter(|code| failed || *code != 0),
            extra,
            ..ToolResult::default()
        };
        match self.track.result(emitter, id, result) {
            Some(call) => {
                let cwd = self.track.facts.cwd();
                let edit = edits::edit(&call, details, cwd.as_deref()).filter(|_| !failed);
                if let Some(edit) = edit {
                    self.track.edit(emitter, &call, edit);
                }
                if !has_agents {
                    // A model that the tool asked.
                    self.used(emitter, &format!("{}:usage", call.id), holder, Some("tool"));
                }
            }
            None if is_told => emitter.pass_over("toolResult message"),
            None => emitter.raw(
                &self.track.place(),
                self.format,
                "result without a call",
                message,
            ),
        }
    }

    /// A command that the user ran. Its id is made of what it gave: of a command that was sent to the program's RPC mode the
    /// output says no more, not even the command.
    pub(crate) fn command(&mut self, emitter: &mut Emitter, message: &Value) {
        let output = str_of(message, "output").unwrap_or("");
        let code = message.get("exitCode").and_then(Value::as_i64);
        let was_stopped = is_true(message, "cancelled");
        let gave = short_hash(&format!("{code:?} {was_stopped} {output}"));
        let id = format!("bash-{gave}");
        let command = text_of(message, "command");
        let args = match command {
            Some(command) => json!({"command": command}),
            None => json!({}),
        };
        let call = NewCall {
            id: &id,
            response_id: "",
            name: "bash",
            args: &args,
            title: tools::title(&args),
            kind: "execute",
        };
        self.track.call(emitter, call);
        if command.is_none()
            && let Some(event) = emitter
                .out
                .iter_mut()
                .rev()
                .find(|event| matches!(event.payload, Payload::ToolCall(_)))
        {
            // Who knows the command tells the call better.
            event.id.push_str(":cut");
        }
        let mut extra = Extra::default();
        extra.insert("by", Json::string("user"));
        if let Some(path) = text_of(message, "fullOutputPath") {
            extra.insert("fullOutputPath", Json::string(path));
        }
        let result = ToolResult {
            result: Json::string(output),
            error: was_stopped.then(|| tool_error("cancelled", "the command was cancelled")),
            summary: printed(output),
            exit_code: code,
            extra,
            ..ToolResult::default()
        };
        self.track.result(emitter, &id, result);
    }
}
