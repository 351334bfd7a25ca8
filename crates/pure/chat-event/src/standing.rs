//! How a session stands: whether it works, how its newest turn ended, whether it is over. The list, the feed, the
//! connection, the summary and the trace all ask this.
//!
//! | what comes | then |
//! |---|---|
//! | a turn begins that is the newest | busy, no outcome |
//! | its end | idle, with its outcome; a guessed end gives way to one that is told |
//! | its interrupt, its error | idle, with that outcome |
//! | that the user went back behind it | idle; it is interrupted where something of it ran, else completed |
//! | a call behind its error | busy, no outcome |
//! | its work, while the session rests or is over | busy, no outcome |
//! | a status | as it says |
//! | the session's end | ended; a turn that went on is interrupted where something of it ran, else completed |
//! | its beginning, behind its end | idle |
//! | anything of what is past, of a turn before the newest, of a sub-agent | as before |
//!
//! What is past is told by the turns' names, and by times: another source may tell late of what was before (`times`). What is
//! kept does not grow with the session.
//!
//! Which turn is the newest is found in `newest`, what is past in `times`.

mod newest;
mod states;
mod times;

use serde::{Deserialize, Serialize};

use crate::payload::{Notice, SessionStart, TurnEnd};
use crate::{ChatEvent, Payload, SetBack, stable_hash};
use newest::Turn;
pub use states::{Outcome, Status};
use times::Times;

/// Names of turns, and calls that run, are kept up to so many, each: far beyond what one agent has open.
const MOST_OPEN: usize = 64;

/// What an event was to how the session stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Took {
    /// A turn began with it, said so or not.
    pub begins: bool,
    /// A turn is the newest from now on: it began with it, or nothing but its end was told.
    pub is_newest: bool,
    /// It tells of what is past.
    pub is_past: bool,
    /// It is of the newest turn, by its name, or begins it.
    pub is_of_newest: bool,
    /// The main agent works in the newest turn: those before it are over, also where nobody said so.
    pub works: bool,
}

/// What is known of the newest turn's end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum End {
    #[default]
    Untold,
    Guessed,
    Told,
}
crate::pack_variants!(End { 0 => Untold, 1 => Guessed, 2 => Told });

/// How a session stands, kept as its events come, in the order of its log.
///
/// ```
/// use chat_event::payload::{SessionEnd, TurnEnd, TurnStart, Usage};
/// use chat_event::{ChatEvent, Outcome, Payload, Standing, Status};
/// let event = |at_ms, turn: &str, payload: Payload| {
///     let mut event = ChatEvent::new("e", at_ms, "s", payload);
///     event.turn_id = Some(turn.to_owned()).filter(|turn| !turn.is_empty());
///     event
/// };
/// let mut standing = Standing::default();
/// standing.take(&event(20, "t2", TurnStart::default().into()));
/// assert_eq!((standing.status(), standing.outcome()), (Status::Busy, None));
/// // Another source tells of the turn before, and of the end of the session that it was in.
/// standing.take(&event(10, "t1", TurnStart::default().into()));
/// standing.take(&event(11, "t1", TurnEnd::default().into()));
/// standing.take(&event(12, "", SessionEnd::default().into()));
/// assert_eq!(standing.status(), Status::Busy);
/// standing.take(&event(30, "t2", TurnEnd::default().into()));
/// standing.take(&event(31, "", SessionEnd::default().into()));
/// standing.take(&event(32, "", Usage::default().into()));
/// assert_eq!((standing.status(), standing.outcome()), (Status::Ended, Some(Outcome::Completed)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    status: Status,
    outcome: Option<Outcome>,
    end: End,
    turn: Option<Turn>,
    /// The name of the newest turn, as its hash.
    newest: Option<u64>,
    /// And as it is told: nearly all events are of the newest turn, and need no hash.
    newest_name: Option<String>,
    /// The names of turns that began, the newest last: what comes late to one of them begins nothing.
    names: Vec<u64>,
    /// Calls of the newest turn that run.
    calls: Vec<u64>,
    /// Whether a text or a thought of the main agent is being written.
    writes: bool,
    times: Times,
}
crate::pack_fields!(Standing {
    status,
    outcome,
    end,
    turn,
    newest,
    newest_name,
    names,
    calls,
    writes,
    times
});

impl Standing {
    /// Takes the next event of the log.
    pub fn take(&mut self, event: &ChatEvent) -> Took {
        if event.is_control() {
            return Took::default();
        }
        self.times.arrives(event.recv);
        let name = self.turn_of(event);
        let mut took = self.begin(event, name);
        took.is_past = match &event.payload {
            // It is another run's where there was another turn, and it was behind one and before the newest, which has a name.
            Payload::SessionEnd(_) => {
                let is_other = self.names.len() > 1 && name != self.newest;
                is_other && self.times.is_between_turns(self.time_of(event))
            }
            Payload::SessionStart(_) if name.is_none() => self.times.is_past(self.time_of(event)),
            _ => self.is_past(event, name),
        };
        took.is_of_newest = took.is_newest || (name.is_some() && name == self.newest);
        if event.parent_tool_call_id.is_none() {
            took.works = !took.is_past
                && (name.is_none() || name == self.newest)
                && event.payload.is_agents_work();
            self.take_main(event, name, took.is_past);
        } else if !took.is_past && self.status == Status::Ended && event.payload.is_agents_work() {
            self.reopen();
        }
        self.note_what_runs(event, took.is_past);
        took
    }

    /// What it does.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status
    }

    /// Whether it works, heard of or not.
    #[must_use]
    pub fn works(&self) -> bool {
        matches!(self.status, Status::Busy | Status::Retrying)
    }

    /// How its newest turn ended, as far as that is known; what failed before any turn began is told here, too.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        self.outcome
    }

    /// Whether its newest turn goes on, as far as its end was not told.
    #[must_use]
    pub fn is_in_turn(&self) -> bool {
        self.turn.is_some() && self.outcome.is_none()
    }

    /// Whether the model and the branch are told, and hold.
    pub fn tells(&mut self, event: &ChatEvent, start: &SessionStart) -> bool {
        let tells = start.model.is_some() || start.git_branch.is_some();
        tells && self.times.tells(self.time_of(event))
    }

    /// Takes what the main agent, or its session, says.
    fn take_main(&mut self, event: &ChatEvent, name: Option<u64>, is_past: bool) {
        let is_newest = name.is_none() || name == self.newest;
        let at_ms = self.time_of(event);
        match &event.payload {
            Payload::TurnEnd(end) if is_newest => self.end_turn(end, at_ms, is_past),
            _ if is_past => {}
            Payload::SessionEnd(_) => {
                self.leave_turn();
                self.status = Status::Ended;
                self.times.is_over(at_ms);
            }
            Payload::Notice(notice) if self.turn.is_some() && self.is_newest_undone(notice) => {
                self.leave_turn();
                self.times.ends(at_ms);
                if self.status != Status::Ended {
                    self.status = Status::Idle;
                }
            }
            Payload::SessionStart(_) if self.status == Status::Ended => self.status = Status::Idle,
            Payload::Interrupt(_) if is_newest => {
                self.stop(Outcome::Interrupted, at_ms);
                self.status = Status::Idle;
            }
            Payload::ErrorEvent(_) if is_newest => {
                self.stop(Outcome::Failed, at_ms);
                if self.status != Status::Ended {
                    self.status = Status::Idle;
                }
            }
            // The end was a guess, as of a program that was stopped for long: it goes on with the turn it was in.
            payload if self.status == Status::Ended && payload.is_agents_work() => self.reopen(),
            // A turn that failed is over, unless the agent goes on with it: then its next call says so.
            Payload::ToolCall(_) if is_newest && self.has_failed() => {
                self.status = Status::Busy;
                self.outcome = None;
                self.times.goes_on();
            }
            // That it rests may be a guess, where nothing came of it for a while.
            payload
                if self.status == Status::Idle
                    && is_newest
                    && self.is_in_turn()
                    && payload.is_agents_work() =>
            {
                self.status = Status::Busy;
            }
            Payload::SessionStatus(told) => {
                let Some(status) = Status::of(told) else {
                    return;
                };
                self.status = status;
                if self.works() && is_newest && self.has_failed() {
                    self.outcome = None;
                    self.times.goes_on();
                }
            }
            _ => {}
        }
    }

    /// The newest turn ends. Its end may be told late, and again by one who knows it better.
    fn end_turn(&mut self, end: &TurnEnd, at_ms: Option<i64>, is_past: bool) {
        let is_guess = end.extra.get("guessed").is_some();
        self.turn = None;
        self.nothing_runs();
        self.times.ends(at_ms);
        if self.end == End::Told || (self.end == End::Guessed && is_guess) {
            return;
        }
        self.end = match is_guess {
            true => End::Guessed,
            false => End::Told,
        };
        self.outcome = Some(Outcome::at_end(end, self.outcome));
        // A session that is over stays so.
        if !(is_past && self.status == Status::Ended) {
            self.status = Status::Idle;
        }
    }

    fn stop(&mut self, how: Outcome, at_ms: Option<i64>) {
        self.outcome = Some(how);
        self.nothing_runs();
        self.times.ends(at_ms);
    }

    /// The newest turn goes on no more, though its end was not told.
    fn leave_turn(&mut self) {
        if self.is_in_turn() {
            self.outcome = Some(match self.calls.is_empty() && !self.writes {
                true => Outcome::Completed,
                false => Outcome::Interrupted,
            });
        }
        self.turn = None;
        self.nothing_runs();
    }

    /// Whether the user went back behind the newest turn, as a notice tells it.
    fn is_newest_undone(&self, notice: &Notice) -> bool {
        let mut undone = SetBack::undone_by(notice).into_iter();
        undone.any(|id| Some(name_of(&id)) == self.newest)
    }

    /// What was told to have ended goes on with its newest turn.
    fn reopen(&mut self) {
        self.status = Status::Busy;
        self.outcome = None;
        self.end = End::Untold;
        self.turn = Some(match self.newest {
            Some(_) => Turn::Named,
            None => Turn::Unnamed,
        });
        self.times.goes_on();
    }

    /// Whether an error was told of the newest turn, and not its end.
    fn has_failed(&self) -> bool {
        self.turn.is_some() && self.outcome == Some(Outcome::Failed)
    }

    fn note_what_runs(&mut self, event: &ChatEvent, is_past: bool) {
        let is_main = event.parent_tool_call_id.is_none();
        match &event.payload {
            Payload::ToolResult(result) => {
                let id = name_of(&result.tool_call_id);
                self.calls.retain(|call| *call != id);
            }
            _ if is_past => {}
            Payload::ToolCall(call) => {
                push_few(&mut self.calls, name_of(&call.tool_call_id));
                self.writes &= !is_main;
            }
            Payload::AssistantChunk(_) | Payload::ThinkingChunk(_) if is_main => self.writes = true,
            Payload::AssistantDone(_) | Payload::ThinkingDone(_) if is_main => self.writes = false,
            _ => {}
        }
    }

    fn nothing_runs(&mut self) {
        self.calls.clear();
        self.writes = false;
    }

    /// Whether an event tells of what is past: it is of a turn before the newest, or was before an end.
    fn is_past(&self, event: &ChatEvent, name: Option<u64>) -> bool {
        let is_newest = name.is_none() || name == self.newest;
        let goes_on = self.times.is_open() && is_newest;
        self.times.is_past(self.time_of(event)) && !goes_on
    }

    fn time_of(&self, event: &ChatEvent) -> Option<i64> {
        event.within_arrival(event.timestamp).max(event.after_ms())
    }
}

impl ChatEvent {
    /// The field of an envelope whose event came behind others of its source that bear later times: the latest of these, Unix
    /// epoch in milliseconds. The source's clock went back in between.
    pub const AFTER_MS: &'static str = "afterMs";

    /// A time that the event tells, Unix epoch in milliseconds, but not later than the event came: a clock that is ahead says
    /// nothing of what comes after.
    fn within_arrival(&self, at_ms: Option<i64>) -> Option<i64> {
        at_ms.map(|at_ms| self.recv.map_or(at_ms, |recv_ms| at_ms.min(recv_ms)))
    }

    /// See [`ChatEvent::AFTER_MS`]; within its arrival, too.
    fn after_ms(&self) -> Option<i64> {
        let after_ms = self.extra.get(ChatEvent::AFTER_MS)?;
        self.within_arrival(after_ms.parse())
    }
}

/// A name as it is kept: names may be of any length.
fn name_of(name: &str) -> u64 {
    stable_hash(name.as_bytes())
}

/// Adds one that is not there; where there are too many, the oldest goes.
fn push_few(few: &mut Vec<u64>, one: u64) {
    if few.contains(&one) {
        return;
    }
    if few.len() >= MOST_OPEN {
        few.remove(0);
    }
    few.push(one);
}
