//! mini-swe-agent: `.traj.json` documents, one run each, `{info, messages, trajectory_format}`.
//!
//! | message | what it gives |
//! |---|---|
//! | the first of the user, and one that adds a task | a turn and what was asked |
//! | of the assistant, in any of three forms (`answers`) | thoughts, a text, calls, what it used |
//! | of a tool, or one with a `returncode` | a call's result |
//! | of the user, with `interrupt_type` | a word to the agent at work; of an answer without a call, that answer and a notice |
//! | of the user, with `actions` | a command of the user's own |
//! | `exit` | how it ended, the patch it handed in as edits |
//!
//! Seen: 2.4.6, and 1.17.5, whose messages have neither actions nor codes of their own: both stand in their texts. A message
//! has no id but its place, for the document is written anew with each step.

mod answers;

use std::collections::VecDeque;

use chat_event::payload::{ErrorEvent, SessionStart, ToolResult, Usage};
use chat_event::{Extra, Json};
use serde_json::{Map, Value};

use crate::dialect::{Form, Normalizer, Origin, Profile, Sessions};
use crate::emit::Emitter;
use crate::patch::edits_of_patch;
use crate::track::{Said, Track, ended, tool_error};
use crate::value::{amount_of, list_of, str_of, text_of, text_of_blocks};
use crate::words::printed;
use answers::Answer;

pub(crate) static PROFILE: Profile = Profile {
    word: "mini-swe-agent",
    name: "mini-swe-agent trajectory",
    form: Form::Document,
    origin: Origin::File,
    sessions: Sessions::One,
    tells_turn_end: false,
    tells_edits_late: false,
    recognise: is_of,
    session_of: |_| None,
    make: |_| Box::new(MiniSweAgent::new()),
};

const FORMAT: &str = "mini-swe-agent";

/// What a command prints first that hands in what follows.
const SUBMITS: &str = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT";

/// Whether a value is of this dialect.
fn is_of(value: &Value) -> Option<bool> {
    let format = str_of(value, "trajectory_format").unwrap_or("");
    let has_version = value
        .get("info")
        .is_some_and(|info| text_of(info, "mini_version").is_some());
    let is_it = has_version || format.starts_with("mini-swe-agent");
    (is_it && value.get("messages").is_some_and(Value::is_array)).then_some(true)
}

/// Reads them.
#[derive(Debug)]
pub(crate) struct MiniSweAgent {
    track: Track,
    /// The calls that wait, the oldest first: results may not name theirs.
    waits: VecDeque<String>,
    /// The call that handed in, which has no result of its own, and whether it was made.
    submits: Option<String>,
    has_submitted: bool,
    /// Answers said what they cost.
    has_costs: bool,
}

impl MiniSweAgent {
    pub(crate) fn new() -> Self {
        MiniSweAgent {
            track: Track::new(),
            waits: VecDeque::new(),
            submits: None,
            has_submitted: false,
            has_costs: false,
        }
    }

    fn facts(&mut self, emitter: &mut Emitter, info: &Value) {
        let config = info.get("config").unwrap_or(&Value::Null);
        let of = |part: &str, name: &str| {
            let text = config.get(part).and_then(|part| text_of(part, name));
            text.map(str::to_owned)
        };
        let mut rest = Map::new();
        if let Some(version) = text_of(info, "mini_version") {
            rest.insert("version".to_owned(), version.into());
        }
        let facts = SessionStart {
            agent: Some("mini-swe-agent".to_owned()),
            provider: Some("mini-swe-agent".to_owned()),
            model: of("model", "model_name"),
            cwd: of("environment", "cwd"),
            ..SessionStart::default()
        };
        self.track.facts.say(emitter, facts, rest);
    }

    fn prompt(&mut self, emitter: &mut Emitter, id: &str, text: String) {
        self.close(emitter, "completed");
        self.track.open_turn(emitter, id, "user");
        self.track.user(emitter, &format!("{id}:user"), said(text));
    }

    fn message(&mut self, emitter: &mut Emitter, n: usize, message: &Value) {
        let id = format!("m{n}");
        let extra = message.get("extra").unwrap_or(&Value::Null);
        let content = text_of_blocks(message.get("content"));
        if extra.get("returncode").is_some() || message.get("call_id").is_some() {
            return self.result(emitter, message, extra);
        }
        match str_of(message, "role") {
            _ if str_of(message, "object") == Some("response") => {
                self.answer(emitter, &id, message);
            }
            Some("assistant") => self.answer(emitter, &id, message),
            Some("system") => emitter.pass_over("system"),
            Some("exit") => emitter.pass_over("exit"),
            Some("user") if self.track.turn_id().is_none() => self.prompt(emitter, &id, content),
            Some("user") => self.user(emitter, &id, &content, extra),
            _ => emitter.raw(&self.track.place(), FORMAT, "message", message),
        }
    }

    /// What is said as the user behind the first prompt: by the user, or by the program.
    fn user(&mut self, emitter: &mut Emitter, id: &str, content: &str, extra: &Value) {
        let behind = |begin: &str| content.strip_prefix(begin).map(str::to_owned);
        match str_of(extra, "interrupt_type") {
            Some("UserNewTask") => {
                let text = behind("The user added a new task: ");
                return self.prompt(emitter, id, text.unwrap_or_else(|| content.to_owned()));
            }
            Some("FormatError") => {
                self.answer(emitter, &format!("{id}.answer"), extra);
                let why = between(content, "<error>", "</error>").unwrap_or(content);
                return self.notice(emitter, "warning", why.trim());
            }
            Some(_) => {
                let text = content.rsplit_once("with the following message: ");
                let text = text.map(|(_, text)| text.to_owned());
                return match text.or_else(|| behind("Interrupted by user: ")) {
                    Some(text) => self.track.steer(emitter, &format!("{id}:user"), said(text)),
                    None => self.notice(emitter, "info", content),
                };
            }
            None => {}
        }
        let own = list_of(extra, "actions");
        if !own.is_empty() {
            return self.calls(emitter, id, own.iter().map(|own| (None, own.clone())));
        }
        // 1.x: what a command printed, else what the program says to an answer without one.
        match answers::result_in(content).filter(|_| !self.waits.is_empty()) {
            Some((code, output)) => self.give(emitter, None, &output, Some(code), None),
            None if content.is_empty() => emitter.pass_over("user"),
            None => self.notice(emitter, "warning", content),
        }
    }

    fn notice(&self, emitter: &mut Emitter, level: &str, text: &str) {
        emitter.notice(level, &self.track.place(), FORMAT, text);
    }

    fn answer(&mut self, emitter: &mut Emitter, id: &str, message: &Value) {
        let answer = Answer::of(message);
        self.track.need_turn(emitter, &format!("t-{id}"));
        let own = answer.id.as_deref().unwrap_or(id).to_owned();
        for (n, thought) in (0..).zip(&answer.thoughts) {
            self.track.thought(emitter, &own, n, thought, false);
        }
        self.track.text(emitter, &own, 0, &answer.text);
        if let Some(usage) = answer.usage {
            self.has_costs |= usage.cost_usd.is_some();
            let place = self.track.place().in_response(&own);
            emitter.add_as(&format!("{own}:usage"), &place, usage);
        }
        self.calls(emitter, &own, answer.calls.into_iter());
    }

    fn calls(
        &mut self,
        emitter: &mut Emitter,
        response: &str,
        calls: impl Iterator<Item = (Option<String>, Value)>,
    ) {
        for (n, (id, action)) in calls.enumerate() {
            let id = id.unwrap_or_else(|| format!("{response}.{n}"));
            let command = str_of(&action, "command").unwrap_or("");
            let args = serde_json::json!({"command": command});
            let new = crate::track::NewCall {
                id: &id,
                response_id: response,
                name: "bash",
                args: &args,
                title: Some(crate::words::one_line(command)).filter(|it| !it.is_empty()),
                kind: "execute",
            };
            if command.contains(SUBMITS) {
                self.submits = Some(id.clone());
            }
            self.track.call(emitter, new);
            self.waits.push_back(id);
        }
    }

    fn result(&mut self, emitter: &mut Emitter, message: &Value, extra: &Value) {
        let id = text_of(message, "tool_call_id").or_else(|| text_of(message, "call_id"));
        let whole = str_of(extra, "raw_output").map(str::to_owned);
        let output = whole.unwrap_or_else(|| text_of_blocks(message.get("content")));
        let code = extra.get("returncode").and_then(Value::as_i64);
        let why = text_of(extra, "exception_info");
        self.give(emitter, id, &output, code, why);
    }

    /// A call's result: that of this id, else of the oldest that waits.
    fn give(
        &mut self,
        emitter: &mut Emitter,
        id: Option<&str>,
        output: &str,
        code: Option<i64>,
        why: Option<&str>,
    ) {
        let Some(id) = id
            .map(str::to_owned)
            .or_else(|| self.waits.front().cloned())
        else {
            return emitter.pass_over("a result without a call");
        };
        let is_not_run = why == Some("action was not executed");
        // It ends the run, or waits for what is said next.
        if is_not_run && self.submits.as_ref() == Some(&id) {
            self.has_submitted = true;
            return;
        }
        self.waits.retain(|waits| *waits != id);
        let error = why.map(|why| match is_not_run {
            true => tool_error("rejected", "the command was not run"),
            false => tool_error("error", why),
        });
        let result = ToolResult {
            result: Json::string(output),
            summary: printed(output).filter(|_| error.is_none()),
            error,
            exit_code: code.filter(|code| *code != -1),
            ..ToolResult::default()
        };
        self.track.result(emitter, &id, result);
    }

    /// The turn is over; what handed in gave `submission`.
    fn end(&mut self, emitter: &mut Emitter, info: &Value, messages: &[Value]) {
        let status = text_of(info, "exit_status");
        let submission = str_of(info, "submission").unwrap_or("");
        let submitted_by = self.submits.clone().unwrap_or_default();
        if status == Some("Submitted") {
            let result = ToolResult {
                result: Json::string(submission),
                summary: printed(submission),
                ..ToolResult::default()
            };
            self.track.result(emitter, &submitted_by, result);
        }
        let place = self.track.place();
        if submission.contains("diff --git ") {
            for edit in edits_of_patch(&submitted_by, submission) {
                emitter.add_as("run:edit", &place, edit);
            }
        }
        let stats = info.get("model_stats").unwrap_or(&Value::Null);
        let cost = amount_of(stats, "instance_cost").filter(|cost| *cost > 0.0);
        if cost.is_some() && !self.has_costs {
            let usage = Usage {
                scope: "turn".to_owned(),
                cost_usd: cost,
                ..Usage::default()
            };
            emitter.add_as("run:usage", &place, usage);
        }
        let outcome = match status {
            Some("Submitted") => "completed",
            Some(status) => {
                let exit = messages
                    .last()
                    .filter(|it| str_of(it, "role") == Some("exit"));
                let extra = exit.and_then(|exit| exit.get("extra"));
                let why = extra.and_then(|extra| text_of(extra, "exception_str"));
                let error = ErrorEvent {
                    code: status.to_owned(),
                    message: why
                        .map_or_else(|| format!("the run ended with {status}"), str::to_owned),
                    extra: Extra::default(),
                };
                emitter.add_as("run:error", &place, error);
                "failed"
            }
            // It runs yet, or was killed.
            None => "interrupted",
        };
        self.close(emitter, outcome);
    }

    fn close(&mut self, emitter: &mut Emitter, outcome: &str) {
        // A task was added when it would have handed in.
        let submits = self.submits.take();
        if let Some(id) = submits.filter(|_| std::mem::take(&mut self.has_submitted)) {
            let result = ToolResult {
                result: Json::string(""),
                ..ToolResult::default()
            };
            self.track.result(emitter, &id, result);
        }
        self.waits.clear();
        self.track.close_turn(emitter, ended(outcome));
    }
}

impl Normalizer for MiniSweAgent {
    fn line(&mut self, emitter: &mut Emitter, document: &Value) {
        if is_of(document).is_none() {
            let place = self.track.place();
            return emitter.raw(&place, FORMAT, "no trajectory", document);
        }
        let info = document.get("info").unwrap_or(&Value::Null);
        let messages = list_of(document, "messages");
        // What stands before the first time was said right before it.
        if let Some(time_ms) = messages.iter().find_map(answers::time_of) {
            emitter.time_ms = time_ms;
        }
        self.facts(emitter, info);
        let asked = messages
            .iter()
            .position(|it| str_of(it, "role") == Some("user"));
        for (n, message) in messages.iter().enumerate() {
            if let Some(time_ms) = answers::time_of(message) {
                emitter.time_ms = time_ms;
            }
            if Some(n) == asked {
                let content = text_of_blocks(message.get("content"));
                let task = answers::task_in(&content, info).map(str::to_owned);
                self.prompt(emitter, &format!("m{n}"), task.unwrap_or(content));
                continue;
            }
            self.message(emitter, n, message);
        }
        self.end(emitter, info, messages);
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.close(emitter, "interrupted");
    }
}

fn said(text: String) -> Said {
    Said {
        text,
        attachments: Vec::new(),
    }
}

fn between<'t>(text: &'t str, begin: &str, end: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(begin)?;
    rest.split_once(end).map(|(inner, _)| inner)
}
