//! The messages of a session, and the parts of them that are being written.

use std::collections::BTreeMap;

use chat_event::payload::{AssistantDone, ThinkingDone};

use super::Session;
use crate::emit::{Emitter, Place};
use crate::recent::{LATE_LARGE, Recent};

/// What is known of a message while its lines come.
#[derive(Debug, Default)]
pub(crate) struct Message {
    /// The message's number in the session.
    order: u64,
    /// The id its events bear: the provider's, made different where it was used in another turn.
    pub(crate) response_id: String,
    pub(crate) turn_id: Option<String>,
    pub(crate) text: Parts,
    pub(crate) thinking: Parts,
}

/// The text blocks, or the thinking blocks, of one message.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) started: u32,
    pub(crate) done: u32,
    /// What the chunks of open parts built, by part, with the place of their events.
    pub(crate) open: BTreeMap<u32, (String, Place)>,
}

/// A message that has open parts, found by the turn and the call they stand in: what closes looks at what it closes alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OpenMessage {
    turn_id: Option<String>,
    parent_tool_call_id: Option<String>,
    /// The provider's.
    id: String,
}

impl OpenMessage {
    pub(crate) fn new(place: &Place, id: &str) -> Self {
        OpenMessage {
            turn_id: place.turn_id.clone(),
            parent_tool_call_id: place.parent_tool_call_id.clone(),
            id: id.to_owned(),
        }
    }

    fn is_in(&self, place: &Place) -> bool {
        self.turn_id == place.turn_id && self.parent_tool_call_id == place.parent_tool_call_id
    }
}

impl Session {
    /// The message with the provider's id `id`, as it stands in the turn of `place`.
    pub(crate) fn message(&mut self, id: &str, place: &Place) -> &mut Message {
        self.forget_messages();
        let uses = &mut self.response_ids;
        let order = &mut self.n_messages;
        let mut fresh = |uses: &mut Recent<u32>| {
            *order += 1;
            let n = uses.entry(id);
            *n += 1;
            let response_id = if *n == 1 {
                id.to_owned()
            } else {
                format!("{id}~{n}")
            };
            Message {
                order: *order,
                response_id,
                turn_id: place.turn_id.clone(),
                ..Message::default()
            }
        };
        let message = self
            .messages
            .entry(id.to_owned())
            .or_insert_with(|| fresh(uses));
        if message.turn_id != place.turn_id
            && message.text.open.is_empty()
            && message.thinking.open.is_empty()
        {
            *message = fresh(uses);
        }
        message
    }

    /// Forgets messages that are far back, but for those that have something open. Seldom, so that it costs little.
    fn forget_messages(&mut self) {
        if self.messages.len() < self.forget_at.max(2 * LATE_LARGE) {
            return;
        }
        let last = self.n_messages;
        self.messages.retain(|_, message| {
            let is_late = last - message.order > LATE_LARGE as u64;
            !is_late || !message.text.open.is_empty() || !message.thinking.open.is_empty()
        });
        self.forget_at = 2 * self.messages.len();
    }

    /// Writes the `_done` of parts whose chunks came and whose whole text did not.
    pub(crate) fn close_parts(&mut self, emitter: &mut Emitter) {
        for message in std::mem::take(&mut self.open_messages) {
            self.close_parts_of(emitter, &message);
        }
    }

    /// As `close_parts`, for what stands in a turn.
    pub(crate) fn close_parts_in_turn(&mut self, emitter: &mut Emitter, turn_id: &str) {
        let turn = Place {
            turn_id: Some(turn_id.to_owned()),
            ..Place::default()
        };
        self.close_parts_while(emitter, &turn, |open| open.turn_id == turn.turn_id);
    }

    /// As `close_parts`, for what one agent says in one turn.
    pub(crate) fn close_parts_at(&mut self, emitter: &mut Emitter, place: &Place) {
        self.close_parts_while(emitter, place, |open| open.is_in(place));
    }

    fn close_parts_while(
        &mut self,
        emitter: &mut Emitter,
        first: &Place,
        is_wanted: impl Fn(&OpenMessage) -> bool,
    ) {
        let open = self.open_messages.range(OpenMessage::new(first, "")..);
        let wanted: Vec<OpenMessage> = open.take_while(|it| is_wanted(it)).cloned().collect();
        for message in wanted {
            self.open_messages.remove(&message);
            self.close_parts_of(emitter, &message);
        }
    }

    fn close_parts_of(&mut self, emitter: &mut Emitter, open: &OpenMessage) {
        let Some(message) = self.messages.get_mut(&open.id) else {
            return;
        };
        let response_id = message.response_id.clone();
        for (part, text, place) in message.text.take_open(open) {
            let done = AssistantDone {
                text,
                part: Some(part),
                ..AssistantDone::default()
            };
            emitter.add_as(&format!("{response_id}:text{part}:cut"), &place, done);
        }
        for (part, text, place) in message.thinking.take_open(open) {
            let done = ThinkingDone {
                text,
                part: Some(part),
                ..ThinkingDone::default()
            };
            emitter.add_as(&format!("{response_id}:thinking{part}:cut"), &place, done);
        }
    }
}

impl Parts {
    /// Closes what is open where `message` says.
    fn take_open(&mut self, message: &OpenMessage) -> Vec<(u32, String, Place)> {
        let parts: Vec<u32> = self
            .open
            .iter()
            .filter(|(_, (_, place))| message.is_in(place))
            .map(|(part, _)| *part)
            .collect();
        let mut taken = Vec::new();
        for part in parts {
            if let Some((text, place)) = self.open.remove(&part) {
                self.done = self.done.max(part + 1);
                taken.push((part, text, place));
            }
        }
        taken
    }
}
