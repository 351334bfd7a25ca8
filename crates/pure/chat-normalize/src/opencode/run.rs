//! `opencode run --format json`: parts that are whole, one a line; no prompt, no end.

use chat_event::Extra;
use chat_event::payload::UserMessage;
use serde_json::{Value, json};

use super::session::Session;
use super::times;
use crate::dialect::Normalizer;
use crate::emit::{Emitter, Place};
use crate::reader::Context;
use crate::value::{str_of, text_of};

/// Reads the lines of a run.
#[derive(Debug)]
pub(crate) struct OpenCodeRun {
    session: Session,
    prompt: Option<String>,
    cwd: Option<String>,
    last_ms: Option<i64>,
}

impl OpenCodeRun {
    /// `context` says what the user asked and where it runs, which the source does not.
    pub(crate) fn new(context: &Context) -> Self {
        OpenCodeRun {
            session: Session::new("opencode-run", true, context),
            prompt: context.prompt.clone(),
            cwd: context.cwd.clone(),
            last_ms: None,
        }
    }
}

impl Normalizer for OpenCodeRun {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        let kind = str_of(line, "type").unwrap_or("");
        if let Some(time_ms) = times::of_member(line, "timestamp").or(self.last_ms) {
            emitter.time_ms = time_ms;
            self.last_ms = Some(time_ms);
        }
        let native_id = text_of(line, "sessionID").unwrap_or("").to_owned();
        let part = line.get("part").unwrap_or(&Value::Null);
        let session = &mut self.session;
        if native_id.is_empty() || session.root.as_ref().is_some_and(|root| *root != native_id) {
            return emitter.raw(&Place::default(), session.format, kind, line);
        }
        session.root = Some(native_id.clone());
        let info = self.cwd.take().map(|cwd| json!({"directory": cwd}));
        session.about(emitter, &native_id, info.as_ref());
        if session.turns.is_empty() {
            let stem = text_of(part, "messageID").unwrap_or(&native_id);
            let turn_id = session.open_turn(emitter, &format!("t-{stem}"), "user");
            if let Some(prompt) = self.prompt.take() {
                let place = Place {
                    turn_id: Some(turn_id),
                    ..Place::default()
                };
                let payload = UserMessage {
                    text: prompt.into(),
                    attachments: None,
                    extra: Extra::default(),
                };
                emitter.add("prompt", &place, payload);
            }
        }
        match kind {
            "step_start" | "text" | "reasoning" | "tool_use" | "step_finish" => {
                // A call comes with its result, so that it runs is told by the step that has begun; after one that ended
                // with calls the model is asked again.
                match kind {
                    "step_start" => emitter.more_comes(true),
                    "step_finish" => {
                        emitter.more_comes(str_of(part, "reason") == Some("tool-calls"));
                    }
                    _ => {}
                }
                session.part(emitter, &native_id, part, true);
                if kind == "step_finish" {
                    session.see_step(emitter, part);
                }
                if kind == "step_finish"
                    && let Some(message_id) = text_of(part, "messageID")
                    && let Some(turn) = session.turns.last_mut()
                {
                    turn.open_messages.remove(message_id);
                }
            }
            "error" => {
                emitter.more_comes(false);
                let place = session.place(&native_id);
                let error = line.get("error").unwrap_or(&Value::Null);
                session.failed(emitter, &native_id, &place, error);
            }
            _ => {
                let place = session.place(&native_id);
                emitter.raw(&place, session.format, kind, line);
            }
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        if let Some(time_ms) = self.last_ms {
            emitter.time_ms = time_ms;
        }
        let cut_off = self.session.is_cut_off();
        self.session.close_all(emitter, false);
        emitter.end_of_stream(cut_off);
    }
}
