//! What was stopped or failed runs no more: of a whole turn, or of one sub-agent in it.

use chat_event::ChatEvent;
use chat_event::payload::{ErrorEvent, Interrupt};

use super::ChatRenderer;
use super::place::Place;
use crate::block::{BlockBody, BlockId, TurnIdx};
use crate::retries::Retries;
use crate::session::TurnState;
use crate::tool::ToolStatus;

impl ChatRenderer {
    /// Ends all that runs in a turn, but for what it left to the background.
    pub(super) fn settle(&mut self, turn: TurnIdx, how: ToolStatus) {
        let work = &mut self.turn_works[turn.0 as usize];
        let open = std::mem::take(&mut work.open);
        for sound in work.open_sounds.clone() {
            self.settle_sound(sound);
        }
        self.settle_open(open, how);
    }

    /// Ends what runs in one call of a turn: what befalls a sub-agent does not befall those beside it.
    fn settle_within(&mut self, turn: TurnIdx, host: BlockId, how: ToolStatus) {
        let feed = &self.feed;
        let sounds = self.turn_works[turn.0 as usize].open_sounds.iter().copied();
        let sounds = sounds.filter(|&sound| {
            let mut around = std::iter::successors(Some(sound), |&id| feed.block(id).parent);
            around.any(|id| id == host)
        });
        for sound in sounds.collect::<Vec<_>>() {
            self.settle_sound(sound);
        }
        let within = self.take_within(host);
        self.settle_open(within, how);
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

    #[inline(never)]
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

    #[inline(never)]
    pub(super) fn error(
        &mut self,
        event: &ChatEvent,
        error: &ErrorEvent,
        retried: Option<(BlockId, Retries)>,
    ) {
        let place = self.place(event);
        let retried = retried.filter(|(row, _)| {
            let row = self.feed.block(*row);
            (row.turn, row.parent) == (place.turn, place.parent)
        });
        let (retries, retried_ms) = retried.map_or((0, None), |(_, retries)| {
            (retries.count(), retries.took_ms(self.now_ms))
        });
        self.stop(event, &place, (ToolStatus::NoResult, TurnState::Failed));
        // The same failure again is one row that counts; a sub-agent's is not that of its turn.
        let last = self.end_of(&place);
        if let Some(last) = last {
            let block = &mut self.feed.slot(last).block;
            if let BlockBody::Error {
                code,
                message,
                count,
                ..
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
                retries,
                retried_ms,
            },
        );
    }
}
