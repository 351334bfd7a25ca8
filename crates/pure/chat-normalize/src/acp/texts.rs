//! What is said: chunks and whole messages of the agent, its thoughts, and what the user is told to have said.
//!
//! Nothing says that a message ends: its part ends where another kind, another message, a call or the turn's end comes.
//! A thought and the message behind it are one response, whichever ids they bear (OpenCode gives them two, Claude one,
//! Gemini none); what comes behind a call's result is another.
//!
//! What people say is in `user`, and where an agent's texts stand in `places`.

mod places;
mod user;

use chat_event::Extra;
use chat_event::payload::AudioChunk;
use serde_json::Value;

use super::FORMAT;
use super::content::{self, Held};
use super::queue::Turn;
use super::session::Session;
use crate::emit::{Emitter, hash};
use crate::speech::{Kind, Part};
use crate::value::{list_of, text_of};
use places::Response;
pub(crate) use user::UserText;

/// One speaker: the agent, or the sub-agent of a call.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    response: Option<Response>,
    part: Option<Part>,
    n_audio: u64,
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
