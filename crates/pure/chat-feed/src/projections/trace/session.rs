//! The trace of one session: what each event adds to it.
//!
//! Ids are kept as their hashes and texts cut to a line, so that what is kept of open calls and turns is small whatever
//! they are called.

mod lines;
mod says;
mod tell;
mod tools;
mod turns;

use std::collections::BTreeMap;

use chat_event::payload::TurnEnd;
use chat_event::{ChatEvent, Payload, Standing, Status, Took};

use super::calls::{CallPlace, CallStep, Calls, TurnNth};
use super::clean::{clean, one_line};
use super::line::{LineKind, Severity, Stream, Verbosity};
use super::turns::Turns;
use super::{Running, words};
use crate::projections::two_sources::{Told as Asking, TwoSources};
use crate::renderer::{Seen, hash};
use crate::retries::Retries;
use crate::tool::ToolStatus;

/// So many questions may wait for their answer.
const MAX_ASKS: usize = 256;

/// What waits for an answer.
#[derive(Debug)]
struct Asked {
    what: String,
    turn: Option<TurnNth>,
    /// The call that has to wait for it.
    call_id: Option<String>,
}

/// A line before it gets its session and tag.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) stream: Stream,
    pub(super) kind: LineKind,
    pub(super) severity: Severity,
    pub(super) text: String,
}

/// One session that is traced.
#[derive(Debug, Default)]
pub(super) struct SessionTrace {
    verbosity: Verbosity,
    seen: Seen,
    /// How the session stands, as everywhere else.
    standing: Standing,
    /// Nothing more was to come.
    is_finished: bool,
    turns: Turns,
    calls: Calls,
    asks: BTreeMap<u64, Asked>,
    two_sources: TwoSources,
    cwd: Option<String>,
    is_cwd_guessed: bool,
    /// What it is doing outside of turns.
    status: Option<String>,
    /// The provider is asked again, in this turn.
    retries: Option<(Option<TurnNth>, Retries)>,
    n_unknown: u64,
    newest_compaction: Option<u64>,
    /// That was taken back for another one, which says more of it.
    is_compacted_anew: bool,
    pub(super) told: Vec<Told>,
}

impl SessionTrace {
    pub(super) fn new(verbosity: Verbosity) -> Self {
        SessionTrace {
            verbosity,
            ..SessionTrace::default()
        }
    }

    /// Takes the next event.
    pub(super) fn push(&mut self, event: &ChatEvent) {
        if event.is_control() || !self.seen.is_new(event) {
            return;
        }
        self.is_finished = false;
        let took = self.standing.take(event);
        let asking = self.two_sources.take(event);
        let event = match &asking {
            Asking::Now(event) => event,
            Asking::Renamed(event) => &**event,
            Asking::Before {
                request_id,
                call_id,
            } => return self.asked_before(request_id, call_id.as_deref()),
        };
        let turn = self.turn_of(event);
        if let Some(turn) = turn.and_then(|nth| self.turns.get(nth)) {
            turn.last_ms = event.timestamp.or(turn.last_ms);
        }
        if took.works {
            self.turns.works_in(turn);
        }
        self.take(event, turn, took);
        while let Some(call) = self.calls.overflow() {
            self.tell_call(&call);
        }
        while let Some(nth) = self.turns.overflow() {
            self.end_turn(nth, &TurnEnd::default(), None);
        }
    }

    /// Nothing more will come: what runs is told as it stands.
    pub(super) fn finish(&mut self, ended: bool) {
        self.is_finished = !ended;
        self.tell_retries(None);
        let open: Vec<_> = self.turns.open().iter().map(|turn| turn.nth).collect();
        for nth in open {
            let runs = self.calls.running().any(|call| call.turn == Some(nth));
            let waits = self.asks.values().any(|ask| ask.turn == Some(nth));
            if !ended && (runs || waits) {
                self.leave_turn(nth, waits);
                continue;
            }
            if let Some(turn) = self.turns.get(nth).filter(|_| runs) {
                turn.stopped = turn.stopped.or(Some("interrupted"));
            }
            self.end_turn(nth, &TurnEnd::default(), None);
        }
        let how = match ended {
            true => ToolStatus::NoResult,
            false => ToolStatus::Running,
        };
        for call in self.calls.settle(None, how) {
            self.tell_call(&call);
        }
        self.asks.clear();
        self.status = None;
        if self.n_unknown > 0 && self.verbosity == Verbosity::Normal {
            let n = std::mem::take(&mut self.n_unknown);
            let what = if n == 1 { "record" } else { "records" };
            self.tell(
                LineKind::Notice,
                Severity::Detail,
                format!("[INFO] {n} {what} of a kind that is not known"),
            );
        }
    }

    /// The provider answered, or is asked no more.
    fn tell_retries(&mut self, to_ms: Option<i64>) {
        if let Some((turn, retries)) = self.retries.take() {
            let retried = clean(&retries.words(to_ms));
            self.notable(turn, LineKind::Notice, format!("[INFO] {retried}"));
        }
    }

    /// What goes on now, one line a call; else what the turns are at.
    pub(super) fn running(&self) -> Vec<Running<Told>> {
        // What is told late of a session that is over goes on in no terminal.
        if self.is_finished || self.standing.status() == Status::Ended {
            return Vec::new();
        }
        let line = |kind, text: String, since_ms| Running {
            line: Told {
                stream: Stream::Trace,
                kind,
                severity: Severity::Info,
                text,
            },
            since_ms,
        };
        let mut running: Vec<_> = self
            .calls
            .running()
            .map(|call| {
                let since_ms = call.block.runs_since_ms();
                line(LineKind::ToolRunning, call.line(), since_ms)
            })
            .collect();
        // What is open in a session that rests waits for somebody to go on with it.
        let open = self.turns.open().iter();
        for turn in open.filter(|turn| self.standing.works() && !turn.gave_way) {
            let busy = self.calls.running().any(|call| call.turn == Some(turn.nth));
            let doing = match (&turn.progress, busy) {
                (Some(progress), _) => progress.clone(),
                (None, true) => continue,
                (None, false) => turn.name(),
            };
            let text = format!("{} ⋯ {doing}", turn.tag());
            running.push(line(LineKind::Progress, text, turn.last_ms));
        }
        if let Some(status) = self.status.as_ref().filter(|_| self.standing.works()) {
            running.push(line(LineKind::Progress, format!("⋯ {status}"), None));
        }
        // It goes on in a turn that was told to be over, or in none.
        if running.is_empty() && self.standing.works() {
            let status = self.standing.status().as_str();
            running.push(line(LineKind::Progress, format!("⋯ {status}"), None));
        }
        running
    }

    /// The turn an event belongs to; one that is not known is opened, one that is over stays so.
    fn turn_of(&mut self, event: &ChatEvent) -> Option<TurnNth> {
        let begins = matches!(
            event.payload,
            Payload::TurnStart(_) | Payload::UserMessage(_) | Payload::UserAudio(_)
        );
        match event.turn_id.as_deref() {
            Some(id) if self.turns.has_ended(id) => None,
            Some(id) => match self.turns.by_id(id) {
                Some(nth) => Some(nth),
                None if matches!(event.payload, Payload::TurnEnd(_)) => None,
                None => Some(self.begin_turn(Some(id), event)),
            },
            None if begins && event.parent_tool_call_id.is_none() => {
                let waits = self.turns.current().is_some_and(|turn| {
                    let starts = matches!(event.payload, Payload::TurnStart(_));
                    !starts && (turn.id.is_some() || !turn.prompted)
                });
                match self.turns.current() {
                    Some(turn) if waits => Some(turn.nth),
                    _ => Some(self.begin_turn(None, event)),
                }
            }
            None => self.turns.current().map(|turn| turn.nth),
        }
    }

    /// Whether an event comes behind the end of the turn that it names.
    fn is_late(&self, event: &ChatEvent) -> bool {
        let turn = event.turn_id.as_deref();
        turn.is_some_and(|id| self.turns.has_ended(id))
    }

    /// Opens a turn. One without a name ends the one without a name before it.
    fn begin_turn(&mut self, id: Option<&str>, event: &ChatEvent) -> TurnNth {
        let before = self.turns.current().filter(|turn| turn.id.is_none());
        if let (None, Some(before)) = (id, before.map(|turn| turn.nth)) {
            self.end_turn(before, &TurnEnd::default(), None);
        }
        self.turns.begin(id, event.timestamp)
    }

    fn take(&mut self, event: &ChatEvent, turn: Option<TurnNth>, took: Took) {
        let parent = event.parent_tool_call_id.as_deref();
        let response = event.response_id.as_deref();
        if Retries::end_with(&event.payload) {
            self.tell_retries(event.timestamp);
        }
        match &event.payload {
            Payload::TurnStart(start) => {
                if let Some(turn) = turn.and_then(|nth| self.turns.get(nth)) {
                    turn.introduce(start);
                    let labelled = turn.label.is_some().then_some(turn.nth);
                    self.tell_turn(labelled);
                }
            }
            Payload::TurnEnd(end) => {
                if let Some(nth) = turn {
                    self.end_turn(nth, end, event.timestamp);
                }
            }
            Payload::UserMessage(message) => self.prompt(turn, parent, &message.text.preview()),
            Payload::UserAudio(audio) => self.prompt(turn, parent, &audio.transcription),
            // What was said is told, though its turn was taken to be over before.
            Payload::AssistantChunk(_) if self.is_late(event) => {}
            Payload::AssistantDone(done) if self.is_late(event) && parent.is_none() => {
                self.tell_result(std::slice::from_ref(&done.text));
            }
            Payload::AssistantChunk(chunk) => {
                self.answer(turn, parent, |answer| {
                    answer.chunk(response, chunk.part, &chunk.text);
                });
            }
            Payload::AssistantDone(done) if parent.is_some() => {
                self.open_text(parent, &done.text, LineKind::Said, "");
            }
            Payload::AssistantDone(done) => {
                self.answer(turn, parent, |answer| {
                    answer.done(response, done.part, &done.text);
                });
            }
            // A thought is told once it is whole.
            Payload::ThinkingChunk(_) => {}
            Payload::ThinkingDone(done) if done.redacted == Some(true) => {
                self.open_text(
                    parent,
                    "(withheld by the provider)",
                    LineKind::Thinking,
                    "∴ ",
                );
            }
            Payload::ThinkingDone(done) => {
                self.tell_turn(turn);
                self.open_text(parent, &done.text, LineKind::Thinking, "∴ ");
            }
            Payload::ToolCall(call) => self.tool_call(event, turn, call),
            Payload::ToolInputChunk(chunk) => {
                let cwd = self.cwd.take();
                let place = place_of(event, turn, cwd.as_deref());
                self.calls
                    .prepares(&chunk.tool_call_id, &chunk.tool_name, place);
                self.cwd = cwd;
            }
            Payload::ToolOutputChunk(chunk) => {
                self.calls.printed(&chunk.tool_call_id, &chunk.chunk);
            }
            Payload::ToolResult(result) => {
                if parent.is_none() {
                    self.result_came(turn);
                }
                let step = self.calls.finished(result, place_of(event, turn, None));
                if let CallStep::Done(call) = step {
                    self.tell_call(&call);
                }
            }
            Payload::FileEdit(edit) => self.file_edit(turn, edit),
            Payload::Progress(progress) => self.progress(turn, progress),
            Payload::Plan(plan) => self.plan(turn, plan),
            Payload::Usage(usage) => self.usage(event, turn, usage),
            Payload::Interrupt(interrupt) => self.interrupt(event, turn, interrupt),
            Payload::ErrorEvent(error) => self.error_event(event, turn, error),
            Payload::AgentMessage(message) => self.agent_message(turn, message),
            Payload::AgentCallback(callback) => self.agent_callback(turn, callback),
            Payload::AgentSwitch(switch) => {
                let to = one_line(&switch.to_agent_id);
                self.notable(turn, LineKind::Agent, format!("[AGENT] {to} takes over"));
            }
            Payload::PermissionRequest(request) => self.permission_request(turn, request),
            Payload::PermissionResolved(resolved) => {
                self.permission_resolved(event, turn, resolved)
            }
            Payload::QuestionRequest(request) => self.question(turn, request),
            Payload::QuestionResolved(resolved) => {
                let outcome = one_line(&resolved.outcome);
                self.answered(event, turn, &resolved.request_id, &outcome);
            }
            Payload::SessionStart(start) => self.session_start(start),
            Payload::SessionEnd(end) => {
                // The end of an earlier run, or of a sub-agent's session, ends nothing of this one.
                if !took.is_past && parent.is_none() {
                    self.finish(true);
                }
                let why = one_line(&end.reason);
                self.verbose(LineKind::Session, format!("[SESSION] ended: {why}"));
            }
            Payload::SessionStatus(status) => self.session_status(event, turn, status),
            Payload::Compaction(_) if std::mem::take(&mut self.is_compacted_anew) => {}
            Payload::Compaction(told) => {
                self.newest_compaction = Some(hash(&event.id));
                let how = one_line(&told.trigger);
                self.notable(
                    turn,
                    LineKind::Notice,
                    format!("[INFO] context made shorter ({how})"),
                );
            }
            Payload::Notice(notice) => self.notice(notice),
            Payload::Retract(retract) => {
                let mut ids = retract.event_ids.iter();
                self.is_compacted_anew |= ids.any(|id| self.newest_compaction == Some(hash(id)));
                let n = retract.event_ids.len();
                self.verbose(LineKind::Notice, format!("[INFO] {n} events taken back"));
            }
            Payload::LogGap(gap) => self.log_gap(gap),
            Payload::AudioChunk(_) => {}
            Payload::AudioDone(done) => {
                let length = done.duration_ms.map_or_else(String::new, words::duration);
                self.verbose(LineKind::Said, format!("[AUDIO] {length}"));
            }
            Payload::Raw(raw) => {
                self.unknown(&format!("a line of {}", raw.format), &raw.value.as_text())
            }
            Payload::Unknown { event_type, value } => {
                self.unknown(&format!("event {event_type}"), &value.as_text());
            }
            Payload::Malformed {
                event_type,
                value,
                reason,
            } => self.unknown(
                &format!("malformed {event_type}, {reason}"),
                &value.as_text(),
            ),
            Payload::LogStart(_) | Payload::LogEpoch(_) | Payload::LogEnd(_) => {}
        }
    }
}

fn place_of<'a>(
    event: &'a ChatEvent,
    turn: Option<TurnNth>,
    cwd: Option<&'a str>,
) -> CallPlace<'a> {
    CallPlace {
        turn,
        parent: event.parent_tool_call_id.as_deref(),
        cwd,
        now_ms: event.timestamp,
    }
}
