//! Which response a text is of, and which of its parts.

use super::id_hash;
use crate::acp::session::Session;
use crate::emit::{Emitter, Place};
use crate::speech::{Kind, Part};

#[derive(Debug)]
pub(super) struct Response {
    pub(super) id: String,
    pub(super) message: Option<String>,
    thought: Option<String>,
    /// A call was made in it, and one was answered.
    called: bool,
    answered: bool,
    /// The text and the thought that were told as a whole and have nothing behind them: told again, they are these.
    pub(super) whole: [Option<u32>; 2],
}

impl Session {
    /// The place of what `parent`'s sub-agent, or the agent itself, does now; a turn begins where none runs.
    pub(in crate::acp) fn place(&mut self, emitter: &mut Emitter, parent: Option<&str>) -> Place {
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
    pub(super) fn part(
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
    pub(super) fn response_place(
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
    pub(in crate::acp) fn call_place(
        &mut self,
        emitter: &mut Emitter,
        parent: Option<String>,
    ) -> Place {
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
    pub(in crate::acp) fn call_answered(&mut self, parent: Option<&String>) {
        let lane = self.lanes.get_mut(&parent.cloned());
        if let Some(response) = lane.and_then(|lane| lane.response.as_mut()) {
            response.answered = true;
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
