//! A session that the user sets back to before a message (`revert`), and maybe forward again.
//!
//! | state | what the session says | next |
//! |---|---|---|
//! | whole | `revert` names a message | set back: a notice names the turns that are left |
//! | set back | `revert` names another one | the same once more, and which turns stand again |
//! | set back | no `revert`, the message stands | whole: a notice says so, and which turns stand again |
//! | set back | no `revert`, the message was removed | whole: the user went on from there, and the removal was told |
//!
//! A document says it first and means its end.

use std::collections::{BTreeMap, BTreeSet};

use chat_event::SetBack;
use serde_json::Value;

use super::session::Session;
use crate::emit::Emitter;
use crate::value::text_of;

/// So many turns are known at least; those before are not gone back behind.
const MAX_TURNS: usize = 10_000;

/// Where the session stands.
#[derive(Debug, Default)]
pub(crate) struct SetBacks {
    /// The message that it is set back to.
    to: Option<String>,
    /// Whether files were put back as they were before it: of those it made a snapshot.
    files_restored: bool,
    /// The turns that are left now.
    left: Vec<String>,
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

    /// The turns from a message on are left; those that were left before stand again.
    fn leave(&mut self, message_id: &str) -> SetBack {
        // Ids of messages ascend.
        let left = self.turns.range(message_id.to_owned()..);
        let left: Vec<String> = left.map(|(_, turn_id)| turn_id.clone()).collect();
        let mut again = std::mem::replace(&mut self.left, left.clone());
        let are_left: BTreeSet<&String> = left.iter().collect();
        again.retain(|turn_id| !are_left.contains(turn_id));
        SetBack {
            left,
            again,
            files_restored: self.files_restored,
            cleared: false,
        }
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
        let snapshot = revert.and_then(|revert| text_of(revert, "snapshot"));
        self.set_backs.files_restored = snapshot.is_some();
        let before = std::mem::replace(&mut self.set_backs.to, to.map(str::to_owned));
        if !self.live {
            return;
        }
        let stands = |id: &String| self.messages.get(id).is_some_and(|it| !it.removed);
        match before {
            _ if to.is_some() => self.tell_set_back(emitter),
            Some(message_id) if stands(&message_id) => {
                let text = "the session goes on where it was: what was set back stands again";
                let told = SetBack {
                    again: std::mem::take(&mut self.set_backs.left),
                    ..SetBack::default()
                };
                emitter.tell_set_back(text, &told);
            }
            // Those that were left are so for good.
            Some(_) | None => self.set_backs.left.clear(),
        }
    }

    /// Says to what the session is set back, where it is.
    pub(super) fn tell_set_back(&mut self, emitter: &mut Emitter) {
        let Some(message_id) = self.set_backs.to.clone() else {
            return;
        };
        let told = self.set_backs.leave(&message_id);
        let text = format!("the session was set back to what stood before message {message_id}");
        emitter.tell_set_back(text, &told);
    }
}
