//! Whose events come, of the agent that leads or of one that it called, and the response that is open there.

use serde_json::Value;

use super::ClineStream;
use crate::emit::Emitter;

impl ClineStream {
    /// A line that says whose events come.
    pub(super) fn turn_to(&mut self, emitter: &mut Emitter, line: &Value) {
        let before = self.helpers.call().map(str::to_owned);
        self.helpers.hook(line);
        let call = self.helpers.call();
        if call != before.as_deref() {
            let call = call.map(str::to_owned);
            self.end_part(emitter);
            self.talk.run.track.within(call.as_deref());
        }
    }

    /// The events that come are of the agent that leads.
    pub(super) fn lead(&mut self, emitter: &mut Emitter) {
        self.end_part(emitter);
        self.helpers.all_done();
        self.talk.run.track.within(None);
    }

    /// The model is asked again, by the agent whose events come.
    pub(super) fn next_response(&mut self, emitter: &mut Emitter) {
        self.end_part(emitter);
        self.last_thought.clear();
        match self.helpers.call() {
            Some(_) => self.helpers.next_response(),
            None => self.talk.run.next_response(),
        }
        self.response(emitter);
    }

    /// The response that is open, of the agent whose events come.
    pub(super) fn response(&mut self, emitter: &mut Emitter) -> String {
        let of_helper = self.helpers.response();
        self.talk.run.response(emitter, of_helper.as_deref())
    }
}
