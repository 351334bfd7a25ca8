//! What all forms of OpenHands share: turns, answers and their parts, delegates, tokens. Calls that wait for a yes: `asks`.
//!
//! A delegate's events stand between its call and that call's result, without a mark of their own: what comes in between
//! is told within the call.
//!
//! What models used is counted in `usage`.

mod usage;

use std::collections::{BTreeSet, HashMap};

use chat_event::payload::{Compaction, Interrupt, SessionStart, ToolResult, Usage};
use chat_event::{Extra, Json};
use serde_json::{Map, Value};

use super::failures::Failing;
use super::tools;
use crate::emit::{Emitter, Line, Place};
use crate::track::{Call, NewCall, Said, Track, Worker, ended};
use crate::value::{millis_of_rfc3339, str_of, text_of};

const FORMAT: &str = "openhands";

/// The session so far.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) track: Track,
    /// How the turn would end now.
    pub(crate) outcome: &'static str,
    /// What stands before ids that are numbers: a task's name, where a file has several.
    pub(crate) prefix: String,
    /// Events that had no id of their own.
    pub(crate) n_nameless: u64,
    /// The calls that wait, by the id of their action.
    by_action: HashMap<String, String>,
    /// The answer that is open, and how many texts and thoughts it had.
    answer: (String, u32, u32),
    /// The calls that wait for a yes.
    pub(super) asked: BTreeSet<String>,
    /// The agent said that it is at rest while calls waited for a yes: what refuses them comes behind that.
    pub(super) rests: bool,
    /// The delegate that works said that it is done; its result comes yet.
    delegate_is_done: bool,
    /// The agent was stopped, or failed: what it had begun may not come back.
    pub(super) stopped: bool,
    /// The turn has an error, which is why it fails.
    pub(super) has_error: bool,
    /// The turn failed, and nothing told why.
    pub(super) failing: Option<Failing>,
    /// The turn is over with this line, unless the next one goes on in it (`ends`).
    pub(super) ends: Option<Line>,
    /// The agent said that it is done; calls of the same answer may wait yet.
    pub(super) is_done: bool,
    /// Something was done in the turn.
    works: bool,
    /// What stands behind times that name no zone.
    pub(super) zone: String,
    /// Completions whose tokens were told, by the hash of their id.
    counted: std::collections::HashSet<u64>,
    /// The costs as they were said last, and as they were told last.
    spent: Option<Usage>,
    told_spent: Option<Usage>,
    last_ms: Option<i64>,
}

impl Session {
    pub(crate) fn new() -> Self {
        Session {
            track: Track::new(),
            outcome: "interrupted",
            prefix: String::new(),
            n_nameless: 0,
            by_action: HashMap::new(),
            answer: (String::new(), 0, 0),
            asked: BTreeSet::new(),
            rests: false,
            delegate_is_done: false,
            stopped: false,
            has_error: false,
            failing: None,
            ends: None,
            is_done: false,
            works: false,
            zone: String::new(),
            counted: std::collections::HashSet::new(),
            spent: None,
            told_spent: None,
            last_ms: None,
        }
    }

    /// That of an agent that works for a call of another one.
    pub(crate) fn of(worker: Worker) -> Self {
        Session {
            track: Track::of(worker),
            ..Session::new()
        }
    }

    /// Begins an event.
    pub(crate) fn begin(&mut self, emitter: &mut Emitter, value: &Value) {
        if str_of(value, "kind") != Some("ConversationErrorEvent") {
            self.fail(emitter);
        }
        let time_ms = text_of(value, "timestamp").and_then(|time| {
            let has_zone = time
                .get(19..)
                .is_some_and(|rest| rest.contains(['Z', 'z', '+', '-']));
            match has_zone {
                true => millis_of_rfc3339(time),
                false => millis_of_rfc3339(&format!("{time}{}", self.zone)),
            }
        });
        self.at(emitter, time_ms);
        if self.track.worker().is_some() {
            return;
        }
        let facts = SessionStart {
            agent: Some("OpenHands".to_owned()),
            provider: Some("openhands".to_owned()),
            ..SessionStart::default()
        };
        self.track.facts.say(emitter, facts, Map::new());
    }

    pub(crate) fn at(&mut self, emitter: &mut Emitter, time_ms: Option<i64>) {
        self.last_ms = time_ms.or(self.last_ms);
        if let Some(time_ms) = self.last_ms {
            emitter.time_ms = time_ms;
        }
    }

    /// The id of an event: its own, or its place.
    pub(crate) fn id_of(&mut self, event: &Value) -> String {
        match event.get("id") {
            Some(Value::String(id)) if !id.is_empty() => id.clone(),
            Some(Value::Number(id)) => format!("{}e{id}", self.prefix),
            _ => {
                self.n_nameless += 1;
                format!("{}n{}", self.prefix, self.n_nameless)
            }
        }
    }

    pub(crate) fn raw(&self, emitter: &mut Emitter, kind: &str, value: &Value) {
        emitter.raw(&self.track.place(), FORMAT, kind, value);
    }

    pub(crate) fn model(&mut self, emitter: &mut Emitter, model: Option<&str>) {
        let facts = SessionStart {
            model: model.map(str::to_owned),
            ..SessionStart::default()
        };
        self.track.facts.say(emitter, facts, Map::new());
    }

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

    /// Work: it stands in a turn.
    fn work(&mut self, emitter: &mut Emitter, response: &str) {
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

    /// The state that the program says it is in.
    pub(crate) fn state(&mut self, emitter: &mut Emitter, id: &str, state: &str, why: &str) {
        if self.track.parent().is_some() {
            match state {
                "finished" | "rejected" => {
                    self.delegate_is_done = true;
                    return emitter.pass_over("state of a delegate");
                }
                // Who is done is closed, which is no stop.
                "stopped" if self.delegate_is_done => {
                    return emitter.pass_over("state of a delegate");
                }
                // The agent that it works for goes on. Without a reason an event of its own says why, or its result.
                "error" | "stuck" => {
                    self.delegate_is_done = true;
                    if why.is_empty() {
                        return emitter.pass_over("state of a delegate");
                    }
                    self.error(emitter, id, state, why);
                    self.has_error = false;
                    return;
                }
                _ => {}
            }
        }
        match state {
            // It is so before a prompt, which is written right behind it, and once more with it.
            "idle" if !self.works => emitter.pass_over("rest before any work"),
            "awaiting_user_input" | "finished" | "idle" => {
                if self.track.turn_id().is_some() {
                    self.outcome = "completed";
                    self.close(emitter);
                }
            }
            "error" | "stuck" => self.failed(emitter, id, state, why),
            "stopped" => {
                self.interrupt(emitter, id);
                self.close(emitter);
            }
            // Calls that wait are given up, or run on when the agent does.
            "paused" => {
                self.interrupt(emitter, id);
                if !self.track.waits() {
                    self.close(emitter);
                }
            }
            "rate_limited" => {
                let why = Some(why.to_owned()).filter(|why| !why.is_empty());
                emitter.retrying(&self.track.place(), why);
            }
            "running" => emitter.goes_on(&self.track.place()),
            "user_confirmed" => self.answer_all(emitter, "allow"),
            "user_rejected" => self.answer_all(emitter, "deny"),
            _ => emitter.pass_over("agent state"),
        }
    }

    pub(crate) fn interrupt(&mut self, emitter: &mut Emitter, id: &str) {
        if self.track.turn_id().is_none() || self.outcome == "interrupted" && self.stopped {
            return emitter.pass_over("a stop at rest");
        }
        let payload = Interrupt {
            reason: "user_cancel".to_owned(),
            extra: Extra::default(),
        };
        emitter.add_as(&format!("{id}:interrupt"), &self.track.place(), payload);
        self.outcome = "interrupted";
        self.stopped = true;
    }

    pub(crate) fn compaction(&mut self, emitter: &mut Emitter, id: &str, summary: Option<&str>) {
        let payload = Compaction {
            trigger: "auto".to_owned(),
            summary: summary.map(str::to_owned),
            ..Compaction::default()
        };
        emitter.add_as(&format!("{id}:compaction"), &self.track.place(), payload);
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
        let place = self.track.place();
        if self.spent != self.told_spent
            && let Some(turn) = &place.turn_id
            && let Some(spent) = self.spent.clone()
        {
            emitter.add_as(&format!("{turn}:spent"), &place, spent);
            self.told_spent.clone_from(&self.spent);
        }
        self.track.close_turn(emitter, ended(self.outcome));
        self.outcome = "interrupted";
        self.stopped = false;
        self.has_error = false;
        if let Some(now) = now {
            emitter.go_to(now);
        }
    }

    pub(crate) fn notice(&self, emitter: &mut Emitter, level: &str, text: &str) {
        let place: Place = self.track.place();
        emitter.notice(level, &place, "openhands", text);
    }
}
