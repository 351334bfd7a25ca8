//! A conversation that is set back: to what a `$set` leaves, or to before a message.

use std::collections::HashSet;

use chat_event::SetBack;
use serde_json::Value;

use super::GeminiChat;
use crate::emit::{Emitter, Line, hash};

/// A set-back that may be none.
#[derive(Debug)]
pub(super) struct Unsettled {
    /// The conversation as it stood before; what stood in it more than once is there more than once.
    before: Vec<u64>,
    /// The line that sets it back, which is the notice's wherever that is told.
    line: Line,
}

impl GeminiChat {
    /// The conversation is what `messages` says.
    pub(super) fn replace(&mut self, emitter: &mut Emitter, messages: &[Value]) {
        let order = std::mem::take(&mut self.order);
        let follows_header = std::mem::take(&mut self.is_headed);
        let (mut before, line) = match self.unsettled.take() {
            Some(unsettled) => (unsettled.before, Some(unsettled.line)),
            None => (Vec::new(), None),
        };
        before.extend(order);
        for message in messages {
            self.message(emitter, message);
        }
        if follows_header && !before.is_empty() {
            let line = line.unwrap_or_else(|| emitter.this_line());
            self.unsettled = Some(Unsettled { before, line });
        } else {
            self.gone_of(emitter, before);
        }
    }

    /// Nothing brings back any more what the first `$set` behind a header left.
    pub(super) fn settle(&mut self, emitter: &mut Emitter) {
        self.is_headed = false;
        if let Some(Unsettled { before, line }) = self.unsettled.take() {
            let current = emitter.go_to(line);
            self.gone_of(emitter, before);
            emitter.go_to(current);
        }
    }

    /// Says which of the messages that stood `before` stand no more.
    fn gone_of(&mut self, emitter: &mut Emitter, mut before: Vec<u64>) {
        let mut seen: HashSet<u64> = self.order.iter().copied().collect();
        let first = before.first().copied();
        before.retain(|id| seen.insert(*id));
        // Who goes back keeps the beginning: without it another conversation stands in its place, as after a compression.
        let is_other = first.is_some() && before.first().copied() == first;
        self.left(emitter, &before, is_other);
    }

    /// The user went back to before the message `id`.
    pub(super) fn rewind(&mut self, emitter: &mut Emitter, id: &str) {
        let key = hash(id.as_bytes());
        let at = self.known.get(&key).map(|known| known.at);
        match at.filter(|at| self.order.get(*at) == Some(&key)) {
            Some(at) => {
                let gone = self.order.split_off(at);
                self.left(emitter, &gone, false);
            }
            None => emitter.pass_over("$rewindTo a message that is not there"),
        }
    }

    /// Says that messages are no longer part of the conversation; whether another one stands in its place.
    fn left(&mut self, emitter: &mut Emitter, gone: &[u64], cleared: bool) {
        if gone.is_empty() {
            return;
        }
        let turns: Vec<String> = gone
            .iter()
            .filter_map(|id| self.known.get(id))
            .filter(|known| known.opens_turn)
            .filter_map(|known| known.turn_id.clone())
            .collect();
        let text = match gone.len() {
            1 => "the conversation was set back: 1 message was left".to_owned(),
            n => format!("the conversation was set back: {n} messages were left"),
        };
        let told = SetBack {
            left: turns,
            cleared,
            ..SetBack::default()
        };
        emitter.tell_set_back(text, &told);
    }
}
