//! Tool calls, put together from their events by `toolCallId`.
//!
//! The first result of a call counts; one that says that it goes on in the background is none. A call that is told again is
//! the same one, but where it was done and its turn is another: some sources count their calls anew in each turn. The same
//! is said in `sql/calls.sql` of calls whose rows are there already.

use std::collections::{HashMap, HashSet};
use std::time::SystemTime;

use chat_event::payload::{ToolCall, ToolError, ToolResult};

use super::rows::Origin;
use super::values::{duration_ms, key, line, some_text, text};

/// Names of tools, and kinds.
const NAME_CHARS: usize = 200;
/// A result in one line.
const SUMMARY_CHARS: usize = 500;

/// What a batch says of calls, in the order in which they are first spoken of.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Calls {
    all: Vec<Call>,
    /// Of each id the last.
    last: HashMap<String, usize>,
}

/// What a batch says of one call: that it was made, what came of it, or both.
#[derive(Debug, PartialEq)]
pub(super) struct Call {
    pub(super) tool_call_id: String,
    /// The number of the first event that speaks of it, and so of its row.
    pub(super) seq: i64,
    pub(super) turn: Option<String>,
    pub(super) made: Option<Made>,
    pub(super) outcome: Option<Outcome>,
    /// When it was made, or where that is not known, was done.
    pub(super) at: SystemTime,
    pub(super) stored_at: SystemTime,
}

/// That it was made.
#[derive(Debug, PartialEq)]
pub(super) struct Made {
    pub(super) event_id: String,
    pub(super) parent: Option<String>,
    pub(super) name: String,
    pub(super) kind: Option<String>,
}

/// What came of it.
#[derive(Debug, PartialEq)]
pub(super) struct Outcome {
    pub(super) seq: i64,
    pub(super) event_id: String,
    /// `completed`, `failed`, `denied`, `interrupted` or `no_result`.
    pub(super) status: &'static str,
    pub(super) at: SystemTime,
    /// As its source says, or as long as it was between the two events.
    pub(super) duration_ms: Option<i64>,
    pub(super) summary: String,
    pub(super) exit_code: Option<i64>,
    pub(super) error_code: Option<String>,
}

impl Calls {
    pub(super) fn called(&mut self, call: &ToolCall, parent: Option<&str>, origin: Origin) {
        let id = key(&call.tool_call_id);
        let made = Made {
            event_id: origin.event_id,
            parent: parent.map(key),
            name: text(&call.tool_name, NAME_CHARS),
            kind: some_text(call.kind.as_deref(), NAME_CHARS),
        };
        let known = self.last(&id);
        let known = known.filter(|known| known.outcome.is_none() || known.turn == origin.turn);
        let Some(known) = known else {
            self.push(Call {
                tool_call_id: id,
                seq: origin.seq,
                turn: origin.turn,
                made: Some(made),
                outcome: None,
                at: origin.at,
                stored_at: origin.stored_at,
            });
            return;
        };
        if known.made.is_none() {
            known.at = origin.at;
        }
        known.made = Some(made);
    }

    pub(super) fn settled(&mut self, result: &ToolResult, origin: Origin) {
        if result.goes_on() {
            return;
        }
        let id = key(&result.tool_call_id);
        let known = self.last(&id);
        let made_at = known.as_ref().and_then(|known| known.made_at());
        let outcome = Outcome::of(result, &origin, made_at);
        match known {
            Some(known) => match &mut known.outcome {
                // What it says stays; the event that says so is the newest, which nobody took back.
                Some(first) => first.event_id = outcome.event_id,
                None => known.outcome = Some(outcome),
            },
            None => self.push(Call {
                tool_call_id: id,
                seq: origin.seq,
                turn: origin.turn,
                made: None,
                at: origin.at,
                stored_at: origin.stored_at,
                outcome: Some(outcome),
            }),
        }
    }

    /// Takes back what these events said.
    pub(super) fn take_back(&mut self, event_ids: &HashSet<String>) {
        for call in &mut self.all {
            let of_outcome = call.outcome.as_ref().map(|outcome| &outcome.event_id);
            if of_outcome.is_some_and(|id| event_ids.contains(id)) {
                call.outcome = None;
            }
        }
        self.all.retain(|call| match &call.made {
            Some(made) => !event_ids.contains(&made.event_id),
            None => call.outcome.is_some(),
        });
        let ids = self.all.iter().enumerate();
        self.last = ids
            .map(|(at, call)| (call.tool_call_id.clone(), at))
            .collect();
    }

    /// The first of each id, the second of each id, and so on.
    pub(super) fn waves(&self) -> Vec<Vec<&Call>> {
        let mut waves: Vec<Vec<&Call>> = Vec::new();
        let mut n_before: HashMap<&str, usize> = HashMap::new();
        for call in &self.all {
            let nth = n_before.entry(&call.tool_call_id).or_default();
            if *nth == waves.len() {
                waves.push(Vec::new());
            }
            waves[*nth].push(call);
            *nth += 1;
        }
        waves
    }

    fn last(&mut self, id: &str) -> Option<&mut Call> {
        self.all.get_mut(*self.last.get(id)?)
    }

    fn push(&mut self, call: Call) {
        self.last.insert(call.tool_call_id.clone(), self.all.len());
        self.all.push(call);
    }
}

impl Call {
    fn made_at(&self) -> Option<SystemTime> {
        self.made.as_ref().map(|_| self.at)
    }
}

impl Outcome {
    fn of(result: &ToolResult, origin: &Origin, made_at: Option<SystemTime>) -> Outcome {
        let error = result.error.as_ref();
        Outcome {
            seq: origin.seq,
            event_id: origin.event_id.clone(),
            status: status_of(error),
            at: origin.at,
            duration_ms: duration_ms(result.duration_ms, made_at, Some(origin.at)),
            summary: summary_of(result),
            exit_code: result.exit_code,
            error_code: some_text(error.and_then(|it| it.code.as_deref()), NAME_CHARS),
        }
    }
}

/// Sources, and those who read them, say also of a call without a result that it failed.
fn status_of(error: Option<&ToolError>) -> &'static str {
    match error.map(|error| error.code.as_deref()) {
        None => "completed",
        Some(Some("interrupted")) => "interrupted",
        Some(Some("no_result")) => "no_result",
        Some(Some("rejected" | "declined" | "denied")) => "denied",
        Some(_) => "failed",
    }
}

/// A result in one line: what its source says of it, else why it failed, else how it begins.
fn summary_of(result: &ToolResult) -> String {
    let told = result.summary.as_deref();
    let failure = result.error.as_ref().map(|error| &*error.message);
    let mut told = [told, failure].into_iter().flatten();
    if let Some(told) = told.find(|text| !text.trim().is_empty()) {
        return line(told, SUMMARY_CHARS);
    }
    if result.result.is_null() {
        return String::new();
    }
    match result.result.to_body() {
        Some(body) => line(&body.preview(), SUMMARY_CHARS),
        None => line(&result.result.as_text(), SUMMARY_CHARS),
    }
}
