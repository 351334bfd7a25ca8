//! How messages end, and with them turns.
//!
//! | reason | what it means |
//! |---|---|
//! | `tool_use` | the turn goes on |
//! | `end_turn`, `unknown` without calls | the turn is over |
//! | `max_tokens` | the same; the answer was cut short |
//! | `canceled` | the user stopped the turn |
//! | `error`, `content_filter` | the turn failed |
//!
//! In the database a message stands before the results of its calls, also where these came before its end: a turn is closed
//! once no call waits.

use chat_event::payload::ErrorEvent;
use serde_json::Value;

use super::FORMAT;
use super::message::{Message, Told};
use super::shapes::time_of;
use super::talk::Talk;
use crate::emit::Emitter;
use crate::track::ended;
use crate::value::{str_of, text_of};

/// How the turn ends, and when its last message did.
#[derive(Debug)]
pub(super) struct Ending {
    outcome: &'static str,
    at_ms: i64,
}

impl Talk {
    /// A message says how it ended.
    pub(super) fn finished(
        &mut self,
        emitter: &mut Emitter,
        message: &Message<'_>,
        told: &mut Told,
        finish: &Value,
    ) {
        let reason = str_of(finish, "reason").unwrap_or("");
        if told.finish.as_deref() == Some(reason) {
            return;
        }
        told.finish = Some(reason.to_owned());
        let at_ms = time_of(finish, "time").unwrap_or(emitter.time_ms);
        self.run.at(emitter, Some(at_ms).filter(|_| at_ms > 0));
        let outcome = self.outcome(emitter, message, reason, finish);
        self.worked_ms = Some(emitter.time_ms);
        // An agent's answer ends no turn: the result of the call that started it says how it went.
        if message.within.is_none() {
            let at_ms = emitter.time_ms;
            self.ending = outcome.map(|outcome| Ending { outcome, at_ms });
            self.calls_more = outcome.is_none();
        }
    }

    fn outcome(
        &mut self,
        emitter: &mut Emitter,
        message: &Message<'_>,
        reason: &str,
        finish: &Value,
    ) -> Option<&'static str> {
        let place = self.run.track.place().in_response(message.id);
        match reason {
            "tool_use" => None,
            "unknown" if message.has("tool_call") => None,
            "canceled" => Some("interrupted"),
            "max_tokens" => {
                let text = "the answer was cut short: max_tokens";
                emitter.notice("warning", &place, FORMAT, text);
                Some("completed")
            }
            "error" | "content_filter" => {
                let title = text_of(finish, "message");
                let title = title.unwrap_or(match reason {
                    "error" => "the request failed",
                    _ => "the provider refused to go on",
                });
                let details = text_of(finish, "details");
                let error = ErrorEvent {
                    code: match details {
                        Some(_) => title.to_owned(),
                        None => reason.to_owned(),
                    },
                    message: details.unwrap_or(title).to_owned(),
                    ..ErrorEvent::default()
                };
                emitter.add_as(&format!("{}:error", message.id), &place, error);
                Some("failed")
            }
            _ => Some("completed"),
        }
    }

    /// The turn is over where its last message is, and no call waits.
    pub(super) fn end_where_over(&mut self, emitter: &mut Emitter) {
        if self.ending.is_some() && !self.run.track.waits() {
            self.close(emitter);
        }
    }

    /// The turn is over, since its last message.
    pub(super) fn close(&mut self, emitter: &mut Emitter) {
        let now_ms = emitter.time_ms;
        let (outcome, at_ms) = match self.ending.take() {
            Some(ending) => (ending.outcome, Some(ending.at_ms)),
            None => ("interrupted", self.worked_ms),
        };
        // A result may have come behind it.
        emitter.time_ms = at_ms.max(self.worked_ms).unwrap_or(now_ms);
        self.asks.expire(emitter);
        self.run.close(emitter, ended(outcome));
        self.calls_more = false;
        emitter.time_ms = now_ms;
    }
}
