//! `result` lines: the end of a turn, how it went, and what it cost.

use chat_event::payload::{ErrorEvent, TurnEnd};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::ClaudeStream;
use crate::claude::usage;
use crate::emit::{Emitter, Place};
use crate::value::{count_of, is_true, list_of, str_of, text_of};

impl ClaudeStream {
    pub(super) fn result(&mut self, emitter: &mut Emitter, line: &Value) {
        if !self.session.in_turn() {
            // A session that could not be resumed has a result and nothing else.
            self.session.need_turn(emitter);
        }
        let turn_id = self.session.turns.first().map(|turn| turn.id.clone());
        let place = Place {
            turn_id,
            ..Place::default()
        };
        for denial in list_of(line, "permission_denials") {
            let id = text_of(denial, "tool_use_id").unwrap_or("").to_owned();
            let name = str_of(denial, "tool_name").unwrap_or("");
            self.session
                .denied(emitter, &id, name, denial.get("tool_input"), "rule", None);
        }
        let still_open = self.session.turns.get(1..).unwrap_or_default();
        self.session.asks.turn_told(emitter, still_open);
        let outcome = self.outcome(emitter, line, &place);
        let usage_of_turn = self.session.spent.turn_usage(line);
        let cost_usd = self.session.spent.turn_cost(line);
        if let Some(sums) = usage::session_usage(line) {
            emitter.add("usage", &place, sums);
        }
        let mut end = TurnEnd {
            usage: usage_of_turn
                .and_then(|usage| serde_json::to_value(usage).ok())
                .map(Json::from),
            cost_usd,
            duration_ms: count_of(line, "duration_ms"),
            outcome: Some(outcome.to_owned()),
            ..TurnEnd::default()
        };
        for (from, to) in [
            ("terminal_reason", "terminalReason"),
            ("num_turns", "numTurns"),
            ("stop_reason", "stopReason"),
            ("duration_api_ms", "durationApiMs"),
            ("structured_output", "structuredOutput"),
        ] {
            if let Some(value) = line.get(from).filter(|value| !value.is_null()) {
                end.extra.insert(to, Json::from(value));
            }
        }
        self.session.close_turn(emitter, end);
        self.ended_well = true;
    }

    fn outcome(&mut self, emitter: &mut Emitter, line: &Value, place: &Place) -> &'static str {
        let terminal = str_of(line, "terminal_reason").unwrap_or("");
        let subtype = str_of(line, "subtype").unwrap_or("");
        let (interrupted, failed) = self
            .session
            .turns
            .first()
            .map_or((false, false), |turn| (turn.interrupted, turn.failed));
        if terminal.starts_with("aborted") || (interrupted && subtype.starts_with("error")) {
            if !interrupted {
                emitter.add(
                    "interrupt",
                    place,
                    chat_event::payload::Interrupt {
                        reason: "user_cancel".to_owned(),
                        extra: Extra::default(),
                    },
                );
            }
            return "interrupted";
        }
        let is_error = is_true(line, "is_error") || subtype.starts_with("error");
        if !is_error {
            return "completed";
        }
        // An API error was said by the assistant's line; the result repeats it.
        if !failed {
            let code = [terminal, subtype]
                .into_iter()
                .find(|code| !code.is_empty() && *code != "success")
                .unwrap_or("error");
            let errors = list_of(line, "errors")
                .iter()
                .filter_map(Value::as_str)
                .collect::<Vec<_>>()
                .join("\n");
            let message = text_of(line, "result").map_or(errors, str::to_owned);
            emitter.add(
                "error",
                place,
                ErrorEvent {
                    code: code.to_owned(),
                    message,
                    extra: Extra::default(),
                },
            );
        }
        "failed"
    }
}
