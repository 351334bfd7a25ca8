//! What calls gave: while they ran, and in the end.
//!
//! The output of a command comes as pieces of the item that is the call, or that will be its result. Codex's results say
//! in a `json` part how they ended; such an item may have no other part.

use chat_diff::{Change, from_unified};
use chat_event::payload::{FileEdit, ToolOutputChunk, ToolResult};
use chat_event::{Extra, Json};
use serde_json::{Value, json};

use super::FORMAT;
use super::events::SandboxAgent;
use super::parts::attachment;
use crate::codex::of_item;
use crate::edit::{edits_summary, file_edit};
use crate::emit::Emitter;
use crate::tool;
use crate::value::{list_of, str_of, text_of};
use crate::words::one_line;

/// What stands beside the output in a result's item.
#[derive(Debug, Default)]
pub(super) struct Beside {
    failed: bool,
    details: Option<Value>,
    attached: Vec<Value>,
    files: Vec<Value>,
}

impl SandboxAgent {
    /// Notes that this item is the call that its part names, or its result.
    pub(super) fn name_item(&mut self, item: &Value, part: &Value) {
        let Some(call) = text_of(part, "call_id") else {
            return;
        };
        for id in ids_of(item) {
            self.tools.insert(id, call.to_owned());
        }
    }

    /// The call that a piece is of, where it is of one.
    pub(super) fn call_of(&self, data: &Value) -> Option<String> {
        ids_of(data).find_map(|id| self.tools.get(id)).cloned()
    }

    /// A piece of what a tool prints.
    pub(super) fn output(&mut self, emitter: &mut Emitter, call: &str, chunk: &str) {
        let Some(call) = self.calls.get_mut(call).filter(|_| !chunk.is_empty()) else {
            return emitter.pass_over("output of no open call");
        };
        call.announce(emitter);
        call.n_outputs += 1;
        let payload = ToolOutputChunk {
            tool_call_id: call.id.clone(),
            chunk: chunk.to_owned(),
            ..ToolOutputChunk::default()
        };
        let id = format!("{}:output.{}", call.id, call.n_outputs);
        emitter.add_as(&id, &call.place, payload);
    }

    /// An item that is the result of a call.
    pub(super) fn result_item(&mut self, emitter: &mut Emitter, item: &Value, whole: bool) {
        let content = list_of(item, "content");
        let is_result = |part: &&Value| str_of(part, "type") == Some("tool_result");
        if !whole {
            // What a result is begun with may not be all of it.
            for part in content.iter().filter(is_result) {
                self.name_item(item, part);
            }
            return emitter.pass_over("a result that begins");
        }
        let mut beside = Beside {
            failed: str_of(item, "status") == Some("failed"),
            ..Beside::default()
        };
        let mut unread = Vec::new();
        for part in content.iter().filter(|part| !is_result(part)) {
            match (str_of(part, "type"), attachment(part)) {
                (Some("json"), _) if beside.details.is_none() && part.get("json").is_some() => {
                    beside.details = part.get("json").cloned();
                }
                (Some("file_ref"), _) if is_edit(part) => beside.files.push(part.clone()),
                (Some("file_ref" | "image"), Some(attached)) => beside.attached.push(attached),
                _ => unread.push(part),
            }
        }
        let status = beside.details.as_ref().and_then(|it| str_of(it, "status"));
        beside.failed |= matches!(status, Some("Failed" | "Declined"));
        let mut parts: Vec<Value> = content.iter().filter(is_result).cloned().collect();
        if parts.is_empty() {
            let call = self.call_of(item);
            // The item of a call that was not told bears the call's id.
            let native = || text_of(item, "native_item_id").map(str::to_owned);
            let call = call.or_else(|| native().filter(|_| beside.details.is_some()));
            match call {
                Some(call) => parts.push(json!({"call_id": call})),
                None => {
                    let place = self.quiet_place();
                    return emitter.raw(&place, FORMAT, "a result without a call", item);
                }
            }
        }
        for part in parts {
            self.name_item(item, &part);
            self.result_part(emitter, &part, std::mem::take(&mut beside));
        }
        for part in unread {
            let place = self.quiet_place();
            emitter.raw(&place, FORMAT, "a part of a result", part);
        }
    }

    /// A result. One that comes behind the end of its turn stands in that turn, with its call.
    pub(super) fn result_part(&mut self, emitter: &mut Emitter, part: &Value, beside: Beside) {
        let Some(id) = text_of(part, "call_id").map(str::to_owned) else {
            let place = self.quiet_place();
            return emitter.raw(&place, FORMAT, "a result without a call", part);
        };
        if !self.calls.contains_key(&id) {
            let is_late = self.unanswered.contains(&id);
            if self.is_over(&id) && !is_late {
                return emitter.pass_over("a second result");
            }
            if !is_late {
                let call = call_of_details(&id, beside.details.as_ref());
                self.call_part(emitter, "", &call, None, false);
            }
        }
        let (call_id, place) = match self.end_call(emitter, &id) {
            Some(call) => {
                self.settle_ask(emitter, &id, &call, beside.failed);
                self.answered = true;
                (call.id, call.place)
            }
            None => match self.unanswered.take_back(&id) {
                Some(given_up) => (given_up.call_id, given_up.place),
                None => return,
            },
        };
        let text = output_of(part.get("output").unwrap_or(&Value::Null));
        let edits = match beside.failed {
            true => Vec::new(),
            false => self.edits(&call_id, &text, &beside),
        };
        let mut extra = Extra::default();
        if let Some(details) = &beside.details {
            extra.insert("details", Json::from(details));
        }
        if !beside.attached.is_empty() {
            extra.insert("attachments", Json::from(Value::Array(beside.attached)));
        }
        let first_line = || text.lines().map(str::trim).find(|line| !line.is_empty());
        let failed = || match text.is_empty() {
            true => tool::error(None, "the tool failed"),
            false => tool::error(None, &text),
        };
        let result = ToolResult {
            tool_call_id: call_id.clone(),
            result: Json::string(&text),
            error: beside.failed.then(failed),
            summary: match edits.is_empty() {
                true => first_line().map(one_line),
                false => Some(edits_summary(&edits)),
            },
            extra,
            ..ToolResult::default()
        };
        emitter.add_as(&format!("{call_id}:result"), &place, result);
        for edit in edits {
            emitter.add_as(&format!("{call_id}:edit"), &place, edit);
        }
    }

    /// The files that a call changed: as Codex lists them, else as the item refers to them.
    fn edits(&mut self, call_id: &str, output: &str, beside: &Beside) -> Vec<FileEdit> {
        let said: Option<Value> = output
            .starts_with("{\"changes\"")
            .then(|| serde_json::from_str(output).ok())
            .flatten();
        let said = said.as_ref().or(beside.details.as_ref());
        let changes = said.and_then(|said| said.get("changes"));
        let changes = changes.map(of_item).unwrap_or_default();
        if changes.is_empty() {
            let files = beside.files.iter();
            return files.filter_map(|file| edit_of(call_id, file)).collect();
        }
        let cwd = self.cwd();
        let edits = changes
            .iter()
            .map(|change| self.files.edit(call_id, cwd.as_deref(), change));
        edits.collect()
    }
}

/// The ids of an item, or those that a piece names.
pub(super) fn ids_of(item: &Value) -> impl Iterator<Item = &str> {
    let ids = ["item_id", "native_item_id"].into_iter();
    ids.filter_map(|key| text_of(item, key))
}

/// A call of which only the result tells.
fn call_of_details(id: &str, details: Option<&Value>) -> Value {
    let details = details.unwrap_or(&Value::Null);
    let said = |names: &[&str]| {
        let named = names.iter().filter_map(|name| {
            let value = details.get(*name).filter(|value| !value.is_null())?;
            Some(((*name).to_owned(), value.clone()))
        });
        Value::Object(named.collect())
    };
    if details.get("command").is_some() {
        let args = said(&["command", "cwd"]);
        return json!({"call_id": id, "name": "command_execution", "arguments": args});
    }
    if details.get("changes").is_some() {
        let args = said(&["changes"]);
        return json!({"call_id": id, "name": "file_change", "arguments": args});
    }
    json!({"call_id": id})
}

/// The text of an output, which converters write as the JSON of what the agent gave.
fn output_of(output: &Value) -> String {
    let Some(text) = output.as_str() else {
        return if output.is_null() {
            String::new()
        } else {
            output.to_string()
        };
    };
    match serde_json::from_str(text) {
        Ok(Value::String(inner)) => inner,
        Ok(Value::Array(blocks)) if !blocks.is_empty() => {
            let texts: Option<Vec<&str>> =
                blocks.iter().map(|block| str_of(block, "text")).collect();
            texts.map_or_else(|| text.to_owned(), |texts| texts.join("\n"))
        }
        _ => text.to_owned(),
    }
}

fn is_edit(file: &Value) -> bool {
    matches!(str_of(file, "action"), Some("write" | "patch")) && text_of(file, "path").is_some()
}

fn edit_of(call_id: &str, file: &Value) -> Option<FileEdit> {
    let path = text_of(file, "path")?;
    let shown = path.trim_start_matches('/');
    let diff =
        text_of(file, "diff").and_then(|diff| from_unified(shown, None, Change::Modified, diff));
    Some(match diff {
        Some(diff) => file_edit(call_id, path, &diff),
        None => FileEdit {
            tool_call_id: call_id.to_owned(),
            file_path: path.to_owned(),
            change_type: Change::Modified.as_str().to_owned(),
            ..FileEdit::default()
        },
    })
}
