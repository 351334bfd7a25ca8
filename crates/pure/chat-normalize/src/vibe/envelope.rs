//! How a session stands: its title and its tokens, and how its newest turn stands.
//!
//! | `latestTurn.status` | what it means |
//! |---|---|
//! | `in_progress` | it goes on |
//! | `completed` | it is over; `stopReason` says that it was cut short |
//! | `failed` | it failed, for this error |
//! | `interrupted` | somebody stopped it |

use chat_event::Json;
use chat_event::payload::{ErrorEvent, SessionStart, Usage};
use serde_json::{Map, Value};

use super::FORMAT;
use super::talk::{Talk, updated_ms};
use crate::emit::{Emitter, Place, short_hash};
use crate::value::{count_of, list_of, millis, str_of, text_of};

/// Tokens as they were told last: of the whole session, and in the context.
pub(super) type Used = (u64, u64, u64, u64);

impl Talk {
    pub(super) fn envelope(&mut self, emitter: &mut Emitter, state: &Value) {
        let session = state.get("session").unwrap_or(&Value::Null);
        self.run.at(emitter, updated_ms(session));
        self.titled(emitter, text_of(session, "title"));
        self.belongs(emitter, text_of(session, "parentSessionId"));
        for asked in list_of(state, "activeCallbacks") {
            if asked.is_object() {
                self.asked(emitter, asked);
            }
        }
        self.used(emitter, session);
        let turn = state.get("latestTurn").unwrap_or(&Value::Null);
        if turn.is_object() {
            self.stands(emitter, turn);
        }
    }

    pub(super) fn titled(&mut self, emitter: &mut Emitter, title: Option<&str>) {
        let Some(title) = title else { return };
        let facts = SessionStart {
            title: Some(title.to_owned()),
            ..SessionStart::default()
        };
        emitter.begin_line(Some(&format!("title-{}", short_hash(title))));
        self.run.facts(emitter, facts, Map::new());
    }

    /// Another session started this one.
    fn belongs(&mut self, emitter: &mut Emitter, parent: Option<&str>) {
        let Some(parent) = parent else { return };
        let mut rest = Map::new();
        rest.insert("parentSession".to_owned(), parent.into());
        emitter.begin_line(Some("parent"));
        self.run.facts(emitter, SessionStart::default(), rest);
    }

    /// What the session used, where that is news.
    fn used(&mut self, emitter: &mut Emitter, session: &Value) {
        let Some(told) = session.get("tokenUsage").filter(|told| told.is_object()) else {
            return;
        };
        let count = |of: &Value, key: &str| count_of(of, key).unwrap_or(0);
        // What came from the cache is among what was sent.
        let cached = count(told, "cachedInputTokens");
        let sent = count(told, "inputTokens").saturating_sub(cached);
        let context = session.get("contextUsage").unwrap_or(&Value::Null);
        let used = (
            sent,
            cached,
            count(told, "outputTokens"),
            count(context, "totalTokens"),
        );
        if self.used.replace(used) == Some(used) {
            return;
        }
        let usage = Usage {
            scope: "session".to_owned(),
            cumulative: Some(true),
            input_tokens: sent,
            cache_read_tokens: Some(cached),
            output_tokens: used.2,
            context_used: Some(used.3).filter(|used| *used > 0),
            ..Usage::default()
        };
        let id = format!("used-{}", short_hash(&format!("{used:?}")));
        emitter.add_as(&id, &Place::default(), usage);
    }

    /// How the newest turn stands.
    fn stands(&mut self, emitter: &mut Emitter, turn: &Value) {
        let id = str_of(turn, "id").unwrap_or("");
        let status = str_of(turn, "status").unwrap_or("");
        if status == "in_progress" || !self.has_open(id) {
            return;
        }
        let place = self.place();
        let own = place.turn_id.clone().unwrap_or_default();
        self.run
            .at(emitter, turn.get("completedAt").and_then(millis));
        let outcome = match status {
            "failed" => {
                let told = turn.get("error").unwrap_or(&Value::Null);
                let mut error = ErrorEvent {
                    code: text_of(told, "code").unwrap_or("error").to_owned(),
                    message: text_of(told, "message").unwrap_or("it failed").to_owned(),
                    ..ErrorEvent::default()
                };
                if let Some(details) = told.get("details").filter(|it| !it.is_null()) {
                    error.extra.insert("details", Json::from(details));
                }
                emitter.add_as(&format!("{own}:error"), &place, error);
                "failed"
            }
            "interrupted" => "interrupted",
            _ => {
                if let Some(why) = text_of(turn, "stopReason") {
                    let words = match why {
                        "limit" => "the turn was stopped: it reached its limit",
                        "length" => "the answer was cut short: it reached its longest",
                        why => why,
                    };
                    emitter.begin_line(Some(&format!("{own}:stop")));
                    emitter.notice("warning", &place, FORMAT, words);
                }
                "completed"
            }
        };
        self.close(emitter, outcome);
    }
}
