//! What rows a batch of events makes. Nothing is asked and nothing is written here: the same batch makes the same rows.
//!
//! | event | makes |
//! |---|---|
//! | `tool_call`, `tool_result` | one row a call: see `calls` |
//! | `turn_end`, `interrupt`, `session_end` | calls without a result run no more |
//! | `file_edit` | a row of `file_changes`, without its diff |
//! | `error` | a row of `errors` |
//! | `retract` | the rows of the events that it names go |

use std::collections::{BTreeSet, HashSet};
use std::time::SystemTime;

use chat_event::payload::{ErrorEvent, FileEdit};
use chat_event::{ChatEvent, Json, Payload};

use super::calls::{Call, Calls};
use super::values::{count, key, some_text, text, text_of_bytes, time};

/// Longer ones are paths of no system.
const PATH_CHARS: usize = 4096;
const MESSAGE_CHARS: usize = 2000;
/// A few words: types of changes, codes of errors.
const WORD_CHARS: usize = 100;
/// What a viewer shows before it asks for the whole diff.
const PREVIEW_BYTES: usize = 5 * 1024;

/// The rows of a batch, and what it changes in those of earlier ones.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Rows {
    /// Events of earlier batches that are taken back; first of all.
    pub(super) retracted: BTreeSet<String>,
    pub(super) calls: Calls,
    /// After the calls.
    pub(super) closings: Vec<Closing>,
    pub(super) changes: Vec<Change>,
    pub(super) errors: Vec<Failure>,
}

/// Calls before the number `seq` that have no result by then have none; a result that comes later still counts.
#[derive(Debug, PartialEq)]
pub(super) struct Closing {
    pub(super) seq: i64,
    /// Those of all turns.
    pub(super) is_of_all: bool,
    pub(super) turn: Option<String>,
    /// `interrupted` or `no_result`.
    pub(super) status: &'static str,
}

/// A row of `file_changes`.
#[derive(Debug, PartialEq)]
pub(super) struct Change {
    pub(super) seq: i64,
    pub(super) event_id: String,
    pub(super) tool_call_id: Option<String>,
    pub(super) path: String,
    pub(super) old_path: Option<String>,
    pub(super) change: String,
    pub(super) added: i64,
    pub(super) removed: i64,
    pub(super) is_binary: bool,
    pub(super) diff_bytes: i64,
    pub(super) diff_preview: String,
    pub(super) at: SystemTime,
    pub(super) stored_at: SystemTime,
}

/// A row of `errors`.
#[derive(Debug, PartialEq)]
pub(super) struct Failure {
    pub(super) seq: i64,
    pub(super) event_id: String,
    pub(super) turn: Option<String>,
    pub(super) code: String,
    pub(super) message: String,
    pub(super) retryable: Option<bool>,
    pub(super) attempt: Option<i64>,
    pub(super) at: SystemTime,
    pub(super) stored_at: SystemTime,
}

/// What all rows have of their event.
#[derive(Debug)]
pub(super) struct Origin {
    pub(super) seq: i64,
    pub(super) event_id: String,
    pub(super) turn: Option<String>,
    /// The event's own time, or when it was stored.
    pub(super) at: SystemTime,
    pub(super) stored_at: SystemTime,
}

impl Rows {
    /// The rows of these numbers and lines. What was stored before `kept_since` makes none; `now` is for those that do not say
    /// when they were stored.
    pub(super) fn of(lines: &[(u64, String)], kept_since: SystemTime, now: SystemTime) -> Rows {
        let mut rows = Rows::default();
        for (seq, line) in lines {
            // What is no event is in the log as it is, and nothing can be said of it here.
            let Ok(event) = ChatEvent::from_json(line) else {
                continue;
            };
            let origin = Origin::of(*seq, &event, now);
            if origin.stored_at >= kept_since {
                rows.take(&event, origin);
            }
        }
        rows
    }

    fn take(&mut self, event: &ChatEvent, origin: Origin) {
        match &event.payload {
            Payload::ToolCall(call) => {
                let parent = event.parent_tool_call_id.as_deref();
                self.calls.called(call, parent, origin);
            }
            Payload::ToolResult(result) => self.calls.settled(result, origin),
            Payload::TurnEnd(end) => {
                let was_stopped = end.outcome.as_deref() == Some("interrupted");
                self.close(origin, was_stopped, false);
            }
            // A sub-agent that is stopped stops nothing beside it.
            Payload::Interrupt(_) if event.parent_tool_call_id.is_none() => {
                self.close(origin, true, false);
            }
            Payload::SessionEnd(_) => self.close(origin, false, true),
            Payload::FileEdit(edit) => self.changes.push(Change::of(edit, origin)),
            Payload::ErrorEvent(error) => self.errors.push(Failure::of(error, origin)),
            Payload::Retract(retract) => self.take_back(&retract.event_ids),
            _ => {}
        }
    }

    /// Of those that close the same calls the first says how, the last which.
    fn close(&mut self, origin: Origin, was_stopped: bool, is_of_all: bool) {
        let (turn, seq) = (origin.turn, origin.seq);
        let status = if was_stopped {
            "interrupted"
        } else {
            "no_result"
        };
        let mut known = self.closings.iter_mut();
        let same = known.find(|it| it.is_of_all == is_of_all && (is_of_all || it.turn == turn));
        match same {
            Some(closing) => closing.seq = seq,
            None => self.closings.push(Closing {
                seq,
                is_of_all,
                turn,
                status,
            }),
        }
    }

    fn take_back(&mut self, event_ids: &[String]) {
        // Events without an id are no one's to name.
        let ids = event_ids.iter().filter(|id| !id.is_empty());
        let ids: HashSet<String> = ids.map(|id| key(id)).collect();
        self.calls.take_back(&ids);
        self.changes.retain(|row| !ids.contains(&row.event_id));
        self.errors.retain(|row| !ids.contains(&row.event_id));
        self.retracted.extend(ids);
    }

    /// The calls, so that of each statement's each has another id.
    pub(super) fn waves(&self) -> Vec<Vec<&Call>> {
        self.calls.waves()
    }
}

impl Origin {
    fn of(seq: u64, event: &ChatEvent, now: SystemTime) -> Origin {
        let stored_at = time(event.recv).or_else(|| time(event.timestamp));
        let stored_at = stored_at.unwrap_or(now);
        Origin {
            seq: count(seq),
            event_id: key(&event.id),
            turn: event.turn_id.as_deref().map(key),
            at: time(event.timestamp).unwrap_or(stored_at),
            stored_at,
        }
    }
}

impl Change {
    fn of(edit: &FileEdit, origin: Origin) -> Change {
        let call = Some(&*edit.tool_call_id).filter(|id| !id.is_empty());
        Change {
            seq: origin.seq,
            event_id: origin.event_id,
            tool_call_id: call.map(key),
            path: text(&edit.file_path, PATH_CHARS),
            old_path: some_text(edit.old_path.as_deref(), PATH_CHARS),
            change: text(&edit.change_type, WORD_CHARS),
            added: i64::from(edit.lines_added),
            removed: i64::from(edit.lines_removed),
            is_binary: edit.binary == Some(true),
            diff_bytes: count(edit.full_diff_size),
            diff_preview: text_of_bytes(&edit.diff_preview.read(), PREVIEW_BYTES),
            at: origin.at,
            stored_at: origin.stored_at,
        }
    }
}

impl Failure {
    fn of(error: &ErrorEvent, origin: Origin) -> Failure {
        let said = |name: &str| error.extra.get(name);
        Failure {
            seq: origin.seq,
            event_id: origin.event_id,
            turn: origin.turn,
            code: text(&error.code, WORD_CHARS),
            message: text(&error.message, MESSAGE_CHARS),
            retryable: said("retryable").and_then(Json::parse),
            attempt: said("attempt").and_then(Json::parse).map(count),
            at: origin.at,
            stored_at: origin.stored_at,
        }
    }
}

#[cfg(test)]
mod tests;
