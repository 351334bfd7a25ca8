//! What all three dialects keep while they are read: turns, nested sessions, open messages, parts and calls.
//!
//! | state | what happens | next |
//! |---|---|---|
//! | no turn | a prompt, `busy`, or an answer | turn open |
//! | turn open | a prompt that is queued | two turns open; each answer names the prompt it is for |
//! | turn open | an answer to a later prompt | the earlier turns are closed |
//! | turn open | idle, every answer whole | all turns closed; idle is said once |
//! | turn open | idle, an answer not whole (abort, hard error) | closed with the answer, or at the second idle |
//! | any | the source ended | what is open is closed as interrupted |
//!
//! A sub-agent is a session of its own, nested by the call of the `task` tool that started it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chat_event::Payload;
use chat_event::payload::{AgentSwitch, SessionStart, TurnEnd, TurnStart, UserMessage};
use chat_event::{Extra, Json};
use serde_json::{Map, Value, json};

use super::asks::Asks;
use super::calls::Call;
use super::edits::Edits;
use super::messages::Message;
use super::parts::Prompt;
use super::texts::Part;
use super::times;
use crate::emit::{Emitter, Place};
use crate::facts::Facts;
use crate::recent::Recent;
use crate::value::{rounded, text_of};

/// A turn that is open.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    pub(crate) id: String,
    /// Opened before its prompt was seen.
    pub(crate) guessed: bool,
    pub(crate) interrupted: bool,
    pub(crate) failed: bool,
    /// An answer ended on its own, not to call a tool.
    pub(crate) answered: bool,
    /// The session was said to be idle.
    pub(crate) idle: bool,
    /// Answers that are not whole.
    pub(crate) open_messages: BTreeSet<String>,
    pub(crate) spent: Spent,
    /// When its last answer was whole, as a document says.
    pub(crate) last_ms: Option<i64>,
    began_ms: i64,
}

/// Tokens and cost of a turn.
#[derive(Debug, Default)]
pub(crate) struct Spent {
    pub(crate) steps: u64,
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) reasoning: u64,
    pub(crate) cache_read: u64,
    pub(crate) cache_write: u64,
    pub(crate) cost_usd: f64,
}

/// A session that works for another.
#[derive(Debug, Default)]
struct Child {
    parent: Option<String>,
    /// The part that called it, once that is known.
    call: Option<String>,
}

/// The state of one session and those that work for it.
#[derive(Debug, Default)]
pub(crate) struct Session {
    pub(crate) format: &'static str,
    /// The source tells what happens as it happens.
    pub(crate) live: bool,
    pub(crate) root: Option<String>,
    pub(crate) facts: Facts,
    pub(crate) messages: HashMap<String, Message>,
    pub(crate) parts: HashMap<String, Part>,
    /// Parts whose text is not whole, in the order they came.
    pub(crate) open_parts: BTreeMap<u64, String>,
    pub(crate) calls: HashMap<String, Call>,
    /// Calls without a result, in the order they came.
    pub(crate) open_calls: BTreeMap<u64, String>,
    /// By message and the model's id of the call: the part.
    pub(crate) call_parts: HashMap<(String, String), String>,
    /// How many calls bore an id.
    pub(crate) call_uses: Recent<u32>,
    pub(crate) edits: Edits,
    pub(crate) asks: Asks,
    pub(crate) prompt: Option<Prompt>,
    pub(crate) turns: Vec<Turn>,
    pub(crate) n_parts: u64,
    /// The plan as it was said last, by session.
    pub(crate) plans: HashMap<String, u64>,
    /// The error that was said last, by session.
    pub(crate) errors: HashMap<String, String>,
    /// What a compaction that goes on was started by.
    pub(crate) compacting: Option<String>,
    /// A compaction was written that `session.compacted` repeats.
    pub(crate) compacted: bool,
    /// What was said of a message or part, for when it is taken back.
    pub(crate) said: HashMap<String, Vec<String>>,
    children: BTreeMap<String, Child>,
    turn_ids: Recent<()>,
    /// With so many messages the oldest are forgotten.
    pub(super) forget_at: usize,
    /// The agent that answered last.
    agent: Option<String>,
    /// The session says its model itself, which it did not before 1.18.
    says_model: bool,
    set_back_to: Option<String>,
}

impl Session {
    pub(crate) fn new(format: &'static str, live: bool) -> Self {
        Session {
            format,
            live,
            ..Session::default()
        }
    }

    /// Says what `info` tells of the session; `None` where only its id is known.
    pub(crate) fn about(&mut self, emitter: &mut Emitter, native_id: &str, info: Option<&Value>) {
        let info = info.unwrap_or(&Value::Null);
        // The program names a session itself until it has a title.
        let title = text_of(info, "title").filter(|title| !title.starts_with("New session - "));
        let model = info.get("model").and_then(|model| text_of(model, "id"));
        self.says_model |= model.is_some();
        let facts = SessionStart {
            agent: match text_of(info, "version") {
                Some(version) => Some(format!("OpenCode {version}")),
                // It never says which.
                None => (self.format == "opencode-run").then(|| "OpenCode".to_owned()),
            },
            native_id: Some(native_id.to_owned()),
            model: model.map(str::to_owned),
            cwd: text_of(info, "directory").map(str::to_owned),
            title: title.map(str::to_owned),
            provider: Some("opencode".to_owned()),
            ..SessionStart::default()
        };
        if let Some(cwd) = &facts.cwd {
            self.edits.cwd = Some(cwd.clone());
        }
        self.facts.say(emitter, facts, Map::new());
        let set_back = info
            .get("revert")
            .and_then(|revert| text_of(revert, "messageID"));
        if let Some(message_id) = set_back
            && self.set_back_to.as_deref() != Some(message_id)
        {
            let text =
                format!("the session was set back to what stood before message {message_id}");
            emitter.notice("info", &Place::default(), "opencode", text);
        }
        self.set_back_to = set_back.map(str::to_owned);
    }

    /// Says what an answer tells of the session: its agent, and what the session did not say itself.
    pub(crate) fn about_answer(&mut self, emitter: &mut Emitter, info: &Value, place: &Place) {
        let cwd = info.get("path").and_then(|path| text_of(path, "cwd"));
        let cwd = cwd.filter(|_| self.edits.cwd.is_none()).map(str::to_owned);
        let model = text_of(info, "modelID").filter(|_| !self.says_model);
        if cwd.is_some() || model.is_some() {
            if cwd.is_some() {
                self.edits.cwd.clone_from(&cwd);
            }
            let facts = SessionStart {
                model: model.map(str::to_owned),
                cwd,
                ..SessionStart::default()
            };
            self.facts.say(emitter, facts, Map::new());
        }
        let agent = text_of(info, "agent").or_else(|| text_of(info, "mode"));
        let Some(agent) = agent.filter(|agent| self.agent.as_deref() != Some(*agent)) else {
            return;
        };
        if let Some(before) = self.agent.replace(agent.to_owned()) {
            let switch = AgentSwitch {
                from_agent_id: before,
                to_agent_id: agent.to_owned(),
                extra: Extra::default(),
            };
            emitter.add("agent", place, switch);
        }
    }

    /// Notes that `child` works for `parent`.
    pub(crate) fn adopt(&mut self, child: &str, parent: &str) {
        let entry = self.children.entry(child.to_owned()).or_default();
        entry.parent.get_or_insert_with(|| parent.to_owned());
    }

    /// Notes that the call of the part `part_id` started the session `child`.
    pub(crate) fn link(&mut self, child: &str, part_id: &str, parent: &str) {
        if self.root.as_deref() == Some(child) || child == parent {
            return;
        }
        self.adopt(child, parent);
        if let Some(entry) = self.children.get_mut(child) {
            entry.call = Some(part_id.to_owned());
        }
    }

    /// Whether a session is the one read, or works for it.
    pub(crate) fn knows(&self, native_id: &str) -> bool {
        self.is_root(native_id) || self.children.contains_key(native_id)
    }

    pub(crate) fn is_root(&self, native_id: &str) -> bool {
        self.root.as_deref() == Some(native_id)
    }

    /// The place of what the session `native_id` does now.
    pub(crate) fn place(&mut self, native_id: &str) -> Place {
        if !self.is_root(native_id)
            && let Some(part_id) = self.call_of(native_id)
            && let Some(call) = self.calls.get(&part_id)
        {
            return Place {
                turn_id: call.place.turn_id.clone(),
                response_id: None,
                agent_id: Some(native_id.to_owned()),
                parent_tool_call_id: Some(call.id.clone()),
            };
        }
        Place {
            turn_id: self.turns.last().map(|turn| turn.id.clone()),
            agent_id: (!self.is_root(native_id)).then(|| native_id.to_owned()),
            ..Place::default()
        }
    }

    /// The call that started a session: as it said, else the first open one of its parent that started none.
    fn call_of(&mut self, native_id: &str) -> Option<String> {
        let child = self.children.get(native_id)?;
        if child.call.is_some() {
            return child.call.clone();
        }
        let parent = child.parent.clone()?;
        let taken: BTreeSet<&String> = self
            .children
            .values()
            .filter_map(|child| child.call.as_ref())
            .collect();
        let free = self.open_calls.values().find(|part_id| {
            let call = self.calls.get(*part_id);
            call.is_some_and(|call| call.starts_agent() && call.session == parent)
                && !taken.contains(part_id)
        });
        let free = free.cloned()?;
        if let Some(child) = self.children.get_mut(native_id) {
            child.call = Some(free.clone());
        }
        Some(free)
    }

    /// The open turn with this id.
    pub(crate) fn turn(&mut self, id: Option<&String>) -> Option<&mut Turn> {
        let id = id?;
        self.turns.iter_mut().find(|turn| turn.id == *id)
    }

    /// Opens a turn; its id, made different where it was used before.
    pub(crate) fn open_turn(&mut self, emitter: &mut Emitter, id: &str, trigger: &str) -> String {
        let mut turn_id = id.to_owned();
        let mut n = 1;
        while !self.turn_ids.insert(&turn_id, ()) {
            n += 1;
            turn_id = format!("{id}~{n}");
        }
        let turn = Turn {
            id: turn_id.clone(),
            began_ms: emitter.time_ms,
            ..Turn::default()
        };
        self.turns.push(turn);
        self.errors.clear();
        let place = Place {
            turn_id: Some(turn_id.clone()),
            ..Place::default()
        };
        let start = TurnStart {
            trigger: trigger.to_owned(),
            ..TurnStart::default()
        };
        emitter.add_as(&format!("{turn_id}:turn"), &place, start);
        turn_id
    }

    /// The session works: said many times in a turn, and before the first answer.
    pub(crate) fn works(&mut self, emitter: &mut Emitter) {
        self.close_idle(emitter);
        if self.turns.is_empty() {
            let id = format!("t-{}", emitter.line_id());
            self.open_turn(emitter, &id, "user");
            if let Some(turn) = self.turns.last_mut() {
                turn.guessed = true;
            }
        } else {
            emitter.goes_on(&self.newest_turn());
        }
    }

    /// Work begins anew after the session was idle: the answers that are not whole will not be.
    fn close_idle(&mut self, emitter: &mut Emitter) {
        let n = self.turns.iter().take_while(|turn| turn.idle).count();
        self.close_turns(emitter, n, "completed");
    }

    /// The provider is asked again.
    pub(crate) fn retries(&mut self, emitter: &mut Emitter, message: Option<String>) {
        emitter.retrying(&self.newest_turn(), message);
    }

    fn newest_turn(&self) -> Place {
        Place {
            turn_id: self.turns.last().map(|turn| turn.id.clone()),
            ..Place::default()
        }
    }

    /// The session is idle; `last_word` for the second of the two events that say so.
    pub(crate) fn rests(&mut self, emitter: &mut Emitter, last_word: bool) {
        let waits = |turn: &Turn| !turn.open_messages.is_empty() && !turn.idle;
        if self.turns.iter().any(waits) {
            if last_word {
                for turn in &mut self.turns {
                    turn.idle = true;
                }
            }
            return;
        }
        self.close_turns(emitter, usize::MAX, "completed");
    }

    /// Closes the first `n` open turns; those with nothing against it get `outcome`.
    pub(crate) fn close_turns(&mut self, emitter: &mut Emitter, n: usize, outcome: &str) {
        for _ in 0..n.min(self.turns.len()) {
            self.close_turn(emitter, outcome);
        }
    }

    fn close_turn(&mut self, emitter: &mut Emitter, outcome: &str) {
        let Some(id) = self.turns.first().map(|turn| turn.id.clone()) else {
            return;
        };
        self.close_parts(emitter, &|place| place.turn_id.as_ref() == Some(&id));
        self.close_calls(emitter, &|call| call.place.turn_id.as_ref() == Some(&id));
        self.asks.expire_turn(emitter, &id);
        let turn = self.turns.remove(0);
        let outcome = if turn.interrupted {
            "interrupted"
        } else if turn.failed {
            "failed"
        } else {
            outcome
        };
        let now_ms = emitter.time_ms;
        if !self.live {
            emitter.time_ms = turn.last_ms.unwrap_or(now_ms);
        }
        let spent = (turn.spent.steps > 0).then(|| turn.spent.to_json());
        let end = TurnEnd {
            usage: spent,
            cost_usd: (turn.spent.steps > 0).then(|| rounded(turn.spent.cost_usd)),
            duration_ms: emitter.since(turn.began_ms),
            outcome: Some(outcome.to_owned()),
            ..TurnEnd::default()
        };
        let place = Place {
            turn_id: Some(id.clone()),
            ..Place::default()
        };
        emitter.add_as(&format!("{id}:end"), &place, end);
        emitter.time_ms = now_ms;
    }

    /// The source ended: everything is closed. Where an answer that calls no more tools was whole, that is no
    /// interruption; nor where the source was written `at_rest`.
    pub(crate) fn close_all(&mut self, emitter: &mut Emitter, at_rest: bool) {
        self.flush_prompt(emitter);
        while let Some(turn) = self.turns.first() {
            let answered = turn.answered || (at_rest && turn.last_ms.is_some());
            let whole = turn.idle || (answered && turn.open_messages.is_empty());
            let outcome = if whole { "completed" } else { "interrupted" };
            self.close_turns(emitter, 1, outcome);
        }
        self.close_parts(emitter, &|_| true);
        self.close_calls(emitter, &|_| true);
    }

    /// Whether a turn waits for more of its answer.
    pub(crate) fn is_cut_off(&self) -> bool {
        let is_whole = |turn: &Turn| turn.answered && turn.open_messages.is_empty();
        self.turns.iter().any(|turn| !turn.idle && !is_whole(turn))
    }

    /// Writes the prompt that was put together.
    pub(crate) fn flush_prompt(&mut self, emitter: &mut Emitter) {
        let Some(prompt) = self.prompt.take() else {
            return;
        };
        if prompt.is_empty() {
            return;
        }
        let now_ms = std::mem::replace(&mut emitter.time_ms, prompt.time_ms);
        let root = self.is_root(&prompt.session);
        let mut place = self.place(&prompt.session);
        if root {
            let known = self
                .messages
                .get(&prompt.message_id)
                .and_then(|message| message.turn_id.clone());
            let turn_id = match known {
                Some(turn_id) => turn_id,
                None => self.turn_of_prompt(emitter, &prompt),
            };
            place.turn_id = Some(turn_id);
        }
        if let Some(message) = self.messages.get_mut(&prompt.message_id) {
            message.turn_id.clone_from(&place.turn_id);
        }
        if prompt.says_something() {
            let attachments = (!prompt.attachments.is_empty())
                .then(|| Json::from(&Value::Array(prompt.attachments.clone())));
            let payload = UserMessage {
                text: prompt.texts.join("\n\n").into(),
                attachments,
                extra: Extra::default(),
            };
            let tag = format!("{}:said", prompt.message_id);
            let id = {
                let event = emitter.add_as(&tag, &place, payload);
                if !root {
                    event.extra.insert("from", Json::string("agent"));
                }
                event.id.clone()
            };
            self.note(&prompt.message_id, id);
        }
        emitter.time_ms = now_ms;
    }

    /// The turn that a prompt opens, or the one that was opened for it.
    fn turn_of_prompt(&mut self, emitter: &mut Emitter, prompt: &Prompt) -> String {
        self.close_idle(emitter);
        if let Some(turn) = self.turns.last_mut()
            && turn.guessed
        {
            turn.guessed = false;
            return turn.id.clone();
        }
        let trigger = if prompt.says_something() {
            "user"
        } else {
            "system"
        };
        // In a document all that came before is over, but for what a later answer shows to have been queued.
        let over = |turn: &Turn| {
            turn.open_messages.is_empty() && (turn.answered || turn.failed || turn.interrupted)
        };
        if !self.live && self.turns.iter().all(over) {
            self.close_turns(emitter, usize::MAX, "completed");
        }
        self.open_turn(emitter, &prompt.message_id, trigger)
    }

    /// Adds an event about the message or part `key`, which may take it back.
    pub(crate) fn add(
        &mut self,
        emitter: &mut Emitter,
        key: &str,
        tag: &str,
        place: &Place,
        payload: impl Into<Payload>,
    ) {
        let id = emitter
            .add_as(&format!("{key}:{tag}"), place, payload)
            .id
            .clone();
        self.note(key, id);
    }

    /// Remembers that the event `id` came of the message or part `key`.
    pub(crate) fn note(&mut self, key: &str, id: String) {
        self.said.entry(key.to_owned()).or_default().push(id);
    }

    /// Takes a time from the source for the events that follow.
    pub(crate) fn at(emitter: &mut Emitter, value: &Value, key: &str) {
        if let Some(time_ms) = times::of_member(value, key) {
            emitter.time_ms = time_ms;
        }
    }
}

impl Spent {
    fn to_json(&self) -> Json {
        Json::from(&json!({
            "scope": "turn",
            "inputTokens": self.input,
            "outputTokens": self.output,
            "cacheReadTokens": self.cache_read,
            "cacheWriteTokens": self.cache_write,
            "reasoningTokens": self.reasoning,
        }))
    }
}
