//! What was stopped or failed runs no more: of a whole turn, or of one sub-agent in it.

use std::collections::BTreeSet;

use chat_event::ChatEvent;
use chat_event::payload::{ErrorEvent, Interrupt};

use super::ChatRenderer;
use super::place::Place;
use super::texts::PartName;
use crate::block::{BlockBody, BlockId, TurnIdx};
use crate::session::TurnState;
use crate::tool::ToolStatus;

impl ChatRenderer {
    /// Ends all that runs in a turn.
    pub(super) fn settle(&mut self, turn: TurnIdx, how: ToolStatus) {
        let work = &mut self.turn_works[turn.0 as usize];
        let calls = std::mem::take(&mut work.open_calls);
        let parts = std::mem::take(&mut work.open_parts);
        let asks = std::mem::take(&mut work.open_asks);
        for sound in work.open_sounds.clone() {
            self.settle_sound(sound);
        }
        for call in calls {
            self.settle_call(call, how);
        }
        for part in parts {
            self.settle_part(part);
        }
        for ask in asks {
            self.expire(ask);
        }
    }

    /// Ends what runs in one call of a turn: what befalls a sub-agent does not befall those beside it.
    fn settle_within(&mut self, turn: TurnIdx, host: BlockId, how: ToolStatus) {
        let feed = &self.feed;
        let is_within = |id: BlockId| {
            let mut around = std::iter::successors(Some(id), |&id| feed.block(id).parent);
            around.any(|id| id == host)
        };
        let work = &self.turn_works[turn.0 as usize];
        let within = |open: &BTreeSet<BlockId>| -> Vec<BlockId> {
            let open = open.iter().copied();
            open.filter(|&id| id != host && is_within(id)).collect()
        };
        let (calls, asks) = (within(&work.open_calls), within(&work.open_asks));
        let sounds = within(&work.open_sounds);
        let parts = work.open_parts.iter().copied().filter(|&(response, ..)| {
            let parent = feed.response(response).parent;
            parent.is_some_and(is_within)
        });
        let parts: Vec<PartName> = parts.collect();
        for sound in sounds {
            self.settle_sound(sound);
        }
        for call in calls {
            self.turn_works[turn.0 as usize].open_calls.remove(&call);
            self.settle_call(call, how);
        }
        for part in parts {
            self.turn_works[turn.0 as usize].open_parts.remove(&part);
            self.settle_part(part);
        }
        for ask in asks {
            self.turn_works[turn.0 as usize].open_asks.remove(&ask);
            self.expire(ask);
        }
    }

    /// An end that names no turn is the end of all that names none.
    pub(super) fn end_of_unnamed(&mut self, event: &ChatEvent) {
        if event.turn_id.is_none() {
            self.expire_free();
        }
    }

    /// A turn stops with all that runs in it; a sub-agent's stop is that of what runs in it alone.
    fn stop(&mut self, event: &ChatEvent, place: &Place, how: (ToolStatus, TurnState)) {
        let (of_calls, of_turn) = how;
        match place.parent {
            Some(host) => self.settle_within(place.turn, host, of_calls),
            None => {
                self.settle(place.turn, of_calls);
                self.end_of_unnamed(event);
                self.feed.turn_mut(place.turn).state = of_turn;
                self.turn_changed(place.turn);
            }
        }
    }

    pub(super) fn interrupt(&mut self, event: &ChatEvent, interrupt: &Interrupt) {
        let place = self.place(event);
        self.stop(
            event,
            &place,
            (ToolStatus::Interrupted, TurnState::Interrupted),
        );
        self.insert(
            &place,
            BlockBody::Interrupt {
                reason: interrupt.reason.clone(),
            },
        );
    }

    pub(super) fn error(&mut self, event: &ChatEvent, error: &ErrorEvent) {
        let place = self.place(event);
        self.stop(event, &place, (ToolStatus::NoResult, TurnState::Failed));
        // The same failure again is one row that counts; a sub-agent's is not that of its turn.
        let last = self.end_of(&place);
        if let Some(last) = last {
            let block = &mut self.feed.slot(last).block;
            if let BlockBody::Error {
                code,
                message,
                count,
            } = &mut block.body
                && (block.turn, block.parent) == (place.turn, place.parent)
                && *code == error.code
                && *message == error.message
            {
                *count += 1;
                self.update(last);
                return;
            }
        }
        self.insert(
            &place,
            BlockBody::Error {
                code: error.code.clone(),
                message: error.message.clone(),
                count: 1,
            },
        );
    }
}
