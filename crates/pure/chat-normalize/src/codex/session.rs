//! What all dialects of Codex keep while they are read: threads with their turns, and open tool calls.
//!
//! | state of a thread | what happens | next |
//! |---|---|---|
//! | no turn | `open_turn`, or work without one | turn open |
//! | turn open | `close_turn` | its open texts, calls and questions are closed, then it is |
//! | any | `close_all` (the source ended) | every open turn is closed |
//!
//! The first thread is the session. Others are sub-agents: what they do stands in the turn and the call that started
//! them, and their turns are not the session's.

use std::collections::{BTreeMap, HashMap};

use chat_event::payload::{
    ErrorEvent, Interrupt, ToolCall, ToolError, ToolResult, TurnEnd, TurnStart,
};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::asks::Asks;
use super::changes::Files;
use super::texts::Texts;
use super::tokens::Tokens;
use super::tools::{Given, Spec};
use super::turn_diff::TurnDiff;
use crate::emit::{Emitter, Place};
use crate::facts::Facts;
use crate::recent::Recent;

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
    pub(crate) model: Option<String>,
    threads: BTreeMap<String, Thread>,
    main: Option<String>,
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
    pub(crate) spawned: HashMap<String, String>,
    /// Sub-agent's thread → the name it goes by.
    pub(crate) names: HashMap<String, String>,
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
}

/// A turn that is open.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turn {
    /// The id its events bear.
    pub(crate) id: String,
    /// The source said that it began, so it will say that it ends.
    pub(crate) is_told: bool,
    /// The error that was written in it.
    error: Option<String>,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Its result came.
    Told,
    /// Its turn ended before.
    Closed,
}

/// A tool call without its result.
#[derive(Debug)]
pub(crate) struct Call {
    order: u64,
    pub(crate) spec: Spec,
    pub(crate) place: Place,
    turn: String,
    /// What its output chunks said.
    pub(crate) printed: String,
    pub(crate) n_chunks: u64,
    /// What it gave, though it runs on.
    pub(crate) so_far: Option<Given>,
}

/// A call that is not written yet.
#[derive(Debug)]
struct Held {
    order: u64,
    scope: Scope,
    spec: Spec,
    /// How many calls of a script stand there by themselves.
    n_inside: u32,
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
        if !key.is_empty() {
            place.turn_id = self.turn("").map(|turn| turn.id.clone());
            place.agent_id = Some(self.agent_name(key).to_owned());
            place.parent_tool_call_id = self.spawned.get(key).cloned();
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
        if let Some(before) = self.turn(thread) {
            let outcome = if before.is_told {
                "interrupted"
            } else {
                "completed"
            };
            self.close_turn(emitter, thread, ended(outcome));
        }
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
        let turn = Turn {
            id: id.clone(),
            is_told,
            error: None,
        };
        self.threads.entry(key.clone()).or_default().open = Some(turn);
        if !key.is_empty() {
            return;
        }
        let place = self.scope("", None).place;
        let start = TurnStart {
            trigger: "user".to_owned(),
            ..TurnStart::default()
        };
        emitter.add_as(&format!("{id}:start"), &place, start);
    }

    /// Closes the open turn of `thread`, and before it what is open in it.
    pub(crate) fn close_turn(&mut self, emitter: &mut Emitter, thread: &str, end: TurnEnd) {
        let key = self.key(thread).to_owned();
        let Some(turn) = self
            .threads
            .get_mut(&key)
            .and_then(|thread| thread.open.take())
        else {
            emitter.pass_over("end of no turn");
            return;
        };
        self.texts.close(emitter, Some(&turn.id));
        self.close_calls(emitter, Some(&turn.id));
        self.asks.close(emitter, Some(&turn.id));
        if !key.is_empty() {
            return;
        }
        let place = Place {
            turn_id: Some(turn.id.clone()),
            ..Place::default()
        };
        self.tell_turn_diff(emitter, &turn.id, &place);
        emitter.add_as(&format!("{}:end", turn.id), &place, end);
    }

    /// Closes everything: the source is at its end. `outcome` is what a turn without its end is.
    pub(crate) fn close_all(&mut self, emitter: &mut Emitter, outcome: &str) {
        let mut threads: Vec<String> = self.threads.keys().cloned().collect();
        // Sub-agents before the session.
        threads.sort_by(|one, other| other.cmp(one));
        for thread in threads {
            if self.turn(&thread).is_some() {
                self.close_turn(emitter, &thread, ended(outcome));
            }
        }
        self.texts.close(emitter, None);
        self.close_calls(emitter, None);
        self.asks.close(emitter, None);
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
        emitter.add("error", &place, event);
    }

    /// The provider is asked again.
    pub(crate) fn retrying(&mut self, emitter: &mut Emitter, message: String) {
        let place = self.scope("", None).place;
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

    /// How the call ended, where it did.
    pub(crate) fn ended(&self, id: &str) -> Option<Ended> {
        self.ended.get(id).copied()
    }

    /// Whether the call stands.
    pub(crate) fn is_called(&self, id: &str) -> bool {
        self.calls.contains_key(id) || self.ended.contains(id) || self.held.contains_key(id)
    }

    /// Keeps a call until more is known of it.
    pub(crate) fn hold(&mut self, scope: &Scope, id: &str, spec: Spec) {
        self.n_calls += 1;
        let held = Held {
            order: self.n_calls,
            scope: scope.clone(),
            spec,
            n_inside: 0,
        };
        self.held.insert(id.to_owned(), held);
    }

    /// Writes the call that was kept, with what is known of it now.
    pub(crate) fn tell_held(
        &mut self,
        emitter: &mut Emitter,
        id: &str,
        learn: impl FnOnce(Spec) -> Spec,
    ) {
        if let Some(Held { scope, spec, .. }) = self.held.remove(id) {
            self.call(emitter, &scope, id, learn(spec));
        }
    }

    /// A call came that the newest script made.
    pub(crate) fn called_by_script(&mut self) {
        let scripts = self.held.values_mut().filter(|held| held.spec.is_script());
        if let Some(script) = scripts.max_by_key(|held| held.order) {
            script.n_inside += 1;
        }
    }

    /// Whether the call is a script that did nothing but calls which stand there by themselves; then it is told by them.
    pub(crate) fn is_told_by_its_calls(&mut self, id: &str) -> bool {
        let told = self.held.get(id).is_some_and(|held| held.n_inside > 0);
        if told {
            self.held.remove(id);
            self.ended.insert(id, Ended::Told);
        }
        told
    }

    fn tell_all_held(&mut self, emitter: &mut Emitter, turn: Option<&str>) {
        let mut held: Vec<(u64, String)> = self
            .held
            .iter()
            .filter(|(_, held)| turn.is_none_or(|turn| held.scope.turn == turn))
            .map(|(id, held)| (held.order, id.clone()))
            .collect();
        held.sort();
        for (_, id) in held {
            self.tell_held(emitter, &id, |spec| spec);
        }
    }

    /// Writes a call.
    pub(crate) fn call(&mut self, emitter: &mut Emitter, scope: &Scope, id: &str, mut spec: Spec) {
        if spec.kind == "edit"
            && let (Some(title), Some(cwd)) = (&mut spec.title, self.facts.cwd())
        {
            // Patches name files both ways.
            *title = title.replace(&format!("{}/", cwd.trim_end_matches('/')), "");
        }
        let payload = ToolCall {
            tool_call_id: id.to_owned(),
            tool_name: spec.name.clone(),
            args: Json::from(&spec.args),
            title: spec.title.clone(),
            kind: Some(spec.kind.to_owned()),
            extra: Extra::default(),
        };
        emitter.add_as(&format!("{id}:call"), &scope.place, payload);
        self.n_calls += 1;
        let call = Call {
            order: self.n_calls,
            spec,
            place: scope.place.clone(),
            turn: scope.turn.clone(),
            printed: String::new(),
            n_chunks: 0,
            so_far: None,
        };
        self.calls.insert(id.to_owned(), call);
    }

    /// Takes an open call, whose result comes.
    pub(crate) fn take_call(&mut self, id: &str) -> Option<Call> {
        let call = self.calls.remove(id)?;
        self.ended.insert(id, Ended::Told);
        Some(call)
    }

    fn close_calls(&mut self, emitter: &mut Emitter, turn: Option<&str>) {
        self.tell_all_held(emitter, turn);
        let mut open: Vec<(u64, String)> = self
            .calls
            .iter()
            .filter(|(_, call)| turn.is_none_or(|turn| call.turn == turn))
            .map(|(id, call)| (call.order, id.clone()))
            .collect();
        open.sort();
        for (_, id) in open {
            let Some(call) = self.calls.remove(&id) else {
                continue;
            };
            self.ended.insert(&id, Ended::Closed);
            self.asks.settle(emitter, &id, None);
            let mut result = ToolResult {
                tool_call_id: id.clone(),
                result: Json::string(&call.printed),
                ..ToolResult::default()
            };
            match call.so_far {
                Some(so_far) => {
                    result.result = Json::string(&so_far.text);
                    result.summary = Some("still running when the turn ended".to_owned());
                }
                None => {
                    result.error = Some(ToolError {
                        code: Some("no_result".to_owned()),
                        message: "no result recorded".to_owned(),
                        extra: Extra::default(),
                    });
                }
            }
            emitter.add_as(&format!("{id}:closed"), &call.place, result);
        }
    }
}

/// Two ids as one.
fn pair(one: &str, other: &str) -> String {
    format!("{one}\0{other}")
}

/// The end of a turn of which nothing else is known.
pub(crate) fn ended(outcome: &str) -> TurnEnd {
    TurnEnd {
        outcome: Some(outcome.to_owned()),
        ..TurnEnd::default()
    }
}
