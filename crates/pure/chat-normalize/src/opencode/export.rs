//! `opencode export` and `GET /session/ID/message`: the session, or its messages alone, each with its last state.

use serde_json::Value;

use super::session::Session;
use super::times;
use crate::dialect::Normalizer;
use crate::emit::{Emitter, Place};
use crate::reader::Context;
use crate::value::{list_of, str_of, text_of};

/// Reads exported sessions.
#[derive(Debug)]
pub(crate) struct OpenCodeExport {
    session: Session,
}

impl OpenCodeExport {
    pub(crate) fn new(context: &Context) -> Self {
        OpenCodeExport {
            session: Session::new("opencode-export", false, context),
        }
    }

    fn is_other(&self, native_id: &str) -> bool {
        let root = self.session.root.as_deref();
        root.is_some_and(|root| root != native_id)
    }

    fn message(&mut self, emitter: &mut Emitter, message: &Value) {
        let info = message.get("info").unwrap_or(&Value::Null);
        let (Some(id), Some(role)) = (text_of(info, "id"), text_of(info, "role")) else {
            return emitter.raw(
                &Place::default(),
                self.session.format,
                "message without an id or a role",
                message,
            );
        };
        let native_id = text_of(info, "sessionID")
            .map(str::to_owned)
            .or_else(|| self.session.root.clone())
            .unwrap_or_default();
        if self.is_other(&native_id) {
            return emitter.pass_over("message of another session");
        }
        if self.session.messages.contains_key(id) {
            emitter.report.repeated += 1;
            return;
        }
        emitter.begin_line(Some(id));
        let time = info.get("time").unwrap_or(&Value::Null);
        Session::at(emitter, time, "created");
        self.session.root = Some(native_id.clone());
        let session = &mut self.session;
        session.about(emitter, &native_id, None);
        let parts = list_of(message, "parts");
        if role != "assistant" {
            session.message(emitter, &native_id, info);
            for part in parts {
                session.part(emitter, &native_id, part, true);
            }
            session.flush_prompt(emitter);
            return;
        }
        // The message is known before its parts, and whole after them.
        let mut begun = info.clone();
        if let Some(members) = begun.as_object_mut() {
            for later in ["time", "error", "finish"] {
                members.remove(later);
            }
        }
        session.message(emitter, &native_id, &begun);
        for part in parts {
            session.part(emitter, &native_id, part, true);
        }
        Session::at(emitter, time, "completed");
        session.message(emitter, &native_id, info);
        if times::of_member(time, "completed").is_none() && str_of(info, "finish").is_none() {
            emitter.pass_over("message that is not whole");
        }
    }
}

impl Normalizer for OpenCodeExport {
    fn line(&mut self, emitter: &mut Emitter, value: &Value) {
        let info = value.get("info").unwrap_or(&Value::Null);
        if value.get("messages").is_some_and(Value::is_array) {
            if let Some(id) = text_of(info, "id") {
                if self.is_other(id) {
                    return emitter.pass_over("another session");
                }
                emitter.begin_line(Some(id));
                let time = info.get("time").unwrap_or(&Value::Null);
                Session::at(emitter, time, "created");
                self.session.root = Some(id.to_owned());
                self.session.about(emitter, id, Some(info));
            }
            let messages = list_of(value, "messages");
            if messages.is_empty() {
                emitter.pass_over("a session without messages");
            }
            for message in messages {
                self.message(emitter, message);
            }
        } else {
            self.message(emitter, value);
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        // A document is written when the session rests, but its own end may be missing.
        let at_rest = emitter.report.unreadable == 0;
        self.session.close_all(emitter, at_rest);
        self.session.tell_set_back(emitter);
    }
}
