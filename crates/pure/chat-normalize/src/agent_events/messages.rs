//! Messages: put together by id in the order of their chunks' numbers, in whichever order they come.
//!
//! The last chunk closes a message at once. Where a number before it did not come yet, the message is kept: a late chunk
//! finds its place by its number, and the whole is written once more when none is missing, or no more are waited for.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use chat_event::Extra;
use chat_event::payload::{AssistantChunk, AssistantDone, ThinkingChunk, ThinkingDone};
use serde_json::Value;

use super::events::place;
use crate::emit::{Emitter, hash};
use crate::value::{count_of, is_true, str_of, text_of};

/// How many closed messages are kept that lack a chunk.
const MAX_KEPT: usize = 64;

/// What is open.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    open: BTreeMap<String, Message>,
    current: Option<String>,
    n_messages: u64,
    thinking: bool,
    /// Hashes of the ids of messages that are whole.
    over: BTreeSet<u64>,
    /// Closed messages that lack a chunk, the oldest first.
    kept: VecDeque<String>,
}

#[derive(Debug, Default)]
struct Message {
    text: BTreeMap<u64, String>,
    thinking: BTreeMap<u64, String>,
    /// The numbers that came, those of empty chunks among them.
    seen: BTreeSet<u64>,
    /// What was written as the whole of its thinking.
    thought: String,
    ended: bool,
    /// A chunk came since it was written as a whole.
    stale: bool,
}

impl Messages {
    /// `agent.thinking_start`.
    pub(super) fn thinking_begins(&mut self, data: &Value) {
        self.thinking = true;
        if let Some(id) = text_of(data, "message_id") {
            self.current = Some(id.to_owned());
        }
    }

    /// `agent.thinking_end`.
    pub(super) fn thinking_ends(&mut self, emitter: &mut Emitter, data: &Value) {
        self.thinking = false;
        let whole = ["thinking", "content", "text"]
            .iter()
            .find_map(|key| text_of(data, key));
        let id = match (text_of(data, "message_id"), &self.current, whole) {
            (Some(id), _, _) => id.to_owned(),
            (None, Some(id), _) => id.clone(),
            (None, None, Some(_)) => self.new_id(),
            (None, None, None) => return emitter.pass_over("thinking_end without a message"),
        };
        let built = self.open.get(&id).map(|message| join(&message.thinking));
        let text = whole.map(str::to_owned).or(built).unwrap_or_default();
        if text.is_empty() {
            return emitter.pass_over("thinking_end without a thought");
        }
        if let Some(message) = self.open.get_mut(&id) {
            message.thought.clone_from(&text);
        }
        thinking_done(emitter, &id, text);
    }

    fn new_id(&mut self) -> String {
        self.n_messages += 1;
        format!("message-{}", self.n_messages)
    }

    /// `agent.message_chunk`.
    pub(super) fn chunk(&mut self, emitter: &mut Emitter, data: &Value) {
        let id = match (text_of(data, "message_id"), &self.current) {
            (Some(id), _) => id.to_owned(),
            (None, Some(id)) => id.clone(),
            (None, None) => self.new_id(),
        };
        if self.over.contains(&hash(id.as_bytes())) {
            return emitter.pass_over("a chunk of a message that is over");
        }
        self.current = Some(id.clone());
        let text = ["chunk", "chunk_text", "text"]
            .iter()
            .find_map(|key| str_of(data, key))
            .unwrap_or("");
        let said = data.get("is_thinking").and_then(Value::as_bool);
        let thinking = said.unwrap_or(self.thinking);
        let message = self.open.entry(id.clone()).or_default();
        let last = message.seen.last().copied();
        let index = count_of(data, "chunk_index")
            .unwrap_or_else(|| last.map_or(0, |last| last.saturating_add(1)));
        if !message.seen.insert(index) {
            emitter.pass_over("a chunk that came before");
        } else if !text.is_empty() {
            let chunks = if thinking {
                &mut message.thinking
            } else {
                &mut message.text
            };
            chunks.insert(index, text.to_owned());
            message.stale = true;
            write_chunk(emitter, &id, index, text, thinking);
        }
        // Written again with each late chunk, a message of many would be written as often as it has chunks.
        let closes = match message.ended {
            true => message.is_whole(),
            false => is_true(data, "is_final"),
        };
        if closes {
            self.close(emitter, &id, None);
        } else if message.ended {
            self.current = None;
        }
    }

    /// `agent.message_end`.
    pub(super) fn ends(&mut self, emitter: &mut Emitter, data: &Value) {
        let id = text_of(data, "message_id")
            .map(str::to_owned)
            .or_else(|| self.current.clone());
        let whole = text_of(data, "text").or_else(|| text_of(data, "content"));
        let Some(id) = id.or_else(|| whole.map(|_| self.new_id())) else {
            return emitter.pass_over("message_end without a message");
        };
        if let Some(whole) = whole {
            self.open.entry(id.clone()).or_default();
            return self.close(emitter, &id, Some(whole));
        }
        match self.open.get(&id) {
            Some(message) if !message.ended => self.close(emitter, &id, None),
            _ => emitter.pass_over("message_end of a message that is over"),
        }
    }

    /// Writes the message as a whole; where it lacks a chunk, it is kept.
    fn close(&mut self, emitter: &mut Emitter, id: &str, whole: Option<&str>) {
        if self.current.as_deref() == Some(id) {
            self.current = None;
        }
        let Some(message) = self.open.get_mut(id) else {
            return;
        };
        let thought = join(&message.thinking);
        // What the worker said as a whole counts more than its chunks, unless one of them came since.
        if !thought.is_empty()
            && (message.thought.is_empty() || thought.len() > message.thought.len())
        {
            message.thought.clone_from(&thought);
            thinking_done(emitter, id, thought);
        }
        let text = whole.map_or_else(|| join(&message.text), str::to_owned);
        if !text.is_empty() {
            let done = AssistantDone {
                text,
                part: Some(0),
                ..AssistantDone::default()
            };
            emitter.add_as(&format!("{id}:done"), &place().in_response(id), done);
        }
        message.stale = false;
        let again = std::mem::replace(&mut message.ended, true);
        if whole.is_some() || message.is_whole() {
            self.open.remove(id);
            self.over.insert(hash(id.as_bytes()));
        } else if !again {
            self.kept.push_back(id.to_owned());
            if self.kept.len() > MAX_KEPT
                && let Some(oldest) = self.kept.pop_front()
            {
                if self.open.get(&oldest).is_some_and(|message| message.stale) {
                    self.close(emitter, &oldest, None);
                }
                self.open.remove(&oldest);
                self.over.insert(hash(oldest.as_bytes()));
            }
        }
    }

    /// The source ended.
    pub(super) fn end_all(&mut self, emitter: &mut Emitter) {
        let open: Vec<String> = self
            .open
            .iter()
            .filter(|(_, message)| !message.ended || message.stale)
            .map(|(id, _)| id.clone())
            .collect();
        for id in open {
            self.close(emitter, &id, None);
        }
    }
}

impl Message {
    /// No number before its last one is missing.
    fn is_whole(&self) -> bool {
        let n_seen = u64::try_from(self.seen.len()).unwrap_or(u64::MAX);
        self.seen.last().is_none_or(|last| n_seen > *last)
    }
}

fn join(chunks: &BTreeMap<u64, String>) -> String {
    chunks.values().map(String::as_str).collect()
}

fn write_chunk(emitter: &mut Emitter, id: &str, index: u64, text: &str, thinking: bool) {
    let place = place().in_response(id);
    let event_id = format!("{id}:{index}");
    let (text, part, index) = (text.to_owned(), Some(0), Some(index));
    let extra = Extra::default();
    if thinking {
        let chunk = ThinkingChunk {
            text,
            part,
            index,
            extra,
        };
        emitter.add_as(&event_id, &place, chunk);
    } else {
        let chunk = AssistantChunk {
            text,
            part,
            index,
            extra,
        };
        emitter.add_as(&event_id, &place, chunk);
    }
}

fn thinking_done(emitter: &mut Emitter, id: &str, text: String) {
    if !text.is_empty() {
        let done = ThinkingDone {
            text,
            part: Some(0),
            ..ThinkingDone::default()
        };
        emitter.add_as(&format!("{id}:thought"), &place().in_response(id), done);
    }
}
