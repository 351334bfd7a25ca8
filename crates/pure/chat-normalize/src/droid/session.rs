//! The files below `~/.factory/sessions`, an entry a line.
//!
//! | entry | what it gives |
//! |---|---|
//! | `session_start` | `session_start` |
//! | `message` of the user | results of calls; words begin a turn, what the program puts before them is passed over |
//! | `message` of the assistant | texts, thoughts, calls |
//! | `todo_state` | a plan |
//! | `compaction_state` | a compaction |
//! | `agent_turn_outcome` | the turn's end |
//!
//! Older files say no end of a turn: the next prompt or the file's end ends it, and its last message says how. Tokens are in
//! a file beside it. A sub-agent's session is a file of its own, whose first line names the call that started it. The first
//! line of a file that goes on is written anew with another title.

use chat_event::payload::{Compaction, SessionStart, TurnEnd};
use chat_event::{Extra, Json};
use serde_json::{Map, Value};

use super::FORMAT;
use super::talk::{Given, Talk, attachments};
use super::tools;
use crate::dialect::Normalizer;
use crate::emit::Emitter;
use crate::reader::Context;
use crate::recent::{LATE_SMALL, Recent};
use crate::run_track::RunTrack;
use crate::track::{Said, ended};
use crate::value::{count_of, fingerprint, is_true, millis_of_rfc3339, str_of, text_of};

/// What the program tells the model beside the user's words.
const ASIDES: [&str; 2] = ["<system-reminder>", "<system-notification>"];

/// Reads them.
#[derive(Debug)]
pub(crate) struct DroidSession {
    talk: Talk,
    /// How the turn would end now.
    outcome: &'static str,
    /// The entries that came, by their ids.
    seen: Recent<u64, LATE_SMALL>,
    /// When the last message was written.
    worked_ms: Option<i64>,
}

impl DroidSession {
    pub(crate) fn new() -> Self {
        DroidSession {
            talk: Talk::new(RunTrack::new(&Context::default())),
            outcome: "interrupted",
            seen: Recent::default(),
            worked_ms: None,
        }
    }

    /// The turn is over, since the last message.
    fn close(&mut self, emitter: &mut Emitter) {
        let now_ms = emitter.time_ms;
        emitter.time_ms = self.worked_ms.unwrap_or(now_ms);
        self.talk.run.close(emitter, ended(self.outcome));
        emitter.time_ms = now_ms;
        self.outcome = "interrupted";
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
            (Some("user"), Some(blocks)) => self.user(emitter, line, blocks),
            (Some("assistant"), Some(blocks)) => self.assistant(emitter, line, message, blocks),
            _ => emitter.raw(&self.talk.run.track.place(), FORMAT, "message", line),
        }
    }

    fn user(&mut self, emitter: &mut Emitter, line: &Value, blocks: &[Value]) {
        let mut said = Said::default();
        let mut is_answer = false;
        for block in blocks {
            if str_of(block, "type") == Some("tool_result") {
                is_answer = true;
                let given = Given {
                    value: block.get("content").unwrap_or(&Value::Null),
                    failed: is_true(block, "is_error"),
                    error: &Value::Null,
                };
                let id = text_of(block, "tool_use_id").unwrap_or("");
                self.talk.result(emitter, id, &given, block);
                continue;
            }
            match block.as_str().or_else(|| str_of(block, "text")) {
                Some(text) if ASIDES.iter().any(|tag| text.trim_start().starts_with(tag)) => {
                    emitter.pass_over("what the program tells the model");
                }
                Some(text) => {
                    if !said.text.is_empty() {
                        said.text.push('\n');
                    }
                    said.text.push_str(text);
                }
                None => match attachments(std::slice::from_ref(block)) {
                    held if held.is_empty() => {
                        let place = self.talk.run.track.place();
                        emitter.raw(&place, FORMAT, "block of the user's", block);
                    }
                    held => said.attachments.extend(held),
                },
            }
        }
        if said.text.trim().is_empty() && said.attachments.is_empty() {
            return;
        }
        let run = &mut self.talk.run;
        if is_answer && run.track.turn_id().is_some() {
            let id = format!("{}:user", text_of(line, "id").unwrap_or(emitter.line_id()));
            return run.track.steer(emitter, &id, said);
        }
        self.close(emitter);
        self.talk.run.ask(emitter, text_of(line, "id"), said);
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
        if let Some(model) = text_of(message, "model") {
            let facts = SessionStart {
                model: Some(model.to_owned()),
                ..SessionStart::default()
            };
            self.talk.run.facts(emitter, facts, Map::new());
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
        self.outcome = match speaks && !calls {
            true => "completed",
            false => "interrupted",
        };
    }

    fn compacted(&mut self, emitter: &mut Emitter, line: &Value) {
        let mut extra = Extra::default();
        for key in ["summaryKind", "removedCount", "summaryTokens"] {
            if let Some(value) = line.get(key) {
                extra.insert(key, Json::from(value));
            }
        }
        let payload = Compaction {
            trigger: "auto".to_owned(),
            summary: text_of(line, "summaryText").map(str::to_owned),
            tokens_before: None,
            extra,
        };
        let id = format!("{}:compaction", emitter.line_id());
        emitter.add_as(&id, &self.talk.run.track.place(), payload);
    }

    fn ended(&mut self, emitter: &mut Emitter, line: &Value) {
        if self.talk.run.track.turn_id().is_none() {
            return emitter.pass_over("agent_turn_outcome without a turn");
        }
        let outcome = match (str_of(line, "resultKind"), str_of(line, "reason")) {
            (Some("success"), _) | (None, Some("completed")) => "completed",
            (Some("error" | "failure" | "failed"), _) => "failed",
            (None, None) => self.outcome,
            _ => "interrupted",
        };
        let end = TurnEnd {
            duration_ms: count_of(line, "durationMs"),
            ..ended(outcome)
        };
        self.talk.run.close(emitter, end);
        self.outcome = "interrupted";
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
                self.worked_ms = time_ms.or(self.worked_ms);
            }
            "todo_state" => match tools::plan(line) {
                Some(plan) => {
                    emitter.add("plan", &place, plan);
                }
                None => emitter.pass_over("todo_state without entries"),
            },
            "compaction_state" => self.compacted(emitter, line),
            "agent_turn_outcome" => self.ended(emitter, line),
            "session_settings" | "session_end" => emitter.pass_over(kind),
            _ => emitter.raw(&place, FORMAT, kind, line),
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.talk.run.at(emitter, None);
        self.close(emitter);
    }
}
