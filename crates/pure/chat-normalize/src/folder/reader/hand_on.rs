//! Which events can be said now, and which wait: for an agent's file, for a result's, or for the end of all.

use chat_event::{ChatEvent, Payload};

use super::FolderReader;
use super::results::LargeResult;

impl FolderReader {
    /// Hands on what can be said now, and opens the file that is needed next.
    pub(super) fn go_on(&mut self, out: &mut Vec<ChatEvent>) {
        while self.result.is_none() && self.metas.is_empty() {
            let Some(source) = self.sources.last_mut() else {
                break;
            };
            let Some(event) = source.events.pop_front() else {
                if !source.ended {
                    return;
                }
                self.end_newest();
                continue;
            };
            if source.agent.is_none() {
                self.note_session(&event);
                if matches!(event.payload, Payload::SessionEnd(_)) || !self.last.is_empty() {
                    self.last.push_back(event);
                    continue;
                }
            } else if !self.has_place(&event) {
                continue;
            }
            if let Some((agent_id, call)) = self.agent_before(&event) {
                if let Some(source) = self.sources.last_mut() {
                    source.events.push_front(event);
                }
                self.open_agent(&agent_id, Some(call));
                continue;
            }
            if let Some(path) = self.results.take_of(&event) {
                self.result = Some(LargeResult::new(path, event));
                return;
            }
            self.emit(event, out);
        }
        if self.began && self.sources.is_empty() && self.result.is_none() && !self.finished {
            self.finished = true;
            self.end(out);
        }
    }

    /// Remembers what an event of the session's own file calls the session.
    fn note_session(&mut self, event: &ChatEvent) {
        if self.session_id.is_none() {
            self.session_id = Some(event.session_id.clone());
        }
        if let Payload::SessionStart(start) = &event.payload {
            self.native_id = start.native_id.clone().or(self.native_id.take());
        }
    }

    /// The file of the result that waits is read.
    pub(super) fn end_result(&mut self, out: &mut Vec<ChatEvent>) {
        let Some(large) = self.result.take() else {
            return;
        };
        let (event, warning) = large.filled();
        self.emit(event, out);
        if let Some(warning) = warning {
            self.say("warning", warning, out);
        }
    }

    fn end(&mut self, out: &mut Vec<ChatEvent>) {
        if !self.left_out.is_empty() {
            let text = format!(
                "no call started what these files tell, and they are left out: {}",
                self.left_out.join(", ")
            );
            self.say("info", text, out);
        }
        for event in std::mem::take(&mut self.last) {
            self.written.write(event, out);
        }
    }

    /// Writes an event of the newest file.
    pub(super) fn emit(&mut self, event: ChatEvent, out: &mut Vec<ChatEvent>) {
        let event = match self
            .sources
            .last_mut()
            .and_then(|source| source.agent.as_mut())
        {
            Some(agent) => agent.place(event),
            None => Some(event),
        };
        let Some(event) = event else { return };
        self.calls.note(&event);
        self.written.write(event, out);
    }

    pub(super) fn say(&mut self, level: &str, text: String, out: &mut Vec<ChatEvent>) {
        let session_id = match (&self.session_id, &self.context.session_id) {
            (Some(id), _) | (None, Some(id)) => id.clone(),
            (None, None) => "session".to_owned(),
        };
        self.written.say(session_id, level, text, out);
    }
}
