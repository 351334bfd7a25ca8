//! A session that the user sets back to before a message (`revert`), and maybe forward again.
//!
//! | state | what the session says | next |
//! |---|---|---|
//! | whole | `revert` names a message | set back: a notice names the turns that are left |
//! | set back | `revert` names another one | the same once more |
//! | set back | no `revert`, the message stands | whole: a notice says so |
//! | set back | no `revert`, the message was removed | whole: the user went on from there, and the removal was told |
//!
//! A document says it first and means its end.

use std::collections::BTreeMap;

use serde_json::Value;

use super::session::Session;
use crate::emit::{Emitter, Place};
use crate::value::text_of;

/// So many turns are known at least; those before are not gone back behind.
const MAX_TURNS: usize = 10_000;

/// Where the session stands.
#[derive(Debug, Default)]
pub(crate) struct SetBacks {
    /// The message that it is set back to.
    to: Option<String>,
    /// The last turns, by the prompts that they began with.
    turns: BTreeMap<String, String>,
}

impl SetBacks {
    /// A turn began with a prompt.
    pub(super) fn begin(&mut self, message_id: &str, turn_id: String) {
        self.turns.insert(message_id.to_owned(), turn_id);
        if self.turns.len() > MAX_TURNS {
            self.turns.pop_first();
        }
    }

    /// A prompt was taken out.
    pub(super) fn removed(&mut self, message_id: &str) {
        self.turns.remove(message_id);
    }
}

impl Session {
    /// What `info` of the session says of it.
    pub(super) fn is_set_back(&mut self, emitter: &mut Emitter, info: &Value) {
        let revert = info.get("revert");
        let to = revert.and_then(|revert| text_of(revert, "messageID"));
        if to == self.set_backs.to.as_deref() {
            return;
        }
        let before = std::mem::replace(&mut self.set_backs.to, to.map(str::to_owned));
        if !self.live {
            return;
        }
        let stands = |id: &String| self.messages.get(id).is_some_and(|it| !it.removed);
        match before {
            _ if to.is_some() => self.tell_set_back(emitter),
            Some(message_id) if stands(&message_id) => {
                let text = "the session goes on where it was: what was set back stands again";
                emitter.notice("info", &Place::default(), "branch", text);
            }
            Some(_) | None => {}
        }
    }

    /// Says to what the session is set back, where it is.
    pub(super) fn tell_set_back(&self, emitter: &mut Emitter) {
        let Some(message_id) = &self.set_backs.to else {
            return;
        };
        // Ids of messages ascend.
        let left = self.set_backs.turns.range(message_id.clone()..);
        let turn_ids = left.map(|(_, turn_id)| turn_id.clone()).collect();
        let text = format!("the session was set back to what stood before message {message_id}");
        emitter.set_back(text, turn_ids);
    }
}
