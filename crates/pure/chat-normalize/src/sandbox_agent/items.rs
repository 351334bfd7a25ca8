//! Items that are no messages: calls and notes; results stand in `results`.
//!
//! A call that is completed is known, it has not run; its result is an item of its own with the same `call_id`.

use chat_event::payload::{Notice, ToolCall};
use chat_event::{Extra, Json};
use serde_json::{Map, Value};

use super::FORMAT;
use super::events::SandboxAgent;
use super::parts::text_part;
use crate::emit::{Emitter, Place, hash};
use crate::tool;
use crate::value::{list_of, str_of, text_of};

/// A call without a result.
#[derive(Debug)]
pub(crate) struct Call {
    /// The id its events bear.
    pub(super) id: String,
    pub(super) order: u64,
    /// The hash of the item it stands in, where it was read.
    item: Option<u64>,
    pub(super) name: String,
    pub(super) args: Value,
    pub(super) place: Place,
    announced: bool,
    pub(super) n_outputs: u64,
}

/// The last call of an id, which is over.
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
                self.leave(emitter);
                let parent = text_of(item, "parent_id");
                for part in content {
                    if str_of(part, "type") == Some("tool_call") {
                        self.name_item(item, part);
                        self.call_part(emitter, &key, part, parent, whole);
                    } else {
                        let place = self.quiet_place();
                        emitter.raw(&place, FORMAT, "a part of a call", part);
                    }
                }
            }
            Some("tool_result") => {
                self.leave(emitter);
                self.result_item(emitter, item, whole);
            }
            Some("system" | "status") if !whole => emitter.pass_over("a note that begins"),
            Some("system" | "status") => {
                if content.is_empty() {
                    emitter.pass_over("an empty note");
                }
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
                n_outputs: 0,
            };
            self.calls.insert(id.clone(), call);
            self.unanswered.forget(&id);
        }
        if let Some(call) = self.calls.get_mut(&id) {
            if !call.announced {
                str_of(part, "name")
                    .unwrap_or("")
                    .clone_into(&mut call.name);
                call.args = args;
            }
            // What is begun with arguments has all of them, and may run for long.
            let has_args = call.args.as_object().is_some_and(|args| !args.is_empty());
            if whole || has_args {
                call.announce(emitter);
            }
        }
    }

    /// Whether the call is over, with a result or without.
    pub(super) fn is_over(&self, native: &str) -> bool {
        self.over.contains_key(&hash(native.as_bytes()))
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

    /// Ends the call `id`: its result is to be told.
    pub(super) fn end_call(&mut self, emitter: &mut Emitter, id: &str) -> Option<Call> {
        let mut call = self.calls.remove(id)?;
        let over = self.over.entry(hash(id.as_bytes())).or_insert(Over {
            item: None,
            turn: 0,
            uses: 0,
        });
        over.item = call.item;
        over.turn = self.n_turns;
        over.uses = over.uses.saturating_add(1);
        call.announce(emitter);
        Some(call)
    }
}

impl Call {
    /// Whether another agent works for this one in it.
    pub(super) fn is_of_agent(&self) -> bool {
        tool::kind(&self.name) == "agent"
    }

    pub(super) fn announce(&mut self, emitter: &mut Emitter) {
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
