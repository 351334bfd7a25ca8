//! What a session waits for and what it does now, kept as its events come: for the list, where nobody reads the log.
//!
//! Bounded whatever the log says: what is beyond the bounds is not told of. How it is worded is for who shows it.

mod asks;
mod calls;
mod open;
mod requests;
mod turns;
mod whole;

use std::borrow::Cow;
use std::collections::VecDeque;

use chat_event::payload::{PermissionOption, QuestionOption};
use chat_event::{ChatEvent, Payload, SetBack, Took};
use serde::{Deserialize, Serialize};

use crate::blobs::sha256_hex;
use calls::Call;
use requests::Request;
use turns::{Turns, name_of};

pub(crate) use asks::one_line;

/// Requests and calls that are kept at once, each: far beyond what one agent has open.
const MOST_OPEN: usize = 64;

/// And so many that are done, the newest: what is told of them again, or late, opens nothing. Each is a fifth of a kilobyte.
const MOST_DONE: usize = 8;

/// Events that told of one of them.
const MOST_TELLERS: usize = 8;

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

/// What is open, and what was lately: by the rules of the feed, which shows the same to who reads. It goes with the summary: who
/// keeps one of the two over a restart keeps both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Now {
    n_rows: u32,
    turns: Turns,
    calls: VecDeque<Call>,
    asks: VecDeque<Request>,
    has_begun: bool,
    has_ended: bool,
}

impl Now {
    /// Takes the next event of the log, and what it was to how the session stands.
    pub(crate) fn take(&mut self, event: &ChatEvent, took: Took) {
        let is_main = event.parent_tool_call_id.is_none();
        match &event.payload {
            Payload::AssistantChunk(_)
            | Payload::AssistantDone(_)
            | Payload::ThinkingChunk(_)
            | Payload::ThinkingDone(_)
            | Payload::ToolCall(_)
                if is_main =>
            {
                self.work_begins(event, took.works);
            }
            _ => {}
        }
        self.take_payload(event, took, is_main);
        self.note_time(event);
    }

    fn take_payload(&mut self, event: &ChatEvent, took: Took, is_main: bool) {
        match &event.payload {
            _ if event.is_control() => {}
            Payload::TurnStart(start) => self.turn_starts(event, start),
            Payload::UserMessage(_) | Payload::UserAudio(_) if is_main => self.is_prompted(event),
            Payload::PermissionRequest(request) => self.permission(event, request),
            Payload::QuestionRequest(request) => self.question(event, request),
            Payload::PermissionResolved(told) => self.permission_is_resolved(event, told),
            Payload::QuestionResolved(told) => self.question_is_resolved(event, told),
            Payload::ToolCall(call) => self.call(event, call, took.is_past),
            Payload::ToolInputChunk(chunk) => self.call_is_written(event, &chunk.tool_call_id),
            Payload::ToolOutputChunk(chunk) => {
                let place = self.place(event);
                self.call_or_placeholder(name_of(&chunk.tool_call_id), place);
            }
            Payload::ToolResult(result) => self.result(event, result),
            Payload::TurnEnd(_) => {
                let turn = self.turn_of(event);
                self.end_of_unnamed(event);
                self.turn_is_over(turn);
            }
            Payload::ErrorEvent(_) | Payload::Interrupt(_) => {
                let place = self.place(event);
                match place.within {
                    // A sub-agent that fails or is stopped leaves those beside it as they are.
                    Some(_) => self.settle_within(place),
                    None => {
                        self.settle(place.turn);
                        self.end_of_unnamed(event);
                    }
                }
            }
            Payload::Notice(notice) => {
                self.place(event);
                self.turns_are_undone(&SetBack::undone_by(notice));
            }
            Payload::SessionStart(_) => {
                let is_told = is_main && self.has_begun && (took.is_past || !self.has_ended);
                if !is_told {
                    self.place(event);
                }
                if is_main {
                    self.has_begun = true;
                    self.has_ended &= took.is_past;
                }
            }
            // The end of an earlier run, or of a sub-agent's session, ends nothing of this one.
            Payload::SessionEnd(_) if took.is_past || !is_main => {
                self.place(event);
            }
            Payload::SessionEnd(_) => {
                self.all_turns_are_over();
                self.has_ended = true;
                self.place(event);
                self.all_turns_are_over();
            }
            // What was used may be of no turn, and what a provider is doing is.
            Payload::Usage(usage) if usage.scope == "session" || !is_main => {}
            Payload::SessionStatus(told) if told.status != "retrying" => {}
            Payload::Retract(retract) => {
                for event_id in &retract.event_ids {
                    self.is_taken_back(event_id, event.timestamp);
                }
            }
            _ => {
                self.place(event);
            }
        }
    }

    /// An end that names no turn is the end of all that names none.
    fn end_of_unnamed(&mut self, event: &ChatEvent) {
        if event.turn_id.is_none() {
            self.expire_free();
        }
    }

    /// How many requests wait.
    pub(crate) fn n_asks(&self) -> usize {
        self.asks.iter().filter(|ask| ask.is_open).count()
    }

    /// The one that waits longest.
    pub(crate) fn first_ask(&self) -> Option<Ask> {
        self.asks.iter().find(|ask| ask.is_open)?.what()
    }

    /// The newest call that runs.
    pub(crate) fn doing(&self) -> Option<Doing> {
        let mut calls = self.calls.iter().rev();
        let runs = |call: &&Call| call.runs && !call.is_gone && call.what.is_some();
        calls.find(runs)?.doing()
    }

    /// The number of the next row: what came first has the lowest.
    fn next_row(&mut self) -> u32 {
        self.n_rows = self.n_rows.saturating_add(1);
        self.n_rows
    }
}

/// Keeps who told something, in case it is taken back.
fn note_teller(told_by: &mut Vec<u64>, event: &ChatEvent) {
    if event.id.is_empty() {
        return;
    }
    if told_by.len() >= MOST_TELLERS {
        told_by.remove(0);
    }
    told_by.push(name_of(&event.id));
}

/// A name as it is kept: itself, or what one that is too long is known by.
pub(crate) fn kept_name(name: &str) -> Cow<'_, str> {
    match name.len() <= NAME_BYTES {
        true => name.into(),
        false => sha256_hex(name.as_bytes()).into(),
    }
}
