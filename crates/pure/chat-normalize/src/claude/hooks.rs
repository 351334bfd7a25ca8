//! What Claude Code tells its hooks: one JSON object for each happening, with no time, no order and no message ids.
//!
//! | hook | turn |
//! |---|---|
//! | `UserPromptSubmit` | the open one ends as interrupted (a finished one had its `Stop`), one begins |
//! | `Stop` | the open one ends |
//! | `StopFailure` | the open one ends as failed |
//! | `SessionEnd`, or the source's end | likewise as interrupted |
//! | work of the main agent, no turn open | one begins, as the system's |
//!
//! Hooks run in processes of their own, so a `PostToolUse` can come before its `PreToolUse`, and after `Stop`: it names
//! the call whole. Turns go by `prompt_id` (from 2.1). A refused call has no hook that says so: it is closed at `Stop`.
//! That what runs in the background is over is said by a notification that begins a turn, by `SubagentStop`, and by
//! `Stop`, which names what still runs.
//! Which call started a sub-agent is said only by the call's own result; until then the oldest open call that asked for
//! such an agent stands for it. Format: `formats.md` 3, seen in 2.1.197 and 2.1.330.

mod asides;
mod calls;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use chat_event::payload::{
    AssistantChunk, AssistantDone, Compaction, ErrorEvent, SessionEnd, SessionStart, TurnEnd,
    UserMessage,
};
use chat_event::{Body, Extra, Json, Payload};
use serde_json::{Map, Value};

use super::said::{Said, piece_tag, pieces};
use super::session::Session;
use super::side_lines;
use super::task_end::TaskEnd;
use crate::dialect::Normalizer;
use crate::emit::{Emitter, Place, hash};
use crate::recent::{LATE_SMALL, Recent};
use crate::value::{fingerprint, is_true, list_of, millis_of_rfc3339, str_of, text_of};

const FORMAT: &str = "claude-hooks";

/// How many bytes of a message that is displayed piece by piece are kept to tell the answer from it.
const MAX_SHOWN_BYTES: usize = 16 * 1024 * 1024;

/// Reads hook inputs.
#[derive(Debug)]
pub(crate) struct ClaudeHooks {
    session: Session,
    /// Inputs that came, of those that can come once only: two hooks may be set for one happening.
    seen: Recent<(), LATE_SMALL>,
    /// What was asked in calls that are over, by their id.
    over: Recent<u64>,
    /// Calls that nothing was asked about, by what they ask.
    unasked: Recent<Vec<String>>,
    /// Calls for agents that did not start, by the agent's kind.
    waiting_agents: HashMap<String, VecDeque<String>>,
    /// Sub-agent → the call that started it.
    agent_call: HashMap<String, String>,
    /// The number of the newest turn of each prompt.
    turn_numbers: HashMap<String, u32>,
    /// The ids of all turns that began.
    begun: HashSet<u64>,
    /// The prompt of the newest turn, and the turn's id.
    newest: Option<(String, String)>,
    /// Messages that are displayed piece by piece, by their id.
    shown: BTreeMap<String, String>,
    /// The last text that was shown whole.
    last_shown: Option<u64>,
    /// Questions of MCP servers, by server.
    elicited: BTreeMap<String, String>,
    session_ended: bool,
}

/// Whether a value is a hook's input, and whether that is sure: other programs have hooks of other names.
pub(crate) fn is_hook_input(value: &Value) -> Option<bool> {
    let event = text_of(value, "hook_event_name")?;
    text_of(value, "session_id")?;
    if value.get("jsonrpc").is_some() {
        return None;
    }
    Some(asides::is_hook(event))
}

impl ClaudeHooks {
    pub(crate) fn new() -> Self {
        ClaudeHooks {
            session: Session::new(FORMAT, false),
            seen: Recent::default(),
            over: Recent::default(),
            unasked: Recent::default(),
            waiting_agents: HashMap::new(),
            agent_call: HashMap::new(),
            turn_numbers: HashMap::new(),
            begun: HashSet::new(),
            newest: None,
            shown: BTreeMap::new(),
            last_shown: None,
            elicited: BTreeMap::new(),
            session_ended: false,
        }
    }

    /// What every input says of the session.
    fn facts(&mut self, emitter: &mut Emitter, line: &Value) {
        let mut rest = Map::new();
        if let Some(mode) = text_of(line, "permission_mode") {
            rest.insert("permissionMode".to_owned(), Value::from(mode));
        }
        let own = text_of(line, "agent_id").is_none();
        let facts = SessionStart {
            agent: Some("Claude Code".to_owned()),
            native_id: text_of(line, "session_id").map(str::to_owned),
            cwd: text_of(line, "cwd").filter(|_| own).map(str::to_owned),
            model: text_of(line, "model").map(str::to_owned),
            title: text_of(line, "session_title").map(str::to_owned),
            provider: Some("claude-code".to_owned()),
            timestamp_source: Some("arrival".to_owned()),
            ..SessionStart::default()
        };
        self.session.facts.say(emitter, facts, rest);
    }

    /// Where what this input tells stands.
    fn place(&mut self, line: &Value) -> Place {
        let agent_id = text_of(line, "agent_id");
        let call = agent_id.and_then(|agent_id| self.agent_call.get(agent_id));
        self.session.place(call.map(String::as_str), agent_id)
    }

    /// The same, for work: the main agent's is done in a turn.
    fn work_place(&mut self, emitter: &mut Emitter, line: &Value) -> Place {
        if text_of(line, "agent_id").is_none() && !self.session.in_turn() {
            self.open_turn(emitter, line, "system");
        }
        self.place(line)
    }

    /// What turns go by: the prompt, else the line that shows one.
    fn prompt_of(emitter: &Emitter, line: &Value) -> String {
        let prompt = text_of(line, "prompt_id").map(str::to_owned);
        prompt.unwrap_or_else(|| format!("t-{}", emitter.line_id()))
    }

    /// The id of a prompt's turn, while it is open.
    fn open_turn_of(&self, prompt: &str) -> Option<String> {
        let (newest, id) = self.newest.as_ref()?;
        (self.session.in_turn() && newest == prompt).then(|| id.clone())
    }

    /// The id of a prompt's next turn: the prompt's own; with a number where a turn of it ended before.
    fn next_turn_id(&mut self, prompt: &str) -> String {
        let number = self.turn_numbers.entry(prompt.to_owned()).or_default();
        loop {
            *number = number.saturating_add(1);
            let id = turn_id(prompt, *number);
            // Another prompt can be called so.
            if self.begun.insert(hash(id.as_bytes())) {
                return id;
            }
        }
    }

    fn open_turn(&mut self, emitter: &mut Emitter, line: &Value, trigger: &str) -> String {
        let line_id = emitter.line_id().to_owned();
        let prompt = Self::prompt_of(emitter, line);
        let id = self.next_turn_id(&prompt);
        emitter.begin_line(Some(&id));
        let at = emitter.out.len();
        self.session.open_turn(emitter, &id, trigger);
        self.newest = Some((prompt, id.clone()));
        if let Some(prompt) = text_of(line, "prompt_id")
            && let Some(event) = emitter.out.get_mut(at)
            && let Payload::TurnStart(start) = &mut event.payload
        {
            start.extra.insert("promptId", Json::string(prompt));
        }
        emitter.begin_line(Some(&line_id));
        self.last_shown = None;
        id
    }

    fn end_turn(&mut self, emitter: &mut Emitter, outcome: &str) {
        self.session.close_asked(emitter);
        let end = TurnEnd {
            outcome: Some(outcome.to_owned()),
            ..TurnEnd::default()
        };
        self.session.close_turn_leaving_calls(emitter, end);
    }

    fn prompt(&mut self, emitter: &mut Emitter, line: &Value) {
        let text = str_of(line, "prompt").unwrap_or("");
        let said = pieces(text);
        let by_person = said
            .iter()
            .any(|said| matches!(said, Said::Words(_) | Said::Command(_) | Said::Shell(_)));
        // Without `Stop` the turn before was stopped by the user, which no hook tells.
        let prompt = Self::prompt_of(emitter, line);
        let id = match self.open_turn_of(&prompt) {
            Some(id) => id,
            None => {
                // What a sub-agent does in the background goes on.
                self.close_shown(emitter);
                self.session.close_turns(emitter, |turn| match turn.failed {
                    true => "failed",
                    false => "interrupted",
                });
                let trigger = if by_person { "user" } else { "system" };
                self.open_turn(emitter, line, trigger)
            }
        };
        emitter.begin_line(Some(&id));
        let place = self.session.place(None, None);
        for (at, said) in said.into_iter().enumerate() {
            match said {
                Said::Words(text) | Said::Command(text) | Said::Shell(text) => {
                    let message = UserMessage {
                        text: Body::from(text),
                        ..UserMessage::default()
                    };
                    emitter.add(&piece_tag(at), &place, message);
                }
                Said::TaskNotification(text) => {
                    side_lines::task_notification(emitter, &place, &text);
                    if let Some(end) = TaskEnd::of_notification(&text) {
                        self.session.task_ended(emitter, &end);
                    }
                }
                Said::Done(text) | Said::Output(text) => {
                    side_lines::printed(emitter, &place, &text);
                }
                Said::Injected(text) => side_lines::said_by_program(emitter, &place, &text),
                Said::Interrupt => self.session.interrupt(emitter, &place, "user_cancel"),
            }
        }
    }

    /// Ends what is open, for something came that shows it is over.
    fn close_open(&mut self, emitter: &mut Emitter, outcome: &'static str) {
        self.close_shown(emitter);
        self.session.close_all(emitter, |turn| match turn.failed {
            true => "failed",
            false => outcome,
        });
    }

    /// Where the end of a turn is told: in the open one, or in the one that `SessionEnd` ended just before.
    fn stop_place(&mut self, emitter: &mut Emitter, line: &Value) -> Place {
        let number = text_of(line, "prompt_id").and_then(|prompt| {
            let number = self.turn_numbers.get(prompt)?;
            Some((prompt, *number))
        });
        if let Some((prompt, number)) = number.filter(|_| !self.session.in_turn()) {
            let mut place = self.place(line);
            place.turn_id = Some(turn_id(prompt, number));
            return place;
        }
        self.work_place(emitter, line)
    }

    fn stop(&mut self, emitter: &mut Emitter, line: &Value) {
        let place = self.stop_place(emitter, line);
        self.close_shown(emitter);
        self.answer(emitter, line, &place);
        self.end_unnamed_tasks(emitter, line);
        emitter.in_background(!list_of(line, "background_tasks").is_empty());
        self.end_turn(emitter, "completed");
    }

    fn stop_failure(&mut self, emitter: &mut Emitter, line: &Value) {
        let place = self.stop_place(emitter, line);
        self.close_shown(emitter);
        let message = text_of(line, "last_assistant_message")
            .or_else(|| text_of(line, "error_details"))
            .unwrap_or("the turn failed");
        let payload = ErrorEvent {
            code: text_of(line, "error").unwrap_or("api_error").to_owned(),
            message: message.to_owned(),
            extra: Extra::default(),
        };
        emitter.add("error", &place, payload);
        self.end_turn(emitter, "failed");
    }

    /// What ran in the background and is not among what still does is over; how it ended is not told.
    fn end_unnamed_tasks(&mut self, emitter: &mut Emitter, line: &Value) {
        let Some(running) = line.get("background_tasks").and_then(Value::as_array) else {
            return;
        };
        let runs = |task: &str| running.iter().any(|it| str_of(it, "id") == Some(task));
        let known = self.session.tasks_in_background();
        let over: Vec<String> = known
            .filter(|task| !runs(task))
            .map(str::to_owned)
            .collect();
        for task in over {
            let end = TaskEnd {
                task_id: Some(task),
                status: "completed".to_owned(),
                ..TaskEnd::default()
            };
            self.session.task_ended(emitter, &end);
        }
    }

    /// The last words of the agent, where they were not displayed before.
    fn answer(&mut self, emitter: &mut Emitter, line: &Value, place: &Place) {
        let Some(text) = text_of(line, "last_assistant_message") else {
            return;
        };
        if place.parent_tool_call_id.is_none()
            && self.last_shown.take() == Some(hash(text.trim().as_bytes()))
        {
            return;
        }
        let done = AssistantDone {
            text: text.to_owned(),
            ..AssistantDone::default()
        };
        emitter.add("answer", place, done);
    }

    fn subagent_stop(&mut self, emitter: &mut Emitter, line: &Value) {
        if text_of(line, "agent_type").is_none() {
            // The agent that writes the summary of a compaction: `PostCompact` has it.
            emitter.pass_over("SubagentStop of a compaction");
            return;
        }
        let place = self.place(line);
        self.answer(emitter, line, &place);
        let end = TaskEnd {
            task_id: text_of(line, "agent_id").map(str::to_owned),
            status: "completed".to_owned(),
            report: text_of(line, "last_assistant_message").map(str::to_owned),
            ..TaskEnd::default()
        };
        self.session.task_ended(emitter, &end);
    }

    /// Lines of an answer, as they are displayed.
    fn display(&mut self, emitter: &mut Emitter, line: &Value) {
        let Some(id) = text_of(line, "message_id").map(str::to_owned) else {
            emitter.raw(&Place::default(), FORMAT, "MessageDisplay", line);
            return;
        };
        let place = self.work_place(emitter, line).in_response(&id);
        let delta = str_of(line, "delta").unwrap_or("");
        let shown = self.shown.entry(id.clone()).or_default();
        if shown.len() + delta.len() <= MAX_SHOWN_BYTES {
            shown.push_str(delta);
        }
        if !delta.is_empty() {
            let chunk = AssistantChunk {
                text: delta.to_owned(),
                part: Some(0),
                index: crate::value::count_of(line, "index"),
                ..AssistantChunk::default()
            };
            emitter.add("", &place, chunk);
        }
        if is_true(line, "final") {
            self.finish_shown(emitter, &id, &place);
        }
    }

    fn finish_shown(&mut self, emitter: &mut Emitter, id: &str, place: &Place) {
        let Some(text) = self.shown.remove(id) else {
            return;
        };
        self.last_shown = Some(hash(text.trim().as_bytes()));
        let done = AssistantDone {
            text,
            part: Some(0),
            ..AssistantDone::default()
        };
        emitter.add_as(&format!("{id}:shown"), place, done);
    }

    fn close_shown(&mut self, emitter: &mut Emitter) {
        let place = self.session.place(None, None);
        for id in self.shown.keys().cloned().collect::<Vec<_>>() {
            self.finish_shown(emitter, &id, &place.in_response(&id));
        }
    }

    fn end_session(&mut self, emitter: &mut Emitter, reason: &str) {
        self.close_open(emitter, "interrupted");
        self.session.asks.expire_all(emitter);
        self.expire_elicited(emitter);
        let payload = SessionEnd {
            reason: reason.to_owned(),
            extra: Extra::default(),
        };
        emitter.add("session-end", &Place::default(), payload);
        self.session_ended = true;
    }

    fn compacted(&mut self, emitter: &mut Emitter, line: &Value) {
        let payload = Compaction {
            trigger: str_of(line, "trigger").unwrap_or("auto").to_owned(),
            summary: text_of(line, "compact_summary").map(str::to_owned),
            ..Compaction::default()
        };
        let place = self.session.place(None, None);
        emitter.add("compaction", &place, payload);
    }

    /// Whether an input came before, word for word, that can come only once.
    fn is_repeated(&mut self, line: &Value, event: &str, print: u64) -> bool {
        let once = match event {
            "PreToolUse" | "PostToolUse" | "PostToolUseFailure" | "PermissionDenied" => {
                text_of(line, "tool_use_id").is_some()
            }
            "UserPromptSubmit" | "Stop" | "StopFailure" | "SubagentStart" | "SubagentStop" => {
                text_of(line, "prompt_id").is_some()
            }
            "MessageDisplay" => text_of(line, "message_id").is_some(),
            _ => false,
        };
        once && !self.seen.put(print, ())
    }
}

fn turn_id(prompt: &str, number: u32) -> String {
    match number {
        1 => prompt.to_owned(),
        n => format!("{prompt}~{n}"),
    }
}

impl Normalizer for ClaudeHooks {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        // A collector may stamp what it takes; the program itself says no time.
        if let Some(ms) = text_of(line, "timestamp").and_then(millis_of_rfc3339) {
            emitter.time_ms = ms;
        }
        let print = fingerprint(line);
        emitter.begin_line(Some(&format!("hook-{print:016x}")));
        let event = str_of(line, "hook_event_name").unwrap_or("");
        if self.is_repeated(line, event, print) {
            emitter.report.repeated += 1;
            return;
        }
        self.facts(emitter, line);
        // The end of a turn may come behind the session's.
        if !matches!(event, "SessionEnd" | "Stop" | "StopFailure") {
            self.session_ended = false;
        }
        match event {
            "UserPromptSubmit" => self.prompt(emitter, line),
            "PreToolUse" => self.before_call(emitter, line),
            "PostToolUse" => self.after_call(emitter, line, false),
            "PostToolUseFailure" => self.after_call(emitter, line, true),
            "PermissionRequest" => self.asked(emitter, line),
            "PermissionDenied" => self.denied(emitter, line),
            "Stop" => self.stop(emitter, line),
            "StopFailure" => self.stop_failure(emitter, line),
            "SubagentStart" => self.agent_started(emitter, line),
            "SubagentStop" => self.subagent_stop(emitter, line),
            "MessageDisplay" => self.display(emitter, line),
            "PostCompact" => self.compacted(emitter, line),
            "SessionEnd" => {
                let reason = text_of(line, "reason").unwrap_or("other").to_owned();
                self.end_session(emitter, &reason);
            }
            _ => self.aside(emitter, line, event),
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        if !self.session_ended {
            self.end_session(emitter, "end of file");
        }
    }
}
