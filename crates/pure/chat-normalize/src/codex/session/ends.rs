//! How turns end: because the source says so, because another one begins, or because the source is at its end.

use chat_event::Json;
use chat_event::payload::TurnEnd;
use serde_json::Value;

use super::{Session, Turn};
use crate::codex::items::agent_ended;
use crate::emit::{Emitter, Place};

impl Session {
    /// The model owes an answer in the session's turn, or the rest of one; or it does no more.
    pub(crate) fn owes_answer(&mut self, waits: bool) {
        let main = self.threads.get_mut("");
        if let Some(turn) = main.and_then(|thread| thread.open.as_mut()) {
            turn.waits = waits;
        }
    }

    /// Closes the open turn of `thread`, and before it what is open in it.
    pub(crate) fn close_turn(&mut self, emitter: &mut Emitter, thread: &str, end: TurnEnd) {
        let key = self.key(thread).to_owned();
        let Some(turn) = self
            .threads
            .get_mut(&key)
            .and_then(|thread| thread.open.take())
        else {
            emitter.pass_over("end of no turn");
            return;
        };
        self.at_work.remove(&key);
        self.open_turns.remove(&turn.id);
        self.texts.close(emitter, Some(&turn.id));
        let is_completed = end.outcome.as_deref() == Some("completed");
        self.close_calls(emitter, Some(&turn.id), is_completed);
        self.asks.close(emitter, Some(&turn.id));
        if !turn.is_top {
            if self.at_work.is_empty() {
                emitter.in_background(false);
            }
            return;
        }
        let place = Place {
            turn_id: Some(turn.id.clone()),
            ..Place::default()
        };
        if key.is_empty() {
            self.tell_context(emitter);
            self.tell_turn_diff(emitter, &turn.id, &place);
        }
        emitter.in_background(!self.at_work.is_empty());
        let guessed = end.extra.get("guessed").is_some();
        let tag = if guessed { "end.guess" } else { "end" };
        emitter.add_as(&format!("{}:{tag}", turn.id), &place, end);
    }

    /// The source told how a turn of `thread` ended: so did what a sub-agent was started for, where the turn is over that
    /// could tell it. Some versions tell no end of a sub-agent.
    pub(crate) fn agent_rests(&mut self, emitter: &mut Emitter, thread: &str, outcome: &str) {
        let Some(spawned) = self.spawned.get(thread) else {
            return;
        };
        let id = spawned.call.clone();
        if let Some(of_thread) = self.threads.get_mut(thread) {
            of_thread.rests = Some(outcome.to_owned());
        }
        let call = self.calls.get(&id);
        if call.is_some_and(|call| !self.open_turns.contains(call.turn()))
            && let Some(call) = self.take_call(&id)
        {
            agent_ended(emitter, &id, &call, outcome);
        }
    }

    /// Closes everything: the source is at its end. A turn without its end was interrupted.
    pub(crate) fn close_all(&mut self, emitter: &mut Emitter) {
        let mut threads: Vec<String> = self.threads.keys().cloned().collect();
        // Sub-agents before the session.
        threads.sort_by(|one, other| other.cmp(one));
        for thread in threads {
            if self.turn(&thread).is_some() {
                self.close_turn(emitter, &thread, ended("interrupted"));
            }
        }
        self.texts.close(emitter, None);
        self.close_calls(emitter, None, false);
        self.asks.close(emitter, None);
    }

    /// Another turn begins, so the open one of `thread` is over, though no line said so.
    pub(super) fn give_way(&mut self, emitter: &mut Emitter, thread: &str) {
        let Some(turn) = self.turn(thread) else {
            return;
        };
        let end = if turn.is_told {
            ended("interrupted")
        } else {
            match self.untold_outcome(turn) {
                // That it was answered and another one begins is as good as told.
                "completed" => ended("completed"),
                outcome => guessed(outcome),
            }
        };
        self.close_turn(emitter, thread, end);
    }

    /// As [`Session::close_all`], where the source may not tell of turns.
    pub(crate) fn close_untold(&mut self, emitter: &mut Emitter) {
        if let Some(turn) = self.turn("").filter(|turn| !turn.is_told) {
            // The same file grown longer may tell it otherwise.
            let end = guessed(self.untold_outcome(turn));
            self.close_turn(emitter, "", end);
        }
        self.close_all(emitter);
    }

    /// How a turn ended of which the source tells neither begin nor end.
    fn untold_outcome(&self, turn: &Turn) -> &'static str {
        let stopped = self.calls.values().any(|call| call.is_of(&turn.id));
        match (stopped, turn.waits) {
            (false, false) => "completed",
            (false, true) if turn.error.is_some() => "failed",
            _ => "interrupted",
        }
    }
}

/// The end of a turn of which nothing else is known.
pub(crate) fn ended(outcome: &str) -> TurnEnd {
    TurnEnd {
        outcome: Some(outcome.to_owned()),
        ..TurnEnd::default()
    }
}

/// As [`ended`], where no line says it.
fn guessed(outcome: &str) -> TurnEnd {
    let mut end = ended(outcome);
    end.extra.insert("guessed", Json::from(Value::Bool(true)));
    end
}
