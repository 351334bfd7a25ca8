//! Answers: a step of the model is a message of its own, with all that the model said and called in it.
//!
//! Where a response has an id, its events are one step. Where a source gives an id to each item, what comes after the
//! calls were answered, or after it was said what the answer used, is the next step.

use std::collections::BTreeSet;

use chat_event::ChatEvent;
use chat_event::payload::Compaction;
use serde_json::{Value, json};

use super::OpenCodeOut;
use super::scopes::Tokens;
use super::spent::Spent;

/// Answers that are open at the same time, and responses that are one answer; with more, the oldest is closed.
const MAX_OPEN: usize = 1024;

/// An answer that is not whole.
#[derive(Debug, Default)]
pub(super) struct Step {
    pub(super) scope: usize,
    pub(super) turn: u64,
    pub(super) message_id: String,
    prompt: String,
    created_ms: i64,
    responses: Vec<String>,
    started: bool,
    pub(super) n_calls: u32,
    pub(super) open_calls: BTreeSet<String>,
    /// Blocks that are not whole, in the order they began.
    pub(super) open_texts: Vec<u64>,
    /// The numbers of the next text and of the next thought, where the log has none.
    pub(super) next_block: [u32; 2],
    spent: Option<Spent>,
    /// The part that said so.
    spent_by: String,
    error: Option<Value>,
    pub(super) files: BTreeSet<String>,
    /// Calls that changed something since they told it last.
    pub(super) untold_edits: BTreeSet<String>,
    pub(super) last_part: String,
    model: Option<String>,
    agent: String,
    finish: Option<&'static str>,
    finished: bool,
}

impl Step {
    /// It was said what it used: by the source's part `said_by`.
    pub(super) fn used(&mut self, spent: &Spent, model: Option<&String>, said_by: &str) {
        self.spent.get_or_insert_default().add(spent);
        self.model = model.cloned().or(self.model.take());
        said_by.clone_into(&mut self.spent_by);
    }
}

impl OpenCodeOut {
    /// The step that an event of this place belongs to; the one before is closed where it is whole.
    pub(super) fn step_for(&mut self, event: &ChatEvent) -> u64 {
        let scope = self.scope(event);
        let response = event.response_id.as_ref();
        if let Some(response) = response
            && let Some(key) = self.step_of_response.get(&(scope, response.clone()))
        {
            return *key;
        }
        let turn = if scope == 0 {
            self.turn_for(event.turn_id.as_ref())
        } else {
            0
        };
        if let Some(key) = self.scopes[scope].step
            && let Some(step) = self.steps.get_mut(&key)
        {
            let answered = step.n_calls > 0 && step.open_calls.is_empty();
            let long = step.responses.len() >= MAX_OPEN;
            let over = step.turn != turn || step.spent.is_some() || answered || long;
            if !over {
                if let Some(response) = response {
                    step.responses.push(response.clone());
                    self.step_of_response.insert((scope, response.clone()), key);
                }
                return key;
            }
            if step.open_calls.is_empty() {
                self.close_step(key, false);
            }
        }
        self.new_step(scope, turn, response)
    }

    pub(super) fn new_step(&mut self, scope: usize, turn: u64, response: Option<&String>) -> u64 {
        if self.steps.len() >= MAX_OPEN
            && let Some((oldest, _)) = self.steps.first_key_value()
        {
            self.close_step(*oldest, false);
        }
        let prompt = self.begin(scope, turn);
        let native = response.map_or("", String::as_str).to_owned();
        let seed = format!("{native}:{}", self.event_id);
        let message_id = self.message_id([&native, ""], &seed);
        self.n_steps += 1;
        let key = self.n_steps;
        let step = Step {
            scope,
            turn,
            message_id,
            prompt,
            created_ms: self.now_ms,
            responses: response.cloned().into_iter().collect(),
            agent: self.agent().to_owned(),
            ..Step::default()
        };
        self.steps.insert(key, step);
        if let Some(response) = response {
            self.step_of_response.insert((scope, response.clone()), key);
        }
        self.scopes[scope].step = Some(key);
        match self.turns.get_mut(&turn).filter(|_| scope == 0) {
            Some(turn) => turn.steps.push(key),
            None => self.scopes[scope].open_steps.push(key),
        }
        self.tell_answer(key, false);
        key
    }

    /// An id for a part of a step, which is told to have begun where it was not.
    pub(super) fn step_part(&mut self, key: u64) -> Option<(usize, String, String)> {
        let step = self.steps.get_mut(&key)?;
        let (scope, message_id) = (step.scope, step.message_id.clone());
        let mut last = std::mem::take(&mut step.last_part);
        if !std::mem::replace(&mut step.started, true) {
            last = self.ids.mint("prt", self.now_ms, &message_id);
            self.tell_part(scope, &message_id, &last, json!({"type": "step-start"}));
        }
        let part_id = self.part_id(&last);
        if let Some(step) = self.steps.get_mut(&key) {
            step.last_part.clone_from(&part_id);
        }
        Some((scope, message_id, part_id))
    }

    fn tell_answer(&mut self, key: u64, whole: bool) {
        let Some(step) = self.steps.get(&key) else {
            return;
        };
        let session = self.scopes[step.scope].id.clone();
        let spent = step.spent.unwrap_or_default();
        let mut info = json!({
            "id": step.message_id,
            "parentID": step.prompt,
            "role": "assistant",
            "mode": step.agent,
            "agent": step.agent,
            "path": {"cwd": self.cwd(), "root": self.cwd()},
            "cost": spent.cost_usd,
            "tokens": spent.tokens.to_json(),
            "modelID": step.model.as_deref().unwrap_or_else(|| self.model()),
            "providerID": self.provider(),
            "time": {"created": step.created_ms},
            "sessionID": session,
        });
        if let Some(finish) = step.finish {
            info["finish"] = Value::from(finish);
        }
        if let Some(error) = &step.error {
            info["error"] = error.clone();
        }
        if whole {
            info["time"]["completed"] = Value::from(self.now_ms);
        }
        self.tell(
            "message.updated",
            json!({"sessionID": session, "info": info}),
        );
    }

    /// What the turn says of its last answer: what was used, where it is not known of the answers, and what went wrong.
    pub(super) fn last_words(&mut self, key: u64, spare: &Spent, error: Option<Value>) {
        if let Some(step) = self.steps.get_mut(&key) {
            step.error = error;
            if !spare.is_nothing() {
                step.spent.get_or_insert_default().add(spare);
            }
        }
    }

    /// The answer is whole. `last`: of its turn.
    pub(super) fn close_step(&mut self, key: u64, last: bool) {
        self.finish_step(key, last);
        if let Some(step) = self.steps.get_mut(&key) {
            for call in std::mem::take(&mut step.untold_edits) {
                self.tell_last_edits(&call);
            }
        }
        let Some(step) = self.steps.get(&key) else {
            return;
        };
        let (scope, turn, message_id) = (step.scope, step.turn, step.message_id.clone());
        let files: Vec<String> = step.files.iter().cloned().collect();
        let spent = step.spent.unwrap_or_default();
        if !files.is_empty() {
            let part_id = self
                .ids
                .mint("prt", self.now_ms, &format!("{message_id}:patch"));
            // The hash of a snapshot, which there is none of.
            let part = json!({"type": "patch", "hash": "", "files": files});
            self.tell_part(scope, &message_id, &part_id, part);
        }
        self.tell_answer(key, true);
        self.scopes[scope].spent.add(&spent);
        let Some(step) = self.steps.remove(&key) else {
            return;
        };
        for response in step.responses {
            self.step_of_response.remove(&(scope, response));
        }
        if self.scopes[scope].step == Some(key) {
            self.scopes[scope].step = None;
        }
        self.scopes[scope].open_steps.retain(|open| *open != key);
        if scope == 0
            && let Some(turn) = self.turns.get_mut(&turn)
        {
            turn.steps.retain(|open| *open != key);
        }
    }

    /// The model is done with the answer, and so are its calls.
    fn finish_step(&mut self, key: u64, last: bool) {
        let Some(step) = self.steps.get_mut(&key) else {
            return;
        };
        if std::mem::replace(&mut step.finished, true) {
            return;
        }
        let open_calls = std::mem::take(&mut step.open_calls);
        for text in std::mem::take(&mut step.open_texts) {
            self.finish_text(text, None);
        }
        for call_id in open_calls {
            self.abort_call(&call_id);
        }
        let Some(step) = self.steps.get_mut(&key) else {
            return;
        };
        if step.error.is_some() || !step.started {
            return;
        }
        let reason = match (step.n_calls, last) {
            (1.., _) => "tool-calls",
            (0, true) => "stop",
            // The model goes on although it called nothing.
            (0, false) => "unknown",
        };
        step.finish = Some(reason);
        let (scope, message_id) = (step.scope, step.message_id.clone());
        let spent = step.spent.unwrap_or_default();
        let said_by = std::mem::take(&mut step.spent_by);
        let last_part = step.last_part.clone();
        let kept = Some(said_by).filter(|said_by| *said_by > last_part);
        let part_id = match kept.and_then(|said_by| self.kept("prt", &said_by)) {
            Some(part_id) => part_id,
            None => self
                .ids
                .mint("prt", self.now_ms, &format!("{message_id}:finish")),
        };
        let part = json!({
            "type": "step-finish",
            "reason": reason,
            "tokens": spent.tokens.to_json(),
            "cost": spent.cost_usd,
        });
        self.tell_part(scope, &message_id, &part_id, part);
        self.tell_answer(key, false);
    }

    /// Finishes a step whose calls are all answered, where it was said what it used: nothing more can come of it but
    /// what it changed. It is whole with the next event of another kind.
    pub(super) fn close_if_over(&mut self, key: u64) {
        let over = self.steps.get(&key).is_some_and(|step| {
            step.n_calls > 0 && step.open_calls.is_empty() && step.spent.is_some()
        });
        if over {
            self.finish_step(key, false);
            self.closing = Some(key);
        }
    }

    /// The context was made shorter: what stands in for it is an answer of its own.
    pub(super) fn compacted(&mut self, event: &ChatEvent, compaction: &Compaction) {
        let scope = self.scope(event);
        self.ensure_session(scope);
        let open = self.open_turn_of(event.turn_id.as_ref());
        let prompt = match (scope, open) {
            (0, Some(turn)) => Some(self.begin(0, turn)),
            (0, None) => None,
            _ => Some(self.begin(scope, 0)),
        };
        let session = self.scopes[scope].id.clone();
        if let (Some(summary), Some(prompt)) = (&compaction.summary, prompt) {
            let native = event.id.split(':').next().unwrap_or("").to_owned();
            let message_id = self.message_id([&native, ""], &event.id);
            let mut info = json!({
                "id": message_id,
                "parentID": prompt,
                "role": "assistant",
                "mode": "compaction",
                "agent": self.agent(),
                "summary": true,
                "path": {"cwd": self.cwd(), "root": self.cwd()},
                "cost": 0,
                "tokens": Tokens::default().to_json(),
                "modelID": self.model(),
                "providerID": self.provider(),
                "time": {"created": self.now_ms},
                "sessionID": session,
            });
            self.tell(
                "message.updated",
                json!({"sessionID": session, "info": info}),
            );
            let part_id = self.ids.mint("prt", self.now_ms, &event.id);
            let time = json!({"start": self.now_ms, "end": self.now_ms});
            let part = json!({"type": "text", "text": summary, "time": time});
            self.tell_part(scope, &message_id, &part_id, part);
            info["time"]["completed"] = Value::from(self.now_ms);
            self.tell(
                "message.updated",
                json!({"sessionID": session, "info": info}),
            );
        }
        self.tell("session.compacted", json!({"sessionID": session}));
    }
}
