//! `session/update`: which rule an update goes to, and the updates that are no text and no call.
//!
//! Plans, notices and compactions are in `asides`.

mod asides;

use chat_event::payload::SessionStart;
use serde_json::{Map, Value};

use super::FORMAT;
use super::calls::Mention;
use super::session::Acp;
use super::texts::Next;
use super::wire::Asked;
use crate::emit::Emitter;
use crate::speech::Kind;
use crate::value::{count_of, list_of, str_of, text_of};
pub(super) use asides::plan;

impl Acp {
    /// `session/update`.
    pub(super) fn update(&mut self, emitter: &mut Emitter, native: &str, params: &Value) {
        let update = params.get("update").unwrap_or(&Value::Null);
        let kind = str_of(update, "sessionUpdate").unwrap_or("");
        let parent = parent_of(update).or_else(|| parent_of(params));
        let session = self.session(native);
        match kind {
            "agent_message_chunk" => session.chunk(emitter, Kind::Text, update, parent),
            "agent_thought_chunk" => session.chunk(emitter, Kind::Thinking, update, parent),
            "agent_message" => session.whole(emitter, Kind::Text, update, parent),
            "agent_thought" => session.whole(emitter, Kind::Thinking, update, parent),
            // What a sub-agent was told stands in the call that started it.
            "user_message_chunk" | "user_message" if parent.is_some() => {
                emitter.pass_over("the prompt of a sub-agent");
            }
            "user_message_chunk" | "user_message" => session.user_chunk(emitter, update),
            "tool_call" => self.call(emitter, native, update, Mention::Call, parent),
            "tool_call_update" => self.call(emitter, native, update, Mention::Update, parent),
            "tool_call_content_chunk" => session.content_chunk(emitter, update, parent),
            "terminal_update" | "terminal_output_chunk" => session.terminal_said(emitter, update),
            "state_update" => self.state(emitter, native, update),
            "plan" => {
                let entries = update.get("entries").unwrap_or(&Value::Null);
                session.plan_said(emitter, entries, parent.as_deref());
            }
            "plan_update" => {
                let held = update.get("plan").unwrap_or(&Value::Null);
                match held.get("entries") {
                    Some(entries) => session.plan_said(emitter, entries, parent.as_deref()),
                    None => {
                        let place = session.quiet_place();
                        emitter.raw(&place, FORMAT, "plan_update", update);
                    }
                }
            }
            "plan_removed" => {
                session.plan_said(emitter, &Value::Array(Vec::new()), parent.as_deref());
            }
            "usage_update" => session.usage_said(emitter, update),
            "notice" => session.notice_said(emitter, update),
            "compaction_update" | "compaction_summary_chunk" => {
                session.compaction_said(emitter, kind, update);
            }
            "available_commands_update" => emitter.pass_over(kind),
            "current_mode_update" => {
                let rest = mode(text_of(update, "currentModeId"));
                self.say_of(emitter, native, SessionStart::default(), rest);
            }
            "config_option_update" => {
                let (mut facts, mut rest) = (SessionStart::default(), Map::new());
                options(update, &mut facts, &mut rest);
                self.say_of(emitter, native, facts, rest);
            }
            "session_info_update" => {
                let facts = SessionStart {
                    title: text_of(update, "title").map(str::to_owned),
                    ..SessionStart::default()
                };
                self.say_of(emitter, native, facts, Map::new());
                emitter.pass_over(kind);
            }
            _ => {
                let place = session.quiet_place();
                emitter.raw(&place, FORMAT, &format!("update {kind}"), params);
            }
        }
    }

    fn call(
        &mut self,
        emitter: &mut Emitter,
        native: &str,
        update: &Value,
        how: Mention,
        parent: Option<String>,
    ) {
        let id = text_of(update, "toolCallId").unwrap_or("");
        let metadata = update
            .get("rawOutput")
            .and_then(|output| output.get("metadata"));
        // OpenCode's sub-agents are sessions.
        if let Some(child) = metadata.and_then(|metadata| text_of(metadata, "sessionId")) {
            let call_id = self.session(native).call_id(id);
            self.link(child, &call_id);
        }
        let (session, asks) = self.session_and_asks(native);
        // The answer stands before the result.
        if let Some(status @ ("completed" | "failed")) = str_of(update, "status")
            && session.calls.contains_key(id)
        {
            let call_id = session.call_id(id);
            asks.settle_call(emitter, &call_id, guess(update, status));
        }
        session.mention(emitter, update, how, parent);
    }

    /// `state_update` of version 2.
    fn state(&mut self, emitter: &mut Emitter, native: &str, update: &Value) {
        let (session, asks) = self.session_and_asks(native);
        match str_of(update, "state") {
            Some("running") => {
                session.settle(emitter, Next::Nothing);
                let place = session.place(emitter, None);
                emitter.goes_on(&place);
                emitter.pass_over("state_update");
            }
            Some("idle") if session.turns.is_empty() => emitter.pass_over("state_update"),
            Some("idle") => {
                let reason = text_of(update, "stopReason").unwrap_or("end_turn");
                session.stopped(emitter, asks, None, reason, update);
            }
            Some("requires_action") => emitter.pass_over("state_update"),
            Some(_) | None => {
                let place = session.quiet_place();
                emitter.raw(&place, FORMAT, "state_update", update);
            }
        }
    }

    /// `initialize`.
    pub(super) fn initialize(&mut self, emitter: &mut Emitter, params: &Value) {
        let client = ["clientInfo", "info"]
            .iter()
            .find_map(|key| params.get(*key))
            .and_then(name_of);
        let mut rest = Map::new();
        if let Some(client) = client {
            rest.insert("client".to_owned(), client.into());
        }
        self.say(emitter, SessionStart::default(), rest);
    }

    /// The answer to `initialize`.
    pub(super) fn initialized(&mut self, emitter: &mut Emitter, result: &Value) {
        self.version = count_of(result, "protocolVersion").unwrap_or(self.version);
        let agent = ["agentInfo", "info"]
            .iter()
            .find_map(|key| result.get(*key))
            .and_then(name_of);
        let facts = SessionStart {
            agent,
            ..SessionStart::default()
        };
        self.say(emitter, facts, Map::new());
    }

    /// A model, a mode or an option was set.
    pub(super) fn option_set(&mut self, emitter: &mut Emitter, asked: &Asked, result: &Value) {
        let value = Some(asked.about.as_str()).filter(|value| !value.is_empty());
        let (mut facts, mut rest) = (SessionStart::default(), Map::new());
        match asked.method.as_str() {
            "session/set_model" => facts.model = value.map(str::to_owned),
            "session/set_mode" => rest = mode(value),
            _ => {}
        }
        options(result, &mut facts, &mut rest);
        self.say_of(emitter, &asked.session, facts, rest);
        emitter.pass_over(&format!("{} answered", asked.method));
    }

    /// Facts of the session `native`; only those of the main one are the log's.
    pub(super) fn say_of(
        &mut self,
        emitter: &mut Emitter,
        native: &str,
        facts: SessionStart,
        rest: Map<String, Value>,
    ) {
        if self.session(native).agent_id.is_none() {
            self.say(emitter, facts, rest);
        }
    }
}

/// What was answered to a request about a call that ended so.
fn guess(update: &Value, status: &str) -> Option<&'static str> {
    if status == "completed" {
        return Some("allow");
    }
    let output = update.get("rawOutput").unwrap_or(&Value::Null);
    let text = output.as_str().or_else(|| text_of(output, "error"));
    match text {
        Some(text) if is_rejection(text) => Some("deny"),
        Some(text) if text.starts_with("Exit code ") => Some("allow"),
        Some(_) | None => None,
    }
}

/// Whether an agent says that the user refused a call.
pub(super) fn is_rejection(text: &str) -> bool {
    [
        "The user doesn't want to",
        "The user rejected",
        "User refused permission",
    ]
    .iter()
    .any(|start| text.starts_with(start))
}

/// The call whose sub-agent says something.
pub(super) fn parent_of(held: &Value) -> Option<String> {
    let meta = held.get("_meta")?;
    let claude = meta.get("claudeCode").unwrap_or(&Value::Null);
    ["parentToolUseId", "parentToolCallId", "parent_tool_use_id"]
        .iter()
        .find_map(|key| text_of(claude, key).or_else(|| text_of(meta, key)))
        .map(str::to_owned)
}

/// Options as they are set now: among them the model, the mode and how much is thought.
pub(super) fn options(held: &Value, facts: &mut SessionStart, rest: &mut Map<String, Value>) {
    for option in list_of(held, "configOptions") {
        let id = text_of(option, "category")
            .or_else(|| text_of(option, "id"))
            .or_else(|| text_of(option, "configId"));
        match (id, text_of(option, "currentValue")) {
            (Some("model"), Some(value)) => facts.model = Some(value.to_owned()),
            (Some("mode"), Some(value)) => rest.extend(mode(Some(value))),
            (Some("thought_level"), Some(value)) => {
                rest.insert("effort".to_owned(), value.into());
            }
            _ => {}
        }
    }
}

pub(super) fn mode(mode: Option<&str>) -> Map<String, Value> {
    let mut rest = Map::new();
    if let Some(mode) = mode {
        rest.insert("mode".to_owned(), mode.into());
    }
    rest
}

/// A program's name and version.
fn name_of(info: &Value) -> Option<String> {
    let name = text_of(info, "title").or_else(|| text_of(info, "name"))?;
    Some(match text_of(info, "version") {
        Some(version) => format!("{name} {version}"),
        None => name.to_owned(),
    })
}
