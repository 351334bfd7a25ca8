//! Messages and their parts: what was asked, said and thought, what it cost, and what went wrong.

use chat_event::payload::{
    AssistantChunk, AssistantDone, Compaction, ErrorEvent, Interrupt, Retract, ThinkingChunk,
    ThinkingDone, Usage,
};
use chat_event::{Extra, Json};
use serde_json::{Value, json};

use super::session::{Session, Turn};
use super::times;
use crate::emit::{Emitter, Place, hash};
use crate::value::{amount_of, count_of, is_true, str_of, text_of};

/// What is known of a message.
#[derive(Debug, Default)]
pub(crate) struct Message {
    pub(crate) of_user: bool,
    pub(crate) turn_id: Option<String>,
    /// It stands in for what a compaction dropped.
    summary: bool,
    summary_text: String,
    n_texts: u32,
    n_thoughts: u32,
    completed: bool,
    /// A step's usage was written.
    counted: bool,
    model: Option<String>,
    pub(crate) parts: Vec<String>,
    /// Files whose changes were told by the tools of this message.
    pub(crate) edited: std::collections::BTreeSet<String>,
}

/// A part whose text grows.
#[derive(Debug, Default)]
pub(crate) struct Part {
    order: u64,
    kind: Kind,
    number: u32,
    /// What was written so far.
    got: String,
    /// What a part that is done says.
    said: u64,
    done: bool,
    silent: bool,
    message_id: String,
    place: Place,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    /// Only pieces came, not yet what they are pieces of.
    #[default]
    Unknown,
    Text,
    Thinking,
    /// Nothing grows in it.
    Other,
}

/// A message of the user that is put together from its parts.
#[derive(Debug, Default)]
pub(crate) struct Prompt {
    pub(crate) session: String,
    pub(crate) message_id: String,
    pub(crate) texts: Vec<String>,
    pub(crate) attachments: Vec<Value>,
    pub(crate) time_ms: i64,
    /// The program wrote it itself.
    own: bool,
}

impl Prompt {
    pub(crate) fn is_empty(&self) -> bool {
        !self.own && !self.says_something()
    }

    pub(crate) fn says_something(&self) -> bool {
        !self.texts.is_empty() || !self.attachments.is_empty()
    }
}

impl Session {
    /// What `info` says of a message; it comes many times.
    pub(crate) fn message(&mut self, emitter: &mut Emitter, native_id: &str, info: &Value) {
        let Some(id) = text_of(info, "id") else {
            let place = self.place(native_id);
            return emitter.raw(&place, self.format, "message without an id", info);
        };
        match str_of(info, "role") {
            Some("user") => self.prompt_begins(emitter, native_id, id, info),
            Some("assistant") => self.answer(emitter, native_id, id, info),
            Some(_) | None => {
                let place = self.place(native_id);
                emitter.raw(&place, self.format, "message of another role", info);
            }
        }
    }

    fn prompt_begins(&mut self, emitter: &mut Emitter, native_id: &str, id: &str, info: &Value) {
        if self.messages.contains_key(id) {
            return;
        }
        let message = Message {
            of_user: true,
            ..Message::default()
        };
        self.messages.insert(id.to_owned(), message);
        self.flush_prompt(emitter);
        let created = info
            .get("time")
            .and_then(|time| times::of_member(time, "created"));
        self.prompt = Some(Prompt {
            session: native_id.to_owned(),
            message_id: id.to_owned(),
            time_ms: created.unwrap_or(emitter.time_ms),
            ..Prompt::default()
        });
    }

    fn answer(&mut self, emitter: &mut Emitter, native_id: &str, id: &str, info: &Value) {
        let place = self.answer_place(emitter, native_id, id, Some(info));
        if self.is_root(native_id) {
            self.about_answer(emitter, info, &place);
        }
        let Some(message) = self.messages.get_mut(id) else {
            return;
        };
        message.summary |= is_true(info, "summary");
        let model = text_of(info, "modelID");
        if let Some(model) = model {
            message.model = Some(model.to_owned());
        }
        let finish = text_of(info, "finish");
        if let Some(error) = info.get("error").filter(|error| error.is_object()) {
            self.failed(emitter, native_id, &place, error);
        }
        let ended = finish.is_some_and(|finish| finish != "tool-calls");
        if let Some(turn) = self.turn(place.turn_id.as_ref())
            && place.parent_tool_call_id.is_none()
        {
            turn.answered = ended;
        }
        let time = info.get("time").unwrap_or(&Value::Null);
        if times::of_member(time, "completed").is_some() {
            self.complete(emitter, id, &place, info);
        }
    }

    /// The place of an answer, which is made known where it was not.
    pub(crate) fn answer_place(
        &mut self,
        emitter: &mut Emitter,
        native_id: &str,
        id: &str,
        info: Option<&Value>,
    ) -> Place {
        let root = self.is_root(native_id);
        if !self.messages.contains_key(id) {
            let turn_id = if root {
                Some(self.turn_of_answer(emitter, id, info))
            } else {
                self.place(native_id).turn_id
            };
            if root && let Some(turn) = self.turn(turn_id.as_ref()) {
                turn.open_messages.insert(id.to_owned());
                turn.guessed = false;
            }
            let message = Message {
                turn_id,
                ..Message::default()
            };
            self.messages.insert(id.to_owned(), message);
        }
        let mut place = self.place(native_id).in_response(id);
        if let Some(turn_id) = self
            .messages
            .get(id)
            .and_then(|message| message.turn_id.clone())
        {
            place.turn_id = Some(turn_id);
        }
        place
    }

    /// The turn of a new answer: that of the prompt it names; the turns before it are over.
    fn turn_of_answer(&mut self, emitter: &mut Emitter, id: &str, info: Option<&Value>) -> String {
        let prompt_id = info.and_then(|info| text_of(info, "parentID"));
        let of_prompt = prompt_id
            .and_then(|prompt_id| self.messages.get(prompt_id))
            .and_then(|message| message.turn_id.clone());
        let at = of_prompt
            .as_ref()
            .and_then(|turn_id| self.turns.iter().position(|turn| turn.id == *turn_id));
        match (at, of_prompt) {
            (Some(at), Some(turn_id)) => {
                self.close_turns(emitter, at, "completed");
                turn_id
            }
            // The turn was over, or its prompt was not seen.
            _ => {
                if let Some(turn) = self.turns.last() {
                    return turn.id.clone();
                }
                let trigger = match prompt_id {
                    Some(prompt_id) if self.messages.contains_key(prompt_id) => "system",
                    Some(_) | None => "user",
                };
                let stem = prompt_id.map_or_else(|| format!("t-{id}"), str::to_owned);
                self.open_turn(emitter, &stem, trigger)
            }
        }
    }

    /// An answer is whole.
    fn complete(&mut self, emitter: &mut Emitter, id: &str, place: &Place, info: &Value) {
        let Some(message) = self.messages.get_mut(id) else {
            return;
        };
        if std::mem::replace(&mut message.completed, true) {
            return;
        }
        let counted = message.counted;
        let parts = message.parts.clone();
        for part_id in parts {
            self.close_part(emitter, &part_id);
        }
        if !counted {
            self.usage(emitter, id, place, info);
        }
        let summary = self
            .messages
            .get(id)
            .filter(|message| message.summary)
            .map(|message| message.summary_text.clone());
        if let Some(summary) = summary {
            self.compacted = true;
            let trigger = self.compacting.take().unwrap_or_else(|| "auto".to_owned());
            let payload = Compaction {
                trigger,
                summary: Some(summary).filter(|text| !text.is_empty()),
                ..Compaction::default()
            };
            self.add(emitter, id, "compaction", place, payload);
        }
        if place.parent_tool_call_id.is_some() {
            return;
        }
        let Some(turn) = self.turn(place.turn_id.as_ref()) else {
            return;
        };
        turn.open_messages.remove(id);
        turn.last_ms = info
            .get("time")
            .and_then(|time| times::of_member(time, "completed"));
        // The session was idle before this answer was whole.
        let over = |turn: &Turn| turn.idle && turn.open_messages.is_empty();
        if self.turns.iter().all(over) {
            self.close_turns(emitter, usize::MAX, "completed");
        }
    }

    /// `session.compacted`, where the summary did not say it.
    pub(crate) fn shortened(&mut self, emitter: &mut Emitter, native_id: &str) {
        if std::mem::take(&mut self.compacted) {
            return;
        }
        let place = self.place(native_id);
        let trigger = self.compacting.take().unwrap_or_else(|| "auto".to_owned());
        let payload = Compaction {
            trigger,
            ..Compaction::default()
        };
        emitter.add("compaction", &place, payload);
    }

    /// An error of the session, or of an answer; both say the same one.
    pub(crate) fn failed(
        &mut self,
        emitter: &mut Emitter,
        native_id: &str,
        place: &Place,
        error: &Value,
    ) {
        let name = text_of(error, "name").unwrap_or("error");
        let data = error.get("data").unwrap_or(error);
        let message = text_of(data, "message").unwrap_or(name);
        let key = format!("{name}: {message}");
        if self.errors.get(native_id) == Some(&key) {
            return;
        }
        self.errors.insert(native_id.to_owned(), key);
        let aborted = name == "MessageAbortedError";
        if place.parent_tool_call_id.is_none()
            && let Some(turn) = self.turn(place.turn_id.as_ref())
        {
            turn.interrupted |= aborted;
            turn.failed |= !aborted;
        }
        if aborted {
            let reason = "user_cancel".to_owned();
            let extra = Extra::default();
            emitter.add("interrupt", place, Interrupt { reason, extra });
            return;
        }
        let mut extra = Extra::default();
        for key in ["statusCode", "isRetryable"] {
            if let Some(value) = data.get(key) {
                extra.insert(key, Json::from(value));
            }
        }
        let payload = ErrorEvent {
            code: name.to_owned(),
            message: message.to_owned(),
            extra,
        };
        emitter.add("error", place, payload);
    }

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
        if of_user {
            return self.part_of_prompt(emitter, native_id, message_id, id, part);
        }
        let place = self.answer_place(emitter, native_id, message_id, None);
        match kind {
            "text" => self.text(emitter, message_id, id, part, Kind::Text, whole, &place),
            "reasoning" => self.text(emitter, message_id, id, part, Kind::Thinking, whole, &place),
            "tool" => self.tool(emitter, native_id, message_id, id, part, whole, &place),
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

    fn new_part(&mut self, message_id: &str, id: &str, kind: Kind, place: &Place) {
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

    fn part_of_prompt(
        &mut self,
        emitter: &mut Emitter,
        native_id: &str,
        message_id: &str,
        id: &str,
        part: &Value,
    ) {
        let message = self.messages.entry(message_id.to_owned()).or_default();
        message.of_user = true;
        if !self.first_time(message_id, id) {
            return emitter.pass_over("part of a prompt, again");
        }
        if self
            .prompt
            .as_ref()
            .is_none_or(|prompt| prompt.message_id != message_id)
        {
            self.flush_prompt(emitter);
            self.prompt = Some(Prompt {
                session: native_id.to_owned(),
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
                let place = self.place(native_id);
                emitter.notice("info", &place, "opencode", text);
            }
            kind => {
                let kind = format!("part {kind} of a prompt");
                let place = self.place(native_id);
                emitter.raw(&place, self.format, &kind, part);
            }
        }
    }

    fn compaction_begins(&mut self, part: &Value) {
        let auto = part.get("auto").and_then(Value::as_bool).unwrap_or(true);
        self.compacting = Some(if auto { "auto" } else { "manual" }.to_owned());
        self.compacted = false;
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "a part, where it stands, and how it is read"
    )]
    fn text(
        &mut self,
        emitter: &mut Emitter,
        message_id: &str,
        id: &str,
        value: &Value,
        kind: Kind,
        whole: bool,
        place: &Place,
    ) {
        if !self.parts.contains_key(id) {
            self.new_part(message_id, id, kind, place);
        }
        let time = value.get("time").unwrap_or(&Value::Null);
        let ended = whole || times::of_member(time, "end").is_some();
        if whole {
            Session::at(emitter, time, "start");
            Session::at(emitter, time, "end");
        }
        let (Some(part), Some(message)) =
            (self.parts.get_mut(id), self.messages.get_mut(message_id))
        else {
            return;
        };
        part.silent = message.summary;
        let mut waiting = String::new();
        if part.kind == Kind::Unknown {
            part.kind = kind;
            part.number(message);
            waiting.clone_from(&part.got);
        }
        let text = str_of(value, "text").unwrap_or("");
        if part.done {
            if ended && !part.silent && part.kind == kind && part.said != hash(text.as_bytes()) {
                part.said = hash(text.as_bytes());
                self.write_done(emitter, id, text);
            }
            return;
        }
        if ended {
            let text = text.to_owned();
            return self.finish_part(emitter, id, text);
        }
        // Before 1.18 the whole text so far came with each piece.
        if let Some(more) = text.strip_prefix(part.got.as_str()) {
            part.got.push_str(more);
            waiting.push_str(more);
        }
        self.write_chunk(emitter, id, &waiting);
    }

    /// A piece of a part's text.
    pub(crate) fn delta(
        &mut self,
        emitter: &mut Emitter,
        native_id: &str,
        message_id: &str,
        id: &str,
        delta: &str,
    ) {
        if !self.parts.contains_key(id) {
            let place = self.answer_place(emitter, native_id, message_id, None);
            self.new_part(message_id, id, Kind::Unknown, &place);
        }
        let Some(part) = self.parts.get_mut(id) else {
            return;
        };
        if part.done {
            return emitter.pass_over("a piece of a part that is whole");
        }
        part.got.push_str(delta);
        if part.kind != Kind::Unknown {
            self.write_chunk(emitter, id, delta);
        }
    }

    fn write_chunk(&mut self, emitter: &mut Emitter, id: &str, text: &str) {
        let Some(part) = self.parts.get(id) else {
            return;
        };
        if text.is_empty() || part.silent || !self.live {
            return;
        }
        let text = text.to_owned();
        let number = Some(part.number);
        let event_id = if part.kind == Kind::Thinking {
            let chunk = ThinkingChunk {
                text,
                part: number,
                ..ThinkingChunk::default()
            };
            &emitter.add("chunk", &part.place, chunk).id
        } else {
            let chunk = AssistantChunk {
                text,
                part: number,
                ..AssistantChunk::default()
            };
            &emitter.add("chunk", &part.place, chunk).id
        };
        let event_id = event_id.clone();
        self.note(id, event_id);
    }

    fn finish_part(&mut self, emitter: &mut Emitter, id: &str, text: String) {
        let Some(part) = self.parts.get_mut(id) else {
            return;
        };
        part.done = true;
        part.said = hash(text.as_bytes());
        let begun = !std::mem::take(&mut part.got).is_empty();
        let order = part.order;
        self.open_parts.remove(&order);
        if part.silent {
            if part.kind == Kind::Text
                && let Some(message) = self.messages.get_mut(&part.message_id)
            {
                message.summary_text.push_str(&text);
            }
            return;
        }
        if begun || !text.is_empty() {
            self.write_done(emitter, id, &text);
        }
    }

    fn write_done(&mut self, emitter: &mut Emitter, id: &str, text: &str) {
        let Some(part) = self.parts.get(id) else {
            return;
        };
        let place = part.place.clone();
        let number = Some(part.number);
        let text = text.to_owned();
        if part.kind == Kind::Thinking {
            let done = ThinkingDone {
                text,
                part: number,
                ..ThinkingDone::default()
            };
            self.add(emitter, id, "done", &place, done);
        } else {
            let done = AssistantDone {
                text,
                part: number,
                ..AssistantDone::default()
            };
            self.add(emitter, id, "done", &place, done);
        }
    }

    /// Ends a part with what its pieces built.
    fn close_part(&mut self, emitter: &mut Emitter, id: &str) {
        let Some(part) = self.parts.get_mut(id) else {
            return;
        };
        if part.done {
            return;
        }
        if part.kind == Kind::Unknown {
            part.kind = Kind::Text;
            if let Some(message) = self.messages.get_mut(&part.message_id) {
                part.number(message);
            }
        }
        let text = part.got.clone();
        self.finish_part(emitter, id, text);
    }

    /// Ends the open parts that stand where `wanted` says.
    pub(crate) fn close_parts(&mut self, emitter: &mut Emitter, wanted: &dyn Fn(&Place) -> bool) {
        let open: Vec<String> = self.open_parts.values().cloned().collect();
        for id in open {
            if self.parts.get(&id).is_some_and(|part| wanted(&part.place)) {
                self.close_part(emitter, &id);
            }
        }
    }

    fn step_ended(&mut self, message_id: &str, place: &Place, part: &Value) {
        if let Some(message) = self.messages.get_mut(message_id) {
            message.counted = true;
        }
        let ended = text_of(part, "reason").is_some_and(|reason| reason != "tool-calls");
        if place.parent_tool_call_id.is_none()
            && let Some(turn) = self.turn(place.turn_id.as_ref())
        {
            turn.answered = ended;
        }
    }

    /// What a step used, from the part that ends it, or from its message.
    fn usage(&mut self, emitter: &mut Emitter, key: &str, place: &Place, of: &Value) {
        let Some(tokens) = of.get("tokens").filter(|tokens| tokens.is_object()) else {
            return;
        };
        let cache = tokens.get("cache").unwrap_or(&Value::Null);
        let count = |value: &Value, key: &str| count_of(value, key).unwrap_or(0);
        let (input, output) = (count(tokens, "input"), count(tokens, "output"));
        let reasoning = count(tokens, "reasoning");
        let (cache_read, cache_write) = (count(cache, "read"), count(cache, "write"));
        if [input, output, reasoning, cache_read, cache_write] == [0; 5] {
            return;
        }
        let cost_usd = amount_of(of, "cost");
        let model = place
            .response_id
            .as_ref()
            .and_then(|id| self.messages.get(id))
            .and_then(|message| message.model.clone());
        if let Some(turn) = self.turn(place.turn_id.as_ref()) {
            let spent = &mut turn.spent;
            spent.steps += 1;
            spent.input = spent.input.saturating_add(input);
            spent.output = spent.output.saturating_add(output);
            spent.reasoning = spent.reasoning.saturating_add(reasoning);
            spent.cache_read = spent.cache_read.saturating_add(cache_read);
            spent.cache_write = spent.cache_write.saturating_add(cache_write);
            spent.cost_usd += cost_usd.unwrap_or(0.0);
        }
        let payload = Usage {
            scope: "response".to_owned(),
            input_tokens: input,
            output_tokens: output,
            cache_read_tokens: Some(cache_read),
            cache_write_tokens: Some(cache_write),
            reasoning_tokens: Some(reasoning),
            cost_usd,
            model,
            ..Usage::default()
        };
        self.add(emitter, key, "usage", place, payload);
    }

    /// A message or part was removed: what it said is taken back.
    pub(crate) fn removed(
        &mut self,
        emitter: &mut Emitter,
        native_id: &str,
        message_id: &str,
        part_id: Option<&str>,
    ) {
        let mut keys: Vec<String> = Vec::new();
        match part_id {
            Some(part_id) => keys.push(part_id.to_owned()),
            None => {
                keys.push(message_id.to_owned());
                if let Some(message) = self.messages.get(message_id) {
                    keys.extend(message.parts.iter().cloned());
                }
            }
        }
        for key in &keys {
            if let Some(part) = self.parts.get_mut(key) {
                part.done = true;
                let order = part.order;
                self.open_parts.remove(&order);
            }
            self.drop_call(key);
        }
        let event_ids: Vec<String> = keys
            .iter()
            .flat_map(|key| self.said.remove(key).unwrap_or_default())
            .collect();
        if event_ids.is_empty() {
            return emitter.pass_over("removal of what was not seen");
        }
        let place = self.place(native_id);
        let extra = Extra::default();
        emitter.add("retract", &place, Retract { event_ids, extra });
    }
}

impl Part {
    /// Gives the part its number among those of its kind.
    fn number(&mut self, message: &mut Message) {
        let next = match self.kind {
            Kind::Text => &mut message.n_texts,
            Kind::Thinking => &mut message.n_thoughts,
            Kind::Unknown | Kind::Other => return,
        };
        self.number = *next;
        *next += 1;
    }
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
