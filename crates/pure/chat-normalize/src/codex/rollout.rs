//! Rollout files, `~/.codex/sessions/…/rollout-*.jsonl`: what the model was given and gave, and what was shown of it.
//!
//! Most things stand there twice: as a `response_item` (what the model sees) and as an `event_msg` (what a person sees).
//! Texts are taken from whichever comes first and counted, so that the other one is known for a repetition. Calls come
//! from `response_item`s; their results from `item_completed` where there is one, else from their `*_output`.
//!
//! Files up to 0.7x say neither where a turn begins nor where it ends: there each message of the user begins one, and one
//! was cut off where the model owes an answer or the rest of one.

mod completed;
mod events;
mod response_items;
mod said;

use std::collections::{BTreeSet, HashMap};

use chat_event::payload::SessionStart;
use serde_json::{Map, Value};

use super::session::Session;
use crate::dialect::Normalizer;
use crate::emit::Emitter;
use crate::recent::{LATE_LARGE, Recent};
use crate::value::{millis_of_rfc3339, str_of, text_of};

use said::Source;

/// Whether a line is of this dialect, and whether that is sure.
pub(crate) fn is_rollout_line(value: &Value) -> Option<bool> {
    let kind = str_of(value, "type").unwrap_or("");
    let known = matches!(
        kind,
        "session_meta"
            | "response_item"
            | "event_msg"
            | "turn_context"
            | "compacted"
            | "world_state"
            | "token_usage_record"
            | "inter_agent_communication"
            | "inter_agent_communication_metadata"
    );
    let has_text_time = value.get("timestamp").is_some_and(Value::is_string);
    if known && value.get("payload").is_some_and(Value::is_object) && has_text_time {
        return Some(true);
    }
    // 2025: the first line is bare, and so are those of the state.
    let bare_head = has_text_time
        && kind.is_empty()
        && ["id", "instructions"]
            .iter()
            .all(|key| value.get(*key).is_some());
    if bare_head || value.get("record_type").is_some_and(Value::is_string) {
        return Some(false);
    }
    None
}

/// The thread that a line names as the file's own.
pub(crate) fn thread_of(value: &Value) -> Option<&str> {
    match str_of(value, "type") {
        Some("session_meta") => value.get("payload").and_then(|meta| text_of(meta, "id")),
        None => text_of(value, "id"),
        Some(_) => None,
    }
}

/// Reads them.
#[derive(Debug)]
pub(crate) struct CodexRollout {
    session: Session,
    /// How often each source said a text in this turn, by the text's hash, and how often it was written.
    said: HashMap<(u64, Source), u32>,
    written: HashMap<u64, u32>,
    /// The kinds of completed items that came, of those that say what other lines say, too.
    items: BTreeSet<&'static str>,
    /// Commands that run on, by the session's number: the calls that began them.
    shells: Recent<String, LATE_LARGE>,
    review: Review,
    is_begun: bool,
}

/// A review of code in this turn: its end is told by up to four lines.
#[derive(Debug)]
enum Review {
    None,
    Open,
    /// Its end was told, with words that an answer which tells it again holds; empty where it found nothing.
    Told(String),
}

impl CodexRollout {
    pub(crate) fn new() -> Self {
        CodexRollout {
            session: Session::new("codex-rollout"),
            said: HashMap::new(),
            written: HashMap::new(),
            items: BTreeSet::new(),
            shells: Recent::default(),
            review: Review::None,
            is_begun: false,
        }
    }

    fn raw(&mut self, emitter: &mut Emitter, kind: &str, value: &Value) {
        let place = self.session.scope("", None).place;
        emitter.raw(&place, self.session.format, kind, value);
    }

    fn bare_line(&mut self, emitter: &mut Emitter, kind: &str, line: &Value) {
        match kind {
            "message"
            | "reasoning"
            | "function_call"
            | "function_call_output"
            | "custom_tool_call"
            | "custom_tool_call_output"
            | "local_shell_call"
            | "web_search_call" => {
                self.response_item(emitter, line);
            }
            "" if line.get("record_type").is_some() => emitter.pass_over("record_type"),
            "" if line.get("instructions").is_some() => self.meta(emitter, line),
            _ => self.raw(emitter, kind, line),
        }
    }

    fn meta(&mut self, emitter: &mut Emitter, meta: &Value) {
        // A fork's file has its parent's head, too; the first one is its own.
        if self.is_begun {
            emitter.pass_over("session_meta of another file");
            return;
        }
        self.is_begun = true;
        let version = text_of(meta, "cli_version");
        let git = meta.get("git").unwrap_or(&Value::Null);
        let facts = SessionStart {
            agent: Some(
                version.map_or_else(|| "Codex".to_owned(), |version| format!("Codex {version}")),
            ),
            native_id: text_of(meta, "id").map(str::to_owned),
            cwd: text_of(meta, "cwd").map(str::to_owned),
            git_branch: text_of(git, "branch").map(str::to_owned),
            provider: Some("codex".to_owned()),
            ..SessionStart::default()
        };
        let mut rest = Map::new();
        for (from, to) in [
            ("parent_thread_id", "parentThreadId"),
            ("forked_from_id", "forkedFromId"),
        ] {
            if let Some(id) = text_of(meta, from) {
                rest.insert(to.to_owned(), Value::from(id));
            }
        }
        self.session.facts.say(emitter, facts, rest);
    }

    fn model(&mut self, emitter: &mut Emitter, context: &Value) {
        let model = text_of(context, "model").map(str::to_owned);
        self.session.model = model.clone().or(self.session.model.take());
        let facts = SessionStart {
            model,
            cwd: text_of(context, "cwd").map(str::to_owned),
            ..SessionStart::default()
        };
        self.session.facts.say(emitter, facts, Map::new());
    }
}

impl Normalizer for CodexRollout {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        if let Some(time_ms) = str_of(line, "timestamp").and_then(millis_of_rfc3339) {
            emitter.time_ms = time_ms;
        }
        let kind = str_of(line, "type").unwrap_or("");
        let Some(payload) = line.get("payload").filter(|payload| payload.is_object()) else {
            self.bare_line(emitter, kind, line);
            return;
        };
        match kind {
            "session_meta" => self.meta(emitter, payload),
            "turn_context" => self.model(emitter, payload),
            "response_item" => self.response_item(emitter, payload),
            "event_msg" => self.event(emitter, payload),
            "compacted" => {
                let scope = self.session.work_scope(emitter, "", None);
                let id = emitter.line_id().to_owned();
                self.session
                    .compaction(emitter, &scope, &id, text_of(payload, "message"));
            }
            "world_state"
            | "token_usage_record"
            | "inter_agent_communication"
            | "inter_agent_communication_metadata" => emitter.pass_over(kind),
            _ => self.raw(emitter, kind, line),
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.session.close_untold(emitter);
    }
}
