//! Results: what a call gave, whether it failed, and what it changed.
//!
//! `failed` alone says that a call failed; a command that ended with an error may be `completed` (OpenCode, Gemini).
//! What the agent gives as `rawOutput` is what the model saw; `content` is what it is shown as.

use chat_event::payload::ToolResult;
use chat_event::{Extra, Json};
use serde_json::Value;

use super::calls::Call;
use super::content::{self, Held};
use super::session::{Session, attachments};
use super::updates::{is_rejection, plan};
use crate::emit::Emitter;
use crate::tool;
use crate::value::{str_of, text_of};
use crate::words::one_line;
use crate::{claude, opencode};

impl Session {
    /// The call `native` has ended.
    pub(super) fn result(&mut self, emitter: &mut Emitter, native: &str, failed: bool) {
        let Some(mut call) = self.take_call(native) else {
            return;
        };
        call.announce(emitter);
        // What a sub-agent was writing ends with the call that started it.
        self.end_texts(emitter, Some(&native.to_owned()));
        let name = call.name();
        let text = self.output_of(&call);
        let exit_code = call.exit_code.or_else(|| exit_code(&call, &text, failed));
        let mut extra = Extra::default();
        if let Some(attached) = attachments(attached(&call)) {
            extra.insert("attachments", attached);
        }
        let result = match (&call.raw_output, text.is_empty()) {
            // That nothing is told does not say that there was nothing.
            (Value::Null, true) if call.tells_nothing() => Json::default(),
            (Value::Null, _) | (_, false) => Json::string(&text),
            (output, true) => Json::from(output),
        };
        let error = failed.then(|| {
            let code = if is_rejection(&text) {
                Some("rejected")
            } else if exit_code.is_some() {
                Some("exit_code")
            } else {
                None
            };
            tool::error(
                code,
                if text.is_empty() {
                    "the tool failed"
                } else {
                    &text
                },
            )
        });
        let payload = ToolResult {
            tool_call_id: call.id.clone(),
            result,
            error,
            summary: summary(&call, &name, &text, failed, exit_code),
            exit_code,
            extra,
            ..ToolResult::default()
        };
        emitter.add_as(&format!("{}:result", call.id), &call.place, payload);
        if failed {
            return;
        }
        for edit in self.edits_of(&call, &name) {
            emitter.add_as(&format!("{}:edit", call.id), &call.place, edit);
        }
        if let Some(todos) = call.todos() {
            let todos = Value::Array(todos.to_vec());
            self.write_plan(emitter, &todos, plan(&todos), &call.place);
        }
    }

    fn output_of(&self, call: &Call) -> String {
        let output = &call.raw_output;
        // Some agents give nothing in it and show what there was.
        let whole = output.as_str().filter(|text| !text.is_empty());
        let said = whole.or_else(|| {
            ["output", "error", "stdout", "text"]
                .iter()
                .find_map(|key| text_of(output, key))
        });
        if let Some(text) = said {
            return text.to_owned();
        }
        let shown = call.content_text();
        if !shown.is_empty() {
            return shown;
        }
        let terminals = call.terminals();
        let printed: String = terminals
            .iter()
            .filter_map(|id| self.terminals.get(id))
            .map(|terminal| terminal.printed.as_str())
            .collect();
        if printed.is_empty() {
            call.printed.clone()
        } else {
            printed
        }
    }
}

fn attached(call: &Call) -> Vec<Value> {
    let blocks = call
        .content
        .iter()
        .filter(|item| str_of(item, "type") == Some("content"))
        .filter_map(|item| item.get("content"));
    blocks
        .filter_map(|block| match content::held(block) {
            Held::Attachment(attachment) => Some(attachment),
            Held::Audio(_) => Some(content::attachment(block, "audio/*")),
            Held::Text(_) | Held::Unknown => None,
        })
        .collect()
}

fn exit_code(call: &Call, text: &str, failed: bool) -> Option<i64> {
    let metadata = call.raw_output.get("metadata").unwrap_or(&Value::Null);
    let said = [metadata, &call.raw_output].into_iter().find_map(|held| {
        ["exit", "exitCode", "exit_code"]
            .iter()
            .find_map(|key| held.get(*key).and_then(Value::as_i64))
    });
    // Claude Code says it in the first line of a failure.
    said.or_else(|| {
        let first = text.lines().next().filter(|_| failed)?;
        first.strip_prefix("Exit code ")?.trim().parse().ok()
    })
}

fn summary(
    call: &Call,
    name: &str,
    text: &str,
    failed: bool,
    exit_code: Option<i64>,
) -> Option<String> {
    let metadata = call.raw_output.get("metadata");
    if !failed
        && opencode::tool_kind(name) != "other"
        && let Some(metadata) = metadata.filter(|metadata| metadata.is_object())
    {
        let state = serde_json::json!({"input": call.args, "metadata": metadata});
        return opencode::tool_summary(name, &state, text);
    }
    if claude::tool_kind(name) != "other" {
        let response = Some(&call.response).filter(|response| response.is_object());
        return claude::tool_summary(name, &call.args, response, text, failed, exit_code);
    }
    let mut lines = text.lines().map(str::trim);
    lines.find(|line| !line.is_empty()).map(one_line)
}
