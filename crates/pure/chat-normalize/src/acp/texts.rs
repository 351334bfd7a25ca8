//! What is said: chunks and whole messages of the agent, its thoughts, and what the user is told to have said.
//!
//! Nothing says that a message ends: its part ends where another kind, another message, a call or the turn's end comes.
//! A thought and the message behind it are one response, whichever ids they bear (OpenCode gives them two, Claude one,
//! Gemini none); what comes behind a call's result is another.

use chat_event::Extra;
use chat_event::payload::{AudioChunk, UserMessage};
use serde_json::Value;

use super::FORMAT;
use super::content::{self, Held};
use super::queue::Turn;
use super::session::{Session, attachments};
use crate::emit::{Emitter, Place, hash};
use crate::speech::{Kind, Part};
use crate::value::{list_of, text_of};

/// One speaker: the agent, or the sub-agent of a call.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    response: Option<Response>,
    part: Option<Part>,
    n_audio: u64,
}

#[derive(Debug)]
struct Response {
    id: String,
    message: Option<String>,
    thought: Option<String>,
    /// A call was made in it, and one was answered.
    called: bool,
    answered: bool,
    /// The text and the thought that were told as a whole and have nothing behind them: told again, they are these.
    whole: [Option<u32>; 2],
}

/// What the user is said to have said, until something else comes.
#[derive(Debug, Default)]
pub(crate) struct UserText {
    pub(super) message: Option<String>,
    pub(super) text: String,
    pub(super) attached: Vec<Value>,
    /// Not read but told from outside.
    pub(super) told: bool,
}

impl UserText {
    /// What the user asked, as the caller knows it.
    pub(super) fn told(text: String) -> Self {
        UserText {
            text,
            told: true,
            ..UserText::default()
        }
    }

    pub(super) fn is_told(&self) -> bool {
        self.told
    }
}

/// What comes behind the user's words; by its id it is known whether it came before.
#[derive(Clone, Copy)]
pub(super) enum Next<'a> {
    Message(Option<&'a str>),
    Call(&'a str),
    Nothing,
}

impl Session {
    /// `agent_message_chunk` and `agent_thought_chunk`.
    pub(super) fn chunk(
        &mut self,
        emitter: &mut Emitter,
        kind: Kind,
        update: &Value,
        parent: Option<String>,
    ) {
        let message = text_of(update, "messageId");
        if !self.is_news(emitter, Next::Message(message)) {
            return emitter.pass_over("a message said before");
        }
        let block = update.get("content").unwrap_or(&Value::Null);
        let held = content::held(block);
        if held == Held::Unknown {
            let place = self.place(emitter, parent.as_deref());
            return emitter.raw(&place, FORMAT, "content of a message", update);
        }
        self.note_message(message);
        match held {
            Held::Text(text) if text.is_empty() => emitter.pass_over("an empty chunk"),
            Held::Text(text) => self
                .part(emitter, kind, message, parent)
                .add(emitter, &text),
            Held::Attachment(attachment) => {
                self.part(emitter, kind, message, parent).attach(attachment);
            }
            Held::Audio(data) => {
                let place = self.response_place(emitter, kind, message, parent.clone());
                let lane = self.lanes.entry(parent).or_default();
                let chunk = AudioChunk {
                    data: Some(data),
                    seq: lane.n_audio,
                    ..AudioChunk::default()
                };
                lane.n_audio += 1;
                emitter.add("audio", &place, chunk);
            }
            Held::Unknown => {}
        }
    }

    /// `agent_message` and `agent_thought` of version 2: the message as a whole.
    pub(super) fn whole(
        &mut self,
        emitter: &mut Emitter,
        kind: Kind,
        update: &Value,
        parent: Option<String>,
    ) {
        let message = text_of(update, "messageId");
        if !self.is_news(emitter, Next::Message(message)) {
            return emitter.pass_over("a message said before");
        }
        let blocks = list_of(update, "content");
        if blocks.is_empty() {
            return emitter.pass_over("a message without content");
        }
        self.note_message(message);
        let (text, attached) = content::of_blocks(blocks);
        let place = self.response_place(emitter, kind, message, parent.clone());
        let lane = self.lanes.entry(parent.clone()).or_default();
        let again = lane.response.as_ref().filter(|_| message.is_some());
        let mut part = match again.and_then(|response| response.whole[kind as usize]) {
            Some(number) => Part::new(place, kind, number),
            None => {
                self.part(emitter, kind, message, parent.clone());
                let lane = self.lanes.entry(parent.clone()).or_default();
                let Some(part) = lane.part.take() else {
                    return;
                };
                part
            }
        };
        let number = part.number;
        for attachment in attached {
            part.attach(attachment);
        }
        part.end_as(emitter, text);
        let lane = self.lanes.entry(parent).or_default();
        if let Some(response) = &mut lane.response {
            response.whole[kind as usize] = Some(number);
        }
    }

    /// `user_message_chunk`, and `user_message` of version 2.
    pub(super) fn user_chunk(&mut self, emitter: &mut Emitter, update: &Value) {
        let message = text_of(update, "messageId").map(str::to_owned);
        let (text, attached) = match update.get("content") {
            Some(Value::Array(blocks)) => content::of_blocks(blocks),
            Some(block) => match content::held(block) {
                Held::Text(text) => (text, Vec::new()),
                Held::Attachment(attachment) => (String::new(), vec![attachment]),
                Held::Audio(_) => (String::new(), vec![content::attachment(block, "audio/*")]),
                Held::Unknown => (String::new(), vec![block.clone()]),
            },
            None => return emitter.pass_over("a message without content"),
        };
        let goes_on = self
            .user
            .as_ref()
            .is_some_and(|user| user.message == message && !user.told);
        if !goes_on {
            self.settle(emitter, Next::Nothing);
            self.skipping = false;
            self.user = Some(UserText {
                message,
                ..UserText::default()
            });
        }
        if let Some(user) = &mut self.user {
            user.text.push_str(&text);
            user.attached.extend(attached);
        }
    }

    /// Whether what comes now was not read before; the user's words before it are written.
    pub(super) fn is_news(&mut self, emitter: &mut Emitter, next: Next<'_>) -> bool {
        self.settle(emitter, next);
        // Only a history says again what is over; else another message bears the id.
        let again = self.loading && self.is_over(next);
        !self.skipping && !again
    }

    /// A message of this id is said in the turn that runs.
    fn note_message(&mut self, message: Option<&str>) {
        let Some(message) = message else { return };
        let hash = id_hash("message", message);
        if self.messages.insert(hash) && self.over.contains(&hash) {
            self.use_again(hash);
        }
    }

    pub(super) fn is_over(&self, next: Next<'_>) -> bool {
        let hash = match next {
            Next::Message(Some(id)) => id_hash("message", id),
            Next::Call(id) => id_hash("call", id),
            Next::Message(None) | Next::Nothing => return false,
        };
        self.over.contains(&hash)
    }

    /// Writes what the user said, where it is not known.
    pub(super) fn settle(&mut self, emitter: &mut Emitter, next: Next<'_>) {
        // What the caller knows stands before the first turn, whenever that begins.
        if self.user.as_ref().is_none_or(|user| user.told) {
            return;
        }
        let Some(user) = self.user.take() else {
            return;
        };
        let hash = words_hash(&user.text);
        let front = self.turns.front();
        let runs = front.is_some_and(|turn| !turn.replayed);
        if runs && !self.loading {
            if self.turns.has_prompt(hash) {
                return emitter.pass_over("the prompt, said back");
            }
            if self.lanes.is_empty() || !front.is_some_and(Turn::is_without_prompt) {
                return self.write_user(emitter, user);
            }
            // Where only the agent is heard, the user's next words show that what the agent did before is over.
            self.close_turn(emitter, None, "completed", Extra::default());
        }
        let before = self.loading
            && self
                .prompts
                .get(&hash)
                .is_some_and(|load| *load < self.n_loads);
        self.end_replayed(emitter);
        if before || self.is_over(next) {
            self.skipping = true;
            return emitter.pass_over("a message said before");
        }
        self.open_turn(emitter, None);
        self.prompts.insert(hash, self.n_loads);
        self.write_user(emitter, user);
    }

    pub(super) fn write_user(&mut self, emitter: &mut Emitter, user: UserText) {
        let place = self.place(emitter, None);
        let id = match &user.message {
            Some(message) => message.clone(),
            None => format!("{}:prompt", place.turn_id.as_deref().unwrap_or_default()),
        };
        self.turns.note_prompt(words_hash(&user.text));
        let payload = UserMessage {
            text: user.text.into(),
            attachments: attachments(user.attached),
            ..UserMessage::default()
        };
        emitter.add_as(&id, &place, payload);
    }

    /// The place of what `parent`'s sub-agent, or the agent itself, does now; a turn begins where none runs.
    pub(super) fn place(&mut self, emitter: &mut Emitter, parent: Option<&str>) -> Place {
        if self.turns.is_empty() {
            self.open_turn(emitter, None);
        }
        let mut place = self.quiet_place();
        if let Some(parent) = parent {
            place.parent_tool_call_id = Some(self.call_id(parent));
        }
        place
    }

    /// The part that grows.
    fn part(
        &mut self,
        emitter: &mut Emitter,
        kind: Kind,
        message: Option<&str>,
        parent: Option<String>,
    ) -> &mut Part {
        let place = self.response_place(emitter, kind, message, parent.clone());
        let lane = self.lanes.entry(parent).or_default();
        if lane.part.as_ref().is_some_and(|part| part.kind != kind)
            && let Some(part) = lane.part.take()
        {
            part.end(emitter);
        }
        if let Some(response) = &mut lane.response {
            response.whole[kind as usize] = None;
        }
        let parts = &mut self.parts;
        lane.part.get_or_insert_with(|| {
            let response = place.response_id.clone().unwrap_or_default();
            let numbers = parts.entry(response).or_default();
            let number = match kind {
                Kind::Text => &mut numbers[0],
                Kind::Thinking => &mut numbers[1],
            };
            let part = Part::new(place, kind, *number);
            *number = number.saturating_add(1);
            part
        })
    }

    /// The place of a piece of text, in its response.
    fn response_place(
        &mut self,
        emitter: &mut Emitter,
        kind: Kind,
        message: Option<&str>,
        parent: Option<String>,
    ) -> Place {
        let place = self.place(emitter, parent.as_deref());
        let lane = self.lanes.entry(parent.clone()).or_default();
        let goes_on = lane
            .response
            .as_ref()
            .is_some_and(|response| response.takes(kind, message));
        if !goes_on {
            if let Some(part) = lane.part.take() {
                part.end(emitter);
            }
            let id = match message {
                Some(message) => self.numbered(message, id_hash("message", message)),
                None => self.next_response(),
            };
            let lane = self.lanes.entry(parent.clone()).or_default();
            lane.response = Some(Response {
                id,
                message: None,
                thought: None,
                called: false,
                answered: false,
                whole: [None; 2],
            });
        }
        let lane = self.lanes.entry(parent).or_default();
        let Some(response) = &mut lane.response else {
            return place;
        };
        let known = match kind {
            Kind::Text => &mut response.message,
            Kind::Thinking => &mut response.thought,
        };
        if known.is_none() {
            *known = message.map(str::to_owned);
        }
        place.in_response(&response.id)
    }

    /// The place of a call: in the response that is open, or in one of its own.
    pub(super) fn call_place(&mut self, emitter: &mut Emitter, parent: Option<String>) -> Place {
        let place = self.place(emitter, parent.as_deref());
        let lane = self.lanes.entry(parent.clone()).or_default();
        if let Some(part) = lane.part.take() {
            part.end(emitter);
        }
        if lane
            .response
            .as_ref()
            .is_none_or(|response| response.answered)
        {
            let id = self.next_response();
            let lane = self.lanes.entry(parent.clone()).or_default();
            lane.response = Some(Response {
                id,
                message: None,
                thought: None,
                called: true,
                answered: false,
                whole: [None; 2],
            });
        }
        let lane = self.lanes.entry(parent).or_default();
        match &mut lane.response {
            Some(response) => {
                response.called = true;
                place.in_response(&response.id)
            }
            None => place,
        }
    }

    /// A call of `parent`'s lane has its result.
    pub(super) fn call_answered(&mut self, parent: Option<&String>) {
        let lane = self.lanes.get_mut(&parent.cloned());
        if let Some(response) = lane.and_then(|lane| lane.response.as_mut()) {
            response.answered = true;
        }
    }

    /// Ends what is written, in all lanes or in that of the sub-agent of `parent`.
    pub(super) fn end_texts(&mut self, emitter: &mut Emitter, parent: Option<&String>) {
        if let Some(parent) = parent {
            let lane = self.lanes.remove(&Some(parent.clone()));
            if let Some(part) = lane.and_then(|lane| lane.part) {
                part.end(emitter);
            }
            return;
        }
        for (_, lane) in std::mem::take(&mut self.lanes) {
            if let Some(part) = lane.part {
                part.end(emitter);
            }
        }
    }
}

impl Response {
    /// Whether a piece belongs to this response.
    fn takes(&self, kind: Kind, message: Option<&str>) -> bool {
        let own = |id: &str| {
            [&self.message, &self.thought]
                .iter()
                .any(|known| known.as_deref() == Some(id))
        };
        match (kind, message) {
            (_, Some(id)) if own(id) => true,
            (Kind::Text, _) => self.message.is_none() && !self.called,
            (Kind::Thinking, Some(_)) => {
                self.message.is_none() && self.thought.is_none() && !self.called
            }
            (Kind::Thinking, None) => !self.called,
        }
    }
}

/// The hash by which the user's words are known again. A prompt of several blocks is said back block by block, and
/// nothing says what stood between them: white space does not count.
pub(super) fn words_hash(text: &str) -> u64 {
    let words: String = text.split_whitespace().collect();
    hash(words.as_bytes())
}

/// The hash by which an id is remembered.
pub(super) fn id_hash(kind: &str, id: &str) -> u64 {
    hash(format!("{kind}:{id}").as_bytes())
}
