//! Calls of tools, what they give, and the files they change.

use chat_event::Json;
use chat_event::payload::{Plan, ToolResult};
use serde_json::{Value, json};

use super::{FORMAT, Kimi};
use crate::emit::Emitter;
use crate::tool::{self, attached};
use crate::track::{Call, NewCall, tool_error};
use crate::untold_edits::edit_by_args;
use crate::value::{count_of, is_true, list_of, str_of, text_of};
use crate::words::{one_line, printed};

/// So many files are known to be new.
const MOST_NEW_FILES: usize = 1000;

/// What a call is about, in the order of what says most.
const TITLES: [&str; 11] = [
    "command",
    "path",
    "pattern",
    "url",
    "query",
    "description",
    "objective",
    "skill",
    "task_id",
    "cron",
    "status",
];

impl Kimi {
    pub(super) fn call(&mut self, emitter: &mut Emitter, response: &str, event: &Value) {
        let Some(id) = text_of(event, "toolCallId").or_else(|| text_of(event, "uuid")) else {
            return emitter.raw(&self.track.place(), FORMAT, "call without an id", event);
        };
        let name = str_of(event, "name").unwrap_or("");
        let args = event.get("args").unwrap_or(&Value::Null);
        let id = self.own(id);
        let new = NewCall {
            id: &id,
            response_id: response,
            name,
            args,
            title: title(args)
                .or_else(|| text_of(event, "description"))
                .map(one_line),
            kind: kind_of(name),
        };
        let waits = self.track.waiting(&id).is_some();
        let call_id = self.track.call(emitter, new);
        if let Some(plan) = plan(name, args).filter(|_| !waits) {
            let place = self.track.place().in_response(response);
            emitter.add_as(&format!("{call_id}:plan"), &place, plan);
        }
    }

    pub(super) fn result(&mut self, emitter: &mut Emitter, event: &Value) {
        let id = self.own(text_of(event, "toolCallId").unwrap_or(""));
        let told = event.get("result").unwrap_or(&Value::Null);
        let (output, attachments) = match told.get("output") {
            Some(Value::String(text)) => (text.clone(), Vec::new()),
            Some(Value::Array(blocks)) => {
                let texts = blocks.iter().filter_map(|block| str_of(block, "text"));
                let attachments = blocks.iter().filter_map(attachment);
                (texts.collect::<Vec<_>>().join("\n"), attachments.collect())
            }
            _ => (String::new(), Vec::new()),
        };
        let failed = is_true(told, "isError");
        let code = match self.turns.is_cancelled() {
            true => "interrupted",
            false => "error",
        };
        let goes_on = self.tasks.goes_on(&id) && !failed;
        let exit_code = exit_code(&output).filter(|_| failed);
        let result = ToolResult {
            result: Json::string(&output),
            error: failed.then(|| tool_error(code, &output)),
            summary: printed(&output).filter(|_| !failed && !goes_on),
            exit_code,
            duration_ms: count_of(told, "durationMs"),
            background: goes_on.then_some(true),
            extra: attached(attachments),
            ..ToolResult::default()
        };
        let Some(call) = self.track.result(emitter, &id, result) else {
            if self.turns.is_stopped() {
                return emitter.pass_over("result of a call that was stopped");
            }
            return emitter.raw(&self.track.place(), FORMAT, "result without a call", event);
        };
        if !failed {
            self.edited(emitter, &call);
        }
        self.task_left(emitter, &id, call, goes_on);
    }

    fn edited(&mut self, emitter: &mut Emitter, call: &Call) {
        let Some(path) = text_of(&call.args, "path").filter(|_| kind_of(&call.name) == "edit")
        else {
            return;
        };
        let mut edit = edit_by_args(&call.id, &call.name, &call.args, path);
        if self.new_files.remove(&self.whole_path(path)) {
            "created".clone_into(&mut edit.change_type);
        }
        self.track.edit(emitter, call, edit);
    }

    /// `file_history.tracked`: what a file was before a call changes it, if it was.
    pub(super) fn tracked(&mut self, emitter: &mut Emitter, line: &Value) {
        let entry = line.get("entry").unwrap_or(&Value::Null);
        let is_new = entry.get("key").is_some_and(Value::is_null);
        if let Some(path) = text_of(line, "path").filter(|_| is_new)
            && self.new_files.len() < MOST_NEW_FILES
        {
            self.new_files.insert(self.whole_path(path));
        }
        emitter.pass_over("file_history.tracked");
    }

    /// A path as calls have it, where lines beside them tell it from the session's folder.
    fn whole_path(&self, path: &str) -> String {
        let is_whole = path.starts_with(['/', '\\']) || path.as_bytes().get(1) == Some(&b':');
        match self.track.facts.cwd().filter(|_| !is_whole) {
            Some(cwd) => {
                let is_windows = cwd.contains('\\') && !cwd.contains('/');
                let slash = if is_windows { '\\' } else { '/' };
                format!("{cwd}{slash}{path}")
            }
            None => path.to_owned(),
        }
    }
}

pub(super) fn title(args: &Value) -> Option<&str> {
    let question = || text_of(list_of(args, "questions").first()?, "question");
    let said = TITLES.iter().find_map(|key| text_of(args, key));
    said.or_else(question)
}

/// With which code a command ended that failed.
pub(super) fn exit_code(output: &str) -> Option<i64> {
    let (_, code) = output.rsplit_once("Command failed with exit code: ")?;
    code.trim_end_matches(['.', '\n']).parse().ok()
}

/// A picture, a sound or a film among the blocks of a result or a prompt: `{type: "image_url", imageUrl: {url}}` and the like.
pub(super) fn attachment(block: &Value) -> Option<Value> {
    let kind = str_of(block, "type")?.strip_suffix("_url")?;
    let held = [format!("{kind}Url"), format!("{kind}_url")];
    let held = held.iter().find_map(|key| block.get(key))?;
    let at = text_of(held, "url").or_else(|| held.as_str())?;
    let data = at
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"));
    Some(match data {
        Some((media_type, data)) => json!({"mediaType": media_type, "data": data}),
        None => json!({"mediaType": format!("{kind}/*"), "ref": at}),
    })
}

/// The list that a call of `TodoList` writes; without `todos` it reads it.
pub(super) fn plan(name: &str, args: &Value) -> Option<Plan> {
    let todos = args.get("todos").and_then(Value::as_array);
    let todos = todos.filter(|_| name == "TodoList")?;
    Some(tool::todo_list(todos, "title"))
}

/// The kind of a tool, after `design/events.md`.
pub(super) fn kind_of(name: &str) -> &'static str {
    match name {
        "Read" | "ReadMediaFile" => "read",
        "Write" | "Edit" => "edit",
        "Grep" | "Glob" => "search",
        "Bash" => "execute",
        "FetchURL" | "WebSearch" => "fetch",
        "Agent" | "AgentSwarm" => "agent",
        "TodoList" | "EnterPlanMode" | "ExitPlanMode" => "plan",
        _ => "other",
    }
}
