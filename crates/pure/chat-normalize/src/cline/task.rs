//! The messages of a task, one by one.
//!
//! | message | what it gives |
//! |---|---|
//! | the first `task` or `text` | a prompt: a turn begins |
//! | `text`, `reasoning`, `completion_result` | a text or a thought; with the last the turn is about to end |
//! | `api_req_started` | a response begins; what the calls before it gave; in the end its tokens and costs |
//! | `tool`, `command`, `use_mcp_server`, `browser_action`, `use_subagents` | a call, asked for or not |
//! | `command_output`, `mcp_server_response`, `browser_action_result`, `subagent` | what a call gives |
//! | `followup` | a question; `user_feedback` behind it is the answer |
//! | `user_feedback` | a prompt, where the turn is over; else a word to the agent at work |
//! | `task_progress`, `user_edit_todos` | a plan |
//! | `completion_result` asked, `plan_mode_respond`, `resume_task` | the turn is over |
//! | `api_req_failed`, `error_retry`, `api_req_retry_delayed` | an error, a retry |
//! | `condense_context`, `compaction`, `sliding_window_truncation` | a compaction |
//! | errors, warnings and other words of the program | a notice |
//!
//! Whether a call that is asked for asks a person is known of Cline alone: Roo Code and Kilo Code ask for each call, and
//! answer themselves what is allowed. Of a `tool` Roo Code notes that it was (`isAnswered`); of a `command` nothing shows it
//! before something is printed, for what is allowed stands among the editor's own settings.

use chat_event::payload::{Plan, SessionStart};
use serde_json::{Map, Value};

use super::FORMAT;
use super::asks::{answer_question, ask_question};
use super::calls::Calls;
use super::changes::Sight;
use super::lines::Message;
use super::said::{Speech, checklist};
use super::task_line::TaskLine;
use crate::ask::Ask;
use crate::dialect::Normalizer;
use crate::emit::{Emitter, hash};
use crate::reader::Context;
use crate::run_track::RunTrack;
use crate::speech::Kind;
use crate::tool::todo_list;
use crate::value::{list_of, str_of, text_of};

/// Behind a result: files were changed.
const HAS_CHANGES: &str = "HAS_CHANGES";

/// Reads them.
#[derive(Debug)]
pub(super) struct ClineTask {
    pub(super) run: RunTrack,
    /// Whether the first message came.
    begun: bool,
    /// Which program wrote it, once that shows, and whether that was told from outside.
    agent: Option<&'static str>,
    is_told_whose: bool,
    pub(super) speech: Speech,
    /// The last message that was whole: its time, and a hash of what it says.
    last: Option<(i64, u64)>,
    /// A call or a question that grows.
    pub(super) growing: Option<Value>,
    pub(super) calls: Calls,
    pub(super) question: Option<Ask>,
    /// The response, and what is known of its request.
    pub(super) response: Option<String>,
    pub(super) request: Option<Value>,
    /// The list as it was told last.
    list: u64,
    /// How the turn would end now.
    pub(super) outcome: &'static str,
    /// When the last message came.
    pub(super) worked_ms: Option<i64>,
    pub(super) sight: Sight,
}

impl ClineTask {
    pub(super) fn new(context: &Context) -> Self {
        ClineTask {
            run: RunTrack::new(context),
            begun: false,
            agent: context.agent.as_deref().and_then(named),
            is_told_whose: context.agent.as_deref().and_then(named).is_some(),
            speech: Speech::default(),
            last: None,
            growing: None,
            calls: Calls::default(),
            question: None,
            response: None,
            request: None,
            list: 0,
            outcome: "interrupted",
            worked_ms: None,
            sight: Sight::default(),
        }
    }

    /// Whose task it is, and which model works.
    fn about(&mut self, emitter: &mut Emitter, message: &Message<'_>) {
        let has = |key: &str| message.value.get(key).is_some();
        let is_clines = has("conversationHistoryIndex")
            || has("modelInfo")
            || matches!(
                message.kind,
                "task" | "task_progress" | "checkpoint_created"
            );
        let known = match message.kind {
            "api_req_started" if message.text.contains("\"inferenceProvider\"") => {
                Some("Kilo Code")
            }
            "api_req_started" if message.text.contains("\"apiProtocol\"") => Some("Roo Code"),
            "checkpoint_saved" => Some("Roo Code"),
            _ => None,
        };
        // What both have shows nothing against what one of them has.
        match (self.agent, known) {
            _ if self.is_told_whose => {}
            (None, _) if is_clines => self.agent = Some("Cline"),
            (None | Some("Roo Code"), Some(known)) => self.agent = Some(known),
            _ => {}
        }
        let model = message.value.get("modelInfo");
        let model = model.and_then(|info| text_of(info, "modelId"));
        if self.begun && model.is_none() && known.is_none() {
            return;
        }
        let is_new = !self.run.track.facts.begun() && message.ts > 0;
        let facts = SessionStart {
            agent: self.agent.map(str::to_owned),
            native_id: is_new.then(|| message.ts.to_string()),
            model: model.map(str::to_owned),
            provider: Some(FORMAT.to_owned()),
            ..SessionStart::default()
        };
        self.run.facts(emitter, facts, Map::new());
    }

    pub(super) fn message(&mut self, emitter: &mut Emitter, message: &Message<'_>) {
        let kind = match message.kind {
            "text" if !self.begun => "task",
            kind => kind,
        };
        match (kind, message.is_ask) {
            ("task" | "user_feedback", _) => self.person_speaks(emitter, message),
            ("text", _) => self.says(emitter, message, Kind::Text),
            ("reasoning", _) => self.says(emitter, message, Kind::Thinking),
            ("completion_result", false) => {
                let text = message.text.strip_suffix(HAS_CHANGES);
                let text = text.unwrap_or(message.text);
                self.says(emitter, &Message { text, ..*message }, Kind::Text);
                self.outcome = "completed";
            }
            ("plan_completion_result", _) => {
                self.says(emitter, message, Kind::Text);
                self.outcome = "completed";
            }
            ("completion_result", true) => {
                self.says(emitter, message, Kind::Text);
                self.outcome = "completed";
                if !message.grows {
                    self.close(emitter);
                }
            }
            ("plan_mode_respond" | "act_mode_respond", _) => self.responds(emitter, message),
            ("resume_task" | "resume_completed_task", _) => self.close(emitter),
            ("followup" | "mistake_limit_reached", true) => self.asks(emitter, message),
            ("api_req_started", _) => self.request(emitter, message),
            ("api_req_finished", _) => self.figures(message.json()),
            ("command_output", _) => self.calls.print(emitter, &self.run.track, message),
            ("task_progress", _) => self.plan(emitter, message.text, checklist),
            ("user_edit_todos", _) => self.plan(emitter, message.text, |text| {
                let told = serde_json::from_str(text).unwrap_or(Value::Null);
                todo_list(list_of(&told, "todos"), "content")
            }),
            _ if self.gives(emitter, message)
                || self.calls_tool(emitter, message)
                || self.compacts(emitter, message)
                || self.fails(emitter, message)
                || self.tells(emitter, message) => {}
            _ => {
                let place = self.run.track.place();
                emitter.raw(&place, FORMAT, message.kind, message.value);
            }
        }
    }

    fn says(&mut self, emitter: &mut Emitter, message: &Message<'_>, kind: Kind) {
        if message.text.is_empty() && !message.grows {
            return;
        }
        let response = self.response(emitter);
        self.calls.agent_speaks();
        let thought = text_of(message.value, "reasoning").filter(|_| kind == Kind::Text);
        if let Some(text) = thought.filter(|_| !message.grows) {
            let thought = Message { text, ..*message };
            let run = &mut self.run;
            self.speech
                .say(emitter, run, &response, Kind::Thinking, &thought);
        }
        self.speech
            .say(emitter, &mut self.run, &response, kind, message);
    }

    /// A plan is put forward, and the user's turn comes; or work goes on with it.
    fn responds(&mut self, emitter: &mut Emitter, message: &Message<'_>) {
        let told = message.json();
        let mut text = str_of(&told, "response").unwrap_or(message.text).to_owned();
        for option in list_of(&told, "options").iter().filter_map(Value::as_str) {
            text.push_str("\n- ");
            text.push_str(option);
        }
        self.says(
            emitter,
            &Message {
                text: &text,
                ..*message
            },
            Kind::Text,
        );
        if message.kind == "act_mode_respond" || !message.is_ask {
            return;
        }
        self.outcome = "completed";
        self.close(emitter);
        if let Some(text) = text_of(&told, "selected") {
            self.person_speaks(emitter, &Message { text, ..*message });
        }
    }

    pub(super) fn asks(&mut self, emitter: &mut Emitter, message: &Message<'_>) {
        let selected = message.json();
        let selected = text_of(&selected, "selected");
        let id = format!("q{}", message.ts);
        // Its message comes again when it was answered.
        if let Some(question) = self.question.take_if(|it| it.request_id == id) {
            match selected {
                Some(selected) => answer_question(emitter, question, selected),
                None => self.question = Some(question),
            }
            return;
        }
        let response = self.response(emitter);
        self.expire(emitter);
        let ask = ask_question(emitter, &mut self.run.track, &response, message);
        match selected {
            Some(selected) => answer_question(emitter, ask, selected),
            None => self.question = Some(ask),
        }
    }

    fn plan(&mut self, emitter: &mut Emitter, text: &str, of: impl Fn(&str) -> Plan) {
        let print = hash(text.as_bytes());
        if self.list == print {
            return emitter.pass_over("a list as it was");
        }
        self.list = print;
        emitter.add("plan", &self.run.track.place(), of(text));
    }

    fn calls_tool(&mut self, emitter: &mut Emitter, message: &Message<'_>) -> bool {
        let is_call = matches!(
            message.kind,
            "tool"
                | "command"
                | "use_mcp_server"
                | "browser_action_launch"
                | "browser_action"
                | "use_subagents"
                | "load_mcp_documentation"
                | "new_task"
        );
        if !is_call {
            return false;
        }
        let response = self.response(emitter);
        let asks_a_person = self.agent == Some("Cline");
        let track = &mut self.run.track;
        self.calls
            .call(emitter, track, &response, message, asks_a_person)
    }

    /// A message that grew and will not any more.
    fn let_go(&mut self, emitter: &mut Emitter) {
        if let Some(value) = self.growing.take()
            && let Some(message) = Message::of(&value)
        {
            emitter.begin_line(Some(&format!("m{}", message.ts)));
            self.run.at(emitter, Some(message.ts).filter(|ts| *ts > 0));
            self.message(emitter, &message);
        }
    }
}

impl Normalizer for ClineTask {
    fn line(&mut self, emitter: &mut Emitter, value: &Value) {
        if let Some(message) = value.get(TaskLine::CHANGED) {
            self.changed(emitter, message);
        } else if value.get(TaskLine::LEFT).is_some() {
            self.left(emitter, list_of(value, TaskLine::LEFT));
        } else {
            return self.tell(emitter, value);
        }
        // What is told next of the task's own is told of its last message.
        emitter.begin_line(Some(&format!("m{}", self.sight.newest_ms)));
    }

    fn rest(&mut self, emitter: &mut Emitter) {
        self.rests(emitter);
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.let_go(emitter);
        self.run.at(emitter, None);
        self.close(emitter);
    }
}

/// A program by its name.
fn named(name: &str) -> Option<&'static str> {
    ["Cline", "Roo Code", "Kilo Code"]
        .into_iter()
        .find(|it| *it == name)
}

impl ClineTask {
    /// A message of the task.
    pub(super) fn tell(&mut self, emitter: &mut Emitter, value: &Value) {
        let Some(message) = Message::of(value) else {
            if let Some(id) = text_of(value, "taskId") {
                let facts = SessionStart {
                    native_id: Some(id.to_owned()),
                    provider: Some(FORMAT.to_owned()),
                    ..SessionStart::default()
                };
                return self.run.facts(emitter, facts, Map::new());
            }
            let place = self.run.track.place();
            return emitter.raw(&place, FORMAT, "no message", value);
        };
        // The lines of a run say a message again when something else of it changed.
        let print = hash(format!("{} {}", message.kind, message.text).as_bytes());
        let is_again = self.last == Some((message.ts, print)) && message.ts > 0;
        if is_again && !message.grows {
            return emitter.report.repeated += 1;
        }
        self.last = Some((message.ts, print)).filter(|_| !message.grows);
        let is_same = |grown: &mut Value| Message::of(grown).is_some_and(|it| it.is_same(&message));
        self.growing.take_if(is_same);
        self.let_go(emitter);
        emitter.begin_line(Some(&format!("m{}", message.ts)));
        self.run.at(emitter, Some(message.ts).filter(|ts| *ts > 0));
        self.about(emitter, &message);
        let is_text = matches!(
            message.kind,
            "task"
                | "text"
                | "reasoning"
                | "completion_result"
                | "plan_completion_result"
                | "user_feedback"
                | "command_output"
                | "api_req_retry_delayed"
        );
        if !is_text || message.kind == "command_output" {
            self.speech.end(emitter);
        }
        if message.grows && !is_text {
            self.growing = Some(value.clone());
        } else {
            self.message(emitter, &message);
        }
        self.begun = true;
        self.worked_ms = Some(emitter.time_ms);
        self.sight.note(&message, self.run.track.turn_id());
    }
}
