//! The turns of a session: opened, interrupted and closed with what is open in them.

use chat_event::payload::{Interrupt, TurnEnd, TurnStart};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::Session;
use crate::emit::{Emitter, Place};

/// A turn that is open.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    pub(crate) id: String,
    pub(crate) interrupted: bool,
    pub(crate) failed: bool,
    /// The agent did something in it.
    pub(crate) answered: bool,
}

impl Session {
    /// Whether a turn is open.
    pub(crate) fn in_turn(&self) -> bool {
        !self.turns.is_empty()
    }

    /// Opens a turn.
    pub(crate) fn open_turn(&mut self, emitter: &mut Emitter, id: &str, trigger: &str) {
        self.n_turns += 1;
        let id = if id.is_empty() {
            format!("turn-{}", self.n_turns)
        } else if id == self.newest_turn {
            // Two documents can stand in one line, which names the turns of both.
            format!("{id}.{}", self.n_turns)
        } else {
            id.to_owned()
        };
        self.newest_turn.clone_from(&id);
        self.turns.push(Turn {
            id: id.clone(),
            ..Turn::default()
        });
        let place = self.place(None, None);
        emitter.add(
            "turn",
            &place,
            TurnStart {
                trigger: trigger.to_owned(),
                ..TurnStart::default()
            },
        );
    }

    /// Opens a turn where the source shows work without having said that a turn began.
    pub(crate) fn need_turn(&mut self, emitter: &mut Emitter) {
        if self.turns.is_empty() {
            let id = format!("t-{}", emitter.line_id());
            let trigger = if self.n_turns == 0 { "user" } else { "system" };
            self.open_turn(emitter, &id, trigger);
        }
    }

    /// Marks the newest turn as stopped by the user.
    pub(crate) fn interrupt(&mut self, emitter: &mut Emitter, place: &Place, reason: &str) {
        if place.parent_tool_call_id.is_none()
            && let Some(turn) = self.turns.last_mut()
        {
            if turn.interrupted {
                return;
            }
            turn.interrupted = true;
        }
        emitter.add(
            "interrupt",
            place,
            Interrupt {
                reason: reason.to_owned(),
                extra: Extra::default(),
            },
        );
    }

    /// Closes the oldest open turn with what the source says of it.
    pub(crate) fn close_turn(&mut self, emitter: &mut Emitter, end: TurnEnd) {
        if self.turns.is_empty() {
            return;
        }
        let id = self.turns[0].id.clone();
        // A sub-agent in the background outlives the turn that started it.
        for native_id in self.open_calls.of_main() {
            let call = self.calls.get(&native_id);
            if call.is_some_and(|call| call.place.turn_id.as_ref() == Some(&id)) {
                self.close_call(emitter, &native_id);
            }
        }
        self.close_turn_leaving_calls(emitter, end);
    }

    /// Closes the oldest open turn; its calls may still get their results.
    pub(crate) fn close_turn_leaving_calls(&mut self, emitter: &mut Emitter, end: TurnEnd) {
        if self.turns.is_empty() {
            return;
        }
        let turn = self.turns.remove(0);
        self.close_parts_in_turn(emitter, &turn.id);
        let place = Place {
            turn_id: Some(turn.id.clone()),
            ..Place::default()
        };
        let guessed = end.extra.get("guessed").is_some();
        let tag = if guessed { "end.guess" } else { "end" };
        let id = format!("{}:{tag}", turn.id);
        emitter.add_as(&id, &place, end);
    }

    /// Closes everything: the source is at its end.
    pub(crate) fn close_all(
        &mut self,
        emitter: &mut Emitter,
        outcome: impl Fn(&Turn) -> &'static str,
    ) {
        self.close_parts(emitter);
        self.close_each(emitter, outcome, true);
        self.close_every_call(emitter);
        self.end_background(emitter);
        emitter.in_background(false);
    }

    /// Closes the turns that are open: the next prompt came. What goes on in the background does so.
    pub(crate) fn close_turns(
        &mut self,
        emitter: &mut Emitter,
        outcome: impl Fn(&Turn) -> &'static str,
    ) {
        let over = self.open_calls.take_foreground(&self.calls);
        self.close_each(emitter, outcome, false);
        for native_id in over {
            self.close_call(emitter, &native_id);
        }
    }

    fn close_each(
        &mut self,
        emitter: &mut Emitter,
        outcome: impl Fn(&Turn) -> &'static str,
        with_all_calls: bool,
    ) {
        while let Some(turn) = self.turns.first() {
            let outcome = outcome(turn);
            let is_last = self.turns.len() == 1;
            if is_last && with_all_calls {
                self.close_every_call(emitter);
            }
            let mut end = TurnEnd {
                outcome: Some(outcome.to_owned()),
                ..TurnEnd::default()
            };
            // The source does not say so; one that knows, or the same one grown longer, may tell it otherwise.
            end.extra.insert("guessed", Json::from(Value::Bool(true)));
            self.close_turn(emitter, end);
        }
    }
}
