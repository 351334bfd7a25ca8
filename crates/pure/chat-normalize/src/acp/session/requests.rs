//! Requests of either side, and what they are answered.

use chat_event::payload::ErrorEvent;
use serde_json::{Map, Value};

use super::{Acp, Session};
use crate::acp::FORMAT;
use crate::acp::asks::Asks;
use crate::acp::openings::asks_for_old;
use crate::acp::wire::{Asked, Side};
use crate::emit::{Emitter, Place};
use crate::value::{str_of, text_of};

impl Acp {
    pub(super) fn request(
        &mut self,
        emitter: &mut Emitter,
        side: Side,
        id: Option<String>,
        method: &str,
        params: &Value,
    ) {
        let native = text_of(params, "sessionId").unwrap_or("").to_owned();
        if !asks_for_old(method) || self.knows(&native) {
            self.meet(emitter, &native);
        }
        let mut asked = Asked {
            method: method.to_owned(),
            session: native.clone(),
            about: String::new(),
        };
        match method {
            "initialize" => self.initialize(emitter, params),
            "session/new" | "session/load" | "session/resume" | "session/fork" => {
                self.open_session(emitter, &native, method, params);
                asked.about = text_of(params, "cwd").unwrap_or("").to_owned();
            }
            "session/prompt" => {
                let only_client = !self.wire.heard_agent;
                let request = id.clone().unwrap_or_default();
                let (session, asks) = self.session_and_asks(&native);
                session.prompt(emitter, asks, &request, params, only_client);
            }
            "session/cancel" => self.cancel(emitter, &native),
            "session/update" => self.update(emitter, &native, params),
            "session/request_permission" => {
                asked.about = self.ask_permission(emitter, &native, id.as_deref(), params);
            }
            "elicitation/create" => {
                asked.about = self.ask_question(emitter, &native, id.as_deref(), params);
            }
            "elicitation/complete" => {
                self.elicited(emitter, text_of(params, "elicitationId").unwrap_or(""));
            }
            "fs/read_text_file" => {
                let whole = ["line", "limit"]
                    .iter()
                    .all(|key| params.get(*key).is_none_or(Value::is_null));
                if whole {
                    asked.about = text_of(params, "path").unwrap_or("").to_owned();
                }
                emitter.pass_over(method);
            }
            "fs/write_text_file" => self.session(&native).file_written(emitter, params),
            "terminal/create" => {
                emitter.pass_over(method);
            }
            "terminal/output" | "terminal/wait_for_exit" | "terminal/kill" | "terminal/release" => {
                asked.about = text_of(params, "terminalId").unwrap_or("").to_owned();
                emitter.pass_over(method);
            }
            "session/set_model" | "session/set_mode" | "session/set_config_option" => {
                let key = ["modelId", "modeId", "value"];
                asked.about = key
                    .iter()
                    .find_map(|key| text_of(params, key))
                    .unwrap_or("")
                    .to_owned();
                let option = text_of(params, "configId").unwrap_or("");
                asked.method = match (method, option) {
                    ("session/set_config_option", "model") => "session/set_model".to_owned(),
                    ("session/set_config_option", "mode") => "session/set_mode".to_owned(),
                    _ => asked.method,
                };
                emitter.pass_over(method);
            }
            "authenticate" | "logout" | "session/list" | "session/close" | "session/delete"
            | "$/cancel_request" => emitter.pass_over(method),
            _ if ["auth/", "providers/", "mcp/", "nes/", "document/"]
                .iter()
                .any(|start| method.starts_with(start)) =>
            {
                emitter.pass_over(method);
            }
            _ => {
                let place = self.session(&native).quiet_place();
                emitter.raw(&place, FORMAT, method, params);
            }
        }
        if let Some(id) = id {
            self.wire.asked(side, &id, asked);
        }
    }

    pub(super) fn answer(
        &mut self,
        emitter: &mut Emitter,
        side: Side,
        id: &str,
        asked: &Asked,
        result: Option<&Value>,
        error: Option<&Value>,
    ) {
        if side == Side::Agent && !self.wanted.contains_key(&asked.session) {
            // Whatever the agent answers ends a history it was reading out.
            self.session(&asked.session).skipping = false;
        }
        let Some(result) = result else {
            return self.refused(emitter, side, id, asked, error.unwrap_or(&Value::Null));
        };
        match asked.method.as_str() {
            "initialize" => self.initialized(emitter, result),
            "session/new" | "session/fork" | "session/load" | "session/resume" => {
                self.begun_session(emitter, asked, result);
            }
            "session/prompt" => {
                let version = self.version;
                let (session, asks) = self.session_and_asks(&asked.session);
                session.answered(emitter, asks, id, result, version);
            }
            "session/request_permission" => self.permission_answered(emitter, id, asked, result),
            "elicitation/create" => self.question_answered(emitter, id, asked, result),
            "fs/read_text_file" => {
                let text = str_of(result, "content").unwrap_or("");
                let session = self.session(&asked.session);
                session.files.read(&asked.about, text);
                emitter.pass_over("fs/read_text_file");
            }
            "terminal/output" => {
                self.session(&asked.session)
                    .terminal_output(emitter, &asked.about, result);
            }
            "terminal/wait_for_exit" => {
                self.session(&asked.session)
                    .terminal_exit(&asked.about, result);
                emitter.pass_over("terminal/wait_for_exit");
            }
            "session/set_model" | "session/set_mode" | "session/set_config_option" => {
                self.option_set(emitter, asked, result);
            }
            "" => {
                let nothing = result.is_null() || result.as_object().is_some_and(Map::is_empty);
                if nothing {
                    emitter.pass_over("an answer");
                } else {
                    let place = self.session(&asked.session).quiet_place();
                    emitter.raw(&place, FORMAT, "answer", result);
                }
            }
            _ => emitter.pass_over(&format!("{} answered", asked.method)),
        }
    }

    /// An answer that is an error.
    fn refused(
        &mut self,
        emitter: &mut Emitter,
        side: Side,
        id: &str,
        asked: &Asked,
        error: &Value,
    ) {
        let code = match error.get("code") {
            Some(Value::Number(code)) => code.to_string(),
            Some(Value::String(code)) => code.clone(),
            _ => "error".to_owned(),
        };
        let details = error.get("data").and_then(|data| {
            data.as_str()
                .or_else(|| text_of(data, "details"))
                .or_else(|| text_of(data, "message"))
        });
        let message = text_of(error, "message").unwrap_or("the request failed");
        let message = match details.filter(|details| !message.contains(details)) {
            Some(details) => format!("{message}: {details}"),
            None => message.to_owned(),
        };
        match asked.method.as_str() {
            "session/request_permission" | "elicitation/create" => {
                return self.unasked(emitter, &asked.about);
            }
            _ if side == Side::Client => {
                return emitter.pass_over("a request the client refused");
            }
            _ => {}
        }
        let event = ErrorEvent {
            code: code.clone(),
            message,
            ..ErrorEvent::default()
        };
        if self.wanted.remove(&asked.session).is_some() {
            // What is not there was never a session of this connection.
            emitter.add(&format!("error-{id}"), &Place::default(), event);
            return;
        }
        let (session, asks) = self.session_and_asks(&asked.session);
        // Where the request was not read, what fails while a turn runs is the turn.
        let of_turn = asked.method == "session/prompt"
            || (asked.method.is_empty() && code != "-32601" && !session.turns.is_empty());
        let place = session.quiet_place();
        if of_turn {
            session.failed(emitter, asks, id, event, code == "-32800");
        } else {
            emitter.add(&format!("error-{id}"), &place, event);
        }
    }

    pub(in crate::acp) fn session_and_asks(&mut self, native: &str) -> (&mut Session, &mut Asks) {
        self.session(native);
        let main = self.main.as_deref().unwrap_or_default();
        let id = if native.is_empty() { main } else { native };
        // `session` made it.
        let session = self.sessions.entry(id.to_owned()).or_default();
        (session, &mut self.asks)
    }
}
