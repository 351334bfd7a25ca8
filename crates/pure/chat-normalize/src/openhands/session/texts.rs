//! Texts and thoughts of an answer, and the turn that its parts stand in.

use super::Session;
use crate::emit::Emitter;

impl Session {
    /// Work: it stands in a turn.
    pub(super) fn work(&mut self, emitter: &mut Emitter, response: &str) {
        if self.track.turn_id().is_none() {
            self.has_error = false;
        }
        self.rests = false;
        self.works = true;
        self.track.need_turn(emitter, &format!("t-{response}"));
        if self.answer.0 != response {
            self.answer = (response.to_owned(), 0, 0);
        }
        emitter.goes_on(&self.track.place());
    }

    pub(crate) fn text(&mut self, emitter: &mut Emitter, response: &str, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        self.work(emitter, response);
        self.track.text(emitter, response, self.answer.1, text);
        self.answer.1 = self.answer.1.saturating_add(1);
    }

    pub(crate) fn thought(&mut self, emitter: &mut Emitter, response: &str, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        self.work(emitter, response);
        self.track
            .thought(emitter, response, self.answer.2, text, false);
        self.answer.2 = self.answer.2.saturating_add(1);
    }
}
