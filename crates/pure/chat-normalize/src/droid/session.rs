//! The files below `~/.factory/sessions`, an entry a line.
//!
//! | entry | what it gives |
//! |---|---|
//! | `session_start` | `session_start` |
//! | `message` of the user | results of calls; words begin a turn, or steer the one that is open (`said`, `turns`) |
//! | `message` of the assistant | the model, texts, thoughts, calls |
//! | `todo_state` | a plan |
//! | `compaction_state` | a compaction |
//! | `agent_turn_outcome` | the turn's end (`turns`) |
//!
//! Older files say no end of a turn: the next prompt or the file's end ends it, and its last message says how. Tokens are in
//! a file beside it (`used`). A sub-agent's session is a file of its own, whose first line names the call that started it. The first
//! line of a file that goes on is written anew with another title. Seen: 0.225.2.

mod said;
mod turns;

use chat_event::payload::{Compaction, ErrorEvent, SessionStart};
use chat_event::{Extra, Json};
use serde_json::{Map, Value};

use super::FORMAT;
use super::talk::{Given, Talk};
use super::tools;
use super::used::usage_in;
use crate::dialect::Normalizer;
use crate::emit::{Emitter, Place};
use crate::reader::Context;
use crate::recent::{LATE_SMALL, Recent};
use crate::run_track::RunTrack;
use crate::value::{fingerprint, is_true, millis_of_rfc3339, str_of, text_of};
use said::{Words, words_of};
use turns::Turns;

/// Reads them.
#[derive(Debug)]
pub(crate) struct DroidSession {
    talk: Talk,
    turns: Turns,
    /// The entries that came, by their ids.
    seen: Recent<u64, LATE_SMALL>,
    /// What is noted beside the file of what the session used.
    used: Option<String>,
}

impl DroidSession {
    pub(crate) fn new(context: &Context) -> Self {
        DroidSession {
            talk: Talk::new(RunTrack::new(&Context::default())),
            turns: Turns::default(),
            seen: Recent::default(),
            used: context.used.clone(),
        }
    }

    fn begin(&mut self, emitter: &mut Emitter, line: &Value) {
        let title = ["sessionTitle", "title"]
            .iter()
            .find_map(|key| text_of(line, key));
        let facts = SessionStart {
            agent: Some("Droid".to_owned()),
            native_id: text_of(line, "id").map(str::to_owned),
            title: title.map(str::to_owned),
            cwd: text_of(line, "cwd").map(str::to_owned),
            provider: Some(FORMAT.to_owned()),
            ..SessionStart::default()
        };
        let known = ["type", "id", "title", "sessionTitle", "cwd", "timestamp"];
        let members = line.as_object().into_iter().flatten();
        let rest: Map<String, Value> = members
            .filter(|(name, _)| !known.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        self.talk.run.facts(emitter, facts, rest);
    }

    fn message(&mut self, emitter: &mut Emitter, line: &Value) {
        let message = line.get("message").unwrap_or(&Value::Null);
        let blocks = match message.get("content") {
            Some(Value::Array(blocks)) => Some(blocks.as_slice()),
            Some(text) if text.is_string() => Some(std::slice::from_ref(text)),
            _ => None,
        };
        match (str_of(message, "role"), blocks) {
            (Some("user"), Some(blocks)) => self.user(emitter, line, message, blocks),
            (Some("assistant"), Some(blocks)) => self.assistant(emitter, line, message, blocks),
            _ => emitter.raw(&self.talk.run.track.place(), FORMAT, "message", line),
        }
    }

    fn user(&mut self, emitter: &mut Emitter, line: &Value, message: &Value, blocks: &[Value]) {
        let is_result = |block: &&Value| str_of(block, "type") == Some("tool_result");
        let is_answer = blocks.iter().any(|block| is_result(&block));
        for block in blocks.iter().filter(is_result) {
            let given = Given {
                value: block.get("content").unwrap_or(&Value::Null),
                failed: is_true(block, "is_error"),
                error: &Value::Null,
            };
            let id = text_of(block, "tool_use_id").unwrap_or("");
            self.talk.result(emitter, id, &given, block);
        }
        if is_answer {
            self.turns.answered(emitter.time_ms);
        }
        let id = text_of(line, "id");
        let visibility = str_of(message, "visibility");
        let words = words_of(
            emitter,
            &self.talk.run.track.place(),
            id,
            visibility,
            blocks,
        );
        let (talk, turns) = (&mut self.talk, &mut self.turns);
        match words {
            Words::None => {}
            Words::Stopped => turns.stopped(),
            Words::Prompt(said) => turns.said(emitter, talk, id, is_answer, said),
            Words::News(text) => {
                turns.woken(emitter, talk, id);
                talk.notice(emitter, "task", text);
            }
            Words::Failure(text) => {
                turns.failed();
                let error = ErrorEvent {
                    code: "error".to_owned(),
                    message: text,
                    extra: Extra::default(),
                };
                emitter.add("error", &talk.run.track.place(), error);
            }
            Words::Notice(text) => talk.notice(emitter, FORMAT, text),
            Words::Command(command) => talk.command(emitter, id.unwrap_or(""), &command),
        }
    }

    fn assistant(
        &mut self,
        emitter: &mut Emitter,
        line: &Value,
        message: &Value,
        blocks: &[Value],
    ) {
        let id = text_of(line, "id");
        let response = self.talk.run.response(emitter, id);
        // Seen is `modelId`; files of 2025 are said to have the other.
        let model = text_of(message, "modelId").or_else(|| text_of(message, "model"));
        if let Some(model) = model {
            let facts = SessionStart {
                model: Some(model.to_owned()),
                ..SessionStart::default()
            };
            let mut rest = Map::new();
            if let Some(effort) = message.get("reasoningEffort") {
                rest.insert("reasoningEffort".to_owned(), effort.clone());
            }
            self.talk.run.facts(emitter, facts, rest);
        }
        let (mut speaks, mut calls) = (false, false);
        for block in blocks {
            match str_of(block, "type") {
                Some("tool_use") if text_of(block, "id").is_some() => {
                    calls = true;
                    let id = text_of(block, "id").unwrap_or("");
                    let name = str_of(block, "name").unwrap_or("");
                    let args = block.get("input").unwrap_or(&Value::Null);
                    self.talk.call(emitter, &response, id, name, args);
                }
                _ => speaks |= self.talk.run.block(emitter, &response, FORMAT, block),
            }
        }
        self.turns.worked(speaks && !calls);
    }

    /// One by hand begins a file of its own, with what was said before left in the old one; one that comes by itself stands
    /// among the messages of a turn, and says which of them it goes up to.
    fn compacted(&mut self, emitter: &mut Emitter, line: &Value) {
        let mut extra = Extra::default();
        for key in ["summaryKind", "removedCount", "summaryTokens"] {
            if let Some(value) = line.get(key) {
                extra.insert(key, Json::from(value));
            }
        }
        let by_itself =
            line.get("anchorMessage").is_some() || self.talk.run.track.turn_id().is_some();
        let payload = Compaction {
            trigger: if by_itself { "auto" } else { "manual" }.to_owned(),
            summary: text_of(line, "summaryText").map(str::to_owned),
            tokens_before: None,
            extra,
        };
        let id = format!("{}:compaction", emitter.line_id());
        emitter.add_as(&id, &self.talk.run.track.place(), payload);
    }
}

impl Normalizer for DroidSession {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        let time_ms = text_of(line, "timestamp").and_then(millis_of_rfc3339);
        self.talk.run.at(emitter, time_ms);
        let kind = str_of(line, "type").unwrap_or("");
        if let Some(id) = text_of(line, "id") {
            let print = fingerprint(line);
            if self.seen.get(id) == Some(&print) {
                emitter.report.repeated += 1;
                return;
            }
            self.seen.insert(id, print);
            // The first line is written anew where the session is called otherwise: that is another word on it.
            match kind {
                "session_start" => emitter.begin_line(Some(&format!("{id}.{print:016x}"))),
                _ => emitter.begin_line(Some(id)),
            }
        }
        let place = self.talk.run.track.place();
        match kind {
            "session_start" => self.begin(emitter, line),
            "message" => {
                self.message(emitter, line);
                self.turns.at(time_ms);
            }
            "todo_state" => match tools::plan(line) {
                Some(plan) => {
                    emitter.add("plan", &place, plan);
                }
                None => emitter.pass_over("todo_state without entries"),
            },
            "compaction_state" => self.compacted(emitter, line),
            "agent_turn_outcome" => self.turns.ended(emitter, &mut self.talk, line),
            "session_settings" | "session_end" => emitter.pass_over(kind),
            _ => emitter.raw(&place, FORMAT, kind, line),
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.talk.run.at(emitter, None);
        self.turns.close(emitter, &mut self.talk);
        if let Some((line, usage)) = self.used.as_deref().and_then(usage_in) {
            emitter.begin_line(Some(&line));
            emitter.add("usage", &Place::default(), usage);
        }
    }
}
