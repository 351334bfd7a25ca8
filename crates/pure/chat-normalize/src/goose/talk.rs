//! Messages of a session: what each block gives.
//!
//! | block | what it gives |
//! |---|---|
//! | `text` of the user | a prompt: a turn begins |
//! | `text`, `thinking`, `redactedThinking` of the assistant | a text, a thought |
//! | `toolRequest`, `frontendToolRequest` | a call |
//! | `toolResponse` | its result, and what it changed |
//! | `toolConfirmationRequest`, `actionRequired` | a request for leave, a question; its answer is in the result |
//! | `systemNotification`, `contextLengthExceeded`, `conversationCompacted` | a notice, a compaction |
//!
//! A result may be told twice, for the user and for the model: what is for the user is shown.

use std::collections::{BTreeMap, HashMap};

use chat_event::payload::{Compaction, ToolResult};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::shown::{picture, shown};
use super::{FORMAT, tools};
use crate::ask::Ask;
use crate::emit::Emitter;
use crate::run_track::RunTrack;
use crate::speech::{Kind, Part};
use crate::tool::attached;
use crate::track::{NewCall, Said, ended, tool_error};
use crate::value::{is_true, list_of, str_of, text_of};
use crate::words::printed;

/// What the program says for a call that the user did not allow.
const DECLINED: &str = "The user has declined to run this tool";

/// The turns and calls of a session.
#[derive(Debug)]
pub(super) struct Talk {
    pub(super) run: RunTrack,
    /// How the turn would end now.
    pub(super) outcome: &'static str,
    /// What waits for an answer, as it was asked, and its number there by its call or by its own id.
    pub(super) asks: BTreeMap<u64, Ask>,
    pub(super) leaves: HashMap<String, u64>,
    pub(super) questions: HashMap<String, u64>,
    pub(super) n_asks: u64,
    /// A text that grows, message by message of one id.
    growing: Option<(String, Part)>,
    grows: bool,
    /// When the last message was written.
    worked_ms: Option<i64>,
}

impl Talk {
    /// `grows`: texts come piece by piece, in messages of one id.
    pub(super) fn new(run: RunTrack, grows: bool) -> Self {
        Talk {
            run,
            outcome: "interrupted",
            asks: BTreeMap::new(),
            leaves: HashMap::new(),
            questions: HashMap::new(),
            n_asks: 0,
            growing: None,
            grows,
            worked_ms: None,
        }
    }

    /// The time of a message, which is told in seconds.
    pub(super) fn time_of(message: &Value) -> Option<i64> {
        let created = message.get("created")?.as_i64()?;
        let ms = match created {
            // In milliseconds this would be in 1973.
            ..100_000_000_000 => created.checked_mul(1000)?,
            ms => ms,
        };
        crate::value::is_time(ms).then_some(ms)
    }

    /// A message; `stem` is what it is called.
    pub(super) fn message(&mut self, emitter: &mut Emitter, message: &Value, stem: &str) {
        self.run.at(emitter, Talk::time_of(message));
        let is_growing = |(id, _): &(String, Part)| id == stem;
        if !self.growing.as_ref().is_some_and(is_growing) {
            self.end_part(emitter);
        }
        let seen = message.get("metadata").and_then(|it| it.get("userVisible"));
        if seen.and_then(Value::as_bool) == Some(false) {
            return emitter.pass_over("what the program tells the model");
        }
        let blocks = list_of(message, "content");
        match str_of(message, "role") {
            Some("assistant") => self.assistant(emitter, stem, blocks),
            _ => self.user(emitter, stem, blocks),
        }
        self.worked_ms = Some(emitter.time_ms);
    }

    fn user(&mut self, emitter: &mut Emitter, stem: &str, blocks: &[Value]) {
        let mut said = Said::default();
        let mut is_answer = false;
        for block in blocks {
            match str_of(block, "type").unwrap_or("") {
                "toolResponse" => {
                    is_answer = true;
                    self.result(emitter, block);
                }
                "text" => {
                    if !said.text.is_empty() {
                        said.text.push('\n');
                    }
                    said.text.push_str(str_of(block, "text").unwrap_or(""));
                }
                "image" => said.attachments.push(picture(block)),
                _ => self.other(emitter, block),
            }
        }
        if said.text.trim().is_empty() && said.attachments.is_empty() {
            return;
        }
        if is_answer && self.run.track.turn_id().is_some() {
            return self.run.track.steer(emitter, &format!("{stem}:user"), said);
        }
        self.close(emitter);
        self.run.ask(emitter, Some(stem), said);
    }

    fn assistant(&mut self, emitter: &mut Emitter, stem: &str, blocks: &[Value]) {
        let response = self.run.response(emitter, Some(stem));
        let (mut speaks, mut calls) = (false, false);
        for block in blocks {
            let kind = str_of(block, "type").unwrap_or("");
            match kind {
                "text" => {
                    let text = str_of(block, "text").unwrap_or("");
                    speaks |= !text.is_empty();
                    self.says(emitter, &response, Kind::Text, text);
                }
                "thinking" => {
                    let text = str_of(block, "thinking").unwrap_or("");
                    self.says(emitter, &response, Kind::Thinking, text);
                }
                "redactedThinking" => {
                    self.end_part(emitter);
                    self.run.thought(emitter, &response, "", true);
                }
                "toolRequest" | "frontendToolRequest" => {
                    calls = true;
                    self.end_part(emitter);
                    self.call(emitter, &response, block);
                }
                _ => {
                    self.end_part(emitter);
                    self.other(emitter, block);
                }
            }
        }
        if speaks || calls {
            let is_last = speaks && !calls;
            self.outcome = if is_last { "completed" } else { "interrupted" };
        }
    }

    fn says(&mut self, emitter: &mut Emitter, response: &str, kind: Kind, text: &str) {
        if text.is_empty() {
            return;
        }
        if !self.grows {
            match kind {
                Kind::Text => self.run.text(emitter, response, text),
                Kind::Thinking => self.run.thought(emitter, response, text, false),
            }
            return;
        }
        if self
            .growing
            .as_ref()
            .is_some_and(|(_, part)| part.kind != kind)
        {
            self.end_part(emitter);
        }
        if self.growing.is_none() {
            let number = self.run.next_part(response, kind);
            let place = self.run.track.place().in_response(response);
            self.growing = Some((response.to_owned(), Part::new(place, kind, number)));
        }
        if let Some((_, part)) = &mut self.growing {
            part.add(emitter, text);
        }
    }

    /// What grew grows no more.
    pub(super) fn end_part(&mut self, emitter: &mut Emitter) {
        if let Some((_, part)) = self.growing.take() {
            part.end(emitter);
        }
    }

    fn call(&mut self, emitter: &mut Emitter, response: &str, block: &Value) {
        let id = str_of(block, "id").unwrap_or("");
        let told = block.get("toolCall").unwrap_or(&Value::Null);
        let value = told.get("value").unwrap_or(told);
        let name = str_of(value, "name").unwrap_or("");
        let args = value.get("arguments").unwrap_or(&Value::Null);
        let new = NewCall {
            id,
            response_id: response,
            name,
            args,
            title: tools::title(name, args),
            kind: tools::kind(name, args),
        };
        self.run.track.call(emitter, new);
        if let Some(why) = text_of(told, "error") {
            let result = ToolResult {
                result: Json::string(why),
                error: Some(tool_error("invalid", why)),
                ..ToolResult::default()
            };
            self.run.track.result(emitter, id, result);
        }
    }

    fn result(&mut self, emitter: &mut Emitter, block: &Value) {
        let id = str_of(block, "id").unwrap_or("");
        let told = block.get("toolResult").unwrap_or(&Value::Null);
        let value = told.get("value").unwrap_or(&Value::Null);
        let blocks = match value {
            Value::Array(blocks) => blocks.as_slice(),
            value => list_of(value, "content"),
        };
        let (text, attachments) = shown(blocks);
        let error = text_of(told, "error");
        let text = error.map_or(text, str::to_owned);
        let declined = text.starts_with(DECLINED);
        let failed = error.is_some() || is_true(value, "isError") || declined;
        self.answer(emitter, id, if declined { "deny" } else { "allow" });
        let structured = value.get("structuredContent").unwrap_or(&Value::Null);
        let code = if declined { "rejected" } else { "error" };
        let result = ToolResult {
            result: Json::string(&text),
            error: failed.then(|| tool_error(code, &text)),
            summary: printed(&text).filter(|_| !failed),
            exit_code: structured.get("exit_code").and_then(Value::as_i64),
            extra: attached(attachments),
            ..ToolResult::default()
        };
        // The model is asked again with what the calls gave.
        self.run.next_response();
        let cwd = self.run.track.facts.cwd();
        let Some(call) = self.run.track.result(emitter, id, result) else {
            let place = self.run.track.place();
            return emitter.raw(&place, FORMAT, "toolResponse without a call", block);
        };
        if !failed && let Some(edit) = tools::edit(&call, cwd.as_deref(), &text) {
            self.run.track.edit(emitter, &call, edit);
        }
    }

    fn other(&mut self, emitter: &mut Emitter, block: &Value) {
        let place = self.run.track.place();
        let kind = str_of(block, "type").unwrap_or("");
        let data = block.get("data").unwrap_or(block);
        match (kind, str_of(data, "actionType").unwrap_or("")) {
            ("toolConfirmationRequest", _) | ("actionRequired", "toolConfirmation") => {
                self.asks_leave(emitter, data);
            }
            ("actionRequired", "elicitation") => self.asks_question(emitter, data),
            ("actionRequired", "elicitationResponse") => {
                let id = str_of(data, "id").unwrap_or("");
                self.answer_question(emitter, id, data);
            }
            ("systemNotification", _) => match str_of(block, "notificationType") {
                Some("thinkingMessage") => emitter.pass_over("systemNotification"),
                _ => {
                    let text = str_of(block, "msg").unwrap_or("");
                    emitter.notice("info", &place, FORMAT, text);
                }
            },
            ("contextLengthExceeded", _) => {
                let text = str_of(block, "msg").unwrap_or("The context is full");
                emitter.notice("warning", &place, FORMAT, text);
            }
            ("conversationCompacted" | "summarizationRequested", _) => {
                let payload = Compaction {
                    trigger: "auto".to_owned(),
                    summary: text_of(block, "msg").map(str::to_owned),
                    tokens_before: None,
                    extra: Extra::default(),
                };
                emitter.add("compaction", &place, payload);
            }
            ("image", _) => {
                let place = place.in_response(emitter.line_id());
                emitter.raw(&place, FORMAT, "image of the assistant", block);
            }
            _ => emitter.raw(&place, FORMAT, kind, block),
        }
    }

    /// The turn is over, since the last message.
    pub(super) fn close(&mut self, emitter: &mut Emitter) {
        let now_ms = emitter.time_ms;
        emitter.time_ms = self.worked_ms.unwrap_or(now_ms);
        self.end_part(emitter);
        self.expire(emitter);
        self.run.close(emitter, ended(self.outcome));
        self.outcome = "interrupted";
        emitter.time_ms = now_ms;
    }
}
