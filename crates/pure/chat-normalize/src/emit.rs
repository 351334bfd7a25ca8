//! Events on their way out: ids, times, places and the counts of the report.
//!
//! What the events say is for the dialects; that no id stands twice in a session is seen to here (`ids`). Their times
//! are in `times`, and what could not be read is noted in `report`.

mod ids;
mod report;
mod times;

use std::collections::HashSet;

use chat_event::payload::SessionEnd;
pub(crate) use chat_event::stable_hash as hash;
use chat_event::{ChatEvent, Extra, Payload};

use crate::busy::Busy;
use crate::error_words;
use crate::open_calls::OpenCalls;
use crate::recent::{LATE_LARGE, Recent};
use crate::untold_edits::UntoldEdits;
pub(crate) use ids::{Line, clean_id, is_line_number, numbered, short_hash};
pub use report::Report;
pub(crate) use report::{count_kind, unreadable_notice};
pub use times::AT_REST;
pub(crate) use times::known_time;

/// Where an event stands: the envelope's linking ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) turn_id: Option<String>,
    pub(crate) response_id: Option<String>,
    pub(crate) agent_id: Option<String>,
    pub(crate) parent_tool_call_id: Option<String>,
}

impl Place {
    /// The same place, within another response.
    pub(crate) fn in_response(&self, response_id: &str) -> Place {
        Place {
            response_id: Some(response_id.to_owned()).filter(|id| !id.is_empty()),
            ..self.clone()
        }
    }
}

/// Collects the events of one session.
#[derive(Debug)]
pub(crate) struct Emitter {
    /// The session all events belong to.
    pub(crate) session_id: String,
    /// The line that is read now, from 1.
    pub(crate) line_no: u64,
    /// The time that the next events bear, Unix epoch in milliseconds; [`AT_REST`] where none is known.
    pub(crate) time_ms: i64,
    /// Whether what is read lies at rest.
    pub(crate) at_rest: bool,
    /// When what is read now arrived, and the last event's time with how long after it that arrived.
    arrival_ms: i64,
    last: Option<(i64, i64)>,
    /// The newest time that an event bears; [`AT_REST`] where none bears one.
    pub(crate) newest_ms: i64,
    /// When the turn began that did so the latest, by the source's times; [`AT_REST`] where none tells it.
    began_ms: i64,
    /// What was made and not yet taken.
    pub(crate) out: Vec<ChatEvent>,
    /// Counts.
    pub(crate) report: Report,
    line_id: String,
    /// What tells this run of the program from others, in ids that name lines by their numbers.
    pub(crate) run: Option<String>,
    n_of_line: u32,
    /// The line whose parts came last that no rule knows, and how many those were.
    raw_of_line: (u64, u32),
    /// Hashes of all ids of the session: what grows with it, by eight bytes an event.
    used_ids: HashSet<u64>,
    /// The last number put behind an id that came more than once, of those that came last.
    repeats: Recent<u32>,
    /// The ids of the events of lines that a later line may take back, of the last lines.
    kept_ids: Recent<Vec<String>, LATE_LARGE>,
    keeps_ids: bool,
    /// The end of the session was said.
    pub(crate) has_ended: bool,
    /// Something was told beside what frames a session of any content.
    pub(crate) has_understood: bool,
    pub(crate) busy: Busy,
    pub(crate) open_calls: OpenCalls,
    pub(crate) untold_edits: UntoldEdits,
}

impl Emitter {
    pub(crate) fn new(session_id: &str) -> Self {
        Emitter {
            session_id: session_id.to_owned(),
            line_no: 0,
            time_ms: AT_REST,
            at_rest: false,
            arrival_ms: AT_REST,
            last: None,
            newest_ms: AT_REST,
            began_ms: AT_REST,
            out: Vec::new(),
            report: Report::default(),
            line_id: "0".to_owned(),
            run: None,
            n_of_line: 0,
            raw_of_line: (0, 0),
            used_ids: HashSet::new(),
            repeats: Recent::default(),
            kept_ids: Recent::default(),
            keeps_ids: false,
            has_ended: false,
            has_understood: false,
            busy: Busy::default(),
            open_calls: OpenCalls::default(),
            untold_edits: UntoldEdits::default(),
        }
    }

    /// That of another session of the same source.
    pub(crate) fn beside(&self, session_id: &str) -> Emitter {
        let mut other = Emitter::new(session_id);
        other.run.clone_from(&self.run);
        other.untold_edits.is_off = self.untold_edits.is_off;
        other
    }

    /// The source goes on in the session of `other`.
    pub(crate) fn hand_on(&mut self, other: &mut Emitter) {
        other.line_no = self.line_no;
        other.raw_of_line = self.raw_of_line;
        other.time_ms = self.time_ms;
        other.at_rest = self.at_rest;
        other.arrival_ms = self.arrival_ms;
        other.out = std::mem::take(&mut self.out);
        other.report = std::mem::take(&mut self.report);
        other.has_understood = self.has_understood;
    }

    /// The session is at its end, and the source goes on in this one.
    pub(crate) fn go_on_in(&mut self, session_id: &str) {
        let mut other = self.beside(session_id);
        self.hand_on(&mut other);
        other.last = self.last;
        *self = other;
    }

    /// Whether something of this session was told.
    pub(crate) fn has_told(&self) -> bool {
        !self.used_ids.is_empty()
    }

    /// Adds an event whose id is that of the line and `tag`.
    pub(crate) fn add(
        &mut self,
        tag: &str,
        place: &Place,
        payload: impl Into<Payload>,
    ) -> &mut ChatEvent {
        let id = if tag.is_empty() {
            self.line_id.clone()
        } else {
            format!("{}:{tag}", self.line_id)
        };
        self.add_as(&id, place, payload)
    }

    /// Adds an event with an id of its own; where it was used before, a number is put behind it.
    pub(crate) fn add_as(
        &mut self,
        id: &str,
        place: &Place,
        payload: impl Into<Payload>,
    ) -> &mut ChatEvent {
        let mut payload = payload.into();
        if let Payload::ErrorEvent(error) = &mut payload {
            error_words::put_in_words(error);
        }
        if let Payload::ToolResult(result) = &mut payload {
            self.open_calls.fail_by_exit_code(result);
        }
        self.note_edits(&payload, place);
        if let Some(status) = self.busy.before(&payload, place) {
            let line_id = format!("{}:status", self.line_id);
            self.say_busy(status, &line_id, place);
        }
        let after = self.busy.after(&payload, place);
        self.open_calls.note(&payload, place);
        let id = self.unused(id);
        let mut event = ChatEvent::new(id, self.time_ms, self.session_id.clone(), payload);
        event.timestamp = known_time(self.time_ms);
        event.turn_id.clone_from(&place.turn_id);
        event.response_id.clone_from(&place.response_id);
        event.agent_id.clone_from(&place.agent_id);
        event
            .parent_tool_call_id
            .clone_from(&place.parent_tool_call_id);
        self.note_order(&mut event);
        let at = self.out.len();
        self.push(event);
        if let Some(status) = after {
            let turn = place.turn_id.clone().unwrap_or_default();
            self.say_busy(status, &turn, place);
        }
        &mut self.out[at]
    }

    /// Adds an event as it is.
    pub(crate) fn push(&mut self, event: ChatEvent) -> &mut ChatEvent {
        self.report.events += 1;
        self.has_ended |= matches!(event.payload, Payload::SessionEnd(_));
        self.has_understood |= !matches!(
            event.payload,
            Payload::Raw(_)
                | Payload::Notice(_)
                | Payload::SessionStart(_)
                | Payload::SessionStatus(_)
                | Payload::SessionEnd(_)
                | Payload::TurnStart(_)
                | Payload::TurnEnd(_)
        );
        self.newest_ms = event
            .timestamp
            .map_or(self.newest_ms, |time_ms| self.newest_ms.max(time_ms));
        if self.at_rest {
            self.time_ms = event.timestamp.unwrap_or(self.time_ms);
        } else if let Some(time_ms) = event.timestamp {
            self.last = Some((time_ms, self.arrival_ms.saturating_sub(time_ms)));
        }
        let at = self.out.len();
        self.out.push(event);
        &mut self.out[at]
    }

    /// The output of the program that works on the session is at its end; `cut_off`, in the middle of a turn.
    pub(crate) fn end_of_stream(&mut self, cut_off: bool) {
        self.end_of_session(if cut_off {
            "the stream stopped before the turn was over"
        } else {
            "end of stream"
        });
    }

    /// What the program wrote down of the session is at its end.
    pub(crate) fn end_of_file(&mut self) {
        self.end_of_session("end of file");
    }

    /// The session goes on no more.
    fn end_of_session(&mut self, reason: &str) {
        let end = SessionEnd {
            reason: reason.to_owned(),
            extra: Extra::default(),
        };
        self.add("session-end", &Place::default(), end);
    }
}

/// The first `max_bytes` of `text`, cut on a character.
pub(crate) fn cut(text: &str, max_bytes: usize) -> &str {
    if text.len() <= max_bytes {
        return text;
    }
    let mut end = max_bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
