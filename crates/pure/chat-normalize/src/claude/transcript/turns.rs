//! Where a turn begins and ends; the table stands in `transcript`.

use chat_event::payload::TurnEnd;
use chat_event::{Json, Payload};
use serde_json::Value;

use super::ClaudeTranscript;
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
        if let Some(uuid) = text_of(line, "uuid") {
            let left = self.tree.turn(uuid, text_of(line, "parentUuid"), &id);
            if !left.is_empty() {
                let text = match left.len() {
                    1 => "the user went back: the turn before this line was left".to_owned(),
                    n => format!("the user went back: {n} turns before this line were left"),
                };
                let notice = emitter.notice("info", &Place::default(), "branch", text);
                if let Payload::Notice(notice) = &mut notice.payload {
                    notice
                        .extra
                        .insert("leftTurnIds", Json::from(Value::from(left)));
                }
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
        let Some(turn) = self.session.turns.first() else {
            return;
        };
        let outcome = match (turn.interrupted, turn.failed) {
            (true, _) => "interrupted",
            (false, true) => "failed",
            (false, false) => "completed",
        };
        let mut end = TurnEnd {
            outcome: Some(outcome.to_owned()),
            duration_ms,
            ..TurnEnd::default()
        };
        let now_ms = emitter.time_ms;
        // That the next prompt came shows that this turn is over, not how it went, nor that it went on until then.
        if duration_ms.is_none() {
            end.extra.insert("guessed", Json::from(Value::Bool(true)));
            emitter.time_ms = self.worked_ms.unwrap_or(now_ms);
        }
        self.session.close_turn_leaving_calls(emitter, end);
        emitter.time_ms = now_ms;
    }
}
