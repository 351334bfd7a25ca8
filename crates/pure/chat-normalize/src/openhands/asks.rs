//! Calls that wait for a yes: in V0 an action says so of itself, in V1 the state of the session says so of those that wait.
//!
//! In V1 who refuses brings the agent to rest before the refusals are written, and leaves it there.

use chat_event::Json;
use chat_event::payload::{PermissionOption, PermissionRequest, PermissionResolved};

use super::session::Session;
use super::tools;
use crate::emit::Emitter;

impl Session {
    /// The call that waits under `id` waits for a yes.
    pub(crate) fn ask(&mut self, emitter: &mut Emitter, id: &str) {
        let Some(call) = self.track.waiting(id) else {
            return;
        };
        let option = PermissionOption::new;
        let payload = PermissionRequest {
            request_id: format!("{}:ask", call.id),
            tool_call_id: Some(call.id.clone()),
            tool_name: call.name.clone(),
            title: tools::title(&call.args),
            args: Some(Json::from(&call.args)),
            options: vec![
                option("confirm", "Confirm", "allow_once"),
                option("reject", "Reject", "reject_once"),
            ],
            ..PermissionRequest::default()
        };
        emitter.add_as(&payload.request_id.clone(), &call.place.clone(), payload);
        self.asked.insert(id.to_owned());
    }

    /// All calls of the newest answer that have no result wait for a yes.
    pub(crate) fn ask_newest(&mut self, emitter: &mut Emitter) {
        // The state is said again while it lasts.
        let waiting = self.track.newest_of_response();
        let waiting = waiting.take_while(|id| !self.asked.contains(*id));
        let waiting: Vec<String> = waiting.cloned().collect();
        if waiting.is_empty() {
            return emitter.pass_over("nothing more that waits for a yes");
        }
        for id in waiting.iter().rev() {
            self.ask(emitter, id);
        }
    }

    /// The agent says that it is at rest. While calls wait for a yes, it is asked to go on or their refusals come.
    pub(crate) fn is_refused(&mut self) -> bool {
        self.rests = !self.asked.is_empty();
        self.rests
    }

    /// The agent runs: what waited runs now, and the turn goes on.
    pub(crate) fn goes_on(&mut self, emitter: &mut Emitter) {
        self.rests = false;
        self.answer_all(emitter, "allow");
    }

    /// Nothing more comes for now: what was refused is over.
    pub(crate) fn rest(&mut self, emitter: &mut Emitter) {
        self.fail(emitter);
        if (self.rests && self.asked.is_empty()) || self.ends.is_some() {
            self.close(emitter);
        }
    }

    /// The user said yes or no to all that waits, or nothing more, which is `cancel`.
    pub(crate) fn answer_all(&mut self, emitter: &mut Emitter, decision: &str) {
        for id in std::mem::take(&mut self.asked) {
            self.tell_answer(emitter, &id, decision);
        }
    }

    /// What became of the call that waits under `id` says what the user said, where it was asked for.
    pub(super) fn answer(&mut self, emitter: &mut Emitter, id: &str, decision: &str) {
        if self.asked.remove(id) {
            self.tell_answer(emitter, id, decision);
        }
    }

    fn tell_answer(&mut self, emitter: &mut Emitter, id: &str, decision: &str) {
        let place = match self.track.waiting(id) {
            Some(call) => call.place.clone(),
            None => self.track.place(),
        };
        let id = self.track.id_of_next(id);
        let answered = decision != "cancel";
        let payload = PermissionResolved {
            request_id: format!("{id}:ask"),
            decision: decision.to_owned(),
            scope: answered.then(|| "once".to_owned()),
            by: answered.then(|| "user".to_owned()),
            ..PermissionResolved::default()
        };
        emitter.add_as(&format!("{id}:answer"), &place, payload);
    }
}
