//! What a long session forgets: messages that are over, with their parts and calls.
//!
//! A message stays for at least 2000 others after it, and for as long as something in it is open. What comes of one
//! that is forgotten is told as if it were new.

use super::session::Session;

/// A message with its parts is some kilobytes.
const N_KEPT: usize = 2000;

impl Session {
    /// Forgets what was there the last time and is over. Seldom, so that it costs little.
    pub(super) fn forget_messages(&mut self) {
        if self.messages.len() < self.forget_at.max(2 * N_KEPT) {
            return;
        }
        let mut messages = std::mem::take(&mut self.messages);
        messages.retain(|id, message| {
            let stays = !message.is_old
                || self
                    .prompt
                    .as_ref()
                    .is_some_and(|prompt| prompt.message_id == *id)
                || self.turns.iter().any(|turn| {
                    turn.open_messages.contains(id)
                        || (message.of_user && message.turn_id.as_ref() == Some(&turn.id))
                })
                || message.parts.iter().any(|part| self.is_open(part));
            message.is_old = true;
            if !stays {
                self.said.remove(id);
                for part in &message.parts {
                    self.said.remove(part);
                    self.parts.remove(part);
                    self.calls.remove(part);
                }
            }
            stays
        });
        self.call_parts
            .retain(|(id, _), _| messages.contains_key(id));
        // At least as many more as there are, so that it stays linear whatever is open.
        self.forget_at = (messages.len() + N_KEPT).max(2 * messages.len());
        self.messages = messages;
    }

    /// Whether the part, or the call that it is, is not over.
    fn is_open(&self, part_id: &str) -> bool {
        let part = self.parts.get(part_id);
        let call = self.calls.get(part_id);
        part.is_some_and(|part| self.open_parts.contains_key(&part.order))
            || call.is_some_and(|call| self.open_calls.contains_key(&call.order))
    }
}
