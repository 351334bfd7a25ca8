//! What messages of Chat Completions are known by, when a request or a whole body says again what was told.
//!
//! An answer is known by its text, white space left out, for clients trim it. One with calls is known by these: their ids, names
//! and arguments; clients send the text beside them back in other words. Some servers give calls no ids, as the old
//! `function_call` has none; clients may make some up then. Such answers are known by their text and by the names and
//! arguments of their calls.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::calls::args_of_text;
use super::content::texts_of;
use super::session::{Key, Session};
use crate::emit::hash;
use crate::value::{list_of, str_of, text_of};

/// What an answer says.
#[derive(Debug)]
pub(super) struct Said<'a> {
    text: String,
    calls: Vec<Called<'a>>,
}

#[derive(Debug)]
struct Called<'a> {
    /// The server's.
    id: Option<&'a str>,
    name: &'a str,
    /// As they came, or read.
    args: Cow<'a, Value>,
}

impl<'a> Said<'a> {
    /// By a whole message.
    pub(super) fn of(message: &'a Value) -> Self {
        let texts = texts_of(message.get("content").unwrap_or(&Value::Null));
        let refusal = str_of(message, "refusal").unwrap_or("");
        let audio = message.get("audio");
        let audio = audio.and_then(|audio| str_of(audio, "transcript"));
        let calls = calls_of(message).map(|(call, function)| Called {
            id: text_of(call, "id"),
            name: str_of(function, "name").unwrap_or(""),
            args: args_of(function).map_or(Cow::Owned(Value::from("")), Cow::Borrowed),
        });
        Said {
            text: format!("{}{refusal}{}", texts.concat(), audio.unwrap_or("")),
            calls: calls.collect(),
        }
    }

    /// By the pieces of an answer that is being written.
    pub(super) fn by_pieces(session: &'a Session, native_id: &str) -> Self {
        let built = |name: &str| session.built(native_id, &Key::text(name));
        let answer = session.answers.get(native_id);
        let ids = answer.into_iter().flat_map(|answer| &answer.calls.ids);
        let calls = ids.map(|id| {
            let call = session.calls.get(id);
            Called {
                id: call.is_none_or(|call| !call.made_up).then_some(id.as_str()),
                name: call.map_or("", |call| call.name.as_str()),
                args: call.map_or(Cow::Owned(Value::Null), |call| call.args_so_far()),
            }
        });
        Said {
            text: format!(
                "{}{}{}",
                built("content"),
                built("refusal"),
                built("transcript")
            ),
            calls: calls.collect(),
        }
    }

    /// Its text, white space left out.
    fn words(&self) -> String {
        self.text.split_whitespace().collect()
    }

    fn has_ids(&self) -> bool {
        self.calls.iter().all(|call| call.id.is_some())
    }

    fn print(&self, by_ids: bool) -> u64 {
        let calls = self.calls.iter().map(|call| {
            let args = match &*call.args {
                Value::String(text) => args_of_text(text).to_string(),
                args => args.to_string(),
            };
            // Some servers give the calls of every answer the same ids.
            let id = call.id.filter(|_| by_ids).unwrap_or_default();
            format!("{id} {} {args}", call.name)
        });
        let calls: Vec<String> = calls.collect();
        // Clients send a text back without what was thought in it, or with a word where there was none.
        let text: String = match by_ids && !calls.is_empty() {
            true => String::new(),
            false => self.words(),
        };
        hash(format!("assistant\n{}\n{text}", calls.join(" ")).as_bytes())
    }
}

/// The fingerprints of answers that later messages are held against.
#[derive(Debug, Default)]
pub(super) struct Prints {
    /// Of answers with calls that had no ids.
    without_ids: HashSet<u64>,
    /// Of the answers behind the newest request, with their texts, by the hash of their id: some servers give all answers the
    /// same.
    newest: HashMap<u64, (u64, String)>,
}

impl Prints {
    /// What tells a message from others, however it is written.
    pub(super) fn of(&self, message: &Value) -> u64 {
        let role = str_of(message, "role").unwrap_or("assistant");
        if role == "assistant" {
            return self.of_answer(&Said::of(message));
        }
        let texts = texts_of(message.get("content").unwrap_or(&Value::Null));
        let of_call = str_of(message, "tool_call_id").unwrap_or("");
        hash(format!("{role}\n{of_call}\n{}", texts.concat()).as_bytes())
    }

    fn of_answer(&self, said: &Said<'_>) -> u64 {
        let has_ids = said.has_ids();
        if has_ids && self.without_ids.is_empty() {
            return said.print(true);
        }
        let by_names = said.print(false);
        if has_ids && !self.without_ids.contains(&by_names) {
            return said.print(true);
        }
        by_names
    }

    /// Takes note of an answer.
    pub(super) fn answer(&mut self, id: &str, said: &Said<'_>) -> u64 {
        let print = self.of_answer(said);
        if !said.has_ids() {
            self.without_ids.insert(print);
        }
        let newest = (print, said.words());
        self.newest.insert(hash(id.as_bytes()), newest);
        print
    }

    /// Whether an answer says what another with its id said behind the newest request.
    pub(super) fn knows(&self, id: &str, said: &Said<'_>) -> bool {
        let known = self.newest.get(&hash(id.as_bytes()));
        known.is_some_and(|(print, text)| *print == self.of_answer(said) && *text == said.words())
    }

    /// A request comes: what answers that is none of those before.
    pub(super) fn request(&mut self) {
        self.newest.clear();
    }
}

/// The calls of a whole message, each with what it calls.
pub(super) fn calls_of(message: &Value) -> impl Iterator<Item = (&Value, &Value)> {
    let listed = list_of(message, "tool_calls").iter().map(|call| {
        let function = call.get("function").or_else(|| call.get("custom"));
        (call, function.unwrap_or(&Value::Null))
    });
    let alone = message.get("function_call").filter(|call| call.is_object());
    listed.chain(alone.map(|function| (function, function)))
}

/// The arguments of what is called, as they came.
pub(super) fn args_of(function: &Value) -> Option<&Value> {
    function.get("arguments").or_else(|| function.get("input"))
}
