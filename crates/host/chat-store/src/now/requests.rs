//! The requests that wait, and those that did lately: either half may be told first, each may be told again, and two sources
//! may tell of one.

mod said;

use chat_event::ChatEvent;
use chat_event::payload::{
    PermissionRequest, PermissionResolved, QuestionRequest, QuestionResolved,
};
use serde::{Deserialize, Serialize};

use super::asks::{of_permission, of_question};
use super::open::Place;
use super::turns::name_of;
use super::{Ask, MOST_DONE, MOST_OPEN, Now, note_teller};

/// A request, or an answer whose request has not come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Request {
    pub(super) row: u32,
    /// Its ids, as hashes of them with their kind: another source that tells of it has one of its own.
    names: Vec<u64>,
    pub(super) place: Place,
    at_ms: Option<i64>,
    /// The call that has to wait for the answer.
    pub(super) call: Option<u64>,
    is_elsewhere: bool,
    /// It says which answers there are.
    offers_answers: bool,
    /// What is asked, to know it by where another source tells of it.
    said: u64,
    /// It is asked for no turn, as a hook does, and answered here: it waits whatever turn ends.
    pub(super) is_free: bool,
    pub(super) is_open: bool,
    pub(super) is_resolved: bool,
    is_refused: bool,
    /// It was answered before its call came.
    pub(super) is_early: bool,
    pub(super) answered_ms: Option<i64>,
    pub(super) told_by: Vec<u64>,
    pub(super) what: Option<Ask>,
}

/// A request as it is told.
struct Told {
    name: u64,
    said: u64,
    call: Option<u64>,
    is_elsewhere: bool,
    offers_answers: bool,
    what: Ask,
}

impl Request {
    /// Whether it is what another source tells of: a hook asks here and may know no call, its agent's own log tells of the call
    /// and that it is answered elsewhere. Where both know their call, it is one.
    fn is_beside(&self, told: &Told) -> bool {
        let is_side = |is_elsewhere: bool, call: Option<u64>, offers: bool| {
            is_elsewhere == call.is_some() || (!is_elsewhere && offers)
        };
        let is_one_call = [self.call, told.call].contains(&None) || self.call == told.call;
        self.is_open
            && is_one_call
            && is_side(self.is_elsewhere, self.call, self.offers_answers)
            && is_side(told.is_elsewhere, told.call, told.offers_answers)
            && self.is_elsewhere != told.is_elsewhere
            && self.said == told.said
    }

    pub(super) fn what(&self) -> Option<Ask> {
        let mut what = self.what.clone()?;
        what.since_ms = self.at_ms;
        Some(what)
    }
}

impl Now {
    pub(super) fn permission(&mut self, event: &ChatEvent, request: &PermissionRequest) {
        let told = Told {
            name: permission_name(&request.request_id),
            said: said::of_permission(&request.tool_name, request.args.as_ref()),
            call: request.tool_call_id.as_deref().map(name_of),
            is_elsewhere: request.answerable == Some(false),
            offers_answers: !request.options.is_empty(),
            what: of_permission(request),
        };
        if !self.is_of_refusal(event, &told) {
            self.ask(event, told);
        }
    }

    pub(super) fn question(&mut self, event: &ChatEvent, request: &QuestionRequest) {
        let told = Told {
            name: question_name(&request.request_id),
            said: said::of_question(request),
            call: request.tool_call_id.as_deref().map(name_of),
            is_elsewhere: request.answerable == Some(false),
            offers_answers: true,
            what: of_question(request),
        };
        self.ask(event, told);
    }

    /// Two sources may tell of one refusal: a hook that asks may know no call, and what the agent says of the call later
    /// knows no hook.
    fn is_of_refusal(&mut self, event: &ChatEvent, told: &Told) -> bool {
        if told.offers_answers || told.call.is_none() {
            return false;
        }
        let is_named = |ask: &Request| ask.names.contains(&told.name);
        if self.asks.iter().any(is_named) {
            return false;
        }
        let Some(turn) = self.turns.of_name(event) else {
            return false;
        };
        let before = self.asks.iter().rposition(|ask| {
            let is_there = ask.place.turn == turn && ask.is_refused;
            let is_its = ask.call.is_none() || (ask.call == told.call && ask.offers_answers);
            is_there && is_its && ask.said == told.said
        });
        let Some(at) = before else {
            return false;
        };
        let ask = &mut self.asks[at];
        ask.call = told.call;
        ask.names.push(told.name);
        note_teller(&mut ask.told_by, event);
        self.asked_or_answered(at, event.timestamp);
        true
    }

    fn ask(&mut self, event: &ChatEvent, told: Told) {
        let known = self
            .asks
            .iter()
            .position(|ask| ask.names.contains(&told.name));
        let beside = match known {
            Some(_) => None,
            None => self.asks.iter().rposition(|ask| ask.is_beside(&told)),
        };
        let at = match known.or(beside) {
            Some(at) => at,
            None => match self.new_request(event, told.name) {
                Some(at) => at,
                None => return,
            },
        };
        let ask = &mut self.asks[at];
        note_teller(&mut ask.told_by, event);
        // Of two sides the one that is answered here stays, and is of the call.
        if beside.is_some() {
            ask.names.push(told.name);
        }
        ask.is_free |= event.turn_id.is_none() && !told.is_elsewhere;
        if beside.is_some() && told.is_elsewhere {
            ask.call = told.call;
        } else {
            ask.call = told.call.or(ask.call);
            (ask.is_elsewhere, ask.said) = (told.is_elsewhere, told.said);
            ask.offers_answers = told.offers_answers;
            ask.what = Some(told.what);
        }
        self.asked_or_answered(at, event.timestamp);
    }

    /// Makes room for one that was not told of; `None` where too many wait.
    fn new_request(&mut self, event: &ChatEvent, name: u64) -> Option<usize> {
        if self.n_asks() >= MOST_OPEN {
            return None;
        }
        let request = Request {
            place: self.place(event),
            row: self.next_row(),
            names: vec![name],
            at_ms: event.timestamp,
            ..Request::default()
        };
        if self.asks.len() - self.n_asks() >= MOST_DONE
            && let Some(gone) = self.asks.iter().position(|ask| !ask.is_open)
        {
            self.asks.remove(gone);
        }
        self.asks.push_back(request);
        Some(self.asks.len() - 1)
    }

    pub(super) fn permission_is_resolved(&mut self, event: &ChatEvent, told: &PermissionResolved) {
        let name = permission_name(&told.request_id);
        self.resolve(event, name, told.decision != "allow");
    }

    pub(super) fn question_is_resolved(&mut self, event: &ChatEvent, told: &QuestionResolved) {
        self.resolve(event, question_name(&told.request_id), false);
    }

    fn resolve(&mut self, event: &ChatEvent, name: u64, is_refused: bool) {
        let known = self.asks.iter().position(|ask| ask.names.contains(&name));
        let at = match known {
            Some(at) => at,
            None => match self.new_request(event, name) {
                Some(at) => at,
                None => return,
            },
        };
        let ask = &mut self.asks[at];
        // The first answer stands.
        if !ask.is_resolved {
            (ask.is_resolved, ask.is_refused) = (true, is_refused);
            ask.answered_ms = event.timestamp;
            note_teller(&mut ask.told_by, event);
            self.asked_or_answered(at, event.timestamp);
        }
    }

    /// Whether it waits: in a turn that is over, and for a call that is done, nothing does.
    fn asked_or_answered(&mut self, at: usize, at_ms: Option<i64>) {
        let ask = &self.asks[at];
        let call = ask.call.and_then(|id| self.known_call(id, ask.place.turn));
        let is_done = call.is_some_and(|call| self.calls[call].is_done());
        let is_over = !ask.is_free && self.is_over_at(ask.place);
        let waits = !ask.is_resolved && !is_done;
        let ask = &mut self.asks[at];
        ask.is_free &= waits;
        ask.is_open = waits && !is_over;
        ask.is_early |= ask.is_resolved && ask.call.is_some() && call.is_none();
        if !ask.is_open {
            self.call_waited(call, at_ms);
        }
    }

    /// A call waits no more: its time is from the answer on.
    fn call_waited(&mut self, call: Option<usize>, at_ms: Option<i64>) {
        if let Some(at) = call
            && !self.calls[at].has_result()
        {
            let call = &mut self.calls[at];
            call.allowed_ms = at_ms.max(call.allowed_ms);
        }
    }

    /// A call came: when it was answered before.
    pub(super) fn early_answer(&mut self, call: u64, turn: u32) -> Option<i64> {
        let early = self.asks.iter_mut().filter(|ask| ask.call == Some(call));
        let of_turn = early.filter_map(|ask| {
            let is_its = std::mem::take(&mut ask.is_early) && ask.place.turn == turn;
            ask.answered_ms.filter(|_| is_its)
        });
        of_turn.max()
    }

    /// A call is done, and what was asked for it waits no more; though its answer may still come to be known.
    pub(super) fn look_whether_asks_wait(&mut self, id: u64) {
        for at in 0..self.asks.len() {
            let ask = &self.asks[at];
            if ask.is_open && ask.call == Some(id) {
                self.asked_or_answered(at, None);
            }
        }
    }

    pub(super) fn forget_ask(&mut self, at: usize, at_ms: Option<i64>) {
        if let Some(ask) = self.asks.remove(at) {
            let call = ask.call.and_then(|id| self.known_call(id, ask.place.turn));
            self.call_waited(call, at_ms);
        }
    }

    /// Nobody waits any more for answers to what no turn asked.
    pub(super) fn expire_free(&mut self) {
        for ask in self.asks.iter_mut().filter(|ask| ask.is_free) {
            (ask.is_free, ask.is_open) = (false, false);
        }
    }
}

fn permission_name(id: &str) -> u64 {
    name_of(&["permission ", id].concat())
}

fn question_name(id: &str) -> u64 {
    name_of(&["question ", id].concat())
}
