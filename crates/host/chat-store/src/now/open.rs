//! What goes on: in a turn until that is over, and behind a call that left it to the background until that is over. No end of
//! a turn ends what goes on there, and what a sub-agent asks there waits until that is answered, or the sub-agent is done.

use chat_event::ChatEvent;
use serde::{Deserialize, Serialize};

use super::calls::Call;
use super::turns::name_of;
use super::{MOST_DONE, MOST_OPEN, Now};

/// Where something stands: in which turn, and in the call of which sub-agent, by its row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Place {
    pub(super) turn: u32,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) within: Option<u32>,
}

impl Now {
    /// The place of an event; its turn, and the call of a sub-agent, are made where they are not known yet.
    pub(super) fn place(&mut self, event: &ChatEvent) -> Place {
        let turn = self.turn_of(event);
        let at_top = Place { turn, within: None };
        let Some(id) = event.parent_tool_call_id.as_deref() else {
            return at_top;
        };
        let at = self.call_or_placeholder(name_of(id), at_top);
        // Where the call was taken back, what is around it is the nearest.
        let host = &self.calls[at];
        let mut around = std::iter::once(host).chain(self.around(host.place));
        let host = around.find(|call| !call.is_gone);
        host.map_or(at_top, |call| Place {
            turn: call.place.turn,
            within: Some(call.row),
        })
    }

    fn call_at(&self, row: u32) -> Option<&Call> {
        let at = self.calls.binary_search_by_key(&row, |call| call.row);
        at.ok().map(|at| &self.calls[at])
    }

    /// The calls around a place, the nearest first: each was made before those within it.
    fn around(&self, place: Place) -> impl Iterator<Item = &Call> {
        let first = place.within.and_then(|row| self.call_at(row));
        let next = |call: &&Call| {
            let around = call.place.within.filter(|&row| row < call.row);
            around.and_then(|row| self.call_at(row))
        };
        std::iter::successors(first, next).take(MOST_OPEN + MOST_DONE)
    }

    /// The nearest call around a place that left something to the background: what is done within it is done there.
    fn left_around(&self, place: Place) -> Option<u32> {
        let mut around = self.around(place);
        around.find(|call| call.is_left).map(|call| call.row)
    }

    /// Whether nothing goes on there any more.
    pub(super) fn is_over_at(&self, place: Place) -> bool {
        !self.turns.goes_on(place.turn) && self.left_around(place).is_none()
    }

    /// Ends what runs and waits at such places. What a call left to the background no such end ends, nor who asks for no turn.
    fn settle_at(&mut self, is_there: impl Fn(&Now, Place) -> bool) {
        let calls = self.calls.iter().enumerate();
        let calls = calls.filter(|(_, call)| call.runs && !call.is_left);
        let calls = calls.filter(|(_, call)| is_there(self, call.place));
        let calls: Vec<usize> = calls.map(|(at, _)| at).collect();
        let asks = self.asks.iter().enumerate();
        let asks = asks.filter(|(_, ask)| ask.is_open && !ask.is_free);
        let asks = asks.filter(|(_, ask)| is_there(self, ask.place));
        let asks: Vec<usize> = asks.map(|(at, _)| at).collect();
        for at in calls {
            self.calls[at].runs = false;
        }
        for at in asks {
            self.asks[at].is_open = false;
        }
    }

    /// Nothing of a turn runs or waits any more, but for what it left to the background.
    pub(super) fn settle(&mut self, turn: u32) {
        self.settle_at(|now, place| place.turn == turn && now.left_around(place).is_none());
    }

    /// A sub-agent is over: nothing runs or waits within its call, but what was left to the background there.
    pub(super) fn settle_within(&mut self, host: Place) {
        let left = self.left_around(host);
        self.settle_at(|now, place| {
            let mut around = now.around(place);
            around.any(|call| Some(call.row) == host.within) && now.left_around(place) == left
        });
    }

    /// What a call left to the background is over. What it left open itself goes on where it stands, if anything does.
    pub(super) fn leaves_background(&mut self, at: usize) {
        let (row, place) = (self.calls[at].row, self.calls[at].place);
        if std::mem::take(&mut self.calls[at].is_left) && self.is_over_at(place) {
            self.calls[at].is_left = true;
            self.settle_at(|now, place| now.left_around(place) == Some(row));
            self.calls[at].is_left = false;
        }
    }

    /// Nothing goes on or waits, wherever it stands.
    pub(super) fn nothing_goes_on(&mut self) {
        for call in &mut self.calls {
            (call.runs, call.is_left) = (false, false);
        }
        for ask in &mut self.asks {
            (ask.is_open, ask.is_free) = (false, false);
        }
    }

    /// What a source takes back is gone, with all that lies within it.
    pub(super) fn is_taken_back(&mut self, event_id: &str, at_ms: Option<i64>) {
        let teller = name_of(event_id);
        if let Some(at) = self
            .asks
            .iter()
            .position(|ask| ask.told_by.contains(&teller))
        {
            return self.forget_ask(at, at_ms);
        }
        let mut calls = self.calls.iter();
        let told = |call: &Call| !call.is_gone && call.told_by.contains(&teller);
        let Some(host) = calls.position(told).map(|at| self.calls[at].row) else {
            return;
        };
        let is_within =
            |now: &Now, place: Place| now.around(place).any(|around| around.row == host);
        let asks = (0..self.asks.len()).rev();
        for at in asks
            .filter(|&at| is_within(self, self.asks[at].place))
            .collect::<Vec<_>>()
        {
            self.forget_ask(at, at_ms);
        }
        let gone = (0..self.calls.len()).rev().filter(|&at| {
            let call = &self.calls[at];
            !call.is_gone && (call.row == host || is_within(self, call.place))
        });
        for at in gone.collect::<Vec<_>>() {
            (self.calls[at].is_gone, self.calls[at].runs) = (true, false);
            self.leaves_background(at);
        }
    }
}
