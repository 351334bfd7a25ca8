//! Items that are no messages: calls, results, notes.
//!
//! A call that is completed is known, it has not run; its result is an item of its own with the same `call_id`.

use chat_diff::{Change, from_unified};
use chat_event::payload::{FileEdit, Notice, Progress, ToolCall, ToolResult};
use chat_event::{Extra, Json};
use serde_json::{Map, Value};

use super::FORMAT;
use super::events::SandboxAgent;
use super::messages::text_part;
use crate::edit::file_edit;
use crate::emit::{Emitter, Place, hash};
use crate::tool;
use crate::value::{list_of, str_of, text_of};
use crate::words::one_line;

/// A call without a result.
#[derive(Debug)]
pub(crate) struct Call {
    /// The id its events bear.
    pub(super) id: String,
    pub(super) order: u64,
    /// The hash of the item it stands in, where it was read.
    item: Option<u64>,
    name: String,
    args: Value,
    place: Place,
    announced: bool,
}

/// The last call of an id, which has its result.
#[derive(Debug)]
pub(crate) struct Over {
    item: Option<u64>,
    turn: u64,
    /// How many calls bore the id.
    uses: u32,
}

impl SandboxAgent {
    /// `item.started` and `item.completed`.
    pub(super) fn item(&mut self, emitter: &mut Emitter, item: &Value, whole: bool) {
        let key = text_of(item, "item_id")
            .or_else(|| text_of(item, "native_item_id"))
            .unwrap_or("")
            .to_owned();
        let content = list_of(item, "content");
        match str_of(item, "kind") {
            Some("message") => self.message(emitter, &key, item, whole),
            Some("tool_call") => {
                self.flush(emitter);
                let parent = text_of(item, "parent_id");
                for part in parts(content, "tool_call") {
                    self.call_part(emitter, &key, part, parent, whole);
                }
            }
            Some("tool_result") => {
                self.flush(emitter);
                // What a result is begun with may not be all of it.
                if whole {
                    let failed = str_of(item, "status") == Some("failed");
                    for part in parts(content, "tool_result") {
                        self.result_part(emitter, part, failed, content);
                    }
                } else {
                    emitter.pass_over("a result that begins");
                }
            }
            Some("system" | "status") if !whole => emitter.pass_over("a note that begins"),
            Some("system" | "status") => {
                for part in content {
                    if str_of(part, "type") == Some("status") {
                        self.status_part(emitter, part);
                        continue;
                    }
                    let place = self.quiet_place();
                    match text_part(part) {
                        Some((_, text)) => {
                            let notice = Notice {
                                level: "info".to_owned(),
                                text,
                                source: Some("agent".to_owned()),
                                ..Notice::default()
                            };
                            emitter.add("notice", &place, notice);
                        }
                        None => emitter.raw(&place, FORMAT, "a part of a note", part),
                    }
                }
            }
            Some(_) | None => {
                let place = self.quiet_place();
                emitter.raw(&place, FORMAT, "an item of an unknown kind", item);
            }
        }
    }

    /// A call: written when it is completed, or when its result comes.
    pub(super) fn call_part(
        &mut self,
        emitter: &mut Emitter,
        item: &str,
        part: &Value,
        parent: Option<&str>,
        whole: bool,
    ) {
        let Some(id) = text_of(part, "call_id").map(str::to_owned) else {
            let place = self.place(emitter);
            return emitter.raw(&place, FORMAT, "a call without an id", part);
        };
        let item = (!item.is_empty()).then(|| hash(item.as_bytes()));
        let over = self.over.get(&hash(id.as_bytes()));
        // Some models count their calls anew with each answer: only the item of the call itself is not another one.
        let same = |over: &Over| item.is_none() || over.item.is_none() || over.item == item;
        if !self.calls.contains_key(&id)
            && over.is_some_and(|over| over.turn == self.n_turns && same(over))
        {
            return emitter.pass_over("a call that is over");
        }
        let place = self.place(emitter);
        let input = str_of(part, "arguments").unwrap_or("");
        let args = match part.get("arguments") {
            Some(Value::String(_)) | None => {
                serde_json::from_str(input).unwrap_or_else(|_| match input.trim() {
                    "" => Value::Object(Map::new()),
                    _ => Value::String(input.to_owned()),
                })
            }
            Some(args) => args.clone(),
        };
        if !self.calls.contains_key(&id) {
            self.n_calls += 1;
            let response = parent.map(|parent| {
                let message = self.messages.get(parent);
                message
                    .map_or(parent, |message| message.id.as_str())
                    .to_owned()
            });
            let call = Call {
                id: self.call_id(&id),
                order: self.n_calls,
                item,
                name: String::new(),
                args: Value::Null,
                place: place.in_response(response.as_deref().unwrap_or("")),
                announced: false,
            };
            self.calls.insert(id.clone(), call);
        }
        if let Some(call) = self.calls.get_mut(&id) {
            if !call.announced {
                str_of(part, "name")
                    .unwrap_or("")
                    .clone_into(&mut call.name);
                call.args = args;
            }
            if whole {
                call.announce(emitter);
            }
        }
    }

    /// The id that the events of the call `native` bear, if it runs or began now.
    pub(super) fn call_id(&self, native: &str) -> String {
        match (
            self.calls.get(native),
            self.over.get(&hash(native.as_bytes())),
        ) {
            (Some(call), _) => call.id.clone(),
            (None, Some(over)) => format!("{native}~{}", over.uses.saturating_add(1)),
            (None, None) => native.to_owned(),
        }
    }

    /// A result.
    pub(super) fn result_part(
        &mut self,
        emitter: &mut Emitter,
        part: &Value,
        failed: bool,
        beside: &[Value],
    ) {
        let place = self.place(emitter);
        let Some(id) = text_of(part, "call_id").map(str::to_owned) else {
            return emitter.raw(&place, FORMAT, "a result without a call", part);
        };
        if !self.calls.contains_key(&id) {
            if self.over.contains_key(&hash(id.as_bytes())) {
                return emitter.pass_over("a second result");
            }
            self.call_part(emitter, "", part, None, false);
        }
        let text = output_of(part.get("output").unwrap_or(&Value::Null));
        let call_place = self.calls.get(&id).map(|call| call.place.clone());
        let call_id = self.call_id(&id);
        self.end_call(emitter, &id, |id| ToolResult {
            tool_call_id: id.to_owned(),
            result: Json::string(&text),
            error: failed.then(|| {
                tool::error(
                    None,
                    if text.is_empty() {
                        "the tool failed"
                    } else {
                        &text
                    },
                )
            }),
            summary: text
                .lines()
                .map(str::trim)
                .find(|line| !line.is_empty())
                .map(one_line),
            ..ToolResult::default()
        });
        self.answered = true;
        if !failed {
            for file in parts(beside, "file_ref") {
                if let Some(edit) = edit_of(&call_id, file) {
                    let place = call_place.as_ref().unwrap_or(&place);
                    emitter.add_as(&format!("{call_id}:edit"), place, edit);
                }
            }
        }
    }

    /// Ends the call `id` with a result.
    pub(super) fn end_call(
        &mut self,
        emitter: &mut Emitter,
        id: &str,
        result: impl FnOnce(&str) -> ToolResult,
    ) {
        let Some(mut call) = self.calls.remove(id) else {
            return;
        };
        let over = self.over.entry(hash(id.as_bytes())).or_insert(Over {
            item: None,
            turn: 0,
            uses: 0,
        });
        over.item = call.item;
        over.turn = self.n_turns;
        over.uses = over.uses.saturating_add(1);
        call.announce(emitter);
        let payload = result(&call.id);
        emitter.add_as(&format!("{}:result", call.id), &call.place, payload);
    }

    pub(super) fn status_part(&mut self, emitter: &mut Emitter, part: &Value) {
        let place = self.quiet_place();
        let label = text_of(part, "label").unwrap_or("status");
        let message = match text_of(part, "detail") {
            Some(detail) => format!("{label}: {}", one_line(detail)),
            None => label.to_owned(),
        };
        let progress = Progress {
            message,
            ..Progress::default()
        };
        emitter.add("progress", &place, progress);
    }
}

impl Call {
    fn announce(&mut self, emitter: &mut Emitter) {
        if std::mem::replace(&mut self.announced, true) {
            return;
        }
        let payload = ToolCall {
            tool_call_id: self.id.clone(),
            tool_name: self.name.clone(),
            title: tool::title(&self.name, &self.args),
            kind: Some(tool::kind(&self.name).to_owned()),
            args: Json::from(&self.args),
            extra: Extra::default(),
        };
        emitter.add_as(&format!("{}:call", self.id), &self.place, payload);
    }
}

/// The parts of a kind.
fn parts<'a>(content: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    content
        .iter()
        .filter(move |part| str_of(part, "type") == Some(kind))
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

fn edit_of(call_id: &str, file: &Value) -> Option<FileEdit> {
    let path = text_of(file, "path")?;
    if !matches!(str_of(file, "action"), Some("write" | "patch")) {
        return None;
    }
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
