//! What requests say: of the messages of the conversation those that are new, and messages that stand by themselves.

use std::borrow::Cow;

use chat_event::Json;
use chat_event::payload::SessionStart;
use serde_json::{Map, Value, json};

use super::messages::{AnthropicMessages, FORMAT};
use super::stream::put_together;
use crate::claude::attachments;
use crate::emit::{Emitter, hash};
use crate::history::Request;
use crate::value::{list_of, str_of, text_of};

impl AnthropicMessages {
    /// A request: of its messages those that are new.
    pub(super) fn request(&mut self, emitter: &mut Emitter, request: &Value) {
        self.leave(emitter);
        self.newest.clear();
        let mut rest = Map::new();
        if let Some(system) = request.get("system") {
            let text = words_of(system);
            if !text.is_empty() {
                rest.insert("instructions".to_owned(), Value::from(text));
            }
        }
        self.about(emitter, text_of(request, "model"), rest);
        let names = list_of(request, "tools").iter();
        let names: Vec<&str> = names.filter_map(|tool| text_of(tool, "name")).collect();
        if !names.is_empty() {
            let facts = SessionStart {
                tools: Some(Json::from(json!(names))),
                ..SessionStart::default()
            };
            self.session.facts.say(emitter, facts, Map::new());
        }
        let messages = list_of(request, "messages");
        let prints: Vec<u64> = messages.iter().map(fingerprint).collect();
        // What the model is told of its work stands apart, so nothing leads.
        let n_said = self.history.request(Request {
            prints: &prints,
            n_leading: 0,
            n_prompts: 0,
        });
        self.is_asked(n_said, messages.get(n_said..).unwrap_or_default());
        if !self.aside {
            let why = self.tries.begin(&prints, "");
            if why.is_some() {
                emitter.retrying(&self.session.place(None, None), why);
            }
            self.end_failed(emitter);
        }
        for (at, (message, print)) in messages.iter().zip(prints).enumerate() {
            if self.history.was_said(print, false) {
                emitter.pass_over("a message that was said before");
            } else {
                self.said(emitter, message, &format!("m{at}"));
            }
        }
    }

    /// Whether a request that says `news` behind what was said is an aside: while a call runs a program may ask for a
    /// title, or let a sub-agent work. Who is asked something a second time there is none, and the call will get no result.
    fn is_asked(&mut self, n_said: usize, news: &[Value]) {
        let root = self.history.root();
        let is_prompt = |message: &Value| {
            let mut blocks = list_of(message, "content").iter();
            let answers = blocks.any(|block| text_of(block, "tool_use_id").is_some());
            str_of(message, "role") == Some("user") && !answers
        };
        let goes_on = n_said > 0 && news.iter().any(is_prompt);
        let calls = &self.session.calls;
        while self
            .asked
            .pop_front_if(|call| !calls.contains_key(call.as_str()))
            .is_some()
        {}
        let waits = !self.asked.is_empty() && self.session.in_turn();
        self.aside = root != self.main && !goes_on && waits;
        if !self.aside {
            self.main = root;
        }
    }

    /// A message that stands by itself.
    pub(super) fn message(&mut self, emitter: &mut Emitter, message: &Value) {
        self.aside = false;
        self.newest.clear();
        self.end_failed(emitter);
        let stem = format!("m{}", self.history.len());
        self.history.say(fingerprint(message), false);
        self.said(emitter, message, &stem);
    }

    fn said(&mut self, emitter: &mut Emitter, message: &Value, stem: &str) {
        let content = message.get("content").unwrap_or(&Value::Null);
        match str_of(message, "role").unwrap_or("") {
            "assistant" => {
                self.over = false;
                self.need_turn(emitter, stem);
                for block in list_of(message, "content") {
                    self.is_late(block);
                }
                emitter.begin_line(Some(stem));
                let place = self.session.place(None, None);
                self.session
                    .assistant_blocks(emitter, &place, &put_together(message));
                let calls = list_of(message, "content").iter();
                let calls = calls.filter(|block| str_of(block, "type") == Some("tool_use"));
                let asked: Vec<String> = calls
                    .filter_map(|call| text_of(call, "id").map(str::to_owned))
                    .collect();
                // The next message may belong to the same turn.
                self.over = asked.is_empty() && !self.aside;
                self.note_asked(asked);
            }
            "user" => self.user(emitter, content, stem),
            "system" => {
                let place = self.session.place(None, None);
                emitter.notice("info", &place, "system", words_of(content));
            }
            role => {
                let place = self.session.place(None, None);
                emitter.raw(&place, FORMAT, &format!("message of {role}"), message);
            }
        }
    }

    /// What the client says: results of tools, and what the user wrote.
    fn user(&mut self, emitter: &mut Emitter, content: &Value, stem: &str) {
        let mut answers = false;
        emitter.begin_line(Some(stem));
        for block in content.as_array().into_iter().flatten() {
            let place = self.session.place(None, None);
            match str_of(block, "type").unwrap_or("") {
                kind if kind.ends_with("tool_result") => {
                    answers = true;
                    if self.is_late(block) {
                        emitter.raw(&place, FORMAT, "result of no open call", block);
                        continue;
                    }
                    self.session.tool_result(emitter, &place, block, None, None);
                }
                "text" | "image" | "document" => {}
                kind => emitter.raw(&place, FORMAT, &format!("block {kind}"), block),
            }
        }
        let text = words_of(content);
        let attached = content.as_array().and_then(|blocks| attachments(blocks));
        if answers && text.is_empty() && attached.is_none() {
            return;
        }
        if (!answers && !self.aside) || !self.session.in_turn() {
            let outcome = if self.over {
                "completed"
            } else {
                "interrupted"
            };
            self.end_turn(emitter, outcome);
            self.open_turn(emitter, stem);
        }
        self.prompt = None;
        self.say_user(emitter, &text, attached);
    }
}

/// The texts of a content, joined by newlines.
pub(super) fn words_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks
                .iter()
                .filter(|block| str_of(block, "type") == Some("text"));
            let texts: Vec<&str> = texts.filter_map(|block| str_of(block, "text")).collect();
            texts.join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// What tells a message from others, however it is written.
pub(super) fn fingerprint(message: &Value) -> u64 {
    let content = message.get("content").unwrap_or(&Value::Null);
    let ids = content
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|block| text_of(block, "tool_use_id").or_else(|| text_of(block, "id")));
    let ids: Vec<String> = ids.map(str::to_owned).collect();
    let text = match content {
        Value::Array(blocks) => blocks
            .iter()
            .filter_map(|block| str_of(block, "text"))
            .collect(),
        _ => words_of(content),
    };
    fingerprint_of(str_of(message, "role").unwrap_or(""), &text, &ids)
}

/// Clients trim answers, and join their texts by lines: white space does not tell those apart.
pub(super) fn fingerprint_of(role: &str, text: &str, ids: &[String]) -> u64 {
    let text: Cow<'_, str> = match role {
        "assistant" => text.split_whitespace().collect(),
        _ => text.into(),
    };
    hash(format!("{role}\n{}\n{text}", ids.join(" ")).as_bytes())
}
