//! Tool calls of Cursor: `{"<kind>ToolCall": {args, result?}}`, or `{"function": {name, arguments}}` for others.

use chat_diff::{Change, diff_texts, from_unified};
use chat_event::Json;
use chat_event::payload::{FileEdit, Plan, ToolResult};
use serde_json::{Map, Value, json};

use super::{Cursor, FORMAT};
use crate::edit::{file_edit, named_edit, shown_path, with_old_text};
use crate::emit::Emitter;
use crate::tool;
use crate::track::{Call, NewCall, tool_error};
use crate::value::{count_of, list_of, str_of, text_of};
use crate::words::{one_line, printed};

/// What a line says of its call.
struct Told<'a> {
    name: String,
    args: Value,
    /// What it gave, by how it ended: `{"success": …}`, `{"rejected": …}`.
    result: &'a Value,
}

/// What a line tells of its call.
fn told_by(line: &Value) -> Told<'_> {
    let call = line.get("tool_call").unwrap_or(&Value::Null);
    let members = call.as_object().into_iter().flatten();
    let mut kinds = members.filter_map(|(key, held)| Some((key.strip_suffix("ToolCall")?, held)));
    let Some((kind, held)) = kinds.next() else {
        let function = call.get("function").unwrap_or(&Value::Null);
        let input = str_of(function, "arguments").unwrap_or("");
        return Told {
            name: str_of(function, "name").unwrap_or("tool").to_owned(),
            args: serde_json::from_str(input).unwrap_or_else(|_| Value::from(input)),
            result: call.get("result").unwrap_or(&Value::Null),
        };
    };
    let args = held.get("args").unwrap_or(&Value::Null);
    // A tool of a server bears that tool's name, and its arguments stand within.
    let (name, args) = match text_of(args, "toolName").filter(|_| kind == "mcp") {
        Some(name) => (name, args.get("args").unwrap_or(&Value::Null)),
        None => (kind, args),
    };
    Told {
        name: name.to_owned(),
        args: without_bookkeeping(args),
        result: held.get("result").unwrap_or(&Value::Null),
    }
}

/// The arguments as the model gave them: the program writes what it made of a command beside them.
fn without_bookkeeping(args: &Value) -> Value {
    const ADDED: [&str; 7] = [
        "toolCallId",
        "simpleCommands",
        "hasInputRedirect",
        "hasOutputRedirect",
        "parsingResult",
        "requestedSandboxPolicy",
        "fileOutputThresholdBytes",
    ];
    match args {
        Value::Object(members) => {
            let members = members.iter();
            let kept = members.filter(|(name, _)| !ADDED.contains(&name.as_str()));
            let kept: Map<String, Value> = kept
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            Value::Object(kept)
        }
        other => other.clone(),
    }
}

/// The kind of a tool, after `design/events.md`.
fn kind(name: &str) -> &'static str {
    match name {
        "shell" => "execute",
        // What runs was counted where it was started.
        "writeShellStdin" | "await" => "other",
        "read" | "readLints" => "read",
        "write" | "edit" | "delete" | "applyPatch" => "edit",
        "ls" | "glob" | "grep" | "search" | "semSearch" => "search",
        "fetch" | "webFetch" | "webSearch" => "fetch",
        "todo" | "updateTodos" | "readTodos" | "createPlan" | "switchMode" => "plan",
        "task" => "agent",
        _ => tool::kind(name),
    }
}

fn title(args: &Value) -> Option<String> {
    let keys = [
        "command",
        "path",
        "pattern",
        "globPattern",
        "query",
        "searchTerm",
        "url",
        "description",
    ];
    keys.iter().find_map(|key| text_of(args, key)).map(one_line)
}

/// A list of what is to be done, in the program's words or its protocol's.
fn plan(name: &str, args: &Value, result: &Value) -> Option<Plan> {
    if !matches!(name, "todo" | "updateTodos") {
        return None;
    }
    // What the result has is all of it; a call may change a part.
    let given = result
        .get("success")
        .map_or(&[][..], |given| list_of(given, "todos"));
    let todos = if given.is_empty() {
        list_of(args, "todos")
    } else {
        given
    };
    let entries: Vec<Value> = todos
        .iter()
        .map(|todo| {
            let status = str_of(todo, "status").unwrap_or("").to_ascii_lowercase();
            let status = status.strip_prefix("todo_status_").unwrap_or(&status);
            json!({"content": str_of(todo, "content").unwrap_or(""), "status": status})
        })
        .collect();
    (!entries.is_empty()).then(|| tool::todo_list(&entries, "content"))
}

impl Cursor {
    pub(super) fn called(&mut self, emitter: &mut Emitter, line: &Value) {
        let Some(id) = text_of(line, "call_id") else {
            return emitter.raw(&self.run.track.place(), FORMAT, "call without an id", line);
        };
        let told = told_by(line);
        let response = self.run.response(emitter, None);
        let new = NewCall {
            id,
            response_id: &response,
            name: &told.name,
            args: &told.args,
            title: title(&told.args),
            kind: kind(&told.name),
        };
        self.run.track.call(emitter, new);
    }

    pub(super) fn completed(&mut self, emitter: &mut Emitter, line: &Value) {
        let id = text_of(line, "call_id").unwrap_or("");
        if self.run.track.waiting(id).is_none() {
            self.called(emitter, line);
        }
        let told = told_by(line);
        self.run.next_response();
        let result = result(told.result, &told.name);
        let failed = result.error.is_some();
        let Some(call) = self.run.track.result(emitter, id, result) else {
            return;
        };
        let given = told.result.get("success").unwrap_or(&Value::Null);
        if let Some(plan) = plan(&call.name, &call.args, told.result).filter(|_| !failed) {
            emitter.add_as(&format!("{}:plan", call.id), &call.place, plan);
        }
        if let Some(edit) = self.edit(&call, given).filter(|_| !failed) {
            self.run.track.edit(emitter, &call, edit);
        }
    }

    fn edit(&self, call: &Call, given: &Value) -> Option<FileEdit> {
        if kind(&call.name) != "edit" {
            return None;
        }
        let path = text_of(given, "path").or_else(|| text_of(&call.args, "path"))?;
        let shown = shown_path(self.run.track.facts.cwd().as_deref(), path);
        let before = str_of(given, "beforeFullFileContent");
        if call.name == "delete" {
            let before = before.or_else(|| str_of(given, "prevContent"));
            return Some(match before {
                Some(before) => file_edit(&call.id, path, &diff_texts(&shown, Some(before), None)),
                None => named_edit(&call.id, path, Change::Deleted),
            });
        }
        let after = str_of(given, "afterFullFileContent");
        let unified = str_of(given, "diffString").unwrap_or("");
        let is_new = unified.starts_with("--- /dev/null");
        if let Some(after) = after
            && (before.is_some() || is_new)
        {
            let diff = diff_texts(&shown, before.filter(|_| !is_new), Some(after));
            return Some(with_old_text(file_edit(&call.id, path, &diff), before));
        }
        let change = if is_new {
            Change::Created
        } else {
            Change::Modified
        };
        if let Some(diff) = from_unified(&shown, None, change, unified) {
            return Some(file_edit(&call.id, path, &diff));
        }
        let lines = |key: &str| {
            let count = count_of(given, key).unwrap_or(0);
            u32::try_from(count).unwrap_or(u32::MAX)
        };
        Some(FileEdit {
            lines_added: lines("linesAdded"),
            lines_removed: lines("linesRemoved"),
            ..named_edit(&call.id, path, change)
        })
    }
}

/// What a call gave.
fn result(told: &Value, name: &str) -> ToolResult {
    let members = told.as_object().into_iter().flatten();
    let mut ends = members.filter(|(_, held)| !held.is_null());
    let (end, given) = match ends.next() {
        Some((end, given)) => (end.as_str(), given),
        None => ("success", &Value::Null),
    };
    let rejected = end == "rejected";
    let part = |key| str_of(given, key).unwrap_or("");
    let output = match part("interleavedOutput") {
        "" => [part("stdout"), part("stderr")].concat(),
        both => both.to_owned(),
    };
    let words = [
        "content",
        "message",
        "output",
        "errorMessage",
        "error",
        "reason",
    ];
    let mut words = words.iter().filter_map(|key| text_of(given, key));
    // What was edited is shown as a diff.
    let is_edit = kind(name) == "edit";
    let text = match (output.is_empty(), words.next()) {
        (false, _) => output,
        (true, Some(words)) => words.to_owned(),
        (true, None) if given.get("stdout").is_some() || is_edit || rejected || given.is_null() => {
            String::new()
        }
        (true, None) => given
            .as_str()
            .map_or_else(|| given.to_string(), str::to_owned),
    };
    let failed = end != "success";
    let why = match (rejected, text.trim().is_empty()) {
        (true, _) => "the call was rejected",
        (false, true) => end,
        (false, false) => text.trim(),
    };
    ToolResult {
        result: Json::string(&text),
        error: failed.then(|| tool_error(end, why)),
        exit_code: given.get("exitCode").and_then(Value::as_i64),
        duration_ms: count_of(given, "executionTime"),
        summary: printed(&text).filter(|_| !failed),
        ..ToolResult::default()
    }
}
