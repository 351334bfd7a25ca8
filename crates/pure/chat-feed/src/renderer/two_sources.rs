//! What two sources tell of: a hook asks here what its agent's own log tells of later, or told of before.

use std::collections::BTreeSet;

use chat_event::payload::{PermissionRequest, QuestionRequest};
use chat_event::{ChatEvent, Json};

use super::ChatRenderer;
use super::asks::Ask;
use crate::block::{Block, BlockBody, BlockId};

/// What was asked just before is what another source speaks of: so many rows, or open requests, are looked at.
const LOOKED_AT: usize = 100;

/// Who tells of a request of which two sources tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// A hook asks so: it is answered here, and may know no call.
    Here,
    /// The agent's own log tells so of what a hook asks.
    There,
}

/// The open requests of which another source may tell as well.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenSides {
    here: BTreeSet<BlockId>,
    there: BTreeSet<BlockId>,
}
chat_event::pack_fields!(OpenSides { here, there });

impl OpenSides {
    pub(super) fn note(&mut self, ask: &Block) {
        match side_of(ask) {
            Some(Side::Here) => self.here.insert(ask.id),
            Some(Side::There) => self.there.insert(ask.id),
            None => return,
        };
    }

    pub(super) fn forget(&mut self, ask: &Block) {
        match side_of(ask) {
            Some(Side::Here) => self.here.remove(&ask.id),
            Some(Side::There) => self.there.remove(&ask.id),
            None => return,
        };
    }

    /// What the other side told of, the newest first.
    fn beside(&self, side: Side) -> impl Iterator<Item = BlockId> {
        let told = match side {
            Side::Here => &self.there,
            Side::There => &self.here,
        };
        told.iter().rev().copied().take(LOOKED_AT)
    }
}

fn side_of(ask: &Block) -> Option<Side> {
    match &ask.body {
        BlockBody::Permission(block) => block.request.side(),
        BlockBody::Question(block) => block.request.side(),
        _ => None,
    }
}

impl ChatRenderer {
    /// A hook asks here what its agent's own log tells of as answered elsewhere: that is one row, which is answered here. The
    /// row of the other, where there is one that is open; this request is told by it from here on.
    pub(super) fn asked_by_another(
        &mut self,
        (ask, request_id): (Ask, &str),
        request: &impl Request,
        is_same: impl Fn(&BlockBody) -> bool,
    ) -> Option<BlockId> {
        let mut beside = self.open_sides.beside(request.side()?);
        let name = (ask, request_id.into());
        if self.is_asked(&name) {
            return None;
        }
        let told = beside.find(|&row| {
            let body = &self.feed.block(row).body;
            is_of_one_call(body, request.call_id()) && is_same(body)
        })?;
        self.asks.insert(name, told);
        Some(told)
    }

    /// Whether a request of that id has a row. One that was taken back may be asked again.
    fn is_asked(&self, name: &(Ask, Box<str>)) -> bool {
        let row = self.asks.get(name);
        row.is_some_and(|&row| self.feed.contains(row))
    }

    /// Two sources may tell of one refusal: a hook that asks may know no call, and what the agent says of the call later knows
    /// no hook. The row of the first, where this request is the second: it offers no answers, and its turn has a refused
    /// request that did, of this call or of none, for the same tool with the same arguments.
    pub(super) fn refusal_told_before(
        &self,
        event: &ChatEvent,
        request: &PermissionRequest,
    ) -> Option<BlockId> {
        let named = (Ask::Permission, request.request_id.as_str().into());
        if !request.options.is_empty() || request.tool_call_id.is_none() || self.is_asked(&named) {
            return None;
        }
        let turn = *self.turn_ids.get(event.turn_id.as_deref()?)?;
        let args = request.args.as_ref().map(Json::to_value);
        let last = self.turn_works[turn.0 as usize].last?;
        let rows = std::iter::successors(Some(last), |&row| self.feed.prev(row));
        let mut rows = rows.take(LOOKED_AT);
        rows.find(|&row| {
            let block = self.feed.block(row);
            let BlockBody::Permission(told) = &block.body else {
                return false;
            };
            let refused = told.resolved.as_ref();
            block.turn == turn
                && refused.is_some_and(|told| told.decision != "allow")
                && (told.request.tool_call_id.is_none()
                    || told.request.tool_call_id == request.tool_call_id
                        && !told.request.options.is_empty())
                && told.request.tool_name == request.tool_name
                && told.request.args.as_ref().map(Json::to_value) == args
        })
    }
}

/// Whether what another source asks may be of the call: where both know theirs, it is one.
fn is_of_one_call(body: &BlockBody, call_id: Option<&str>) -> bool {
    let told = match body {
        BlockBody::Permission(block) => block.request.call_id(),
        BlockBody::Question(block) => block.request.call_id(),
        _ => None,
    };
    told.is_none() || call_id.is_none() || told == call_id
}

/// What is alike in a request for leave and a question.
pub(super) trait Request: Clone {
    /// `false` where it is answered where the agent runs.
    fn answerable(&self) -> Option<bool>;
    fn call(&mut self) -> &mut Option<String>;
    fn call_id(&self) -> Option<&str>;
    /// Whether it says which answers there are.
    fn offers_answers(&self) -> bool;

    /// Which side tells of it; none where no other source may.
    fn side(&self) -> Option<Side> {
        match (self.answerable() == Some(false), self.call_id().is_some()) {
            (false, is_of_call) if !is_of_call || self.offers_answers() => Some(Side::Here),
            (true, true) => Some(Side::There),
            _ => None,
        }
    }
}

impl Request for PermissionRequest {
    fn answerable(&self) -> Option<bool> {
        self.answerable
    }

    fn call(&mut self) -> &mut Option<String> {
        &mut self.tool_call_id
    }

    fn call_id(&self) -> Option<&str> {
        self.tool_call_id.as_deref()
    }

    fn offers_answers(&self) -> bool {
        !self.options.is_empty()
    }
}

impl Request for QuestionRequest {
    fn answerable(&self) -> Option<bool> {
        self.answerable
    }

    fn call(&mut self) -> &mut Option<String> {
        &mut self.tool_call_id
    }

    fn call_id(&self) -> Option<&str> {
        self.tool_call_id.as_deref()
    }

    fn offers_answers(&self) -> bool {
        true
    }
}

/// Puts a request in the place of the one before; of two sides the one that is answered here stays, and is of the call.
pub(super) fn take_request<R: Request>(before: &mut R, now: &R, is_other_side: bool) {
    let mut now = now.clone();
    if is_other_side && now.answerable() == Some(false) {
        *before.call() = now.call().take();
        return;
    }
    if now.call().is_none() {
        *now.call() = before.call().take();
    }
    *before = now;
}
