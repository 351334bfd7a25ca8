//! What the messages of a run say: of the user, of the assistant, and of the program in their name.

use serde_json::Value;

use super::answers::{Answer, result_in};
use super::{FORMAT, MiniSweAgent, between};
use crate::emit::Emitter;
use crate::track::Said;
use crate::value::{list_of, str_of, text_of_blocks};

impl MiniSweAgent {
    pub(super) fn prompt(&mut self, emitter: &mut Emitter, id: &str, text: String) {
        self.close(emitter, "completed");
        self.track.open_turn(emitter, id, "user");
        self.track.user(emitter, &format!("{id}:user"), said(text));
    }

    pub(super) fn message(&mut self, emitter: &mut Emitter, n: usize, message: &Value) {
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
        match result_in(content).filter(|_| !self.waits.is_empty()) {
            Some((code, output)) => self.give(emitter, None, &output, Some(code), None),
            None if content.is_empty() => emitter.pass_over("user"),
            None => self.notice(emitter, "warning", content),
        }
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
}

fn said(text: String) -> Said {
    Said {
        text,
        attachments: Vec::new(),
    }
}
