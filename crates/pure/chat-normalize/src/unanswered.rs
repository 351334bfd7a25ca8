//! Calls that were told to have no result, and whose result may come yet: behind the end of their turn, or in a later one.
//!
//! When a call is given up is for the dialects.

use chat_event::payload::ToolResult;

use crate::emit::{Emitter, Place};
use crate::recent::{LATE_LARGE, Recent};

/// The last of them, by the ids that their source gives them.
#[derive(Debug, Default)]
pub(crate) struct Unanswered {
    calls: Recent<GivenUp, LATE_LARGE>,
}

/// A call with a result that was made up.
#[derive(Debug)]
pub(crate) struct GivenUp {
    /// The id that its events bear.
    pub(crate) call_id: String,
    pub(crate) place: Place,
}

impl Unanswered {
    /// Gives up the call `native`; `result` says that it has none.
    pub(crate) fn give_up(
        &mut self,
        emitter: &mut Emitter,
        native: &str,
        place: Place,
        result: ToolResult,
    ) {
        let call_id = result.tool_call_id.clone();
        emitter.add_as(&format!("{call_id}:result"), &place, result);
        let given_up = GivenUp { call_id, place };
        self.calls.insert(native, given_up);
    }

    pub(crate) fn contains(&self, native: &str) -> bool {
        self.calls.contains(native)
    }

    /// Another call bears the id now.
    pub(crate) fn forget(&mut self, native: &str) {
        self.calls.remove(native);
    }

    /// A result came after all: for those who read it stands in the place of the one that was made up.
    pub(crate) fn take_back(&mut self, native: &str) -> Option<GivenUp> {
        self.calls.remove(native)
    }
}
