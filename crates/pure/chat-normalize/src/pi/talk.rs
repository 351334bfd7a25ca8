//! The messages of Pi: prompts, answers, results, and what the program itself adds to the conversation.
//!
//! | message | what it gives |
//! |---|---|
//! | `user` | a turn; amid the work of one, a word to the agent at work |
//! | `assistant` | thoughts, texts, calls, usage; `stopReason` says how the turn would end |
//! | `toolResult` | the result, and the edit it tells |
//! | `bashExecution` | a command of the user's own, as a call |
//! | `custom` | a notice where it is shown |
//! | `system` (since 0.84) | the names of the tools; the prompt itself is passed over |
//!
//! A turn is named for its prompt's time, a response for its own.
//!
//! Calls are in `calls`, those that a call makes in `nested`, sub-agents in `agents`; what is told beside messages is in
//! `asides`.

mod agents;
mod asides;
mod calls;
mod nested;

use std::collections::BTreeMap;

use chat_event::Extra;
use chat_event::payload::{ErrorEvent, Interrupt, SessionStart};
use serde_json::{Map, Value, json};

use crate::emit::{Emitter, hash};
use crate::track::{Said, Track, ended};
use crate::value::{is_true, list_of, millis, millis_of_rfc3339, str_of, text_of};
use agents::Agents;
pub(crate) use asides::usage;

/// The conversation so far.
#[derive(Debug)]
pub(crate) struct Talk {
    pub(crate) track: Track,
    pub(crate) format: &'static str,
    /// How the turn would end now.
    pub(crate) outcome: &'static str,
    /// The agent works: it asked for calls, and has not answered to what they gave.
    is_at_work: bool,
    last_ms: Option<i64>,
    /// Whether only messages bear times, and each that of its beginning: what comes as it happens is timed by its arrival.
    pub(crate) is_stream: bool,
    is_live: bool,
    /// When the last message was, in a file: nothing else tells when a run ended that was stopped.
    pub(crate) worked_ms: Option<i64>,
    /// What failed last, in its words: the end of the tries says it again.
    pub(crate) failed: Option<String>,
    /// The tools that the model has, by their names.
    tools: Vec<String>,
    /// What was told of the agents that calls run.
    agents: Agents,
}

/// A block of an answer that was told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    pub(crate) part: u32,
    pub(crate) text: u64,
}

/// The blocks of an answer that were told, by their place in it.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    pub(crate) told: BTreeMap<u64, Told>,
    pub(crate) n_texts: u32,
    pub(crate) n_thoughts: u32,
}

impl Blocks {
    /// The part that the block at `index` is.
    pub(crate) fn part(&mut self, index: u64, is_thought: bool) -> Told {
        let n = if is_thought {
            &mut self.n_thoughts
        } else {
            &mut self.n_texts
        };
        *self.told.entry(index).or_insert_with(|| {
            let part = *n;
            *n = n.saturating_add(1);
            Told { part, text: 0 }
        })
    }
}

impl Talk {
    pub(crate) fn new(format: &'static str) -> Self {
        Talk {
            track: Track::new(),
            format,
            outcome: "interrupted",
            is_at_work: false,
            last_ms: None,
            is_stream: false,
            is_live: false,
            worked_ms: None,
            failed: None,
            tools: Vec::new(),
            agents: Agents::default(),
        }
    }

    /// Sets the time of the next events.
    pub(crate) fn at(&mut self, emitter: &mut Emitter, time_ms: Option<i64>) {
        let is_now = time_ms.is_some_and(|time_ms| emitter.is_live(time_ms));
        self.is_live |= self.is_stream && is_now;
        self.last_ms = match self.is_live {
            true => self.last_ms.max(Some(emitter.time_ms)),
            false => time_ms.or(self.last_ms),
        };
        if let Some(time_ms) = self.last_ms {
            emitter.time_ms = time_ms;
        }
    }

    /// An id made of a message's time; of the line, where it has none.
    pub(crate) fn stem(emitter: &Emitter, prefix: &str, message: &Value) -> String {
        match message.get("timestamp").and_then(Value::as_i64) {
            Some(time_ms) => format!("{prefix}{time_ms}"),
            None => format!("{prefix}-{}", emitter.line_id()),
        }
    }

    /// The first line of a run, or of its file; a run that goes on with a session says it again.
    pub(crate) fn header(&mut self, emitter: &mut Emitter, line: &Value) {
        self.leave(emitter);
        let time_ms = text_of(line, "timestamp").and_then(millis_of_rfc3339);
        self.at(emitter, time_ms);
        let facts = SessionStart {
            agent: Some("Pi".to_owned()),
            native_id: text_of(line, "id").map(str::to_owned),
            cwd: text_of(line, "cwd").map(str::to_owned),
            model: text_of(line, "modelId").map(str::to_owned),
            provider: Some("pi".to_owned()),
            ..SessionStart::default()
        };
        let mut rest = Map::new();
        for key in ["parentSession", "branchedFrom", "thinkingLevel"] {
            if let Some(text) = text_of(line, key) {
                rest.insert(key.to_owned(), Value::from(text));
            }
        }
        self.track.facts.say(emitter, facts, rest);
    }

    /// A whole message, of any role.
    pub(crate) fn message(&mut self, emitter: &mut Emitter, message: &Value) {
        let time_ms = message.get("timestamp").and_then(millis);
        self.at(emitter, time_ms);
        match str_of(message, "role").unwrap_or("") {
            "user" => self.user(emitter, message),
            "assistant" => {
                let response = self.response(emitter, message);
                self.answer(emitter, &response, &mut Blocks::default(), message);
            }
            "toolResult" => self.result(emitter, message, false),
            "bashExecution" => self.command(emitter, message),
            "custom" | "hookMessage" => self.custom(emitter, message),
            "system" => self.system(emitter, message),
            // What stands in for what was left out is told by an entry of its own.
            role @ ("branchSummary" | "compactionSummary") => emitter.pass_over(role),
            role => emitter.raw(&self.track.place(), self.format, role, message),
        }
    }

    /// Whether a prompt that comes now begins no turn: the agent is at work, and will read it next.
    pub(crate) fn is_steered(&self) -> bool {
        self.is_at_work && self.track.turn_id().is_some() && !self.track.waits()
    }

    pub(crate) fn user(&mut self, emitter: &mut Emitter, message: &Value) {
        let stem = Self::stem(emitter, "t", message);
        let said = said(message.get("content"));
        if self.is_steered() {
            return self.track.steer(emitter, &format!("{stem}:user"), said);
        }
        self.leave(emitter);
        self.track.open_turn(emitter, &stem, "user");
        let id = format!("{}:user", self.track.turn_id().unwrap_or(""));
        self.track.user(emitter, &id, said);
    }

    /// The id of an answer that begins.
    pub(crate) fn response(&mut self, emitter: &mut Emitter, message: &Value) -> String {
        let stem = Self::stem(emitter, "t", message);
        self.track.need_turn(emitter, &stem);
        let stem = Self::stem(emitter, "a", message);
        self.track.numbered(&stem)
    }

    /// An answer as a whole; what was told of it is not told again.
    pub(crate) fn answer(
        &mut self,
        emitter: &mut Emitter,
        response: &str,
        blocks: &mut Blocks,
        message: &Value,
    ) {
        emitter.goes_on(&self.track.place());
        self.works_with(
            emitter,
            text_of(message, "model"),
            text_of(message, "thinkingLevel"),
        );
        for (index, block) in list_of(message, "content").iter().enumerate() {
            self.block(emitter, response, blocks, index as u64, block);
        }
        let place = self.track.place().in_response(response);
        if let Some(usage) = usage(message) {
            emitter.add_as(&format!("{response}:usage"), &place, usage);
        }
        let why = str_of(message, "errorMessage").unwrap_or("");
        self.is_at_work = false;
        self.outcome = match str_of(message, "stopReason") {
            Some("stop" | "length") => "completed",
            // What it answers is there later, for who asks for it by what stands in the message.
            Some("deferred") => {
                let handle = message
                    .get("deferred")
                    .and_then(|handle| text_of(handle, "id"));
                let text = match handle {
                    Some(id) => format!("the answer is deferred, as {id}"),
                    None => "the answer is deferred".to_owned(),
                };
                emitter.notice("info", &place, "pi", text);
                "completed"
            }
            Some("error") => {
                let why = if why.is_empty() {
                    "the model failed"
                } else {
                    why
                };
                self.failed = Some(why.to_owned());
                let payload = ErrorEvent {
                    code: "error".to_owned(),
                    message: why.to_owned(),
                    extra: Extra::default(),
                };
                emitter.add_as(&format!("{response}:error"), &place, payload);
                "failed"
            }
            Some("aborted") => {
                let payload = Interrupt {
                    reason: "user_cancel".to_owned(),
                    extra: Extra::default(),
                };
                emitter.add_as(&format!("{response}:interrupt"), &place, payload);
                "interrupted"
            }
            _ => {
                self.is_at_work = true;
                "interrupted"
            }
        };
    }

    /// A whole block of an answer.
    pub(crate) fn block(
        &mut self,
        emitter: &mut Emitter,
        response: &str,
        blocks: &mut Blocks,
        index: u64,
        block: &Value,
    ) {
        let kind = str_of(block, "type").unwrap_or("");
        match kind {
            "text" | "thinking" => {
                let is_thought = kind == "thinking";
                let text = str_of(block, kind).unwrap_or("");
                let told = blocks.part(index, is_thought);
                let redacted = is_thought && is_true(block, "redacted");
                // 0 stands for nothing told.
                let now = hash(text.as_bytes()) | 1;
                if told.text == now {
                    return;
                }
                blocks.told.insert(index, Told { text: now, ..told });
                if is_thought {
                    self.track
                        .thought(emitter, response, told.part, text, redacted);
                } else {
                    self.track.text(emitter, response, told.part, text);
                }
            }
            "toolCall" => self.call_block(emitter, response, blocks, index, block),
            _ => {
                let place = self.track.place().in_response(response);
                emitter.raw(&place, self.format, kind, block);
            }
        }
    }

    /// Something else begins: the open turn is over since it was last worked in.
    pub(crate) fn leave(&mut self, emitter: &mut Emitter) {
        let now_ms = emitter.time_ms;
        emitter.time_ms = self.worked_ms.unwrap_or(now_ms);
        self.close(emitter);
        emitter.time_ms = now_ms;
    }

    pub(crate) fn close(&mut self, emitter: &mut Emitter) {
        self.track.close_turn(emitter, ended(self.outcome));
        self.outcome = "interrupted";
        self.is_at_work = false;
        self.agents.forget();
    }

    pub(crate) fn finish(&mut self, emitter: &mut Emitter) {
        self.at(emitter, None);
        self.close(emitter);
    }
}

/// The text and the images of a content: a string or a list of blocks.
fn said(content: Option<&Value>) -> Said {
    let mut said = Said::default();
    match content {
        Some(Value::String(text)) => said.text.clone_from(text),
        Some(Value::Array(blocks)) => {
            let mut texts = Vec::new();
            for block in blocks {
                if let Some(text) = str_of(block, "text") {
                    texts.push(text);
                } else if str_of(block, "type") == Some("image") {
                    said.attachments.push(json!({
                        "mediaType": str_of(block, "mimeType").unwrap_or("image/png"),
                        "data": str_of(block, "data").unwrap_or(""),
                    }));
                }
            }
            said.text = texts.join("\n");
        }
        _ => {}
    }
    said
}
