//! What is said that no answer is: prompts with what is attached to them, words to the agent at work, and what the program lays
//! into the conversation (`context.append_message`). Most of that stands in lines of its own; of the rest:
//!
//! | `origin.kind` | what it gives |
//! |---|---|
//! | `shell_command` | a command of the user's own, as a call, and what it printed |
//! | `hook_result` | the words of a hook, as a notice |

use chat_event::payload::ToolResult;
use chat_event::{Json, Payload};
use serde_json::{Value, json};

use super::calls::{attachment, exit_code};
use super::turns::is_by_user;
use super::{FORMAT, Kimi};
use crate::emit::Emitter;
use crate::track::{NewCall, Said};
use crate::value::{is_true, list_of, str_of, text_of};
use crate::words::{one_line, printed};

impl Kimi {
    /// The words with which a turn begins.
    pub(super) fn asked_for(&mut self, emitter: &mut Emitter, line: &Value) {
        let said = self.words(emitter, line, "input");
        if is_notification(&said.text) {
            return self.notified(emitter, &said.text);
        }
        let id = format!("{}:user", self.track.turn_id().unwrap_or(""));
        self.track.user(emitter, &id, said);
    }

    /// Words to the agent at work.
    pub(super) fn told_at_work(&mut self, emitter: &mut Emitter, line: &Value, under: &str) {
        let said = self.words(emitter, line, under);
        if is_by_user(line) {
            let id = format!("{}:user", self.stem(emitter, line));
            self.track.steer(emitter, &id, said);
        } else if is_notification(&said.text) {
            self.notified(emitter, &said.text);
        } else {
            emitter.notice("info", &self.track.place(), "kimi", said.text);
        }
    }

    /// `context.append_message`.
    pub(super) fn appended(&mut self, emitter: &mut Emitter, line: &Value) {
        let message = line.get("message").unwrap_or(&Value::Null);
        let origin = message.get("origin").unwrap_or(&Value::Null);
        match str_of(origin, "kind") {
            Some("shell_command") => {
                let text = self.words(emitter, message, "content").text;
                match str_of(origin, "phase") {
                    Some("input") => self.command_began(emitter, line, &text),
                    _ => self.command_ended(emitter, line, &text, is_true(origin, "isError")),
                }
            }
            Some("hook_result") => {
                let text = self.words(emitter, message, "content").text;
                let level = match is_true(origin, "blocked") {
                    true => "warning",
                    false => "info",
                };
                let words = within(&text, "hook_result").unwrap_or(&text);
                emitter.notice(level, &self.track.place(), "hook", words.trim());
            }
            _ => emitter.pass_over("context.append_message"),
        }
    }

    /// The user runs a command by himself.
    fn command_began(&mut self, emitter: &mut Emitter, line: &Value, text: &str) {
        let command = within(text, "bash-input").unwrap_or(text).trim();
        let id = format!("{}:bash", self.stem(emitter, line));
        let args = json!({"command": command});
        let new = NewCall {
            id: &id,
            response_id: "",
            name: "bash",
            args: &args,
            title: Some(one_line(command)),
            kind: "execute",
        };
        self.track.call(emitter, new);
        self.command = Some(id);
    }

    /// And this is what it printed.
    fn command_ended(&mut self, emitter: &mut Emitter, line: &Value, text: &str, failed: bool) {
        let inner = text.strip_prefix("<bash-stdout>");
        let inner = inner.and_then(|text| text.strip_suffix("</bash-stderr>"));
        // What is printed may look like a tag.
        let parts = inner.and_then(|text| text.rsplit_once("</bash-stdout><bash-stderr>"));
        let output = match parts {
            Some((stdout, stderr)) => [stdout, stderr].concat(),
            None => within(text, "bash-stdout").unwrap_or(text).to_owned(),
        };
        let result = ToolResult {
            result: Json::string(&output),
            summary: printed(&output),
            exit_code: exit_code(&output).filter(|_| failed),
            ..ToolResult::default()
        };
        let id = self.command.take();
        let call = id.and_then(|id| self.track.result(emitter, &id, result));
        let event = emitter.out.last_mut().filter(|_| call.is_some());
        match event.map(|event| &mut event.payload) {
            Some(Payload::ToolResult(result)) => {
                result.extra.insert("by", Json::string("user"));
            }
            _ => {
                let kind = "output of a command that does not run";
                emitter.raw(&self.track.place(), FORMAT, kind, line);
            }
        }
    }

    /// The program tells the agent of what went on in the background. How that ended is told by a line of its own.
    fn notified(&mut self, emitter: &mut Emitter, text: &str) {
        let (_, inner) = text.split_once('>').unwrap_or_default();
        let told = inner.split(['<']).next().unwrap_or_default();
        let lines = told.lines().map(str::trim).filter(|line| !line.is_empty());
        let lines = lines.filter(|line| !line.starts_with("Severity: "));
        let words: Vec<&str> = lines
            .map(|line| line.strip_prefix("Title: ").unwrap_or(line))
            .collect();
        let words = match words.is_empty() {
            true => text.to_owned(),
            false => words.join("\n"),
        };
        let place = self.track.place();
        let notice = emitter.notice("info", &place, "kimi", words);
        if let Payload::Notice(notice) = &mut notice.payload {
            notice.extra.insert("notification", Json::string(text));
        }
    }

    /// What is said under this name: texts, and what is attached to them.
    fn words(&self, emitter: &mut Emitter, holder: &Value, under: &str) -> Said {
        let mut said = Said::default();
        for part in list_of(holder, under) {
            match (text_of(part, "text"), attachment(part)) {
                (Some(text), _) if said.text.is_empty() => said.text = text.to_owned(),
                (Some(text), _) => {
                    said.text.push('\n');
                    said.text.push_str(text);
                }
                (None, Some(attachment)) => said.attachments.push(attachment),
                (None, None) if str_of(part, "text").is_some() => {}
                (None, None) => {
                    emitter.raw(&self.track.place(), FORMAT, "part of a prompt", part);
                }
            }
        }
        said
    }
}

/// Whether the program tells of what went on in the background.
fn is_notification(text: &str) -> bool {
    text.starts_with("<notification ") && text.trim_end().ends_with("</notification>")
}

/// What stands between a tag and the last end of it.
fn within<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let rest = text.get(text.find(&format!("<{tag}"))?..)?;
    let (_, rest) = rest.split_once('>')?;
    let end = rest.rfind(&format!("</{tag}>"))?;
    rest.get(..end)
}
