//! Which rule an event goes to; there is one turn, from the first event to the last.

use chat_event::Extra;
use chat_event::payload::{ErrorEvent, Progress, SessionEnd, SessionStart, TurnEnd, TurnStart};
use serde_json::Value;

use super::FORMAT;
use super::calls::Calls;
use super::edits::file_edit;
use super::messages::Messages;
use super::names::{canonical, data_of, session_of, time_of};
use crate::dialect::Normalizer;
use crate::emit::{Emitter, Place};
use crate::value::{amount_of, list_of, str_of, text_of};

/// How deep batches may hold batches.
const MAX_NESTING: usize = 4;

/// Reads these events.
#[derive(Debug, Default)]
pub(crate) struct AgentEvents {
    begun: bool,
    failed: bool,
    calls: Calls,
    messages: Messages,
}

impl AgentEvents {
    pub(crate) fn new() -> Self {
        AgentEvents::default()
    }

    fn begin(&mut self, emitter: &mut Emitter, line: &Value) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let data = data_of(line);
        let has_time = time_of(line).is_some();
        let start = SessionStart {
            native_id: session_of(line),
            provider: Some("agent-events".to_owned()),
            sandbox_id: text_of(line, "sandbox_id")
                .or_else(|| text_of(data, "sandbox_id"))
                .map(str::to_owned),
            timestamp_source: (!has_time).then(|| "arrival".to_owned()),
            ..SessionStart::default()
        };
        emitter.add("start", &Place::default(), start);
        let turn = TurnStart {
            trigger: "user".to_owned(),
            ..TurnStart::default()
        };
        emitter.add("turn", &place(), turn);
    }

    fn event(&mut self, emitter: &mut Emitter, event: &Value, tag: &str, depth: usize) {
        let kind = str_of(event, "event_type").unwrap_or("");
        let data = data_of(event);
        if let Some(time_ms) = time_of(event) {
            emitter.time_ms = time_ms;
        }
        match canonical(kind) {
            Some("tool_use") => self.calls.begun(emitter, data),
            Some(result @ ("tool_completed" | "tool_failed")) => {
                self.calls.ended(emitter, data, result == "tool_failed");
            }
            Some(change @ ("file_edited" | "file_created" | "file_deleted")) => {
                file_edit(emitter, data, change, tag);
            }
            Some("thinking_start") => self.messages.thinking_begins(data),
            Some("thinking_end") => self.messages.thinking_ends(emitter, data),
            Some("message_chunk") => self.messages.chunk(emitter, data),
            Some("message_end") => self.messages.ends(emitter, data),
            Some("step_completed") => {
                let message = text_of(data, "message").unwrap_or("a step is done");
                let progress = Progress {
                    message: message.to_owned(),
                    percent: amount_of(data, "progress_percent"),
                    ..Progress::default()
                };
                emitter.add(&tagged("progress", tag), &place(), progress);
            }
            Some("error") => {
                self.failed = true;
                let message = ["message", "error", "error_message"]
                    .iter()
                    .find_map(|key| text_of(data, key));
                let error = ErrorEvent {
                    code: text_of(data, "code").unwrap_or("error").to_owned(),
                    message: message.map_or_else(|| data.to_string(), str::to_owned),
                    extra: Extra::default(),
                };
                emitter.add(&tagged("error", tag), &place(), error);
            }
            Some("info") => {
                let text = text_of(data, "message").map_or_else(|| data.to_string(), str::to_owned);
                let level = text_of(data, "level").filter(|level| *level == "warning");
                emitter.notice(level.unwrap_or("info"), &place(), "agent", text);
            }
            Some("batch") if depth < MAX_NESTING => {
                for (at, inner) in list_of(data, "events").iter().enumerate() {
                    self.event(emitter, inner, &format!("{tag}{at}."), depth + 1);
                }
            }
            Some(_) | None => emitter.raw(&place(), FORMAT, kind, event),
        }
    }
}

impl Normalizer for AgentEvents {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        if let Some(id) = ["event_id", "id"].iter().find_map(|key| text_of(line, key)) {
            emitter.begin_line(Some(id));
        }
        self.begin(emitter, line);
        self.event(emitter, line, "", 0);
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.messages.end_all(emitter);
        let outcome = if self.calls.end_all(emitter) {
            "interrupted"
        } else if self.failed {
            "failed"
        } else {
            "completed"
        };
        if self.begun {
            let end = TurnEnd {
                outcome: Some(outcome.to_owned()),
                ..TurnEnd::default()
            };
            emitter.add("turn-end", &place(), end);
        }
        let end = SessionEnd {
            reason: "end of stream".to_owned(),
            extra: Extra::default(),
        };
        emitter.add("session-end", &Place::default(), end);
    }
}

/// All of it is one turn.
pub(super) fn place() -> Place {
    Place {
        turn_id: Some("t1".to_owned()),
        ..Place::default()
    }
}

/// A tag of an event of the line, with where it stands in a batch.
pub(super) fn tagged(stem: &str, tag: &str) -> String {
    if tag.is_empty() {
        stem.to_owned()
    } else {
        format!("{stem}:{}", tag.trim_end_matches('.'))
    }
}
