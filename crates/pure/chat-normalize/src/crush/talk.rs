//! Messages as turns.
//!
//! | message | what it gives |
//! |---|---|
//! | of the user | begins a turn; one that was written while the agent was at work is read in the turn that is open |
//! | of the assistant | texts and thoughts as they grow, calls (`answers`), how it ended (`ends`) |
//! | of the assistant, a summary | a compaction |
//! | of a tool | results |
//! | of an agent that a call started | the same within that call, and no turn |
//!
//! Times are in whole seconds.

use chat_event::payload::Compaction;
use chat_event::{Extra, Json};
use serde_json::Value;

use super::FORMAT;
use super::asks::Asks;
use super::ends::Ending;
use super::message::{Message, Told, attachment};
use super::shapes::time_of;
use crate::emit::Emitter;
use crate::recent::{LATE_LARGE, Recent};
use crate::run_track::RunTrack;
use crate::track::{Said, ended};
use crate::value::{str_of, text_of};

/// What waited is read as soon as the calls before it have their results; what comes later is another turn.
const AT_ONCE_MS: i64 = 2_000;

/// What the program asks itself after it made the session shorter in the middle of a turn.
const GOES_ON: &str =
    "The previous session was interrupted because it got too long, the initial user request was: `";

/// Whether a prompt is the program's own, by which it goes on after a summary.
pub(super) fn is_own_prompt(text: &str) -> bool {
    text.starts_with(GOES_ON)
}

/// The turns and calls of a session.
#[derive(Debug)]
pub(super) struct Talk {
    pub(super) run: RunTrack,
    pub(super) asks: Asks,
    /// How the turn ends, where its last message is over.
    pub(super) ending: Option<Ending>,
    /// The last message ended to call tools: the model is asked again.
    pub(super) calls_more: bool,
    /// When something was told last.
    pub(super) worked_ms: Option<i64>,
    pub(super) messages: Recent<Told, LATE_LARGE>,
}

impl Talk {
    pub(super) fn new(run: RunTrack) -> Self {
        Talk {
            run,
            asks: Asks::default(),
            ending: None,
            calls_more: false,
            worked_ms: None,
            messages: Recent::default(),
        }
    }

    /// A message as it is now.
    pub(super) fn message(&mut self, emitter: &mut Emitter, message: &Message<'_>) {
        emitter.begin_line(Some(message.id));
        self.run.at(emitter, message.created_ms);
        self.run.track.within(message.within);
        // Only what an assistant says grows.
        let is_new = !self.messages.contains(message.id);
        match message.role {
            "assistant" if message.is_summary => self.summary(emitter, message),
            "assistant" => self.assistant(emitter, message),
            _ if !is_new => emitter.report.repeated += 1,
            role => {
                self.messages.insert(message.id, Told::default());
                match role {
                    "user" => self.user(emitter, message),
                    "tool" => self.results(emitter, message),
                    _ => emitter.pass_over("what the program tells the model"),
                }
            }
        }
        self.run.track.within(None);
        self.end_where_over(emitter);
    }

    fn user(&mut self, emitter: &mut Emitter, message: &Message<'_>) {
        let mut said = Said::default();
        let mut commands = Vec::new();
        for (kind, part) in message.parts() {
            match kind {
                "text" => {
                    if !said.text.is_empty() {
                        said.text.push('\n');
                    }
                    said.text.push_str(str_of(part, "text").unwrap_or(""));
                }
                "shell_command" => commands.push(part),
                "finish" => {}
                _ => match attachment(kind, part) {
                    Some(attachment) => said.attachments.push(attachment),
                    None => self.other(emitter, kind, part),
                },
            }
        }
        if message.within.is_some() {
            return self.asked_by_agent(emitter, message, said);
        }
        for command in &commands {
            if !said.text.is_empty() {
                said.text.push('\n');
            }
            said.text.push('!');
            said.text.push_str(str_of(command, "command").unwrap_or(""));
        }
        if said.text.trim().is_empty() && said.attachments.is_empty() {
            return emitter.pass_over("an empty message");
        }
        let goes_on = self.goes_on(message, &said.text, !commands.is_empty());
        match goes_on {
            true if is_own_prompt(&said.text) => {
                self.ending = None;
                return emitter.pass_over("what the program asks itself to go on");
            }
            true => {
                let id = format!("{}:user", message.id);
                self.run.track.steer(emitter, &id, said);
            }
            false => {
                self.close(emitter);
                self.run.at(emitter, message.created_ms);
                self.run.ask(emitter, Some(message.id), said);
            }
        }
        self.worked_ms = Some(emitter.time_ms);
        for command in &commands {
            self.ran(emitter, message, command);
        }
        if !goes_on && !commands.is_empty() {
            // No model was asked.
            self.run.close(emitter, ended("completed"));
        }
    }

    /// Whether what the user says is read in the turn that is open.
    fn goes_on(&self, message: &Message<'_>, text: &str, is_command: bool) -> bool {
        if self.run.track.turn_id().is_none() {
            return false;
        }
        if is_command || is_own_prompt(text) {
            return true;
        }
        let since = message.created_ms.zip(self.worked_ms);
        let at_once = since.is_none_or(|(now, before)| now.saturating_sub(before) <= AT_ONCE_MS);
        self.calls_more && !self.run.track.waits() && at_once
    }

    fn asked_by_agent(&mut self, emitter: &mut Emitter, message: &Message<'_>, said: Said) {
        self.run.response(emitter, Some(message.id));
        let id = format!("{}:user", message.id);
        self.run.track.user(emitter, &id, said);
        if let Some(event) = emitter.out.last_mut() {
            event.extra.insert("from", Json::string("agent"));
        }
    }

    fn results(&mut self, emitter: &mut Emitter, message: &Message<'_>) {
        for (kind, part) in message.parts() {
            match kind {
                "tool_result" => self.result(emitter, part),
                "finish" => {}
                _ => self.other(emitter, kind, part),
            }
        }
        self.worked_ms = self.worked_ms.max(Some(emitter.time_ms));
    }

    /// What stands in for the session so far.
    fn summary(&mut self, emitter: &mut Emitter, message: &Message<'_>) {
        let Some(finish) = message.finish() else {
            return;
        };
        if !self.messages.insert(message.id, Told::default()) {
            emitter.report.repeated += 1;
            return;
        }
        let since = message.created_ms.zip(self.worked_ms);
        let at_once = since.is_some_and(|(now, before)| now.saturating_sub(before) <= AT_ONCE_MS);
        self.run
            .at(emitter, time_of(finish, "time").or(message.created_ms));
        let place = self.run.track.place();
        if str_of(finish, "reason") == Some("error") {
            let why = text_of(finish, "details").or_else(|| text_of(finish, "message"));
            let text = format!(
                "could not make the session shorter: {}",
                why.unwrap_or("it failed")
            );
            emitter.notice("warning", &place, FORMAT, text);
            return;
        }
        let texts = message.parts().filter(|(kind, _)| *kind == "text");
        let texts: Vec<&str> = texts
            .filter_map(|(_, part)| text_of(part, "text"))
            .collect();
        let payload = Compaction {
            trigger: if at_once { "auto" } else { "manual" }.to_owned(),
            summary: Some(texts.join("\n")).filter(|text| !text.is_empty()),
            tokens_before: None,
            extra: Extra::default(),
        };
        emitter.add_as(&format!("{}:compaction", message.id), &place, payload);
        self.worked_ms = Some(emitter.time_ms);
    }

    pub(super) fn other(&mut self, emitter: &mut Emitter, kind: &str, part: &Value) {
        if kind == "unknown" {
            // Commands that the user ran.
            return emitter.pass_over("a part that is not printed");
        }
        let place = self.run.track.place();
        emitter.raw(&place, FORMAT, kind, part);
    }

    /// The source is at its end.
    pub(super) fn finish(&mut self, emitter: &mut Emitter) {
        self.run.at(emitter, None);
        self.close(emitter);
    }
}
