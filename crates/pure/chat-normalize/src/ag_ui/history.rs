//! Messages as a whole: what a run is given, and snapshots that replace all; of both, what was not told yet.
//!
//! A snapshot holds the conversation from its beginning. Its messages are in groups, each begun by the user; the last
//! group and those of which something was told in it belong to the turn that runs, and an earlier group of which nothing
//! was told is a turn of its own, unless there is nothing in it to show: what the model is told of its work begins most.
//! The user's words stand in the turn in which the rest of their group was told.

use std::collections::{BTreeMap, HashSet};

use chat_event::payload::{AssistantDone, Retract, ThinkingDone, ToolCall, TurnEnd};
use chat_event::{Extra, Json};
use serde_json::{Map, Value, json};

use super::calls::Call;
use super::events::{AgUi, id_hash, text_key};
use super::message::{calls_named, calls_of, content_of, keys_of, shows};
use super::names::field;
use super::texts::{Open, Said};
use crate::emit::{Emitter, Place, hash};
use crate::speech::Kind;
use crate::tool;
use crate::value::{str_of, text_of};

impl AgUi {
    /// Results that a run's input brings for calls of the run before.
    pub(super) fn tool_messages(&mut self, emitter: &mut Emitter, messages: &[Value]) {
        for message in messages {
            if str_of(message, "role") == Some("tool") {
                self.tool_message(emitter, message);
            }
        }
    }

    fn tool_message(&mut self, emitter: &mut Emitter, message: &Value) {
        let id = field(message, "toolCallId", "tool_call_id").unwrap_or("");
        if self.write_result(emitter, id, message).is_none() {
            emitter.pass_over("a message told before");
        }
    }

    /// What the user says in a run's input: the messages behind the last of the agent.
    pub(super) fn input(&mut self, emitter: &mut Emitter, messages: &[Value]) {
        let last = messages
            .iter()
            .rposition(|message| matches!(str_of(message, "role"), Some("assistant")));
        let news = last.map_or(0, |last| last + 1);
        for (at, message) in messages.iter().enumerate() {
            let is_user = str_of(message, "role") == Some("user");
            if at >= news && is_user && !self.was_told(message) {
                self.whole_user(emitter, message);
            } else if at < news {
                emitter.pass_over("a message of the history");
            }
        }
    }

    /// `MESSAGES_SNAPSHOT`. Messages that bear no ids are those that said the same words before, one after another, and
    /// else new.
    pub(super) fn snapshot(&mut self, emitter: &mut Emitter, messages: &[Value]) {
        let has_id = |message: &Value| text_of(message, "id").is_some();
        if messages.iter().all(has_id) {
            return self.named_snapshot(emitter, messages);
        }
        let given: HashSet<&str> = messages.iter().filter_map(|it| text_of(it, "id")).collect();
        // How many said these words, and the ids of them that were looked at.
        let mut n_of_print: BTreeMap<u64, (usize, usize)> = BTreeMap::new();
        let mut named = messages.to_vec();
        for message in named.iter_mut().filter(|message| !has_id(message)) {
            let (text, _) = content_of(message.get("content").unwrap_or(&Value::Null));
            let said = match text.is_empty() {
                true => hash(message.to_string().as_bytes()),
                false => hash(text.as_bytes()),
            };
            let (nth, n_seen) = n_of_print.entry(said).or_default();
            let ids = self.ids_of_texts.at(said).map(Vec::as_slice);
            let mut ids = ids.unwrap_or_default().iter().skip(*n_seen);
            let known = ids
                .by_ref()
                .inspect(|_| *n_seen += 1)
                .find(|id| !given.contains(id.as_str()));
            let id = known
                .cloned()
                .unwrap_or_else(|| format!("unnamed-{said:016x}-{nth}"));
            *nth += 1;
            if let Some(members) = message.as_object_mut() {
                members.insert("id".to_owned(), id.into());
            }
        }
        self.named_snapshot(emitter, &named);
    }

    fn named_snapshot(&mut self, emitter: &mut Emitter, messages: &[Value]) {
        let mut starts: Vec<usize> = messages
            .iter()
            .enumerate()
            .filter(|(_, message)| str_of(message, "role") == Some("user"))
            .map(|(at, _)| at)
            .collect();
        if starts.first() != Some(&0) {
            starts.insert(0, 0);
        }
        starts.push(messages.len());
        let last = starts.len().saturating_sub(2);
        for (n, pair) in starts.windows(2).enumerate() {
            let group = messages.get(pair[0]..pair[1]).unwrap_or_default();
            let told = group.iter().any(|message| self.was_told(message));
            if n == last || told || !group.iter().any(shows) {
                let told_in = group.iter().find_map(|message| self.turn_of(message));
                let turn = told_in.map(str::to_owned).or_else(|| self.turn.clone());
                let late = turn.filter(|turn| n != last || self.turn.as_ref() != Some(turn));
                for message in group {
                    match &late {
                        Some(turn) if str_of(message, "role") == Some("user") => {
                            self.late_user(emitter, message, turn);
                        }
                        _ => self.whole(emitter, message),
                    }
                }
            } else {
                self.past_turn(emitter, group);
            }
        }
    }

    /// A turn of the conversation that is over.
    fn past_turn(&mut self, emitter: &mut Emitter, group: &[Value]) {
        let turn = self.turn.take();
        let first = group.iter().find_map(|message| text_of(message, "id"));
        let mut id = format!("past-{}", first.unwrap_or("turn"));
        if !self.turns.insert(id_hash("turn", &id)) {
            self.n_turns += 1;
            id = format!("{id}~{}", self.n_turns);
            self.turns.insert(id_hash("turn", &id));
        }
        let place = self.begin_turn(emitter, &id);
        for message in group {
            self.whole(emitter, message);
        }
        // Only those that it made: a walk over all that are open, for each group, would be long.
        let made = group.iter().flat_map(calls_of);
        for id in made.filter_map(|call| text_of(call, "id")) {
            let inside = |call: &Call| call.place.turn_id == self.turn;
            if self.calls.get(id).is_some_and(inside) {
                self.close_call(emitter, id, false);
            }
        }
        let end = TurnEnd {
            outcome: Some("completed".to_owned()),
            ..TurnEnd::default()
        };
        emitter.add_as(&format!("{id}:end"), &place, end);
        self.turn = turn;
        self.lanes.clear();
    }

    /// A message that stands in a list.
    fn whole(&mut self, emitter: &mut Emitter, message: &Value) {
        match str_of(message, "role") {
            Some("user") if self.was_told(message) => emitter.pass_over("a message told before"),
            Some("user") => self.whole_user(emitter, message),
            Some("assistant") => self.whole_assistant(emitter, message),
            Some("reasoning") => self.whole_text(emitter, message, true),
            Some("tool") => self.tool_message(emitter, message),
            Some("activity") => self.activity(emitter, message, None),
            Some("system" | "developer") => emitter.pass_over("a system message"),
            Some(_) | None => {
                let place = self.quiet_place(None);
                emitter.raw(&place, super::FORMAT, "a message", message);
            }
        }
    }

    fn whole_user(&mut self, emitter: &mut Emitter, message: &Value) {
        let place = self.place(emitter, None);
        self.user_in(emitter, message, &place);
    }

    fn user_in(&mut self, emitter: &mut Emitter, message: &Value, place: &Place) {
        let (text, attached) = content_of(message.get("content").unwrap_or(&Value::Null));
        let id = text_of(message, "id")
            .map_or_else(|| format!("{}:user", emitter.line_id()), str::to_owned);
        self.user_words(emitter, place, &id, &text, attached);
    }

    /// What the user said in a turn of which something was told: news only where none of the user's words were. A server
    /// may call a message that it was given otherwise.
    fn late_user(&mut self, emitter: &mut Emitter, message: &Value, turn: &str) {
        if self.was_told(message) || self.worded.contains(turn) {
            return emitter.pass_over("a message told before");
        }
        let place = Place {
            turn_id: Some(turn.to_owned()),
            ..Place::default()
        };
        self.user_in(emitter, message, &place);
    }

    fn whole_assistant(&mut self, emitter: &mut Emitter, message: &Value) {
        self.whole_text(emitter, message, false);
        for call in calls_of(message) {
            let Some(id) = text_of(call, "id") else {
                continue;
            };
            if self.calls.contains_key(id) || self.told.contains_key(&id_hash("call", id)) {
                continue;
            }
            let function = call.get("function").unwrap_or(&Value::Null);
            let name = text_of(function, "name").unwrap_or("");
            let input = str_of(function, "arguments").unwrap_or("");
            let started = json!({"toolCallId": id, "toolCallName": name,
                "parentMessageId": message.get("id")});
            self.call_start(emitter, &started, None);
            if let Some(open) = self.calls.get_mut(id) {
                open.announced = true;
                let args = serde_json::from_str(input).unwrap_or_else(|_| match input.trim() {
                    "" => Value::Object(Map::new()),
                    _ => Value::String(input.to_owned()),
                });
                let payload = ToolCall {
                    tool_call_id: id.to_owned(),
                    tool_name: name.to_owned(),
                    title: tool::title(name, &args),
                    kind: Some(tool::kind(name).to_owned()),
                    args: Json::from(&args),
                    extra: Extra::default(),
                };
                emitter.add_as(&format!("{id}:call"), &open.place, payload);
            }
        }
    }

    /// A text that was not told, or told otherwise: then that is taken back, in however many parts it was.
    fn whole_text(&mut self, emitter: &mut Emitter, message: &Value, thinking: bool) {
        let (text, _) = content_of(message.get("content").unwrap_or(&Value::Null));
        let id = text_of(message, "id").unwrap_or("").to_owned();
        if text.is_empty() {
            return;
        }
        let kind = match thinking {
            true => Kind::Thinking,
            false => Kind::Text,
        };
        let said = hash(text.as_bytes());
        let open = self.texts[kind as usize].contains_key(&id);
        if open || (!id.is_empty() && self.told.get(&text_key(kind, &id)) == Some(&said)) {
            return emitter.pass_over("a message told before");
        }
        let id = if id.is_empty() {
            emitter.line_id().to_owned()
        } else {
            id
        };
        let key = text_key(kind, &id);
        let before = std::mem::take(self.said.entry_at(key));
        let (place, number) = match before.first() {
            Some(first) => {
                let event_ids = before.iter().map(|said| said.event_id.clone()).collect();
                let extra = Extra::default();
                emitter.add("retract", &first.place, Retract { event_ids, extra });
                (first.place.clone(), first.number)
            }
            None => {
                let place = self.response(emitter, &id, kind, None);
                let response = place.response_id.as_deref().unwrap_or("");
                let n_parts = &mut self.parts.entry(response)[kind as usize];
                *n_parts = (*n_parts).max(1);
                (place, 0)
            }
        };
        self.note_text(kind, &id, said, &place);
        let part = Some(number);
        let event = if thinking {
            let done = ThinkingDone {
                text,
                part,
                ..ThinkingDone::default()
            };
            emitter.add_as(&format!("{id}:thought0"), &place, done)
        } else {
            let done = AssistantDone {
                text,
                part,
                ..AssistantDone::default()
            };
            emitter.add_as(&format!("{id}:text0"), &place, done)
        };
        let event_id = event.id.clone();
        *self.said.entry_at(key) = vec![Said {
            place,
            number,
            event_id,
        }];
    }

    fn was_told(&self, message: &Value) -> bool {
        let id = text_of(message, "id").unwrap_or("");
        let is_open = |texts: &BTreeMap<String, Open>| texts.contains_key(id);
        let is_call_open = |call| self.calls.contains_key(call);
        self.texts.iter().any(is_open)
            || calls_named(message).any(is_call_open)
            || keys_of(message).any(|key| self.told.contains_key(&key))
    }

    /// The turn in which something of a message was told, where that is known.
    fn turn_of(&self, message: &Value) -> Option<&str> {
        let open = calls_named(message).find_map(|call| self.calls.get(call));
        let open = open.and_then(|call| call.place.turn_id.as_ref());
        let told = || keys_of(message).find_map(|key| self.told_in.at(key));
        open.or_else(told).map(String::as_str)
    }
}
