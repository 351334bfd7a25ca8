//! The files below `~/.cline/data/sessions`, `ID/ID.messages.json`: `{version, sessionId, agent, messages: […]}`.
//!
//! | message | what it gives |
//! |---|---|
//! | of the user | results of calls; words begin a turn, or go to the agent at work |
//! | of the assistant | texts, thoughts, calls, tokens and costs |
//!
//! No end of a turn is in it: the next prompt or the file's end ends one, and its last message says how. Folder, title and
//! state are in `ID.json` beside it. A sub-agent's session is a file of its own.

use chat_event::payload::{ErrorEvent, SessionStart};
use chat_event::{Extra, SetBack};
use serde_json::{Map, Value};

use super::FORMAT;
use super::talk::{Given, Talk, attachment, usage};
use super::task_line::TaskLine;
use crate::dialect::{Form, Normalizer, Origin, Profile, Sessions};
use crate::emit::{Emitter, clean_id};
use crate::reader::Context;
use crate::run_track::RunTrack;
use crate::set_back::Standing;
use crate::track::{Said, ended};
use crate::value::{is_true, list_of, millis, str_of, text_of};

pub(crate) static SESSION: Profile = Profile {
    word: "cline-session",
    name: "Cline session file",
    form: Form::Document,
    origin: Origin::File,
    sessions: Sessions::One,
    tells_turn_end: false,
    tells_edits_late: false,
    recognise: is_of,
    session_of,
    make: |context| Box::new(ClineSession::new(context)),
};

/// Whether a document is such a file.
fn is_of(value: &Value) -> Option<bool> {
    let has = |key: &str| value.get(key).is_some();
    let messages = value.get("messages")?.as_array()?;
    let is_message = |message: &Value| {
        matches!(str_of(message, "role"), Some("user" | "assistant"))
            && message.get("content").is_some()
    };
    let is = text_of(value, "sessionId").is_some()
        && value.get("version").is_some_and(Value::is_number)
        && (has("updated_at") || has("agent"))
        && messages.iter().all(is_message);
    is.then_some(true)
}

fn session_of(value: &Value) -> Option<String> {
    is_of(value)?;
    text_of(value, "sessionId").map(str::to_owned)
}

/// Reads it.
#[derive(Debug)]
struct ClineSession {
    talk: Talk,
    /// How the turn would end now.
    outcome: &'static str,
    /// When the last message was written.
    worked_ms: Option<i64>,
    /// The last message of the assistant, how many of its blocks were told, and whether its tokens were.
    last: Option<(String, usize, bool)>,
    turns: Standing,
    /// What the last message is called.
    newest: String,
}

impl ClineSession {
    fn new(context: &Context) -> Self {
        ClineSession {
            talk: Talk::new(RunTrack::new(context)),
            outcome: "interrupted",
            worked_ms: None,
            last: None,
            turns: Standing::default(),
            newest: String::new(),
        }
    }

    fn close(&mut self, emitter: &mut Emitter) {
        let now_ms = emitter.time_ms;
        emitter.time_ms = self.worked_ms.unwrap_or(now_ms);
        self.talk.expire(emitter);
        self.talk.run.close(emitter, ended(self.outcome));
        emitter.time_ms = now_ms;
        self.outcome = "interrupted";
    }

    fn message(&mut self, emitter: &mut Emitter, message: &Value, nth: usize) {
        let stem = match text_of(message, "id") {
            Some(id) => clean_id(id),
            None => format!("m{nth}"),
        };
        emitter.begin_line(Some(&stem));
        let ts = message.get("ts").and_then(millis);
        self.talk.run.at(emitter, ts);
        let blocks = blocks_of(message);
        match str_of(message, "role") {
            Some("assistant") => self.assistant(emitter, message, &stem, blocks),
            _ => self.user(emitter, message, &stem, blocks),
        }
        self.worked_ms = ts.or(self.worked_ms);
        self.newest = stem;
    }

    fn user(&mut self, emitter: &mut Emitter, message: &Value, stem: &str, blocks: &[Value]) {
        let mut said = Said::default();
        let mut is_answer = false;
        for block in blocks {
            match (str_of(block, "type"), block.as_str()) {
                (Some("tool_result"), _) => {
                    is_answer = true;
                    let given = Given {
                        value: block.get("content").unwrap_or(&Value::Null),
                        error: None,
                        failed: is_true(block, "is_error"),
                        duration_ms: None,
                    };
                    let id = str_of(block, "tool_use_id").unwrap_or("");
                    self.talk.result(emitter, id, &given, block);
                }
                (Some("image" | "file"), _) => said.attachments.push(attachment(block)),
                (Some("text"), _) | (_, Some(_)) => {
                    let text = block
                        .as_str()
                        .or_else(|| str_of(block, "text"))
                        .unwrap_or("");
                    if !said.text.is_empty() {
                        said.text.push('\n');
                    }
                    said.text.push_str(words(text));
                }
                (kind, None) => {
                    let place = self.talk.run.track.place();
                    emitter.raw(&place, FORMAT, kind.unwrap_or("block"), block);
                }
            }
        }
        if said.text.trim().is_empty() && said.attachments.is_empty() {
            return;
        }
        let shown_as = message
            .get("metadata")
            .and_then(|it| text_of(it, "displayRole"));
        if matches!(shown_as, Some("system" | "status" | "error")) {
            let place = self.talk.run.track.place();
            emitter.notice("info", &place, FORMAT, said.text);
            return;
        }
        if is_answer && self.talk.run.track.turn_id().is_some() {
            let id = format!("{stem}:user");
            return self.talk.run.track.steer(emitter, &id, said);
        }
        self.close(emitter);
        self.talk.run.ask(emitter, Some(stem), said);
        if let Some(turn) = self.talk.run.track.turn_id() {
            self.turns.begin(turn);
        }
    }

    /// A message says something else than it did: more blocks, or what it cost.
    fn changed(&mut self, emitter: &mut Emitter, message: &Value) {
        let stem = text_of(message, "id").map(clean_id);
        let is_last = |last: &mut (String, usize, bool)| stem.as_ref() == Some(&last.0);
        let Some((stem, n_told, is_priced)) = self.last.take_if(is_last) else {
            return emitter.pass_over("a change that says nothing");
        };
        emitter.begin_line(Some(&stem));
        self.talk.run.at(emitter, self.worked_ms);
        let mut more = message.clone();
        if let Some(Value::Array(blocks)) = more.get_mut("content") {
            blocks.drain(..n_told.min(blocks.len()));
        }
        if is_priced && let Some(members) = more.as_object_mut() {
            members.remove("metrics");
        }
        let outcome = self.outcome;
        let blocks = blocks_of(&more);
        self.assistant(emitter, &more, &stem, blocks);
        if blocks.is_empty() {
            self.outcome = outcome;
        }
        if let Some((_, n_blocks, priced)) = &mut self.last {
            *n_blocks += n_told;
            *priced |= is_priced;
        }
    }

    /// These messages are in the file no more.
    fn left(&mut self, emitter: &mut Emitter, left: &[Value]) {
        let ids: Vec<String> = left
            .iter()
            .filter_map(|it| text_of(it, "id"))
            .map(clean_id)
            .collect();
        let (Some(first), Some(last)) = (ids.first(), ids.last()) else {
            return emitter.pass_over("messages without names that were left");
        };
        emitter.begin_line(Some(&format!("{first}-{last}")));
        self.talk.run.at(emitter, None);
        self.close(emitter);
        self.last = None;
        let told = SetBack {
            left: self.turns.leave_these(&ids.iter().collect()),
            ..SetBack::default()
        };
        let text = match ids.len() {
            1 => "the session was set back: 1 message was left".to_owned(),
            n => format!("the session was set back: {n} messages were left"),
        };
        emitter.tell_set_back(text, &told);
    }

    /// Why the turn could not go on: shown to the person, and not the model's words.
    fn failed(&mut self, emitter: &mut Emitter, message: &Value, stem: &str, blocks: &[Value]) {
        let texts = blocks
            .iter()
            .filter_map(|it| it.as_str().or_else(|| str_of(it, "text")));
        let texts: Vec<&str> = texts.collect();
        let error = ErrorEvent {
            code: "error".to_owned(),
            message: texts.join("\n"),
            extra: Extra::default(),
        };
        let place = self.talk.run.track.place();
        emitter.add_as(&format!("{stem}:error"), &place, error);
        self.last = Some((
            stem.to_owned(),
            blocks.len(),
            message.get("metrics").is_some(),
        ));
        self.outcome = "failed";
    }

    fn assistant(&mut self, emitter: &mut Emitter, message: &Value, stem: &str, blocks: &[Value]) {
        let shown_as = message
            .get("metadata")
            .and_then(|it| text_of(it, "displayRole"));
        if shown_as == Some("error") {
            return self.failed(emitter, message, stem, blocks);
        }
        let response = self.talk.run.response(emitter, Some(stem));
        if let Some(model) = message
            .get("modelInfo")
            .and_then(|info| text_of(info, "id"))
        {
            let facts = SessionStart {
                model: Some(model.to_owned()),
                ..SessionStart::default()
            };
            self.talk.run.facts(emitter, facts, Map::new());
        }
        let (mut speaks, mut calls) = (false, false);
        for block in blocks {
            match str_of(block, "type") {
                Some("tool_use") if text_of(block, "id").is_some() => {
                    calls = true;
                    let id = str_of(block, "id").unwrap_or("");
                    let name = str_of(block, "name").unwrap_or("");
                    let args = block.get("input").unwrap_or(&Value::Null);
                    self.talk.call(emitter, &response, id, name, args);
                }
                _ => speaks |= self.talk.run.block(emitter, &response, FORMAT, block),
            }
        }
        if let Some(usage) = message
            .get("metrics")
            .and_then(|told| usage("response", told))
        {
            let place = self.talk.run.track.place().in_response(&response);
            emitter.add_as(&format!("{response}:usage"), &place, usage);
        }
        let is_priced = message.get("metrics").is_some();
        self.last = Some((stem.to_owned(), blocks.len(), is_priced));
        self.outcome = match speaks && !calls {
            true => "completed",
            false => "interrupted",
        };
    }
}

/// What a person wrote; older versions say in which mode, around it.
fn words(text: &str) -> &str {
    let inner = text.trim().strip_prefix("<user_input").and_then(|rest| {
        let inner = rest.split_once('>')?.1;
        inner.strip_suffix("</user_input>")
    });
    inner.unwrap_or(text)
}

fn blocks_of(message: &Value) -> &[Value] {
    match message.get("content") {
        Some(Value::Array(blocks)) => blocks,
        Some(text) => std::slice::from_ref(text),
        None => &[],
    }
}

impl Normalizer for ClineSession {
    fn line(&mut self, emitter: &mut Emitter, value: &Value) {
        if let Some(document) = value.get(TaskLine::CHANGED) {
            for message in list_of(document, "messages") {
                self.changed(emitter, message);
            }
            return emitter.begin_line(Some(&self.newest));
        }
        if value.get(TaskLine::LEFT).is_some() {
            self.left(emitter, list_of(value, TaskLine::LEFT));
            return emitter.begin_line(Some(&self.newest));
        }
        let facts = SessionStart {
            agent: Some("Cline".to_owned()),
            native_id: text_of(value, "sessionId").map(str::to_owned),
            provider: Some(FORMAT.to_owned()),
            ..SessionStart::default()
        };
        let first = list_of(value, "messages").iter();
        let first = first
            .filter_map(|message| message.get("ts").and_then(millis))
            .next();
        self.talk.run.at(emitter, first);
        self.talk.run.facts(emitter, facts, Map::new());
        if value.get("messages").is_none() {
            let place = self.talk.run.track.place();
            emitter.raw(&place, FORMAT, "no session", value);
        }
        let before = value.get(TaskLine::AT).and_then(Value::as_u64);
        let before = before.and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        for (nth, message) in list_of(value, "messages").iter().enumerate() {
            self.message(emitter, message, before.saturating_add(nth));
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.talk.run.at(emitter, None);
        self.close(emitter);
    }
}
