//! What RPC mode answers to commands, and the entries that a run says it wrote.

use chat_event::Extra;
use chat_event::payload::{ErrorEvent, SessionStart};
use serde_json::{Map, Value};

use super::PiStream;
use crate::emit::Emitter;
use crate::value::{str_of, text_of};

/// What a line says of the session's state, with its id.
pub(in crate::pi) fn state_of(line: &Value) -> Option<&Value> {
    let is_state = str_of(line, "type") == Some("response")
        && str_of(line, "command") == Some("get_state")
        && line.get("success") == Some(&Value::Bool(true));
    let state = line.get("data").filter(|_| is_state)?;
    let is_pi = state.get("isStreaming").is_some_and(Value::is_boolean);
    (is_pi && text_of(state, "sessionId").is_some()).then_some(state)
}

impl PiStream {
    pub(super) fn response(&mut self, emitter: &mut Emitter, line: &Value) {
        if line.get("success") == Some(&Value::Bool(false)) {
            return self.refused(emitter, line);
        }
        if let Some(state) = state_of(line) {
            return self.state(emitter, state);
        }
        match line.get("data") {
            Some(told) if str_of(line, "command") == Some("bash") && told.is_object() => {
                self.talk.command(emitter, told);
            }
            _ => emitter.pass_over("response"),
        }
    }

    fn state(&mut self, emitter: &mut Emitter, state: &Value) {
        let model = state.get("model").and_then(|model| text_of(model, "id"));
        let facts = SessionStart {
            agent: Some("Pi".to_owned()),
            native_id: text_of(state, "sessionId").map(str::to_owned),
            model: model.map(str::to_owned),
            title: text_of(state, "sessionName").map(str::to_owned),
            provider: Some("pi".to_owned()),
            ..SessionStart::default()
        };
        let thinks = text_of(state, "thinkingLevel");
        let rest = thinks.map(|level| ("thinkingLevel".to_owned(), Value::from(level)));
        let rest: Map<String, Value> = rest.into_iter().collect();
        self.talk.track.facts.say(emitter, facts, rest);
    }

    /// An entry that stands in the session's file now. Messages and compactions are told by lines of their own.
    pub(super) fn appended(&mut self, emitter: &mut Emitter, line: &Value) {
        let entry = line.get("entry").unwrap_or(&Value::Null);
        let id = text_of(entry, "id").unwrap_or(emitter.line_id()).to_owned();
        match str_of(entry, "type").unwrap_or("") {
            "message" | "compaction" | "custom_message" | "custom" | "label" | "context_edit"
            | "leaf" => emitter.pass_over("entry_appended"),
            _ if self.talk.entry(emitter, &id, entry) => {}
            kind => emitter.raw(&self.talk.track.place(), self.talk.format, kind, line),
        }
    }

    /// The program did not do what a command of its RPC mode said.
    fn refused(&mut self, emitter: &mut Emitter, line: &Value) {
        let command = text_of(line, "command").unwrap_or("a command");
        let why = text_of(line, "error").unwrap_or("the command failed");
        let place = self.talk.track.place();
        if command == "prompt" && place.turn_id.is_none() {
            let payload = ErrorEvent {
                code: "prompt_failed".to_owned(),
                message: why.to_owned(),
                extra: Extra::default(),
            };
            emitter.add("error", &place, payload);
        } else {
            // The turn that runs does not fail of it.
            emitter.notice("warning", &place, "pi", format!("{command}: {why}"));
        }
    }
}
