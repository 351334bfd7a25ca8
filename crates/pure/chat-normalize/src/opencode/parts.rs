//! Parts: which rule is for which, and the prompt that is put together of its own.

use chat_event::payload::Notice;
use chat_event::{Extra, Json};
use serde_json::{Value, json};

use super::session::Session;
use super::texts::{Kind, Part};
use crate::emit::{Emitter, Place};
use crate::value::{is_true, str_of, text_of};

/// What the program tells the model of a command that the user ran.
const RAN: &str = "The following tool was executed by the user";

/// A message of the user that is put together from its parts.
#[derive(Debug, Default)]
pub(crate) struct Prompt {
    pub(crate) session: String,
    pub(crate) message_id: String,
    pub(crate) texts: Vec<String>,
    pub(crate) attachments: Vec<Value>,
    pub(crate) time_ms: i64,
    /// The program wrote it itself.
    pub(super) own: bool,
    /// The user ran a command (`!`), which stands in the answer.
    pub(super) ran: bool,
}

impl Prompt {
    pub(crate) fn is_empty(&self) -> bool {
        !self.own && !self.says_something()
    }

    pub(crate) fn says_something(&self) -> bool {
        !self.texts.is_empty() || !self.attachments.is_empty()
    }

    /// Whether a person did something.
    pub(crate) fn is_a_persons(&self) -> bool {
        self.says_something() || self.ran
    }
}

/// A part of a message as it is now, and which it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct SaidPart<'a> {
    /// The session that says it.
    pub(super) native_id: &'a str,
    pub(super) message_id: &'a str,
    pub(super) id: &'a str,
    pub(super) value: &'a Value,
    /// It is never said again.
    pub(super) whole: bool,
}

impl Session {
    /// A part as it is now. `whole` where it is never said again.
    pub(crate) fn part(
        &mut self,
        emitter: &mut Emitter,
        native_id: &str,
        part: &Value,
        whole: bool,
    ) {
        let kind = str_of(part, "type").unwrap_or("");
        let (Some(id), Some(message_id)) = (text_of(part, "id"), text_of(part, "messageID")) else {
            let place = self.place(native_id);
            return emitter.raw(&place, self.format, "part without ids", part);
        };
        let of_user = match self.messages.get(message_id) {
            Some(message) => message.of_user,
            // An answer's text says when it was written.
            None => kind == "text" && part.get("time").is_none() && !whole,
        };
        let said = SaidPart {
            native_id,
            message_id,
            id,
            value: part,
            whole,
        };
        if of_user {
            return self.part_of_prompt(emitter, &said);
        }
        let place = self.answer_place(emitter, native_id, message_id, None);
        match kind {
            // Kilo Code shows so how far it is, and takes it back.
            "text" if is_transient(part) => emitter.pass_over("text for a moment"),
            "text" => self.text(emitter, &said, Kind::Text, &place),
            "reasoning" => self.text(emitter, &said, Kind::Thinking, &place),
            "tool" => self.tool(emitter, &said, &place),
            "step-start" | "snapshot" => emitter.pass_over(&format!("part {kind}")),
            "step-finish" => {
                if self.first_time(message_id, id) {
                    self.usage(emitter, id, &place, part);
                    self.step_ended(message_id, &place, part);
                }
            }
            "patch" => {
                if self.first_time(message_id, id) {
                    self.patch(emitter, message_id, id, part, &place);
                }
            }
            // Live, `session.status` says it when it happens.
            "retry" if self.live => emitter.pass_over("part retry"),
            "retry" => {
                if self.first_time(message_id, id) {
                    let error = part.get("error").unwrap_or(&Value::Null);
                    let message = error.get("data").and_then(|data| text_of(data, "message"));
                    let text = format!(
                        "asked again after: {}",
                        message.or(text_of(error, "name")).unwrap_or("an error")
                    );
                    emitter.notice("warning", &place, "opencode", text);
                }
            }
            "compaction" => self.compaction_begins(part),
            "file" => {
                if self.first_time(message_id, id) {
                    let name = text_of(part, "filename").or_else(|| text_of(part, "url"));
                    let mut extra = Extra::default();
                    let attached = Value::Array(vec![attachment(part)]);
                    extra.insert("attachments", Json::from(attached));
                    let notice = Notice {
                        level: "info".to_owned(),
                        text: name.unwrap_or("a file").to_owned(),
                        source: Some("agent".to_owned()),
                        extra,
                        ..Notice::default()
                    };
                    self.add(emitter, id, "file", &place, notice);
                }
            }
            _ => emitter.raw(&place, self.format, &format!("part {kind}"), part),
        }
    }

    /// Notes a part that says all it has at once; whether it is new.
    fn first_time(&mut self, message_id: &str, id: &str) -> bool {
        if self.parts.contains_key(id) {
            return false;
        }
        self.new_part(message_id, id, Kind::Other, &Place::default());
        true
    }

    pub(super) fn new_part(&mut self, message_id: &str, id: &str, kind: Kind, place: &Place) {
        self.n_parts += 1;
        let order = self.n_parts;
        let mut part = Part {
            order,
            kind,
            message_id: message_id.to_owned(),
            place: place.clone(),
            done: kind == Kind::Other,
            ..Part::default()
        };
        let message = self.messages.entry(message_id.to_owned()).or_default();
        message.parts.push(id.to_owned());
        part.number(message);
        if kind != Kind::Other {
            self.open_parts.insert(order, id.to_owned());
        }
        self.parts.insert(id.to_owned(), part);
    }

    fn part_of_prompt(&mut self, emitter: &mut Emitter, said: &SaidPart<'_>) {
        let (message_id, part) = (said.message_id, said.value);
        let message = self.messages.entry(message_id.to_owned()).or_default();
        message.of_user = true;
        if !self.first_time(message_id, said.id) {
            return emitter.pass_over("part of a prompt, again");
        }
        if self
            .prompt
            .as_ref()
            .is_none_or(|prompt| prompt.message_id != message_id)
        {
            self.flush_prompt(emitter);
            self.prompt = Some(Prompt {
                session: said.native_id.to_owned(),
                message_id: message_id.to_owned(),
                time_ms: emitter.time_ms,
                ..Prompt::default()
            });
        }
        let Some(prompt) = &mut self.prompt else {
            return;
        };
        match str_of(part, "type").unwrap_or("") {
            "text" if is_true(part, "synthetic") || is_true(part, "ignored") => {
                prompt.own = true;
                prompt.ran |= str_of(part, "text") == Some(RAN);
                emitter.pass_over("text the program wrote for the model");
            }
            "text" => prompt
                .texts
                .push(str_of(part, "text").unwrap_or("").to_owned()),
            "file" => prompt.attachments.push(attachment(part)),
            "compaction" => {
                prompt.own = true;
                self.compaction_begins(part);
            }
            // The text of the prompt names them too.
            "agent" => emitter.pass_over("part agent"),
            "subtask" => {
                prompt.own = true;
                let text = format!(
                    "{} is asked: {}",
                    text_of(part, "agent").unwrap_or("a sub-agent"),
                    text_of(part, "description").unwrap_or("")
                );
                let place = self.place(said.native_id);
                emitter.notice("info", &place, "opencode", text);
            }
            kind => {
                let kind = format!("part {kind} of a prompt");
                let place = self.place(said.native_id);
                emitter.raw(&place, self.format, &kind, part);
            }
        }
    }

    fn compaction_begins(&mut self, part: &Value) {
        let auto = part.get("auto").and_then(Value::as_bool).unwrap_or(true);
        self.compacting = Some(if auto { "auto" } else { "manual" }.to_owned());
        self.compacted = false;
    }
}

/// Whether the program wrote a text to be seen for a moment, and not the model.
fn is_transient(part: &Value) -> bool {
    let lifecycle = part.pointer("/metadata/kilocode.lifecycle");
    is_true(part, "synthetic") && lifecycle.and_then(Value::as_str) == Some("transient")
}

/// A file part as an attachment: its bytes where they stand in the address, else the address.
pub(crate) fn attachment(part: &Value) -> Value {
    let mut attachment =
        json!({"mediaType": text_of(part, "mime").unwrap_or("application/octet-stream")});
    if let Some(name) = text_of(part, "filename") {
        attachment["name"] = Value::from(name);
    }
    let url = str_of(part, "url").unwrap_or("");
    let data = url
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"));
    match data {
        Some((_, data)) => attachment["data"] = Value::from(data),
        None => attachment["ref"] = Value::from(url),
    }
    attachment
}
