//! Where a turn begins and ends. Where it is over without a word: `ends`.

use chat_event::Json;

use super::Session;
use crate::emit::Emitter;
use crate::track::{Said, ended};

impl Session {
    /// A prompt; a delegate's is part of its call, and one that comes while a call runs is read behind its result.
    pub(crate) fn prompt(&mut self, emitter: &mut Emitter, id: &str, said: Said) {
        if self.track.parent().is_none() {
            if self.track.waits() && self.asked.is_empty() && !self.stopped {
                return self.track.steer(emitter, &format!("{id}:user"), said);
            }
            self.close(emitter);
            self.track.open_turn(emitter, id, "user");
            self.works = false;
        }
        self.track.user(emitter, &format!("{id}:user"), said);
        // The words that an agent is started with are those of who calls it.
        if self.track.worker().is_some()
            && let Some(event) = emitter.out.last_mut()
        {
            event.extra.insert("from", Json::string("agent"));
        }
    }

    pub(crate) fn close(&mut self, emitter: &mut Emitter) {
        self.fail(emitter);
        let now = self.ends.take().map(|line| emitter.go_to(line));
        if std::mem::take(&mut self.is_done) && !self.stopped {
            self.outcome = "completed";
        }
        self.by_action.clear();
        self.track.leave_all();
        self.delegate_is_done = false;
        self.answer_all(emitter, "cancel");
        self.rests = false;
        self.tell_spent(emitter);
        self.track.close_turn(emitter, ended(self.outcome));
        self.outcome = "interrupted";
        self.stopped = false;
        self.has_error = false;
        if let Some(now) = now {
            emitter.go_to(now);
        }
    }
}
