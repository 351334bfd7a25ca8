//! What the agent says: displayed piece by piece, and once more whole where it stops.

use chat_event::payload::{AssistantChunk, AssistantDone};
use serde_json::Value;

use super::{ClaudeHooks, FORMAT};
use crate::emit::{Emitter, Place, hash};
use crate::value::{is_true, str_of, text_of};

/// How many bytes of a message that is displayed piece by piece are kept to tell the answer from it.
const MAX_SHOWN_BYTES: usize = 16 * 1024 * 1024;

impl ClaudeHooks {
    /// The last words of the agent, where they were not displayed before.
    pub(super) fn answer(&mut self, emitter: &mut Emitter, line: &Value, place: &Place) {
        let Some(text) = text_of(line, "last_assistant_message") else {
            return;
        };
        if place.parent_tool_call_id.is_none()
            && self.last_shown.take() == Some(hash(text.trim().as_bytes()))
        {
            return;
        }
        let done = AssistantDone {
            text: text.to_owned(),
            ..AssistantDone::default()
        };
        emitter.add("answer", place, done);
    }

    /// Lines of an answer, as they are displayed.
    pub(super) fn display(&mut self, emitter: &mut Emitter, line: &Value) {
        let Some(id) = text_of(line, "message_id").map(str::to_owned) else {
            emitter.raw(&Place::default(), FORMAT, "MessageDisplay", line);
            return;
        };
        let place = self.work_place(emitter, line).in_response(&id);
        let delta = str_of(line, "delta").unwrap_or("");
        let shown = self.shown.entry(id.clone()).or_default();
        if shown.len() + delta.len() <= MAX_SHOWN_BYTES {
            shown.push_str(delta);
        }
        if !delta.is_empty() {
            let chunk = AssistantChunk {
                text: delta.to_owned(),
                part: Some(0),
                index: crate::value::count_of(line, "index"),
                ..AssistantChunk::default()
            };
            emitter.add("", &place, chunk);
        }
        if is_true(line, "final") {
            self.finish_shown(emitter, &id, &place);
        }
    }

    fn finish_shown(&mut self, emitter: &mut Emitter, id: &str, place: &Place) {
        let Some(text) = self.shown.remove(id) else {
            return;
        };
        self.last_shown = Some(hash(text.trim().as_bytes()));
        let done = AssistantDone {
            text,
            part: Some(0),
            ..AssistantDone::default()
        };
        emitter.add_as(&format!("{id}:shown"), place, done);
    }

    pub(super) fn close_shown(&mut self, emitter: &mut Emitter) {
        let place = self.session.place(None, None);
        for id in self.shown.keys().cloned().collect::<Vec<_>>() {
            self.finish_shown(emitter, &id, &place.in_response(&id));
        }
    }
}
