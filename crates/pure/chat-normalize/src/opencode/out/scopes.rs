//! Sessions on the bus: the one of the log, and one for each sub-agent; whether they are busy.

use chat_event::ChatEvent;
use chat_event::payload::SessionStart;
use serde_json::{Value, json};

use super::spent::Spent;
use super::{OpenCodeOut, ids};
use crate::value::rfc3339_of_millis;

/// Sub-agents of sub-agents: deeper ones stand in the session of the deepest that has one.
const MAX_DEPTH: usize = 32;

/// Sessions that are kept; further sub-agents stand in the session of the one that started them.
const MAX_SESSIONS: usize = 65_536;

/// The version whose order and members are told.
const VERSION: &str = "1.18.33";

/// What the log says about its session.
#[derive(Debug, Default)]
pub(super) struct About {
    pub(super) agent: Option<String>,
    model: Option<String>,
    cwd: Option<String>,
    title: Option<String>,
    provider: Option<String>,
    version: Option<String>,
}

/// One session.
#[derive(Debug, Default)]
pub(super) struct Scope {
    pub(super) id: String,
    parent: Option<String>,
    title: Option<String>,
    depth: usize,
    created_ms: Option<i64>,
    pub(super) status: Status,
    /// The prompt it works on; of the log's own session its turns say that.
    pub(super) prompt: Option<String>,
    /// The answer that grows.
    pub(super) step: Option<u64>,
    /// All answers that are not whole.
    pub(super) open_steps: Vec<u64>,
    pub(super) spent: Spent,
    closing: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Status {
    #[default]
    Idle,
    Busy,
    Retry,
}

/// Tokens as OpenCode counts them: input without what came from the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) reasoning: u64,
    pub(super) cache_read: u64,
    pub(super) cache_write: u64,
}

impl Tokens {
    pub(super) fn add(&mut self, more: &Tokens) {
        self.input = self.input.saturating_add(more.input);
        self.output = self.output.saturating_add(more.output);
        self.reasoning = self.reasoning.saturating_add(more.reasoning);
        self.cache_read = self.cache_read.saturating_add(more.cache_read);
        self.cache_write = self.cache_write.saturating_add(more.cache_write);
    }

    pub(super) fn to_json(self) -> Value {
        json!({
            "input": self.input,
            "output": self.output,
            "reasoning": self.reasoning,
            "cache": {"read": self.cache_read, "write": self.cache_write},
        })
    }
}

impl Scope {
    pub(super) fn root(session_id: &str) -> Self {
        Scope {
            id: ids::of_session(session_id),
            ..Scope::default()
        }
    }
}

impl OpenCodeOut {
    /// The session an event is of; a sub-agent's is begun where it was not.
    pub(super) fn scope(&mut self, event: &ChatEvent) -> usize {
        let Some(call_id) = &event.parent_tool_call_id else {
            return 0;
        };
        if let Some(scope) = self.scope_of_call.get(call_id) {
            return *scope;
        }
        let call = self.calls.get(call_id);
        let parent = call.map_or(0, |call| call.scope);
        let title = call.and_then(|call| call.title.clone());
        if self.scopes[parent].depth >= MAX_DEPTH || self.scopes.len() >= MAX_SESSIONS {
            if self.scope_of_call.len() < MAX_SESSIONS {
                self.scope_of_call.insert(call_id.clone(), parent);
            }
            return parent;
        }
        self.ensure_session(parent);
        let native = event.agent_id.as_deref().unwrap_or("");
        let mut id = ids::of_session(native);
        if id != native || id == self.scopes[0].id || !self.taken.insert(&id, ()) {
            id = ids::of_session(&format!("{}/{call_id}", self.scopes[0].id));
        }
        let scope = self.scopes.len();
        self.scopes.push(Scope {
            id,
            parent: Some(self.scopes[parent].id.clone()),
            title,
            depth: self.scopes[parent].depth + 1,
            ..Scope::default()
        });
        self.scope_of_call.insert(call_id.clone(), scope);
        self.ensure_session(scope);
        self.call_has_session(call_id, scope);
        scope
    }

    /// Takes what the log says about the session.
    pub(super) fn learn(&mut self, start: &SessionStart) {
        let about = &mut self.about;
        let renew = |slot: &mut Option<String>, fact: &Option<String>| {
            if fact.is_some() {
                slot.clone_from(fact);
            }
        };
        renew(&mut about.model, &start.model);
        if about.cwd.is_none() || !start.is_cwd_guessed() {
            renew(&mut about.cwd, &start.cwd);
        }
        renew(&mut about.title, &start.title);
        renew(&mut about.provider, &start.provider);
        let version = start
            .agent
            .as_deref()
            .and_then(|agent| agent.strip_prefix("OpenCode "));
        if let Some(version) = version {
            about.version = Some(version.to_owned());
        }
        if self.scopes[0].created_ms.is_some() {
            self.session_updated(0);
        } else {
            self.ensure_session(0);
        }
    }

    /// Tells that a session is there, where that was not told.
    pub(super) fn ensure_session(&mut self, scope: usize) {
        if self.scopes[scope].created_ms.is_some() {
            return;
        }
        self.scopes[scope].created_ms = Some(self.now_ms);
        let mut info = self.session_info(scope);
        // What it works with is told once it works.
        if let Some(info) = info.as_object_mut() {
            info.remove("model");
            if scope == 0 {
                info.remove("agent");
            }
        }
        let session = self.scopes[scope].id.clone();
        self.tell(
            "session.created",
            json!({"sessionID": session, "info": info}),
        );
        self.session_updated(scope);
    }

    pub(super) fn session_updated(&mut self, scope: usize) {
        self.ensure_session(scope);
        let info = self.session_info(scope);
        let session = self.scopes[scope].id.clone();
        self.tell(
            "session.updated",
            json!({"sessionID": session, "info": info}),
        );
    }

    fn session_info(&self, scope: usize) -> Value {
        let of = &self.scopes[scope];
        let created_ms = of.created_ms.unwrap_or(self.now_ms);
        let title = of
            .title
            .clone()
            .or_else(|| self.about.title.clone().filter(|_| scope == 0));
        let title =
            title.unwrap_or_else(|| format!("New session - {}", rfc3339_of_millis(created_ms)));
        let slug = of.id.get(4..16).unwrap_or("session").to_owned();
        let mut info = json!({
            "id": of.id,
            "slug": slug,
            "version": self.about.version.as_deref().unwrap_or(VERSION),
            "projectID": "global",
            "directory": self.cwd(),
            "path": "",
            "title": title,
            "agent": self.agent(),
            "cost": of.spent.cost_usd,
            "tokens": of.spent.tokens.to_json(),
            "time": {"created": created_ms, "updated": self.now_ms},
        });
        if let Some(model) = &self.about.model {
            info["model"] = json!({"id": model, "providerID": self.provider()});
        }
        if let Some(parent) = &of.parent {
            info["parentID"] = Value::from(parent.as_str());
        }
        info
    }

    pub(super) fn agent(&self) -> &str {
        self.about.agent.as_deref().unwrap_or("build")
    }

    pub(super) fn model(&self) -> &str {
        self.about.model.as_deref().unwrap_or("")
    }

    pub(super) fn cwd(&self) -> &str {
        self.about.cwd.as_deref().unwrap_or("")
    }

    /// Whose model it is.
    pub(super) fn provider(&self) -> &str {
        match self.about.provider.as_deref() {
            Some("claude-code") => "anthropic",
            Some("codex") => "openai",
            Some("gemini") => "google",
            Some(provider) => provider,
            None => "",
        }
    }

    pub(super) fn say_busy(&mut self, scope: usize) {
        if self.scopes[scope].status != Status::Busy {
            self.scopes[scope].status = Status::Busy;
            if scope > 0 {
                self.busy_agents.insert(scope);
            }
            let session = self.scopes[scope].id.clone();
            let properties = json!({"sessionID": session, "status": {"type": "busy"}});
            self.tell("session.status", properties);
        }
    }

    /// Tells that a session rests, where it worked; whether that was so.
    pub(super) fn say_idle(&mut self, scope: usize) -> bool {
        if self.scopes[scope].status == Status::Idle {
            return false;
        }
        self.scopes[scope].status = Status::Idle;
        self.busy_agents.remove(&scope);
        let session = self.scopes[scope].id.clone();
        let properties = json!({"sessionID": session, "status": {"type": "idle"}});
        self.tell("session.status", properties);
        self.tell("session.idle", json!({"sessionID": session}));
        true
    }

    /// Sub-agents do not outlive the turns of the session.
    pub(super) fn close_agents(&mut self) {
        while let Some(scope) = self.busy_agents.last() {
            let scope = *scope;
            self.close_scope(scope);
            self.busy_agents.remove(&scope);
        }
    }

    /// A sub-agent is done: its answers are whole, and it rests.
    pub(super) fn close_scope(&mut self, scope: usize) {
        // A call within the session that it started itself would come back here.
        if scope == 0 || std::mem::replace(&mut self.scopes[scope].closing, true) {
            return;
        }
        for step in std::mem::take(&mut self.scopes[scope].open_steps) {
            self.close_step(step, true);
        }
        self.scopes[scope].closing = false;
        if self.say_idle(scope) {
            self.session_updated(scope);
        }
    }
}
