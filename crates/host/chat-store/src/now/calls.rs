//! The calls that run, and those that were done lately: who tells of one again says nothing new.

use chat_event::ChatEvent;
use chat_event::payload::{ToolCall, ToolError, ToolResult};
use chat_event::shell::script_of;
use serde::{Deserialize, Serialize};

use super::asks::object_of;
use super::open::Place;
use super::turns::name_of;
use super::{Doing, MOST_DONE, MOST_OPEN, Now, note_teller, one_line};

/// A call, or what stands for one of which nothing but its id is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Call {
    pub(super) row: u32,
    pub(super) id: u64,
    pub(super) place: Place,
    /// Nobody called it as far as it was told.
    is_orphan: bool,
    /// It was taken back.
    pub(super) is_gone: bool,
    pub(super) runs: bool,
    /// What it left to the background goes on.
    pub(super) is_left: bool,
    /// Its last result said that it goes on.
    is_background: bool,
    ended_behind: bool,
    gave: Option<Gave>,
    called_ms: Option<i64>,
    pub(super) allowed_ms: Option<i64>,
    pub(super) told_by: Vec<u64>,
    pub(super) what: Option<Doing>,
}

/// Of a result, what decides whether another one stands in its place.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Gave {
    said: Said,
    error: Option<Failed>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Said {
    Nothing,
    Blank,
    Something,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Failed {
    Missing,
    Stopped,
    Otherwise,
}

impl Gave {
    fn of(result: &ToolResult, before: Option<Gave>) -> Gave {
        // How it ended may be told without what it gave.
        let says_nothing = result.background == Some(false) && result.result.is_null();
        let before = before.filter(|_| says_nothing).map(|gave| gave.said);
        let code = |error: &ToolError| match error.code.as_deref() {
            Some("no_result") => Failed::Missing,
            Some("interrupted") => Failed::Stopped,
            _ => Failed::Otherwise,
        };
        Gave {
            said: before.unwrap_or_else(|| match &result.result {
                nothing if nothing.is_null() => Said::Nothing,
                blank if blank.as_text() == "\"\"" => Said::Blank,
                _ => Said::Something,
            }),
            error: result.error.as_ref().map(code),
        }
    }

    fn is_empty_handed(self) -> bool {
        match self.error {
            Some(Failed::Missing) => true,
            Some(Failed::Stopped) => self.said != Said::Something,
            _ => false,
        }
    }

    /// Whether it says only that the call went well.
    fn is_bare(self) -> bool {
        self.error.is_none() && self.said == Said::Nothing
    }

    /// Whether a result that comes behind it stands in its place.
    fn gives_way_to(self, result: &ToolResult) -> bool {
        let tells = !result.is_empty_handed() && !result.is_bare();
        (self.is_empty_handed() && !result.is_empty_handed()) || (self.is_bare() && tells)
    }
}

impl Call {
    /// Whether it has its result: what was asked for it waits no more.
    pub(super) fn is_done(&self) -> bool {
        self.gave.is_some_and(|gave| !gave.is_empty_handed())
    }

    pub(super) fn has_result(&self) -> bool {
        self.gave.is_some()
    }

    /// What runs no more is not told of.
    fn forget_what(&mut self) {
        let is_final = |gave: Gave| !gave.is_empty_handed() && !gave.is_bare();
        if self.gave.is_some_and(is_final) && !self.is_background {
            self.what = None;
        }
    }

    fn has_ended(&self) -> bool {
        self.gave.is_some() && !self.is_background
    }

    /// Since when it runs: where it had to wait for an answer, since that came.
    pub(super) fn doing(&self) -> Option<Doing> {
        let mut what = self.what.clone()?;
        what.since_ms = self.allowed_ms.or(self.called_ms);
        Some(what)
    }
}

impl Now {
    /// The newest call of an id.
    pub(super) fn call_of(&self, id: u64) -> Option<usize> {
        self.calls.iter().rposition(|call| call.id == id)
    }

    /// The call that what belongs to `turn` means by an id: a source that counts its calls anew in every turn means another
    /// one than that of an earlier turn, which is done.
    pub(super) fn known_call(&self, id: u64, turn: u32) -> Option<usize> {
        let at = self.call_of(id)?;
        let call = &self.calls[at];
        let means = call.place.turn == turn || !call.has_ended() || call.is_orphan;
        (means && !call.is_gone).then_some(at)
    }

    /// The row of the call `id`, or of one that stands for it until it comes.
    pub(super) fn call_or_placeholder(&mut self, id: u64, place: Place) -> usize {
        match self.call_of(id) {
            Some(at) => at,
            None => self.new_call(id, place, true),
        }
    }

    pub(super) fn new_call(&mut self, id: u64, place: Place, is_orphan: bool) -> usize {
        let allowed_ms = self.early_answer(id, place.turn);
        let call = Call {
            row: self.next_row(),
            id,
            place,
            is_orphan,
            runs: !self.is_over_at(place),
            allowed_ms,
            ..Call::default()
        };
        self.calls.push_back(call);
        let is_done = |call: &Call| !call.runs;
        let n_done = self.calls.iter().filter(|call| is_done(call)).count();
        let gone = match n_done > MOST_DONE {
            true => self.calls.iter().position(is_done),
            false => (self.calls.len() - n_done > MOST_OPEN)
                .then(|| self.calls.iter().position(|call| call.runs))
                .flatten(),
        };
        if let Some(gone) = gone.filter(|&gone| gone + 1 < self.calls.len()) {
            self.calls.remove(gone);
        }
        self.calls.len() - 1
    }

    /// What another source tells late of the past does not run now, though nobody told how it ended.
    pub(super) fn call(&mut self, event: &ChatEvent, call: &ToolCall, is_past: bool) {
        let place = self.place(event);
        let id = name_of(&call.tool_call_id);
        let known = self.known_call(id, place.turn);
        let at = known.unwrap_or_else(|| self.new_call(id, place, false));
        let runs = match known {
            None if is_past => false,
            Some(at) if is_past => self.calls[at].runs,
            _ => !self.is_over_at(self.calls[at].place),
        };
        let object = object_of(&call.args).map(|object| script_of(&object).into_owned());
        let object = object.or_else(|| call.title.clone());
        let known = &mut self.calls[at];
        known.is_orphan = false;
        known.called_ms = event.timestamp;
        if known.gave.is_none() {
            known.runs = runs;
        }
        known.what = Some(Doing {
            tool: one_line(&call.tool_name),
            object: one_line(&object.unwrap_or_default()),
            since_ms: None,
        });
        known.forget_what();
        note_teller(&mut known.told_by, event);
    }

    pub(super) fn call_is_written(&mut self, event: &ChatEvent, id: &str) {
        let place = self.place(event);
        let id = name_of(id);
        if self.known_call(id, place.turn).is_none() {
            self.new_call(id, place, false);
        }
    }

    pub(super) fn result(&mut self, event: &ChatEvent, result: &ToolResult) {
        let place = self.place(event);
        let at = self.call_or_placeholder(name_of(&result.tool_call_id), place);
        let call = &mut self.calls[at];
        let ends = call.is_background && !result.goes_on();
        let ends_behind = result.background == Some(false) && !result.is_missing();
        let gives_way = call.gave.is_none_or(|gave| gave.gives_way_to(result));
        if !(ends || (ends_behind && !call.ended_behind) || gives_way) {
            return;
        }
        note_teller(&mut call.told_by, event);
        call.gave = Some(Gave::of(result, call.gave));
        call.is_background = result.goes_on();
        call.runs = call.is_background;
        call.forget_what();
        let id = call.id;
        if call.is_background {
            call.is_left = true;
        } else {
            call.ended_behind |= ends_behind;
            self.leaves_background(at);
        }
        self.look_whether_asks_wait(id);
    }
}
