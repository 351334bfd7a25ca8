//! Where a turn begins and ends; the table stands in `transcript`.

use chat_event::payload::TurnEnd;
use chat_event::{Json, Payload};
use serde_json::Value;

use super::ClaudeTranscript;
use crate::claude::said::{Said, is_local, pieces};
use crate::claude::session::Turn;
use crate::claude::side_lines;
use crate::emit::{Emitter, Place};
use crate::value::text_of;

impl ClaudeTranscript {
    /// Begins a turn at this line, where the line has not begun one already.
    pub(super) fn begin_turn(&mut self, emitter: &mut Emitter, line: &Value, trigger: &str) {
        let id = emitter.line_id().to_owned();
        if self.session.turns.last().is_some_and(|turn| turn.id == id) {
            return;
        }
        self.flush_usage(emitter);
        self.end_turn(emitter, None);
        self.left = None;
        if let Some(uuid) = text_of(line, "uuid") {
            let left = self.tree.turn(uuid, text_of(line, "parentUuid"), &id);
            if !left.is_empty() {
                emitter.went_back(left.len(), left);
            }
        }
        self.worked_ms = self.last_ms;
        let at = emitter.out.len();
        self.session.open_turn(emitter, &id, trigger);
        // Hooks name the turn by its prompt.
        if let Some(prompt) = text_of(line, "promptId")
            && let Some(event) = emitter.out.get_mut(at)
            && let Payload::TurnStart(start) = &mut event.payload
        {
            start.extra.insert("promptId", Json::string(prompt));
        }
    }

    pub(super) fn end_turn(&mut self, emitter: &mut Emitter, duration_ms: Option<u64>) {
        let has_open_call = self.session.waits_in(self.session.turns.first());
        let Some(mut end) = self.end_of_turn() else {
            return;
        };
        end.duration_ms = duration_ms;
        let now_ms = emitter.time_ms;
        // That the next prompt came shows that this turn is over, not how it went, nor that it went on until then.
        if duration_ms.is_none() {
            // The program was killed in the middle of the call, and the session taken up again.
            if has_open_call {
                end.outcome = Some("interrupted".to_owned());
            }
            end.extra.insert("guessed", Json::from(Value::Bool(true)));
            emitter.time_ms = self.worked_ms.unwrap_or(now_ms);
        }
        self.session.close_turn_leaving_calls(emitter, end);
        emitter.time_ms = now_ms;
    }

    /// The end of the open turn, as far as its lines told it.
    fn end_of_turn(&self) -> Option<TurnEnd> {
        let turn = self.session.turns.first()?;
        let outcome = match (turn.interrupted, turn.failed) {
            (true, _) => "interrupted",
            (false, true) => "failed",
            (false, false) => "completed",
        };
        Some(TurnEnd {
            outcome: Some(outcome.to_owned()),
            ..TurnEnd::default()
        })
    }

    /// Whether a user's line is of a command that is the program's own business: the command, or what it printed.
    pub(super) fn is_of_local(&self, line: &Value) -> bool {
        let content = line
            .get("message")
            .and_then(|message| message.get("content"));
        let Some(text) = content.and_then(Value::as_str) else {
            return false;
        };
        if !text.trim_start().starts_with('<') {
            return false;
        }
        let said = pieces(text);
        !said.is_empty()
            && said.iter().all(|said| match said {
                Said::Command(words) => is_local(words),
                Said::Done(_) => self.of_local,
                _ => false,
            })
    }

    /// A command is done, and with it the turn that is nothing else.
    pub(super) fn command_done(&mut self, emitter: &mut Emitter, text: &str) {
        side_lines::printed(emitter, &self.place(None), text);
        if self.of_local {
            return;
        }
        let of_command = |turn: &Turn| self.command_turn.as_ref() == Some(&turn.id);
        let turn = self.session.turns.last();
        if turn.is_some_and(|turn| of_command(turn) && !turn.answered)
            && let Some(end) = self.end_of_turn()
        {
            self.session.close_turn_leaving_calls(emitter, end);
        } else {
            self.has_answer();
        }
    }

    /// Who typed a command has their answer.
    pub(super) fn has_answer(&mut self) {
        self.waits = false;
        if let Some(turn) = self.session.turns.last_mut() {
            turn.answered = true;
        }
    }

    /// The program ended: the turn that is open goes on no more, nor does what ran in the background.
    pub(crate) fn leave(&mut self, emitter: &mut Emitter) {
        self.tell_taken(emitter, |_| true);
        self.flush_usage(emitter);
        let has_open_call = self.session.waits_in(self.session.turns.last());
        let turn = self.session.turns.last_mut();
        self.left = turn.map(|turn| {
            turn.interrupted |= has_open_call || (self.waits && !turn.failed);
            turn.id.clone()
        });
        self.end_turn(emitter, None);
        self.forget_tasks(emitter);
    }

    /// Where the main agent's last words stand, which may be written behind the end of the program.
    pub(super) fn late_place(&self) -> Place {
        let mut place = self.place(None);
        if !self.session.in_turn() {
            place.turn_id.clone_from(&self.left);
        }
        place
    }
}
