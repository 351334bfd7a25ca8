//! What goes on behind calls that left it to the background, as in the feed: no end of a turn ends it, and what a sub-agent asks
//! there waits until that is answered, or the sub-agent is done.

use std::collections::VecDeque;

use chat_event::ChatEvent;
use serde::{Deserialize, Serialize};

use super::{Ask, Doing, MOST_OPEN, Now, Open, around_of, turn_of};

/// A call that left something to the background.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Left {
    id: String,
    turn_id: Option<String>,
    /// The call whose sub-agent it is of.
    around: Option<String>,
    /// Its turn is over: what it leaves open is over with it.
    is_of_past: bool,
}

/// Which calls are around others, and which of them left something to the background.
#[derive(Clone, Copy)]
struct Around<'n> {
    background: &'n VecDeque<Left>,
    calls: &'n VecDeque<Open<Doing>>,
}

impl<'n> Around<'n> {
    fn left(self, call: &str) -> bool {
        self.background.iter().any(|left| left.id == call)
    }

    /// The calls around what is said by a call's sub-agent, from that call on; up to the nearest that left something to the
    /// background: what is done within it is done there.
    fn each(self, call: Option<&'n str>) -> impl Iterator<Item = &'n str> {
        let next = move |call: &&'n str| {
            let mut calls = self.calls.iter().filter(|it| it.id == **call);
            let around = calls.next()?.around.as_deref();
            around.filter(|_| !self.left(call))
        };
        // Ids that agents give may go round in a circle.
        std::iter::successors(call, next).take(MOST_OPEN)
    }

    fn is_left(self, call: Option<&'n str>) -> bool {
        !self.background.is_empty() && self.each(call).any(|call| self.left(call))
    }

    fn is_in_background<T>(self, open: &'n Open<T>) -> bool {
        self.is_left(open.around.as_deref())
    }

    fn is_within<T>(self, open: &'n Open<T>, host: &str) -> bool {
        self.each(open.around.as_deref()).any(|call| call == host)
    }
}

impl Now {
    fn around(&self) -> Around<'_> {
        Around {
            background: &self.background,
            calls: &self.calls,
        }
    }

    /// What a call began goes on in the background.
    pub(super) fn goes_to_background(&mut self, id: &str, event: &ChatEvent) {
        if self.background.iter().any(|left| left.id == id) {
            return;
        }
        let call = self.calls.iter().find(|call| call.id == id);
        let (turn_id, around) = match call {
            Some(call) => (call.turn_id.clone(), call.around.clone()),
            None => (turn_of(event), around_of(event)),
        };
        // What goes on in the background may leave something there when its turn is over.
        let mut others = self.background.iter();
        let is_of_past = others.any(|left| left.is_of_past && left.turn_id == turn_id);
        if self.background.len() >= MOST_OPEN {
            self.background.pop_front();
        }
        self.background.push_back(Left {
            id: id.to_owned(),
            turn_id,
            around,
            is_of_past,
        });
    }

    /// A call is over, and so is what it left to the background. What its sub-agent left open goes on where the call stood; with
    /// a turn that is over, nothing does.
    pub(super) fn is_over(&mut self, id: &str) {
        let left = self.background.iter().position(|left| left.id == id);
        let left = left.and_then(|at| self.background.remove(at));
        let around = self.around();
        let is_past = |left: &Left| left.is_of_past && !around.is_left(left.around.as_deref());
        if left.as_ref().is_some_and(is_past) {
            return self.is_over_within(id);
        }
        let call = self.calls.iter().find(|call| call.id == id);
        let around = match (left, call) {
            (Some(left), _) => left.around,
            (None, Some(call)) => call.around.clone(),
            (None, None) => return,
        };
        let steps_out = |of: &mut Option<String>| {
            if of.as_deref() == Some(id) {
                of.clone_from(&around);
            }
        };
        self.asks
            .iter_mut()
            .for_each(|ask| steps_out(&mut ask.around));
        self.calls
            .iter_mut()
            .for_each(|call| steps_out(&mut call.around));
        self.background
            .iter_mut()
            .for_each(|left| steps_out(&mut left.around));
    }

    /// Nothing runs or waits any more of turns that are over, by their names, but for what goes on in the background.
    /// `are_over` is told of who asks for no turn, and is answered here, by its second part.
    pub(super) fn turns_are_over(&mut self, are_over: &dyn Fn(&Option<String>, bool) -> bool) {
        let around = Around {
            background: &self.background,
            calls: &self.calls,
        };
        self.asks
            .retain(|ask| !are_over(&ask.turn_id, is_free(ask)) || around.is_in_background(ask));
        self.retain_calls(|around, call| {
            !are_over(&call.turn_id, false) || around.is_in_background(call)
        });
        for left in &mut self.background {
            left.is_of_past |= are_over(&left.turn_id, false);
        }
    }

    /// A sub-agent is over: nothing runs or waits within its call, but what was left to the background there.
    pub(super) fn is_over_within(&mut self, host: &str) {
        let around = Around {
            background: &self.background,
            calls: &self.calls,
        };
        self.asks
            .retain(|ask| is_free(ask) || !around.is_within(ask, host));
        self.retain_calls(|around, call| !around.is_within(call, host));
    }

    fn retain_calls(&mut self, stays: impl Fn(Around<'_>, &Open<Doing>) -> bool) {
        let around = self.around();
        let stays: Vec<bool> = self.calls.iter().map(|call| stays(around, call)).collect();
        let mut stays = stays.into_iter();
        self.calls.retain(|_| stays.next().unwrap_or(true));
    }
}

/// Whether it is asked for no turn, as a hook does, and answered here.
fn is_free(ask: &Open<Ask>) -> bool {
    ask.turn_id.is_none() && ask.what.answerable != Some(false)
}
