//! Calls of tools, their results, and the files they changed.

use chat_diff::{Change, from_unified};
use chat_event::Json;
use chat_event::payload::ToolResult;
use serde_json::Value;

use super::{Copilot, FORMAT};
use crate::codex::of_patch_text;
use crate::edit::{file_edit, named_edit, shown_path};
use crate::emit::Emitter;
use crate::tool::attached;
use crate::track::{Call, NewCall, tool_error};
use crate::value::{count_of, list_of, str_of, text_of};
use crate::words::{counted, one_line};

impl Copilot {
    /// A call, as an answer asks for it or as it begins.
    pub(super) fn call(
        &mut self,
        emitter: &mut Emitter,
        response: &str,
        call: &Value,
        name: &str,
        title: Option<&str>,
    ) {
        let Some(id) = text_of(call, "toolCallId") else {
            return emitter.raw(&self.track.place(), FORMAT, "call without an id", call);
        };
        let args = match call.get("arguments") {
            // Some tools are called with a text of their own, as `apply_patch` is.
            Some(Value::String(text)) => {
                serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))
            }
            Some(args) => args.clone(),
            None => Value::Null,
        };
        let keys = [
            "command",
            "path",
            "pattern",
            "url",
            "description",
            "agent_id",
            "shellId",
        ];
        let shown = keys.iter().find_map(|key| text_of(&args, key)).or(title);
        let new = NewCall {
            id,
            response_id: response,
            name,
            args: &args,
            title: shown.map(one_line),
            kind: kind_of(name),
        };
        self.track.call(emitter, new);
    }

    pub(super) fn result(&mut self, emitter: &mut Emitter, event: &Value, data: &Value) {
        let id = text_of(data, "toolCallId").unwrap_or("");
        let told = data.get("result").unwrap_or(&Value::Null);
        let content = str_of(told, "content").unwrap_or("");
        let failed = data.get("success").and_then(Value::as_bool) == Some(false);
        let error = data.get("error").unwrap_or(&Value::Null);
        let why = text_of(error, "message");
        let code = text_of(error, "code");
        let code = code.filter(|code| matches!(*code, "rejected" | "denied" | "interrupted"));
        let code = code.unwrap_or("error");
        let metrics = data
            .get("toolTelemetry")
            .and_then(|telemetry| telemetry.get("metrics"))
            .unwrap_or(&Value::Null);
        let is_command = (self.track.waiting(id)).is_some_and(|call| is_of_shell(&call.name));
        let (said, exit_code) = exited(content).filter(|_| is_command).unzip();
        let said = said.unwrap_or(content);
        let execution = data.get("shellExecution").unwrap_or(&Value::Null);
        let exit_code = execution
            .get("exitCode")
            .and_then(Value::as_i64)
            .or(exit_code);
        let n_lines = said.trim_end().lines().count();
        let images = list_of(told, "binaryResultsForLlm").iter();
        let images = images.map(|image| self.attached(image)).collect();
        self.asks_end(emitter, id, !failed);
        self.printed.forget(id);
        let result = ToolResult {
            result: Json::string(said),
            error: failed.then(|| tool_error(code, why.unwrap_or(content))),
            exit_code,
            summary: match n_lines {
                0 => None,
                1 => Some(one_line(said)),
                _ => Some(counted(n_lines, "line", "lines")),
            }
            .filter(|_| !failed),
            duration_ms: count_of(metrics, "durationMs"),
            extra: attached(images),
            ..ToolResult::default()
        };
        let Some(call) = self.track.result(emitter, id, result) else {
            return emitter.raw(&self.track.place(), FORMAT, "result without a call", event);
        };
        if !failed && kind_of(&call.name) == "edit" {
            self.edit(
                emitter,
                &call,
                str_of(told, "detailedContent").unwrap_or(""),
            );
        }
    }

    fn edit(&mut self, emitter: &mut Emitter, call: &Call, unified: &str) {
        let cwd = self.track.facts.cwd();
        if let Some(changes) = call
            .args
            .as_str()
            .and_then(|text| of_patch_text(text, None))
        {
            for change in changes {
                let edit = self.files.edit(&call.id, cwd.as_deref(), &change);
                self.track.edit(emitter, call, edit);
            }
            return;
        }
        let Some(path) = text_of(&call.args, "path") else {
            return;
        };
        let shown = shown_path(cwd.as_deref(), path);
        let change = match call.name.as_str() {
            "create" => Change::Created,
            _ => Change::Modified,
        };
        let edit = match from_unified(&shown, None, change, unified) {
            Some(diff) => file_edit(&call.id, path, &diff),
            None => named_edit(&call.id, path, change),
        };
        self.track.edit(emitter, call, edit);
    }
}

/// What a command said before the line that tells its exit code, and that code: `<exited with exit code 3>`, and since 1.0.102
/// `<shellId: 0 completed with exit code 3>`.
fn exited(content: &str) -> Option<(&str, i64)> {
    let content = content.trim_end();
    let (said, last) = content.rsplit_once('\n').unwrap_or(("", content));
    let (begin, code) = last.strip_suffix('>')?.rsplit_once(" with exit code ")?;
    let shell = begin.strip_prefix("<shellId: ");
    let is_marker = begin == "<exited" || shell.is_some_and(|it| it.ends_with(" completed"));
    Some((said, code.parse().ok().filter(|_| is_marker)?))
}

/// Whether a tool gives what commands print, and says how they ended: one that runs them or looks after them.
fn is_of_shell(name: &str) -> bool {
    let looks = ["_bash", "_powershell"];
    kind_of(name) == "execute" || looks.iter().any(|end| name.ends_with(end))
}

/// The kind of a tool, after `design/events.md`.
fn kind_of(name: &str) -> &'static str {
    match name {
        "view" | "read" | "read_file" => "read",
        "edit" | "create" | "str_replace" | "write" | "apply_patch" => "edit",
        "grep" | "glob" | "rg" => "search",
        "bash" | "shell" | "powershell" => "execute",
        "web_fetch" | "fetch" | "web_search" => "fetch",
        "task" | "read_agent" | "list_agents" | "write_agent" => "agent",
        "update_todo" | "exit_plan_mode" => "plan",
        // Those that look after a command that runs, or end it, are among the others (`read_bash`, `write_bash`, `stop_bash`,
        // `list_bash`): it was counted where it was started.
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_after_a_command_is_none() {
        let kinds = ["bash", "read_bash", "write_bash", "stop_bash", "list_bash"].map(kind_of);
        assert_eq!(kinds, ["execute", "other", "other", "other", "other"]);
    }
}
