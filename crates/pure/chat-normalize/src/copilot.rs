//! GitHub Copilot CLI: the events of a session's file, and of what `copilot -p … --output-format json` prints: `{type, data, id,
//! timestamp, parentId}` a line.
//!
//! | event | what it gives |
//! |---|---|
//! | `session.start`, `session.resume`, `session.model_change`, … | `session_start` (`asides`) |
//! | `user.message` | the turn before ends, a turn begins; while a call runs, the turn goes on |
//! | `assistant.reasoning`, `assistant.message` | a thought; a thought, a text and calls |
//! | `tool.execution_start`, `_complete` | the call where no message said it, its result |
//! | `….requested`, `….completed` | what is asked, and the answer (`asks`) |
//! | `assistant.message_delta`, `tool.execution_partial_result`, `assistant.usage`, … | `pieces` |
//! | `session.error`, `abort` | an error, an interrupt |
//! | `session.compaction_complete`, `session.snapshot_rewind` | a compaction; a notice that names the turns that were left |
//! | `session.info`, `system.notification` | a notice |
//! | `session.idle`, `session.shutdown`, `result` | the turn's end; what the session used |
//! | hooks, prompts of the system, bookkeeping | passed over |
//!
//! `parentToolCallId` names the call within which an agent works. `assistant.turn_start` and `_end` stand around one
//! answer, sometimes before its text, so they end nothing. Seen: 1.0.11 and 1.0.77, in public fixtures only; what they lack after
//! the program's published types.
//!
//! Calls are in `calls`.

mod asides;
mod asks;
mod calls;
mod pieces;

use chat_event::Extra;
use chat_event::payload::{ErrorEvent, Interrupt, Usage};
use serde_json::{Value, json};

use crate::codex::Files;
use crate::dialect::{Form, Normalizer, Origin, Profile, Sessions};
use crate::emit::Emitter;
use crate::set_back::Standing;
use crate::track::{Said, Track, ended};
use crate::value::{count_of, list_of, millis_of_rfc3339, str_of, text_of};
use asks::Asks;
use pieces::{Open, Written};

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
    make: |_| Box::new(Copilot::new()),
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
    thinking: Option<Open>,
    writing: Option<Open>,
    written: Option<Written>,
    asks: Asks,
    /// The turns that stand.
    standing: Standing,
    last_ms: Option<i64>,
}

impl Copilot {
    pub(crate) fn new() -> Self {
        Copilot {
            track: Track::new(),
            files: Files::default(),
            outcome: "interrupted",
            stopped: false,
            thought: 0,
            thinking: None,
            writing: None,
            written: None,
            asks: Asks::default(),
            standing: Standing::default(),
            last_ms: None,
        }
    }

    fn prompt(&mut self, emitter: &mut Emitter, id: &str, data: &Value) {
        let attachments = list_of(data, "attachments").iter().map(|attachment| {
            json!({
                "name": str_of(attachment, "displayName"),
                "mediaType": "application/octet-stream",
                "ref": str_of(attachment, "path").unwrap_or(""),
            })
        });
        let said = Said {
            text: str_of(data, "content").unwrap_or("").to_owned(),
            attachments: attachments.collect(),
        };
        if self.track.waits() && !self.stopped {
            return self.track.steer(emitter, &format!("{id}:user"), said);
        }
        self.close(emitter);
        self.track.open_turn(emitter, id, "user");
        if let Some(turn_id) = self.track.turn_id() {
            self.standing.begin(turn_id);
        }
        let id = format!("{}:user", self.track.turn_id().unwrap_or(""));
        self.track.user(emitter, &id, said);
    }

    fn answer(&mut self, emitter: &mut Emitter, id: &str, data: &Value) {
        self.track.need_turn(emitter, id);
        self.stopped = false;
        let response = text_of(data, "messageId").unwrap_or(id);
        self.think(
            emitter,
            response,
            str_of(data, "reasoningText").unwrap_or(""),
        );
        let text = str_of(data, "content").unwrap_or("");
        let open = self.writing.take();
        if text.is_empty() {
            // It was cut off.
            self.close_piece(emitter, open, false);
        }
        self.track.text(emitter, response, 0, text);
        let requests = list_of(data, "toolRequests");
        for request in requests {
            let name = str_of(request, "name").unwrap_or("");
            let title = text_of(request, "intentionSummary");
            self.call(emitter, response, request, name, title);
        }
        self.wrote(emitter, response, data);
        if self.track.parent().is_none() {
            let done = requests.is_empty() && !text.is_empty();
            self.outcome = if done { "completed" } else { "interrupted" };
        }
    }

    /// What the whole session used, all models together: figures of a session stand for those before them.
    fn used(&mut self, emitter: &mut Emitter, data: &Value) {
        let models = data.get("modelMetrics").and_then(Value::as_object);
        let plus = |one: Option<u64>, more: Option<u64>| {
            one.map_or(more, |one| Some(one.saturating_add(more.unwrap_or(0))))
        };
        let mut all: Option<Usage> = None;
        for (model, metrics) in models.into_iter().flatten() {
            let usage = metrics.get("usage").unwrap_or(&Value::Null);
            let Some(input) = count_of(usage, "inputTokens") else {
                continue;
            };
            let read = count_of(usage, "cacheReadTokens");
            let written = count_of(usage, "cacheWriteTokens");
            let in_cache = read.unwrap_or(0).saturating_add(written.unwrap_or(0));
            let usage = Usage {
                scope: "session".to_owned(),
                cumulative: Some(true),
                input_tokens: input.saturating_sub(in_cache),
                output_tokens: count_of(usage, "outputTokens").unwrap_or(0),
                cache_read_tokens: read,
                cache_write_tokens: written,
                model: Some(model.clone()),
                ..Usage::default()
            };
            all = Some(match all {
                None => usage,
                Some(all) => Usage {
                    input_tokens: all.input_tokens.saturating_add(usage.input_tokens),
                    output_tokens: all.output_tokens.saturating_add(usage.output_tokens),
                    cache_read_tokens: plus(all.cache_read_tokens, usage.cache_read_tokens),
                    cache_write_tokens: plus(all.cache_write_tokens, usage.cache_write_tokens),
                    model: None,
                    ..all
                },
            });
        }
        if let Some(usage) = all {
            emitter.add("usage", &self.track.place(), usage);
        }
    }

    fn close(&mut self, emitter: &mut Emitter) {
        self.tell_written(emitter);
        self.close_pieces(emitter);
        self.expire(emitter);
        self.track.leave_all();
        self.track.close_turn(emitter, ended(self.outcome));
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
        self.track.within(text_of(data, "parentToolCallId"));
        let place = self.track.place();
        let is_passing = event.get("ephemeral") == Some(&Value::Bool(true));
        if kind != "assistant.usage" && !is_passing {
            self.tell_written(emitter);
        }
        match kind {
            "user.message" => self.prompt(emitter, &id, data),
            "assistant.reasoning" => {
                self.track.need_turn(emitter, &id);
                let response = text_of(data, "reasoningId").unwrap_or(&id);
                self.think(emitter, response, str_of(data, "content").unwrap_or(""));
            }
            "assistant.message" => self.answer(emitter, &id, data),
            "assistant.message_delta" => self.piece(emitter, &id, false, data),
            "assistant.reasoning_delta" => self.piece(emitter, &id, true, data),
            "assistant.tool_call_delta" => self.input(emitter, &id, data),
            "assistant.usage" => self.spent(emitter, data),
            "tool.execution_start" => {
                let call_id = text_of(data, "toolCallId").unwrap_or("");
                if self.track.waiting(call_id).is_none() {
                    self.track.need_turn(emitter, &id);
                    let name = str_of(data, "toolName").unwrap_or("");
                    self.call(emitter, &id, data, name, None);
                }
            }
            "tool.execution_partial_result" | "tool.execution_progress" => {
                self.runs_on(emitter, data);
            }
            "tool.execution_complete" => self.result(emitter, event, data),
            "permission.requested" | "exit_plan_mode.requested" => self.asks_leave(emitter, data),
            "user_input.requested" | "elicitation.requested" => self.asks_question(emitter, data),
            "permission.completed"
            | "exit_plan_mode.completed"
            | "user_input.completed"
            | "elicitation.completed" => self.answers(emitter, data),
            "model.call_failure" if self.track.turn_id().is_some() => {
                let why = text_of(data, "errorMessage").or_else(|| text_of(data, "errorType"));
                emitter.retrying(&place, why.map(str::to_owned));
            }
            "model.call_failure" => emitter.pass_over(kind),
            "session.error" => {
                let error = ErrorEvent {
                    code: text_of(data, "errorType").unwrap_or("error").to_owned(),
                    message: str_of(data, "message").unwrap_or("").to_owned(),
                    extra: Extra::default(),
                };
                emitter.add("error", &place, error);
                self.outcome = "failed";
                self.stopped = true;
            }
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
            "session.shutdown" => {
                self.used(emitter, data);
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
            _ => self.aside(emitter, &place, kind, event),
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
