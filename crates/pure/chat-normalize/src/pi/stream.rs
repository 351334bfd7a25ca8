//! `pi --mode json` (and the events of its RPC mode): answers in pieces, then the messages as a whole.
//!
//! | line | what it gives |
//! |---|---|
//! | `session` | `session_start` |
//! | `message_start`, `message_end` | the message; an answer's pieces come between |
//! | `message_update` | a piece of a text, a thought or a call's arguments; the whole block at its end |
//! | `tool_execution_start`, `_update`, `_end` | the call, what it prints, its result |
//! | `agent_end` | the turn's end, unless the answer failed and is tried again |
//! | `auto_retry_start`, `auto_retry_end` | the session is `retrying`; goes on |
//! | `summarization_retry_scheduled`, `_finished` | the same |
//! | `compaction_end` | the compaction |
//! | `session_info_changed`, `thinking_level_changed`, `entry_appended` | what is known of the session, what was used |
//! | `response` to a command, with `success: false` | an error where a prompt began nothing, else a notice |
//! | … to `get_state`, to `bash` | what is known of the session; a command of the user's own, as a call |
//!
//! `turn_start` and `turn_end` are this program's words for one answer and its calls; they are passed over. Up to 0.83 every
//! update repeated the answer so far, which is not looked at.
//!
//! What an answer is made of is in `answer`, what the RPC mode answers in `responses`.

mod answer;
mod responses;

use std::collections::HashMap;

use chat_event::Extra;
use chat_event::payload::{ErrorEvent, ToolOutputChunk};
use serde_json::{Value, json};

use super::is_header;
use super::talk::{Blocks, Talk};
use crate::dialect::Normalizer;
use crate::emit::{Emitter, hash};
use crate::value::{is_true, list_of, str_of, text_of};
use answer::Answer;
pub(super) use responses::state_of;

/// Whether a line is of this dialect.
pub(crate) fn is_stream_line(value: &Value) -> Option<bool> {
    let members = value.as_object()?;
    let is = match str_of(value, "type")? {
        "agent_start" => members.len() == 1,
        "message_start" | "message_end" => {
            let message = value.get("message")?;
            str_of(message, "role").is_some()
                && message.get("timestamp").is_some_and(Value::is_number)
        }
        "message_update" => value
            .get("assistantMessageEvent")
            .is_some_and(Value::is_object),
        // RPC mode has no first line that names the session.
        "response" => state_of(value).is_some(),
        "tool_execution_start" | "tool_execution_update" | "tool_execution_end" => {
            text_of(value, "toolCallId").is_some() && str_of(value, "toolName").is_some()
        }
        _ => false,
    };
    is.then_some(true)
}

/// Reads it.
#[derive(Debug)]
pub(crate) struct PiStream {
    talk: Talk,
    /// What the user asked, where the stream does not say it.
    prompt: Option<String>,
    open: Option<Answer>,
    /// The time of the prompt that was told last: it is said twice.
    prompted: Option<Value>,
    /// How much was printed by each call that runs, and a hash of it.
    printed: HashMap<String, (usize, u64)>,
    /// The run ended with a failure; the next line says whether it is tried again.
    is_failing: bool,
}

impl PiStream {
    /// `prompt` is what the user asked, where that is known.
    pub(crate) fn new(prompt: Option<String>) -> Self {
        let mut talk = Talk::new("pi-json");
        talk.is_stream = true;
        PiStream {
            talk,
            prompt,
            open: None,
            prompted: None,
            printed: HashMap::new(),
            is_failing: false,
        }
    }

    /// An answer begins, or goes on.
    fn open(&mut self, emitter: &mut Emitter, message: &Value) -> Answer {
        if let Some(open) = self.open.take() {
            return open;
        }
        if let Some(prompt) = self.prompt.take() {
            let asked = json!({"content": prompt, "timestamp": message.get("timestamp")});
            self.talk.user(emitter, &asked);
        }
        Answer {
            response: self.talk.response(emitter, message),
            blocks: Blocks::default(),
            n_pieces: 0,
            inputs: HashMap::new(),
        }
    }

    /// What a call printed so far; only what is new is told.
    fn printed(&mut self, emitter: &mut Emitter, line: &Value) {
        let id = text_of(line, "toolCallId").unwrap_or("");
        let result = line.get("partialResult").unwrap_or(&Value::Null);
        let details = result.get("details").unwrap_or(&Value::Null);
        self.talk.agents(emitter, id, details);
        let texts = list_of(result, "content")
            .iter()
            .filter_map(|block| str_of(block, "text"));
        let text: String = texts.collect::<Vec<_>>().join("\n");
        let Some(call) = self.talk.track.waiting(id) else {
            return emitter.pass_over("output of no call");
        };
        let (n_bytes, before) = self.printed.get(id).copied().unwrap_or((0, hash(b"")));
        let is_more = text
            .get(..n_bytes)
            .is_some_and(|old| hash(old.as_bytes()) == before);
        if !is_more {
            // Of long output the last part is shown; the result has what is kept of it.
            return emitter.pass_over("output that lost its beginning");
        }
        if text.len() > n_bytes {
            let chunk = ToolOutputChunk {
                tool_call_id: call.id.clone(),
                chunk: text[n_bytes..].to_owned(),
                ..ToolOutputChunk::default()
            };
            emitter.add_as(&format!("{}:output{n_bytes}", call.id), &call.place, chunk);
            let now = (text.len(), hash(text.as_bytes()));
            self.printed.insert(id.to_owned(), now);
        }
    }

    fn retry_ended(&mut self, emitter: &mut Emitter, line: &Value) {
        let place = self.talk.track.place();
        emitter.goes_on(&place);
        let why = text_of(line, "finalError").filter(|_| !is_true(line, "success"));
        // The answer that failed last said so itself.
        let told = self.talk.failed.take();
        if let Some(why) = why.filter(|why| told.as_deref() != Some(*why)) {
            let payload = ErrorEvent {
                code: "retries_failed".to_owned(),
                message: why.to_owned(),
                extra: Extra::default(),
            };
            emitter.add("error", &place, payload);
        }
    }

    fn close(&mut self, emitter: &mut Emitter) {
        self.open = None;
        self.printed.clear();
        self.is_failing = false;
        self.talk.close(emitter);
    }
}

impl Normalizer for PiStream {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        self.talk.at(emitter, None);
        let kind = str_of(line, "type").unwrap_or("");
        let message = line.get("message").unwrap_or(&Value::Null);
        if self.is_failing && !matches!(kind, "auto_retry_start" | "auto_retry_end") {
            self.close(emitter);
        }
        match kind {
            "session" if is_header(line) => {
                self.close(emitter);
                self.talk.header(emitter, line);
            }
            "message_start" => self.message_start(emitter, message),
            "message_update" => self.update(emitter, line),
            "message_end" => self.message_end(emitter, message),
            "tool_execution_start" => {
                let id = text_of(line, "toolCallId").unwrap_or("");
                let parent = text_of(line, "parentToolCallId");
                let parent = parent.filter(|id| self.talk.track.waiting(id).is_some());
                match (self.talk.track.waiting(id), parent) {
                    (Some(_), _) => {}
                    (None, Some(parent)) if !id.is_empty() => {
                        let name = str_of(line, "toolName").unwrap_or("");
                        let args = line.get("args").unwrap_or(&Value::Null);
                        self.talk.nested_call(emitter, parent, id, name, args);
                    }
                    (None, _) => {
                        let response = self.talk.response(emitter, line);
                        self.talk.call(emitter, &response, line, line.get("args"));
                    }
                }
            }
            "tool_execution_update" => self.printed(emitter, line),
            "tool_execution_end" => {
                self.printed
                    .remove(text_of(line, "toolCallId").unwrap_or(""));
                self.talk.result(emitter, line, false);
            }
            "agent_end" if is_true(line, "willRetry") => emitter.pass_over("agent_end"),
            // The next line says whether it is tried again.
            "agent_end" if self.talk.outcome == "failed" && line.get("willRetry").is_none() => {
                self.is_failing = true;
            }
            "agent_end" => self.close(emitter),
            "auto_retry_start" => {
                self.is_failing = false;
                let why = text_of(line, "errorMessage").map(str::to_owned);
                emitter.retrying(&self.talk.track.place(), why);
            }
            "auto_retry_end" => self.retry_ended(emitter, line),
            "compaction_end" | "auto_compaction_end" => match line.get("result") {
                Some(result) if result.is_object() => {
                    let trigger = match str_of(line, "reason") {
                        Some("manual") => "manual",
                        _ => "auto",
                    };
                    self.talk.compaction(emitter, result, trigger);
                }
                _ => {
                    let why = text_of(line, "errorMessage").unwrap_or("the compaction was stopped");
                    emitter.notice("warning", &self.talk.track.place(), "pi", why);
                }
            },
            "summarization_retry_scheduled" => {
                let why = text_of(line, "errorMessage").map(str::to_owned);
                emitter.retrying(&self.talk.track.place(), why);
            }
            "summarization_retry_finished" => emitter.goes_on(&self.talk.track.place()),
            "session_info_changed" => self.talk.named(emitter, text_of(line, "name")),
            "thinking_level_changed" => {
                self.talk.works_with(emitter, None, text_of(line, "level"));
            }
            "entry_appended" => self.appended(emitter, line),
            "response" => self.response(emitter, line),
            "extension_error" => {
                let why = text_of(line, "error").unwrap_or("an extension failed");
                emitter.notice("warning", &self.talk.track.place(), "pi", why);
            }
            "agent_start"
            | "agent_settled"
            | "turn_start"
            | "turn_end"
            | "compaction_start"
            | "auto_compaction_start"
            | "queue_update"
            | "summarization_retry_attempt_start"
            // The whole of it comes with the response.
            | "bash_execution_update" => {
                emitter.pass_over(kind);
            }
            _ => {
                let place = self.talk.track.place();
                emitter.raw(&place, self.talk.format, kind, line);
            }
        }
    }

    fn rest(&mut self, emitter: &mut Emitter) {
        // It is tried again at once, or not at all.
        if self.is_failing {
            self.close(emitter);
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        // A run that failed, and was not tried again, was over.
        let cut_off = self.talk.track.turn_id().is_some() && !self.is_failing;
        self.talk.finish(emitter);
        emitter.end_of_stream(cut_off);
    }
}
