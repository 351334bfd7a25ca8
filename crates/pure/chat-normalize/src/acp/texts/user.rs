//! What a person says, and where a connection tells it twice.

use chat_event::payload::UserMessage;
use serde_json::Value;

use super::{Next, words_hash};
use crate::acp::content::{self, Held};
use crate::acp::session::{Session, attachments};
use crate::emit::Emitter;
use crate::value::text_of;

/// What the user is said to have said, until something else comes.
#[derive(Debug, Default)]
pub(crate) struct UserText {
    pub(in crate::acp) message: Option<String>,
    pub(in crate::acp) text: String,
    pub(in crate::acp) attached: Vec<Value>,
    /// Not read but told from outside.
    pub(in crate::acp) told: bool,
}

impl UserText {
    /// What the user asked, as the caller knows it.
    pub(in crate::acp) fn told(text: String) -> Self {
        UserText {
            text,
            told: true,
            ..UserText::default()
        }
    }

    pub(in crate::acp) fn is_told(&self) -> bool {
        self.told
    }
}

impl Session {
    /// `user_message_chunk`, and `user_message` of version 2.
    pub(in crate::acp) fn user_chunk(&mut self, emitter: &mut Emitter, update: &Value) {
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

    pub(in crate::acp) fn write_user(&mut self, emitter: &mut Emitter, user: UserText) {
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
}
