//! The chat files of Gemini CLI: lines that add messages and change them (0.4x on), and the documents before them.
//!
//! | record | what it gives |
//! |---|---|
//! | `{sessionId, projectHash, …}` | `session_start`; a document's `messages` one by one |
//! | a message | told at once; the same id again tells only what is new (calls, when they have ended) |
//! | one of the user that answers calls | their results, with what is attached; words beside them steer the turn |
//! | `{"$set": {messages}}` | as the messages one by one; those that are gone are named in a notice |
//! | `{"$rewindTo": id}` | a notice that names the turns that were left; nothing is hidden |
//!
//! Who resumes a session writes its header again, sets the messages to the session context alone, and then to all of them
//! (seen: 0.61.0, `--resume`). So what the first `$set` behind a header leaves is told as left with what comes next of the
//! conversation, when the source rests, or at its end; and not where a `$set` has brought it back by then.
//!
//! The end of a turn is not written: the next prompt or the file's end ends it, and its last message says how. The
//! program's own first message (`<session_context>`) is passed over but for the folder it names.

mod answers;
mod set_backs;

use std::collections::{HashMap, HashSet, VecDeque};

use chat_event::payload::{ErrorEvent, Interrupt, SessionStart};
use chat_event::{Extra, Json, Payload};
use serde_json::{Map, Value};

use super::messages::{self, Echo};
use crate::dialect::Normalizer;
use crate::emit::{Emitter, hash};
use crate::track::{Track, ended};
use crate::value::{list_of, millis_of_rfc3339, str_of, text_of};
use set_backs::Unsettled;

const FORMAT: &str = "gemini-chat";

/// Whether a value is of this dialect.
pub(crate) fn is_chat_value(value: &Value) -> Option<bool> {
    let members = value.as_object()?;
    if members.get("type").is_none()
        && text_of(value, "sessionId").is_some()
        && str_of(value, "projectHash").is_some()
    {
        return Some(true);
    }
    let changes = members.len() == 1
        && (members.get("$set").is_some_and(Value::is_object)
            || members.get("$rewindTo").is_some_and(Value::is_string));
    let says = str_of(value, "type") == Some("gemini")
        && text_of(value, "id").is_some()
        && members.get("content").is_some();
    (changes || says).then_some(false)
}

/// The session a value names.
pub(crate) fn chat_session_of(value: &Value) -> Option<String> {
    is_chat_value(value)?;
    text_of(value, "sessionId").map(str::to_owned)
}

/// Reads them.
#[derive(Debug)]
pub(crate) struct GeminiChat {
    track: Track,
    /// The messages that were told, by their id's hash.
    known: HashMap<u64, Known>,
    /// The conversation as it stands.
    order: Vec<u64>,
    /// Nothing of the conversation came since the last header.
    is_headed: bool,
    /// What the first `$set` behind a header left: it may be brought back.
    unsettled: Option<Unsettled>,
    /// Which message made a call of the turn, by the hashes of their ids.
    asked: HashMap<u64, u64>,
    /// The calls among parts that bear no id, by the tool, as they came.
    nameless: HashMap<String, VecDeque<String>>,
    /// How the turn would end now.
    outcome: &'static str,
    last_ms: Option<i64>,
}

/// What was told of a message.
#[derive(Debug, Default)]
struct Known {
    /// Where it stands in the conversation.
    at: usize,
    turn_id: Option<String>,
    opens_turn: bool,
    /// What was told, by its hash, with the event that says it.
    text: Option<(u64, String)>,
    thoughts: Vec<(u64, String)>,
    tokens: u64,
    usage_id: Option<String>,
    attachments: Vec<u64>,
    /// The calls that are over, by their id's hash.
    over: HashSet<u64>,
}

impl GeminiChat {
    pub(crate) fn new() -> Self {
        GeminiChat {
            track: Track::new(),
            known: HashMap::new(),
            order: Vec::new(),
            is_headed: false,
            unsettled: None,
            asked: HashMap::new(),
            nameless: HashMap::new(),
            outcome: "interrupted",
            last_ms: None,
        }
    }

    fn at_time(&mut self, emitter: &mut Emitter, value: &Value, key: &str) {
        if let Some(time_ms) = text_of(value, key).and_then(millis_of_rfc3339) {
            self.last_ms = Some(time_ms);
        }
        if let Some(time_ms) = self.last_ms {
            emitter.time_ms = time_ms;
        }
    }

    fn header(&mut self, emitter: &mut Emitter, value: &Value) {
        self.at_time(emitter, value, "startTime");
        let facts = SessionStart {
            agent: Some("Gemini CLI".to_owned()),
            native_id: text_of(value, "sessionId").map(str::to_owned),
            title: text_of(value, "summary").map(str::to_owned),
            provider: Some("gemini".to_owned()),
            ..SessionStart::default()
        };
        let mut rest = Map::new();
        for key in ["kind", "projectHash"] {
            if let Some(text) = text_of(value, key) {
                rest.insert(key.to_owned(), Value::from(text));
            }
        }
        self.track.facts.say(emitter, facts, rest);
        self.is_headed = true;
        for message in list_of(value, "messages") {
            self.settle(emitter);
            self.message(emitter, message);
        }
    }

    fn fact(&mut self, emitter: &mut Emitter, facts: SessionStart) {
        self.track.facts.say(emitter, facts, Map::new());
    }

    fn set(&mut self, emitter: &mut Emitter, members: &Map<String, Value>) {
        for (key, value) in members {
            match (key.as_str(), value) {
                ("messages", Value::Array(messages)) => self.replace(emitter, messages),
                ("summary", Value::String(title)) => {
                    let facts = SessionStart {
                        title: Some(title.clone()),
                        ..SessionStart::default()
                    };
                    self.fact(emitter, facts);
                }
                (
                    "lastUpdated" | "startTime" | "sessionId" | "projectHash" | "kind"
                    | "directories",
                    _,
                ) => emitter.pass_over(&format!("$set {key}")),
                _ => {
                    let place = self.track.place();
                    emitter.raw(&place, FORMAT, &format!("$set {key}"), value);
                }
            }
        }
    }

    fn message(&mut self, emitter: &mut Emitter, message: &Value) {
        self.at_time(emitter, message, "timestamp");
        let kind = str_of(message, "type").unwrap_or("");
        let Some(id) = text_of(message, "id") else {
            return emitter.raw(
                &self.track.place(),
                FORMAT,
                "message without an id",
                message,
            );
        };
        let key = hash(id.as_bytes());
        let is_new = !self.known.contains_key(&key);
        emitter.begin_line(Some(id));
        match kind {
            "user" if is_new => self.prompt(emitter, key, id, message),
            "gemini" | "model" => self.answer(emitter, key, id, message),
            "info" | "warning" | "error" if is_new => self.word(emitter, kind, message),
            "user" | "info" | "warning" | "error" => {
                emitter.report.repeated += 1;
                // What a call gave may stand under the id of the message that made it.
                let (_, echoes) = messages::said(message);
                self.echoes(emitter, echoes);
            }
            _ => emitter.raw(&self.track.place(), FORMAT, kind, message),
        }
        let known = self.known.entry(key).or_default();
        if self.order.get(known.at) != Some(&key) {
            known.at = self.order.len();
            self.order.push(key);
        }
    }

    fn prompt(&mut self, emitter: &mut Emitter, key: u64, id: &str, message: &Value) {
        let (mut said, echoes) = messages::said(message);
        let is_echo = !echoes.is_empty();
        self.echoes(emitter, echoes);
        if is_echo && said.text.is_empty() {
            return emitter.pass_over("answers to calls");
        }
        if said.text.starts_with("<session_context>") {
            let facts = SessionStart {
                cwd: messages::context_cwd(&said.text).map(str::to_owned),
                ..SessionStart::default()
            };
            self.fact(emitter, facts);
            return emitter.pass_over("session context");
        }
        // The model reads it with what its calls gave: the turn goes on.
        let steers = is_echo && self.track.turn_id().is_some();
        if !steers {
            self.close(emitter);
            self.track.open_turn(emitter, id, "user");
        }
        let mut sent = None;
        if let Some(shown) = str_of(message, "displayContent").filter(|shown| **shown != said.text)
        {
            sent = Some(std::mem::replace(&mut said.text, shown.to_owned()));
        }
        let event_id = format!("{id}:user");
        if steers {
            self.track.steer(emitter, &event_id, said);
        } else {
            self.track.user(emitter, &event_id, said);
        }
        if let (Some(sent), Some(event)) = (sent, emitter.out.last_mut())
            && let Payload::UserMessage(shown) = &mut event.payload
        {
            // What the program made of it for the model: files that were named, written out.
            shown.extra.insert("sent", Json::string(&sent));
        }
        let known = self.known.entry(key).or_default();
        known.turn_id = self.track.turn_id().map(str::to_owned);
        known.opens_turn = !steers;
    }

    /// What calls gave that wait.
    fn echoes(&mut self, emitter: &mut Emitter, echoes: Vec<Echo<'_>>) {
        for answer in echoes {
            let told = answer.told;
            let nameless = || {
                let name = text_of(told, "name")?;
                self.nameless.get_mut(name)?.pop_front()
            };
            let call_id = text_of(told, "id").map(str::to_owned).or_else(nameless);
            let call_id = call_id.unwrap_or_default();
            // The message with the call was not written again with what it gave.
            if self.track.waiting(&call_id).is_some() {
                self.track
                    .result(emitter, &call_id, messages::echoed(answer));
                let key = hash(call_id.as_bytes());
                let made_by = self.asked.get(&key);
                if let Some(known) = made_by.and_then(|made_by| self.known.get_mut(made_by)) {
                    known.over.insert(key);
                }
            }
        }
    }

    /// What the program itself says.
    fn word(&mut self, emitter: &mut Emitter, kind: &str, message: &Value) {
        let text = messages::said(message).0.text;
        let place = self.track.place();
        if kind == "error" {
            self.outcome = "failed";
            let payload = ErrorEvent {
                code: "error".to_owned(),
                message: text,
                extra: Extra::default(),
            };
            emitter.add("error", &place, payload);
        } else if text.trim_end_matches('.') == "Request cancelled" {
            self.outcome = "interrupted";
            let payload = Interrupt {
                reason: "user_cancel".to_owned(),
                extra: Extra::default(),
            };
            emitter.add("interrupt", &place, payload);
        } else {
            emitter.notice(kind, &place, "gemini", text);
        }
    }

    fn close(&mut self, emitter: &mut Emitter) {
        self.track.close_turn(emitter, ended(self.outcome));
        self.asked.clear();
        self.nameless.clear();
        self.outcome = "interrupted";
    }
}

impl Normalizer for GeminiChat {
    fn line(&mut self, emitter: &mut Emitter, value: &Value) {
        if let Some(time_ms) = self.last_ms {
            emitter.time_ms = time_ms;
        }
        if let Some(members) = value.get("$set").and_then(Value::as_object) {
            self.set(emitter, members);
        } else if let Some(id) = str_of(value, "$rewindTo") {
            self.settle(emitter);
            self.rewind(emitter, id);
        } else if value.get("sessionId").is_some() && value.get("type").is_none() {
            self.header(emitter, value);
        } else if value.get("type").is_some() {
            self.settle(emitter);
            self.message(emitter, value);
        } else {
            let place = self.track.place();
            emitter.raw(&place, FORMAT, "no record", value);
        }
    }

    fn rest(&mut self, emitter: &mut Emitter) {
        self.settle(emitter);
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.settle(emitter);
        if let Some(time_ms) = self.last_ms {
            emitter.time_ms = time_ms;
        }
        self.close(emitter);
    }
}
