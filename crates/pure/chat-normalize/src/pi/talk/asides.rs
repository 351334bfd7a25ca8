//! What is told beside the messages of people, models and tools: what the program and its extensions add, what is known of
//! the session, what was used.
//!
//! | entry of a file, or `entry_appended` of a run | what it gives |
//! |---|---|
//! | `model_change`, `thinking_level_change`, `session_info` | what is known of the session |
//! | `usage` | what was used beside the answers |
//!
//! The names of the tools are told, not what the model is told of them.

use chat_event::payload::{Compaction, SessionStart, Usage};
use chat_event::{Extra, Json};
use serde_json::{Map, Value};

use super::{Talk, said};
use crate::emit::Emitter;
use crate::value::{amount_of, count_of, list_of, str_of, text_of};

/// Of so many tools the names are kept at most.
const MAX_TOOLS: usize = 1_000;

impl Talk {
    /// An entry that tells of the session; false where it is none of these.
    pub(crate) fn entry(&mut self, emitter: &mut Emitter, id: &str, entry: &Value) -> bool {
        match str_of(entry, "type").unwrap_or("") {
            "model_change" => self.works_with(emitter, text_of(entry, "modelId"), None),
            "thinking_level_change" => {
                self.works_with(emitter, None, text_of(entry, "thinkingLevel"));
            }
            "session_info" => self.named(emitter, text_of(entry, "name")),
            "usage" => self.used(
                emitter,
                &format!("usage-{id}"),
                entry,
                str_of(entry, "kind"),
            ),
            _ => return false,
        }
        true
    }

    /// Which model answers from now on, and how much it thinks.
    pub(crate) fn works_with(
        &mut self,
        emitter: &mut Emitter,
        model: Option<&str>,
        thinks: Option<&str>,
    ) {
        let facts = SessionStart {
            model: model.map(str::to_owned),
            ..SessionStart::default()
        };
        let rest = thinks.map(|level| ("thinkingLevel".to_owned(), Value::from(level)));
        let rest: Map<String, Value> = rest.into_iter().collect();
        self.track.facts.say(emitter, facts, rest);
    }

    /// What the user calls the session.
    pub(crate) fn named(&mut self, emitter: &mut Emitter, title: Option<&str>) {
        let facts = SessionStart {
            title: title.map(str::to_owned),
            ..SessionStart::default()
        };
        self.track.facts.say(emitter, facts, Map::new());
    }

    /// What the model is told of itself, and which tools it has or has no more.
    pub(super) fn system(&mut self, emitter: &mut Emitter, message: &Value) {
        emitter.pass_over("system message");
        let named = |key| {
            let tools = list_of(message, key).iter();
            tools.filter_map(|tool| text_of(tool, "name"))
        };
        let gone: Vec<&str> = named("toolsRemoved").collect();
        self.tools.retain(|tool| !gone.contains(&tool.as_str()));
        for name in named("toolsAdded") {
            let is_new = !self.tools.iter().any(|tool| tool == name);
            if is_new && self.tools.len() < MAX_TOOLS {
                self.tools.push(name.to_owned());
            }
        }
        if self.tools.is_empty() {
            return;
        }
        let facts = SessionStart {
            tools: Some(Json::from(Value::from(self.tools.clone()))),
            ..SessionStart::default()
        };
        self.track.facts.say(emitter, facts, Map::new());
    }

    /// What an extension adds; what is not shown is passed over.
    pub(crate) fn custom(&mut self, emitter: &mut Emitter, message: &Value) {
        if message.get("display").and_then(Value::as_bool) == Some(false) {
            return emitter.pass_over("custom message that is not shown");
        }
        let text = said(message.get("content")).text;
        let source = text_of(message, "customType").unwrap_or("extension");
        emitter.notice("info", &self.track.place(), source, text);
    }

    /// The context was made shorter.
    pub(crate) fn compaction(&mut self, emitter: &mut Emitter, result: &Value, trigger: &str) {
        let tokens_before = count_of(result, "tokensBefore");
        let kept = text_of(result, "firstKeptEntryId").unwrap_or("");
        let payload = Compaction {
            trigger: trigger.to_owned(),
            summary: text_of(result, "summary").map(str::to_owned),
            tokens_before,
            extra: Extra::default(),
        };
        let id = format!("compaction-{kept}-{}", tokens_before.unwrap_or(0));
        emitter.add_as(&id, &self.track.place(), payload);
        self.used(emitter, &format!("{id}:usage"), result, Some("compaction"));
    }

    /// What something beside the answers used.
    pub(crate) fn used(
        &mut self,
        emitter: &mut Emitter,
        id: &str,
        holder: &Value,
        kind: Option<&str>,
    ) {
        if let Some(mut usage) = usage(holder) {
            if let Some(kind) = kind {
                usage.extra.insert("kind", Json::string(kind));
            }
            // It is of no answer, and says nothing of how full the context is.
            usage.context_used = None;
            emitter.add_as(id, &self.track.place(), usage);
        }
    }
}

/// What an answer used, or something else.
pub(crate) fn usage(message: &Value) -> Option<Usage> {
    let usage = message.get("usage").filter(|usage| usage.is_object())?;
    let count = |key: &str| count_of(usage, key);
    let total = ["input", "output", "cacheRead", "cacheWrite"]
        .iter()
        .filter_map(|key| count(key))
        .fold(0, u64::saturating_add);
    if total == 0 {
        return None;
    }
    Some(Usage {
        scope: "response".to_owned(),
        input_tokens: count("input").unwrap_or(0),
        output_tokens: count("output").unwrap_or(0),
        cache_read_tokens: count("cacheRead"),
        cache_write_tokens: count("cacheWrite"),
        // They are among those that were written.
        reasoning_tokens: count("reasoning"),
        context_used: count("totalTokens"),
        cost_usd: usage.get("cost").and_then(|cost| amount_of(cost, "total")),
        model: text_of(message, "model").map(str::to_owned),
        ..Usage::default()
    })
}
