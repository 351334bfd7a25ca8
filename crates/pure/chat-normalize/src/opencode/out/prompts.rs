//! Prompts: what the user wrote, and what stands where the log has none.
//!
//! A turn whose prompt the log does not have gets one without parts, or for what the program began itself, one with a
//! synthetic part. The session is busy once the prompt was told.

use chat_event::ChatEvent;
use serde_json::{Value, json};

use super::OpenCodeOut;
use crate::value::str_of;

impl OpenCodeOut {
    /// What the user wrote, or an agent to its sub-agent.
    pub(super) fn prompt(&mut self, event: &ChatEvent, text: &str, attachments: Option<&Value>) {
        let scope = self.scope(event);
        self.ensure_session(scope);
        let native = event.id.split(':').next().unwrap_or("").to_owned();
        let turn_id = event.turn_id.clone().unwrap_or_default();
        let message_id = if scope == 0 {
            let no = match self.open_turn_of(event.turn_id.as_ref()) {
                // Without a turn of its own a prompt is the end of what came before.
                Some(no) if event.turn_id.is_none() && self.implicit.contains(&no) => {
                    self.close_implicit();
                    self.turn_for(None)
                }
                Some(no) => no,
                None => {
                    self.close_implicit();
                    self.turn_for(event.turn_id.as_ref())
                }
            };
            let bare = self.turns.get(&no).and_then(|turn| {
                let prompt = turn.prompt.clone();
                prompt.filter(|_| turn.bare)
            });
            match bare {
                Some(message_id) => message_id,
                None => {
                    let message_id = self.message_id([&native, &turn_id], &event.id);
                    self.set_prompt(no, &message_id);
                    self.tell_prompt(0, &message_id, None);
                    message_id
                }
            }
        } else {
            let message_id = self.message_id([&native, ""], &event.id);
            self.scopes[scope].prompt = Some(message_id.clone());
            self.tell_prompt(scope, &message_id, None);
            message_id
        };
        let mut any = false;
        if !text.is_empty() {
            any = true;
            let part_id = self.ids.mint("prt", self.now_ms, &event.id);
            let part = json!({"type": "text", "text": text});
            self.tell_part(scope, &message_id, &part_id, part);
        }
        for attachment in attachments.and_then(Value::as_array).into_iter().flatten() {
            any = true;
            let part_id = self.ids.mint("prt", self.now_ms, &event.id);
            self.tell_part(scope, &message_id, &part_id, file_part(attachment));
        }
        self.note(scope, &message_id, None);
        if scope == 0
            && let Some(no) = self.open_turn_of(event.turn_id.as_ref())
            && let Some(turn) = self.turns.get_mut(&no)
        {
            turn.bare = !any;
        }
        self.say_busy(scope);
    }

    /// Work begins: the prompt it is for is told where it was not, and that the session is busy.
    pub(super) fn begin(&mut self, scope: usize, turn: u64) -> String {
        self.ensure_session(scope);
        let told = match self.turns.get(&turn).filter(|_| scope == 0) {
            Some(turn) => turn.prompt.clone(),
            None => self.scopes[scope].prompt.clone(),
        };
        let prompt = match told {
            Some(prompt) => prompt,
            None => {
                let (turn_id, own) = match self.turns.get(&turn).filter(|_| scope == 0) {
                    Some(turn) => (turn.id.clone(), turn.trigger != "user"),
                    None => (String::new(), true),
                };
                let seed = format!("{turn_id}:prompt:{}", self.event_id);
                let message_id = self.message_id([&turn_id, ""], &seed);
                self.tell_prompt(scope, &message_id, None);
                if own {
                    let part_id = self.ids.mint("prt", self.now_ms, &seed);
                    let part = json!({"type": "text", "text": "", "synthetic": true});
                    self.tell_part(scope, &message_id, &part_id, part);
                }
                if scope == 0 {
                    self.set_prompt(turn, &message_id);
                } else {
                    self.scopes[scope].prompt = Some(message_id.clone());
                }
                message_id
            }
        };
        self.say_busy(scope);
        prompt
    }

    fn set_prompt(&mut self, no: u64, message_id: &str) {
        let now_ms = self.now_ms;
        if let Some(turn) = self.turns.get_mut(&no) {
            turn.prompt = Some(message_id.to_owned());
            turn.prompt_ms = now_ms;
            turn.bare = true;
            self.prompts.insert(&turn.id, message_id.to_owned());
        }
    }

    /// Tells the prompt, or once more when and what its turn changed.
    pub(super) fn tell_prompt(
        &mut self,
        scope: usize,
        message_id: &str,
        changed: Option<(i64, Value)>,
    ) {
        let session = self.scopes[scope].id.clone();
        let created_ms = changed.as_ref().map_or(self.now_ms, |(ms, _)| *ms);
        let mut info = json!({
            "id": message_id,
            "role": "user",
            "sessionID": session,
            "time": {"created": created_ms},
            "agent": self.agent(),
            "model": {"providerID": self.provider(), "modelID": self.model()},
        });
        if let Some((_, diffs)) = changed {
            info["summary"] = json!({"diffs": diffs});
        }
        self.tell(
            "message.updated",
            json!({"sessionID": session, "info": info}),
        );
    }
}

/// An attachment as a part of a prompt.
pub(super) fn file_part(attachment: &Value) -> Value {
    let media_type = str_of(attachment, "mediaType").unwrap_or("application/octet-stream");
    let url = match str_of(attachment, "data") {
        Some(data) => format!("data:{media_type};base64,{data}"),
        None => str_of(attachment, "ref").unwrap_or("").to_owned(),
    };
    let mut part = json!({"type": "file", "mime": media_type, "url": url});
    if let Some(name) = str_of(attachment, "name") {
        part["filename"] = Value::from(name);
    }
    part
}
