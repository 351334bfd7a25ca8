//! What a session waits for and what it does now, kept as its events come: for the list, where nobody reads the log.
//!
//! Bounded whatever the log says: what is beyond the bounds is not told of. How it is worded is for who shows it.

mod asks;
mod background;
mod whole;

use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};

use chat_event::payload::{PermissionOption, QuestionOption, ToolCall};
use chat_event::shell::script_of;
use chat_event::{ChatEvent, Payload, SetBack, Took};
use serde::{Deserialize, Serialize};

use crate::blobs::sha256_hex;
use asks::{object_of, of_permission, of_question};
use background::Left;

pub(crate) use asks::one_line;

/// Requests and calls that are kept at once, each: far beyond what one agent has open.
const MOST_OPEN: usize = 64;

/// A text longer than this is cut: a list has one line for it.
const TEXT_CHARS: usize = 120;

/// A name of a turn, a call or a request is kept up to this length, in bytes; the server takes in no longer one, but a log
/// may have it.
const NAME_BYTES: usize = 1024;

/// The first request that waits for an answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ask {
    /// `permission` or `question`.
    pub kind: String,
    /// The tool that a permission is asked for.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub tool: String,
    /// The command, path or question; one line.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub text: String,
    /// Since when it waits, Unix epoch in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub since_ms: Option<i64>,
    /// `false` where it is answered where the agent runs, and nowhere else.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answerable: Option<bool>,
    /// What it can be answered by, where all that is asked is told here.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub whole: Option<Whole>,
}

/// A request of which the list has room for all: nobody has to look further to answer it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Whole {
    /// Its id.
    pub request_id: String,
    /// The answers to a permission, as the source told them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub permit: Vec<PermissionOption>,
    /// The answers to a question, one of which is chosen.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub choose: Vec<QuestionOption>,
}

/// The newest tool call that runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Doing {
    /// The tool.
    pub tool: String,
    /// The command, path or pattern; one line.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub object: String,
    /// Since when it runs, Unix epoch in milliseconds: where it had to wait for an answer, since that came.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub since_ms: Option<i64>,
}

/// What is open. It goes with the summary: who keeps one of the two over a restart keeps both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Now {
    asks: VecDeque<Open<Ask>>,
    calls: VecDeque<Open<Doing>>,
    /// Answers whose requests have not come: either half may be first.
    early: VecDeque<(String, String)>,
    /// Calls that left something to the background which goes on.
    #[serde(skip_serializing_if = "VecDeque::is_empty", default)]
    background: VecDeque<Left>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Open<T> {
    id: String,
    /// Its id in another source that tells of the same.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    also: Option<String>,
    turn_id: Option<String>,
    /// Of what is asked: the call that has to wait for the answer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    call_id: Option<String>,
    /// The call whose sub-agent it is of.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    around: Option<String>,
    what: T,
}

impl Now {
    /// Takes the next event of the log, and what it was to how the session stands.
    pub(crate) fn take(&mut self, event: &ChatEvent, took: Took) {
        if took.works && event.turn_id.is_some() {
            self.turns_before_are_over(event);
        }
        match &event.payload {
            Payload::PermissionRequest(request) => {
                let call_id = request.tool_call_id.as_ref();
                self.ask(event, &request.request_id, call_id, of_permission(request));
            }
            Payload::QuestionRequest(request) => {
                let call_id = request.tool_call_id.as_ref();
                self.ask(event, &request.request_id, call_id, of_question(request));
            }
            Payload::PermissionResolved(resolved) => {
                self.answer(event, "permission", &resolved.request_id);
            }
            Payload::QuestionResolved(resolved) => {
                self.answer(event, "question", &resolved.request_id);
            }
            Payload::ToolCall(call) if !took.is_past => self.call(event, call),
            Payload::ToolResult(result) => {
                let id = kept_name(&result.tool_call_id);
                match result.goes_on() {
                    true => self.goes_to_background(&id, event),
                    false => self.is_over(&id),
                }
                self.calls.retain(|call| call.id != id);
                // As in the feed: nothing waits for a call that is done, though its answer may still come to be known.
                if !result.is_empty_handed() {
                    self.asks.retain(|ask| ask.call_id.as_deref() != Some(&*id));
                }
            }
            // A sub-agent that fails or is stopped leaves those beside it as they are.
            Payload::ErrorEvent(_) | Payload::Interrupt(_)
                if event.parent_tool_call_id.is_some() =>
            {
                let host = around_of(event).unwrap_or_default();
                self.is_over_within(&host);
            }
            Payload::TurnEnd(_) | Payload::Interrupt(_) | Payload::ErrorEvent(_)
                if took.is_past && event.turn_id.is_none() => {}
            // Nothing of a turn runs or waits behind its end; without its name, nothing at all does.
            Payload::TurnEnd(_) | Payload::Interrupt(_) | Payload::ErrorEvent(_) => {
                let turn_id = turn_of(event);
                // Who asks for no turn, as a hook does, and is answered here waits on, whatever turn ends.
                self.turns_are_over(&|of, is_free| {
                    let is_of_it = turn_id.is_none() || of.is_none() || *of == turn_id;
                    is_of_it && !(is_free && turn_id.is_some())
                });
            }
            Payload::Notice(notice) => self.turns_are_undone(&SetBack::undone_by(notice)),
            // The end of an earlier run, or of a sub-agent's session, ends nothing of this one.
            Payload::SessionEnd(_) if took.is_past || event.parent_tool_call_id.is_some() => {}
            Payload::SessionEnd(_) => {
                self.asks.clear();
                self.calls.clear();
                self.early.clear();
                self.background.clear();
            }
            _ => {}
        }
    }

    /// As in the feed: nothing of another turn runs or waits behind the work of this one.
    fn turns_before_are_over(&mut self, event: &ChatEvent) {
        if self.asks.is_empty() && self.calls.is_empty() && self.background.is_empty() {
            return;
        }
        let turn_id = turn_of(event);
        self.turns_are_over(&|of, _| of.is_some() && *of != turn_id);
    }

    /// As in the feed: nothing of turns that the user went back behind runs or waits, though their end was not told.
    fn turns_are_undone(&mut self, ids: &[String]) {
        if ids.is_empty() {
            return;
        }
        let undone: BTreeSet<_> = ids.iter().map(|id| kept_name(id)).collect();
        self.turns_are_over(&|of, _| of.as_deref().is_some_and(|of| undone.contains(of)));
    }

    /// How many requests wait.
    pub(crate) fn n_asks(&self) -> usize {
        self.asks.len()
    }

    /// The one that waits longest.
    pub(crate) fn first_ask(&self) -> Option<Ask> {
        self.asks.front().map(|ask| ask.what.clone())
    }

    /// The newest call that runs.
    pub(crate) fn doing(&self) -> Option<Doing> {
        self.calls.back().map(|call| call.what.clone())
    }

    fn ask(&mut self, event: &ChatEvent, id: &str, call_id: Option<&String>, mut what: Ask) {
        let id = &*kept_name(id);
        let call_id = || call_id.map(|id| kept_name(id).into_owned());
        let is = |open: &Open<Ask>| open.id == id && open.what.kind == what.kind;
        let was_answered = self
            .early
            .iter()
            .any(|(kind, early)| *kind == what.kind && early == id);
        if was_answered || self.asks.iter().any(is) || self.asks.len() >= MOST_OPEN {
            return;
        }
        // A hook asks here what its agent's own log tells of as answered elsewhere: that is one request, which is answered here.
        let is_here = what.answerable != Some(false);
        let is_same = |open: &&mut Open<Ask>| {
            let (before, is_before_here) = (&open.what, open.what.answerable != Some(false));
            open.also.is_none()
                && is_here != is_before_here
                && (&before.kind, &before.tool, &before.text)
                    == (&what.kind, &what.tool, &what.text)
        };
        if let Some(before) = self.asks.iter_mut().find(is_same) {
            let mut other = id.to_owned();
            if is_here {
                std::mem::swap(&mut before.id, &mut other);
                before.turn_id = turn_of(event);
                before.what.answerable = what.answerable;
                before.what.whole = what.whole.take();
            }
            before.also = Some(other);
            before.call_id = before.call_id.take().or_else(call_id);
            return;
        }
        what.since_ms = event.timestamp;
        self.asks.push_back(Open {
            id: id.to_owned(),
            also: None,
            turn_id: turn_of(event),
            call_id: call_id(),
            around: around_of(event),
            what,
        });
    }

    fn answer(&mut self, event: &ChatEvent, kind: &str, id: &str) {
        let id = &*kept_name(id);
        let n_before = self.asks.len();
        let calls = &mut self.calls;
        self.asks.retain(|ask| {
            let is_other =
                (ask.id != id && ask.also.as_deref() != Some(id)) || ask.what.kind != kind;
            let waited = calls.iter_mut().filter(|_| !is_other);
            // It ran no moment before: as in the feed, its time is from the answer on.
            for call in waited.filter(|call| Some(&call.id) == ask.call_id.as_ref()) {
                call.what.since_ms = call.what.since_ms.max(event.timestamp);
            }
            is_other
        });
        if self.asks.len() == n_before {
            if self.early.len() >= MOST_OPEN {
                self.early.pop_front();
            }
            self.early.push_back((kind.to_owned(), id.to_owned()));
        }
    }

    fn call(&mut self, event: &ChatEvent, call: &ToolCall) {
        let id = kept_name(&call.tool_call_id);
        if self.calls.iter().any(|open| open.id == id) {
            return;
        }
        if self.calls.len() >= MOST_OPEN {
            self.calls.pop_front();
        }
        let object = object_of(&call.args).map(|object| script_of(&object).into_owned());
        let object = object.or_else(|| call.title.clone());
        self.calls.push_back(Open {
            id: id.into_owned(),
            also: None,
            turn_id: turn_of(event),
            call_id: None,
            around: around_of(event),
            what: Doing {
                tool: one_line(&call.tool_name),
                object: one_line(&object.unwrap_or_default()),
                since_ms: event.timestamp,
            },
        });
    }
}

/// The name of the event's turn, as it is kept.
fn turn_of(event: &ChatEvent) -> Option<String> {
    let name = event.turn_id.as_deref();
    name.map(|name| kept_name(name).into_owned())
}

/// The call whose sub-agent says it, as it is kept.
fn around_of(event: &ChatEvent) -> Option<String> {
    let name = event.parent_tool_call_id.as_deref();
    name.map(|name| kept_name(name).into_owned())
}

/// A name as it is kept: itself, or what one that is too long is known by.
pub(crate) fn kept_name(name: &str) -> Cow<'_, str> {
    match name.len() <= NAME_BYTES {
        true => name.into(),
        false => sha256_hex(name.as_bytes()).into(),
    }
}
