//! Where a row stands: in which turn, within which tool call, as part of which response.

use chat_event::ChatEvent;

use super::ChatRenderer;
use super::texts::ResponseWork;
use crate::block::{BlockBody, BlockId, Prompt, ResponseIdx, TurnIdx};
use crate::patch::FeedPatch;
use crate::retries::RETRY_NOTICE;
use crate::session::Response;

/// Deeper sub-agents are shown at this depth: no screen has room for more, and each level costs a step at every row.
const MAX_DEPTH: u16 = 64;

/// Where the rows of an event go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) turn: TurnIdx,
    pub(super) parent: Option<BlockId>,
    pub(super) response: Option<ResponseIdx>,
}

impl Place {
    /// What is of a turn and of nothing within it.
    pub(super) fn at_top(turn: TurnIdx) -> Place {
        Place {
            turn,
            parent: None,
            response: None,
        }
    }
}

impl ChatRenderer {
    /// The place of an event's rows; turns, and the call of a sub-agent, are made where they are not known yet.
    pub(super) fn place(&mut self, event: &ChatEvent) -> Place {
        let turn = self.turn_of(event);
        let parent = event
            .parent_tool_call_id
            .as_deref()
            .and_then(|call_id| self.nearest_host(call_id, turn));
        let turn = parent.map_or(turn, |parent| self.feed.block(parent).turn);
        let response = event
            .response_id
            .as_deref()
            .map(|id| self.response(Some(id), turn, parent));
        Place {
            turn: response.map_or(turn, |response| self.feed.response(response).turn),
            parent,
            response,
        }
    }

    /// The call that the rows of its sub-agent are shown in; where it was taken back, the one around it.
    fn nearest_host(&mut self, call_id: &str, turn: TurnIdx) -> Option<BlockId> {
        let mut host = Some(self.call_or_placeholder(call_id, &Place::at_top(turn)));
        while let Some(id) = host {
            if self.feed.contains(id) && self.feed.block(id).depth < MAX_DEPTH {
                return host;
            }
            host = self.feed.block(id).parent;
        }
        None
    }

    /// The response `id` within `parent`, or the one that bears no id in this turn.
    pub(super) fn response(
        &mut self,
        id: Option<&str>,
        turn: TurnIdx,
        parent: Option<BlockId>,
    ) -> ResponseIdx {
        if let (Some(id), Some((named, within, response))) = (id, &self.named_response)
            && **named == *id
            && *within == parent
        {
            return *response;
        }
        let known = match id {
            Some(id) => self.response_ids.get(&(id.into(), parent)).copied(),
            None => self.unnamed_responses.get(&(turn, parent)).copied(),
        };
        let response = known.unwrap_or_else(|| self.new_response(id, turn, parent));
        if let Some(id) = id {
            self.named_response = Some((id.into(), parent, response));
        }
        response
    }

    fn new_response(
        &mut self,
        id: Option<&str>,
        turn: TurnIdx,
        parent: Option<BlockId>,
    ) -> ResponseIdx {
        // Counted like the events that make them.
        #[allow(clippy::cast_possible_truncation)]
        let response = ResponseIdx(self.feed.responses.len() as u32);
        self.feed.responses.push(Response {
            id: id.map(Into::into),
            turn,
            parent,
        });
        self.response_works.push(ResponseWork::default());
        match id {
            Some(id) => self.response_ids.insert((id.into(), parent), response),
            None => self.unnamed_responses.insert((turn, parent), response),
        };
        response
    }

    /// The row behind which the next row of a place goes.
    pub(super) fn end_of(&self, place: &Place) -> Option<BlockId> {
        if let Some(parent) = place.parent {
            return Some(self.feed.tail(parent));
        }
        let work = &self.turn_works[place.turn.0 as usize];
        match (work.foot, work.last) {
            (Some(foot), _) => self.feed.prev(foot),
            (None, Some(last)) => Some(last),
            (None, None) => {
                let filled = self.filled_turns.range(..place.turn).next_back()?;
                self.turn_works[filled.0 as usize].last
            }
        }
    }

    /// Brings the ends of turn and calls up to date with a row that was linked behind `after`.
    pub(super) fn row_linked(&mut self, id: BlockId, after: Option<BlockId>) {
        let turn = self.feed.block(id).turn;
        let mut host = self.feed.block(id).parent;
        while let Some(parent) = host {
            let link = self.feed.link_of(parent);
            if Some(link.tail) != after {
                break;
            }
            link.tail = id;
            host = self.feed.block(parent).parent;
        }
        let work = &mut self.turn_works[turn.0 as usize];
        if work.last.is_none() {
            self.filled_turns.insert(turn);
        }
        if work.last.is_none() || work.last == after {
            work.last = Some(id);
        }
    }

    /// Brings the ends of turn and calls up to date with a row that is about to go.
    pub(super) fn row_unlinking(&mut self, id: BlockId) {
        let turn = self.feed.block(id).turn;
        let before = self.feed.prev(id);
        let mut host = self.feed.block(id).parent;
        while let (Some(parent), Some(before)) = (host, before) {
            let link = self.feed.link_of(parent);
            if link.tail != id {
                break;
            }
            link.tail = before;
            host = self.feed.block(parent).parent;
        }
        let before = before.filter(|&row| self.feed.block(row).turn == turn);
        let work = &mut self.turn_works[turn.0 as usize];
        if work.foot == Some(id) {
            work.foot = None;
        }
        if work.last == Some(id) {
            work.last = before;
            if before.is_none() {
                self.filled_turns.remove(&turn);
            }
        }
    }

    /// A turn that a user started but whose prompt the source has not told gets a row that says so.
    pub(super) fn note_missing_prompt(&mut self, place: &Place, body: &BlockBody) {
        let turn = self.feed.turn(place.turn);
        let works = match body {
            BlockBody::Text(_)
            | BlockBody::Thinking(_)
            | BlockBody::ToolCall(_)
            | BlockBody::FileEdit(_)
            // What fails at once was prompted as well.
            | BlockBody::Error { .. } => true,
            // The provider is asked again for an answer to it.
            BlockBody::Notice { source, .. } => source.as_deref() == Some(RETRY_NOTICE),
            _ => false,
        };
        if !works || turn.prompt.is_some() || &*turn.trigger != "user" {
            return;
        }
        let prompt = Prompt {
            text: None,
            spoken: false,
            attachments: None,
            trigger: turn.trigger.clone(),
            before_ms: self.prompted_before(place.turn),
        };
        let at_top = Place::at_top(place.turn);
        let after = self.end_of(&at_top);
        let id = self.insert_after(&at_top, after, BlockBody::Prompt(Box::new(prompt)));
        self.set_prompt(place.turn, id);
    }

    /// When the nearest turn began before this one that has a prompt.
    pub(super) fn prompted_before(&self, turn: TurnIdx) -> Option<i64> {
        let before = self.prompted_turns.range(..turn).next_back();
        before.and_then(|&before| self.feed.turn(before).started_ms)
    }

    /// This row is its turn's prompt: the turn behind it, whose prompt may have come earlier, has another one before it.
    pub(super) fn set_prompt(&mut self, turn: TurnIdx, id: BlockId) {
        let facts = self.feed.turn_mut(turn);
        facts.prompt = Some(id);
        let before_ms = facts.started_ms;
        self.turn_changed(turn);
        self.prompted_turns.insert(turn);
        let behind = self.prompted_turns.range(TurnIdx(turn.0 + 1)..).next();
        let Some(next) = behind.and_then(|&behind| self.feed.turn(behind).prompt) else {
            return;
        };
        if self.feed.contains(next)
            && let BlockBody::Prompt(prompt) = &mut self.feed.slot(next).block.body
            && prompt.before_ms != before_ms
        {
            prompt.before_ms = before_ms;
            // The event in hand came to another row.
            self.patches.push(FeedPatch::Update { block: next });
        }
    }
}
