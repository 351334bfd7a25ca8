//! The trace of one session: what each event adds to it.

use std::collections::BTreeMap;

use chat_event::payload::{self, FileEdit, QuestionRequest, TurnEnd, Usage};
use chat_event::{ChatEvent, Payload};

use super::calls::{CallPlace, CallStep, Calls, OpenCall, TurnNth};
use super::clean::{first_line, lines, one_line};
use super::line::{LineKind, Severity, Stream, Verbosity};
use super::turns::{Turn, Turns};
use super::{Running, opened, words};
use crate::renderer::{Seen, between};
use crate::tool::ToolStatus;

/// So many questions may wait for their answer.
const MAX_ASKS: usize = 256;

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
    turns: Turns,
    calls: Calls,
    asks: BTreeMap<Box<str>, String>,
    cwd: Option<String>,
    /// What it is doing outside of turns.
    status: Option<String>,
    n_unknown: u64,
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
        let turn = self.turn_of(event);
        if let Some(turn) = turn.and_then(|nth| self.turns.get(nth)) {
            turn.last_ms = event.timestamp.or(turn.last_ms);
        }
        self.take(event, turn);
        while let Some(call) = self.calls.overflow() {
            self.tell_call(&call);
        }
        while let Some(nth) = self.turns.overflow() {
            self.end_turn(nth, &TurnEnd::default(), None);
        }
    }

    /// Nothing more will come: what runs is told as it stands.
    pub(super) fn finish(&mut self) {
        let open: Vec<_> = self.turns.open().iter().map(|turn| turn.nth).collect();
        for nth in open {
            let runs = self.calls.running().any(|call| call.turn == Some(nth));
            if let Some(turn) = self.turns.get(nth).filter(|_| runs) {
                turn.stopped = turn.stopped.or(Some("interrupted"));
            }
            self.end_turn(nth, &TurnEnd::default(), None);
        }
        for call in self.calls.settle(None, ToolStatus::NoResult) {
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

    /// What goes on now, one line a call; else what the turns are at.
    pub(super) fn running(&self) -> Vec<Running<Told>> {
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
            .map(|call| line(LineKind::ToolRunning, call.line(), call.block.called_ms))
            .collect();
        for turn in self.turns.open() {
            let busy = self.calls.running().any(|call| call.turn == Some(turn.nth));
            let doing = match (&turn.progress, busy) {
                (Some(progress), _) => progress.clone(),
                (None, true) => continue,
                (None, false) => turn.name(),
            };
            let text = format!("{} ⋯ {doing}", turn.tag());
            running.push(line(LineKind::Progress, text, turn.last_ms));
        }
        if let Some(status) = &self.status {
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

    /// Opens a turn. One without a name ends the one without a name before it.
    fn begin_turn(&mut self, id: Option<&str>, event: &ChatEvent) -> TurnNth {
        let before = self.turns.current().filter(|turn| turn.id.is_none());
        if let (None, Some(before)) = (id, before.map(|turn| turn.nth)) {
            self.end_turn(before, &TurnEnd::default(), None);
        }
        self.turns.begin(id, event.timestamp)
    }

    fn take(&mut self, event: &ChatEvent, turn: Option<TurnNth>) {
        let parent = event.parent_tool_call_id.as_deref();
        let response = event.response_id.as_deref();
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
            Payload::UserMessage(message) => self.prompt(turn, parent, message.text.preview()),
            Payload::UserAudio(audio) => self.prompt(turn, parent, &audio.transcription),
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
                self.set_aside(event, turn);
                let step = self.calls.finished(result, place_of(event, turn, None));
                if let CallStep::Done(call) = step {
                    self.tell_call(&call);
                }
            }
            Payload::FileEdit(edit) => self.file_edit(turn, edit),
            Payload::Progress(progress) => self.progress(turn, progress),
            Payload::Plan(plan) => self.plan(turn, plan),
            Payload::Usage(usage) => self.usage(turn, parent, usage),
            Payload::Interrupt(interrupt) => {
                self.stop(turn, "interrupted", ToolStatus::Interrupted);
                if turn.is_none() {
                    let why = one_line(&interrupt.reason);
                    self.tell(LineKind::Error, Severity::Warning, format!("[STOP] {why}"));
                }
            }
            Payload::ErrorEvent(error) => {
                let main = turn.filter(|_| parent.is_none());
                match main {
                    Some(_) => self.stop(turn, "failed", ToolStatus::NoResult),
                    None => self.settle(turn, ToolStatus::NoResult),
                }
                self.error(turn, &error.code, &error.message);
            }
            Payload::AgentMessage(message) => {
                let target = one_line(&message.target_agent_id);
                let said = first_line(message.message.preview());
                self.notable(
                    turn,
                    LineKind::Agent,
                    format!("[AGENT] to {target}: {said}"),
                );
            }
            Payload::AgentCallback(callback) => {
                let from = one_line(&callback.from_agent_id);
                let said = first_line(callback.result.preview());
                self.notable(
                    turn,
                    LineKind::Agent,
                    format!("[AGENT] from {from}: {said}"),
                );
            }
            Payload::AgentSwitch(switch) => {
                let to = one_line(&switch.to_agent_id);
                self.notable(turn, LineKind::Agent, format!("[AGENT] {to} takes over"));
            }
            Payload::PermissionRequest(request) => {
                let tool = one_line(&request.tool_name.to_lowercase());
                let title = request.title.as_deref().map(first_line);
                let what = match title.filter(|title| !title.is_empty()) {
                    Some(title) => format!("{tool}: {title}"),
                    None => tool,
                };
                self.ask(turn, &request.request_id, what);
            }
            Payload::PermissionResolved(resolved) => {
                let decision = match &*resolved.decision {
                    "allow" => "allowed".to_owned(),
                    "deny" => "denied".to_owned(),
                    "cancel" => "cancelled".to_owned(),
                    other => one_line(other),
                };
                let by = resolved.by.as_deref().map(one_line);
                let by = by.map_or_else(String::new, |by| format!(" by {by}"));
                self.answered(turn, &resolved.request_id, &format!("{decision}{by}"));
            }
            Payload::QuestionRequest(request) => self.question(turn, request),
            Payload::QuestionResolved(resolved) => {
                self.answered(turn, &resolved.request_id, &one_line(&resolved.outcome));
            }
            Payload::SessionStart(start) => self.session_start(start),
            Payload::SessionEnd(end) => {
                self.finish();
                let why = one_line(&end.reason);
                self.verbose(LineKind::Session, format!("[SESSION] ended: {why}"));
            }
            Payload::SessionStatus(status) => {
                let told = status.message.as_deref().map(one_line);
                let retries = status.status == "retrying";
                self.status = retries.then(|| told.unwrap_or_else(|| "retrying".to_owned()));
            }
            Payload::Compaction(told) => {
                let how = one_line(&told.trigger);
                self.notable(
                    turn,
                    LineKind::Notice,
                    format!("[INFO] context made shorter ({how})"),
                );
            }
            Payload::Notice(notice) => self.notice(notice),
            Payload::Retract(retract) => {
                let n = retract.event_ids.len();
                self.verbose(LineKind::Notice, format!("[INFO] {n} events taken back"));
            }
            Payload::LogGap(gap) => {
                let why = one_line(&gap.why);
                let text = format!(
                    "[WARN] events {} to {} are missing: {why}",
                    gap.from, gap.to
                );
                self.tell(LineKind::Notice, Severity::Warning, text);
            }
            Payload::AudioChunk(_) => {}
            Payload::AudioDone(done) => {
                let length = done.duration_ms.map_or_else(String::new, words::duration);
                self.verbose(LineKind::Said, format!("[AUDIO] {length}"));
            }
            Payload::Raw(raw) => {
                self.unknown(&format!("a line of {}", raw.format), raw.value.as_text())
            }
            Payload::Unknown { event_type, value } => {
                self.unknown(&format!("event {event_type}"), value.as_text());
            }
            Payload::Malformed {
                event_type,
                value,
                reason,
            } => self.unknown(
                &format!("malformed {event_type}, {reason}"),
                value.as_text(),
            ),
            Payload::LogStart(_) | Payload::LogEpoch(_) | Payload::LogEnd(_) => {}
        }
    }

    fn session_start(&mut self, start: &payload::SessionStart) {
        if start.cwd.is_some() {
            self.cwd.clone_from(&start.cwd);
        }
        let facts = [&start.agent, &start.model, &start.cwd, &start.git_branch];
        let facts: Vec<_> = facts
            .into_iter()
            .flatten()
            .map(|fact| one_line(fact))
            .collect();
        if !facts.is_empty() {
            let text = format!("[SESSION] {}", facts.join(", "));
            self.verbose(LineKind::Session, text);
        }
    }

    fn prompt(&mut self, turn: Option<TurnNth>, parent: Option<&str>, text: &str) {
        if parent.is_some() {
            return self.open_text(parent, text, LineKind::Said, "› ");
        }
        let first = match turn.and_then(|nth| self.turns.get(nth)) {
            Some(turn) => turn.prompt(text),
            None => false,
        };
        self.tell_turn(turn);
        if !first && self.verbosity >= Verbosity::Normal {
            let tag = turn
                .and_then(|nth| self.turns.get(nth))
                .map(|turn| turn.tag());
            let tag = tag.map_or_else(String::new, |tag| format!("{tag} "));
            let text = format!("{tag}› {}", first_line(text));
            self.tell(LineKind::TurnStart, Severity::Info, text);
        }
        if text.trim().contains('\n') {
            self.open_text(None, text, LineKind::Said, "");
        }
    }

    fn answer(
        &mut self,
        turn: Option<TurnNth>,
        parent: Option<&str>,
        add: impl FnOnce(&mut super::turns::Answer),
    ) {
        // What a sub-agent says is told once it is whole; it is no answer to the user.
        if parent.is_some() {
            return;
        }
        let nth = match turn.or_else(|| self.turns.current().map(|turn| turn.nth)) {
            Some(nth) => nth,
            None => self.turns.begin(None, None),
        };
        let Some(turn) = self.turns.get(nth) else {
            return;
        };
        add(&mut turn.answer);
        if turn.answer.is_full() {
            let texts = turn.answer.take();
            self.tell_turn(Some(nth));
            self.tell_result(&texts);
        }
    }

    fn tool_call(&mut self, event: &ChatEvent, turn: Option<TurnNth>, call: &payload::ToolCall) {
        self.tell_turn(turn);
        self.set_aside(event, turn);
        let cwd = self.cwd.take();
        let place = place_of(event, turn, cwd.as_deref());
        let step = self.calls.called(call, place);
        self.cwd = cwd;
        match step {
            CallStep::Nothing => {}
            CallStep::Done(call) => self.tell_call(&call),
            CallStep::Began(nth) if self.verbosity == Verbosity::Verbose => {
                let Some(open) = self.calls.get(nth) else {
                    return;
                };
                let (line, depth, turn) = (open.line(), open.depth, open.turn);
                let args = opened::args(&call.args, open.target());
                let line = self.of_turn(turn, line);
                self.tell(LineKind::ToolRunning, Severity::Info, line);
                self.tell_opened(depth, args);
            }
            CallStep::Began(_) => {}
        }
    }

    /// What was said before a call, or before its result, is no answer to the prompt.
    fn set_aside(&mut self, event: &ChatEvent, turn: Option<TurnNth>) {
        if event.parent_tool_call_id.is_none()
            && let Some(turn) = turn.and_then(|nth| self.turns.get(nth))
        {
            for text in turn.answer.take() {
                self.open_text(None, &text, LineKind::Said, "");
            }
        }
    }

    fn tell_call(&mut self, call: &OpenCall) {
        let severity = match call.block.status {
            ToolStatus::Failed => Severity::Failure,
            ToolStatus::Interrupted | ToolStatus::NoResult => Severity::Warning,
            ToolStatus::Preparing | ToolStatus::Running | ToolStatus::Succeeded => Severity::Good,
        };
        if self.verbosity == Verbosity::Quiet {
            return;
        }
        let line = self.of_turn(call.turn, call.line());
        self.tell(LineKind::Tool, severity, line);
        if self.verbosity == Verbosity::Verbose {
            let given = call.block.result.as_ref().map(opened::result);
            let opened = match given.filter(|given| !given.is_empty()) {
                Some(given) => given,
                None => opened::text(&call.output, LineKind::Opened),
            };
            self.tell_opened(call.depth, opened);
        }
    }

    fn file_edit(&mut self, turn: Option<TurnNth>, edit: &FileEdit) {
        // In a line a call, the call that changed it is told.
        let shown = self.verbosity == Verbosity::Verbose
            || (edit.tool_call_id.is_empty() && self.verbosity == Verbosity::Normal);
        if !shown {
            return;
        }
        self.tell_turn(turn);
        let file = opened::file(edit, self.cwd.as_deref());
        let line = self.of_turn(turn, format!("📝 {file}"));
        self.tell(LineKind::File, Severity::Info, line);
        if self.verbosity == Verbosity::Verbose {
            self.tell_opened(0, opened::diff(edit));
        }
    }

    fn progress(&mut self, turn: Option<TurnNth>, progress: &payload::Progress) {
        if let Some(nth) = self.calls.progressed(progress) {
            if self.verbosity == Verbosity::Verbose
                && let Some(open) = self.calls.get(nth)
            {
                let (line, turn) = (open.line(), open.turn);
                let line = self.of_turn(turn, line);
                self.tell(LineKind::ToolRunning, Severity::Info, line);
            }
            return;
        }
        let message = one_line(&progress.message);
        let message = match progress.percent {
            Some(percent) => format!("{message} {percent:.0} %"),
            None => message,
        };
        self.step(turn, message);
    }

    fn plan(&mut self, turn: Option<TurnNth>, plan: &payload::Plan) {
        let n_done = plan
            .entries
            .iter()
            .filter(|entry| entry.status == "completed");
        let now = plan
            .entries
            .iter()
            .find(|entry| entry.status == "in_progress");
        let now = now.map_or_else(String::new, |entry| {
            format!(": {}", one_line(&entry.content))
        });
        let step = format!("plan {}/{}{now}", n_done.count(), plan.entries.len());
        self.step(turn, step);
    }

    /// What a turn is at; a line of its own only where all is told.
    fn step(&mut self, turn: Option<TurnNth>, step: String) {
        if self.verbosity == Verbosity::Verbose {
            self.tell_turn(turn);
            let tag = turn
                .and_then(|nth| self.turns.get(nth))
                .map(|turn| turn.tag());
            let tag = tag.map_or_else(String::new, |tag| format!("{tag} "));
            self.tell(LineKind::Progress, Severity::Info, format!("{tag}⋯ {step}"));
        }
        match turn.and_then(|nth| self.turns.get(nth)) {
            Some(turn) => turn.progress = Some(step),
            None => self.status = Some(step),
        }
    }

    fn usage(&mut self, turn: Option<TurnNth>, parent: Option<&str>, usage: &Usage) {
        let scope = one_line(&usage.scope);
        let text = format!("[USAGE] {scope}: {}", words::usage(usage));
        self.verbose(LineKind::Usage, text);
        // What a sub-agent used is its own call's; the session's is no turn's.
        if parent.is_none()
            && usage.scope != "session"
            && let Some(turn) = turn.and_then(|nth| self.turns.get(nth))
        {
            turn.usage = Some(usage.clone());
        }
    }

    fn notice(&mut self, notice: &payload::Notice) {
        let line = notice
            .line
            .map_or_else(String::new, |line| format!(" (line {line})"));
        let text = first_line(&notice.text);
        if notice.level == "info" {
            self.verbose(LineKind::Notice, format!("[INFO] {text}{line}"));
        } else if self.verbosity >= Verbosity::Normal {
            let text = format!("[WARN] {text}{line}");
            self.tell(LineKind::Notice, Severity::Warning, text);
        }
    }

    fn unknown(&mut self, what: &str, value: &str) {
        self.n_unknown += 1;
        let text = format!("[RAW] {}: {}", one_line(what), one_line(value));
        self.verbose(LineKind::Notice, text);
    }

    fn error(&mut self, turn: Option<TurnNth>, code: &str, message: &str) {
        self.tell_turn(turn);
        let code = one_line(code);
        let code = if code.is_empty() {
            code
        } else {
            format!("{code}: ")
        };
        let text = format!("[ERROR] {code}{}", first_line(message));
        let text = self.of_turn(turn, text);
        self.tell(LineKind::Error, Severity::Failure, text);
        if message.trim().contains('\n') {
            self.open_text(None, message, LineKind::Opened, "");
        }
    }

    fn question(&mut self, turn: Option<TurnNth>, request: &QuestionRequest) {
        let texts: Vec<_> = request
            .questions
            .iter()
            .map(|question| first_line(&question.text))
            .collect();
        let what = format!("question: {}", one_line(&texts.join(" ")));
        self.ask(turn, &request.request_id, what);
    }

    fn ask(&mut self, turn: Option<TurnNth>, request_id: &str, what: String) {
        if self.asks.len() == MAX_ASKS {
            self.asks.pop_first();
        }
        self.notable(turn, LineKind::Ask, format!("[ASK] {what}"));
        self.asks.insert(request_id.into(), what);
    }

    fn answered(&mut self, turn: Option<TurnNth>, request_id: &str, answer: &str) {
        let what = self.asks.remove(request_id);
        let what = what.unwrap_or_else(|| one_line(request_id));
        self.notable(turn, LineKind::Ask, format!("[ASK] {what} → {answer}"));
    }

    fn stop(&mut self, turn: Option<TurnNth>, how: &'static str, calls: ToolStatus) {
        self.settle(turn, calls);
        if let Some(turn) = turn.and_then(|nth| self.turns.get(nth)) {
            turn.stopped = Some(how);
            turn.progress = None;
        }
    }

    fn settle(&mut self, turn: Option<TurnNth>, how: ToolStatus) {
        if turn.is_none() {
            return;
        }
        for call in self.calls.settle(turn, how) {
            self.tell_call(&call);
        }
    }

    fn end_turn(&mut self, nth: TurnNth, end: &TurnEnd, now_ms: Option<i64>) {
        let Some(turn) = self.turns.get(nth) else {
            return;
        };
        let how = match (end.outcome.as_deref(), turn.stopped) {
            (Some("interrupted"), _) | (None, Some("interrupted")) => Some("interrupted"),
            (Some("failed"), _) | (None, Some("failed")) => Some("failed"),
            _ => None,
        };
        let calls = match how {
            Some("interrupted") => ToolStatus::Interrupted,
            _ => ToolStatus::NoResult,
        };
        let texts = turn.answer.take();
        let empty = !turn.told && turn.label.is_none() && texts.is_empty() && how.is_none();
        if !empty {
            self.tell_turn(Some(nth));
        }
        self.settle(Some(nth), calls);
        let Some(turn) = self.turns.end(nth) else {
            return;
        };
        if turn.told && self.verbosity >= Verbosity::Normal {
            let (mark, severity) = match how {
                Some("failed") => ('✗', Severity::Failure),
                Some(_) => ('■', Severity::Warning),
                None => ('✓', Severity::Good),
            };
            let mut facts: Vec<String> = how.map(str::to_owned).into_iter().collect();
            facts.extend(turn_facts(&turn, end, now_ms));
            let facts = match facts.is_empty() {
                true => String::new(),
                false => format!(" ({})", facts.join(", ")),
            };
            let text = format!("{} {mark} {}{facts}", turn.tag(), turn.name());
            self.tell(LineKind::TurnEnd, severity, text);
        }
        let usage = end.usage.as_ref().and_then(|usage| usage.parse::<Usage>());
        if let Some(mut usage) = usage {
            usage.cost_usd = usage.cost_usd.or(end.cost_usd);
            let text = format!("[USAGE] turn: {}", words::usage(&usage));
            self.verbose(LineKind::Usage, text);
        }
        self.tell_result(&texts);
    }

    /// The first line of a turn, once it is known what it is called or something is told of it.
    fn tell_turn(&mut self, turn: Option<TurnNth>) {
        let Some(turn) = turn.and_then(|nth| self.turns.get(nth)) else {
            return;
        };
        if std::mem::replace(&mut turn.told, true) {
            return;
        }
        let text = format!("{} ▶ {}", turn.tag(), turn.name());
        if self.verbosity >= Verbosity::Normal {
            self.tell(LineKind::TurnStart, Severity::Info, text);
        }
    }

    /// A line of a turn; where several are open, it says of which.
    fn of_turn(&mut self, turn: Option<TurnNth>, line: String) -> String {
        let several = self.turns.open().len() > 1;
        match turn.and_then(|nth| self.turns.get(nth)) {
            Some(turn) if several => format!("{} {line}", turn.tag()),
            _ => line,
        }
    }

    fn tell_result(&mut self, texts: &[String]) {
        for (nth, text) in texts.iter().enumerate() {
            if nth > 0 {
                self.tell_to(
                    Stream::Result,
                    LineKind::Result,
                    Severity::Info,
                    String::new(),
                );
            }
            for line in lines(text) {
                self.tell_to(Stream::Result, LineKind::Result, Severity::Info, line);
            }
        }
    }

    /// Text behind a bar, as deep as the call it lies in; only where all is told.
    fn open_text(&mut self, parent: Option<&str>, text: &str, kind: LineKind, mark: &str) {
        if self.verbosity < Verbosity::Verbose || text.trim().is_empty() {
            return;
        }
        let depth = self.calls.depth_in(parent);
        let marked = format!("{mark}{}", text.trim_matches('\n'));
        self.tell_opened(depth, opened::text(&marked, kind));
    }

    fn tell_opened(&mut self, depth: usize, opened: opened::Opened) {
        let indent = "  ".repeat(depth);
        for (kind, line) in opened {
            self.tell(kind, Severity::Detail, format!("{indent}{line}"));
        }
    }

    /// A line of its own that is worth telling beside tool calls.
    fn notable(&mut self, turn: Option<TurnNth>, kind: LineKind, text: String) {
        if self.verbosity >= Verbosity::Normal {
            self.tell_turn(turn);
            let text = self.of_turn(turn, text);
            self.tell(kind, Severity::Info, text);
        }
    }

    fn verbose(&mut self, kind: LineKind, text: String) {
        if self.verbosity == Verbosity::Verbose {
            self.tell(kind, Severity::Detail, text);
        }
    }

    fn tell(&mut self, kind: LineKind, severity: Severity, text: String) {
        self.tell_to(Stream::Trace, kind, severity, text);
    }

    fn tell_to(&mut self, stream: Stream, kind: LineKind, severity: Severity, text: String) {
        self.told.push(Told {
            stream,
            kind,
            severity,
            text,
        });
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

/// What a turn took, as far as it is known: time, tokens, cost.
fn turn_facts(turn: &Turn, end: &TurnEnd, now_ms: Option<i64>) -> Vec<String> {
    let took = end
        .duration_ms
        .or_else(|| between(turn.started_ms, now_ms.or(turn.last_ms)));
    let mut facts: Vec<String> = words::told_duration(took).into_iter().collect();
    let said: Option<Usage> = end.usage.as_ref().and_then(|usage| usage.parse());
    let usage = said.as_ref().or(turn.usage.as_ref());
    let n_tokens = usage.map_or(0, |usage| {
        usage.input_tokens.saturating_add(usage.output_tokens)
    });
    if n_tokens > 0 {
        facts.push(format!("{} tokens", words::tokens(n_tokens)));
    }
    let cost = end.cost_usd.or(usage.and_then(|usage| usage.cost_usd));
    facts.extend(cost.filter(|&usd| usd > 0.0).map(words::dollars));
    facts
}
