//! What all dialects of Codex keep while they are read: threads with their turns, and open tool calls.
//!
//! | state of a thread | what happens | next |
//! |---|---|---|
//! | no turn | `open_turn`, or work without one | turn open |
//! | turn open | `close_turn` | its open texts, calls and questions are closed, then it is |
//! | turn open | `open_turn` | it gives way: told, it was interrupted; untold, it ended as what is open in it shows |
//! | any | `close_all` (the source ended) | every open turn is closed |
//!
//! The first thread is the session. Others are sub-agents: what they do stands in the turn and the call that started
//! them, and their turns are not the session's. While they work when its turns are over, the session does not rest. A
//! thread that nobody started is neither: its turns stand among those of the session, and a notice says so.

mod calls;
mod ends;
mod set_back;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chat_event::Extra;
use chat_event::payload::{ErrorEvent, Interrupt, TurnStart, Usage};
use serde_json::Value;

use super::asks::Asks;
use super::changes::Files;
use super::texts::Texts;
use super::tokens::Tokens;
use super::turn_diff::TurnDiff;
use crate::emit::{Emitter, Place};
use crate::facts::Facts;
use crate::recent::Recent;
use crate::set_back::Standing;
use calls::Held;
pub(crate) use calls::{Call, Ended};
pub(crate) use ends::ended;

/// The state of one session.
#[derive(Debug, Default)]
pub(crate) struct Session {
    pub(crate) format: &'static str,
    pub(crate) facts: Facts,
    pub(crate) tokens: Tokens,
    pub(crate) files: Files,
    pub(crate) turn_diff: TurnDiff,
    pub(crate) texts: Texts,
    pub(crate) asks: Asks,
    pub(crate) calls: BTreeMap<String, Call>,
    /// Calls that began without saying what they are about: what comes next of them says it.
    held: BTreeMap<String, Held>,
    /// Those of them that are scripts, in the order in which they came: each call of a script looks for the newest.
    scripts: BTreeMap<u64, String>,
    pub(crate) model: Option<String>,
    threads: BTreeMap<String, Thread>,
    /// Threads of sub-agents that have an open turn of which the source will tell the end.
    at_work: BTreeSet<String>,
    /// The ids of the turns that are open.
    open_turns: BTreeSet<String>,
    main: Option<String>,
    /// The session's turns that it was not set back behind.
    standing: Standing,
    n_turns: u64,
    /// What tells the turns, and the items, of this run of the program from those of others; where a source has ids
    /// that only count within a run.
    pub(crate) run: Option<String>,
    pub(crate) item_run: Option<String>,
    n_calls: u64,
    /// By [`pair`] of thread and provider's id; this and what follows of the last turns, items and calls.
    turn_ids: Recent<String>,
    turn_uses: Recent<u32>,
    /// By [`pair`] of turn and provider's id: the id events bear, for providers' ids are unique within a turn only.
    ids: Recent<String>,
    id_uses: Recent<u32>,
    latest_ids: Recent<String>,
    ended: Recent<Ended>,
    /// Sub-agent's thread → the call that started it.
    pub(crate) spawned: HashMap<String, Spawned>,
    /// Sub-agent's thread → the name it goes by.
    pub(crate) names: HashMap<String, String>,
    /// A compaction runs, and how full the context is behind it.
    pub(super) compacts: bool,
    pub(super) context: Option<(Place, Usage)>,
    /// The to-do list as it was said last.
    pub(crate) last_todo: Option<Value>,
    /// Turns in which a person wrote, and how often.
    pub(crate) asked_in: Recent<u32>,
    /// Answers of sub-agents that were written, by a hash of who said what.
    pub(crate) called_back: Recent<()>,
}

#[derive(Debug, Default)]
struct Thread {
    open: Option<Turn>,
    /// It is said to be no sub-agent's.
    is_top: bool,
    /// A turn of it began.
    is_told: bool,
    /// How its last turn ended, where the source told and no other began.
    rests: Option<String>,
}

/// The call that started a sub-agent.
#[derive(Clone, Debug)]
pub(crate) struct Spawned {
    pub(crate) call: String,
    /// The session's turn in which it was made.
    pub(crate) turn_id: Option<String>,
}

/// A turn that is open.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turn {
    /// The id its events bear.
    pub(crate) id: String,
    /// The source said that it began, so it will say that it ends.
    pub(crate) is_told: bool,
    /// It is shown as a turn, and is no sub-agent's.
    is_top: bool,
    /// The error that was written in it.
    error: Option<String>,
    /// The model owes an answer, or the rest of one; where the source lets that be seen.
    waits: bool,
}

/// Where a line belongs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// The turn, by the id its events bear; empty where there is none. A sub-agent's is its own, not the session's.
    pub(crate) turn: String,
    pub(crate) place: Place,
}

impl Session {
    pub(crate) fn new(format: &'static str) -> Self {
        Session {
            format,
            ..Session::default()
        }
    }

    /// Takes `thread` as the session's own, where there is none yet.
    pub(crate) fn set_main(&mut self, thread: &str) {
        if self.main.is_none() && !thread.is_empty() {
            self.main = Some(thread.to_owned());
        }
    }

    /// Whether `thread` is the session, and not a sub-agent.
    pub(crate) fn is_main(&self, thread: &str) -> bool {
        thread.is_empty() || self.main.as_deref().is_none_or(|main| main == thread)
    }

    /// `thread` is nobody's sub-agent, where no call is found to have started it.
    pub(crate) fn set_top(&mut self, thread: &str) {
        self.threads.entry(thread.to_owned()).or_default().is_top = true;
    }

    /// Whether the turns of the thread of this key are shown as turns.
    fn is_top(&self, key: &str) -> bool {
        let is_said = |thread: &Thread| thread.is_top && !self.spawned.contains_key(key);
        key.is_empty() || self.threads.get(key).is_some_and(is_said)
    }

    /// Whether a turn of `thread` that the source calls `native` began.
    pub(crate) fn knows_turn(&self, thread: &str, native: &str) -> bool {
        self.turn_ids.contains(&pair(self.key(thread), native))
    }

    /// The open turn of `thread`.
    pub(crate) fn turn(&self, thread: &str) -> Option<&Turn> {
        self.threads.get(self.key(thread))?.open.as_ref()
    }

    fn key<'a>(&'a self, thread: &'a str) -> &'a str {
        if self.is_main(thread) { "" } else { thread }
    }

    /// Where something of `thread` belongs, in the turn it names or else the open one.
    pub(crate) fn scope(&self, thread: &str, native_turn: Option<&str>) -> Scope {
        let key = self.key(thread);
        let named = native_turn
            .and_then(|turn| self.turn_ids.get(&pair(key, turn)))
            .cloned();
        let turn = named
            .or_else(|| self.turn(thread).map(|turn| turn.id.clone()))
            .unwrap_or_default();
        let mut place = Place {
            turn_id: Some(turn.clone()).filter(|turn| !turn.is_empty()),
            ..Place::default()
        };
        if !self.is_top(key) {
            let spawned = self.spawned.get(key);
            // It may outlive the turn that started it.
            let of_call = spawned.and_then(|spawned| spawned.turn_id.clone());
            place.turn_id = of_call.or_else(|| self.turn("").map(|turn| turn.id.clone()));
            place.agent_id = Some(self.agent_name(key).to_owned());
            place.parent_tool_call_id = spawned.map(|spawned| spawned.call.clone());
        }
        Scope { turn, place }
    }

    /// As [`Session::scope`]; a turn is opened where the source shows work without having said that one began.
    pub(crate) fn work_scope(
        &mut self,
        emitter: &mut Emitter,
        thread: &str,
        native_turn: Option<&str>,
    ) -> Scope {
        let scope = self.scope(thread, native_turn);
        if !scope.turn.is_empty() {
            return scope;
        }
        self.open_turn(emitter, thread, native_turn, false);
        self.scope(thread, native_turn)
    }

    /// As [`Session::work_scope`], for what is asked: behind the end of its turn nothing waits in that, but what is asked
    /// in no turn does.
    pub(crate) fn asking_scope(
        &mut self,
        emitter: &mut Emitter,
        thread: &str,
        native_turn: Option<&str>,
    ) -> Scope {
        let mut scope = self.work_scope(emitter, thread, native_turn);
        let open = &self.open_turns;
        scope.place.turn_id = scope.place.turn_id.filter(|turn| open.contains(turn));
        scope
    }

    /// Opens a turn; one that is open is closed before.
    pub(crate) fn open_turn(
        &mut self,
        emitter: &mut Emitter,
        thread: &str,
        native_turn: Option<&str>,
        is_told: bool,
    ) {
        let key = self.key(thread).to_owned();
        if let Some(native) = native_turn
            && let Some(id) = self.turn_ids.get(&pair(&key, native))
            && self.turn(thread).is_some_and(|turn| turn.id == *id)
        {
            emitter.pass_over("turn that is open begins");
            return;
        }
        self.give_way(emitter, thread);
        self.n_turns += 1;
        let id = match native_turn.filter(|turn| !turn.is_empty()) {
            // 0.77 counts them from 0.
            Some(turn) if turn.len() < 8 => format!("turn-{turn}"),
            Some(turn) => turn.to_owned(),
            None => match &self.run {
                Some(run) => format!("turn-{run}"),
                None => format!("turn-{}", self.n_turns),
            },
        };
        let n = self.turn_uses.entry(&id);
        *n += 1;
        let id = if *n == 1 { id } else { format!("{id}~{n}") };
        if let Some(native) = native_turn {
            self.turn_ids.insert(&pair(&key, native), id.clone());
        }
        let is_top = self.is_top(&key);
        let turn = Turn {
            id: id.clone(),
            is_told,
            is_top,
            ..Turn::default()
        };
        self.open_turns.insert(id.clone());
        let of_thread = self.threads.entry(key.clone()).or_default();
        of_thread.open = Some(turn);
        of_thread.rests = None;
        let is_first = !std::mem::replace(&mut of_thread.is_told, true);
        if !is_top {
            if is_told {
                self.at_work.insert(key);
                emitter.in_background(true);
            }
            return;
        }
        if key.is_empty() {
            self.standing.begin(&id);
        }
        let place = self.scope(thread, None).place;
        let start = TurnStart {
            trigger: "user".to_owned(),
            ..TurnStart::default()
        };
        emitter.add_as(&format!("{id}:start"), &place, start);
        if is_first && !key.is_empty() {
            let text = format!("from here on turns of another thread, {key}, are among these");
            emitter.notice("info", &place, "codex", text);
        }
    }

    /// The turn was stopped.
    pub(crate) fn interrupt(&mut self, emitter: &mut Emitter, scope: &Scope, reason: &str) {
        let interrupt = Interrupt {
            reason: reason.to_owned(),
            extra: Extra::default(),
        };
        emitter.add_as(
            &format!("{}:interrupt", scope.turn),
            &scope.place,
            interrupt,
        );
    }

    /// Something failed; the same words are not said twice in a turn.
    pub(crate) fn error(&mut self, emitter: &mut Emitter, thread: &str, code: &str, message: &str) {
        let key = self.key(thread).to_owned();
        let place = self.scope(thread, None).place;
        if let Some(turn) = self
            .threads
            .get_mut(&key)
            .and_then(|thread| thread.open.as_mut())
        {
            if turn.error.as_deref() == Some(message) {
                return;
            }
            turn.error = Some(message.to_owned());
        }
        let event = ErrorEvent {
            code: code.to_owned(),
            message: message.to_owned(),
            extra: Extra::default(),
        };
        // Who reads the turn once more has it in another line.
        match self.turn(thread) {
            Some(turn) => {
                let id = format!("{}:error", turn.id);
                emitter.add_as(&id, &place, event);
            }
            None => {
                emitter.add("error", &place, event);
            }
        }
    }

    /// The provider is asked again.
    pub(crate) fn retrying(&mut self, emitter: &mut Emitter, thread: &str, message: String) {
        let place = self.scope(thread, None).place;
        emitter.retrying(&place, Some(message));
    }

    /// The id that events of the item `native` of `turn` bear.
    pub(crate) fn id_of(&mut self, turn: &str, native: &str) -> String {
        let key = pair(turn, native);
        if let Some(id) = self.ids.get(&key) {
            return id.clone();
        }
        let stem = match &self.item_run {
            Some(run) => format!("{native}.{run}"),
            None => native.to_owned(),
        };
        let n = self.id_uses.entry(&stem);
        *n += 1;
        let id = if *n == 1 { stem } else { format!("{stem}~{n}") };
        self.ids.insert(&key, id.clone());
        self.latest_ids.insert(native, id.clone());
        id
    }

    /// The id of the newest item that the provider calls `native`.
    pub(crate) fn latest_id(&self, native: &str) -> Option<String> {
        self.latest_ids.get(native).cloned()
    }
}

/// Two ids as one.
fn pair(one: &str, other: &str) -> String {
    format!("{one}\0{other}")
}
