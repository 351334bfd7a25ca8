//! GitHub Copilot CLI: the events of a session's file, and of what `copilot -p … --output-format json` prints: `{type, data, id,
//! timestamp, parentId}` a line.
//!
//! | event | what it gives |
//! |---|---|
//! | `session.start`, `session.resume`, `session.model_change`, … | `session_start` (`asides`) |
//! | `user.message` | the turn before ends, a turn begins; what steers goes into the turn that is open (`prompts`) |
//! | `assistant.reasoning`, `assistant.message` | a thought; a thought, a text and calls |
//! | `tool.execution_start`, `_complete` | the call where no message said it, its result |
//! | `….requested`, `….completed`; a call of `ask_user`, `human_response.recorded` | what is asked, and the answer (`asks`) |
//! | `assistant.message_delta`, `tool.shell_output`, … | `pieces` |
//! | `assistant.usage`, `session.usage_record`; `session.shutdown` | what an answer used; what the session did (`used`) |
//! | `subagent.…`, `agentId` | who works within which call (`agents`) |
//! | `session.error`, `abort` | an error, an interrupt |
//! | `session.compaction_complete`, `session.snapshot_rewind` | a compaction; a notice that names the turns that were left |
//! | `session.info`, `system.notification` | a notice |
//! | `assistant.turn_end` behind an answer without calls | the turn's end, once no agent works in the background |
//! | `session.idle`, `assistant.idle`, `session.shutdown`, `result` | the turn's end |
//! | hooks, prompts of the system, bookkeeping | passed over |
//!
//! `assistant.turn_start` and `_end` stand around one answer of many in a turn; 1.0.11 wrote the end before the text at times,
//! and what follows an answer there ended nothing. Seen: 1.0.11 and 1.0.77, in public fixtures only; 1.0.102, its files and what
//! it prints; what they lack after the program's published types.
//!
//! Calls are in `calls`.

mod agents;
mod answers;
mod asides;
mod asks;
mod calls;
mod pieces;
mod prompts;
mod used;

use chat_event::Extra;
use chat_event::payload::{ErrorEvent, Interrupt};
use serde_json::Value;

use crate::codex::Files;
use crate::dialect::{Form, Normalizer, Origin, Profile, Sessions};
use crate::emit::Emitter;
use crate::reader::Context;
use crate::set_back::Standing;
use crate::track::{Track, ended};
use crate::value::{millis_of_rfc3339, str_of, text_of};
use agents::Agents;
use asks::Asks;
use pieces::{Pieces, Printed};
use prompts::Assets;
use used::Written;

pub(crate) static PROFILE: Profile = Profile {
    word: "copilot",
    name: "Copilot CLI events",
    form: Form::Lines,
    origin: Origin::File,
    sessions: Sessions::One,
    tells_turn_end: false,
    tells_edits_late: false,
    recognise: is_of,
    session_of,
    make: |context| Box::new(Copilot::new(context)),
};

const FORMAT: &str = "copilot";

/// Whether a line is of this dialect.
fn is_of(value: &Value) -> Option<bool> {
    let kind = str_of(value, "type")?;
    let is = (kind.contains('.') || kind == "abort")
        && value.get("data").is_some_and(Value::is_object)
        && text_of(value, "id").is_some()
        && text_of(value, "timestamp").is_some()
        && value.get("parentId").is_some();
    is.then_some(true)
}

/// The session a line names.
fn session_of(value: &Value) -> Option<String> {
    is_of(value)?;
    text_of(value.get("data")?, "sessionId").map(str::to_owned)
}

/// Reads it.
#[derive(Debug)]
pub(crate) struct Copilot {
    track: Track,
    /// What patches made of files.
    files: Files,
    /// How the turn would end now.
    outcome: &'static str,
    /// It was stopped, or the program began anew: what it had begun does not come back.
    stopped: bool,
    /// A hash of the thought that was told last; the answer repeats it.
    thought: u64,
    /// What comes in pieces now.
    thinking: Pieces,
    writing: Pieces,
    written: Option<Written>,
    /// What calls that run printed so far.
    printed: Printed,
    asks: Asks,
    agents: Agents,
    /// Bytes that come before the prompt to which they belong.
    assets: Assets,
    /// Which answer of the turn was without calls, so that its end is the turn's; and whether that came.
    answered: Option<String>,
    is_answered: bool,
    /// What the session is called, where that stands elsewhere.
    title: Option<String>,
    /// Where the program was started, for a run, which does not say it.
    cwd: Option<String>,
    /// The turns that stand.
    standing: Standing,
    last_ms: Option<i64>,
}

impl Copilot {
    pub(crate) fn new(context: &Context) -> Self {
        Copilot {
            track: Track::new(),
            files: Files::default(),
            outcome: "interrupted",
            stopped: false,
            thought: 0,
            thinking: Pieces::default(),
            writing: Pieces::default(),
            written: None,
            printed: Printed::default(),
            asks: Asks::default(),
            agents: Agents::default(),
            assets: Assets::default(),
            answered: None,
            is_answered: false,
            title: context.title.clone(),
            cwd: context.cwd.clone(),
            standing: Standing::default(),
            last_ms: None,
        }
    }

    /// Begins a turn where none is open: work came without a prompt.
    fn need_turn(&mut self, emitter: &mut Emitter, id: &str) {
        if self.track.turn_id().is_none() {
            self.open_turn(emitter, id, "system");
        }
    }

    fn open_turn(&mut self, emitter: &mut Emitter, id: &str, trigger: &str) {
        self.track.open_turn(emitter, id, trigger);
        if let Some(turn_id) = self.track.turn_id() {
            self.standing.begin(turn_id);
        }
    }

    fn close(&mut self, emitter: &mut Emitter) {
        self.tell_written(emitter);
        self.close_pieces(emitter);
        self.expire(emitter);
        self.track.leave_all();
        self.track.close_turn(emitter, ended(self.outcome));
        self.printed.clear();
        (self.answered, self.is_answered) = (None, false);
        self.outcome = "interrupted";
        self.stopped = false;
        self.thought = 0;
    }
}

impl Normalizer for Copilot {
    fn line(&mut self, emitter: &mut Emitter, event: &Value) {
        let time_ms = text_of(event, "timestamp").and_then(millis_of_rfc3339);
        self.last_ms = time_ms.or(self.last_ms);
        if let Some(time_ms) = self.last_ms {
            emitter.time_ms = time_ms;
        }
        emitter.begin_line(text_of(event, "id"));
        let id = emitter.line_id().to_owned();
        let kind = str_of(event, "type").unwrap_or("");
        let data = event.get("data").unwrap_or(&Value::Null);
        let is_agents = self.enter(event, data);
        let place = self.track.place();
        let is_passing = event.get("ephemeral") == Some(&Value::Bool(true));
        if kind != "assistant.usage" && !is_passing {
            self.tell_written(emitter);
        }
        match kind {
            "user.message" if is_agents => emitter.pass_over("the prompt of a sub-agent"),
            "user.message" => self.prompt(emitter, &id, data),
            "session.binary_asset" => self.assets.take(emitter, data),
            "assistant.turn_start" if !is_agents => self.begin_answer(emitter, &id),
            "assistant.turn_end" if !is_agents => self.end_answer(emitter, data),
            "assistant.reasoning" => {
                self.need_turn(emitter, &id);
                let response = text_of(data, "reasoningId").unwrap_or(&id);
                self.think(emitter, response, str_of(data, "content").unwrap_or(""));
            }
            "assistant.message" => self.answer(emitter, &id, data),
            "assistant.message_delta" => self.piece(emitter, &id, false, data),
            "assistant.reasoning_delta" => self.piece(emitter, &id, true, data),
            "assistant.tool_call_delta" => self.input(emitter, &id, data),
            "assistant.usage" => self.spent(emitter, data),
            "session.usage_record" => {
                self.spent(emitter, data.get("usage").unwrap_or(&Value::Null));
            }
            "tool.execution_start" => {
                let call_id = text_of(data, "toolCallId").unwrap_or("");
                if self.track.waiting(call_id).is_none() {
                    self.need_turn(emitter, &id);
                    let name = str_of(data, "toolName").unwrap_or("");
                    self.call(emitter, &id, data, name, None);
                }
                self.asks_by_call(emitter, data);
            }
            "tool.execution_partial_result" | "tool.execution_progress" | "tool.shell_output" => {
                self.runs_on(emitter, data);
            }
            "tool.execution_complete" => self.result(emitter, event, data),
            "permission.requested" | "exit_plan_mode.requested" => self.asks_leave(emitter, data),
            "user_input.requested" | "elicitation.requested" => self.asks_question(emitter, data),
            "human_response.recorded" => self.responds(emitter, kind, event),
            "permission.completed"
            | "exit_plan_mode.completed"
            | "user_input.completed"
            | "elicitation.completed" => self.answers(emitter, data),
            "model.call_failure" if self.track.turn_id().is_some() => {
                let why = text_of(data, "errorMessage").or_else(|| text_of(data, "errorType"));
                emitter.retrying(&place, why.map(str::to_owned));
            }
            // What else it says of a request has the whole conversation in it, or nothing.
            _ if kind.starts_with("model.") => emitter.pass_over(kind),
            "session.error" => {
                let error = ErrorEvent {
                    code: text_of(data, "errorType").unwrap_or("error").to_owned(),
                    message: str_of(data, "message").unwrap_or("").to_owned(),
                    extra: Extra::default(),
                };
                emitter.add("error", &place, error);
                if !is_agents {
                    self.outcome = "failed";
                    self.stopped = true;
                }
            }
            "abort" if is_agents => emitter.pass_over("a sub-agent was stopped"),
            "abort" => {
                let interrupt = Interrupt {
                    reason: "user_cancel".to_owned(),
                    extra: Extra::default(),
                };
                emitter.add("interrupt", &place, interrupt);
                self.outcome = "interrupted";
                self.stopped = true;
            }
            // Only what a run prints says that the agent rests.
            "session.idle" => self.close(emitter),
            "assistant.idle" if !is_agents && !self.agents.any_work() => self.close(emitter),
            "session.shutdown" => {
                self.used(emitter, data);
                self.agents.all_rest(emitter);
                self.close(emitter);
            }
            // The last word of a run.
            "result" => {
                let failed = event.get("exitCode").and_then(Value::as_i64).unwrap_or(0) != 0;
                if failed && self.outcome == "completed" {
                    self.outcome = "failed";
                }
                self.close(emitter);
                emitter.pass_over(kind);
            }
            _ => self.aside(emitter, &place, kind, event, is_agents),
        }
    }

    fn rest(&mut self, emitter: &mut Emitter) {
        self.tell_written(emitter);
        // Calls that ran then have told their ends by now, if ever.
        if self.stopped {
            self.close(emitter);
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        if let Some(time_ms) = self.last_ms {
            emitter.time_ms = time_ms;
        }
        self.close(emitter);
    }
}
