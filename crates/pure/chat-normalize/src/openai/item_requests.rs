//! What requests to the Responses API say: of the items of the conversation those that are new, and what was not told of
//! an answer in any other way. What an item means stands in `items`.

use serde_json::{Map, Value, json};

use super::chat_messages::instructions;
use super::content::{said_of, texts_of, unread_of};
use super::items::{fingerprint, is_item, is_output, kind_of};
use super::responses::{FORMAT, OpenAiResponses};
use crate::emit::{Emitter, hash};
use crate::history::Request;
use crate::value::{list_of, str_of, text_of};

impl OpenAiResponses {
    /// A request: of its items those that are new.
    pub(super) fn request(&mut self, emitter: &mut Emitter, request: &Value) {
        // What answers it is another, even under the same id.
        self.failed = None;
        self.failure = None;
        let mut rest = Map::new();
        if let Some(instructions) = text_of(request, "instructions") {
            rest.insert("instructions".to_owned(), Value::from(instructions));
        }
        self.session.about(emitter, text_of(request, "model"), rest);
        let names = list_of(request, "tools").iter().filter_map(|tool| {
            let name = text_of(tool, "name").or_else(|| text_of(tool, "type"));
            name.map(str::to_owned)
        });
        self.session.tools(emitter, names.collect());
        let behind = ["previous_response_id", "conversation"].map(|key| match request.get(key) {
            None | Some(Value::Null) => String::new(),
            Some(id) => id.to_string(),
        });
        let behind = behind.concat();
        let broke_off = self.is_broken_off();
        if broke_off {
            self.leave(emitter);
        }
        let one;
        let items = match request.get("input") {
            Some(Value::String(text)) => {
                one = [json!({"type": "message", "role": "user", "content": text})];
                &one[..]
            }
            Some(Value::Array(items)) => items,
            Some(_) | None => &[],
        };
        if !behind.is_empty() {
            let prints: Vec<u64> = items.iter().filter_map(fingerprint).collect();
            if broke_off {
                self.session.broke_off(emitter, &prints, &behind);
            }
            if self.session.try_again(emitter, &prints, &behind) {
                return emitter.pass_over("a request that is sent again");
            }
            self.session.history.goes_on();
            self.session.no_aside(emitter);
        } else {
            let known: Vec<(&Value, u64)> = items
                .iter()
                .filter_map(|item| Some((item, fingerprint(item)?)))
                .collect();
            let prints: Vec<u64> = known.iter().map(|(_, print)| *print).collect();
            let n_leading = known.iter().take_while(|(item, _)| leads(item)).count();
            let behind = known.iter().skip(n_leading);
            let is_prompt = |(item, _): &&(&Value, u64)| leads(item) || is_of(item, &["user"]);
            let request = Request {
                prints: &prints,
                n_leading,
                n_prompts: behind.take_while(is_prompt).count(),
            };
            let n_said = self.session.history.request(request);
            if broke_off {
                let behind = self.session.whole_conversation();
                self.session.broke_off(emitter, request.body(), &behind);
            }
            let mut news = known.iter().skip(n_leading + n_said);
            let prompts = news.any(|(item, _)| is_of(item, &["user"]));
            self.session
                .request(emitter, n_said, prompts, request.body());
        }
        for item in items {
            if self.is_news(item) {
                self.said_item(emitter, item);
            } else {
                emitter.pass_over("an item that was said before");
            }
        }
        self.end_said(emitter);
    }

    /// An item that stands by itself.
    pub(super) fn bare_item(&mut self, emitter: &mut Emitter, item: &Value) {
        let kind = kind_of(item);
        if !is_item(kind) {
            // What a service says beside an answer is no part of it, and ends none.
            let kind = match kind {
                "" => text_of(item, "object").unwrap_or("value").to_owned(),
                kind => format!("item {kind}"),
            };
            return emitter.raw(&self.place(), FORMAT, &kind, item);
        }
        self.session.no_aside(emitter);
        match fingerprint(item) {
            Some(fingerprint) => self.session.history.say(fingerprint, leads(item)),
            None => self.thoughts.extend(thoughts(item)),
        }
        self.said_item(emitter, item);
    }

    /// Notes an item that an answer said.
    pub(super) fn remember(&mut self, item: &Value) {
        match fingerprint(item) {
            Some(fingerprint) => self.session.history.answer(fingerprint),
            None => self.thoughts.extend(thoughts(item)),
        }
    }

    fn is_news(&mut self, item: &Value) -> bool {
        match fingerprint(item) {
            Some(fingerprint) => !self.session.history.was_said(fingerprint, leads(item)),
            None => {
                let thoughts = thoughts(item);
                let known = thoughts
                    .iter()
                    .any(|thought| self.thoughts.contains(thought));
                self.thoughts.extend(thoughts);
                !known
            }
        }
    }

    /// An item of a request: what the assistant said in a row is one answer.
    fn said_item(&mut self, emitter: &mut Emitter, item: &Value) {
        let kind = kind_of(item);
        let role = str_of(item, "role").unwrap_or("");
        let stem = match text_of(item, "id") {
            Some(id) => id.to_owned(),
            None => self.stem_of_unnamed(kind),
        };
        match (kind, role) {
            _ if !is_item(kind) => {
                emitter.raw(&self.place(), FORMAT, &format!("item {kind}"), item);
            }
            ("message", "user") => {
                self.end_said(emitter);
                if !self.session.is_aside() {
                    self.cancel_asked(emitter);
                }
                let content = item.get("content").unwrap_or(&Value::Null);
                let (text, attached) = said_of(content);
                self.session.user_said(emitter, &stem, &text, attached);
                for part in unread_of(content) {
                    emitter.raw(&self.session.place(), FORMAT, "content part", part);
                }
            }
            ("message", "system" | "developer") => {
                let content = item.get("content").unwrap_or(&Value::Null);
                instructions(&mut self.session, emitter, &texts_of(content).join("\n"));
            }
            ("item_reference", _) => emitter.pass_over("item_reference"),
            _ => {
                let ends = is_output(kind) || kind == "mcp_approval_response";
                if ends {
                    self.end_said(emitter);
                }
                if let Some(turn) = &mut self.session.turn {
                    turn.over = None;
                }
                let answer_id = match &self.current {
                    Some(id) => id.clone(),
                    None => stem.clone(),
                };
                if !ends {
                    self.session.answer(emitter, &answer_id);
                    self.streams &= self.current.is_some();
                    self.current = Some(answer_id.clone());
                }
                self.write_item(emitter, &answer_id, item, &stem);
            }
        }
    }

    /// What an item without an id goes by: its place in the conversation, in which reasoning has none of its own.
    fn stem_of_unnamed(&mut self, kind: &str) -> String {
        let at = self.session.history.len();
        if kind != "reasoning" {
            return format!("i{at}");
        }
        let n = match self.unnamed_thoughts {
            (before, n) if before == at => n + 1,
            _ => 1,
        };
        self.unnamed_thoughts = (at, n);
        match n {
            1 => format!("i{at}"),
            n => format!("i{at}.{n}"),
        }
    }

    /// What the assistant said in a row is whole.
    fn end_said(&mut self, emitter: &mut Emitter) {
        if let Some(id) = self.current.take()
            && !self.end_answer(emitter, &id)
        {
            self.session.turn_over(emitter, "completed", true);
        }
    }
}

/// Whether it is a message that says who speaks, which is one of these.
fn is_of(item: &Value, roles: &[&str]) -> bool {
    kind_of(item) == "message" && str_of(item, "role").is_some_and(|role| roles.contains(&role))
}

/// Whether conversations may begin with an item that says nothing of what they are about.
fn leads(item: &Value) -> bool {
    is_of(item, &["system", "developer"])
}

/// The hashes a piece of reasoning may be known by.
fn thoughts(item: &Value) -> Vec<u64> {
    let texts = texts_of(item.get("summary").unwrap_or(&Value::Null)).concat();
    let known_by = [
        text_of(item, "id"),
        text_of(item, "encrypted_content"),
        Some(texts.as_str()).filter(|text| !text.is_empty()),
    ];
    known_by
        .into_iter()
        .flatten()
        .map(|text| hash(text.as_bytes()))
        .collect()
}
