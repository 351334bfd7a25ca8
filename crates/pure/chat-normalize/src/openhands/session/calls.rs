//! Calls and their results, and the delegates that work for them. Calls that wait for a yes: `asks`.

use chat_event::payload::ToolResult;

use super::Session;
use crate::emit::Emitter;
use crate::openhands::tools;
use crate::track::{Call, NewCall};

impl Session {
    /// A call; `action_id` is what its observation will name.
    pub(crate) fn call(&mut self, emitter: &mut Emitter, action_id: &str, call: NewCall<'_>) {
        self.work(emitter, call.response_id);
        self.outcome = "interrupted";
        self.stopped = false;
        let (id, name, args) = (call.id.to_owned(), call.name, call.args);
        let place = self.track.place().in_response(call.response_id);
        self.track.call(emitter, call);
        if let Some(plan) = tools::plan(name, args) {
            emitter.add_as(&format!("{id}:plan"), &place, plan);
        }
        self.by_action.insert(action_id.to_owned(), id);
    }

    /// The id of the call that an observation answers: that of its action, its own, or the newest that waits.
    pub(crate) fn answered(&mut self, action_id: &str, call_id: Option<&str>) -> Option<String> {
        let of_action = self.by_action.get(action_id).cloned();
        of_action
            .or_else(|| call_id.map(str::to_owned))
            .filter(|id| self.track.waiting(id).is_some())
    }

    /// The result of the call that waits under `id`.
    pub(crate) fn result(
        &mut self,
        emitter: &mut Emitter,
        action_id: &str,
        id: &str,
        result: ToolResult,
    ) -> Option<Call> {
        self.by_action.remove(action_id);
        let denied = result
            .error
            .as_ref()
            .and_then(|error| error.code.as_deref())
            == Some("rejected");
        self.answer(emitter, id, if denied { "deny" } else { "allow" });
        self.track.result(emitter, id, result)
    }

    /// The call waiting under `id` has its result: the delegate that it started, where it is one, is done.
    pub(crate) fn leave_delegate(&mut self, id: &str) {
        let parent = self.track.parent().map(str::to_owned);
        self.track.leave(id);
        if self.track.parent() != parent.as_deref() {
            self.delegate_is_done = false;
        }
    }
}
